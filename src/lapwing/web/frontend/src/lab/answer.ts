// A private answer, beside the exact one where somebody may see it: one picture and one table.
import { css, html, nothing, type TemplateResult } from "lit";
import { Asked, TEACHING } from "./asked.js";
import type { Result, Series, Value } from "./kinds.js";
import { told } from "./told.js";
import { asPrecise, errorOf, said } from "./look.js";
import { legend, picture, pictured } from "./picture.js";
import { benchOf, underWay } from "./waiting.js";
import { offBy } from "../math/lab.js";

const AFTER = " after bounds";
const MOST_ROWS = 200;

interface Found {
  result: Result;
  /** How many rows of one unit are drawn at random, other ones every time; 0 if nobody has more rows than count. */
  sample: number;
}

class Answer extends Asked<Found> {
  protected readonly kind = "exact";
  private readonly mine = told<{ result: Result }>("released")?.result ?? null;

  override connectedCallback(): void {
    super.connectedCallback();
    if (this.teaching && !this.found) void this.begin();
  }

  override render(): TemplateResult {
    const { mine } = this;
    if (!mine) return html`<slot></slot>`;
    const exact = this.found?.result ?? null;
    return html`<div class="legend">${this.signs(mine, exact)}${exact ? html`<span class="mark">${TEACHING}</span>` : nothing}</div>
      ${this.job ? underWay(this.job, benchOf()) : nothing}${this.wrong ? html`<p class="wrong" role="alert">${this.wrong}</p>` : nothing}
      ${picture(mine, exact)}
      <p class="seen" role="status">${this.sentence(mine, exact)}</p>
      ${this.folded(mine, html`<div class="scroll" tabindex="0" role="group" aria-label="The answer as a table">${this.table(mine, exact)}</div>`)}`;
  }

  /** How many rows of one unit the limited numbers are a random sample of; 0 if they are made of the rows of the answer. */
  private get sampled(): number {
    return this.found?.sample ?? 0;
  }

  /** What is drawn how: nothing, where nothing is drawn. */
  private signs(mine: Result, exact: Result | null): TemplateResult | typeof nothing {
    const signs = legend(mine);
    if (!signs) return nothing;
    const ranged = pictured(mine).some(({ values }) => values.some(({ low }) => low !== null));
    return html`<span class="private">${signs.private} private answer</span>${ranged ? html`<span class="noise">${signs.interval} ${Math.round(100 * mine.confidence)} % interval for the answer before noise</span>` : nothing}${exact ? html`<span class="exact">${signs.exact} exact answer</span>` : nothing}`;
  }

  /** A long table beside a picture waits until somebody wants it. */
  private folded(mine: Result, table: TemplateResult): TemplateResult {
    const long = mine.shape !== "table" && mine.series.some(({ values }) => values.length > 12);
    return long ? html`<details><summary>As a table</summary>${table}</details>` : table;
  }

  /** Many numbers in words: how many of them are as near as was promised. */
  private crowd(mine: Result, exact: Result | null): string {
    const all = mine.series.flatMap((series) =>
      series.values.map((value) => {
        const truth = other(exact, series, value)?.value;
        return { series, value, truth, quiet: after(exact, series, value) ?? truth };
      }),
    );
    const ranged = all.filter(({ value }) => value.low !== null && value.high !== null);
    const known = all.filter(({ truth, value }) => typeof truth === "number" && value.value !== null);
    if (!known.length)
      return `${all.length} numbers${mine.rows_used && ` over ${mine.rows_used}`}${ranged.length ? `, each with its error bar${mine.rows_used && " (noise only)"}` : ""}. What they cost together is on the label “Privacy facts”.`;
    if (ranged.length) {
      const barred = known.filter(({ value, quiet }) => value.low !== null && value.high !== null && quiet !== null);
      const held = barred.filter(({ value, quiet }) => value.low! <= quiet! && quiet! <= value.high!);
      const what = limited(exact) ? "numbers with limits, before noise," : "exact numbers";
      const sample = this.sampled ? " Those with limits are of another random sample of rows." : "";
      const gap = limited(exact) ? `${sample} The bars do not cover what the limits for rows and values change.` : "";
      return `${held.length} of ${barred.length} ${what} lie within the error bars of the private ones; at least ${Math.round(100 * mine.confidence)}\u00a0% should.${gap}`;
    }
    if (mine.shape === "points")
      return `${known.length} points: private ones in teal, exact ones in grey. The noise moved them apart.`;
    const worst = known.reduce((a, b) =>
      Math.abs((b.value.value as number) - (b.truth as number)) >
      Math.abs((a.value.value as number) - (a.truth as number))
        ? b
        : a,
    );
    if (worst.value.value === worst.truth)
      return `All ${known.length} private numbers equal the exact ones this time. There was noise, and nobody can tell from the answer how large it was.`;
    return `The private answer has its largest error at ${worst.value.label}: ${said(worst.value.value as number, 4)} instead of ${said(worst.truth as number, 4)}.`;
  }

