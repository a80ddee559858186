// The two handles of a question: what it may cost, and how far off it may be. Each solves the other.
// The server says how far off at every place of the slider; between two places errors follow a straight line in logarithms.

/** How far off at each place; null where it cannot be said without the data. */
export type Errors = readonly (number | null)[];

interface Known {
  epsilon: number;
  error: number;
}

function known(places: readonly number[], errors: Errors): Known[] {
  const found: Known[] = [];
  places.forEach((epsilon, place) => {
    const error = errors[place];
    if (typeof error === "number" && error >= 0 && Number.isFinite(error)) found.push({ epsilon, error });
  });
  return found;
}

/** Along the straight line, in logarithms, from one point to another. */
function between(x: number, a: number, b: number, from: number, to: number): number {
  const share = (Math.log(x) - Math.log(a)) / (Math.log(b) - Math.log(a));
  return Math.exp(Math.log(from) + share * (Math.log(to) - Math.log(from)));
}

/** How far off an answer may be at an epsilon. Outside of the slider it is not said. */
export function errorAt(places: readonly number[], errors: Errors, epsilon: number): number | null {
  const at = places.indexOf(epsilon);
  if (at >= 0) return errors[at] ?? null;
  const points = known(places, errors);
  const next = points.findIndex((one) => one.epsilon > epsilon);
  if (next < 1) return null;
  const [a, b] = [points[next - 1] as Known, points[next] as Known];
  if (a.error <= 0 || b.error <= 0) return a.error; // an error of nothing has no logarithm: the larger one is safe
  return between(epsilon, a.epsilon, b.epsilon, a.error, b.error);
}

/** The smallest epsilon whose error is at most what is wanted, or null if no place of the slider is that accurate. */
export function epsilonFor(places: readonly number[], errors: Errors, wanted: number): number | null {
  const points = known(places, errors);
  const next = points.findIndex((one) => one.error <= wanted);
  if (next < 0) return null;
  const b = points[next] as Known;
  const a = points[next - 1];
  if (!a || b.error === wanted || b.error <= 0) return b.epsilon;
  return between(wanted, a.error, b.error, a.epsilon, b.epsilon);
}

/** The roughest and the most accurate that the slider offers. */
export function range(places: readonly number[], errors: Errors): [number, number] | null {
  const all = known(places, errors)
    .map(({ error }) => error)
    .filter((error) => error > 0);
  if (!all.length) return null;
  return [Math.max(...all), Math.min(...all)];
}

/** Rising heights moved so far apart that none is nearer to the next than a line: groups stay around their middle. */
export function spread(heights: readonly number[], line: number): number[] {
  const groups: { middle: number; count: number }[] = [];
  for (const height of heights) {
    groups.push({ middle: height, count: 1 });
    for (let last = groups.length - 1; last > 0; last--) {
      const [a, b] = [groups[last - 1]!, groups[last]!];
      if (b.middle - a.middle >= ((a.count + b.count) / 2) * line) break;
      const count = a.count + b.count;
      groups.splice(last - 1, 2, { middle: (a.middle * a.count + b.middle * b.count) / count, count });
    }
  }
  return groups.flatMap(({ middle, count }) =>
    Array.from({ length: count }, (_, i) => middle + (i - (count - 1) / 2) * line),
  );
}

/** How the error changes with more people: by all neighbouring crowds, at all places that their lines share. */
export function compared(lines: readonly { people: number; points: readonly (readonly [number, number])[] }[]): string {
  const rising = [...lines].sort((a, b) => a.people - b.people);
  const apart = rising.slice(1).flatMap(({ points }, before) => {
    const known = new Map(rising[before]?.points);
    return points.flatMap(([epsilon, error]) => {
      const fewer = known.get(epsilon);
      return fewer === undefined || Math.abs(Math.log(error / fewer)) <= 0.01 ? [] : [error > fewer];
    });
  });
  if (apart.every((larger) => larger)) return "larger";
  return apart.some((larger) => larger) ? "smaller at some ε and larger at others" : "smaller";
}

