// RAPPOR on one's own word: the bits it sets, the noise that stays, the noise of each report, and what an eavesdropper can average out.
import { css, html, nothing, type TemplateResult } from "lit";
import { counted } from "../lib/plural.js";
import { coin } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { lifetimeLoss, permanent, places, reportLoss, type Parameters } from "../math/rappor.js";

const BITS = 32;
const COHORTS = 8;
const NOISE: [number, string][] = [
  [0.25, "f = 0.25: a quarter of the bits is left to a coin"],
  [0.5, "f = 0.5: half of the bits"],
  [0.75, "f = 0.75: three quarters"],
];

export class RapporStory extends Story {
  static override properties = { word: { type: String }, cohort: { type: Number }, noise: { type: Number } };
  declare word: string;
  declare cohort: number;
  declare noise: number;
  protected readonly question = "What does a browser tell about your home page?";
  protected readonly first = { word: "example.org", cohort: 5, noise: 0.5 };

  protected override get allowed(): Record<string, Allowed> {
    return { cohort: { from: 0, to: COHORTS - 1, whole: true }, noise: NOISE.map(([f]) => f) };
  }
  private kept = new Map<string, boolean[]>(); // permanent responses, as a device keeps them
  private ones: number[] = [];
  private report: boolean[] = [];
  private sent = 0;
  private about = "";

  private get parameters(): Parameters {
    return { bits: BITS, hashes: 2, f: this.noise, p: 0.5, q: 0.75 };
  }

  private get set(): boolean[] {
    const at = places(this.word, this.cohort, this.parameters);
    return Array.from({ length: BITS }, (_, i) => at.includes(i));
  }

  /** Drawn once for each answer, and then kept. */
  private get stays(): boolean[] {
    const key = `${this.noise} ${this.cohort} ${this.word}`;
    let bits = this.kept.get(key);
    if (!bits) this.kept.set(key, (bits = this.set.map((one) => coin(permanent(one, this.noise)))));
    if (this.about !== key) [this.about, this.sent, this.ones, this.report] = [key, 0, Array<number>(BITS).fill(0), []];
    return bits;
  }

  override willUpdate(): void {
    this.word = this.word.slice(0, 60);
    this.stays;
    if (!this.sent) this.send(1);
  }

  private send(times: number): void {
    const { p, q } = this.parameters;
    const bits = this.stays;
    for (let i = 0; i < times; i++) {
      this.report = bits.map((one) => coin(one ? q : p));
      this.report.forEach((one, place) => (this.ones[place]! += Number(one)));
      this.sent++;
    }
    this.requestUpdate();
  }

  private forget(): void {
    this.kept.clear();
    this.about = "";
    this.requestUpdate();
  }

  protected handles(): TemplateResult {
    return html`<label>your word
        <input type="text" maxlength="60" autocomplete="off" spellcheck="false" .value=${this.word}
          @input=${(event: Event) => this.take("word", (event.target as HTMLInputElement).value)} />
      </label>
      ${this.choice(
        "cohort",
        "cohort (each has hash functions of its own)",
        Array.from({ length: COHORTS }, (_, i) => [i, i] as const),
      )}
      ${this.choice("noise", "permanent noise", NOISE)}
      <div class="buttons">
        <button type="button" @click=${() => this.send(1)}>Send another report</button>
        <button type="button" @click=${() => this.send(1000)}>Send 1,000 reports</button>
        <button type="button" @click=${this.forget}>Take a new device</button>
      </div>`;
  }

  private row(
    step: string,
    told: string,
    bits: readonly boolean[],
    ink: string,
    shares?: readonly number[],
  ): TemplateResult {
    const truth = this.set;
    return html`<div class="step">
      <p><strong>${step}</strong> ${told}</p>
      <div class="bits ${ink}" role="img" aria-label="${step}: ones at ${bits.flatMap((one, i) => (one ? [i] : [])).join(", ") || "none"}">
        ${bits.map((one, i) => html`<span class="${one ? "one" : ""} ${truth[i] ? "true" : ""}" style=${shares ? `--share: ${Math.max(0, Math.min(1, shares[i]!)).toFixed(2)}` : nothing}>${shares ? "" : Number(one)}</span>`)}
      </div>
    </div>`;
  }

