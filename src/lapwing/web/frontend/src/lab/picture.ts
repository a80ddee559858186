// Private beside exact, drawn: teal with rufous error bars, and ink grey where somebody may see it.
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import {
  chart,
  frame,
  ground,
  narrow,
  place,
  tick,
  ticks,
  wide,
  type Axis,
  type Mark,
  type Point,
} from "../lib/chart.js";
import type { Result, Series, Value } from "./kinds.js";
import { treemap } from "./tree.js";

type Pair = { mine: Value; exact: Value | undefined };
const ROW = 30;
const MOST_ROWS = 60;
const MOST_PICTURES = 6;

/** One picture for each output. What cannot be drawn is in the table. */
export function picture(mine: Result, exact: Result | null): TemplateResult[] {
  return drawable(mine)
    .slice(0, MOST_PICTURES)
    .map((series) => {
      const other = (exact ? pictured(exact) : []).find(({ name }) => name === series.name) ?? null;
      const drawn = draw(mine, series, other);
      return html`<figure>${pictured(mine).length > 1 ? html`<figcaption>${series.name}</figcaption>` : nothing}${drawn}</figure>`;
    });
}

type Drawing = "treemap" | "plane" | "curve" | "columns" | "bars" | "rows";

function drawing(result: Result, series: Series): Drawing {
  const numbered = series.values.length > 1 && series.values.every(({ x }) => x !== null);
  if (result.shape === "tree") return "treemap";
  if (result.shape === "points") return "plane";
  if (result.shape === "curve" && numbered) return "curve";
  if (result.shape === "bars") return numbered && series.values.length > 6 ? "columns" : "bars";
  return "rows";
}

function draw(result: Result, series: Series, exact: Series | null): SVGTemplateResult {
  switch (drawing(result, series)) {
    case "treemap":
      return treemap(series, exact, words(series, exact));
    case "plane":
      return plane(result, series, exact);
    case "curve":
      return curve(result, series, exact);
    case "columns":
      return columns(result, series, exact);
    default:
      return rows(result, series, exact);
  }
}

/** The signs of a legend, as they are drawn. */
interface Signs {
  private: string;
  interval: string;
  exact: string;
}
const SIGNS: Record<Drawing, Signs> = {
  treemap: { private: "■", interval: "±", exact: "◆" },
  plane: { private: "●", interval: "├─┤", exact: "●" },
  curve: { private: "━", interval: "▒", exact: "━" },
  columns: { private: "■", interval: "I", exact: "━" },
  bars: { private: "■", interval: "├─┤", exact: "┃" },
  rows: { private: "●", interval: "├─┤", exact: "┃" },
};

/** How the first picture of an answer shows what is private and what is exact. Null where nothing is drawn. */
export function legend(mine: Result): Signs | null {
  const first = drawable(mine)[0];
  return first ? SIGNS[drawing(mine, first)] : null;
}

/** What a picture shows: the numbers, or what is computed from them. */
export const pictured = (of: Result): Series[] => (of.drawn.length ? of.drawn : of.series);

const drawable = (mine: Result): Series[] =>
  mine.shape === "table" ? [] : pictured(mine).filter(({ values }) => values.some(({ value }) => value !== null));

const ends = (values: readonly (Value | undefined)[]): number[] =>
  values
    .flatMap((one) => (one ? [one.value, one.low, one.high] : []))
    .filter((one): one is number => one !== null && Number.isFinite(one));

