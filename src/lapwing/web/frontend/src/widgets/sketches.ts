// A crowd of phones, each with one emoji: what Apple's sketches make of their reports. And words that nobody listed.
import { css, html, svg, type TemplateResult } from "lit";
import { chart, type Mark, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { words as drawn } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { percent } from "../lib/words.js";
import { bits, crowd, flip, people, places, puzzle, standardError, wordsEach, type Kind } from "../math/sketches.js";
import { row } from "../math/hashing.js";
import data from "../data/sketches.json";

const SHOWN = 12;
const SALT = "school";
const NAMES = data.emoji.map(([name]) => String(name));
const WEIGHTS = data.emoji.map(([, count]) => Number(count));
const WORDS = data.words.map(([word, share]) => [String(word), Number(share)] as const);
const ALGORITHMS = [
  ["CMS", "CMS: emoji, a row of bits"],
  ["HCMS", "HCMS: emoji, a single bit"],
  ["SFP", "SFP: words nobody listed"],
] as const;
const CROWDS = [2000, 20000, 100000];
const PUZZLED = [50000, 450000];
const FUNCTIONS = [1, 16, 256, 1024];
const WIDTHS = [4, 16, 64, 256, 1024];
const TOTALS = [2, 4, 6, 8, 10];
const FOUND = data.found as unknown as Record<string, { estimates: Record<string, number>; false: string[] }>;

interface Seen {
  truth: number[];
  estimates: number[];
  errors: number[];
}

export class SketchesStory extends Story {
  static override properties = {
    epsilon: { type: Number },
    algorithm: {},
    people: { type: Number },
    functions: { type: Number },
    width: { type: Number },
    word: {},
  };
  declare epsilon: number;
  declare algorithm: string;
  declare people: number;
  declare functions: number;
  declare width: number;
  declare word: string;
  protected readonly question = "Which emoji and words are popular, if no phone tells which ones it used?";
  protected readonly first = {
    epsilon: 4,
    algorithm: "CMS",
    people: 20000,
    functions: 256,
    width: 256,
    word: "lapwing",
  };

  protected override get allowed(): Record<string, Allowed> {
    return { algorithm: ALGORITHMS.map(([name]) => name), functions: FUNCTIONS, width: WIDTHS };
  }
  private coins: Uint32Array | undefined;
  private cells = new Map<string, Uint16Array>();
  private seen: Seen = { truth: [], estimates: [], errors: [] };

  /** Functions are made while nobody waits: a few at a time. */
  override firstUpdated(): void {
    const ahead = (from: number): void => {
      for (let fn = from; fn < from + 32; fn++) row(fn, SALT);
      if (from + 32 < 1024) setTimeout(ahead, 20, from + 32);
    };
    setTimeout(ahead, 300, 0);
  }

  private get kind(): Kind {
    return this.algorithm === "HCMS" ? "HCMS" : "CMS";
  }

  private get puzzling(): boolean {
    return this.algorithm === "SFP";
  }

  /** A puzzle was computed for two sizes of crowd; the link to a state may name another. */
  override willUpdate(): void {
    if (!(this.puzzling ? PUZZLED : CROWDS).includes(this.people)) this.people = this.puzzling ? 450000 : 20000;
    if (!this.puzzling) this.seen = this.asked();
  }

  /** Everybody reports; the coins stay as they fell while the handles move. */
  private asked(): Seen {
    const n = this.people;
    const { functions, width } = this;
    const needed = n * wordsEach(SHOWN);
    if (this.coins?.length !== needed) this.coins = drawn(needed);
    const name = `${functions} ${width}`;
    const cells = this.cells.get(name) ?? places(NAMES, functions, width, SALT);
    this.cells.set(name, cells);
    const answers = people(WEIGHTS, n);
    const truth = new Array<number>(NAMES.length).fill(0);
    for (const answer of answers) truth[answer]! += 1;
    const flipped = flip(this.kind, this.epsilon);
    const estimates = crowd(this.kind, answers, cells, NAMES.length, SHOWN, functions, width, flipped, this.coins);
    const squares = truth.reduce((sum, one) => sum + one * one, 0);
    const errors = estimates.map(
      (_, d) => standardError(this.kind, truth[d]!, n, squares, this.epsilon, width, functions) / n,
    );
    return { truth: truth.slice(0, SHOWN).map((one) => one / n), estimates: estimates.map((one) => one / n), errors };
  }

  protected handles(): TemplateResult {
    const sizes = (list: number[]): [number, string][] => list.map((one) => [one, one.toLocaleString("en")]);
    return html`${this.epsilonHandle("one report costs", { about: this.puzzling ? "of your word" : "of your emoji" })}
      <div class="two">${this.choice("algorithm", "what is sent", ALGORITHMS)} ${this.choice("people", "people", sizes(this.puzzling ? PUZZLED : CROWDS))}
        ${
          this.puzzling
            ? html`<label>a word of yours<input type="text" maxlength="20" autocapitalize="off" spellcheck="false" .value=${this.word}
              @input=${(event: Event) => this.take("word", (event.target as HTMLInputElement).value.toLowerCase())} /></label>`
            : html`${this.choice("functions", "functions k", sizes(FUNCTIONS))} ${this.choice("width", "cells m", sizes(WIDTHS))}
              <button type="button" @click=${() => {
                this.coins = undefined;
                this.requestUpdate();
              }}>Toss all coins again</button>`
        }
      </div>`;
  }

  protected picture(): unknown {
    return this.puzzling ? this.wordsFound() : this.emojiCounted();
  }

  private emojiCounted(): unknown {
    const { truth, estimates, errors } = this.seen;
    const top = Math.max(0.2, ...estimates.map((one, d) => one + 2 * errors[d]!));
    const low = Math.min(0, ...estimates.map((one, d) => one - 2 * errors[d]!));
    const reach = [0.2, 0.3, 0.5, 1, 2, 5, 20, 1000].find((one) => Math.max(top, -low) <= one) ?? top;
    const whisker = (d: number): Mark => ({
      kind: "line",
      ink: "noise",
      points: [
        [d, Math.max(-reach, estimates[d]! - 1.96 * errors[d]!)],
        [d, Math.min(reach, estimates[d]! + 1.96 * errors[d]!)],
      ],
    });
    return chart({
      title: `True and estimated shares of the ${SHOWN} most frequent emoji`,
      x: {
        from: -0.6,
        to: SHOWN - 0.4,
        label: "the most frequent emoji of English texts",
        ticks: truth.map((_, d) => d),
        format: (d) => NAMES[d]!,
      },
      y: {
        from: low < -0.02 ? -Math.min(reach, Math.max(0.05, -low * 1.05)) : -0.02,
        to: reach,
        label: "share of people",
        format: (value) => percent(value).replace("-", "−"),
      },
      marks: [
        { kind: "bars", ink: "quiet", points: truth.map((share, d): Point => [d, share]), base: 0 },
        ...truth.map((_, d) => whisker(d)),
        { kind: "dots", ink: "private", points: estimates.map((share, d): Point => [d, share]) },
      ],
    });
  }

  /** What was computed for the largest epsilon that is not above the chosen one. */
  private get total(): number | undefined {
    return TOTALS.filter((one) => one <= this.epsilon + 1e-9).pop();
  }

  private get estimates(): Record<string, number> {
    return this.total === undefined ? {} : FOUND[`${this.people} ${this.total}`]!.estimates;
  }

  private wordsFound(): TemplateResult {
    const found = this.estimates;
    const most = 0.08;
    const [line, left] = [19, 74];
    const at = (share: number): number => left + (Math.min(share, most) / most) * 250;
    const own = puzzle(this.word, SALT);
    return html`<div class="columns"><svg viewBox="0 0 340 ${WORDS.length * line + 8}" role="img" aria-label="The most frequent words, and which of them were found">
        ${WORDS.map(([word, share], i) => {
          const y = i * line + 12;
          const estimate = found[word];
          return svg`<text x=${left - 8} y=${y} text-anchor="end" dy="0.32em" class=${estimate === undefined ? "" : "private"}>${word}</text>
            <g class="bars quiet"><rect x=${left} y=${y - 5} width=${at(share) - left} height="10"></rect></g>
            ${
              estimate === undefined
                ? svg`<text x=${at(share) + 6} y=${y} dy="0.32em">not found</text>`
                : svg`<g class="dots private"><circle cx=${at(estimate)} cy=${y} r="4.5"></circle></g>`
            }`;
        })}
      </svg>
      <div class="own"><p>Your phone cuts <b>${own.word.trimEnd() || "(nothing)"}</b> like this:</p>
        <ol>${own.fragments.map((fragment, i) => html`<li><code>${own.piece}</code> + <code>${fragment.replaceAll(" ", "␣")}</code> at ${i + 1}</li>`)}</ol>
        <p>${own.piece} is a hash of the whole word, one of 256. It sends <em>one</em> of these lines, chosen at random, and the whole word, both through a sketch. Lines with the same number fit together.</p></div></div>`;
  }

  protected sentence(): string {
    if (this.puzzling) {
      const count = Object.keys(this.estimates).length;
      const bars = "Grey bars are how often a word is used.";
      if (this.total === undefined)
        return `The puzzle was computed from ε = ${TOTALS[0]} on: move the slider up. ${bars}`;
      const half = this.total / 2;
      const run = `Computed by the library for ε = ${half} + ${half}, ${this.people.toLocaleString("en")} people and k = m = 1,024`;
      if (!count) return `${run}: no word was found. To learn more, ask more people. ${bars}`;
      return `${run}: ${count} words were found (dots), none of them by mistake. The rarest of those shown is typed by one person in ${rarity(this.estimates)}. Most rarer words, and some more frequent ones, stay unknown. ${bars}`;
    }
    const { truth, estimates, errors } = this.seen;
    const off = Math.sqrt(estimates.reduce((sum, one, d) => sum + (one - truth[d]!) ** 2, 0) / SHOWN);
    const theory = Math.sqrt(errors.reduce((sum, one) => sum + one ** 2, 0) / SHOWN);
    const length = bits(this.kind, this.functions, this.width);
    const flips = percent(flip(this.kind, this.epsilon), 1);
    return `Each phone sends ${length.toLocaleString("en")} bits and flips ${this.kind === "CMS" ? "each cell" : "its one sign"} with probability ${flips}. Grey bars are true, dots are estimated, and 95 % of the orange lines should cover the top of their bar. Typically the estimates are off by ${percent(off, 2)} of the people (theory says ${percent(theory, 2)}). ${2 * theory < 1 ? `An emoji that fewer than ${percent(2 * theory, 1)} use` : "Even an emoji that everybody uses"} looks like one that nobody uses.`;
  }

  protected table(): Table {
    if (this.puzzling)
      return {
        head: ["word", "true share", "estimate"],
        rows: WORDS.map(([word, share]) => [
          word,
          percent(share, 2),
          word in this.estimates ? percent(this.estimates[word]!, 2) : "not found",
        ]),
      };
    const { truth, estimates, errors } = this.seen;
    return {
      head: ["emoji", "true share", "estimate", "standard error"],
      rows: estimates.map((one, d) => [
        NAMES[d]!,
        percent(truth[d]!, 2),
        percent(one, 2).replace("-", "−"),
        percent(errors[d]!, 2),
      ]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .two { display: grid; grid-template-columns: repeat(auto-fit, minmax(5.2rem, 1fr)); gap: 0.6rem; align-items: end; }
      .two > label:first-child, .two > button { grid-column: 1 / -1; }
      .two > button { justify-self: start; }
      .columns { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 1rem; align-items: start; }
      .own { font-size: 0.95rem; line-height: 1.45; }
      .own ol { list-style: none; padding: 0; }
      .own code { background: var(--paper); border: 1px solid var(--line); border-radius: 4px; padding: 0 0.3em; }
      .bars.quiet { opacity: 0.45; }
      @media (max-width: 34rem) { .columns { grid-template-columns: 1fr; } }
    `,
  ];
}

/** One person in so many: the rarest word that was found. */
function rarity(found: Record<string, number>): string {
  const least = Math.min(...WORDS.filter(([word]) => word in found).map(([, share]) => share));
  return Number.isFinite(least) ? Math.round(1 / least).toLocaleString("en") : "a few";
}
customElements.define("lw-sketches", SketchesStory);
