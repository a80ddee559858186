// Private linear regressions over epsilon, on real data: two as a study had them, and three that keep what they say.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Ink, type Mark, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { between } from "../math/curves.js";
import data from "../data/regression.json";

interface Line {
  name: string;
  said: string;
  ink: Ink;
  dashed: boolean;
  private: boolean;
}
const LINES: Line[] = [
  { name: "method 1", said: "method 1 (not private)", ink: "adversary", dashed: true, private: false },
  { name: "method 2", said: "method 2 (not private)", ink: "noise", dashed: true, private: false },
  { name: "sufficient statistics", said: "private: sums of products", ink: "private", dashed: false, private: true },
  { name: "functional", said: "private: the objective", ink: "noise", dashed: false, private: true },
  { name: "output", said: "private: the weights", ink: "quiet", dashed: false, private: true },
];
const POINTS = data.lines as unknown as Record<string, Point[]>;

export class RegressionStory extends Story {
  static override properties = { epsilon: { type: Number }, shown: {} };
  declare epsilon: number;
  declare shown: string;
  protected readonly question = "What does privacy cost a regression on 506 records?";
  protected readonly first = { epsilon: 1, shown: "study" };

  protected override get allowed(): Record<string, Allowed> {
    return { shown: ["study", "private", "all"] };
  }

  private get lines(): Line[] {
    return LINES.filter((line) => this.shown === "all" || line.private === (this.shown === "private"));
  }

  protected handles(): TemplateResult {
    const kinds = [
      ["study", "the two methods of the study"],
      ["private", "three private methods"],
      ["all", "all five"],
    ];
    const claimed = this.shown === "study";
    const about = {
      study: "This ε is only claimed: neither method keeps it.",
      all: "For the two methods of the study this ε is only claimed: neither of them keeps it.",
    };
    return html`${this.epsilonHandle(claimed ? "claimed" : "epsilon", { instead: about[this.shown as keyof typeof about] })}
      <fieldset><legend>which regressions</legend>${kinds.map(
        ([value, said]) =>
          html`<label class="one"><input type="radio" name="shown" value=${value!} .checked=${this.shown === value} @change=${() => this.take("shown", value!)} />${said}</label>`,
      )}</fieldset>`;
  }

  protected picture(): unknown {
    const top = this.shown === "private" ? 10 : 500;
    const curves = this.lines.map((line): Mark => ({
      kind: "line",
      ink: line.ink,
      dashed: line.dashed,
      points: POINTS[line.name]!,
    }));
    const here = this.lines.map((line): Mark => ({
      kind: "dots",
      ink: line.ink,
      points: [[this.epsilon, this.error(line)]],
    }));
    return html`${chart({
      title: "Error of regressions over epsilon",
      x: { from: 0.009, to: 11, label: "ε", log: true, ticks: [0.01, 0.1, 1, 10] },
      y:
        this.shown === "private"
          ? { from: 5, to: top, label: "error, thousand dollars" }
          : { from: 5, to: top, log: true, label: "error, thousand dollars", ticks: [5, 10, 20, 50, 100, 200, 500] },
      height: 340,
      marks: [
        { kind: "down", ink: "budget", points: [[this.epsilon, 0]], dashed: true },
        { kind: "across", ink: "exact", points: [[0.01, data.exact]], dashed: true, label: "without privacy" },
        ...(this.shown === "study"
          ? []
          : [
              {
                kind: "across",
                ink: "exact",
                points: [[10, data.middle]],
                dashed: true,
                label: "always saying 25",
              } as Mark,
            ]),
        ...curves,
        ...here,
      ],
    })}
    <ul class="key">${this.lines.map((line) => html`<li><svg viewBox="0 0 28 10" aria-hidden="true"><line class="line ${line.ink}" x1="0" x2="28" y1="5" y2="5" stroke-dasharray=${line.dashed ? "5 4" : "none"}></line></svg>${line.said}: <b>${this.error(line).toFixed(1)}</b></li>`)}</ul>`;
  }

  private error(line: Line): number {
    return between(POINTS[line.name]!, this.epsilon);
  }

  protected sentence(): string {
    const times = (line: Line): string =>
      `${(this.error(line) / data.exact).toFixed(this.error(line) > 10 * data.exact ? 0 : 2)} times`;
    const of = (name: string): Line => LINES.find((line) => line.name === name)!;
    const blind = (data.middle / data.exact).toFixed(2);
    if (this.shown === "study")
      return `At ε = ${short(this.epsilon)} method 1 has ${times(of("method 1"))} the error of a fit without privacy, and method 2 has ${times(of("method 2"))}. Neither is private at any ε: both read from the data what must be public.`;
    const best = LINES.filter((line) => line.private).sort((a, b) => this.error(a) - this.error(b))[0]!;
    const lost = this.error(best) > 0.97 * data.middle;
    return `At ε = ${short(this.epsilon)} the best private method (${best.said.replace("private: ", "noise on ")}) has ${times(best)} the error of a fit without privacy. A model that reads no record and always says 25 has ${blind} times the error of a fit without privacy${lost ? ". So the records (455 in each fit) teach practically nothing at this ε" : ""}.`;
  }

  protected table(): Table {
    const lines = this.lines;
    return {
      head: ["ε", ...lines.map((line) => line.said)],
      rows: POINTS[lines[0]!.name]!.map(([epsilon]) => [
        short(epsilon),
        ...lines.map((line) => between(POINTS[line.name]!, epsilon).toFixed(2)),
      ]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      fieldset { border: 0; padding: 0; margin: 0; display: grid; gap: 0.15rem; font-size: 0.95rem; }
      legend { font-size: 0.9rem; color: var(--quiet); padding: 0; }
      .one { display: flex; gap: 0.4rem; align-items: center; color: var(--ink); font-size: 0.95rem; }
      .key { list-style: none; display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; padding: 0; margin: 0.2rem 0; font-size: 0.95rem; }
      .key svg { display: inline-block; width: 28px; height: 10px; margin: 0 0.4em 0 0; vertical-align: middle; }
    `,
  ];
}
customElements.define("lw-regression-curves", RegressionStory);
