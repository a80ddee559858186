// What an adversary can make of an ε-private answer: a belief, a premium, or a test. The attribute `view` says which.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { limit, percent, share } from "../lib/words.js";
import { found, least, power, together } from "../math/adversary.js";
import { up } from "../math/lab.js";
import { posterior } from "../math/odds.js";

const POLICY = 100_000;
const EPSILONS = [0.01, 0.05, 0.1, 0.5, 1, 2, 5];
const PRIORS = [0.001, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99];
const ALARMS = [0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1];
const steps = Array.from({ length: 101 }, (_, i) => i / 100);
const money = (amount: number): string => Math.ceil(amount - 1e-6).toLocaleString("en");

/** Of her policy, as many digits as a premium in whole dollars has. */
const ofPolicy = (risk: number): string => `${+(Math.ceil(POLICY * risk - 1e-6) / (POLICY / 100)).toFixed(3)}\u00a0%`;

/** "at most 74 %", unless the number itself says on which side it lies. */
const bounded = (words: string, said: string): string => (/^(over|under)/.test(said) ? said : `${words} ${said}`);

export class Posterior extends Story {
  static override properties = {
    view: { type: String },
    epsilon: { type: Number },
    prior: { type: Number },
    alarm: { type: Number },
  };
  declare view: "belief" | "premium" | "test";
  declare epsilon: number;
  declare prior: number;
  declare alarm: number;

  constructor() {
    super();
    this.view = "belief";
  }

  protected get question(): string {
    return {
      belief: "Somebody suspects you. How sure can they become?",
      premium: "What can it cost Gertrude to take part?",
      test: "How many people can a test find without accusing too many others?",
    }[this.view];
  }

  protected get first(): { epsilon: number; prior: number; alarm: number } {
    return this.view === "premium"
      ? { epsilon: 0.1, prior: 0.02, alarm: 0.05 }
      : { epsilon: 1, prior: 0.1, alarm: 0.05 };
  }

  protected override get allowed(): Record<string, Allowed> {
    return { prior: { from: 0.01, to: 0.99 }, alarm: { from: 0.01, to: 0.99 } };
  }

  protected handles(): TemplateResult {
    const slider = (
      name: "prior" | "alarm",
      label: string,
      step: number,
    ): TemplateResult => html`<label>${label}: ${short(100 * this[name])}\u00a0%
      <input type="range" min=${step} max=${1 - step} step=${step} .value=${String(this[name])}
        aria-valuetext="${short(100 * this[name])}\u00a0%"
        @input=${(event: Event) => this.take(name, Number((event.target as HTMLInputElement).value))} /></label>`;
    const words =
      this.view === "premium"
        ? { about: "that Gertrude is in the data" }
        : this.view === "belief"
          ? { instead: this.believed() } // one belief, with the digits of the picture and the table
          : {};
    return html`${this.epsilonHandle(undefined, words)}
      ${this.view === "belief" ? slider("prior", "belief before", 0.01) : this.view === "premium" ? slider("prior", "risk that the insurer would assume without her data", 0.01) : slider("alarm", "wrongly accused", 0.01)}`;
  }

  private believed(): string {
    const after = bounded("at most", limit(posterior(this.epsilon, this.prior), "up"));
    return `An attacker who was ${share(this.prior)} sure that you are in the data can become ${after} sure.`;
  }

  protected picture(): unknown {
    return { belief: () => this.belief(), premium: () => this.premium(), test: () => this.test() }[this.view]();
  }

  private belief(): unknown {
    const high: Point[] = steps.map((prior) => [prior, posterior(this.epsilon, prior)]);
    const low: Point[] = steps.map((prior) => [prior, least(this.epsilon, prior)]);
    const after = posterior(this.epsilon, this.prior);
    return chart({
      title: "Belief after the release against belief before",
      x: { from: 0, to: 1, label: "belief before", format: (value) => percent(value) },
      y: { from: 0, to: 1, label: "belief after", format: (value) => percent(value), ticks: [0, 0.25, 0.5, 0.75, 1] },
      height: 340,
      marks: [
        {
          kind: "line",
          ink: "quiet",
          points: [
            [0, 0],
            [1, 1],
          ],
          dashed: true,
        },
        { kind: "line", ink: "adversary", points: high },
        { kind: "line", ink: "private", points: low },
        {
          kind: "line",
          ink: "exact",
          points: [
            [this.prior, least(this.epsilon, this.prior)],
            [this.prior, after],
          ],
        },
        {
          kind: "dots",
          ink: "private",
          points: [[this.prior, least(this.epsilon, this.prior)]],
          label: bounded("at least", limit(least(this.epsilon, this.prior), "down")),
          below: true,
        },
        {
          kind: "dots",
          ink: "adversary",
          points: [[this.prior, after]],
          label: bounded("at most", limit(after, "up")),
        },
      ],
    });
  }

