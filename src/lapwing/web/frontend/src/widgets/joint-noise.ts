// Who makes the noise on a sum decides who can take it off again. Two servers can make it together, out of coins.
import { css, html, nothing, type TemplateResult } from "lit";
import { chart, narrow, type Point } from "../lib/chart.js";
import { coin, words } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { BITS, coinChances, halfWidth, noiseLaw, noiseOf, thresholds } from "../math/joint-noise.js";

const TRUTH = 47;
const EPSILONS = [0.25, 0.5, 1, 2];
const REACH = 16; // of the picture
const WAYS = {
  together: "both servers toss its coins together",
  alone: "server A makes it alone",
  each: "each server adds noise of its own",
  after: "nobody, until the exact sum is open",
};
type Way = keyof typeof WAYS;
interface Draw {
  noises: number[];
  /** The numbers that the servers tossed, for each coin; empty where they do not toss together. */
  first: number[];
  second: number[];
}
const signed = (value: number): string => (value ? `${value < 0 ? "−" : "+"}${Math.abs(value)}` : "0");

export class JointNoise extends Story {
  static override properties = { way: {}, epsilon: { type: Number }, draw: { state: true } };
  declare way: Way;
  declare epsilon: number;
  declare private draw: Draw;
  protected readonly question = "47 of 100 people say yes. Who could take the noise off again?";
  protected readonly first = { way: "together", epsilon: 0.5 };

