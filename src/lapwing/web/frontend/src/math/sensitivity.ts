// What one person can do to a sum and to a median.

/** What people spend, from little to much: the quantiles of a law with a heavy tail (median 41, mean close to 100 for many). */
export const spending = (people: number): number[] =>
  Array.from({ length: people }, (_, i) => 100 * ((1 - (i + 0.5) / people) ** -0.5 - 1));

/** How much of a sum is cut off by a bound. */
export const cutOff = (values: readonly number[], bound: number): number =>
  values.reduce((total, value) => total + Math.max(0, value - bound), 0);

/** How far Laplace noise for a sum of values from 0 to a bound is off, on average. */
export const averageNoise = (bound: number, epsilon: number): number => bound / epsilon;

/** The bound for which what is cut off and the average noise are least together: the value with 1/ε people above it. */
export function bestBound(values: readonly number[], epsilon: number): number {
  const sorted = [...values].sort((a, b) => b - a);
  return sorted[Math.floor(1 / epsilon)] ?? 0;
}

/** A_k for k = 0, 1, …: how far one more change can move a median after k others. The library's `median_spans.py`. */
export function spans(values: readonly number[], low: number, high: number): number[] {
  const line = [low, ...[...values].sort((a, b) => a - b), high];
  const middle = Math.floor((values.length + 1) / 2);
  const last = line.length - 1;
  return Array.from({ length: last }, (_, k) => {
    let widest = 0;
    for (let from = Math.max(middle - k - 1, 0); from <= middle && from + k + 1 <= last; from++)
      widest = Math.max(widest, line[from + k + 1]! - line[from]!);
    return widest;
  });
}

/** By what factor a change that is one person further away counts less. */
export const decay = (epsilon: number, delta: number): number =>
  Math.max(1 / (1 + epsilon / (2 * Math.log(2 / delta))), Math.exp(-epsilon / 2));

/** The largest A_k, those that are further away counting less. */
export function smooth(values: readonly number[], low: number, high: number, epsilon: number, delta: number): number {
  const factor = decay(epsilon, delta);
  return Math.max(0, ...spans(values, low, high).map((span, k) => span * factor ** k));
}

export type Shape = "alike" | "even" | "camps";

/** Whole ages from 0 to 100 of an odd number of people: all about 40, evenly spread, or two camps of which one is slightly larger. */
export function ages(shape: Shape, people: number): number[] {
  const low = Math.ceil(0.52 * people);
  return Array.from({ length: people }, (_, i) => {
    const share = (i + 0.5) / people;
    if (shape === "alike") return Math.round(35 + 10 * share);
    if (shape === "even") return Math.round(100 * share);
    return i < low ? Math.round(20 + (5 * (i + 0.5)) / low) : Math.round(70 + (5 * (i - low + 0.5)) / (people - low));
  });
}