  /** The answer in words. */
  private sentence(mine: Result, exact: Result | null): string {
    const [series] = mine.series;
    if (mine.drawn.length) return `${series?.note}.${exact ? ` ${this.crowd(mine, exact)}` : ""}`;
    if (mine.series.reduce((sum, { values }) => sum + values.length, 0) > 1) return this.crowd(mine, exact);
    const value = series?.values.find((one) => one.value !== null);
    if (!series || !value || value.value === null) return "";
    const name = value.label === series.name ? series.name : `${series.name} of ${value.label}`;
    const error = errorOf(value);
    const truth = other(exact, series, value)?.value;
    const about = (shown: number | null): string =>
      `${name[0]?.toUpperCase()}${name.slice(1)}${mine.rows_used && ` over ${mine.rows_used}`} is about ${asPrecise(value.value as number, shown)}${error === null ? "" : `, ±\u00a0${offBy(error, 2, value.value as number)}${mine.rows_used && " (noise only)"}`}.`;
    if (typeof truth !== "number") return about(error);
    const cut = after(exact, series, value);
    const rows = `${this.sampled} row${this.sampled === 1 ? "" : "s"}`;
    const before = this.sampled
      ? ` With another random sample of at most ${rows} each, it is about ${said(cut ?? 0, 4)} before noise.`
      : ` Before noise it was ${said(cut ?? 0, 5)}, because of the limits for rows and values.`;
    const clip = typeof cut === "number" && cut !== truth ? before : "";
    const moved = Math.abs(value.value - truth);
    // beside the exact answer with all its digits, so that their difference is what is said of it
    const fine = error === null || moved === 0 ? error : Math.min(error, Math.max(moved, 1e-4 * Math.abs(truth)));
    return `${about(fine)} The exact answer is ${said(truth, 6)}: ${clip ? "noise and limits" : "noise"} changed it by ${moved === 0 ? "nothing" : said(moved, 2)}.${clip}`;
  }

  /** Points have two numbers each. */
  private plane(mine: Result, exact: Result | null): TemplateResult {
    const at = (value: number | null | undefined): string => (typeof value === "number" ? said(value, 4) : "–");
    return html`<table>
      <thead><tr><th scope="col"></th><th scope="col" class="right">${mine.x_label}</th>${mine.series.map(({ name }) => html`<th scope="col" class="right">${name}</th>`)}${exact ? html`<th scope="col" class="right">exact ${mine.x_label}</th>${mine.series.map(({ name }) => html`<th scope="col" class="right">exact ${name}</th>`)}` : nothing}</tr></thead>
      <tbody>${mine.series[0]?.values.map(
        (
          first,
          row,
        ) => html`<tr><td>${first.label}</td><td class="right private">${at(first.x)}</td>${mine.series.map(({ values }) => html`<td class="right private">${at(values[row]?.value)}</td>`)}
        ${exact ? html`<td class="right exact">${at(exact.series[0]?.values[row]?.x)}</td>${mine.series.map((_, place) => html`<td class="right exact">${at(exact.series[place]?.values[row]?.value)}</td>`)}` : nothing}</tr>`,
      )}</tbody></table>`;
  }

  private table(mine: Result, exact: Result | null): TemplateResult {
    if (mine.shape === "points") return this.plane(mine, exact);
    const rows = mine.series.flatMap((series) => series.values.map((value) => ({ series, value }))).slice(0, MOST_ROWS);
    const several = mine.series.length > 1;
    const labelled = rows.some(({ series, value }) => value.label !== series.name);
    const ranged = rows.some(({ value }) => value.low !== null);
    const cut = limited(exact);
    return html`<table>
      <thead><tr>${several || !labelled ? html`<th scope="col">Output</th>` : nothing}${labelled ? html`<th scope="col">${mine.drawn.length ? "Coefficient" : mine.x_label || "Group"}</th>` : nothing}<th scope="col" class="right">Private</th>${ranged ? html`<th scope="col" class="right">Error (±)</th>` : nothing}${exact ? html`<th scope="col" class="right">Exact</th>${cut ? html`<th scope="col" class="right">Exact, after limits and bounds${this.sampled ? " (of another random sample of rows)" : ""}</th>` : nothing}` : nothing}</tr></thead>
      <tbody>${rows.map(({ series, value }) => {
        const error = errorOf(value);
        const truth = other(exact, series, value)?.value;
        const bounded = after(exact, series, value);
        return html`<tr>${several || !labelled ? html`<td>${series.name}</td>` : nothing}${labelled ? html`<td>${value.label}</td>` : nothing}
          <td class="right private">${value.value === null ? "–" : asPrecise(value.value, error)}</td>${ranged ? html`<td class="right noise">${error === null ? "–" : `±\u00a0${offBy(error, 2, value.value as number)}`}${series.measured_in ? ` ${series.measured_in}` : ""}</td>` : nothing}
          ${exact ? html`<td class="right exact">${typeof truth === "number" ? said(truth, 7) : "–"}</td>${cut ? html`<td class="right exact">${typeof bounded === "number" ? said(bounded, 7) : "–"}</td>` : nothing}` : nothing}</tr>`;
      })}</tbody></table>${(mine.drawn.length ? mine.drawn : mine.series).filter(({ note }) => note).map(({ note, name }) => html`<p class="quiet">${several ? `${name}: ${note}` : `${note[0]?.toUpperCase()}${note.slice(1)}`}.</p>`)}`;
  }

  static override styles = [
    ...Asked.styles,
    css`
      .legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; font-size: 0.92rem; min-height: 1.7rem; }
      .private { color: var(--private); } .noise { color: var(--noise); } .exact { color: var(--exact); }
      figcaption { font-weight: 600; font-size: 0.95rem; }
      .seen { font-size: 1.05rem; }
    `,
  ];
}

function other(exact: Result | null, series: Series, value: Value): Value | undefined {
  const same = exact?.series.find(({ name }) => name === series.name);
  return same?.values.find(({ label }) => label === value.label);
}

function after(exact: Result | null, series: Series, value: Value): number | null | undefined {
  return other(exact, { ...series, name: `${series.name}${AFTER}` }, value)?.value;
}

/** Whether limits for rows or bounds for values made a difference. */
const limited = (exact: Result | null): boolean => exact?.series.some(({ name }) => name.endsWith(AFTER)) ?? false;

customElements.define("lw-answer", Answer);
