// Two secrets, split again and again: what one server sees of each, and what both servers see together.
import { css, html, type TemplateResult } from "lit";
import { chart, type Point } from "../lib/chart.js";
import { words } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { bestGuess, maskLaw, seen, viewLaw, views, type Mask, type Seat } from "../math/sharing.js";

const RING = 10;
const SIZES = [10, 100, 1000, 10_000];
const SEATS: Record<Seat, string> = { first: "server A", second: "server B", both: "both servers together" };
const MASKS: Record<Mask, string> = {
  fair: "fair: all numbers are equally likely",
  loaded: "loaded towards small numbers",
  straight: "fair, but without the ring",
};

export class OneServer extends Story {
  static override properties = {
    seat: {},
    mask: {},
    left: { type: Number },
    right: { type: Number },
    tosses: { type: Number },
    counts: { state: true },
  };
  declare seat: Seat;
  declare mask: Mask;
  declare left: number;
  declare right: number;
  declare tosses: number;
  /** How often each number was seen, for either secret. */
  declare private counts: [number[], number[]];
  protected readonly question = "You are one server. Which of two secrets was it?";
  protected readonly first = { seat: "second", mask: "fair", left: 2, right: 7, tosses: 1000 };

  protected override get allowed(): Record<string, Allowed> {
    const digit = { from: 0, to: RING - 1, whole: true };
    return { seat: Object.keys(SEATS), mask: Object.keys(MASKS), left: digit, right: digit, tosses: SIZES };
  }

  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    if (Object.keys(this.first).every((property) => this.now(property) !== undefined)) this.toss();
  }

  private toss = (): void => {
    this.counts = [this.counted(this.left), this.counted(this.right)];
  };

  private counted(secret: number): number[] {
    const values = views(this.seat, this.mask, RING);
    const counts = new Array<number>(values.length).fill(0);
    const law = maskLaw(this.mask, RING);
    for (const word of words(this.tosses)) {
      let rest = word / 2 ** 32;
      let drawn = 0;
      while (drawn < RING - 1 && rest >= law[drawn]!) rest -= law[drawn++]!;
      counts[seen(secret, drawn, this.seat, this.mask, RING) - values[0]!]! += 1;
    }
    return counts;
  }

  private get best(): number {
    const law = (secret: number): number[] => viewLaw(secret, this.seat, this.mask, RING);
    return bestGuess(law(this.left), law(this.right));
  }

  protected handles(): TemplateResult {
    const slider = (name: "left" | "right", label: string): TemplateResult =>
      html`<label>${label}: ${this.now(name)}
        <input type="range" min="0" max=${RING - 1} step="1" .value=${String(this.now(name))}
          @input=${(event: Event) => this.take(name, Number((event.target as HTMLInputElement).value))} /></label>`;
    return html`${this.choice("seat", "you are", Object.entries(SEATS))}
      ${slider("left", "one secret")} ${slider("right", "another secret")}
      ${this.choice("mask", "the number that is drawn", Object.entries(MASKS))}
      ${this.choice(
        "tosses",
        "how often each is split",
        SIZES.map((size) => [size, `${size.toLocaleString("en")} times`] as const),
      )}
      <button type="button" @click=${this.toss}>Split them again</button>`;
  }

  protected picture(): unknown {
    return html`${this.histogram(this.left, this.counts[0])}${this.histogram(this.right, this.counts[1])}`;
  }

  private histogram(secret: number, counts: number[]): TemplateResult {
    const values = views(this.seat, this.mask, RING);
    const highest = Math.max(...this.counts.flat()) / this.tosses;
    const top = highest > 0.5 ? 1.05 : Math.max(0.2, 1.2 * highest);
    const step = top > 0.6 ? 0.5 : 0.1;
    const bars: Point[] = counts.map((count, place) => [values[place]!, count / this.tosses]);
    const together = this.seat === "both";
    return html`<p class="name">secret ${secret} <span>as ${together ? "both servers see it" : `${SEATS[this.seat]} sees it`}</span></p>
      ${chart({
        title: `How often ${SEATS[this.seat]} saw each number when the secret was ${secret}`,
        height: 190,
        x: {
          from: values[0]! - 0.7,
          to: RING - 0.3,
          label: together ? "the two shares, added" : "the share",
          ticks: values.filter((value) => values.length <= RING || value % 3 === 0),
        },
        y: {
          from: 0,
          to: top,
          label: "seen in",
          ticks: [1, 2, 3, 4, 5].map((place) => place * step).filter((tick) => tick <= top),
          format: (share) => percent(share),
        },
        marks: [{ kind: "bars", ink: together ? "adversary" : "noise", points: bars }],
      })}`;
  }

  protected sentence(): string | TemplateResult {
    if (this.left === this.right) return "Both secrets are the same. Choose two that differ.";
    const best = html`The best guess from one look is right in <b>${percent(this.best, 1)}</b> of all cases, and a coin in 50\u00a0%.`;
    if (this.seat === "both")
      return html`Two shares together are the secret, each time. ${best} This is why the two must not work together.`;
    if (this.seat === "first")
      return html`Server A gets the number that was drawn, and nothing else. It does not depend on your secret, however it was drawn. ${best} The pictures differ by chance only.`;
    if (this.mask === "fair")
      return html`For either secret, each number from 0 to 9 comes in 10\u00a0% of all cases. The pictures differ by chance only: split again, or more often. ${best} No computer can do better, however large.`;
    return this.mask === "loaded"
      ? html`Small numbers are drawn more often. So the share is more often the secret or a number just below it, and the two pictures differ. ${best}`
      : html`Without the ring, the share is never larger than the secret, and never more than 9 below it. So some shares are possible for one of the two secrets only. ${best}`;
  }

  protected table(): Table {
    const values = views(this.seat, this.mask, RING);
    const rows = values.map((value, place) => [
      String(value).replace("-", "−"),
      ...this.counts.map((counts) => percent(counts[place]! / this.tosses, 1)),
    ]);
    return { head: ["number seen", `secret ${this.left}`, `secret ${this.right} `], rows };
  }

  static override styles = [
    Story.styles,
    css`
      .name { margin: 0.5rem 0 0; font-weight: 600; display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; }
      .name span { font-weight: 400; font-size: 0.9rem; color: var(--quiet); }
      .seen { min-height: 8em; }
    `,
  ];
}
customElements.define("lw-one-server", OneServer);
