// Everybody answers with noise. The learner sits where the shuffler sits, or where the analyst does, and looks for Ada's answer.
import { css, html, nothing, svg, type TemplateResult } from "lit";
import { narrow, short, wide } from "../lib/chart.js";
import "../lib/epsilon.js";
import { coin } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { share } from "../lib/words.js";
import { foundInCrowd, guessFromCount, yesLaw } from "../math/crowd.js";
import { posterior } from "../math/odds.js";

const SIZES = [2, 10, 30, 100, 300];
const ROUNDS = 20;
const YES = 0.3; // of all others, which Ada's adversary knows of each
interface Round {
  ada: boolean; // what is true
  report: boolean;
  others: number; // how many other reports say yes
  guess?: boolean;
}

export class FindOne extends Story {
  static override properties = {
    epsilon: { type: Number },
    people: { type: Number },
    seat: {},
    rounds: { state: true },
  };
  declare epsilon: number;
  declare people: number;
  declare seat: string;
  declare private rounds: Round[];
  protected readonly question = "Is Ada's true answer yes? Look for one person, with names and without.";
  protected readonly first = { seat: "shuffler", people: 30, epsilon: 2 };

  protected override get allowed(): Record<string, Allowed> {
    return { people: SIZES, seat: ["shuffler", "analyst"] };
  }

  constructor() {
    super();
    this.rounds = [];
  }

