// What other bounds would do: smaller ones cut off more values, larger ones need more noise.
import { css, html, nothing, type TemplateResult } from "lit";
import { chart, type Mark } from "../lib/chart.js";
import { Asked, TEACHING } from "./asked.js";
import type { Result } from "./kinds.js";
import { said } from "./look.js";

const INKS = ["exact", "noise", "private"] as const;

class Clipping extends Asked<{ column: string; stated: number; result: Result }> {
  protected readonly kind = "clipping";

  override render(): TemplateResult {
    if (!this.found)
      return html`<details><summary>What would other bounds do?</summary><p>Values outside their bounds count as the nearest bound. A smaller upper bound cuts off more values; a larger one needs more noise. See which of the two matters here.</p>${this.button("Compare bounds")}</details>`;
    const { result, column, stated } = this.found;
    const marks: Mark[] = result.series.map(({ values }, place) => ({
      kind: "line",
      ink: INKS[place] ?? "quiet",
      dashed: place === 0,
      points: values.flatMap(({ x, value }) => (x === null || !value ? [] : [[x, value] as const])), // nothing has no logarithm
    }));
    marks.push({ kind: "down", ink: "quiet", points: [[stated, 1]], dashed: true, label: "as you stated" });
    const all = marks.filter(({ kind }) => kind === "line").flatMap(({ points }) => points.map(([, y]) => y));
    const xs = result.series[0]?.values.flatMap(({ x }) => (x === null ? [] : [x])) ?? [];
    const together = result.series[2]?.values.filter(({ value }) => value !== null) ?? [];
    const best = together.reduce<(typeof together)[number] | undefined>(
      (a, b) => (a && (a.value as number) <= (b.value as number) ? a : b),
      undefined,
    );
    return html`<h3>What would other bounds do?</h3>
      <div class="legend"><span class="exact">┅ error from clipping</span><span class="noise">━ error from noise (forecast for the worst case)</span><span class="private">━ both</span></div>
      ${all.length ? html`<figure>${chart({ x: { from: Math.min(...xs), to: Math.max(...xs), label: result.x_label }, y: { from: Math.max(Math.min(...all), Math.max(...all) / 1e4) / 1.3, to: Math.max(...all) * 1.3, label: `error of the mean of ${column}`, log: true }, marks, title: `How far off the mean of ${column} is, by its upper bound`, height: 260 })}</figure>` : nothing}
      <p class="seen" role="status">${best ? `Of the upper bounds tried, ${said(best.x ?? 0)} has the smallest error from both: ${said(best.value as number, 3)}. But you know this only because you looked at the data. A bound that follows the data reveals something about it.` : "There is nothing to compare."} <span class="mark">${TEACHING}</span></p>
      <details><summary>As a table</summary><div class="scroll" tabindex="0" role="group" aria-label="Other bounds of ${column}"><table>
        <thead><tr><th scope="col">${result.x_label}</th>${result.series.map(({ name }) => html`<th scope="col" class="right">${name}</th>`)}</tr></thead>
        <tbody>${result.series[0]?.values.map(({ label }, row) => html`<tr><td>${label}</td>${result.series.map(({ values }) => html`<td class="right">${typeof values[row]?.value === "number" ? said(values[row]?.value as number, 3) : "–"}</td>`)}</tr>`)}</tbody></table></div></details>`;
  }

  static override styles = [
    ...Asked.styles,
    css`.legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; font-size: 0.92rem; } .private { color: var(--private); } .noise { color: var(--noise); } .exact { color: var(--exact); } h3 { font: 600 1.1rem var(--serif); margin: 1rem 0 0.4rem; }`,
  ];
}
customElements.define("lw-clipping", Clipping);
