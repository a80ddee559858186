// Small pictures from data, as SVG: lines, areas, bands, bars, dots and rules, with quiet axes and labels beside the lines.
import { css, svg, nothing, type SVGTemplateResult } from "lit";
import { spread } from "../math/lab.js";

export type Point = readonly [number, number];
export type Ink = "exact" | "private" | "noise" | "adversary" | "budget" | "quiet";
export interface Axis {
  from: number;
  to: number;
  label: string;
  log?: boolean;
  ticks?: number[];
  format?: (value: number) => string;
}
export interface Mark {
  kind: "line" | "area" | "band" | "bars" | "dots" | "across" | "down";
  ink: Ink;
  points: readonly Point[];
  /** The lower edge of a band; its points are the upper one. */
  lower?: readonly Point[];
  label?: string;
  /** Where its label stands; on the side with more room unless said. */
  side?: "left" | "right";
  /** Whether its label stands beside the picture, where the line ends: then no line runs through it. */
  end?: boolean;
  /** Whether a label on the right stands below, where a line rises from its mark. */
  below?: boolean;
  dashed?: boolean;
  base?: number;
}
export interface Chart {
  x: Axis;
  y: Axis;
  marks: readonly Mark[];
  title: string;
  height?: number;
}

// On a phone a picture has fewer units, so that its letters stay as large as the text around it.
export const narrow = (): boolean => globalThis.innerWidth < 520;
export const wide = (): number => (narrow() ? 340 : 640);
const EDGE = { left: 56, right: 16, top: 24, bottom: 42 };

export function place(axis: Axis, low: number, high: number): (value: number) => number {
  const turn = axis.log ? Math.log : (value: number) => value;
  const from = turn(axis.from);
  const span = turn(axis.to) - from || 1;
  return (value) =>
    low + ((turn(Math.min(Math.max(value, axis.log ? 1e-12 : -1e300), 1e300)) - from) / span) * (high - low);
}

export function ticks(axis: Axis, about = 5): number[] {
  if (axis.ticks) return axis.ticks;
  if (axis.log) {
    const first = Math.ceil(Math.log10(axis.from) - 1e-9);
    const last = Math.floor(Math.log10(axis.to) + 1e-9);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => 10 ** (first + i));
  }
  const raw = (axis.to - axis.from) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? raw;
  const first = Math.ceil(axis.from / step - 1e-9);
  const last = Math.floor(axis.to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
}

