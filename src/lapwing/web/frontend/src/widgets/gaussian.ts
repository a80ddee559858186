// How wide Gaussian noise must be: for one answer by two calibrations, or for many answers beside Laplace noise.
import { html, type TemplateResult } from "lit";
import { chart, short, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { counted } from "../lib/plural.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { analytic, classical, crossing, delta, gaussian, laplace, laplacePure } from "../math/gaussian.js";

const DELTAS = [1e-3, 1e-6, 1e-9];
const MANY = [1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000];
const SOME = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]; // of these
const EPSILONS = Array.from({ length: 61 }, (_, i) => 0.01 * 1000 ** (i / 60));

export class GaussianStory extends Story {
  static override properties = { epsilon: { type: Number }, delta: { type: Number }, view: { type: String } };
  declare epsilon: number;
  declare delta: number;
  /** "one" answer or "many"; not part of the state. */
  declare view: string;

  protected override get first(): Record<string, number> {
    return { epsilon: this.many ? 1 : 0.5, delta: 1e-6 };
  }

  protected override get allowed(): Record<string, Allowed> {
    return { delta: DELTAS };
  }

  protected override get question(): string {
    return this.many ? "Laplace or Gaussian noise, for how many answers?" : "How large must the noise be?";
  }

  /** The number of answers from which on Gaussian noise is smaller. */
  private few = 0;
  /** Laplace noise that may use the delta, by the number of answers. */
  private wide = new Map<number, number>();

  override willUpdate(): void {
    if (!this.many) return;
    this.few = crossing(this.epsilon, this.delta);
    this.wide = new Map(MANY.map((k) => [k, laplace(k, this.epsilon, this.delta)]));
  }

