// A sum needs a bound on what one person may add: a low one cuts off, a high one needs noise.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { averageNoise, bestBound, cutOff, spending } from "../math/sensitivity.js";

const LOW = 10;
const HIGH = 10000;
const STEPS = 120;
const SIZES = [100, 1000, 10000];
const boundAt = (step: number): number => Number((LOW * (HIGH / LOW) ** (step / STEPS)).toPrecision(2));
const stepOf = (bound: number): number => Math.round((Math.log(bound / LOW) / Math.log(HIGH / LOW)) * STEPS);

export class ClippingStory extends Story {
  static override properties = { epsilon: { type: Number }, bound: { type: Number }, people: { type: Number } };
  declare epsilon: number;
  declare bound: number;
  declare people: number;
  protected readonly question = "What do all customers spend together, and how much of one customer may count?";
  protected readonly first = { epsilon: 0.1, bound: 4000, people: 1000 };

  protected override get allowed(): Record<string, Allowed> {
    return { bound: { from: LOW, to: HIGH }, people: SIZES };
  }

  private get values(): number[] {
    return spending(this.people);
  }

  protected handles(): TemplateResult {
    return html`<label>count at most ${short(this.bound)} euros of each customer
        <input type="range" min="0" max=${STEPS} .value=${String(stepOf(this.bound))} aria-valuetext="${short(this.bound)} euros"
          @input=${(event: Event) => this.take("bound", boundAt(Number((event.target as HTMLInputElement).value)))} />
      </label>
      ${this.choice(
        "people",
        "customers",
        SIZES.map((size) => [size, size.toLocaleString("en")]),
      )}
      ${this.epsilonHandle()}`;
  }

  protected picture(): unknown {
    const values = this.values;
    const all = values.reduce((total, value) => total + value, 0);
    const bounds = Array.from({ length: 97 }, (_, i) => LOW * (HIGH / LOW) ** (i / 96));
    const bias = bounds.map((bound): Point => [bound, cutOff(values, bound) / all]);
    const noise = bounds.map((bound): Point => [bound, averageNoise(bound, this.epsilon) / all]);
    const both = bounds.map((bound, i): Point => [bound, bias[i]![1] + noise[i]![1]]);
    const inside = (points: Point[]): Point[] => points.filter(([, share]) => share <= 1);
    const here = (cutOff(values, this.bound) + averageNoise(this.bound, this.epsilon)) / all;
    return chart({
      title: "Error of the private sum over the bound: what is cut off, the noise, and both",
      x: {
        from: LOW,
        to: HIGH,
        label: "at most this many euros of each customer count",
        log: true,
        ticks: [10, 30, 100, 300, 1000, 3000],
      },
      y: {
        from: 0,
        to: 1.1,
        label: "share of the true sum",
        ticks: [0, 0.25, 0.5, 0.75, 1],
        format: (share) => percent(share),
      },
      marks: [
        { kind: "line", ink: "exact", points: inside(bias), dashed: true },
        { kind: "line", ink: "noise", points: inside(noise), dashed: true },
        { kind: "line", ink: "private", points: inside(both) },
        { kind: "dots", ink: "exact", points: bias.slice(20, 21), label: "cut off" },
        {
          kind: "dots",
          ink: "noise",
          points: inside(noise).filter((_, i, all) => i === Math.floor(0.45 * all.length)),
          label: "noise",
        },
        { kind: "down", ink: "quiet", points: [[this.bound, 0]], dashed: true },
        {
          kind: "dots",
          ink: "private",
          points: [[this.bound, Math.min(1, here)]],
          label: here > 1 ? `more than all: ${percent(here)}` : `both: ${percent(here)}`,
        },
      ],
    });
  }

  protected sentence(): string {
    const values = this.values;
    const all = values.reduce((total, value) => total + value, 0);
    const cut = cutOff(values, this.bound);
    const noise = averageNoise(this.bound, this.epsilon);
    const above = values.filter((value) => value > this.bound).length;
    const best = bestBound(values, this.epsilon);
    const least = cutOff(values, best) + averageNoise(best, this.epsilon);
    const side =
      above > (1 / this.epsilon) * 1.5
        ? `The bound is too low: ${above === 1 ? "1 customer is" : `${short(above)} customers are`} above it, more than 1/ε = ${short(1 / this.epsilon)}.`
        : above < 1 / this.epsilon / 1.5
          ? `The bound is too high: ${above === 0 ? "no customer is" : above === 1 ? "only 1 customer is" : `only ${short(above)} customers are`} above it, fewer than 1/ε = ${short(1 / this.epsilon)}.`
          : "About right.";
    const advice =
      best > 0
        ? `Both together are smallest, ${percent(least / all, 1)}, with a bound of ${short(best)}: ${this.epsilon > 1 ? "then nobody is cut off" : `about 1/ε = ${short(1 / this.epsilon)} customers spend more`}.`
        : `With so few customers and such a small epsilon, no bound makes both together smaller than 100\u00a0%.`;
    return `Of ${short(all)} euros, the bound cuts off ${short(cut)}, and noise is off by ${short(noise)} on average: together at most ${percent((cut + noise) / all, 1)}. ${best > 0 ? side : ""} ${advice}`;
  }

  protected table(): Table {
    const values = this.values;
    const all = values.reduce((total, value) => total + value, 0);
    const rows = [30, 100, 300, 1000, 3000, 10000].map((bound) => {
      const cut = cutOff(values, bound);
      const noise = averageNoise(bound, this.epsilon);
      return [short(bound), short(cut), short(noise), percent((cut + noise) / all, 1)];
    });
    return { head: ["bound", "cut off", "average noise", "both, of the true sum"], rows };
  }

  static override styles = [Story.styles, css`.handles > lw-epsilon { flex-basis: 100%; }`];
}
customElements.define("lw-clipping", ClippingStory);