  protected picture(): unknown {
    const { p, q } = this.parameters;
    const guessed = this.ones.map((count) => (count / this.sent - p) / (q - p));
    return html`${this.row("1. Your word", `sets two of ${BITS} bits, found by two hash functions.`, this.set, "exact")}
      ${this.row("2. Permanent response:", "each bit is kept, or left to a fair coin. The device makes it once and keeps it for ever.", this.stays, "private")}
      ${this.row("3. Report:", "a one is sent as one with probability 0.75, a zero with 0.5. Each report draws again.", this.report, "noise")}
      ${this.row(
        "What an eavesdropper sees",
        `in the average of ${counted(this.sent, "report")}. A darker bit is more likely a one in step 2.`,
        guessed.map((share) => share > 0.5),
        "adversary",
        guessed,
      )}`;
  }

  protected sentence(): string {
    const truth = this.set;
    const bits = this.stays;
    const wrong = bits.filter((one, i) => one !== truth[i]).length;
    const at = [...new Set(places(this.word, this.cohort, this.parameters))].sort((a, b) => a - b);
    const given = this.parameters;
    const { p, q } = given;
    const matches = this.ones.filter((count, i) => (count / this.sent - p) / (q - p) > 0.5 === bits[i]).length;
    const seen =
      this.sent < 100
        ? ""
        : ` After ${this.sent.toLocaleString("en")} reports an eavesdropper knows ${matches} of ${BITS} bits of step 2. But ${wrong} of the bits of step 2 differ from those of the word.`;
    return `“${this.word}” sets ${at.length < 2 ? `bit ${at[0]} (both functions agree)` : `bits ${at.join(" and ")}`}. The permanent response differs from it in ${wrong} of ${BITS} bits.${seen} One report alone costs at most ε = ${reportLoss(given).toFixed(2)}. All reports about this word together cost at most ε = ${lifetimeLoss(given).toFixed(2)}.`;
  }

  protected table(): Table {
    const list = (bits: readonly boolean[]): string => bits.flatMap((one, i) => (one ? [i] : [])).join(", ") || "none";
    return {
      head: ["step", "bits that are one"],
      rows: [
        ["your word", list(this.set)],
        ["permanent response", list(this.stays)],
        ["latest report", list(this.report)],
      ],
    };
  }

  static override styles = [
    Story.styles,
    css`
      .handles > .buttons { display: flex; flex: 1 1 100%; flex-wrap: wrap; gap: 0.5rem; }
      .step p { margin: 0.9rem 0 0.3rem; font-size: 0.92rem; line-height: 1.35; }
      .bits { display: grid; grid-template-columns: repeat(16, minmax(0, 1fr)); gap: 3px; }
      .picture { margin-bottom: 0.9rem; }
      .bits span { aspect-ratio: 1; display: grid; place-items: center; max-height: 2.2rem; width: 100%; box-sizing: border-box; font: 0.8rem var(--sans); border: 1px solid var(--line); border-radius: 4px; color: var(--quiet); }
      .bits .true { outline: 2px solid var(--exact); outline-offset: -1px; }
      .bits .one { color: var(--paper); font-weight: 600; border-color: transparent; }
      .exact .one { background: var(--exact); } .private .one { background: var(--private); } .noise .one { background: var(--noise); }
      .adversary span { background: color-mix(in srgb, var(--adversary) calc(100% * var(--share)), transparent); }
      @media (min-width: 640px) { .bits { grid-template-columns: repeat(32, minmax(0, 1fr)); gap: 2px; } .bits span { font-size: 0.72rem; } }
    `,
  ];
}
customElements.define("lw-rappor-steps", RapporStory);