  private premium(): unknown {
    const chosen = POLICY * together(this.epsilon, this.prior);
    return html`<table class="premium">
      <caption>Her premium for a year, with a policy of ${POLICY.toLocaleString("en")} dollars</caption>
      <tbody>
        <tr><th scope="row">without her data</th><td>${money(POLICY * this.prior)}</td></tr>
        <tr class="now"><th scope="row">with her data, ε = ${short(this.epsilon)}</th><td>at most ${money(chosen)}</td></tr>
        <tr><th scope="row">taking part costs her</th><td>at most ${money(chosen - POLICY * this.prior)}</td></tr>
      </tbody>
    </table>
    ${chart({
      title: "The highest premium against epsilon",
      x: { from: 0.01, to: 10, log: true, label: "ε", ticks: [0.01, 0.1, 1, 10] },
      y: { from: 0, to: POLICY, label: "dollars", ticks: [0, 25_000, 50_000, 75_000, 100_000] },
      height: 240,
      marks: [
        { kind: "across", ink: "exact", points: [[0.01, POLICY * this.prior]], dashed: true },
        {
          kind: "line",
          ink: "adversary",
          points: Array.from({ length: 121 }, (_, i) => 10 ** (-2 + i / 40)).map((epsilon) => [
            epsilon,
            POLICY * together(epsilon, this.prior),
          ]),
        },
        { kind: "dots", ink: "adversary", points: [[this.epsilon, chosen]], label: money(chosen) },
      ],
    })}`;
  }

  private test(): unknown {
    const most = power(this.epsilon, 0, this.alarm);
    const fine = Array.from({ length: 401 }, (_, i) => i / 400);
    return html`${chart({
      title: "Found among those present, against wrongly accused among those absent",
      x: {
        from: 0,
        to: 1,
        label: "wrongly accused, of those who are not in the data",
        format: (value) => percent(value),
      },
      y: {
        from: 0,
        to: 1,
        label: "found, of those who are in the data",
        format: (value) => percent(value),
        ticks: [0, 0.25, 0.5, 0.75, 1],
      },
      height: 340,
      marks: [
        { kind: "area", ink: "adversary", points: fine.map((alarm) => [alarm, power(this.epsilon, 0, alarm)]) },
        {
          kind: "line",
          ink: "quiet",
          points: [
            [0, 0],
            [1, 1],
          ],
          dashed: true,
        },
        {
          kind: "line",
          ink: "private",
          points: fine.map((alarm) => [alarm, found(this.epsilon, alarm)]),
          dashed: true,
        },
        {
          kind: "line",
          ink: "adversary",
          points: [1 / (1 + Math.exp(this.epsilon)), 0, 1]
            .sort((a, b) => a - b)
            .map((alarm) => [alarm, power(this.epsilon, 0, alarm)]),
        },
        { kind: "dots", ink: "adversary", points: [[this.alarm, most]], label: bounded("at most", limit(most, "up")) },
      ],
    })}
    <p class="legend"><span class="adversary">━ no test can do better</span> <span class="private">╍ a count with Laplace noise</span> <span class="quiet">╍ guessing</span></p>`;
  }

  protected sentence(): string | TemplateResult {
    if (this.view === "belief") {
      const before = Math.round(1000 * this.prior);
      const after = Math.ceil(1000 * posterior(this.epsilon, this.prior) - 1e-9);
      return `If somebody suspects 1,000 people this much, each of them independently of the others, they expect ${before.toLocaleString("en")} of them to be in the data. After the worst possible answer, they may expect ${after < 1000 ? `at most ${after}` : "almost all"}. The odds grow by a factor of at most ${short(up(Math.exp(this.epsilon), 3))}.`;
    }
    if (this.view === "premium")
      return html`If the insurer would assume a risk of ${share(this.prior)} without her data, it can assume at most ${ofPolicy(together(this.epsilon, this.prior))} with her data. This holds whatever the insurer knows and whatever is published. Its odds change by a factor of at most e<sup>2ε</sup>\u00a0≤\u00a0${short(up(Math.exp(2 * this.epsilon), 3))}.`;
    return `A test that may wrongly accuse ${short(100 * this.alarm)}\u00a0% of the people outside the data can find ${bounded("at most", limit(power(this.epsilon, 0, this.alarm), "up"))} of the people in the data. The best test on a count with Laplace noise finds ${bounded("at most", limit(found(this.epsilon, this.alarm), "up"))}, and guessing finds ${share(this.alarm)}.`;
  }

  protected table(): Table {
    if (this.view === "belief")
      return {
        head: ["belief before", "after, at least", "after, at most"],
        rows: PRIORS.map((prior) => [
          share(prior),
          limit(least(this.epsilon, prior), "down"),
          limit(posterior(this.epsilon, prior), "up"),
        ]),
      };
    if (this.view === "premium")
      return {
        head: ["ε", "premium at most", "increase at most"],
        rows: EPSILONS.map((epsilon) => [
          epsilon,
          money(POLICY * together(epsilon, this.prior)),
          money(POLICY * (together(epsilon, this.prior) - this.prior)),
        ]),
      };
    return {
      head: ["wrongly accused", "found at most, any mechanism", "found at most, Laplace count"],
      rows: ALARMS.map((alarm) => [
        share(alarm),
        limit(power(this.epsilon, 0, alarm), "up"),
        limit(found(this.epsilon, alarm), "up"),
      ]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .premium { width: 100%; margin: 0.8rem 0; }
      .premium caption { text-align: left; color: var(--quiet); font-size: 0.9rem; padding-bottom: 0.3rem; }
      .premium th { font-weight: 400; }
      .premium td { text-align: right; }
      .premium .now { color: var(--adversary); font-weight: 600; }
      .premium .now th { font-weight: 600; }
      .legend .quiet { color: var(--quiet); }
    `,
  ];
}
customElements.define("lw-posterior", Posterior);
