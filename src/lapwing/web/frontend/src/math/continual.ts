// Running totals that are published every day, with Gaussian noise. Widths are multiples of the noise on one count at the whole budget; one person counts on one day.
import { delta } from "./gaussian.js";

/** The lowest binary digit of a day: how many days the node of the tree covers that ends on it. */
const span = (day: number): number => day & -day;

/** Rows of the tree over so many days. One person is in at most one node of each. */
export const levels = (days: number): number => Math.floor(Math.log2(days)) + 1;

/** The nodes that make the total of the first days, as first and last day of each. */
export function nodesOf(day: number): [from: number, to: number][] {
  if (!day) return [];
  return [...nodesOf(day - span(day)), [day - span(day) + 1, day]];
}

/** The coefficients of 1/√(1 − x): the square root of the matrix of running totals has them on its diagonals. */
export function coefficients(days: number): number[] {
  const found = [1];
  for (let place = 1; place < days; place++) found.push(found[place - 1]! * (1 - 1 / (2 * place)));
  return found;
}

/** How wide the noise is after each day, if every day has noise of its own and totals are sums of days. */
export const addedWidths = (days: number): number[] => Array.from({ length: days }, (_, day) => Math.sqrt(day + 1));

/** The same for the tree: the noise of every node that makes the total. */
export const treeWidths = (days: number): number[] =>
  Array.from({ length: days }, (_, day) => Math.sqrt(levels(days) * nodesOf(day + 1).length));

/** The same for the square root. */
export function rootWidths(days: number): number[] {
  let sum = 0;
  const sums = coefficients(days).map((one) => (sum += one * one));
  return sums.map((one) => Math.sqrt(one * sum));
}

/** How far off each total is, from one standard normal draw for each day. */
export function addedErrors(draws: readonly number[]): number[] {
  let sum = 0;
  return draws.map((one) => (sum += one));
}

/** The same for the tree; the draw of a day is that of the node that ends on it. */
export function treeErrors(draws: readonly number[]): number[] {
  const errors = [0];
  for (let day = 1; day <= draws.length; day++) errors.push(errors[day - span(day)]! + draws[day - 1]!);
  const width = Math.sqrt(levels(draws.length));
  return errors.slice(1).map((error) => width * error);
}

/** The same for the square root: draws are mixed by its coefficients. */
export function rootErrors(draws: readonly number[]): number[] {
  const mixed = coefficients(draws.length);
  const width = Math.sqrt(mixed.reduce((sum, one) => sum + one * one, 0));
  return draws.map((_, day) => {
    let sum = 0;
    for (let past = 0; past <= day; past++) sum += mixed[day - past]! * draws[past]!;
    return width * sum;
  });
}

/** The ε of so many totals about the same person, each with fresh noise of its own of this standard deviation. */
export function priceOf(releases: number, sigma: number, wanted: number): number {
  const together = sigma / Math.sqrt(releases);
  if (delta(together, 0) <= wanted) return 0;
  let [low, high] = [0, 1];
  while (delta(together, high) > wanted) [low, high] = [high, 2 * high];
  for (let i = 0; i < 60 && high - low > 1e-12 * high; i++) {
    const middle = (low + high) / 2;
    if (delta(together, middle) <= wanted) high = middle;
    else low = middle;
  }
  return high;
}
