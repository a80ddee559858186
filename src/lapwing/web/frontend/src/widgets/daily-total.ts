// A total that is published every day: what fresh noise costs, and what the tree and the square root make of the same budget.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Ink, type Mark, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { normal } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { analytic } from "../math/gaussian.js";
import {
  addedErrors,
  addedWidths,
  levels,
  priceOf,
  rootErrors,
  rootWidths,
  treeErrors,
  treeWidths,
} from "../math/continual.js";

const DAYS = [7, 14, 30, 61, 91, 182, 365, 730, 1000];
const DELTA = 1e-6;
const SURE = 1.959964; // standard deviations to each side, for 95 %
const WEEK = [4, 3, 5, 3, 4, 1, 0]; // made-up calls, from Monday to Sunday
const VIEWS = { error: "the budget for all days together", price: "how far off a total may be" };
type Way = "added" | "tree" | "root";
const WAYS: Record<Way, { name: string; ink: Ink; widths: (days: number) => number[]; errors: typeof addedErrors }> = {
  added: { name: "fresh noise each day", ink: "noise", widths: addedWidths, errors: addedErrors },
  tree: { name: "tree", ink: "budget", widths: treeWidths, errors: treeErrors },
  root: { name: "square root", ink: "private", widths: rootWidths, errors: rootErrors },
};
const NAMES = Object.keys(WAYS) as Way[];
const last = <T>(list: readonly T[]): T => list[list.length - 1]!;
const off = (width: number): string => `± ${short(width)}`;

export class DailyTotal extends Story {
  static override properties = {
    days: { type: Number },
    epsilon: { type: Number },
    view: {},
    draws: { state: true },
  };
  declare days: number;
  declare epsilon: number;
  declare view: keyof typeof VIEWS;
  /** Standard normal, one for each way and day. */
  declare private draws: Record<Way, number[]>;
  protected readonly question =
    "A helpline publishes every day how many calls there were so far this year. What does that cost?";
  protected readonly first = { days: 365, epsilon: 1, view: "error" };

