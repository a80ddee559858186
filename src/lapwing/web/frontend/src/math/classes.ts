// Rows that look alike: how many people stand out, and what the older promises (k, l, t) come to.

/** The rows of each key, in the order in which keys first occur. */
function grouped(keys: readonly string[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  keys.forEach((key, row) => {
    const mine = found.get(key);
    mine ? mine.push(row) : found.set(key, [row]);
  });
  return found;
}

/** Rows with equal keys: the rows of each class. */
export const classes = (keys: readonly string[]): number[][] => [...grouped(keys).values()];

/** The share of rows that look like no other. */
export function unique(keys: readonly string[]): number {
  return keys.length ? classes(keys).filter((rows) => rows.length === 1).length / keys.length : 0;
}

/** For every released row how many known people fit, and the only one that does, or -1. */
export function linked(
  released: readonly string[],
  known: readonly string[],
): { candidates: number[]; named: number[] } {
  const people = grouped(known);
  const fit = released.map((key) => people.get(key) ?? []);
  return { candidates: fit.map((rows) => rows.length), named: fit.map((rows) => (rows.length === 1 ? rows[0]! : -1)) };
}

export interface Measured {
  /** The smallest class. */
  k: number;
  /** The fewest different values in a class. */
  l: number;
  /** The largest distance of a class from the table: half the sum of all differences of shares. */
  t: number;
}

export function counted(values: readonly (string | number)[]): Map<string | number, number> {
  const counts = new Map<string | number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** k, l and t of a published table: what is shown of each row, and the sensitive value. */
export function measured(keys: readonly string[], sensitive: readonly (string | number)[]): Measured {
  if (!keys.length) return { k: 0, l: 0, t: 0 };
  const whole = counted(sensitive);
  let [k, l, t] = [Infinity, Infinity, 0];
  for (const rows of classes(keys)) {
    const mine = counted(rows.map((row) => sensitive[row]!));
    let apart = 0;
    for (const [value, times] of whole)
      apart += Math.abs((mine.get(value) ?? 0) / rows.length - times / sensitive.length);
    k = Math.min(k, rows.length);
    l = Math.min(l, mine.size);
    t = Math.max(t, apart / 2);
  }
  return { k, l, t };
}

/** The mean share of its column's domain that a cell covers; a suppressed row loses everything. */
export function loss(shares: readonly (readonly number[])[], suppressed: number): number {
  const rows = shares.length + suppressed;
  const lost = shares.reduce((sum, row) => sum + row.reduce((a, b) => a + b, 0) / row.length, suppressed);
  return rows ? lost / rows : 0;
}

/** For every row the value that it must have because all of its class have it once some values are ruled out; else null. */
export function certain(
  keys: readonly string[],
  sensitive: readonly string[],
  ruledOut: readonly string[] = [],
): (string | null)[] {
  const found = new Array<string | null>(keys.length).fill(null);
  for (const rows of classes(keys)) {
    const left = new Set(rows.map((row) => sensitive[row]!).filter((value) => !ruledOut.includes(value)));
    if (left.size === 1) for (const row of rows) if (!ruledOut.includes(sensitive[row]!)) found[row] = [...left][0]!;
  }
  return found;
}

/** The only value that is in both of somebody's classes, in two tables; null if there are more. */
export function inBoth(one: readonly string[], other: readonly string[]): string | null {
  const both = new Set(one.filter((value) => other.includes(value)));
  return both.size === 1 ? [...both][0]! : null;
}
