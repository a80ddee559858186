// A curator publishes a noisy share of smokers, of 0 or of 1 among 100 people; the learner guesses which, twenty times.
import { css, html, nothing, type TemplateResult } from "lit";
import { chart, short, ticks, type Axis, type Mark, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { coin, laplace } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { above, best, ratio, right } from "../math/game.js";
import { density } from "../math/laplace.js";

const GAP = 0.01;
const ROUNDS = 20;
interface Round {
  smoker: boolean;
  answer: number;
  guess?: boolean;
}

export class GuessingGame extends Story {
  static override properties = {
    epsilon: { type: Number },
    threshold: { type: Number },
    exact: { type: Boolean },
    rounds: { state: true },
  };
  declare epsilon: number;
  declare threshold: number;
  declare exact: boolean;
  declare private rounds: Round[];
  protected readonly question = "Does nobody smoke, or one of a hundred people? Guess from what is published.";
  protected readonly first = { epsilon: 1, threshold: 0.005, exact: false };

  protected override get allowed(): Record<string, Allowed> {
    return { threshold: { from: -0.02, to: 0.03 } };
  }

  constructor() {
    super();
    this.rounds = [];
  }

  private get scale(): number {
    return GAP / this.epsilon;
  }

  /** Another curator is another game. */
  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    if (name !== "threshold") this.rounds = [];
  }

  private get open(): Round | undefined {
    const last = this.rounds[this.rounds.length - 1];
    return last && last.guess === undefined ? last : undefined;
  }

  private get played(): Round[] {
    return this.rounds.filter(({ guess }) => guess !== undefined);
  }

  private next = (): void => {
    const smoker = coin();
    const answer = (smoker ? GAP : 0) + (this.exact ? 0 : laplace(this.scale));
    this.rounds = [...(this.rounds.length >= ROUNDS ? [] : this.rounds), { smoker, answer }];
  };

  private guess(smoker: boolean): void {
    const open = this.open;
    if (open) this.rounds = [...this.rounds.slice(0, -1), { ...open, guess: smoker }];
  }

  /** The threshold plays what is left. */
  private finish = (): void => {
    if (this.rounds.length >= ROUNDS && !this.open) this.rounds = [];
    while (this.open || this.rounds.length < ROUNDS) {
      if (!this.open) this.next();
      this.guess(this.open!.answer >= this.threshold);
    }
  };

  /** The buttons change under the finger; whoever plays by keyboard stays among them. */
  private then(move: () => void): void {
    move();
    void this.updateComplete.then(() =>
      this.renderRoot.querySelector<HTMLElement>(".game button")?.focus({ preventScroll: true }),
    );
  }

  protected handles(): TemplateResult {
    return html`${this.epsilonHandle(undefined, { about: "that somebody smokes", when: "In each round", instead: this.exact ? "Without noise, epsilon promises nothing." : "" })}
      <div class="more">
        <label>your threshold: guess “one smokes” from T = ${short(this.threshold)} on
          <input type="range" min="-0.02" max="0.03" step="0.0005" .value=${String(this.threshold)}
            @input=${(event: Event) => this.take("threshold", Number((event.target as HTMLInputElement).value))} />
        </label>
        <label class="check"><input type="checkbox" .checked=${this.exact}
            @change=${(event: Event) => this.take("exact", (event.target as HTMLInputElement).checked)} /> publish without noise</label>
      </div>`;
  }

  protected picture(): unknown {
    return html`${this.exact ? this.spikes() : this.curves()}${this.game()}`;
  }

  private axis(): Axis {
    const reach = this.exact ? 0.02 : Math.min(0.6, Math.max(0.02, 4 * this.scale));
    const axis = { from: GAP / 2 - reach, to: GAP / 2 + reach, label: "published share of smokers" };
    return { ...axis, ticks: ticks(axis, 4) };
  }

  private shared(): Mark[] {
    const answer = this.rounds[this.rounds.length - 1]?.answer;
    return [
      { kind: "down", ink: "quiet", points: [[this.threshold, 0]], label: "T", dashed: true },
      ...(answer === undefined
        ? []
        : ([{ kind: "dots", ink: "private", points: [[answer, 0]], label: "published" }] as Mark[])),
    ];
  }

  private spikes(): unknown {
    return html`${chart({
      title: "Without noise, the published share is 0 for no smoker and 0.01 for one smoker",
      x: this.axis(),
      y: { from: 0, to: 1.2, label: "how likely", ticks: [] },
      height: 220,
      marks: [
        {
          kind: "line",
          ink: "exact",
          points: [
            [0, 0],
            [0, 1],
          ],
        },
        {
          kind: "line",
          ink: "noise",
          points: [
            [GAP, 0],
            [GAP, 1],
          ],
          dashed: true,
        },
        ...this.shared(),
      ],
    })}
    <p class="legend"><span class="exact">━ nobody smokes</span> <span class="noise">╍ one smokes</span></p>`;
  }

  private curves(): unknown {
    const x = this.axis();
    const at = Array.from({ length: 301 }, (_, i) => x.from + (i / 300) * (x.to - x.from));
    const curve = (centre: number): Point[] =>
      [...at, 0, GAP].sort((a, b) => a - b).map((y) => [y, density(y, centre, this.scale)]);
    const beyond = (points: Point[]): Point[] => points.filter(([y]) => y >= this.threshold);
    const factor = Math.exp(this.epsilon);
    const top = Math.exp(1.25 * this.epsilon);
    return html`${chart({
      title: "How likely each published share is, for no smoker and for one smoker",
      x,
      y: { from: 0, to: 0.6 / this.scale, label: "how likely", ticks: [] },
      height: 240,
      marks: [
        { kind: "area", ink: "noise", points: beyond(curve(GAP)) },
        { kind: "area", ink: "adversary", points: beyond(curve(0)) },
        { kind: "line", ink: "exact", points: curve(0) },
        { kind: "line", ink: "noise", points: curve(GAP), dashed: true },
        ...this.shared(),
      ],
    })}
    <p class="legend"><span class="exact">━ nobody smokes</span> <span class="noise">╍ one smokes</span> <span class="adversary">▒ above T although nobody smokes</span></p>
    ${chart({
      title: "The ratio of the two curves, between 1/e^ε and e^ε",
      x,
      y: {
        from: 1 / top,
        to: top,
        log: true,
        label: "one smokes : nobody smokes",
        ticks: [1 / factor, 1, factor],
        format: (value) => (value < 1 ? `1/${short(1 / value)}` : short(value)),
      },
      height: 170,
      marks: [
        {
          kind: "across",
          ink: "budget",
          points: [[x.from + 0.95 * (x.to - x.from), factor]],
          label: "at most",
          dashed: true,
        },
        { kind: "across", ink: "budget", points: [[0, 1 / factor]], dashed: true },
        { kind: "line", ink: "private", points: at.map((y) => [y, ratio(y, GAP, this.scale)]) },
      ],
    })}`;
  }

  private game(): TemplateResult {
    const open = this.open;
    const done = this.played.length;
    const last = this.played[done - 1];
    const number = done + (open ? 1 : 0);
    const said = open
      ? html`Round ${number} of ${ROUNDS}. Published: <b>${open.answer.toFixed(4).replace("-", "−")}</b>`
      : last
        ? html`${last.guess === last.smoker ? "Right" : "Wrong"}: ${last.smoker ? "one smoked" : "nobody smoked"}. You have ${this.hits} of ${done}.`
        : html`Twenty rounds. The curator tosses a coin for each.`;
    return html`<div class="game">
      <p role="status">${said}</p>
      <div>
        ${
          open
            ? html`<button type="button" @click=${() => this.then(() => this.guess(false))}>Nobody smokes</button>
              <button type="button" @click=${() => this.then(() => this.guess(true))}>One smokes</button>`
            : html`<button type="button" class="main" @click=${() => this.then(this.next)}>${done >= ROUNDS ? "Another twenty" : done ? "Next round" : "Play a round"}</button>`
        }
        <button type="button" @click=${this.finish}>Let T play ${done && done < ROUNDS ? "the rest" : "all twenty"}</button>
      </div>
      <p class="strip" aria-hidden="true">${Array.from({ length: ROUNDS }, (_, i) => {
        const one = this.played[i];
        return one
          ? html`<span class=${one.guess === one.smoker ? "hit" : "miss"}>${one.guess === one.smoker ? "✓" : "✗"}</span>`
          : html`<span>·</span>`;
      })}</p>
    </div>`;
  }

  private get hits(): number {
    return this.played.filter(({ guess, smoker }) => guess === smoker).length;
  }

  protected sentence(): string | TemplateResult {
    const done = this.played.length >= ROUNDS ? html` <b>In these ${ROUNDS} rounds: ${this.hits} right.</b>` : nothing;
    if (this.exact) {
      const sure = this.threshold > 0 && this.threshold <= GAP;
      return html`${sure ? "Without noise this threshold is right every time, so one person's secret is revealed." : "Without noise a threshold between 0 and 0.01 would be right every time."}${done}`;
    }
    const alarm = above(this.threshold, 0, this.scale);
    const found = above(this.threshold, GAP, this.scale);
    const told = (share: number): string => percent(share, share < 0.095 || share > 0.905 ? 1 : 0);
    return html`The noise has scale b = ${short(this.scale)}. Your threshold T gives a false alarm in ${told(alarm)} of the rounds in which nobody smokes. It finds the smoker in ${told(found)} of the rounds with a smoker.
      This is ${short(found / alarm)} times as often. The factor can never exceed e<sup>ε</sup>\u00a0=\u00a0${short(Math.exp(this.epsilon))}. T is right in ${told(right(this.threshold, GAP, this.scale))} of all rounds. The best T is right in
      ${told(best(GAP, this.scale))}, and a coin in 50\u00a0%.${done}`;
  }

  protected table(): Table {
    const rows = [-0.01, 0, 0.0025, 0.005, 0.0075, 0.01, 0.02].map((threshold) =>
      this.exact
        ? [short(threshold), percent(Number(threshold <= 0)), percent(Number(threshold <= GAP)), "–"]
        : [
            short(threshold),
            percent(above(threshold, 0, this.scale), 1),
            percent(above(threshold, GAP, this.scale), 1),
            percent(right(threshold, GAP, this.scale), 1),
          ],
    );
    return { head: ["threshold T", "above T if nobody smokes", "above T if one smokes", "right"], rows };
  }

  static override styles = [
    Story.styles,
    css`
      .game { border: 1px solid var(--line); border-radius: 8px; padding: 0.6rem 0.8rem; margin: 0.6rem 0; background: var(--paper); }
      .game p { margin: 0 0 0.5rem; }
      .game div { display: flex; flex-wrap: wrap; gap: 0.5rem; }
      .strip { display: flex; flex-wrap: wrap; gap: 0.1rem 0.45rem; margin: 0.5rem 0 0 !important; font-weight: 600; min-height: 1.4em; color: var(--quiet); }
      .seen { min-height: 6em; }
      .hit { color: var(--private); } .miss { color: var(--adversary); }
    `,
  ];
}
customElements.define("lw-guessing-game", GuessingGame);
