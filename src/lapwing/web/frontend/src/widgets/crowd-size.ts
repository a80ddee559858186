// Pull the number of people and see what a shuffled report still tells about one of them.
import { css, html, type TemplateResult } from "lit";
import { chart, narrow, short, type Mark, type Point } from "../lib/chart.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { outOf } from "../lib/words.js";
import data from "../data/shuffling.json";

const SIZES: number[] = data.people;
const LOCAL: number[] = data.local;
const WISH = 0.1;

export class CrowdSizeStory extends Story {
  static override properties = { people: { type: Number }, local: { type: Number } };
  declare people: number;
  declare local: number;
  protected readonly question = "How well does a crowd hide you?";
  protected readonly first = { people: 10_000, local: 2 };

  protected override get allowed(): Record<string, Allowed> {
    return { people: SIZES, local: LOCAL };
  }

  private get epsilons(): number[] {
    return data.epsilon[LOCAL.indexOf(this.local)]!;
  }

  private get epsilon(): number {
    return this.epsilons[SIZES.indexOf(this.people)]!;
  }

  protected handles(): TemplateResult {
    return html`<label>people in the batch: ${this.people.toLocaleString("en")}
        <input type="range" min="0" max=${SIZES.length - 1} .value=${String(SIZES.indexOf(this.people))} aria-valuetext="${this.people.toLocaleString("en")} people"
          @input=${(event: Event) => this.take("people", SIZES[Number((event.target as HTMLInputElement).value)]!)} />
      </label>
      ${this.choice(
        "local",
        "ε₀ of each report, with its name",
        LOCAL.map((local) => [local, `ε₀ = ${local}`] as const),
      )}`;
  }

  protected picture(): unknown {
    const end = narrow() ? 1e10 : 1e9; // room for the names of the lines
    const lines = LOCAL.map((local, place): Mark => ({
      kind: "line",
      ink: local === this.local ? "private" : "quiet",
      dashed: local !== this.local,
      points: SIZES.map((size, i): Point => [size, data.epsilon[place]![i]!]),
      label: `ε₀ = ${local}`,
      side: "right",
    }));
    return chart({
      title: "Epsilon of a shuffled batch over the number of people in it",
      height: 340,
      x: {
        from: 100,
        to: end,
        label: "people in the batch",
        log: true,
        ticks: [100, 10_000, 1_000_000],
      },
      y: { from: 1e-4, to: 8, label: "ε of the shuffled batch", log: true, ticks: [0.0001, 0.001, 0.01, 0.1, 1] },
      marks: [
        ...lines,
        { kind: "across", ink: "noise", points: [[end, this.local]], dashed: true, label: "with a name: ε₀" },
        { kind: "down", ink: "exact", points: [[this.people, 8]], dashed: true },
        { kind: "dots", ink: "private", points: [[this.people, this.epsilon]], label: `ε = ${short(this.epsilon)}` },
      ],
    });
  }

  protected sentence(): string {
    const hidden = this.epsilon < 0.9 * this.local;
    const place = this.epsilons.findIndex((epsilon) => epsilon <= WISH);
    const needed =
      place < 0
        ? `No batch size shown here brings it below ε = ${WISH}.`
        : `From ${SIZES[place]!.toLocaleString("en")} people on it is below ε = ${WISH}.`;
    const now = hidden
      ? `Among ${this.people.toLocaleString("en")} people, a report of ε₀ = ${this.local} tells no more than ε = ${short(this.epsilon)}, ${short(this.local / this.epsilon)} times less (δ = 10⁻⁶). ${outOf(this.epsilon, "of your answer", "", "leaving δ aside")}`
      : `So few people cannot hide a report with ε₀ = ${this.local}. The batch promises hardly more than the report alone. ${outOf(this.local, "of your answer")}`;
    return `${now} ${needed} Against a shuffler that can open the reports, only ε₀ = ${this.local} protects you.`;
  }

  protected table(): Table {
    const rows = [100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8].map((size) => [
      size.toLocaleString("en"),
      ...LOCAL.map((_, place) => short(data.epsilon[place]![SIZES.indexOf(size)]!)),
    ]);
    return { head: ["people", ...LOCAL.map((local) => `ε₀ = ${local}`)], rows };
  }

  static override styles = [Story.styles, css`.below details { overflow-x: auto; } .seen { min-height: 7em; }`];
}
customElements.define("lw-crowd-size", CrowdSizeStory);
