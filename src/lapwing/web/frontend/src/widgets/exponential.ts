// Eye colours and prices: how likely each is chosen, by the exponential mechanism and by permute-and-flip.
import { css, html, type TemplateResult } from "lit";
import { short } from "../lib/chart.js";
import "../lib/epsilon.js";
import { rows } from "../lib/rows.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { exponentialLogs, factor, lost, permuteAndFlipLogs, revenues } from "../math/exponential.js";

const COLOURS = ["brown", "blue", "green", "grey"];
const COUNTS = [8, 7, 3, 2];
const BIDS = [1, 1, 1, 4.01];
const PRICES = Array.from({ length: 10 }, (_, i) => (i + 1) / 2);
const NEWCOMER = 3;
const CROWDS = [1, 10, 100];
const EXAMPLES = [
  ["colours", "the most common eye colour"],
  ["prices", "the price that earns most"],
] as const;

export class ExponentialStory extends Story {
  static override properties = {
    epsilon: { type: Number },
    example: { type: String },
    crowd: { type: Number },
    more: { type: Boolean },
  };
  declare epsilon: number;
  declare example: string;
  declare crowd: number;
  declare more: boolean;
  protected readonly question = "How often does the mechanism choose the best answer?";
  protected readonly first = { epsilon: 1, example: "colours", crowd: 1, more: false };

  protected override get allowed(): Record<string, Allowed> {
    return { example: EXAMPLES.map(([example]) => example), crowd: CROWDS };
  }

  private get prices(): boolean {
    return this.example === "prices";
  }

  private get options(): string[] {
    return this.prices ? PRICES.map((price) => `${price.toFixed(2)} €`) : COLOURS;
  }

  /** How much one person can change a score: by being counted, or by paying the highest price on the list. */
  private get sensitivity(): number {
    return this.prices ? PRICES[PRICES.length - 1]! : 1;
  }

  private scores(more: boolean): number[] {
    if (!this.prices) return COUNTS.map((count, i) => this.crowd * count + Number(more && i === 1));
    const bids = Array.from({ length: this.crowd }, () => BIDS).flat();
    return revenues(PRICES, more ? [...bids, NEWCOMER] : bids);
  }

  private logs(more: boolean): [number[], number[]] {
    const scores = this.scores(more);
    return [
      exponentialLogs(scores, this.epsilon, this.sensitivity),
      permuteAndFlipLogs(scores, this.epsilon, this.sensitivity),
    ];
  }

  private chances(): [number[], number[]] {
    const [plain, flipped] = this.logs(this.more);
    return [plain.map(Math.exp), flipped.map(Math.exp)];
  }

  protected handles(): TemplateResult {
    const people = this.prices ? BIDS.length : 20;
    return html`${this.epsilonHandle()}
      <div class="more">
        ${this.choice("example", "what is chosen", EXAMPLES)}
        ${this.choice(
          "crowd",
          this.prices ? "bidders" : "people",
          CROWDS.map((times) => [times, (times * people).toLocaleString("en")]),
        )}
        <label class="check"><input type="checkbox" .checked=${this.more} @change=${(event: Event) => this.take("more", (event.target as HTMLInputElement).checked)} />
          ${this.prices ? `add one bidder who would pay ${NEWCOMER} €` : "add one person with blue eyes"}</label>
      </div>`;
  }

  protected picture(): unknown {
    const scores = this.scores(this.more);
    const [plain, flipped] = this.chances();
    const highest = Math.max(...plain, ...flipped);
    return html`<p class="legend"><span class="solid">■ exponential mechanism</span> <span class="pale">■ permute-and-flip</span></p>
      ${rows({
        title: "How likely each option is chosen",
        most: highest <= 0.25 ? 0.25 : highest <= 0.5 ? 0.5 : 1,
        rows: this.options.map((label, i) => ({
          label,
          note: this.prices
            ? `earns ${scores[i]!.toLocaleString("en", { maximumFractionDigits: 2 })} €`
            : `${scores[i]!.toLocaleString("en")} people`,
          bars: [
            { value: plain[i]!, ink: "private", text: said(plain[i]!) },
            { value: flipped[i]!, ink: "private", pale: true, text: said(flipped[i]!) },
          ],
        })),
      })}`;
  }

  protected sentence(): TemplateResult {
    const scores = this.scores(this.more);
    const [plain, flipped] = this.chances();
    const top = Math.max(...scores);
    const best = this.options.filter((_, i) => scores[i] === top);
    const sum = (chances: number[]): number =>
      chances.reduce((total, one, i) => total + (scores[i] === top ? one : 0), 0);
    const unit = this.prices ? "€" : "people";
    const [now, other] = [this.logs(this.more), this.logs(!this.more)];
    const worst = Math.max(factor(now[0], other[0]), factor(now[1], other[1]));
    return html`The best ${best.length > 1 ? "answers are" : "answer is"} ${best.join(" and ")}. The exponential mechanism chooses ${best.length > 1 ? "one of them" : "it"} with probability ${said(sum(plain))}, permute-and-flip with ${said(sum(flipped))}. The best score is ${short(top)} ${unit}. On average, the score of the chosen answer is lower by ${little(lost(scores, plain))} ${unit} (exponential mechanism) or ${little(lost(scores, flipped))} ${unit} (permute-and-flip). With one person ${this.more ? "fewer" : "more"}, no probability changes by more than a factor of ${short(worst)}. The limit is e<sup>ε</sup>\u00a0=\u00a0${short(Math.exp(this.epsilon))}.`;
  }

  protected table(): Table {
    const scores = this.scores(this.more);
    const [plain, flipped] = this.chances();
    return {
      head: ["option", this.prices ? "earns (€)" : "people", "exponential mechanism", "permute-and-flip"],
      rows: this.options.map((label, i) => [label, short(scores[i]!), said(plain[i]!), said(flipped[i]!)]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .legend { margin: 0.9rem 0 0; color: var(--quiet); }
      .legend .solid::first-letter { color: var(--private); }
      .legend .pale::first-letter { color: color-mix(in srgb, var(--private) 50%, var(--card)); }
      .legend span { display: inline-block; }
    `,
  ];
}

function little(amount: number): string {
  return amount < 0.001 ? "less than 0.001" : short(amount);
}

function said(chance: number): string {
  return chance > 0 && chance < 0.001 ? "< 0.1\u00a0%" : chance > 0.9995 ? "> 99.9\u00a0%" : percent(chance, 1);
}
customElements.define("lw-exponential", ExponentialStory);