  /** Another seat or another crowd is another game. */
  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    this.rounds = [];
  }

  private get yes(): number {
    return Math.round(YES * (this.people - 1));
  }

  private get law(): number[] {
    return yesLaw(this.people - 1, this.yes, this.epsilon);
  }

  private get open(): Round | undefined {
    const last = this.rounds[this.rounds.length - 1];
    return last && last.guess === undefined ? last : undefined;
  }

  private get played(): Round[] {
    return this.rounds.filter(({ guess }) => guess !== undefined);
  }

  private get hits(): number {
    return this.played.filter(({ guess, ada }) => guess === ada).length;
  }

  private next = (): void => {
    const truth = posterior(this.epsilon, 0.5);
    const said = (answer: boolean): boolean => (coin(truth) ? answer : !answer);
    const ada = coin();
    const others = Array.from({ length: this.people - 1 }, (_, person) => said(person < this.yes)).filter(
      Boolean,
    ).length;
    this.rounds = [...(this.rounds.length >= ROUNDS ? [] : this.rounds), { ada, report: said(ada), others }];
  };

  private guess(ada: boolean): void {
    const open = this.open;
    if (open) this.rounds = [...this.rounds.slice(0, -1), { ...open, guess: ada }];
  }

  /** The best guess plays what is left. */
  private finish = (): void => {
    const law = this.law;
    if (this.rounds.length >= ROUNDS && !this.open) this.rounds = [];
    while (this.open || this.rounds.length < ROUNDS) {
      if (!this.open) this.next();
      const { report, others } = this.open!;
      this.guess(this.seat === "shuffler" ? report : guessFromCount(law, others + Number(report)));
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
    return html`${this.choice("seat", "you are", [
      ["shuffler", "a shuffler that can read"],
      ["analyst", "the analyst"],
    ])}
      ${this.choice(
        "people",
        "people in the batch",
        SIZES.map((size) => [size, String(size)] as const),
      )}
      ${this.epsilonHandle("each report:", { about: "of Ada's answer", symbol: "ε₀" })}`;
  }

  protected picture(): unknown {
    return html`${this.reports()}<p class="legend"><span class="private">● yes</span> <span class="exact">○ no</span> ${this.seat === "shuffler" ? html`<span class="adversary">▢ the report of Ada</span>` : nothing}</p>${this.game()}`;
  }

  /** All reports: hers first where names are seen, else those that say yes first, because order tells nothing. */
  private reports(): TemplateResult {
    const round = this.rounds[this.rounds.length - 1];
    const width = wide();
    const columns = Math.min(this.people, narrow() ? 15 : 30);
    const step = Math.min(32, width / columns);
    const rows = Math.ceil(this.people / columns);
    const named = this.seat === "shuffler";
    const count = round ? round.others + (named ? 0 : Number(round.report)) : 0;
    const says = (place: number): boolean =>
      named ? (place === 0 ? round!.report : place - 1 < count) : place < count;
    const total = round ? round.others + Number(round.report) : 0;
    const title = round
      ? `${total} of ${this.people} reports say yes${named ? `; that of Ada says ${round.report ? "yes" : "no"}` : ""}`
      : `${this.people} reports, not opened yet`;
    return html`<svg viewBox="0 0 ${width} ${rows * step + 8}" role="img" aria-label=${title}>
      ${Array.from({ length: this.people }, (_, place) => {
        const [x, y] = [(place % columns) * step + step / 2, Math.floor(place / columns) * step + step / 2 + 4];
        const kind = round ? (says(place) ? "dots private" : "line exact") : "line quiet";
        return svg`<circle class=${kind} cx=${x} cy=${y} r=${0.3 * step} stroke-dasharray=${round ? "none" : "3 3"}></circle>
          ${named && place === 0 ? svg`<rect class="line adversary" x=${x - 0.45 * step} y=${y - 0.45 * step} width=${0.9 * step} height=${0.9 * step} rx="4"></rect>` : nothing}`;
      })}
    </svg>`;
  }

  private game(): TemplateResult {
    const open = this.open;
    const done = this.played.length;
    const last = this.played[done - 1];
    const said = open
      ? this.seat === "shuffler"
        ? html`Batch ${done + 1} of ${ROUNDS}. Ada's report says <b>${open.report ? "yes" : "no"}</b>.`
        : html`Batch ${done + 1} of ${ROUNDS}. <b>${open.others + Number(open.report)}</b> of ${this.people} reports say yes.`
      : last
        ? html`${last.guess === last.ada ? "Right" : "Wrong"}: her true answer was ${last.ada ? "yes" : "no"}. You have ${this.hits} of ${done}.`
        : html`Twenty batches. Ada's true answer is a fair coin each time. ${this.people === 2 ? "You know that the true answer of the other person is no." : `You know the true answers of the ${this.people - 1} others: ${this.yes} are yes.`}`;
    return html`<div class="game">
      <p role="status">${said}</p>
      <div>
        ${
          open
            ? html`<button type="button" @click=${() => this.then(() => this.guess(true))}>Her answer is yes</button>
              <button type="button" @click=${() => this.then(() => this.guess(false))}>Her answer is no</button>`
            : html`<button type="button" class="main" @click=${() => this.then(this.next)}>${done >= ROUNDS ? "Another twenty" : done ? "Next batch" : "Open a batch"}</button>`
        }
        <button type="button" @click=${this.finish}>Let the best guess play ${done && done < ROUNDS ? "the rest" : "all twenty"}</button>
      </div>
      <p class="strip" aria-hidden="true">${Array.from({ length: ROUNDS }, (_, i) => {
        const one = this.played[i];
        return one
          ? html`<span class=${one.guess === one.ada ? "hit" : "miss"}>${one.guess === one.ada ? "✓" : "✗"}</span>`
          : html`<span>·</span>`;
      })}</p>
    </div>`;
  }

  protected sentence(): string | TemplateResult {
    const [named, mixed] = [posterior(this.epsilon, 0.5), foundInCrowd(this.law, this.epsilon)];
    const best = this.seat === "shuffler" ? named : mixed;
    const other =
      this.seat === "shuffler"
        ? `Without names it would be right in ${share(mixed)}.`
        : `With her name on the report it would be right in ${share(named)}.`;
    const done = this.played.length >= ROUNDS ? html` <b>In these ${ROUNDS} batches: ${this.hits} right.</b>` : nothing;
    return html`At ε₀ = ${short(this.epsilon)} the best guess is right in ${share(best)} of all batches, and a coin in 50 %. ${other} This holds although you know the true answers of everybody except Ada.${done}`;
  }

  protected table(): Table {
    const rows = SIZES.map((size) => {
      const law = yesLaw(size - 1, Math.round(YES * (size - 1)), this.epsilon);
      return [size, share(posterior(this.epsilon, 0.5)), share(foundInCrowd(law, this.epsilon))];
    });
    return { head: ["people", "best guess with names", "best guess without names"], rows };
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
customElements.define("lw-find-one", FindOne);