/** Rounded to so many digits, never below: what is asked for is enough for what is promised. */
export function up(value: number, digits: number): number {
  if (!(value > 0)) return 0;
  const near = Number(value.toPrecision(digits));
  if (near >= value) return near;
  const step = 10 ** (Math.floor(Math.log10(value)) - digits + 1);
  return Number((near + step).toPrecision(digits));
}

/** Rounded to so many digits, never above. */
export function down(value: number, digits: number): number {
  if (!(value > 0)) return 0;
  const near = Number(value.toPrecision(digits));
  if (near <= value) return near;
  const step = 10 ** (Math.floor(Math.log10(value)) - digits + 1);
  return Number((near - step).toPrecision(digits));
}

/** The error at a place of the handle for accuracy: 0 is the roughest, `steps` the most accurate. */
export function accuracyAt(step: number, steps: number, [rough, fine]: readonly [number, number]): number {
  if (step >= steps || rough === fine) return fine;
  return step <= 0 ? rough : rough * (fine / rough) ** (step / steps);
}

/** The place of an error on that handle. */
export function accuracyPlace(error: number, steps: number, [rough, fine]: readonly [number, number]): number {
  if (rough === fine) return steps;
  return Math.round(Math.min(1, Math.max(0, Math.log(error / rough) / Math.log(fine / rough))) * steps);
}

export interface Meter {
  spent: number;
  asked: number;
  left: number;
  over: number;
}

/** Shares of the allowance: what is spent, what this question takes, what then remains, and what it lacks. */
export function meter(allowance: number, spent: number, asked: number): Meter {
  const free = Math.max(0, allowance - spent);
  const slack = allowance * 1e-9; // the ledger lets rounding pass
  const taken = asked <= free + slack ? Math.min(asked, free) : 0;
  const whole = allowance || 1;
  return {
    spent: Math.min(1, spent / whole),
    asked: taken / whole,
    left: (free - taken) / whole,
    over: Math.max(0, asked - free - slack) / whole,
  };
}

export interface Bin {
  from: number;
  to: number;
  count: number;
}

/** Draws in bins of equal width. */
export function bins(draws: readonly number[], count: number): Bin[] {
  const low = Math.min(...draws);
  const high = Math.max(...draws);
  const width = (high - low) / count || 1;
  const made = Array.from({ length: high > low ? count : 1 }, (_, i) => ({
    from: low + i * width,
    to: low + (i + 1) * width,
    count: 0,
  }));
  for (const draw of draws) (made[Math.min(made.length - 1, Math.floor((draw - low) / width))] as Bin).count += 1;
  return made;
}

/** Whole draws, each number for itself. */
export function stacks(draws: readonly number[]): Bin[] {
  const counted = new Map<number, number>();
  for (const draw of draws) counted.set(draw, (counted.get(draw) ?? 0) + 1);
  return [...counted].sort(([a], [b]) => a - b).map(([value, count]) => ({ from: value, to: value, count }));
}

/** How many draws lie within a distance of a value. */
export function within(draws: readonly number[], value: number, distance: number): number {
  return draws.filter((draw) => Math.abs(draw - value) <= distance).length;
}

/** An error for people: no less than it is, also around the value as `asPrecise` writes it. */
export function offBy(error: number, digits = 2, value = 0): string {
  if (!(error > 0)) return "0";
  const fine = error >= 10 ** (digits - 1) ? 0 : Math.min(12, digits - 1 - Math.floor(Math.log10(error)));
  const unit = 10 ** fine;
  const moved = Number.isInteger(value) ? 0 : Math.abs(Math.round(value * unit) / unit - value);
  return (Math.ceil((error + moved) * unit - 1e-9) / unit).toLocaleString("en", { maximumFractionDigits: fine });
}
