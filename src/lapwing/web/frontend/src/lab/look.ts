// What the parts of the lab share: how numbers are written, and how things look inside their elements.
import { css } from "lit";
import { INKS } from "../lib/chart.js";
import type { Value } from "./kinds.js";

/** A number for people: grouped, with as many digits as say something. */
export function said(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const fine = size === 0 || size >= 10 ** (digits - 1) ? 0 : Math.min(12, digits - 1 - Math.floor(Math.log10(size)));
  if (size > 0 && size < 1e-6) return value.toExponential(1).replace("-", "−");
  return value.toLocaleString("en", { maximumFractionDigits: fine }).replace("-", "−");
}

/** As precise as its error says: the error has two digits, and the value goes as far as they do. */
export function asPrecise(value: number, error: number | null): string {
  if (error === null || !(error > 0)) return said(value, 6);
  if (Number.isInteger(value) && Number.isInteger(2 * error)) return said(value, 12);
  const fine = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(error))));
  return value.toLocaleString("en", { maximumFractionDigits: fine, minimumFractionDigits: fine }).replace("-", "−");
}

/** How far off a value may be: to the farther end, where one of them is a bound such as 0. */
export function errorOf({ value, low, high }: Value): number | null {
  return value === null || low === null || high === null ? null : Math.max(high - value, value - low);
}

export const sure = (confidence: number): string => `with ${Math.round(100 * confidence)}\u00a0% confidence`;

export const calm = [
  INKS,
  css`
  :host { display: block; font-family: var(--sans); color: var(--ink); }
  :focus-visible { outline: 3px solid var(--budget); outline-offset: 2px; border-radius: 2px; }
  label { font-size: 0.9rem; color: var(--quiet); }
  button, select, input[type="number"] { font: inherit; padding: 0.35rem 0.7rem; border: 1px solid var(--line); border-radius: 6px; background: var(--paper); color: var(--ink); }
  select, input[type="number"] { border-color: var(--quiet); }
  button { cursor: pointer; } button:not(:disabled):hover { border-color: var(--private); }
  button:disabled { opacity: 0.6; cursor: default; }
  input[type="range"] { width: 100%; accent-color: var(--private); }
  .seen { min-height: 3em; margin: 0.4rem 0 0.8rem; line-height: 1.45; }
  .quiet { color: var(--quiet); font-size: 0.92rem; }
  .scroll { overflow-x: auto; }
  table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.95rem; }
  th, td { padding: 0.3em 0.7em; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
  th { font-weight: 600; color: var(--quiet); }
  .right { text-align: right; white-space: nowrap; }
  svg { overflow: visible; }
  .tree .leaf { fill: color-mix(in srgb, var(--private) 30%, var(--card)); } .tree .frame { fill: color-mix(in srgb, var(--private) 10%, var(--card)); stroke: var(--private); } .tree .frame.depth-2 { fill: color-mix(in srgb, var(--private) 18%, var(--card)); }
  .tree .unsure { fill: url(#hatched); } .tree .hatch { stroke: var(--noise); stroke-width: 1.5; opacity: 0.45; fill: none; }
  svg.tree text { fill: var(--ink); } svg.tree text.name { font-weight: 600; } svg.tree tspan { font-weight: 400; } svg.tree tspan.noise { fill: var(--noise); } svg.tree tspan.exact { fill: var(--exact); } svg.tree text.noise { fill: var(--noise); } svg.tree text.exact { fill: var(--exact); }
  .mark { display: inline-block; font: 600 0.85rem var(--sans); border: 1px dashed currentColor; border-radius: 4px; padding: 0.05rem 0.5rem; margin: 0 0.4rem; color: var(--adversary); }
  summary { cursor: pointer; color: var(--private); font-size: 0.92rem; }
`,
];
