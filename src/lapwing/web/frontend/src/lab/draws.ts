// What if we ran it 100 times? Draws around the exact value, or, paid for, without it.
import { css, html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import { narrow, place, ticks, wide } from "../lib/chart.js";
import { bins, offBy, stacks, type Bin, within } from "../math/lab.js";
import { Asked } from "./asked.js";
import type { Result } from "./kinds.js";
import { told } from "./told.js";
import { errorOf, said } from "./look.js";

interface Output {
  series: string;
  label: string;
  draws: number[];
  released: number | null;
  exact: number | null;
  /** The exact number after limits for rows and bounds for values, where they make a difference: noise is added to it. */
  limited: number | null;
}
interface Found {
  charged: boolean;
  times: number;
  epsilon: number;
  /** How many rows of one unit each draw takes at random; 0 if nobody has more rows than count. */
  sample: number;
  outputs: Output[];
}

/** Whether every number has a place of its own: they are whole, and not far apart. */
const isWhole = (numbers: readonly number[]): boolean =>
  numbers.every(Number.isInteger) && Math.max(...numbers) - Math.min(...numbers) <= 60;

/** The lines of the table: whole numbers one by one, or from one to another if they are far apart. */
function lines(draws: readonly number[]): Bin[] {
  if (isWhole(draws)) return stacks(draws);
  if (!draws.every(Number.isInteger)) return bins(draws, 20);
  const low = Math.min(...draws);
  const width = Math.ceil((Math.max(...draws) - low + 1) / 20);
  const made = Array.from({ length: 20 }, (_, i) => ({
    from: low + i * width,
    to: low + (i + 1) * width - 1,
    count: 0,
  }));
  for (const draw of draws) (made[Math.floor((draw - low) / width)] as Bin).count += 1;
  return made;
}

class Draws extends Asked<Found> {
  static override properties = { ...Asked.properties, which: { state: true } };
  declare which: number;
  protected readonly kind = "draws";
  private readonly known = told<{ result: Result; paid: Found | null }>("released");

  constructor() {
    super();
    this.which = 0;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.found ??= this.known?.paid ?? null;
    for (const form of document.querySelectorAll<HTMLFormElement>("form.charged"))
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        for (const one of document.querySelectorAll<HTMLFormElement>("form.charged")) one.hidden = true;
        void this.pay(form.dataset.times ?? "10");
      });
  }

  /** Draws that are paid for are part of the answer from then on: its page says what is left, lists and exports them. */
  private async pay(times: string): Promise<void> {
    const body: [string, string][] = [
      ["times", times],
      ["charged", "true"],
    ];
    if (!(await this.done(body))) return;
    history.replaceState(null, "", `${location.pathname}#draws`);
    location.reload();
  }

  override render(): TemplateResult {
    const before =
      this.teaching || this.job || this.wrong
        ? this.button(this.found && !this.found.charged ? "Draw 100 times more" : "Draw 100 times", () => [
            ["times", "100"],
          ])
        : nothing;
    if (!this.found)
      return html`${this.teaching ? html`<p>The answer you got is one of many possible answers. Draw a hundred of them, with the same ε, from your real rows.</p>` : nothing}${before}`;
    const outputs = this.found.outputs.filter(({ draws }) => draws.length > 1);
    const one = outputs[this.which];
    if (!one) return html`<p>There is no number to draw again.</p>`;
    const digits = one.draws.every(Number.isInteger) ? 15 : 5;
    const name = (of: Output): string => (of.label === of.series ? of.series : `${of.series}: ${of.label}`);
    return html`${outputs.length > 1 ? html`<label>Which number? <select @change=${(event: Event) => (this.which = Number((event.target as HTMLSelectElement).value))}>${outputs.map((of, i) => html`<option value=${i}>${name(of)}</option>`)}</select></label>` : nothing}
      <div class="legend"><span class="dots">● a draw</span>${one.exact === null ? nothing : html`<span class="truth">┃ exact answer</span>`}${one.limited === null ? nothing : html`<span class="truth">┊ exact, after limits and bounds</span>`}<span class="mine">▲ the answer you got</span></div>
      <figure>${this.picture(one)}</figure>
      <p class="seen" role="status">${this.sentence(one)}</p>
      ${this.found.charged ? html`<p class="quiet">These ${one.draws.length} draws were paid for, and are kept with the answer. Their average is usually nearer to the exact answer than one draw. This is why each draw has its price.</p><details><summary>All ${one.draws.length} draws</summary><p>${one.draws.map((draw) => said(draw, digits)).join("; ")}</p></details>` : nothing}
      ${before}
      <details><summary>As a table</summary><div class="scroll" tabindex="0" role="group" aria-label="Draws"><table><thead><tr>${isWhole(one.draws) ? html`<th scope="col">Value</th>` : html`<th scope="col">From</th><th scope="col">to</th>`}<th scope="col" class="right">draws</th></tr></thead>
        <tbody>${lines(one.draws).map(({ from, to, count }) => html`<tr>${from === to ? html`<td>${said(from, 12)}</td>` : html`<td>${said(from, digits)}</td><td>${said(to, digits)}</td>`}<td class="right">${count}</td></tr>`)}</tbody></table></div></details>`;
  }

  /** The error of the answer as its page prints it. */
  private error(one: Output): string | null {
    const series = this.known?.result.series.find(({ name }) => name === one.series);
    const value = series?.values.find(({ label }) => label === one.label);
    const error = value ? errorOf(value) : null;
    return error === null ? null : offBy(error, 2, value?.value ?? 0);
  }

  private sentence(one: Output): string {
    const count = one.draws.length;
    const error = this.error(one);
    const middle = one.draws.reduce((sum, draw) => sum + draw, 0) / count;
    if (one.exact === null)
      return `${count} draws lie between ${said(Math.min(...one.draws), 4)} and ${said(Math.max(...one.draws), 4)}; their average is ${said(middle, 5)}.`;
    const quiet = one.limited ?? one.exact; // what the noise of every draw is added to
    const own = this.found?.sample ? "about " : "";
    const limits =
      one.limited === null
        ? ""
        : ` With limits and bounds, before noise, it is ${own}${said(one.limited, own ? 4 : 6)}${own ? "; every draw takes another random sample of rows" : ""}.`;
    const of = one.limited === null ? "" : ` from ${said(one.limited, own ? 4 : 6)}`;
    const near =
      error === null
        ? ""
        : ` ${within(one.draws, quiet, Number(error.replaceAll(",", "")))} of ${count} are off${of} by at most ${error}, the error of your answer.`;
    return `The exact answer is ${said(one.exact, 6)}.${limits} The average of ${count} draws is ${said(middle, 5)}.${near}`;
  }

  /** Every draw a dot, stacked where they are many. */
  private picture(one: Output): SVGTemplateResult {
    const marks = [...one.draws, one.exact, one.limited].filter((mark): mark is number => mark !== null);
    const [low, high] = [Math.min(...marks), Math.max(...marks)];
    const air = (high - low || 1) * 0.05;
    const x = { from: low - air, to: high + air, label: "" };
    const at = place(x, 16, wide() - 16);
    const columns = isWhole(marks) ? stacks(one.draws) : bins(one.draws, narrow() ? 30 : 45);
    const tallest = Math.max(...columns.map(({ count }) => count));
    const step = Math.min(9, 130 / tallest);
    const floor = 24 + tallest * step + 6;
    return svg`<svg viewBox="0 0 ${wide()} ${floor + 34}" role="img" aria-label="${one.draws.length} draws of ${one.series}">
      ${columns.flatMap(({ from, to, count }) => Array.from({ length: count }, (_, i) => svg`<circle class="dot" cx=${at((from + to) / 2)} cy=${floor - 4 - i * step} r=${Math.min(3.6, Math.max(1.5, step * 0.46))}></circle>`))}
      <line class="base" x1="16" x2=${wide() - 16} y1=${floor} y2=${floor}></line>
      ${ticks(x, narrow() ? 3 : 6).map((value) => svg`<text class="tick" x=${at(value)} y=${floor + 26} text-anchor="middle">${said(value, 6)}</text>`)}
      ${one.exact === null ? nothing : svg`<line class="line exact" x1=${at(one.exact)} x2=${at(one.exact)} y1="14" y2=${floor}></line>`}
      ${one.limited === null ? nothing : svg`<line class="line exact" stroke-dasharray="3 4" x1=${at(one.limited)} x2=${at(one.limited)} y1="14" y2=${floor}></line>`}
      ${one.released === null || one.released < x.from || one.released > x.to ? nothing : svg`<path class="released" d="M${at(one.released)},${floor + 1}l-6,9h12z"></path>`}
    </svg>`;
  }

  static override styles = [
    ...Asked.styles,
    css`
      .legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; font-size: 0.92rem; } .dots { color: var(--private); } .truth { color: var(--exact); } .mine { color: var(--noise); }
      .dot { fill: var(--private); opacity: 0.8; }
      .released { fill: var(--noise); }
      select { max-width: 100%; }
    `,
  ];
}
customElements.define("lw-draws", Draws);
