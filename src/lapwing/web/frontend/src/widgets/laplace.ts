// Two neighbouring answers, the noise around each, and how far an adversary can tell them apart.
import { html, type TemplateResult } from "lit";
import { chart, short, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { density, within } from "../math/laplace.js";
import { percent } from "../lib/words.js";

export class LaplaceStory extends Story {
  static override properties = { epsilon: { type: Number }, sensitivity: { type: Number } };
  declare epsilon: number;
  declare sensitivity: number;
  protected readonly question = "How much noise does an answer need?";
  protected readonly first = { epsilon: 1, sensitivity: 1 };

  protected override get allowed(): Record<string, Allowed> {
    return { sensitivity: { from: 0.1, to: 100 } };
  }

  private get scale(): number {
    return this.sensitivity / this.epsilon;
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle()}
      <label>sensitivity: how much one person can change the answer
        <input type="number" min="0.1" max="100" step="any" .value=${String(this.sensitivity)}
          @change=${(event: Event) => this.take("sensitivity", Math.min(100, Math.max(0.1, Number((event.target as HTMLInputElement).value) || 1)))} />
      </label>`;
  }

  protected picture(): unknown {
    const reach = Math.max(6, 4 * this.scale + this.sensitivity);
    const at = Array.from({ length: 241 }, (_, i) => 100 - reach + (i / 240) * 2 * reach);
    const curve = (centre: number): Point[] => at.map((x) => [x, density(x, centre, this.scale)]);
    const top = 1.15 / (2 * this.scale);
    return chart({
      title: "Densities of the noisy answer with and without one person",
      x: { from: 100 - reach, to: 100 + reach, label: "noisy answer" },
      y: { from: 0, to: top, label: "how likely", ticks: [] },
      marks: [
        { kind: "area", ink: "private", points: curve(100 + this.sensitivity) },
        { kind: "line", ink: "exact", points: curve(100) },
        { kind: "down", ink: "exact", points: [[100, 0]], label: "without you: 100", side: "left", dashed: true },
        { kind: "line", ink: "private", points: curve(100 + this.sensitivity) },
        {
          kind: "down",
          ink: "private",
          points: [[100 + this.sensitivity, 0]],
          label: `with you: ${short(100 + this.sensitivity)}`,
          side: "right",
          dashed: true,
        },
      ],
    });
  }

  protected sentence(): string {
    const half = within(this.scale, 0.95);
    return `The scale of the noise is ${+this.scale.toPrecision(3)}. The answer is off by at most ${+half.toPrecision(3)}, with 95 % confidence, whether 100 people are counted or a million. At every answer, the two curves differ by a factor of at most ${+Math.exp(this.epsilon).toPrecision(3)}.`;
  }

  protected table(): Table {
    const shares = [1, 2, 3, 4, 5].map((times) => [
      +(times * this.scale).toPrecision(3),
      percent(1 - Math.exp(-times), 1),
    ]);
    return { head: ["off by at most", "share of releases"], rows: shares };
  }
}
customElements.define("lw-laplace", LaplaceStory);
