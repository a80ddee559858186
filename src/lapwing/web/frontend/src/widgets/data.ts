// An author's own table: it sorts, and columns that are computed follow the numbers that a reader changes.
import { css, html, type TemplateResult } from "lit";
import { counted } from "../lib/plural.js";
import { Story, type Table } from "../lib/story.js";
import { formula, type Formula } from "../math/expression.js";

interface Column {
  name: string;
  label: string;
  kind: "number" | "text";
  formula: string;
  digits: number;
}
interface Parameter {
  name: string;
  low: number;
  high: number;
  start: number;
  step: number;
  label: string;
}
interface Told {
  title: string;
  columns: Column[];
  rows: (number | string)[][];
  parameters: Parameter[];
}
type Cell = number | string;

export class DataStory extends Story {
  private told: Told = { title: "", columns: [], rows: [], parameters: [] };
  private formulas = new Map<string, Formula>();
  private values: Record<string, number | string> = {};

  override connectedCallback(): void {
    this.told = JSON.parse(this.dataset.data ?? "{}") as Told;
    const names = this.told.parameters.map((one) => one.name);
    for (const column of this.told.columns) {
      if (column.formula) this.formulas.set(column.name, formula(column.formula, names));
      names.push(column.name);
    }
    super.connectedCallback();
  }

  protected get question(): string {
    return this.told.title;
  }

  protected get first(): Record<string, number | string> {
    return { ...Object.fromEntries(this.told.parameters.map((one) => [one.name, one.start])), "sorted-by": "" };
  }

  protected override get allowed(): Record<string, { from: number; to: number } | string[]> {
    const columns = this.told.columns.flatMap((_, place) => [`up-${place}`, `down-${place}`]);
    return {
      ...Object.fromEntries(this.told.parameters.map((one) => [one.name, { from: one.low, to: one.high }])),
      "sorted-by": ["", ...columns],
    };
  }

  protected override take(name: string, value: number | string | boolean): void {
    this.values = { ...this.values, [name]: value as number | string };
    this.requestUpdate();
  }

  protected override now(name: string): unknown {
    return this.values[name];
  }

  private get order(): { place: number; up: boolean } | null {
    const [way, place] = String(this.values["sorted-by"] ?? "").split("-");
    return place === undefined ? null : { place: Number(place), up: way === "up" };
  }

  private cells(): Cell[][] {
    const parameters = Object.fromEntries(this.told.parameters.map((one) => [one.name, Number(this.values[one.name])]));
    const made = this.told.rows.map((row) => {
      const known: Record<string, Cell> = { ...parameters };
      return this.told.columns.map(({ name }, place) => {
        const compute = this.formulas.get(name);
        return (known[name] = compute ? compute(known as Record<string, number>) : row[place]!);
      });
    });
    const order = this.order;
    if (!order) return made;
    const { place, up } = order;
    return made.sort((a, b) => (up ? 1 : -1) * compared(a[place]!, b[place]!));
  }

  protected handles(): TemplateResult {
    return html`${this.told.parameters.map(
      ({ name, low, high, label }) => html`<label>${label} (${low} to ${high})
        <input type="number" min=${low} max=${high} step="any" .value=${String(this.values[name])}
          @change=${(event: Event) => this.change(event.target as HTMLInputElement, name, low, high)} />
      </label>`,
    )}`;
  }

  private change(input: HTMLInputElement, name: string, low: number, high: number): void {
    const value = Number(input.value);
    if (input.value.trim() && Number.isFinite(value)) this.take(name, Math.min(high, Math.max(low, value)));
    input.value = String(this.values[name]);
  }

  private sort(place: number): void {
    const order = this.order;
    const next = order?.place !== place ? `up-${place}` : order.up ? `down-${place}` : "";
    this.take("sorted-by", next);
  }

  protected picture(): unknown {
    const { columns } = this.told;
    const order = this.order;
    return html`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>
      <thead><tr>${columns.map(({ label, kind, formula: computed }, place) => {
        const way = order?.place === place ? (order.up ? "ascending" : "descending") : "none";
        const sign = { ascending: "↑", descending: "↓", none: "↕" }[way];
        return html`<th scope="col" class=${kind} aria-sort=${way}><button type="button" class="sort" @click=${() => this.sort(place)}>${label} <span aria-hidden="true">${sign}</span></button>${computed ? html`<small>= ${computed}</small>` : ""}</th>`;
      })}</tr></thead>
      <tbody>${this.cells().map((row) => html`<tr>${row.map((cell, place) => html`<td class=${columns[place]!.kind}>${shown(cell, columns[place]!.digits)}</td>`)}</tr>`)}</tbody>
    </table></div>`;
  }

  protected sentence(): string {
    const order = this.order;
    const rows = counted(this.told.rows.length, "row");
    if (!order) return `${rows}, as they were written. Choose a heading to sort.`;
    const column = this.told.columns[order.place]!;
    const first =
      column.kind === "text"
        ? order.up
          ? "from A to Z"
          : "from Z to A"
        : order.up
          ? "smallest first"
          : "largest first";
    return `${rows}, sorted by ${column.label}, ${first}.`;
  }

  protected table(): Table {
    return {
      head: this.told.columns.map((one) => one.label),
      rows: this.cells().map((row) => row.map((cell, place) => shown(cell, this.told.columns[place]!.digits))),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .scroll { overflow-x: auto; margin-top: 0.8rem; }
      .picture table { width: 100%; }
      th.number, td.number { text-align: right; }
      .sort { border: 0; background: none; padding: 0.2rem 0; font-weight: 600; text-align: inherit; }
      th small { display: block; font-weight: 400; overflow-wrap: anywhere; color: var(--quiet); font-family: ui-monospace, Menlo, Consolas, monospace; }
      .below details { display: none; }
      .seen { min-height: 1.5em; }
    `,
  ];
}

function compared(a: Cell, b: Cell): number {
  if (typeof a === "number" && typeof b === "number")
    return Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a - b || 0;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function shown(cell: Cell, digits: number): string {
  if (typeof cell === "string") return cell;
  if (Number.isNaN(cell)) return "–";
  if (!Number.isFinite(cell)) return cell > 0 ? "∞" : "−∞";
  const exact = Number.isInteger(cell) && Math.abs(cell) < 1e15;
  const value = exact ? cell : Number(cell.toPrecision(digits));
  const large = Math.abs(value) >= 1e-4 && Math.abs(value) < 1e15;
  return (exact || large ? value.toLocaleString("en", { maximumFractionDigits: 12 }) : String(value)).replace("-", "−");
}
customElements.define("lw-data", DataStory);