function span(values: number[], zero: boolean): [number, number] {
  let low = Math.min(...values, ...(zero ? [0] : []));
  let high = Math.max(...values, ...(zero ? [0] : []));
  if (low === high) [low, high] = [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  const air = (high - low) * 0.06;
  return [low < 0 || !zero ? low - air : low, high + air];
}

function matched(series: Series, exact: Series | null): Pair[] {
  return series.values.map((mine, place) => ({
    mine,
    exact:
      exact?.values.find(({ label }) => label === mine.label) ??
      (exact?.values.length === series.values.length ? exact.values[place] : undefined),
  }));
}

const words = (series: Series, exact: Series | null): string =>
  `${series.name}: private${exact ? " beside exact" : ""}, as numbers in the table below`;

/** A line for each name: a bar for counts, a point for a single number. */
function rows(result: Result, series: Series, exact: Series | null): SVGTemplateResult {
  const pairs = matched(series, exact).slice(0, MOST_ROWS);
  const bars = result.shape === "bars";
  const across = { from: 0, to: 0, label: series.measured_in };
  [across.from, across.to] = span(ends(pairs.flatMap(({ mine, exact: other }) => [mine, other])), bars);
  const longest = Math.max(...pairs.map(({ mine }) => mine.label.length));
  const left = pairs.length > 1 || bars ? Math.min(narrow() ? 110 : 180, 12 + 7.2 * longest) : 16;
  const at = place(across, left, wide() - 16);
  const step = pairs.length === 1 ? 44 : ROW;
  const floor = 10 + step * pairs.length;
  const height = floor + 42;
  return svg`<svg viewBox="0 0 ${wide()} ${height}" role="img" aria-label=${words(series, exact)}>
    ${ticks(across, narrow() ? 3 : 6).map(
      (value) => svg`<g class="tick"><line x1=${at(value)} x2=${at(value)} y1="6" y2=${floor}></line>
        <text x=${at(value)} y=${floor + 16} text-anchor="middle">${tick(value)}</text></g>`,
    )}
    ${series.measured_in ? svg`<text class="axis" x=${(left + wide()) / 2} y=${height - 6} text-anchor="middle">${series.measured_in}</text>` : nothing}
    ${pairs.map(({ mine, exact: other }, i) => {
      const y = 10 + step * i + step / 2;
      const room = Math.floor((left - 12) / 6.6);
      const label = mine.label.length > room ? `${mine.label.slice(0, room - 1)}…` : mine.label;
      return svg`<g>
        ${left > 16 ? svg`<text x=${left - 8} y=${y} text-anchor="end" dy="0.32em">${label}</text>` : nothing}
        ${mine.value !== null && bars ? svg`<g class="bars private"><rect x=${Math.min(at(0), at(mine.value))} y=${y - step * 0.3} width=${Math.max(1, Math.abs(at(mine.value) - at(0)))} height=${step * 0.6} rx="2" opacity="0.75"></rect></g>` : nothing}
        ${whisker(mine, (value) => at(value), y)}
        ${mine.value !== null && !bars ? svg`<g class="dots private"><circle cx=${at(mine.value)} cy=${y} r="6"></circle></g>` : nothing}
        ${typeof other?.value === "number" ? svg`<path class="line exact" d="M${at(other.value)},${y - step * 0.42}v${step * 0.84}" stroke-width="3"></path>` : nothing}
      </g>`;
    })}
    <line class="base" x1=${bars ? at(0) : left} x2=${bars ? at(0) : wide() - 16} y1=${bars ? 6 : floor} y2=${floor}></line>
  </svg>`;
}

/** From low to high, with ends. */
function whisker(value: Value, at: (value: number) => number, y: number): SVGTemplateResult | typeof nothing {
  if (value.low === null || value.high === null) return nothing;
  const [a, b] = [at(value.low), at(value.high)];
  return svg`<path class="line noise" d="M${a},${y}H${b}M${a},${y - 5}v10M${b},${y - 5}v10"></path>`;
}

/** Bars over numbers: a histogram. */
function columns(result: Result, series: Series, exact: Series | null): SVGTemplateResult {
  const pairs = matched(series, exact);
  const [low, high] = span(ends(pairs.flatMap(({ mine, exact: other }) => [mine, other])), true);
  const xs = pairs.map(({ mine }) => mine.x as number);
  const width = Math.abs((xs[1] as number) - (xs[0] as number));
  const x: Axis = { from: Math.min(...xs) - width / 2, to: Math.max(...xs) + width / 2, label: result.x_label };
  const y: Axis = { from: low, to: high, label: series.measured_in };
  const height = 300;
  const { across, up: rise, axes } = frame(x, y, height, narrow() ? 4 : 8);
  const thick = Math.max(1, (across(xs[1] as number) - across(xs[0] as number)) * 0.8);
  return svg`<svg viewBox="0 0 ${wide()} ${height}" role="img" aria-label=${words(series, exact)}>
    ${axes}
    ${pairs.map(({ mine, exact: other }) => {
      const at = across(mine.x as number);
      const top = rise(mine.value ?? 0);
      const bar =
        mine.value === null
          ? nothing
          : svg`<g class="bars private"><rect x=${at - thick / 2} y=${Math.min(top, rise(0))} width=${thick} height=${Math.max(1, Math.abs(rise(0) - top))} opacity="0.75"></rect></g>`;
      const off =
        mine.low === null || mine.high === null
          ? nothing
          : svg`<path class="line noise" d="M${at},${rise(mine.low)}V${rise(mine.high)}M${at - 4},${rise(mine.low)}h8M${at - 4},${rise(mine.high)}h8"></path>`;
      const truth =
        typeof other?.value === "number"
          ? svg`<path class="line exact" d="M${at - thick / 2 - 1},${rise(other.value)}h${thick + 2}" stroke-width="3"></path>`
          : nothing;
      return svg`<g>${bar}${off}${truth}</g>`;
    })}
    ${ground(rise(0))}
  </svg>`;
}

const points = (series: Series, which: (value: Value) => number | null): Point[] =>
  series.values.flatMap((one) =>
    one.x !== null && which(one) !== null ? [[one.x, which(one) as number] as const] : [],
  );

function axes(result: Result, series: Series, exact: Series | null): { x: Axis; y: Axis } {
  const all = [...series.values, ...(exact?.values ?? [])];
  const [low, high] = span(ends(all), false);
  const xs = all.flatMap(({ x }) => (x === null ? [] : [x]));
  const [from, to] = [Math.min(...xs), Math.max(...xs)];
  const air = result.shape === "points" ? (to - from || 1) * 0.08 : 0;
  return {
    x: { from: from - air, to: to + air, label: result.x_label },
    y: { from: low, to: high, label: series.measured_in || series.name },
  };
}

function curve(result: Result, series: Series, exact: Series | null): SVGTemplateResult {
  const marks: Mark[] = [];
  const [above, below] = [points(series, ({ high }) => high), points(series, ({ low }) => low)];
  if (above.length && below.length) {
    marks.push({ kind: "band", ink: "noise", points: above, lower: below });
  }
  if (exact) marks.push({ kind: "line", ink: "exact", points: points(exact, ({ value }) => value) });
  const mine = points(series, ({ value }) => value);
  marks.push({ kind: "line", ink: "private", points: mine });
  if (mine.length < 30 && !result.drawn.length) {
    if (exact) marks.push({ kind: "dots", ink: "exact", points: points(exact, ({ value }) => value) });
    marks.push({ kind: "dots", ink: "private", points: mine });
  }
  return chart({ ...axes(result, series, exact), marks, title: words(series, exact) });
}

function plane(result: Result, series: Series, exact: Series | null): SVGTemplateResult {
  const marks: Mark[] = [];
  if (exact) marks.push({ kind: "dots", ink: "exact", points: points(exact, ({ value }) => value), label: "exact" });
  marks.push({ kind: "dots", ink: "private", points: points(series, ({ value }) => value), label: "private" });
  return chart({ ...axes(result, series, exact), marks, title: words(series, exact) });
}