export function short(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)} M`;
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return String(+value.toPrecision(3)).replace("-", "−");
}

/** A number at an axis: as many digits as it has, so that no two ticks look the same and none is rounded. */
export function tick(value: number): string {
  const [size, unit] = Math.abs(value) >= 1e6 ? [value / 1e6, " M"] : [value, ""];
  return size.toLocaleString("en", { maximumSignificantDigits: 6 }).replace("-", "−") + unit;
}

type Place = (value: number) => number;

/** The axes of a picture, and where values stand between them. */
export interface Frame {
  across: Place;
  up: Place;
  floor: number;
  axes: SVGTemplateResult;
}

/** Rules and numbers on the left, numbers and a name below; `about` is how many numbers stand below. */
export function frame(x: Axis, y: Axis, height: number, about = narrow() ? 3 : 5, margin = EDGE.right): Frame {
  const right = wide() - margin;
  const across = place(x, EDGE.left, right);
  const up = place(y, height - EDGE.bottom, EDGE.top);
  const floor = height - EDGE.bottom;
  const axes = svg`${ticks(y, 4).map(
    (value) => svg`<g class="tick"><line x1=${EDGE.left} x2=${right} y1=${up(value)} y2=${up(value)}></line>
        <text x=${EDGE.left - 8} y=${up(value)} text-anchor="end" dy="0.32em">${(y.format ?? tick)(value)}</text></g>`,
  )}
    ${ticks(x, about).map(
      (value) =>
        svg`<text class="tick" x=${across(value)} y=${floor + 18} text-anchor="middle">${(x.format ?? tick)(value)}</text>`,
    )}
    <text class="axis" x=${(EDGE.left + right) / 2} y=${height - 6} text-anchor="middle">${x.label}</text>
    <text class="axis" x=${narrow() ? 2 : EDGE.left} y=${EDGE.top - 11}>${y.label}</text>`;
  return { across, up, floor, axes };
}

/** The line that bars stand on. */
export const ground = (at: number, margin = EDGE.right): SVGTemplateResult =>
  svg`<line class="base" x1=${EDGE.left} x2=${wide() - margin} y1=${at} y2=${at}></line>`;

export function chart({ x, y, marks, title, height = 300 }: Chart): SVGTemplateResult {
  const ended = marks.filter(({ end, label, points }) => end && label && points.length);
  const margin = Math.max(EDGE.right, ...ended.map(({ label }) => 20 + LETTER * label!.length));
  const { across, up, floor, axes } = frame(x, y, height, undefined, margin);
  return svg`<svg viewBox="0 0 ${wide()} ${height}" role="img" aria-label=${title}>
    ${axes}${ground(floor, margin)}
    ${marks.map((mark) => drawn(mark, across, up, floor))}
    ${apart(
      marks.flatMap((mark) => (mark.end ? [] : said(mark, labelled(mark, across, up, floor)))),
      floor,
    ).map(
      ({ mark, x, y, left }) =>
        svg`<text class="label ${mark.ink}" x=${x} y=${y} text-anchor=${left ? "end" : "start"}>${mark.label}</text>`,
    )}
    ${atEnds(ended, across, up)}
  </svg>`;
}

/** Labels beside the ends of their lines, each joined to its own, as near as they can stand without touching. */
function atEnds(marks: readonly Mark[], across: Place, up: Place): SVGTemplateResult[] {
  const at = marks
    .flatMap((mark) =>
      spots(mark, across, up)
        .slice(-1)
        .map((spot) => ({ mark, spot })),
    )
    .sort((a, b) => a.spot[1] - b.spot[1]);
  const heights = spread(
    at.map(({ spot }) => spot[1]),
    LINE,
  );
  return at.map(
    (
      { mark, spot: [x, y] },
      i,
    ) => svg`<path class="line ${mark.ink}" stroke-width="1" d="M${x + 2},${y}L${x + 9},${heights[i]}"></path>
      <text class="label ${mark.ink}" x=${x + 13} y=${heights[i]} dy="0.32em">${mark.label}</text>`,
  );
}

type Spot = readonly [number, number];
const spots = (mark: Mark, across: Place, up: Place): Spot[] =>
  mark.points.map(([a, b]) => [across(a), up(b)] as const).filter(([a, b]) => Number.isFinite(a + b));

function drawn(mark: Mark, across: Place, up: Place, floor: number): SVGTemplateResult {
  const at = spots(mark, across, up);
  const path = at.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)},${b.toFixed(1)}`).join("");
  const dash = mark.dashed ? "5 4" : nothing;
  const bottom = mark.base === undefined ? floor : up(mark.base);
  switch (mark.kind) {
    case "line":
      return svg`<path class="line ${mark.ink}" d=${path} stroke-dasharray=${dash}></path>`;
    case "area": {
      const ends = at.length ? `L${at[at.length - 1]![0]},${bottom}L${at[0]![0]},${bottom}Z` : "";
      return svg`<path class="area ${mark.ink}" d=${path + ends}></path>`;
    }
    case "band": {
      const back = spots({ ...mark, points: mark.lower ?? [] }, across, up).reverse();
      const way = back.map(([a, b]) => `L${a.toFixed(1)},${b.toFixed(1)}`).join("");
      return svg`<path class="area ${mark.ink}" d=${`${path}${way}Z`}></path>`;
    }
    case "bars": {
      const gap = at.length > 1 ? Math.max(1, (at[1]![0] - at[0]![0]) * 0.8) : 12;
      return svg`<g class="bars ${mark.ink}">${at.map(
        ([a, b]) =>
          svg`<rect x=${a - gap / 2} y=${Math.min(b, bottom)} width=${gap} height=${Math.abs(bottom - b)}></rect>`,
      )}</g>`;
    }
    case "dots":
      return svg`<g class="dots ${mark.ink}">${at.map(([a, b]) => svg`<circle cx=${a} cy=${b} r="4"></circle>`)}</g>`;
    case "across":
      return svg`<line class="line ${mark.ink}" x1=${EDGE.left} x2=${wide() - EDGE.right} y1=${at[0]?.[1] ?? 0} y2=${at[0]?.[1] ?? 0} stroke-dasharray=${dash}></line>`;
    case "down":
      return svg`<line class="line ${mark.ink}" x1=${at[0]?.[0] ?? 0} x2=${at[0]?.[0] ?? 0} y1=${EDGE.top} y2=${floor} stroke-dasharray=${dash}></line>`;
  }
}

