// What `plot` of an exercise describes, drawn. Programs of authors run in the browsers of readers: what comes is read as
// numbers and names, and nothing else of it reaches the page.
import { css, html, LitElement, type TemplateResult } from "lit";
import { chart, INKS, tick, type Chart, type Ink, type Mark, type Point } from "./lib/chart.js";

type Series = { name: string; values: number[] };
interface Picture {
  chart: Chart;
  head: string[];
  rows: string[][];
}
const INK: Ink[] = ["private", "exact", "noise", "adversary"];
const MOST = 2001;

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value.slice(0, MOST) : []);
const number = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const numbers = (value: unknown): number[] => list(value).map(number);
const word = (value: unknown): string => String(value ?? "").slice(0, 120);
const series = (value: unknown): Series[] =>
  list(value)
    .slice(0, INK.length)
    .map((one) => ({ name: word(list(one)[0]), values: numbers(list(one)[1]) }));
const rounded = (value: number): string => tick(+value.toPrecision(4));

/** The picture that a line of the judge describes, or nothing if it describes none. */
function read(text: string): Picture | undefined {
  let told: Record<string, unknown>;
  try {
    told = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const title = word(told.title);
  if (told.kind === "histogram")
    return histogram(numbers(told.edges), series(told.series), title || "How often which value came out");
  if (told.kind === "bars")
    return bars(list(told.names).map(word), numbers(told.heights), title || "A bar for each name");
  if (told.kind === "line") return lines(numbers(told.xs), series(told.series), title || "A line through points");
  return undefined;
}

function histogram(edges: number[], counts: Series[], title: string): Picture | undefined {
  const [from, to] = [edges[0], edges[edges.length - 1]];
  if (from === undefined || to === undefined || !(from < to)) return undefined;
  const steps = (values: number[]): Point[] => [
    [from, 0],
    ...values.flatMap((value, i): Point[] => [
      [edges[i] ?? to, value],
      [edges[i + 1] ?? to, value],
    ]),
    [to, 0],
  ];
  const top = Math.max(1, ...counts.flatMap(({ values }) => values));
  const marks = counts.flatMap(({ name, values }, i): Mark[] => [
    { kind: "area", ink: INK[i]!, points: steps(values) },
    { kind: "line", ink: INK[i]!, points: steps(values) },
    ...legend(name, INK[i]!, from + (to - from) * 0.02, (1.12 - 0.1 * i) * top),
  ]);
  return {
    chart: { title, x: { from, to, label: "value" }, y: { from: 0, to: 1.2 * top, label: "how often" }, marks },
    head: ["from", "to", ...counts.map(({ name }) => name || "how often")],
    rows: edges
      .slice(0, -1)
      .map((edge, i) => [
        rounded(edge),
        rounded(edges[i + 1]!),
        ...counts.map(({ values }) => rounded(values[i] ?? 0)),
      ]),
  };
}

function bars(names: string[], heights: number[], title: string): Picture {
  const [low, high] = [Math.min(0, ...heights), Math.max(0, ...heights)];
  const points = heights.map((height, i): Point => [i, height]);
  return {
    chart: {
      title,
      x: {
        from: -0.6,
        to: names.length - 0.4,
        label: "",
        ticks: names.length <= 12 ? names.map((_, i) => i) : [],
        format: (i) => names[i] ?? "",
      },
      y: { from: low, to: high > low ? high + (high - low) * 0.1 : low + 1, label: "" },
      marks: [{ kind: "bars", ink: "private", points, base: 0 }],
    },
    head: ["name", "height"],
    rows: names.map((name, i) => [name, rounded(heights[i] ?? 0)]),
  };
}

function lines(xs: number[], ys: Series[], title: string): Picture {
  const all = ys.flatMap(({ values }) => values);
  const [left, right] = span(xs);
  const [low, high] = span(all);
  const marks = ys.flatMap(({ name, values }, i): Mark[] => [
    { kind: "line", ink: INK[i]!, points: values.map((y, j): Point => [xs[j] ?? 0, y]) },
    ...legend(name, INK[i]!, left + (right - left) * 0.02, high + (high - low) * (0.18 - 0.1 * i)),
  ]);
  return {
    chart: {
      title,
      x: { from: left, to: right, label: "x" },
      y: { from: low, to: high + (high - low) * 0.25, label: "y" },
      marks,
    },
    head: ["x", ...ys.map(({ name }) => name || "y")],
    rows: xs.map((x, j) => [rounded(x), ...ys.map(({ values }) => rounded(values[j] ?? 0))]),
  };
}

/** The name of a list, in its colour, in a corner where lines seldom are. */
function legend(name: string, ink: Ink, x: number, y: number): Mark[] {
  return name ? [{ kind: "line", ink, points: [[x, y]], label: name, side: "right" }] : [];
}

function span(values: number[]): [number, number] {
  const [low, high] = [Math.min(...values, Infinity), Math.max(...values, -Infinity)];
  if (!(low <= high)) return [0, 1];
  return low < high ? [low, high] : [low - 0.5, high + 0.5];
}

class PlotElement extends LitElement {
  static override styles = [
    INKS,
    css`
      :host { display: block; container-type: inline-size; margin: 0.6rem 0; padding: 0.4rem 0.8rem; background: var(--card); border: 1px solid var(--line); font: 0.95rem var(--sans); }
      @media (min-width: 520px) { @container (max-width: 560px) { svg { font-size: 17px; } } } /* letters as large as elsewhere */
      div { max-height: 16rem; overflow: auto; }
      summary { cursor: pointer; color: var(--quiet); }
      table { border-collapse: collapse; }
      th, td { padding: 0.15rem 0.8rem; text-align: right; font-variant-numeric: tabular-nums; }
    `,
  ];
  picture: Picture | undefined;

  protected override render(): TemplateResult {
    if (!this.picture) return html`<p>This picture cannot be drawn.</p>`;
    const { chart: shown, head, rows } = this.picture;
    return html`${chart(shown)}
      <details>
        <summary>As a table</summary>
        <div tabindex="0" role="region" aria-label="The numbers of the picture">
          <table>
            <thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
            <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
          </table>
        </div>
      </details>`;
  }
}
customElements.define("lw-plot", PlotElement);

export function plot(text: string): HTMLElement {
  const made = document.createElement("lw-plot") as PlotElement;
  made.picture = read(text);
  return made;
}
