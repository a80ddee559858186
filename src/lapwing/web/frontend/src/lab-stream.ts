// A stream of the lab while it goes on: a line with its band for each group, asked for again while steps are closed.
import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { chart, narrow, type Mark, type Point } from "./lib/chart.js";
import type { Result, Series, Value } from "./lab/kinds.js";
import { calm, errorOf, said } from "./lab/look.js";
import { told } from "./lab/told.js";
import { offBy } from "./math/lab.js";

interface Streamed {
  every: string;
  closed: number;
  left: number;
  steps: number;
  running: boolean;
  wrong: string;
  /** What some steps are called, closed or not. */
  names: Record<string, string>;
  result: Result;
  /** What the intervals are about. */
  exact: string;
  /** The rows of the table, newest first: the step, and each total with its interval as they are written. */
  latest: [string, ...[string, string][]][];
}
const EVERY = 2000;
const LEAVING = 10_000; // milliseconds in which the next page comes, or it was a download
const MOST_PICTURES = 6;

class StreamView extends LitElement {
  static override properties = { now: { state: true } };
  declare private now: Streamed | null;
  private timer = 0;
  private left = -Infinity; // when a link or a button was used: to load this page again would take that back
  private pressed: Promise<unknown> = Promise.resolve(); // as long as a button is held down, the page stays

  override connectedCallback(): void {
    super.connectedCallback();
    window.addEventListener("beforeunload", () => (this.left = performance.now()));
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) location.reload();
    });
    window.addEventListener("pointerdown", () => {
      this.pressed = new Promise((lifted) => {
        for (const end of ["pointerup", "pointercancel"])
          window.addEventListener(end, () => setTimeout(lifted), { once: true }); // after the click
      });
    });
    this.now = told<Streamed>("streamed");
    if (this.now?.running) this.timer = window.setInterval(() => void this.renew(), EVERY);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    clearInterval(this.timer);
  }

  private async renew(): Promise<void> {
    if (document.hidden) return;
    const answer = await fetch(this.dataset.address ?? "", { headers: { accept: "application/json" } }).catch(
      () => null,
    );
    if (!answer?.ok) return;
    const now = (await answer.json()) as Streamed;
    const first = !this.now?.result.series.length && now.result.series.length > 0;
    if (first || !now.running || now.wrong) {
      await this.pressed;
      if (performance.now() - this.left < LEAVING) return;
      clearInterval(this.timer);
      location.reload(); // the page has other buttons now
      return;
    }
    this.now = now;
    for (const name of ["closed", "left"] as const) {
      const place = document.querySelector<HTMLElement>(`[data-live="${name}"]`);
      if (place) place.textContent = now[name].toLocaleString("en");
    }
    refill(document.querySelector<HTMLTableElement>('table[data-live="table"]'), now);
  }

  override render(): TemplateResult | typeof nothing {
    const { now } = this;
    if (!now?.result.series.length) return nothing;
    const { series } = now.result;
    return html`<div class="legend"><span class="private">━ published</span><span class="noise">▒ ${Math.round(100 * now.result.confidence)} % interval for each ${now.every} by itself: ${now.exact}</span></div>
      <div class=${series.length > 1 ? "several" : ""}>${series
        .slice(0, MOST_PICTURES)
        .map(
          (one) =>
            html`<figure>${series.length > 1 ? html`<figcaption>${one.name}</figcaption>` : nothing}${line(one, now)}</figure>`,
        )}</div>
      <p class="seen" role="status">${sentence(now)}</p>`;
  }

  static override styles = [
    calm,
    css`
      .legend { display: flex; flex-wrap: wrap; gap: 0 1.2rem; font-size: 0.88rem; } .legend .private { color: var(--private); } .legend .noise { color: var(--noise); }
      figure { margin: 0.4rem 0 0; max-width: 46rem; /* wider, and its letters would be larger than the text */ } figcaption { font-weight: 600; }
      @media (min-width: 72rem) { .several { display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.6rem; } }
    `,
  ];
}
customElements.define("lw-stream", StreamView);

function line(series: Series, now: Streamed): unknown {
  const points = (which: (value: Value) => number | null): Point[] =>
    series.values.flatMap((one) => {
      const value = which(one);
      return one.x === null || value === null ? [] : [[one.x, value] as const];
    });
  const [above, below, middle] = [points(({ high }) => high), points(({ low }) => low), points(({ value }) => value)];
  const numbers = [...above, ...below, ...middle].map(([, value]) => value);
  const [low, high] = [Math.min(0, ...numbers), Math.max(1, ...numbers)];
  const dot: Mark[] = middle.length ? [{ kind: "dots", ink: "private", points: [middle[middle.length - 1]!] }] : [];
  return chart({
    title: `${series.name}: published after each ${now.every}, with its intervals; as numbers in the table below`,
    height: 240,
    x: {
      from: 1,
      to: Math.max(2, now.steps),
      label: now.every === "week" ? "week, by its first day" : now.every,
      ticks: ticksOf(now),
      format: (step) => short(now.names[step] ?? "", now.every),
    },
    y: { from: low, to: high + 0.05 * (high - low), label: series.measured_in },
    marks: [
      { kind: "band", ink: "noise", points: above, lower: below },
      { kind: "line", ink: "private", points: middle },
      ...dot,
    ],
  }) as unknown;
}

/** Steps that have a name: all of them, or the first, the middle and the last on a phone. */
function ticksOf({ names }: Streamed): number[] {
  const steps = Object.keys(names).map(Number);
  return narrow() ? steps.filter((_, place) => place % 2 === 0) : steps;
}

function short(name: string, every: string): string {
  const day = new Date(`${name}T00:00:00Z`);
  if (Number.isNaN(day.valueOf())) return name;
  if (every === "month") return day.toLocaleDateString("en", { month: "short", year: "numeric", timeZone: "UTC" });
  return day.toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

function sentence(now: Streamed): string {
  const [series] = now.result.series;
  const last = series?.values[series.values.length - 1];
  if (!series || !last || last.value === null) return "";
  const error = errorOf(last);
  const off =
    error === null
      ? ""
      : `, off by at most ${offBy(error)} with ${Math.round(100 * now.result.confidence)} % confidence`;
  return `After ${now.latest[0]?.[0] ?? last.label}: ${series.name} ${said(last.value, 6)}${off}. ${rest(now)}`;
}

function rest({ left, steps, every }: Streamed): string {
  if (!left) return steps === 1 ? `The ${every} is closed.` : `All ${steps.toLocaleString("en")} ${every}s are closed.`;
  return left === 1
    ? `One ${every} is left, and costs nothing more.`
    : `${left.toLocaleString("en")} ${every}s are left, and cost nothing more.`;
}

/** The rows of the table below, from what came; its head stays. */
function refill(table: HTMLTableElement | null, now: Streamed): void {
  const body = table?.tBodies[0];
  if (!table || !body) return;
  const made = document.createElement("tbody");
  for (const [label, ...totals] of now.latest) {
    const row = made.insertRow();
    const head = row.appendChild(document.createElement("th"));
    head.scope = "row";
    head.textContent = label;
    for (const [number, band] of totals) {
      Object.assign(row.insertCell(), { className: "right private", textContent: number });
      Object.assign(row.insertCell(), { className: "right noise", textContent: band });
    }
  }
  body.replaceWith(made);
}