/** Where the label of a mark belongs. */
function labelled(mark: Mark, across: Place, up: Place, floor: number): Spot | undefined {
  const at = spots(mark, across, up);
  switch (mark.kind) {
    case "line":
      return above(mark, at);
    case "area":
    case "band":
      return at[Math.floor(at.length / 2)];
    case "dots":
      return at[at.length - 1];
    case "down":
      return at[0] && [at[0][0], Math.min(EDGE.top + 8, floor)];
    default:
      return at[0];
  }
}

/** The end of a line, or as far above it as its label needs so that the line does not run through it. */
function above(mark: Mark, at: readonly Spot[]): Spot | undefined {
  const last = at[at.length - 1];
  if (!last || !mark.label || mark.side || last[0] <= wide() * 0.6) return last;
  const covered = at.filter(([x]) => x > last[0] - 9 * mark.label!.length - 12);
  return [last[0], Math.min(...covered.map(([, y]) => y))];
}

interface Label {
  mark: Mark;
  x: number;
  y: number;
  left: boolean;
}

function said(mark: Mark, at: Spot | undefined): Label[] {
  if (!mark.label || !at) return [];
  const left = mark.side ? mark.side === "left" : at[0] > wide() * 0.6;
  if (mark.below && !left) return [{ mark, x: at[0] + 14, y: at[1] + 16, left }];
  return [{ mark, x: at[0] + (left ? -6 : 6), y: Math.max(at[1] - 6, 12), left }];
}

/** How wide a letter of a label is at most, and how high a line of them. */
const LETTER = 7.5;
const LINE = 15;
/** Labels that would lie on each other move apart: down in turn, and up again as far as the floor asks. */
function apart(labels: Label[], floor: number): Label[] {
  const [from, to] = [
    ({ mark, x, left }: Label) => (left ? x - LETTER * mark.label!.length : x),
    ({ mark, x, left }: Label) => (left ? x : x + LETTER * mark.label!.length),
  ];
  const sorted = [...labels].sort((a, b) => a.y - b.y);
  const meets = (a: Label, b: Label): boolean => from(a) < to(b) && from(b) < to(a) && Math.abs(a.y - b.y) < LINE;
  sorted.forEach((one, i) => {
    for (const other of sorted.slice(0, i)) if (meets(one, other)) one.y = other.y + LINE;
  });
  for (let i = sorted.length - 1; i >= 0; i--) {
    const one = sorted[i]!;
    if (one.y > floor - 4) one.y = floor - 4;
    for (const other of sorted.slice(i + 1)) if (meets(one, other)) one.y = other.y - LINE;
  }
  return labels;
}

/** How pictures look, in whatever element they stand. */
export const INKS = css`
  svg { width: 100%; height: auto; display: block; margin: 0.6rem 0; font: 13px var(--sans); }
  svg text { fill: var(--quiet); }
  .tick line { stroke: var(--line); stroke-width: 1; }
  .base { stroke: var(--quiet); }
  .line { fill: none; stroke-width: 2.2; }
  .area { opacity: 0.18; }
  text.label { font-size: 13px; font-weight: 600; paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
  .line.exact { stroke: var(--exact); } .area.exact, .bars.exact, .dots.exact, svg text.exact { fill: var(--exact); }
  .line.private { stroke: var(--private); } .area.private, .bars.private, .dots.private, svg text.private { fill: var(--private); }
  .line.noise { stroke: var(--noise); } .area.noise, .bars.noise, .dots.noise, svg text.noise { fill: var(--noise); }
  .line.adversary { stroke: var(--adversary); } .area.adversary, .bars.adversary, .dots.adversary, svg text.adversary { fill: var(--adversary); }
  .line.budget { stroke: var(--budget); } .area.budget, .bars.budget, .dots.budget, svg text.budget { fill: var(--budget); }
  .line.quiet { stroke: var(--quiet); } .area.quiet, .bars.quiet, .dots.quiet { fill: var(--quiet); }
`;