  protected override get allowed(): Record<string, Allowed> {
    return { way: Object.keys(WAYS), epsilon: EPSILONS };
  }

  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    if (this.way !== undefined && this.epsilon !== undefined) this.publish();
  }

  /** How many draws of noise are in what is published, and how many of them server A does not know. */
  private get draws(): [published: 1 | 2, unknown: 0 | 1] {
    return [this.way === "each" ? 2 : 1, this.way === "together" || this.way === "each" ? 1 : 0];
  }

  private publish = (): void => {
    const limits = thresholds(this.epsilon);
    if (this.way === "together") {
      const [first, second] = [[...words(limits.length)], [...words(limits.length)]];
      const coins = limits.map((limit, place) => (first[place]! ^ second[place]!) >>> 0 < limit);
      this.draw = { noises: [noiseOf(coins)], first, second };
    } else {
      const noises = Array.from({ length: this.draws[0] }, () => noiseOf(coinChances(this.epsilon).map(coin)));
      this.draw = { noises, first: [], second: [] };
    }
  };

  private get published(): number {
    return TRUTH + this.draw.noises.reduce((sum, noise) => sum + noise, 0);
  }

  protected handles(): TemplateResult {
    return html`${this.choice("way", "who makes the noise?", Object.entries(WAYS))}
      ${this.choice(
        "epsilon",
        "epsilon of the sum",
        EPSILONS.map((epsilon) => [epsilon, `ε = ${epsilon}`] as const),
      )}
      <button type="button" class="main" @click=${this.publish}>Publish with other noise</button>`;
  }

  protected picture(): unknown {
    const [published, unknown] = this.draws;
    return html`${this.bars("What everybody sees: the noisy sum", "private", published, this.published)}
      ${this.bars("What server A sees, after taking off what it knows", unknown ? "private" : "adversary", unknown, this.leftOver)}
      ${this.draw.first.length ? this.coins(this.draw) : nothing}`;
  }

  /** What server A has when it takes its own noise off, or the exact sum that it saw. */
  private get leftOver(): number {
    if (this.way === "together") return this.published;
    return this.way === "each" ? this.published - this.draw.noises[0]! : TRUTH;
  }

  private law(draws: 0 | 1 | 2): number[] {
    if (draws) return noiseLaw(this.epsilon, REACH, draws);
    return Array.from({ length: 2 * REACH + 1 }, (_, place) => (place === REACH ? 1 : 0));
  }

  private bars(name: string, ink: "private" | "adversary", draws: 0 | 1 | 2, drawn: number): TemplateResult {
    const law = this.law(draws);
    const points: Point[] = law.map((chance, place) => [TRUTH - REACH + place, chance]);
    const top = draws ? Math.max(0.1, 1.3 * Math.max(...law)) : 1.05;
    const step = top > 1 ? 0.5 : top > 0.45 ? 0.2 : top > 0.18 ? 0.1 : 0.05;
    const inside = Math.abs(drawn - TRUTH) <= REACH;
    return html`<p class="name ${ink}">${name} <span>now: ${drawn}</span></p>
      ${chart({
        title: `${name}: how likely each number is, if the true sum is ${TRUTH}`,
        height: 175,
        x: {
          from: TRUTH - REACH - 0.7,
          to: TRUTH + REACH + 0.7,
          label: "number of yes",
          ticks: [35, 40, 45, 50, 55, 60],
        },
        y: {
          from: 0,
          to: top,
          label: "chance",
          ticks: [1, 2, 3, 4].map((place) => place * step).filter((tick) => tick <= top),
          format: (share) => percent(share),
        },
        marks: [
          { kind: "bars", ink, points },
          ...(inside
            ? [{ kind: "down", ink: "noise", points: [[drawn, 0]], dashed: true, label: String(drawn) } as const]
            : []),
        ],
      })}`;
  }

  /** One line for each coin: the first bits of both servers' numbers, their XOR, and the threshold. */
  private coins({ first, second }: Draw): TemplateResult {
    const [shown, rest] = narrow() ? [6, ""] : [12, "…"];
    const bits = (value: number): string => value.toString(2).padStart(BITS, "0").slice(0, shown) + rest;
    const rows = thresholds(this.epsilon).map((limit, place) => {
      const number = (first[place]! ^ second[place]!) >>> 0;
      return html`<tr><th scope="row">${place ? 2 ** (place - 1) : "sign"}</th><td>${bits(first[place]!)}</td><td>${bits(second[place]!)}</td><td class="hidden">${bits(number)}</td><td>${bits(limit)}</td><td class="coin">${Number(number < limit)}</td></tr>`;
    });
    return html`<div class="scroll" tabindex="0" role="group" aria-label="The coins of this noise"><table class="coins">
      <caption>The first ${shown} of ${BITS} bits of each number. A coin is 1 if the XOR is less than the threshold. The coins stay hidden in shares, too.</caption>
      <thead><tr><th scope="col">digit</th><th scope="col">A tosses</th><th scope="col">B tosses</th><th scope="col" class="hidden">XOR, hidden</th><th scope="col">less than</th><th scope="col">coin</th></tr></thead>
      <tbody>${rows}</tbody></table></div>`;
  }

  protected sentence(): string | TemplateResult {
    const [published] = this.draws;
    const width = halfWidth(this.epsilon, published);
    const error = `With 95 % confidence, the published number is off by at most ${width}.`;
    const drawn = html`The noise was <b>${this.draw.noises.map(signed).join(" and ")}</b>. `;
    switch (this.way) {
      case "together":
        return html`${drawn}Every coin is decided by the XOR of two numbers. Server A knows only its own number. So it cannot take the noise off, and it sees no more than everybody else. ${error} A curator's noise would be as large.`;
      case "alone":
        return html`${drawn}Server A made the noise and can subtract it. So it has the exact sum, and no ε protects anybody from server A. ${error}`;
      case "each":
        return html`${drawn}Server A takes its own noise off. The noise of server B is left, and it is enough for ε = ${this.epsilon}. But everybody else gets both noises: ${error.toLowerCase()} With joint noise it would be ${halfWidth(this.epsilon, 1)}.`;
      case "after":
        return html`${drawn}Both servers have seen the exact sum before the noise came. A server that knows 99 answers subtracts them and has the hundredth. Noise that is added later protects against readers of the result, not against the servers. ${error}`;
    }
  }

  protected table(): Table {
    const names: Record<Way, string> = { ...WAYS, after: "somebody, after the exact sum was opened" };
    const rows = (Object.keys(WAYS) as Way[]).map((way) => {
      const published = way === "each" ? 2 : 1;
      const left = way === "together" || way === "each" ? `± ${halfWidth(this.epsilon, 1)}` : "0, the exact sum";
      return [names[way], `± ${halfWidth(this.epsilon, published)}`, left];
    });
    return { head: ["noise made by", "everybody: off by at most", "server A: off by at most"], rows };
  }

  static override styles = [
    Story.styles,
    css`
      .name { margin: 0.5rem 0 0; font-weight: 600; display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; }
      .name span { font-weight: 400; font-size: 0.9rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
      .name.adversary { color: var(--adversary); } .name.private { color: var(--private); }
      .coins { font-size: 0.82rem; margin: 0.4rem 0; width: 100%; } .coins caption { caption-side: bottom; text-align: left; font-size: 0.85rem; line-height: 1.4; color: var(--quiet); padding-top: 0.4rem; } .coins td { font-family: var(--mono, monospace); white-space: nowrap; }
      .coins th { font-weight: 600; vertical-align: bottom; } .coins :is(th, td) { padding: 0.15em 0.4em; }
      .coins .hidden { color: var(--noise); } .coins .coin { font-weight: 700; text-align: center; }
      .seen { min-height: 9em; }
    `,
  ];
}
customElements.define("lw-joint-noise", JointNoise);
