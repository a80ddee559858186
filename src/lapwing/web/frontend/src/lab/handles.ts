// Two handles, epsilon and accuracy, each of which solves the other; a picture of what every epsilon buys; and the meter.
import { LitElement, css, html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import "../lib/epsilon.js";
import { chart, type Mark, type Point } from "../lib/chart.js";
import { accuracyAt, accuracyPlace, compared, down, epsilonFor, errorAt, offBy, range, up } from "../math/lab.js";
import type { QuestionHandles, Band } from "./kinds.js";
import { calm, sure, said } from "./look.js";
import "./meter.js";

const STEPS = 60;
/** How far off with fewer and with more people: asked for once the page is there. */
export type Nearby = { people: number; bands: Band[] }[];

/** How far off each output is at an epsilon between two places of the slider. */
export interface Typed {
  epsilon: number;
  errors: (number | null)[];
}

/** What rests on more than what was stated is a guess, and no limit. */
const limit = (band: Band): string => (band.why ? "about" : "at most");

/** Not an error, but from how many rows on a key that was not declared is shown. */
const isThreshold = (band: Band): boolean => band.measured_in === "units";

/** How far off it is, after "the possible error of". A name with a comma within ends with one. */
function named({ output, condition }: Band, over = ""): string {
  const name = [`${output}${over}`, condition].filter(Boolean).join(over ? ", " : " ");
  return `${name}${name.includes(", ") ? "," : ""}`;
}

/** Of which rows of a person a limit is, where a person may have more: not of those that are left out. */
const used = ({ preview }: QuestionHandles, band: Band): string =>
  preview.rows_used && !band.why ? ` over ${preview.rows_used}` : "";

/** Where a key must be that frequent. */
const among = ({ preview }: QuestionHandles): string =>
  preview.rows_used ? ` among the rows that count (${preview.rows_used})` : "";

const ONE: Record<string, string> = { people: "person", rows: "row", ranks: "rank" };

/** A number, as it is written, and what it counts, if anything. */
const counted = (number: string, what: string): string =>
  what ? `${number} ${number === "1" ? (ONE[what] ?? what) : what}` : number;

/** Whom the statement counts. */
const crowdOf = ({ unit }: QuestionHandles): string => (unit === "row" ? "rows" : "people");

export class Handles extends LitElement {
  static override properties = {
    asking: { attribute: false },
    nearby: { attribute: false },
    typed: { attribute: false },
    epsilon: { type: Number },
    output: { state: true },
    wanted: { state: true },
    mistyped: { state: true },
    beyond: { state: true },
    invalid: { type: Boolean, reflect: true },
  };
  declare asking: QuestionHandles | null;
  declare nearby: Nearby | null;
  declare typed: Typed | null;
  declare epsilon: number;
  /** Which output the second handle is about. */
  declare output: number;
  /** What was typed or chosen as accuracy, until epsilon is moved. */
  declare wanted: number | null;
  /** Whether what was typed as accuracy is none. */
  declare mistyped: boolean;
  /** What was typed as accuracy and is reached by no epsilon of the slider. */
  declare beyond: number | null;
  /** Whether the question, as it stands in the form, cannot be asked: then nothing is known about its error. */
  declare invalid: boolean;

  constructor() {
    super();
    this.asking = this.nearby = this.typed = null;
    this.epsilon = 1;
    this.output = 0;
    this.invalid = false;
    this.forget();
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("asking") || !this.asking) return;
    const { places, preview } = this.asking;
    const known = preview.bands.map((band) => range(places, band.errors) !== null);
    const first = preview.bands.findIndex((band, place) => known[place] && !isThreshold(band));
    this.output = Math.max(0, first < 0 ? known.indexOf(true) : first);
    this.forget();
  }

  /** Whatever was typed as accuracy. */
  private forget(): void {
    this.wanted = this.beyond = null;
    this.mistyped = false;
  }

  private get band(): Band | null {
    return this.asking?.preview.bands[this.output] ?? null;
  }

  /** How far off it is at the epsilon that is chosen: as the server says, and until then on the line between two places. */
  private errorNow(asking: QuestionHandles, band: Band): number | null {
    if (this.typed?.epsilon === this.epsilon) return this.typed.errors[this.output] ?? null;
    return errorAt(asking.places, band.errors, this.epsilon);
  }

  private move(epsilon: number, wanted: number | null = null): void {
    this.epsilon = epsilon;
    this.forget();
    this.wanted = wanted;
    this.dispatchEvent(new CustomEvent("chosen", { detail: epsilon, bubbles: true, composed: true }));
  }

  private want(error: number): void {
    const found = this.band && this.asking ? epsilonFor(this.asking.places, this.band.errors, error) : null;
    if (found !== null) return this.move(Math.min(10, up(found, 3)), error);
    this.forget(); // epsilon stays, and so does its error
    this.beyond = error;
  }

  override render(): TemplateResult {
    const { asking, band } = this;
    if (!asking) return html`<p>…</p>`;
    return html`<div class="two">
        <lw-epsilon label="Spend" .value=${this.epsilon} about="that one ${asking.unit} is in the data" except=${asking.preview.delta ? "leaving δ aside" : ""} @epsilon=${(
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
    const mixed = bands.some(({ why }) => why) && bands.some(({ why }) => !why);
    const shared = bands[0]?.output.split(", ")[0] ?? "";
    const alike = bands.every(({ output }) => output.startsWith(`${shared}, `)); // then only the rest tells them apart
    const of = (one: Band): string =>
      isThreshold(one)
        ? `${crowdOf(asking)} that ${one.output} needs`
        : `${alike ? one.output.slice(shared.length + 2) : one.output}${one.measured_in ? `, in ${one.measured_in}` : ""}${mixed && one.why ? " (rough)" : ""}`;
    const choice =
      bands.length > 1
        ? html`<select aria-label="Accuracy of" @change=${(event: Event) => {
            this.output = Number((event.target as HTMLSelectElement).value);
            this.forget();
          }}>
            ${bands.map((one, place) => html`<option value=${place} ?selected=${place === this.output}>${of(one)}</option>`)}
          </select>`
        : nothing;
    if (!ends)
      return html`<div class="accuracy"><span class="name">Accuracy ${choice}</span><p class="quiet">${band.why || "How far off it will be depends on the data, so it is not known beforehand."}</p></div>`;
    const error = this.wanted ?? this.errorNow(asking, band);
    const shown = error ?? ends[1];
    const word = limit(band);
    const least = isThreshold(band);
    const unit = least ? crowdOf(asking) : band.measured_in;
    const label = least
      ? `Show ${band.output} that at least so many ${unit} have${bands.length > 1 ? ":" : ""}`
      : `Accept an error ${alike && bands.length > 1 ? `in the ${shared} ` : ""}of ${word}${bands.length > 1 && !alike ? ", for the output" : ""}`;
    return html`<div class="accuracy">
      <label class="name" for="accuracy">${label}</label>${choice}
      <input id="accuracy" type="range" min="0" max=${STEPS} step="1" .value=${String(accuracyPlace(shown, STEPS, ends))}
        aria-valuetext="${least ? "at least" : `error ${word}`} ${counted(said(shown), unit)} ${band.why ? "" : sure(asking.preview.confidence)}"
        @input=${(event: Event) => this.want(accuracyAt(Number((event.target as HTMLInputElement).value), STEPS, ends))} />
      <input class="typed" type="number" min="0" step="any" aria-label=${least ? `${label}, typed` : `Error ${word}, typed`} aria-invalid=${this.mistyped ? "true" : nothing} .value=${live(error === null ? "" : String(this.wanted ?? up(error, 3)))}
        @change=${(event: Event) => {
          const typed = Number((event.target as HTMLInputElement).value);
          this.forget();
          this.mistyped = !(typed > 0);
          if (!this.mistyped) this.want(Math.min(typed, ends[0]));
          this.requestUpdate(); // the field shows what holds
        }} />
      <p>${
        this.mistyped
          ? html`<b role="alert">Write a number above 0.</b>`
          : this.beyond !== null
            ? html`<b role="alert">${said(this.beyond)} is more accurate than this slider goes, so ε is still ${said(this.epsilon)}.</b>`
            : band.why || `${unit ? `${unit}, ` : ""}${sure(asking.preview.confidence)}.`
      }</p>
    </div>`;
  }

  private sentence(asking: QuestionHandles, band: Band | null): TemplateResult | string {
    if (this.invalid)
      return "This question cannot be asked as it stands, so its error is not known. The message in the form says why.";
    const { left, allowance } = asking.budget;
    const over = this.epsilon > left + allowance * 1e-9;
    const most = down(left * (1 + 1e-9), 3); // the ledger lets a billionth pass
    if (over) {
      const still = band && most >= (asking.places[0] ?? 0) ? errorAt(asking.places, band.errors, most) : null;
      if (most < 0.01)
        return "The budget of this table is spent. The answers you have stay yours; nothing more can be asked.";
      const buys =
        still === null || !band || isThreshold(band)
          ? ""
          : `, for an error of ${limit(band)} ${counted(said(still), band.measured_in)} in ${named(band, used(asking, band))}`;
      return html`This costs more than is left. You can still spend ${said(most)}${buys}. <button type="button" @click=${() => this.move(most)}>Take ${said(most)}</button>`;
    }
    const error = band ? this.errorNow(asking, band) : null;
    if (!band || error === null)
      return `This takes ${said(this.epsilon)} of your budget; the answer itself will say how far off it may be.`;
    const often = Math.floor((left + allowance * 1e-9) / this.epsilon);
    const room = `Your budget has room for ${often === 1 ? "one such question" : `${often.toLocaleString("en")} such questions`}.`;
    if (isThreshold(band))
      return html`With ε = ${said(this.epsilon)}, ${band.output} that at least <b class="noise">${counted(offBy(error), crowdOf(asking))}</b> ${offBy(error) === "1" ? "has" : "have"}${among(asking)} is shown with a probability of ${Math.round(100 * asking.preview.confidence)}\u00a0% or more. A rarer one may be shown, too. ${room}`;
    return html`With ε = ${said(this.epsilon)}, the possible error of ${named(band, used(asking, band))} is <b class="noise">${error === 0 ? "" : `${limit(band)} `}${counted(offBy(error), band.measured_in)}</b>${used(asking, band) && " (noise only)"}${band.why ? nothing : `, ${sure(asking.preview.confidence)}`}. ${band.caveat && `${band.caveat} `}${room}`;
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
    const least = isThreshold(band);
    const others = (ranks || least ? [] : (this.nearby ?? []))
      .map(({ people, bands }) => ({ people, points: curve(bands[this.output]) }))
      .filter(({ points }) => differs(points));
    const crowd = crowdOf(asking);
    const sized = (people: number): string => counted(said(people), crowd);
    const { left } = asking.budget;
    const line = (ink: "quiet" | "noise", points: Point[], label: string): Mark => ({
      kind: "line",
      ink,
      points,
      label,
      dashed: ink === "quiet",
      end: true,
    });
    const marks: Mark[] = others.map(({ people, points }) => line("quiet", points, said(people)));
    marks.push(line("noise", mine, others.length ? said(asking.people) : ""));
    const error = this.errorNow(asking, band);
    const all = [...mine, ...others.flatMap(({ points }) => points)].map(([, one]) => one);
    const y = {
      from: Math.min(...all) / 1.3,
      to: Math.max(...all) * 1.3,
      label: least
        ? `${crowd} that ${band.output} needs`
        : `possible error${band.measured_in ? `, ${band.measured_in}` : ""}`,
      log: true,
    };
    if (left < 10 && left >= 0.01)
      marks.push({ kind: "down", ink: "budget", points: [[left, y.from]], dashed: true, label: "all that is left" });
    if (error) marks.push({ kind: "dots", ink: "private", points: [[this.epsilon, error]] });
    const crowds = others.map(({ people }) => sized(people));
    const change = compared([...others, { people: asking.people, points: mine }]);
    const exact = asking.places.find((_, place) => band.errors.slice(place).every((one) => one === 0));
    const none =
      exact === undefined || least ? "" : ` From ε = ${said(exact)} on it is 0, which this axis cannot show.`;
    const size = this.nearby
      ? html`<p class="quiet">${
          ranks
            ? `The error in ranks does not depend on the number of ${crowd}, but it is never larger than the number of rows that count. With more ${crowd}, the values of neighbouring ranks are closer together.`
            : !crowds.length
              ? `${least ? `This number is the same however many ${crowd} are in the table.` : `The error of ${named(band)} does not depend on the number of ${crowd}.`}${band.condition && asking.preview.bands.some(isThreshold) ? " With a larger ε, smaller groups are shown, too. So the error does not fall at every step." : ""}`
              : `The solid line is for ${sized(asking.people)}, the dashed ${crowds.length > 1 ? "lines are" : "line is"} for ${crowds.join(" and ")}. With more ${crowd}, the error is ${change}.`
        }</p>`
      : html`<p class="quiet soon">…</p>`;
    const title = least
      ? `How many ${crowd} ${band.output} needs${among(asking)}, at each ε, to be shown with a probability of ${Math.round(100 * asking.preview.confidence)} %`
      : `Possible error at each ε, for: ${band.output}${band.condition && !crowds.length ? ` ${band.condition}` : ""}${band.measured_in ? `, in ${band.measured_in}` : ""}`;
    return html`<figure>${chart({ x: { from: 0.01, to: 10, label: "epsilon", log: true, ticks: [0.01, 0.1, 1, 10] }, y, marks, title, height: 260 })}
      <figcaption class="quiet">${title}.${none} Your data was not read for this. ${band.why ? "The error is a guess from what you stated. " + band.why : least ? "The number follows from the method." : "The error follows from the method and from what you stated about the table."}</figcaption></figure>${size}
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
    const sign = isThreshold(band) ? "" : "± ";
    return html`<div class="scroll" tabindex="0" role="group" aria-label="Possible error at each epsilon"><table>
      <thead><tr><th scope="col">ε</th>${columns.map(({ people }) => html`<th scope="col" class="right">${counted(said(people), crowdOf(asking))}</th>`)}</tr></thead>
      <tbody>${places.map(({ epsilon, place }) => html`<tr><td>${said(epsilon)}</td>${columns.map(({ errors }) => html`<td class="right">${typeof errors[place] === "number" ? `${sign}${offBy(errors[place] as number)}` : "–"}</td>`)}</tr>`)}</tbody></table></div>`;
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
      :host([invalid]) .accuracy { visibility: hidden; }
      :host([invalid]) :is(figure, figure ~ *) { display: none; }
      .noise { color: var(--noise); }
      @media print { .two { display: none; } }
    `,
  ];
}

customElements.define("lw-handles", Handles);
