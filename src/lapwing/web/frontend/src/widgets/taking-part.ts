// What it can cost to take part, in one study and in many: the chance of something bad, before and at worst after.
import { css, html, type TemplateResult } from "lit";
import { chart, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { chances } from "../math/perspective.js";

const MANY = 20;
const CHANCES = [0.001, 0.01, 0.1, 0.5];
const OUT_OF = 10000;
const whole = (value: number): string => Math.round(value).toLocaleString("en");

export class TakingPart extends Story {
  static override properties = { epsilon: { type: Number }, studies: { type: Number }, chance: { type: Number } };
  declare epsilon: number;
  declare studies: number;
  declare chance: number;
  protected readonly question = "What can it cost you to take part?";
  protected readonly first = { epsilon: 0.1, studies: 3, chance: 0.01 };

  protected override get allowed(): Record<string, Allowed> {
    return { studies: { from: 0, to: MANY, whole: true }, chance: CHANCES };
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle("epsilon of each study,", { when: "After one study" })}
      <div class="more">
        <label>studies you take part in: ${this.studies}
          <input type="range" min="0" max=${MANY} step="1" .value=${String(this.studies)}
            @input=${(event: Event) => this.take("studies", Number((event.target as HTMLInputElement).value))} />
        </label>
        ${this.choice(
          "chance",
          "without the studies, the event happens to",
          CHANCES.map((one) => [one, `${whole(OUT_OF * one)} of ${whole(OUT_OF)} people`]),
        )}
      </div>`;
  }

  private reached(studies: number): [number, number] {
    return chances(this.chance, studies * this.epsilon);
  }

  protected picture(): unknown {
    const counts = Array.from({ length: MANY + 1 }, (_, i) => i);
    const high = counts.map((i): Point => [i, this.reached(i)[1]]);
    const low = counts.map((i): Point => [i, this.reached(i)[0]]);
    const [least, most] = this.reached(this.studies);
    const top = Math.min(1, 1.25 * Math.max(high[MANY]![1], 2 * this.chance));
    return chart({
      title: "Probability of the event without your data, and its upper and lower bound after a number of studies",
      x: { from: 0, to: MANY, label: "studies" },
      y: { from: 0, to: top, label: "probability of the event", format: (value) => percent(value, top < 0.1 ? 1 : 0) },
      marks: [
        { kind: "area", ink: "adversary", points: [...high, ...[...low].reverse()], base: low[0]![1] },
        { kind: "line", ink: "adversary", points: high, label: "at most" },
        { kind: "line", ink: "private", points: low, label: "at least" },
        { kind: "across", ink: "exact", points: [[MANY / 2, this.chance]], label: "anyway", dashed: true },
        { kind: "down", ink: "budget", points: [[this.studies, 0]], dashed: true },
        { kind: "dots", ink: "adversary", points: [[this.studies, most]] },
        { kind: "dots", ink: "private", points: [[this.studies, least]] },
      ],
    });
  }

  protected sentence(): string {
    const [least, most] = this.reached(this.studies);
    const anyway = whole(OUT_OF * this.chance);
    if (!this.studies)
      return `You stay away. Of ${whole(OUT_OF)} people like you, it happens to ${anyway} anyway. No privacy method can change this.`;
    const total = +(this.studies * this.epsilon).toPrecision(3);
    const times = this.studies === 1 ? "one study" : `${this.studies} studies together`;
    const loose =
      most > 5 * this.chance && this.studies * this.epsilon > 2
        ? " Such a weak bound protects little, but at least you can see this."
        : "";
    return `Of ${whole(OUT_OF)} people like you, it happens to ${anyway} anyway. After ${times} (ε = ${total}) it happens to at most ${whole(Math.ceil(OUT_OF * most))} and at least ${whole(Math.floor(OUT_OF * least))}, whatever anybody does with the results.${loose}`;
  }

  protected table(): Table {
    const rows = [0, 1, 2, 5, 10, 20].map((studies) => {
      const [least, most] = this.reached(studies);
      return [
        studies,
        +(studies * this.epsilon).toPrecision(3),
        percent(Math.floor(1e4 * least + 1e-9) / 1e4, 2),
        percent(Math.ceil(1e4 * most - 1e-9) / 1e4, 2),
      ];
    });
    return { head: ["studies", "ε in total", "at least", "at most"], rows };
  }

  static override styles = [
    Story.styles,
    css`
      .seen { min-height: 6em; }
    `,
  ];
}
customElements.define("lw-taking-part", TakingPart);
