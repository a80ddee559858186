// Curves of an author's own formulas, with sliders. What is drawn was read and checked by the server; nothing is evaluated as code.
import { html, nothing, type TemplateResult } from "lit";
import { chart, short, type Ink, type Mark, type Point } from "../lib/chart.js";
import { Story, type Table } from "../lib/story.js";
import { formula, type Formula } from "../math/expression.js";

interface Slider {
  name: string;
  low: number;
  high: number;
  start: number;
  step: number;
  label: string;
}
interface Told {
  title: string;
  name: string;
  low: number;
  high: number;
  label: string;
  bottom: number | null;
  top: number | null;
  up: string;
  curves: { formula: string; label: string; ink: Ink }[];
  sliders: Slider[];
  sentence: string;
}
const STEPS = 240;

export class GraphStory extends Story {
  private told: Told = {
    title: "",
    name: "x",
    low: 0,
    high: 1,
    label: "",
    bottom: null,
    top: null,
    up: "",
    curves: [],
    sliders: [],
    sentence: "",
  };
  private curves: Formula[] = [];
  private said: (string | Formula)[] = [];
  private values: Record<string, number> = {};

  override connectedCallback(): void {
    this.told = JSON.parse(this.dataset.graph ?? "{}") as Told;
    const names = this.told.sliders.map((one) => one.name);
    this.curves = this.told.curves.map((one) => formula(one.formula, [this.told.name, ...names]));
    this.said = this.told.sentence
      .split(/(\{[^{}]*\})/)
      .map((part) => (part.startsWith("{") ? formula(part.slice(1, -1), names) : part));
    super.connectedCallback();
  }

  protected get question(): string {
    return this.told.title;
  }

  protected get first(): Record<string, number> {
    return Object.fromEntries(this.told.sliders.map((one) => [one.name, one.start]));
  }

  protected override get allowed(): Record<string, { from: number; to: number }> {
    return Object.fromEntries(this.told.sliders.map((one) => [one.name, { from: one.low, to: one.high }]));
  }

  /** Values have a place of their own: a slider may have any name, also one that elements have. */
  protected override take(name: string, value: number | string | boolean): void {
    this.values = { ...this.values, [name]: Number(value) };
    this.requestUpdate();
  }

  protected override now(name: string): unknown {
    return this.values[name];
  }

  protected handles(): TemplateResult {
    return html`${this.told.sliders.map(
      ({ name, low, high, step, label }) => html`<label>${label}: ${short(this.values[name]!)}
        <input type="range" min=${low} max=${high} step="any" .value=${String(this.values[name])}
          aria-valuetext=${short(this.values[name]!)} @keydown=${(event: KeyboardEvent) => this.pressed(event, name, low, high, step)}
          @input=${(event: Event) => this.take(name, rounded(Number((event.target as HTMLInputElement).value), low, high, step))} />
      </label>`,
    )}`;
  }

  /** Sliders without steps of their own move by whole steps when keys are pressed. */
  private pressed(event: KeyboardEvent, name: string, low: number, high: number, step: number): void {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.take(name, rounded(this.values[name]! + by * step, low, high, step));
  }

  private points(): Point[][] {
    const { low, high, name } = this.told;
    return this.curves.map((curve) =>
      Array.from({ length: STEPS + 1 }, (_, i): Point => {
        const x = low + ((high - low) * i) / STEPS;
        return [x, curve({ ...this.values, [name]: x })];
      }),
    );
  }

  protected picture(): unknown {
    const { low, high, label, up, bottom, top, curves, title } = this.told;
    const all = this.points();
    const [from, to] = span(all.flat().map(([, y]) => y));
    const y = { from: bottom ?? (top === null ? from : Math.min(from, top - 1e-9)), to: top ?? to, label: up };
    if (!(y.from < y.to)) y.to = y.from + 1;
    const marks = curves.flatMap(({ label: said, ink }, place): Mark[] =>
      stretches(all[place]!, y.from, y.to).map((points, i) => ({
        kind: "line",
        ink,
        points,
        label: i === 0 && curves.length > 1 ? said : "",
        dashed: place > 0 && place % 2 === 1,
      })),
    );
    return marks.length
      ? chart({ title, x: { from: low, to: high, label }, y, marks })
      : html`<p>There is nothing to draw here: no value is a number.</p>${nothing}`;
  }

  protected sentence(): string {
    if (this.told.sentence)
      return this.said.map((part) => (typeof part === "string" ? part : spoken(part(this.values)))).join("");
    const [points] = this.points();
    const seen = (points ?? []).filter(([, y]) => Number.isFinite(y));
    if (!seen.length) return "No value is a number here.";
    const highest = seen.reduce((one, other) => (other[1] > one[1] ? other : one));
    return `${this.told.curves.length > 1 ? `${this.told.curves[0]!.label}: the` : "The"} largest value is ${spoken(highest[1])}, at ${this.told.label} = ${spoken(highest[0])}.`;
  }

  protected table(): Table {
    const { label, curves } = this.told;
    const all = this.points();
    const at = Array.from({ length: 9 }, (_, i) => (i * STEPS) / 8);
    return {
      head: [label, ...curves.map((one) => one.label)],
      rows: at.map((i) => [spoken(all[0]![i]![0]), ...all.map((points) => spoken(points[i]![1]))]),
    };
  }
}

function rounded(value: number, low: number, high: number, step: number): number {
  const near = low + Math.round((value - low) / step) * step;
  return Math.min(high, Math.max(low, Number(near.toPrecision(10))));
}

/** From where to where the picture goes: all of the curve, but for single points that run away. */
function span(values: number[]): [number, number] {
  const seen = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!seen.length) return [0, 1];
  const at = (share: number): number => seen[Math.round(share * (seen.length - 1))]!;
  const middle = at(0.9) - at(0.1) || Math.abs(at(0.5)) || 1;
  const low = Math.max(seen[0]!, at(0.1) - 6 * middle);
  const high = Math.min(seen[seen.length - 1]!, at(0.9) + 6 * middle);
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 && low < 0.4 * high ? 0 : low - room, high + room];
}

/** The parts of a curve that lie in the picture; it is cut where it leaves, or where there is no number. */
function stretches(points: Point[], low: number, high: number): Point[][] {
  const far = (high - low) * 2;
  const found: Point[][] = [[]];
  for (const [x, y] of points) {
    if (y >= low - far && y <= high + far) found[found.length - 1]!.push([x, Math.min(Math.max(y, low), high)]);
    else if (found[found.length - 1]!.length) found.push([]);
  }
  return found.filter((one) => one.length > 1);
}

export function spoken(value: number): string {
  if (Number.isNaN(value)) return "–";
  return Number.isFinite(value) ? short(value) : value > 0 ? "∞" : "−∞";
}
customElements.define("lw-graph", GraphStory);
