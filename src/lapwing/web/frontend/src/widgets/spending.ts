// One budget, several questions: how far each answer may be off, by the way the budget is spent.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Ink, type Mark, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { affordable, countError, halved, planned, priceOf } from "../math/perspective.js";

const MANY = 20;
const WITHIN = [5, 10, 20, 50];
const off = (error: number): string => `±\u00a0${short(Number(error.toPrecision(2)))}`;

export class Spending extends Story {
  static override properties = { epsilon: { type: Number }, questions: { type: Number }, within: { type: Number } };
  declare epsilon: number;
  declare questions: number;
  declare within: number;
  protected readonly question = "You have one budget and several counts to ask for. How do you spend it?";
  protected readonly first = { epsilon: 1, questions: 10, within: 10 };

  protected override get allowed(): Record<string, Allowed> {
    return { questions: { from: 2, to: MANY, whole: true }, within: WITHIN };
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle("total budget, epsilon", { when: "After all questions" })}
      <div class="more">
        <label>questions you want to ask: ${this.questions}
          <input type="range" min="2" max=${MANY} step="1" .value=${String(this.questions)}
            @input=${(event: Event) => this.take("questions", Number((event.target as HTMLInputElement).value))} />
        </label>
        ${this.choice(
          "within",
          "fixed accuracy for every answer",
          WITHIN.map((one) => [one, `± ${one}`]),
        )}
      </div>`;
  }

  private get answered(): number {
    return Math.min(this.questions, affordable(this.epsilon, this.within));
  }

  protected picture(): unknown {
    const asked = (errors: number[]): Point[] => errors.map((error, i): Point => [i + 1, error]);
    const table = Array.from({ length: this.questions }, () => countError(this.epsilon));
    const stubborn = asked(Array.from({ length: this.answered }, () => this.within));
    const half = asked(halved(this.epsilon, this.questions));
    const plan = asked(planned(this.epsilon, this.questions));
    const top = 10 ** Math.ceil(0.3 + Math.log10(Math.max(100, ...half.map(([, error]) => error))));
    const drawn = (ink: Ink, points: Point[], label: string): Mark[] => [
      { kind: "line", ink, points, label },
      { kind: "dots", ink, points },
    ];
    return chart({
      title: "How far the answer to each question may be off, for four ways to spend the budget",
      x: { from: 0.5, to: MANY + 0.5, label: "question", ticks: [1, 5, 10, 15, 20] },
      y: {
        from: Math.min(1, 10 ** Math.floor(Math.log10(countError(this.epsilon)))),
        to: top,
        label: "off by at most, in people, with 95 % confidence",
        log: true,
      },
      marks: [
        ...drawn("noise", half, "half of the rest"),
        ...drawn("budget", stubborn, "fixed accuracy"),
        ...drawn("private", plan, "planned"),
        { kind: "line", ink: "exact", points: asked(table), label: "one table", dashed: true },
      ],
    });
  }

  protected sentence(): string {
    const last = this.questions;
    const plan = countError(this.epsilon / last);
    const refused =
      this.answered < last
        ? `If you want every answer within ${off(this.within)}, each costs ${+priceOf(this.within).toPrecision(2)}, and you are refused ${this.answered ? `from question ${this.answered + 1} on` : "at once"}.`
        : `If you want every answer within ${off(this.within)}, you get all answers, and some budget may be left.`;
    const first = countError(this.epsilon / 2);
    return `If you spend half of the remaining budget each time, the error is ${off(first)} at the first question and ${off(countError(this.epsilon / 2 ** last))} at question ${last}. ${refused} If you plan all ${last} questions in advance, each error is ${off(plan)}. If nobody is counted in two of them, they are one table, and each error is ${off(countError(this.epsilon))}.`;
  }

  protected table(): Table {
    const plan = planned(this.epsilon, this.questions);
    const half = halved(this.epsilon, this.questions);
    const rows = plan.map((error, i) => [
      i + 1,
      off(half[i]!),
      i < this.answered ? off(this.within) : "refused",
      off(error),
      off(countError(this.epsilon)),
    ]);
    return { head: ["question", "half of the rest", "fixed accuracy", "planned", "one table"], rows };
  }

  static override styles = [
    Story.styles,
    css`
      .seen { min-height: 7em; }
    `,
  ];
}
customElements.define("lw-spending", Spending);
