// Lying bars for things with names: one row each, one or more bars in it, and every bar says its number.
import { svg, nothing, type SVGTemplateResult } from "lit";
import { narrow, wide, type Ink } from "./chart.js";

export interface Bar {
  value: number;
  text: string;
  ink: Ink;
  /** Paler, to tell two bars of the same meaning apart. */
  pale?: boolean;
}
export interface Row {
  label: string;
  note?: string;
  bars: readonly Bar[];
}

const THICK = 15;
const GAP = 13;

/** `most` is the value of a bar as long as it gets. */
export function rows({ title, rows, most }: { title: string; rows: readonly Row[]; most: number }): SVGTemplateResult {
  const left = narrow() ? 104 : 150;
  const room = wide() - left - 62;
  let top = 4;
  const drawn = rows.map(({ label, note, bars }) => {
    const from = top;
    top += bars.length * THICK + GAP;
    const middle = from + (bars.length * THICK) / 2;
    return svg`<text x=${left - 10} y=${middle - (note ? 2 : -4)} text-anchor="end">${label}</text>
      ${note ? svg`<text class="axis" x=${left - 10} y=${middle + 12} text-anchor="end" font-size="12">${note}</text>` : nothing}
      ${bars.map((bar, i) => {
        const long = Math.max(1, (Math.min(bar.value, most) / most) * room);
        const y = from + i * THICK;
        return svg`<g class="bars ${bar.ink}"><rect x=${left} y=${y} width=${long} height=${THICK - 2} opacity=${bar.pale ? 0.5 : 1}></rect></g>
          <text x=${left + long + 5} y=${y + 11} font-size="12">${bar.text}</text>`;
      })}`;
  });
  return svg`<svg viewBox="0 0 ${wide()} ${top}" role="img" aria-label=${title}>
    ${drawn}<line class="base" x1=${left} x2=${left} y1="0" y2=${top - GAP + 2}></line></svg>`;
}