  protected override get allowed(): Record<string, Allowed> {
    return { days: DAYS, view: Object.keys(VIEWS) };
  }

  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    if (name === "days") this.publish();
  }

  private publish = (): void => {
    const drawn = (): number[] => Array.from({ length: this.days }, () => normal(1));
    this.draws = { added: drawn(), tree: drawn(), root: drawn() };
  };

  /** Of noise on one count, if it had the whole budget. */
  private get sigma(): number {
    return analytic(this.epsilon, DELTA);
  }

  private get truth(): number[] {
    let sum = 0;
    return Array.from({ length: this.days }, (_, day) => (sum += WEEK[day % 7]!));
  }

  /** How far off totals are after each day, at most, with 95 % confidence. */
  private bands(way: Way): number[] {
    return WAYS[way].widths(this.days).map((width) => SURE * this.sigma * width);
  }

  /** What totals with fresh noise have cost after each day, if each is as accurate as the square root's last one. */
  private prices(days: readonly number[]): number[] {
    const sigma = this.sigma * last(rootWidths(this.days));
    return days.map((day) => priceOf(day, sigma, DELTA));
  }

  protected handles(): TemplateResult {
    return html`<label>days: ${this.days.toLocaleString("en")}
        <input type="range" min="0" max=${DAYS.length - 1} .value=${String(DAYS.indexOf(this.days))} aria-valuetext="${this.days} days"
          @input=${(event: Event) => this.take("days", DAYS[Number((event.target as HTMLInputElement).value)]!)} />
      </label>
      ${this.epsilonHandle("budget for all days", { about: "that one call was made", except: "leaving δ = 10⁻⁶ aside" })}
      ${this.choice("view", "what is fixed?", Object.entries(VIEWS))}
      ${this.view === "error" ? html`<button type="button" class="main" @click=${this.publish}>Publish with other noise</button>` : ""}`;
  }

  protected picture(): unknown {
    return this.view === "price" ? this.costs() : this.totals();
  }

  private totals(): TemplateResult {
    const { truth } = this;
    const most = last(truth);
    const reach = 1.1 * Math.max(...this.bands("added"), ...this.bands("tree"));
    const room = Math.min(reach, 0.8 * most);
    const noise = NAMES.flatMap((way) =>
      WAYS[way].errors(this.draws[way]).map((error) => Math.abs(this.sigma * error)),
    );
    const seen = Math.max(reach, ...noise.map((error) => 1.05 * error));
    return html`${chart({
      title: `Calls so far over ${this.days} days: the true total, and totals with three kinds of noise, each with its 95 % band`,
      height: 230,
      x: { from: 1, to: this.days, label: "day" },
      y: { from: -room, to: most + room, label: "calls so far" },
      marks: [
        ...this.lines(truth, -room, most + room),
        { kind: "line", ink: "exact", points: truth.map((value, day) => [day + 1, value]) },
      ],
    })}
    ${chart({
      title: `How far off each total is over ${this.days} days, with three kinds of noise and their 95 % bands`,
      height: 250,
      x: { from: 1, to: this.days, label: "day" },
      y: { from: -seen, to: seen, label: "off by" },
      marks: [
        ...this.lines(
          truth.map(() => 0),
          -seen,
          seen,
        ),
        { kind: "across", ink: "exact", points: [[1, 0]] },
      ],
    })}
    <p class="legend"><span class="exact">━ truth</span> <span class="noise">━ fresh noise each day, added up</span> <span class="budget">╍ tree</span> <span class="private">━ square root</span> <span>shaded: 95 % band</span></p>`;
  }

  /** What is published around these values, and the band of each way. */
  private lines(around: readonly number[], from: number, to: number): Mark[] {
    const at = (day: number, value: number): Point => [day + 1, Math.min(to, Math.max(from, value))];
    return NAMES.flatMap((way): Mark[] => {
      const { ink, errors } = WAYS[way];
      const band = this.bands(way);
      const edge = (side: number): Point[] => around.map((value, day) => at(day, value + side * band[day]!));
      const published = errors(this.draws[way]).map((error, day) => at(day, around[day]! + this.sigma * error));
      return [
        { kind: "band", ink, points: edge(1), lower: edge(-1) },
        { kind: "line", ink, points: published, dashed: way === "tree" },
      ];
    });
  }

  private costs(): TemplateResult {
    const days = Array.from({ length: this.days }, (_, day) => day + 1).filter(
      (day) => day === 1 || day === this.days || day % Math.ceil(this.days / 60) === 0,
    );
    const prices = this.prices(days);
    const most = Math.max(last(prices), this.epsilon);
    return html`${chart({
      title: `The epsilon that is spent after each of ${this.days} days, with fresh noise and with the square root`,
      height: 480,
      x: { from: 1, to: this.days, label: "day" },
      y: { from: 0, to: 1.15 * most, label: "ε spent so far" },
      marks: [
        {
          kind: "line",
          ink: "noise",
          points: days.map((day, place): Point => [day, prices[place]!]),
          label: `fresh noise: ε = ${short(last(prices))}`,
        },
        { kind: "across", ink: "private", points: [[this.days, this.epsilon]] },
        {
          kind: "dots",
          ink: "private",
          points: [[this.days, this.epsilon]],
          label: `square root: ε = ${short(this.epsilon)}`,
        },
      ],
    })}
    <p class="legend"><span class="noise">━ a fresh noisy total each day</span> <span class="private">━ square root: paid once, for all days</span></p>`;
  }

  protected sentence(): string {
    const [added, tree, root] = NAMES.map((way) => last(this.bands(way))) as [number, number, number];
    const days = this.days.toLocaleString("en");
    if (this.view === "price")
      return `Suppose that every total may be off by at most ${short(root)} calls, with 95 % confidence. The square root achieves this for ${days} days with ε = ${short(this.epsilon)}. A fresh noisy total each day would cost ε = ${short(last(this.prices([this.days])))} by the last day, because every call is in all totals after it.`;
    const worst = Math.max(...this.bands("tree"));
    const versus =
      worst > added
        ? `For so few days the tree is no help: a call is in up to ${levels(this.days)} of its nodes, and each of them needs noise.`
        : `The tree is off by at most ${short(worst)} on its worst day.`;
    return `After ${days} days, with 95 % confidence: fresh noise each day is off by at most ${short(added)} of ${last(this.truth).toLocaleString("en")} calls. Of the two methods explained below, the tree is off by at most ${short(tree)}, and the square root by ${short(root)}. ${versus} All three cost ε = ${short(this.epsilon)} for all days together (δ = 10⁻⁶).`;
  }

  protected table(): Table {
    const shown = DAYS.filter((day) => day <= this.days);
    const bands = NAMES.map((way) => this.bands(way));
    const split = SURE * this.sigma * Math.sqrt(this.days);
    const prices = this.prices(shown);
    return {
      head: [
        "day",
        "calls so far",
        "fresh noise, added up",
        "fresh total, budget split",
        "tree",
        "square root",
        "ε that fresh totals need for the square root's error",
      ],
      rows: shown.map((day, place) => [
        day.toLocaleString("en"),
        this.truth[day - 1]!.toLocaleString("en"),
        off(bands[0]![day - 1]!),
        off(split),
        off(bands[1]![day - 1]!),
        off(bands[2]![day - 1]!),
        short(prices[place]!),
      ]),
    };
  }

  static override styles = [
    Story.styles,
    css`.seen { min-height: 8em; } .legend .budget { color: var(--budget); } .legend span:last-child { color: var(--quiet); } .legend .private:last-child { color: var(--private); }`,
  ];
}
customElements.define("lw-daily-total", DailyTotal);
