// Two curators answer about the same secret count; what an adversary believes after each answer.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { counted } from "../lib/plural.js";
import { below, exponential } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { alike, bounded, certain, laplace, left } from "../math/narrowing.js";

const MOST = 30;

export class Narrowing extends Story {
  static override properties = {
    epsilon: { type: Number },
    truth: { type: Number },
    edged: { state: true },
    endless: { state: true },
  };
  declare epsilon: number;
  declare truth: number;
  declare private edged: number[];
  declare private endless: number[];
  protected readonly question = "How much do two curators reveal with each answer?";
  protected readonly first = { epsilon: 0.5, truth: 12 };

  protected override get allowed(): Record<string, Allowed> {
    return { truth: { from: 0, to: MOST, whole: true } };
  }

  constructor() {
    super();
    this.forget();
  }

  private get width(): number {
    return alike(this.epsilon);
  }

  private forget(): void {
    this.edged = [];
    this.endless = [];
  }

  /** Other noise or another secret is another story. */
  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    this.forget();
  }

  private ask(times: number): void {
    const whole = (): number => Math.floor(exponential() / this.epsilon);
    const more = (draw: () => number): number[] => Array.from({ length: times }, () => this.truth + draw());
    this.edged = [...this.edged, ...more(() => below(2 * this.width + 1) - this.width)];
    this.endless = [...this.endless, ...more(() => whole() - whole())];
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle("for the curator without an edge:", { about: "that you are counted", when: "After one answer" })}
      <div class="more">
        <label>the secret count: ${this.truth}
          <input type="range" min="0" max=${MOST} step="1" .value=${String(this.truth)}
            @input=${(event: Event) => this.take("truth", Number((event.target as HTMLInputElement).value))} />
        </label>
        <div class="buttons">
          <button type="button" class="main" @click=${() => this.ask(1)}>Ask once</button>
          <button type="button" @click=${() => this.ask(10)}>Ten times</button>
        </div>
      </div>`;
  }

  protected picture(): unknown {
    return html`${this.beliefs("adversary", bounded(this.edged, this.width, MOST), this.edged, `with an edge at ±${this.width}`)}
      ${this.beliefs("private", laplace(this.endless, this.epsilon, MOST), this.endless, "without an edge")}`;
  }

  private beliefs(ink: "adversary" | "private", belief: number[], answers: number[], name: string): unknown {
    const bars: Point[] = belief.map((share, count) => [count, share]);
    const out: Point[] = ink === "adversary" ? bars.filter(([, share]) => share === 0) : [];
    const top = Math.max(0.15, 1.25 * Math.max(...belief));
    const step = top > 0.75 ? 0.5 : top > 0.35 ? 0.2 : 0.1;
    const ticks = [step, 2 * step, 3 * step].filter((tick) => tick <= Math.min(1, top));
    const last = answers
      .slice(-3)
      .map((answer) => short(answer))
      .join(", ");
    return html`<p class="name ${ink}">${name} <span>${answers.length ? `said ${answers.length > 3 ? "… " : ""}${last}; ` : ""}ruled out: ${out.length} of ${MOST + 1}</span></p>
      ${chart({
        title: `Belief about the count after ${answers.length} answers, ${name}`,
        x: { from: -0.7, to: MOST + 0.7, label: "count", ticks: [0, 10, 20, 30] },
        y: { from: 0, to: top, label: "belief", ticks, format: (value) => percent(value) },
        height: 170,
        marks: [
          { kind: "bars", ink, points: bars },
          { kind: "dots", ink: "quiet", points: out.map(([count]) => [count, top / 25]) },
          { kind: "down", ink: "exact", points: [[this.truth, 0]], label: "truth", dashed: true },
        ],
      })}`;
  }

  protected sentence(): string | TemplateResult {
    const asked = this.edged.length;
    if (!asked)
      return "Nobody has asked yet. For the adversary, all counts from 0 to 30 are equally likely. Press a button to ask.";
    const [low, high] = left(this.edged, this.width, MOST);
    const edged =
      low === high
        ? `With an edge, only the count ${low} is still possible. The adversary knows the truth.`
        : `With an edge, ${high - low + 1} of ${MOST + 1} counts are still possible, ${low} to ${high}. After this number of answers, the adversary knows the truth in at least ${percent(certain(this.width, asked))} of all cases.`;
    const spent = asked * this.epsilon;
    const factor = Math.exp(spent);
    const odds =
      factor < 1e6
        ? ` = ${short(factor)}`
        : `, a number with ${Math.floor(spent / Math.LN10) + 1} digits. These are far too many answers`;
    return html`${counted(asked, "answer")}. ${edged} Without an edge, no count is ruled out. The odds between two neighbouring counts have changed by a factor of at most e<sup>${short(spent)}</sup>${odds}.`;
  }

  protected table(): Table {
    const edged = bounded(this.edged, this.width, MOST);
    const endless = laplace(this.endless, this.epsilon, MOST);
    const said = (share: number): string => (share < 0.001 ? "under 0.1\u00a0%" : percent(share, 1));
    return {
      head: ["count", "with an edge", "without an edge"],
      rows: edged.map((share, count) => [count, share ? said(share) : "ruled out", said(endless[count]!)]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .buttons { display: flex; flex-wrap: wrap; gap: 0.5rem; }
      .name { margin: 0.8rem 0 0; font-weight: 600; display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; }
      .name span { font-weight: 400; font-size: 0.9rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
      .name.adversary { color: var(--adversary); } .name.private { color: var(--private); }
      .seen { min-height: 6em; }
    `,
  ];
}
customElements.define("lw-narrowing", Narrowing);
