// Two handles, epsilon and accuracy, each of which solves the other; a picture of what every epsilon buys; and the meter.
import { LitElement, css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import "../lib/epsilon.js";
import { chart, type Mark, type Point } from "../lib/chart.js";
import { accuracyAt, accuracyPlace, down, epsilonFor, errorAt, offBy, range, up } from "../math/lab.js";
import type { QuestionHandles, Band } from "./kinds.js";
import { calm, sure, said } from "./look.js";
import "./meter.js";

const STEPS = 60;
/** How far off with fewer and with more people: asked for once the page is there. */
export type Nearby = { people: number; bands: Band[] }[];

/** What rests on more than what was stated is a guess, and no limit. */
const limit = (band: Band): string => (band.why ? "about" : "at most");

/** Whom the statement counts. */
const crowdOf = ({ unit }: QuestionHandles): string => (unit === "row" ? "rows" : "people");

export class Handles extends LitElement {
  static override properties = {
    asking: { attribute: false },
    nearby: { attribute: false },
    epsilon: { type: Number },
    output: { state: true },
    wanted: { state: true },
    invalid: { type: Boolean, reflect: true },
  };
  declare asking: QuestionHandles | null;
  declare nearby: Nearby | null;
  declare epsilon: number;
  /** Which output the second handle is about. */
  declare output: number;
  /** What was typed or chosen as accuracy, until epsilon is moved. */
  declare wanted: number | null;
  /** Whether the question, as it stands in the form, cannot be asked: then nothing is known about its error. */
  declare invalid: boolean;

  constructor() {
    super();
    this.asking = this.nearby = null;
    this.epsilon = 1;
    this.output = 0;
    this.wanted = null;
    this.invalid = false;
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("asking") || !this.asking) return;
    const first = this.asking.preview.bands.findIndex((band) => range(this.asking?.places ?? [], band.errors));
    this.output = Math.max(0, first);
    this.wanted = null;
  }

  private get band(): Band | null {
    return this.asking?.preview.bands[this.output] ?? null;
  }

  private move(epsilon: number, wanted: number | null = null): void {
    this.epsilon = epsilon;
    this.wanted = wanted;
    this.dispatchEvent(new CustomEvent("chosen", { detail: epsilon, bubbles: true, composed: true }));
  }

  private want(error: number): void {
    const found = this.band && this.asking ? epsilonFor(this.asking.places, this.band.errors, error) : null;
    if (found !== null) this.move(Math.min(10, up(found, 3)), error);
    else this.requestUpdate();
  }

  override render(): TemplateResult {
    const { asking, band } = this;
    if (!asking) return html`<p>…</p>`;
    return html`<div class="two">
        <lw-epsilon label="Spend" .value=${this.epsilon} about="that one ${asking.unit} is in the data" @epsilon=${(
          event: CustomEvent<number>,
        ) => {
          event.stopPropagation();
          this.move(event.detail);
        }}></lw-epsilon>
        ${band ? this.accuracy(asking, band) : nothing}
      </div>
      <lw-meter .allowance=${asking.budget.allowance} .spent=${asking.budget.spent} .asked=${this.epsilon}></lw-meter>
      <p class="seen" role="status">${this.sentence(asking, band)}</p>
      ${band && range(asking.places, band.errors) ? this.picture(asking, band) : nothing}`;
  }

  private accuracy(asking: QuestionHandles, band: Band): TemplateResult {
    const ends = range(asking.places, band.errors);
    const { bands } = asking.preview;
    const choice =
      bands.length > 1
        ? html`<select aria-label="Accuracy of" @change=${(event: Event) => {
            this.output = Number((event.target as HTMLSelectElement).value);
            this.wanted = null;
          }}>
            ${bands.map(({ output, measured_in, why }, place) => html`<option value=${place} ?selected=${place === this.output}>${output}${measured_in ? `, in ${measured_in}` : ""}${why ? " (rough)" : ""}</option>`)}
          </select>`
        : nothing;
    if (!ends)
      return html`<div class="accuracy"><span class="name">Accuracy ${choice}</span><p class="quiet">${band.why || "How far off it will be depends on the data, so it is not known beforehand."}</p></div>`;
    const error = this.wanted ?? errorAt(asking.places, band.errors, this.epsilon);
    const shown = error ?? ends[1];
    const word = limit(band);
    return html`<div class="accuracy">
      <label class="name" for="accuracy">Accept an error of ${word}${bands.length > 1 ? ", in" : ""}</label>${choice}
      <input id="accuracy" type="range" min="0" max=${STEPS} step="1" .value=${String(accuracyPlace(shown, STEPS, ends))}
        aria-valuetext="error ${word} ${said(shown)} ${band.measured_in} ${band.why ? "" : sure(asking.preview.confidence)}"
        @input=${(event: Event) => this.want(accuracyAt(Number((event.target as HTMLInputElement).value), STEPS, ends))} />
      <input class="typed" type="number" min="0" step="any" aria-label="Error ${word}, typed" .value=${error === null ? "" : String(Number(error.toPrecision(3)))}
        @change=${(event: Event) => {
          const typed = Number((event.target as HTMLInputElement).value);
          if (typed > 0) this.want(Math.min(typed, ends[0]));
          this.requestUpdate();
        }} />
      <p>${band.why || `${band.measured_in ? `${band.measured_in}, ` : ""}${sure(asking.preview.confidence)}.`} ${this.wanted !== null && this.wanted < ends[1] ? "More accurate than this slider goes." : nothing}</p>
    </div>`;
  }

  private sentence(asking: QuestionHandles, band: Band | null): TemplateResult | string {
    if (this.invalid)
      return "This question cannot be asked as it stands, so its error is not known. The message above says why.";
    const { left, allowance } = asking.budget;
    const over = this.epsilon > left + allowance * 1e-9;
    const most = down(left * (1 + 1e-9), 3); // the ledger lets a billionth pass
    if (over) {
      const still = band && most >= (asking.places[0] ?? 0) ? errorAt(asking.places, band.errors, most) : null;
      if (most < 0.01)
        return "The budget of this table is spent. The answers you have stay yours; nothing more can be asked.";
      const buys =
        still === null
          ? ""
          : `, for an error of ${band ? limit(band) : ""} ${said(still)}${band?.measured_in ? ` ${band.measured_in}` : ""} in ${band?.output}`;
      return html`This costs more than is left. You can still spend ${said(most)}${buys}. <button type="button" @click=${() => this.move(most)}>Take ${said(most)}</button>`;
    }
    const error = band ? errorAt(asking.places, band.errors, this.epsilon) : null;
    if (!band || error === null)
      return `This takes ${said(this.epsilon)} of your budget; the answer itself will say how far off it may be.`;
    const often = Math.floor((left + allowance * 1e-9) / this.epsilon);
    return html`With ε = ${said(this.epsilon)}, ${band.output} is off by <b class="noise">${error === 0 ? "nothing" : `${limit(band)} ${offBy(error)}`}</b>${band.measured_in ? ` ${band.measured_in}` : ""}${band.why ? nothing : `, ${sure(asking.preview.confidence)}`}. Your budget has room for ${often === 1 ? "one such question" : `${often.toLocaleString("en")} such questions`}.`;
  }

  private picture(asking: QuestionHandles, band: Band): TemplateResult {
    const curve = (one: Band | undefined): Point[] =>
      asking.places.flatMap((epsilon, place) => {
        const error = one?.errors[place];
        return typeof error === "number" && error > 0 ? [[epsilon, error] as const] : [];
      });
    const mine = curve(band);
    const differs = (one: Point[]): boolean =>
      one.length > 0 && one.some(([, error], i) => Math.abs(Math.log(error / (mine[i]?.[1] ?? error))) > 0.01);
    const ranks = band.measured_in === "ranks";
    const others = (ranks ? [] : (this.nearby ?? []))
      .map(({ people, bands }) => ({ people, points: curve(bands[this.output]) }))
      .filter(({ points }) => differs(points));
    const crowd = crowdOf(asking);
    const counted = (people: number): string => `${said(people)} ${crowd}`;
    const marks: Mark[] = others.map(({ people, points }) => ({
      kind: "line",
      ink: "quiet",
      points,
      dashed: true,
      label: said(people),
    }));
    marks.push({ kind: "line", ink: "noise", points: mine, label: others.length ? said(asking.people) : "" });
    const error = errorAt(asking.places, band.errors, this.epsilon);
    const all = [...mine, ...others.flatMap(({ points }) => points)].map(([, one]) => one);
    const y = {
      from: Math.min(...all) / 1.3,
      to: Math.max(...all) * 1.3,
      label: `off by ${limit(band)}${band.measured_in ? `, ${band.measured_in}` : ""}`,
      log: true,
    };
    const { left } = asking.budget;
    if (left < 10 && left >= 0.01)
      marks.push({ kind: "down", ink: "budget", points: [[left, y.from]], dashed: true, label: "all that is left" });
    if (error) marks.push({ kind: "dots", ink: "private", points: [[this.epsilon, error]] });
    const crowds = others.map(({ people }) => counted(people));
    const most = others.reduce<(typeof others)[number] | null>((a, b) => (a && a.people > b.people ? a : b), null);
    const worse = (most?.points[0]?.[1] ?? 0) > (mine[0]?.[1] ?? 0);
    const more = (most?.people ?? 0) > asking.people;
    const size = this.nearby
      ? html`<p class="quiet">${
          ranks
            ? `The error in ranks does not depend on the number of ${crowd}. With more ${crowd}, the values of neighbouring ranks are closer together.`
            : !crowds.length
              ? `The error of ${band.output} does not depend on the number of ${crowd}.`
              : `The solid line is for ${counted(asking.people)}, the dashed ${crowds.length > 1 ? "lines are" : "line is"} for ${crowds.join(" and ")}. With more ${crowd}, the error is ${worse === more ? "larger" : "smaller"}.`
        }</p>`
      : html`<p class="quiet soon">…</p>`;
    return html`<figure>${chart({ x: { from: 0.01, to: 10, label: "epsilon", log: true, ticks: [0.01, 0.1, 1, 10] }, y, marks, title: `How far off ${band.output} may be at every epsilon`, height: 260 })}
      <figcaption class="quiet">How far off ${band.output} may be at each ε. Your data was not read for this. ${band.why ? "The error is a guess from what you stated. " + band.why : "The error follows from the method and from what you stated about the table."}</figcaption></figure>${size}
      <details><summary>As a table</summary>${this.numbers(asking, band)}</details>`;
  }

  /** The picture as numbers, three places for each power of ten. */
  private numbers(asking: QuestionHandles, band: Band): TemplateResult {
    const columns = this.nearby?.map(({ people, bands }) => ({ people, errors: bands[this.output]?.errors ?? [] })) ?? [
      { people: asking.people, errors: band.errors },
    ];
    const places = asking.places
      .map((epsilon, place) => ({ epsilon, place }))
      .filter(({ place }) => place % 20 === 0 || place % 20 === 6 || place % 20 === 14);
    return html`<div class="scroll" tabindex="0" role="group" aria-label="How far off at each epsilon"><table>
      <thead><tr><th scope="col">ε</th>${columns.map(({ people }) => html`<th scope="col" class="right">${said(people)} ${crowdOf(asking)}</th>`)}</tr></thead>
      <tbody>${places.map(({ epsilon, place }) => html`<tr><td>${said(epsilon)}</td>${columns.map(({ errors }) => html`<td class="right">${typeof errors[place] === "number" ? `± ${offBy(errors[place] as number)}` : "–"}</td>`)}</tr>`)}</tbody></table></div>`;
  }

  static override styles = [
    calm,
    css`
      .two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 0.6rem 2rem; margin-bottom: 0.8rem; }
      .accuracy { display: grid; grid-template-columns: 1fr 5.5rem; gap: 0.1rem 0.8rem; align-items: center; align-content: start; }
      .accuracy .name { grid-column: 1 / -1; font-size: 0.9rem; color: var(--quiet); }
      .accuracy select { grid-column: 1 / -1; justify-self: start; max-width: 100%; padding: 0.1rem 0.4rem; font-size: 0.9rem; }
      .accuracy p { grid-column: 1 / -1; margin: 0; font-size: 0.9rem; color: var(--quiet); min-height: 2.6em; }
      .accuracy input[type="range"] { accent-color: var(--noise); }
      .accuracy .typed { box-sizing: border-box; padding: 0.2rem 0.4rem; width: 100%; }
      figure { margin: 0.6rem 0 0; }
      figure + p { min-height: 3em; }
      .soon { visibility: hidden; }
      :host([invalid]) :is(.accuracy, figure, figure ~ *) { visibility: hidden; }
      .noise { color: var(--noise); }
      @media print { .two { display: none; } }
    `,
  ];
}
customElements.define("lw-handles", Handles);
