// Count mean sketches: what is estimated from reports, how far off it is, and a crowd of phones to try it with. The library's
// crowd/count_mean_sketch.py and crowd/hadamard_sketch.py.
import { cell, item, piece, row, type Item, type Row } from "./hashing.js";

export type Kind = "CMS" | "HCMS";
/** A report of a count mean sketch: the function, and which of its cells are one. */
export type Bits = readonly [fn: number, ones: readonly number[]];
/** A report of a Hadamard sketch: the function, the coordinate, and whether its sign is minus. */
export type Sign = readonly [fn: number, coordinate: number, minus: boolean];

/** How likely a bit is flipped: two bits of a count mean sketch can tell two answers apart, and one of a Hadamard sketch. */
export const flip = (kind: Kind, epsilon: number): number => 1 / (1 + Math.exp(kind === "CMS" ? epsilon / 2 : epsilon));

/** How many bits a phone sends. */
export const bits = (kind: Kind, functions: number, width: number): number =>
  Math.ceil(Math.log2(functions)) + (kind === "CMS" ? width : Math.ceil(Math.log2(width)) + 1);

/** The parity of the bits of a number: 1 where the Hadamard matrix has a minus. */
export function parity(number: number): number {
  let left = number ^ (number >>> 16);
  left ^= left >>> 8;
  left ^= left >>> 4;
  return (0x6996 >>> (left & 15)) & 1;
}

/** People behind a candidate, from the ones in its cells. */
const fromOnes = (ones: number, n: number, width: number, flipped: number): number =>
  ((width * (ones - n * flipped)) / (1 - 2 * flipped) - n) / (width - 1);

/** People behind a candidate, from pluses minus minuses. */
const fromSigns = (sum: number, n: number, width: number, flipped: number): number =>
  ((width * sum) / (1 - 2 * flipped) - n) / (width - 1);

export function estimateBits(
  reports: readonly Bits[],
  candidates: readonly string[],
  salt: string,
  width: number,
  flipped: number,
): number[] {
  const rows = rowsOf(reports, salt);
  return candidates.map((text) => {
    const hashed = item(text, salt);
    const ones = reports.filter(([fn, cells]) => cells.includes(cell(hashed, rows.get(fn)!, width))).length;
    return fromOnes(ones, reports.length, width, flipped);
  });
}

export function estimateSigns(
  reports: readonly Sign[],
  candidates: readonly string[],
  salt: string,
  width: number,
  flipped: number,
): number[] {
  const rows = rowsOf(reports, salt);
  return candidates.map((text) => {
    const hashed = item(text, salt);
    const sum = reports.reduce(
      (total, [fn, at, minus]) => total + (parity(at & cell(hashed, rows.get(fn)!, width)) === Number(minus) ? 1 : -1),
      0,
    );
    return fromSigns(sum, reports.length, width, flipped);
  });
}

function rowsOf(reports: readonly (Bits | Sign)[], salt: string): Map<number, Row> {
  return new Map([...new Set(reports.map(([fn]) => fn))].map((fn) => [fn, row(fn, salt)]));
}

/** The standard error of one estimate: coins, choice of functions, and collisions with all others. */
export function standardError(
  kind: Kind,
  own: number,
  n: number,
  squares: number,
  epsilon: number,
  width: number,
  functions: number,
): number {
  const [m, k] = [width, functions];
  const [others, otherSquares, shared] = [n - own, squares - own ** 2, (1 - 1 / m) / m];
  let variance: number;
  if (kind === "CMS") {
    const half = Math.exp(epsilon / 2);
    variance = (n * half) / (half - 1) ** 2 + shared * ((1 - 1 / k) * others + otherSquares / k);
  } else {
    const c = 1 / Math.tanh(epsilon / 2);
    variance = n * c ** 2 - own + (shared * otherSquares) / k - others * (1 / m ** 2 + shared / k);
  }
  return (m / (m - 1)) * Math.sqrt(Math.max(0, variance));
}

/** The root mean square of the errors of all answers: the library's `experiments.sketches.theory`. */
export function theory(
  kind: Kind,
  counts: readonly number[],
  epsilon: number,
  width: number,
  functions: number,
): number {
  const n = counts.reduce((a, b) => a + b, 0);
  const squares = counts.reduce((a, b) => a + b * b, 0);
  const all = counts.map((own) => standardError(kind, own, n, squares, epsilon, width, functions) ** 2);
  return Math.sqrt(all.reduce((a, b) => a + b, 0) / counts.length);
}

/** Whole people for given weights, as they stand in line: person i has the answer at (i + ½)/n of the way. */
export function people(weights: readonly number[], n: number): Uint16Array {
  const total = weights.reduce((a, b) => a + b, 0);
  const out = new Uint16Array(n);
  let [answer, until] = [0, weights[0]!];
  for (let i = 0; i < n; i++) {
    while (((i + 0.5) / n) * total >= until && answer < weights.length - 1) until += weights[++answer]!;
    out[i] = answer;
  }
  return out;
}

/** The cell of every answer in every function: functions × answers. */
export function places(answers: readonly string[], functions: number, width: number, salt: string): Uint16Array {
  const items: Item[] = answers.map((text) => item(text, salt));
  const out = new Uint16Array(functions * items.length);
  let at = 0;
  for (let fn = 0; fn < functions; fn++) {
    const own = row(fn, salt);
    for (const one of items) out[at++] = cell(one, own, width);
  }
  return out;
}

/** Random words that one phone needs when `shown` candidates are looked up. */
export const wordsEach = (shown: number): number => 2 + shown;

/** Everybody reports once, and the first `shown` answers are looked up. Only the bits that are looked up are drawn. */
export function crowd(
  kind: Kind,
  asked: Uint16Array,
  cells: Uint16Array,
  answers: number,
  shown: number,
  functions: number,
  width: number,
  flipped: number,
  coins: Uint32Array,
): number[] {
  const sums = new Float64Array(shown);
  const limit = flipped * 2 ** 32;
  const each = wordsEach(shown);
  for (let i = 0, at = 0; i < asked.length; i++, at += each) {
    const fn = coins[at]! & (functions - 1);
    const from = fn * answers;
    const own = cells[from + asked[i]!]!;
    if (kind === "CMS") {
      for (let d = 0; d < shown; d++) {
        const there = cells[from + d]!;
        let first = 0;
        while (cells[from + first]! !== there) first++; // candidates in the same cell see the same bit
        if (coins[at + 2 + first]! < limit !== (there === own)) sums[d]! += 1;
      }
    } else {
      const coordinate = (coins[at]! >>> 12) & (width - 1);
      const minus = parity(coordinate & own) ^ Number(coins[at + 1]! < limit);
      for (let d = 0; d < shown; d++) sums[d]! += parity(coordinate & cells[from + d]!) === minus ? 1 : -1;
    }
  }
  const estimate = kind === "CMS" ? fromOnes : fromSigns;
  return Array.from(sums, (sum) => estimate(sum, asked.length, width, flipped));
}

export interface Puzzle {
  word: string;
  piece: number;
  fragments: string[];
}

/** A word as the sequence fragment puzzle cuts it: ten letters, five fragments, and a small hash of the whole that ties them. */
export function puzzle(typed: string, salt: string, length = 10, fragment = 2): Puzzle {
  const word = typed.slice(0, length).padEnd(length, " ");
  const fragments = Array.from({ length: length / fragment }, (_, i) => word.slice(i * fragment, (i + 1) * fragment));
  return { word, piece: piece(word, salt), fragments };
}
