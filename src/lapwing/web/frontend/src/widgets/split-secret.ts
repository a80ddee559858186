// Split a secret into two shares with a coin or a drawn number, let others do the same, add up on each side, open the sum.
import { css, html, type TemplateResult } from "lit";
import { below } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { added, split } from "../math/sharing.js";

interface Way {
  label: string;
  ring: number;
  most: number;
  /** Of all but the learner. */
  others: readonly number[];
  mask: string;
}
const NAMES = ["You", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana"];
const WAYS: Record<string, Way> = {
  bit: { label: "a bit, by XOR with a coin", ring: 2, most: 1, others: [0, 1, 1, 0, 1, 0, 0], mask: "Toss a coin" },
  number: {
    label: "a number, on a ring of 100",
    ring: 100,
    most: 9,
    others: [3, 0, 9, 5, 2, 7, 4],
    mask: "Draw a number",
  },
};

export class SplitSecret extends Story {
  static override properties = {
    way: {},
    secret: { type: Number },
    masks: { state: true },
    opened: { state: true },
  };
  declare way: string;
  declare secret: number;
  declare private masks: number[];
  declare private opened: boolean;
  protected readonly question = "Can two servers add up numbers that neither of them sees?";
  protected readonly first = { way: "bit", secret: 1 };

  protected override get allowed(): Record<string, Allowed> {
    return { way: Object.keys(WAYS), secret: { from: 0, to: this.rules.most, whole: true } };
  }

  constructor() {
    super();
    this.forget();
  }

  private get rules(): Way {
    return WAYS[this.way ?? "bit"]!; // a link is read before there is a way
  }

  private get secrets(): number[] {
    return [this.secret, ...this.rules.others];
  }

  /** The shares that were dealt so far, in the order of names. */
  private get shares(): [number, number][] {
    return this.masks.map((mask, person) => split(this.secrets[person]!, mask, this.rules.ring));
  }

  private get complete(): boolean {
    return this.masks.length === NAMES.length;
  }

  private get sums(): [number, number] {
    return [0, 1].map((server) =>
      added(
        this.shares.map((pair) => pair[server]!),
        this.rules.ring,
      ),
    ) as [number, number];
  }

  private forget(): void {
    this.masks = [];
    this.opened = false;
  }

  /** Another secret has other shares. */
  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    if (name === "way") this.secret = Math.min(this.secret ?? 0, this.rules.most);
    this.forget();
  }

  private toss = (): void => {
    this.masks = [below(this.rules.ring), ...this.masks.slice(1)];
    this.opened = false;
  };

  private rest = (): void => {
    const mine = this.masks[0] ?? below(this.rules.ring);
    this.masks = [mine, ...this.rules.others.map(() => below(this.rules.ring))];
    this.opened = false;
  };

  private open = (): void => {
    if (!this.complete) this.rest();
    this.opened = true;
  };

  protected handles(): TemplateResult {
    const { most } = this.rules;
    return html`${this.choice(
      "way",
      "what you split",
      Object.entries(WAYS).map(([key, { label }]) => [key, label] as const),
    )}
      <label>your secret: ${this.said(this.secret)}
        <input type="range" min="0" max=${most} step="1" .value=${String(this.secret)} aria-valuetext=${this.said(this.secret)}
          @input=${(event: Event) => this.take("secret", Number((event.target as HTMLInputElement).value))} />
      </label>
      <div class="steps">
        <button type="button" class="main" @click=${this.toss}>${this.masks.length ? `${this.rules.mask} again` : this.rules.mask}</button>
        <button type="button" @click=${this.rest}>Let the others split, too</button>
        <button type="button" @click=${this.open}>Open the ${this.way === "bit" ? "XOR" : "sum"}</button>
      </div>`;
  }

  private said(secret: number): string {
    return this.way === "bit" ? (secret ? "1, yes" : "0, no") : String(secret);
  }

  protected picture(): unknown {
    const cell = (value: number | undefined): TemplateResult =>
      html`<td class=${value === undefined ? "share waiting" : "share"}>${value ?? html`<span aria-label="nothing yet">·</span>`}</td>`;
    const [first, second] = this.sums;
    return html`<table class="desk">
      <caption>Each person sends one share to each server. The middle column stays with the person.</caption>
      <thead><tr><th scope="col">Server A sees</th><th scope="col">person and secret</th><th scope="col">Server B sees</th></tr></thead>
      <tbody>
        ${NAMES.map((name, person) => {
          const pair = this.shares[person];
          return html`<tr class=${person ? "" : "you"}>${cell(pair?.[0])}<th scope="row">${name} <span class="secret">${this.secrets[person]}</span></th>${cell(pair?.[1])}</tr>`;
        })}
      </tbody>
      <tfoot>
        <tr>${cell(this.complete ? first : undefined)}<th scope="row">${this.way === "bit" ? "XOR of each column" : "sum of each column"}</th>${cell(this.complete ? second : undefined)}</tr>
        <tr class="opened"><td colspan="3">${this.opened ? html`opened: <b>${added(this.sums, this.rules.ring)}</b>` : "not opened"}</td></tr>
      </tfoot>
    </table>`;
  }

  protected sentence(): string | TemplateResult {
    const mine = this.shares[0];
    const bit = this.way === "bit";
    if (!mine)
      return bit
        ? "Your secret is a bit. Toss a coin. The coin goes to server A. Your bit XOR the coin goes to server B."
        : "Your secret is a number. Draw another one. It goes to server A. Your secret minus this number goes to server B.";
    if (this.opened) return this.outcome();
    if (this.complete)
      return html`Each server has ${bit ? "taken the XOR of" : "added up"} its own column${bit ? ", which is 1 if the number of ones is odd" : ""}. Server A has ${this.sums[0]}, server B has ${this.sums[1]}. Either number alone is as random as a single share. Open the ${bit ? "XOR" : "sum"}.`;
    return bit
      ? html`The coin shows ${mine[0]}. Server A gets ${mine[0]}, server B gets ${this.secret} XOR ${mine[0]} = ${mine[1]}. Toss again: the shares change with the coin, your secret does not.`
      : html`You drew ${mine[0]}. Server B gets ${this.secret} − ${mine[0]}${this.secret < mine[0] ? html` = −${mine[0] - this.secret}, which is ${mine[1]} on the ring` : html` = ${mine[1]}`}. Together ${mine[0]} + ${mine[1]} = ${mine[0] + mine[1]}${mine[0] + mine[1] >= 100 ? html`, and after 99 comes 0 again: ${this.secret}` : ""}.`;
  }

  private outcome(): string | TemplateResult {
    const [first, second] = this.sums;
    const total = added([first, second], this.rules.ring);
    if (this.way === "bit")
      return html`${first} XOR ${second} = ${total}: an ${total ? "odd" : "even"} number of people have a 1. That is right, and no server saw anybody's bit. But XOR cannot count. To count, split the 0 or 1 as a number.`;
    return html`${first} + ${second} = ${first + second}${first + second >= 100 ? html`, on the ring ${total}` : ""}. That is the sum of all eight secrets, to the last digit. No server saw any of them.`;
  }

  protected table(): Table {
    const shares = this.shares;
    return {
      head: ["person", "secret", "share of server A", "share of server B"],
      rows: NAMES.map((name, person) => [
        name,
        this.secrets[person]!,
        shares[person]?.[0] ?? "nothing yet",
        shares[person]?.[1] ?? "nothing yet",
      ]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .steps { display: flex; flex-wrap: wrap; gap: 0.5rem; }
      .desk { width: 100%; table-layout: fixed; border-collapse: separate; border-spacing: 0.4rem 0.25rem; text-align: center; }
      .desk caption { caption-side: bottom; text-align: left; font-size: 0.85rem; color: var(--quiet); padding: 0.3rem 0.4rem 0; }
      .desk :is(th, td) { border: 0; text-align: center; padding: 0.3rem 0.2rem; line-height: 1.3; }
      .desk thead th { font-weight: 600; font-size: 0.88rem; color: var(--quiet); vertical-align: bottom; }
      .desk thead :is(th:first-child, th:last-child) { color: var(--noise); }
      .desk tbody th { font-weight: 400; }
      .desk .share { border: 1px solid var(--noise); border-radius: 6px; color: var(--noise); font-weight: 600; background: var(--paper); }
      .desk .waiting { border-style: dashed; border-color: var(--line); color: var(--quiet); }
      .desk .you th { font-weight: 700; }
      .desk .secret { display: inline-block; min-width: 1.5em; margin-left: 0.3em; padding: 0 0.3em; border-radius: 6px; background: var(--line); color: var(--ink); font-weight: 600; }
      .desk tfoot th { font-weight: 600; font-size: 0.9rem; }
      .desk .opened td { border: 2px solid var(--exact); border-radius: 8px; padding: 0.4rem; }
      .seen { min-height: 7em; }
    `,
  ];
}
customElements.define("lw-split-secret", SplitSecret);
