// The error of the sample and the error of the noise, over the number of people, with the crossing marked.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Mark, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { crossing, lostAnswers, noiseError, samplingError } from "../math/perspective.js";

const FEWEST = 10;
const MOST = 1e7;
const STEPS = 120;
const LOWEST = 1e-5;
const SHARES = [0.5, 0.2, 0.01];
const QUESTIONS = [1, 10, 100, 1000];

const people = (step: number): number => Number((FEWEST * (MOST / FEWEST) ** (step / STEPS)).toPrecision(2));
const step = (n: number): number => Math.round((Math.log(n / FEWEST) / Math.log(MOST / FEWEST)) * STEPS);
const whole = (value: number): string => Math.round(value).toLocaleString("en");
const points = (error: number): string => `±\u00a0${short(Number((100 * error).toPrecision(2)))}`;

export class ErrorBands extends Story {
  static override properties = {
    epsilon: { type: Number },
    n: { type: Number },
    share: { type: Number },
    questions: { type: Number },
  };
  declare epsilon: number;
  declare n: number;
  declare share: number;
  declare questions: number;
  protected readonly question = "Which is larger, the sampling error or the error from the noise?";
  protected readonly first = { epsilon: 0.1, n: 10000, share: 0.5, questions: 1 };

  protected override get allowed(): Record<string, Allowed> {
    return { n: { from: FEWEST, to: MOST }, share: SHARES, questions: QUESTIONS };
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle("total epsilon for all questions,", { about: "of your answer", when: "After all questions" })}
      <div class="more">
        <label>people asked: ${whole(this.n)}
          <input type="range" min="0" max=${STEPS} step="1" .value=${String(step(this.n))} aria-valuetext=${whole(this.n)}
            @input=${(event: Event) => this.take("n", people(Number((event.target as HTMLInputElement).value)))} />
        </label>
        <div class="pair">
          ${this.choice(
            "share",
            "share of yes",
            SHARES.map((one) => [one, percent(one)]),
          )}
          ${this.choice(
            "questions",
            "questions in all",
            QUESTIONS.map((one) => [one, whole(one)]),
          )}
        </div>
      </div>`;
  }

  private get cross(): number {
    return crossing(this.share, this.epsilon, this.questions);
  }

  protected picture(): unknown {
    const sizes = Array.from({ length: STEPS + 1 }, (_, i) => FEWEST * (MOST / FEWEST) ** (i / STEPS));
    const curve = (error: (n: number) => number): Point[] =>
      sizes.map((n): Point => [n, Math.min(1, error(n))]).filter(([, value]) => value >= LOWEST);
    const sample = curve((n) => samplingError(this.share, n));
    const noise = curve((n) => noiseError(n, this.epsilon, this.questions));
    const here = Math.min(1, noiseError(this.n, this.epsilon, this.questions));
    const marks: Mark[] = [
      { kind: "area", ink: "exact", points: sample },
      { kind: "area", ink: "noise", points: noise },
      { kind: "line", ink: "exact", points: sample, label: "sample" },
      { kind: "line", ink: "noise", points: noise, label: "noise" },
      { kind: "down", ink: "private", points: [[this.n, 0]], dashed: true },
      { kind: "dots", ink: "exact", points: [[this.n, samplingError(this.share, this.n)]] },
      { kind: "dots", ink: "noise", points: here >= LOWEST ? [[this.n, here]] : [] },
    ];
    const height = samplingError(this.share, this.cross);
    if (this.cross >= FEWEST && this.cross <= MOST && height <= 1)
      marks.push({
        kind: "dots",
        ink: "budget",
        points: [[this.cross, height]],
        label: `equal at ${short(Number(this.cross.toPrecision(2)))}`,
      });
    return chart({
      title: "How far a share may be off because of the sample and because of the noise, over the number of people",
      x: { from: FEWEST, to: MOST, label: "people asked", log: true, ticks: [10, 1000, 1e5, 1e7] },
      y: {
        from: LOWEST,
        to: 1,
        label: "off by at most (percentage points, 95 % confidence)",
        log: true,
        format: (value) => short(100 * value),
      },
      marks,
    });
  }

  protected sentence(): string {
    const sample = samplingError(this.share, this.n);
    const noise = noiseError(this.n, this.epsilon, this.questions);
    const lost = Math.max(1, Math.round(lostAnswers(this.share, this.n, this.epsilon, this.questions)));
    const from = this.cross < FEWEST ? "ten" : `about ${whole(Number(this.cross.toPrecision(2)))}`;
    const asked = `${percent(this.share)} of ${whole(this.n)} people say yes. The sampling error is ${points(sample)} percentage points`;
    if (noise > this.share)
      return `${asked}. The noise is larger than the answer, so the result is useless. You need a larger epsilon, fewer questions or more people. From ${from} people on, the noise is the smaller error.`;
    const cost =
      lost > 0.95 * this.n
        ? `nearly all of the ${whole(this.n)} answers`
        : `${whole(lost)} of the ${whole(this.n)} answers`;
    return `${asked}, the error from the noise is ${points(noise)}. The noise costs as much accuracy as losing ${cost}. From ${from} people on, the noise is the smaller error.`;
  }

  protected table(): Table {
    const rows = [100, 1000, 10000, 100000, 1000000].map((n) => [
      whole(n),
      points(samplingError(this.share, n)),
      points(noiseError(n, this.epsilon, this.questions)),
      whole(lostAnswers(this.share, n, this.epsilon, this.questions)),
    ]);
    return { head: ["people", "sample, points", "noise, points", "answers lost"], rows };
  }

  static override styles = [
    Story.styles,
    css`
      .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0.8rem; }
      .seen { min-height: 6em; }
    `,
  ];
}
customElements.define("lw-error-bands", ErrorBands);