  private get many(): boolean {
    return this.view === "many";
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle(undefined, { except: "leaving δ aside" })}
      ${this.choice(
        "delta",
        "delta δ",
        DELTAS.map((one) => [one, inWords(one)]),
      )}`;
  }

  protected picture(): unknown {
    return this.many ? this.answers() : this.sigmas();
  }

  private sigmas(): unknown {
    const exact = EPSILONS.map((epsilon): Point => [epsilon, analytic(epsilon, this.delta)]);
    const book = (from: number, to: number): Point[] =>
      [from, ...EPSILONS.filter((one) => one > from && one < to), to].map((epsilon) => [
        epsilon,
        classical(epsilon, this.delta),
      ]);
    const now = analytic(this.epsilon, this.delta);
    return html`${chart({
      title:
        "Standard deviation of the noise against epsilon, by the classical formula and by the analytic calibration",
      x: { from: 0.01, to: 10, label: "epsilon", log: true },
      y: { from: 0.2, to: 1000, label: "standard deviation σ", log: true, ticks: [1, 10, 100, 1000] },
      height: 260,
      marks: [
        { kind: "down", ink: "quiet", points: [[1, 0]], dashed: true },
        { kind: "line", ink: "exact", points: book(0.01, 1) },
        { kind: "line", ink: "adversary", points: book(1, 10), dashed: true },
        { kind: "line", ink: "private", points: exact },
        { kind: "dots", ink: "private", points: [[this.epsilon, now]] },
      ],
    })}
    <p class="legend"><span class="exact">━ classical formula</span> <span class="adversary">╍ classical formula, where it is not proven</span> <span class="private">━ analytic calibration</span></p>
    ${chart({
      title: "The analytic sigma as a share of the classical one",
      x: { from: 0.01, to: 10, label: "epsilon", log: true },
      y: {
        from: 0.3,
        to: 1.1,
        label: "analytic : classical",
        ticks: [0.4, 0.6, 0.8, 1],
        format: (value) => percent(value),
      },
      height: 170,
      marks: [
        { kind: "across", ink: "exact", points: [[0.01, 1]] },
        { kind: "down", ink: "quiet", points: [[1, 0]], dashed: true },
        {
          kind: "line",
          ink: "private",
          points: exact.map(([epsilon, sigma]) => [epsilon, sigma / classical(epsilon, this.delta)]),
        },
        { kind: "dots", ink: "private", points: [[this.epsilon, now / classical(this.epsilon, this.delta)]] },
      ],
    })}`;
  }

  private answers(): unknown {
    const { few } = this;
    const sigma = analytic(this.epsilon, this.delta);
    const line = (noise: (k: number) => number): Point[] => MANY.map((k) => [k, noise(k)]);
    return html`${chart({
      title: "Standard deviation of the noise on each answer, against the number of answers",
      x: { from: 1, to: 1000, label: "number of answers", log: true },
      y: { from: 0.5 / this.epsilon, to: 2000 / this.epsilon, label: "noise on each answer (σ)", log: true },
      marks: [
        { kind: "down", ink: "quiet", points: [[few, 0]], dashed: true },
        { kind: "line", ink: "noise", points: line((k) => laplacePure(k, this.epsilon)), dashed: true },
        { kind: "line", ink: "noise", points: [...this.wide] },
        { kind: "line", ink: "private", points: line((k) => Math.sqrt(k) * sigma) },
        { kind: "dots", ink: "private", points: [[few, Math.sqrt(few) * sigma]] },
      ],
    })}
    <p class="legend"><span class="noise">╍ Laplace with δ = 0</span> <span class="noise">━ Laplace with the same δ</span> <span class="private">━ Gaussian</span> <span class="private">● ${few === 1 ? "Gaussian noise is smaller from the first answer on" : `Gaussian noise is smaller from ${few} answers on`}</span></p>`;
  }

  protected sentence(): string {
    if (this.many) {
      const { few } = this;
      const least =
        few > 1
          ? `Up to ${counted(few - 1, "answer")}, Laplace noise is smaller. From ${few} answers on, Gaussian noise is smaller.`
          : "Gaussian noise is smaller even for one answer, because δ is large compared with ε.";
      const [wide, narrow] = [this.wide.get(100)!, gaussian(100, this.epsilon, this.delta)];
      return `One person changes every answer by at most 1. ${least} For 100 answers, Gaussian noise has σ = ${short(narrow)} on each answer. Laplace noise has σ = ${short(laplacePure(100, this.epsilon))} with δ = 0, and ${short(wide)} with the same δ.`;
    }
    const exact = analytic(this.epsilon, this.delta);
    const book = classical(this.epsilon, this.delta);
    if (this.epsilon < 1)
      return `At ε = ${short(this.epsilon)} and δ = ${inWords(this.delta)}, the classical formula gives σ = ${short(book)}. The analytic calibration gives ${short(exact)}, which is ${Math.round(100 * (1 - exact / book))}\u00a0% less for the same guarantee.`;
    const really = delta(book, this.epsilon);
    const verdict =
      really > this.delta
        ? `This is too little noise: its real δ is ${really.toExponential(1).replace(/e-(\d+)/, (_, digits: string) => ` · 10⁻${[...digits].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(digit)]).join("")}`)}`
        : "This σ happens to be enough here, but the proof of the formula does not cover it";
    return `At ε = ${short(this.epsilon)} the classical formula is not proven. It gives σ = ${short(book)}. ${verdict}. The analytic calibration gives ${short(exact)}.`;
  }

  protected table(): Table {
    if (this.many)
      return {
        head: ["answers", "Laplace, δ = 0 (σ)", "Laplace, same δ (σ)", "Gaussian (σ)"],
        rows: SOME.map((k) => [
          k,
          short(laplacePure(k, this.epsilon)),
          short(this.wide.get(k)!),
          short(gaussian(k, this.epsilon, this.delta)),
        ]),
      };
    return {
      head: ["epsilon", "classical (σ)", "analytic (σ)"],
      rows: [0.01, 0.05, 0.1, 0.2, 0.5, 0.9, 1, 2, 4, 8, 10].map((epsilon) => [
        epsilon,
        epsilon < 1 ? short(classical(epsilon, this.delta)) : "not proven",
        short(analytic(epsilon, this.delta)),
      ]),
    };
  }
}

function inWords(value: number): string {
  return `one in ${{ 0.001: "a thousand", 0.000001: "a million", 1e-9: "a billion" }[value] ?? short(1 / value)}`;
}
customElements.define("lw-gaussian", GaussianStory);
