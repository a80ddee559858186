// What it costs to trust nobody, to trust a shuffler, or to trust a curator: error of a share over the number of people.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { DELTA, models } from "../math/choice.js";
import { localLoss } from "../math/shuffling.js";

const LEAST = 1e-7;
const STEPS = 60; // from 100 people to 100 million
const sizeAt = (step: number): number => Number((100 * 10 ** (step / 10)).toPrecision(2));
const stepOf = (size: number): number => Math.round(10 * Math.log10(size / 100));
/** Percentage points; nothing can be off by more than all of them. */
const points = (share: number): string =>
  (100 * Math.min(1, share)).toLocaleString("en", { maximumSignificantDigits: 2 });
const said = (share: number): string =>
  share >= 1 ? "100\u00a0percentage points, which tells nothing" : `${points(share)}\u00a0percentage points`;

export class ThreeModelsStory extends Story {
  static override properties = { epsilon: { type: Number }, people: { type: Number } };
  declare epsilon: number;
  declare people: number;
  protected readonly question = "What does it cost to trust nobody?";
  protected readonly first = { epsilon: 0.5, people: 1_000_000 };

  protected override get allowed(): Record<string, Allowed> {
    return { people: { from: 100, to: 1e8 } };
  }

  protected handles(): TemplateResult {
    return html`<label>people who answer: ${this.people.toLocaleString("en")}
        <input type="range" min="0" max=${STEPS} .value=${String(stepOf(this.people))} aria-valuetext="${this.people.toLocaleString("en")} people"
          @input=${(event: Event) => this.take("people", sizeAt(Number((event.target as HTMLInputElement).value)))} />
      </label>
      ${this.epsilonHandle("epsilon", { about: "of your answer" })}`;
  }

  protected picture(): unknown {
    const sizes = Array.from({ length: 121 }, (_, i) => 100 * 10 ** (i / 20));
    const all = sizes.map((size) => models(size, this.epsilon));
    const line = (model: "central" | "shuffled" | "local" | "sample"): Point[] =>
      sizes.map((size, i): Point => [size, all[i]![model]]).filter(([, error]) => error <= 1 && error >= LEAST);
    const label = (points: Point[], people: number, text: string) => ({
      points: points.filter(([size, error]) => size >= people && error <= 0.3).slice(0, 1),
      label: text,
    });
    const [central, shuffled, local, sample] = [line("central"), line("shuffled"), line("local"), line("sample")];
    return chart({
      title: "Error of an estimated share over the number of people, in three models of trust",
      height: 340,
      x: { from: 100, to: 1e8, label: "people", log: true, ticks: [100, 10_000, 1_000_000] },
      y: {
        from: LEAST,
        to: 1,
        label: "off by at most (percentage points, 95 % confidence)",
        log: true,
        ticks: [1e-6, 1e-4, 0.01, 1],
        format: points,
      },
      marks: [
        { kind: "line", ink: "quiet", points: sample, dashed: true },
        { kind: "line", ink: "noise", points: local },
        { kind: "line", ink: "budget", points: shuffled },
        { kind: "line", ink: "private", points: central },
        { kind: "dots", ink: "noise", side: "right", ...label(local, 3e4, "local") },
        { kind: "dots", ink: "budget", ...label(shuffled, 1e5, "shuffled") },
        { kind: "dots", ink: "private", ...label(central, 3e3, "central") },
        { kind: "down", ink: "exact", points: [[this.people, 1]], dashed: true },
      ],
    });
  }

  protected sentence(): string {
    const now = models(this.people, this.epsilon);
    const loss = localLoss(this.epsilon, this.people, DELTA);
    const shuffler =
      loss > this.epsilon * 1.001
        ? `With a shuffler everybody may answer with ε₀ = ${short(loss)}, and the crowd still protects them with ε = ${short(this.epsilon)} (δ = 10⁻⁹). The share is then off by ${said(now.shuffled)}. (Against a shuffler that reads the reports, only ε₀ protects.)`
        : "For this ε and so few people, the theorem behind this curve shows no gain from a shuffler.";
    return `${this.people.toLocaleString("en")} people say yes or no. With a trusted curator, the share is off by at most ${said(now.central)}. If nobody is trusted, it is off by at most ${said(now.local)}. ${shuffler} The local error is ${short(now.local / now.central)} times the central one. A random sample of so many people is off by ${said(now.sample)} anyway (dashed).`;
  }

  protected table(): Table {
    const rows = [1e3, 1e4, 1e5, 1e6, 1e7].map((size) => {
      const now = models(size, this.epsilon);
      return [size.toLocaleString("en"), ...[now.central, now.shuffled, now.local, now.sample].map(points)];
    });
    return {
      head: ["people", "central, points", "shuffled, points", "local, points", "drawing a sample, points"],
      rows,
    };
  }

  static override styles = [
    Story.styles,
    css`.handles > lw-epsilon { flex-basis: 100%; } .below details { overflow-x: auto; }`,
  ];
}
customElements.define("lw-three-models", ThreeModelsStory);
