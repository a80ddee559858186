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
const said = (share: number): string => (share >= 1 ? "everything (100 %)" : `${+(100 * share).toPrecision(2)}\u00a0%`);

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
      ${this.epsilonHandle()}`;
  }

  protected picture(): unknown {
    const sizes = Array.from({ length: 121 }, (_, i) => 100 * 10 ** (i / 20));
    const all = sizes.map((size) => models(size, this.epsilon));
    const line = (model: "central" | "shuffled" | "local" | "sample"): Point[] =>
      sizes.map((size, i): Point => [size, all[i]![model]]).filter(([, error]) => error <= 1 && error >= LEAST);
    const label = (points: Point[], people: number, text: string) => ({
      points: points.filter(([size]) => size >= people).slice(0, 1),
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
        label: "off by at most, with 95 % confidence",
        log: true,
        ticks: [1e-6, 1e-4, 0.01, 1],
        format: (share) => `${+(100 * share).toPrecision(2)} %`,
      },
      marks: [
        { kind: "line", ink: "quiet", points: sample, dashed: true },
        { kind: "line", ink: "noise", points: local },
        { kind: "line", ink: "budget", points: shuffled },
        { kind: "line", ink: "private", points: central },
        { kind: "dots", ink: "noise", ...label(local, 3e4, "local") },
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
        ? `With a shuffler everybody may answer with ε₀ = ${short(loss)}, and the crowd still protects them with ε = ${short(this.epsilon)} (δ = 10⁻⁹). The share is then off by ${said(now.shuffled)}. (Against the shuffler itself, only ε₀ protects.)`
        : "With so few people, a shuffler does not help.";
    return `${this.people.toLocaleString("en")} people say yes or no. With a trusted curator, the share is off by at most ${said(now.central)}. If nobody is trusted, it is off by at most ${said(now.local)}. ${shuffler} The local error is ${short(now.local / now.central)} times the central one. A random sample of so many people is off by ${said(now.sample)} anyway (dashed).`;
  }

  protected table(): Table {
    const rows = [1e3, 1e4, 1e5, 1e6, 1e7].map((size) => {
      const now = models(size, this.epsilon);
      return [size.toLocaleString("en"), said(now.central), said(now.shuffled), said(now.local), said(now.sample)];
    });
    return { head: ["people", "central", "shuffled", "local", "drawing a sample"], rows };
  }

  static override styles = [
    Story.styles,
    css`.handles > lw-epsilon { flex-basis: 100%; } .below details { overflow-x: auto; }`,
  ];
}
customElements.define("lw-three-models", ThreeModelsStory);
