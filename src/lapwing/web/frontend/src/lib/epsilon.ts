// The one slider for epsilon: logarithmic from 0.01 to 10, with ticks, a typed value and the odds in words.
import { LitElement, css, html, type TemplateResult } from "lit";
import { EPSILON } from "./story.js";
import { outOf } from "./words.js";

const { from: LOW, to: HIGH } = EPSILON;
const STEPS = 60; // twenty for each power of ten: two digits tell them apart, so every press of a key moves
/** Reached exactly, although they have more than two digits. The double next to ln 3 is more, so this is the one below. */
const EXACT = [Math.LN2, 1.0986122886681096];

/** Ticks of the slider and the numbers under them, a third of its way from each other. */
const POWERS = [0.01, 0.1, 1, 10];

export function place(epsilon: number): number {
  return Math.round((Math.log(epsilon / LOW) / Math.log(HIGH / LOW)) * STEPS);
}

export function epsilonAt(step: number): number {
  return EXACT.find((mark) => place(mark) === step) ?? Number((LOW * (HIGH / LOW) ** (step / STEPS)).toPrecision(2));
}

export class Epsilon extends LitElement {
  static override properties = {
    value: { type: Number },
    label: { type: String },
    symbol: { type: String },
    about: { type: String },
    when: { type: String },
    except: { type: String },
    instead: { type: String },
    wrong: { state: true },
  };
  declare value: number;
  declare label: string;
  /** What epsilon is called here, such as ε₀ of a single report. */
  declare symbol: string;
  /** What is bet on in the words below. */
  declare about: string;
  /** How these words begin, such as "After all questions". */
  declare when: string;
  /** When they may be wrong, such as "leaving δ aside". */
  declare except: string;
  /** What stands below where epsilon is no promise. */
  declare instead: string;
  /** Why what was typed last was not taken. */
  declare private wrong: string;

  constructor() {
    super();
    this.value = 1;
    this.label = "epsilon";
    this.symbol = "ε";
    this.about = "that you are in the data";
    this.when = this.except = this.instead = this.wrong = "";
  }

  private change(value: number): void {
    this.wrong = "";
    this.value = value;
    this.dispatchEvent(new CustomEvent("epsilon", { detail: this.value, bubbles: true, composed: true }));
  }

  /** As it is shown: ln 3 has more digits than anybody reads. */
  private get shown(): string {
    return String(+this.value.toPrecision(6));
  }

  private get words(): string {
    return this.instead || outOf(this.value, this.about, this.when, this.except);
  }

  /** What is no epsilon for this slider gives way to the one there was, and that is said. */
  private typed(event: Event): void {
    const input = event.target as HTMLInputElement;
    const value = Number(input.value);
    if (value >= LOW && value <= HIGH) return this.change(value);
    this.wrong = `${this.symbol} must be a number from ${LOW} to ${HIGH}, so it is still ${this.shown}.`;
    input.value = this.shown;
  }

  override render(): TemplateResult {
    return html`<div>
      <label for="slide">${this.label} ${this.symbol}</label>
      <input
        id="slide" type="range" min="0" max=${STEPS} step="1" list="marks" .value=${String(place(this.value))}
        aria-valuetext="${this.shown}: ${this.words}"
        @input=${(event: Event) => this.change(epsilonAt(Number((event.target as HTMLInputElement).value)))}
      />
      <datalist id="marks">${POWERS.map((power) => html`<option value=${place(power)} label=${power}></option>`)}</datalist>
      <input
        class="typed" type="number" min=${LOW} max=${HIGH} step="any" aria-label="${this.label}, typed" .value=${this.shown}
        @change=${this.typed}
      />
      <span class="scale" aria-hidden="true">${POWERS.map((power) => html`<span>${power}</span>`)}</span>
      <p>${this.wrong ? html`<span class="wrong" role="alert">${this.wrong}</span>` : this.words}</p>
    </div>`;
  }

  static override styles = css`
    :host { display: block; font-family: var(--sans); }
    div { display: grid; grid-template-columns: 1fr 5.5rem; gap: 0.1rem 0.8rem; align-items: center; }
    label { grid-column: 1 / -1; font-size: 0.9rem; color: var(--quiet); }
    input[type="range"] { width: 100%; height: 1.5rem; margin: 0; }
    .scale { grid-column: 1; display: flex; justify-content: space-between; height: 1.2em; padding: 0 8px; font-size: 0.75rem; color: var(--quiet); }
    .scale span { width: 0; display: flex; justify-content: center; }
    .typed { box-sizing: border-box; font: inherit; font-size: 0.95rem; padding: 0.2rem 0.4rem; width: 100%; border: 1px solid var(--line); border-radius: 6px; background: var(--paper); color: var(--ink); }
    p { grid-column: 1 / -1; margin: 0; font-size: 0.9rem; color: var(--quiet); min-height: 2.6em; }
    .wrong { color: var(--adversary); }
    :focus-visible { outline: 3px solid var(--budget); outline-offset: 2px; }
  `;
}
if (!customElements.get("lw-epsilon")) customElements.define("lw-epsilon", Epsilon);
