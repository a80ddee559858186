// The people of a census block from the tables about it: all blocks that fit, the same as the library's `reconstruct_block` finds.
export interface Person {
  age: number;
  sex: string;
  origin: string;
  married: boolean;
}
export type Where = Partial<Omit<Person, "age">>;
export interface Statistic {
  where: Where;
  count: number;
  /** With one decimal. */
  mean: number | null;
  median: number | null;
}
type Attribute = "sex" | "origin" | "married";
/** A set of people as the bits of a number. */
type Mask = number;
interface Plan {
  settled: { t: number; others: Mask; flip: Mask }[];
  allowed: Mask[];
}

const VALUES: Record<Attribute, [string | boolean, string | boolean]> = {
  sex: ["F", "M"],
  origin: ["A", "B"],
  married: [false, true],
};
const MOST_PEOPLE = 12;
/** More than any sum of ages. */
const SUMS = 1e5;
/** How many people each set has. */
const SIZE = new Uint8Array(1 << MOST_PEOPLE);
for (let mask = 1; mask < SIZE.length; mask++) SIZE[mask] = SIZE[mask & (mask - 1)]! + 1;
const NAMES = Object.keys(VALUES) as Attribute[];

/** Whole numbers divided, to one decimal, halves to the even digit as Python does. */
export function tenths(total: number, count: number): number {
  const whole = Math.floor((10 * total) / count);
  const rest = 2 * (10 * total - whole * count);
  return (whole + Number(rest > count || (rest === count && whole % 2 === 1))) / 10;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}

const belongs = (where: Where, person: Person): boolean =>
  NAMES.every((name) => where[name] === undefined || where[name] === person[name]);

/** The tables of a block; groups of fewer than `smallest` are left out. */
export function tabulate(people: readonly Person[], groups: readonly Where[], smallest = 0): Statistic[] {
  return groups.flatMap((where): Statistic[] => {
    const ages = people.filter((person) => belongs(where, person)).map((person) => person.age);
    if (ages.length < smallest) return [];
    if (!ages.length) return [{ where, count: 0, mean: null, median: null }];
    return [
      {
        where,
        count: ages.length,
        mean: tenths(
          ages.reduce((a, b) => a + b, 0),
          ages.length,
        ),
        median: median(ages),
      },
    ];
  });
}

/** All totals whose mean is rounded to this: from, to. */
function totals(line: Statistic, oldest: number): [number, number] {
  if (line.mean === null) return [0, line.count * oldest];
  const near = Math.round(line.mean * line.count);
  const fit = [];
  for (let total = near - line.count; total <= near + line.count; total++)
    if (tenths(total, line.count) === line.mean) fit.push(total);
  return fit.length ? [fit[0]!, fit[fit.length - 1]!] : [1, 0];
}

/** All ages, sorted, that a line of the tables allows. */
function* sortedAges(line: Statistic, oldest: number): Generator<number[]> {
  const { count, median: middle } = line;
  const [low, high] = totals(line, oldest);
  const half = count >> 1;
  const ages: number[] = [];
  function* next(sum: number): Generator<number[]> {
    const place = ages.length;
    if (place === count) {
      if (sum >= low) yield [...ages];
      return;
    }
    const later = count - place - 1;
    let from = place ? ages[place - 1]! : 0;
    let to = oldest;
    if (middle !== null && count % 2 && place <= half)
      place === half ? (from = Math.max(from, middle)) : (to = Math.min(to, middle));
    if (middle !== null && count % 2 && place === half) to = Math.min(to, middle);
    if (middle !== null && count % 2 === 0 && place < half) to = Math.min(to, Math.floor(middle));
    if (middle !== null && count % 2 === 0 && place === half) {
      const twin = 2 * middle - ages[place - 1]!;
      if (twin < from || twin > oldest) return;
      from = to = twin;
    }
    for (let age = Math.max(from, low - sum - later * oldest); age <= to && sum + age * (later + 1) <= high; age++) {
      ages.push(age);
      yield* next(sum + age);
      ages.pop();
    }
  }
  yield* next(0);
}

/** Up to `most` blocks that fit, and whether these are all. First ages by one attribute, then the other attributes. */
export function reconstruct(
  tables: readonly Statistic[],
  oldest = 99,
  most = 1000,
): { blocks: Person[][]; all: boolean } {
  const everybody = tables.find((line) => NAMES.every((name) => line.where[name] === undefined));
  const line = (name: Attribute, value: string | boolean): Statistic | undefined =>
    tables.find(
      (one) => one.where[name] === value && NAMES.every((other) => other === name || one.where[other] === undefined),
    );
  const blocks: Person[][] = [];
  if (!everybody || everybody.count > MOST_PEOPLE) return { blocks, all: false };
  const first = NAMES.find((name) => VALUES[name].every((value) => line(name, value)));
  const whole = (1 << everybody.count) - 1;
  const ranges = tables.map((one) => totals(one, oldest));

  /** Total ages of all sets of people; filled for one list of ages at a time. */
  const sums = new Int32Array(1 << everybody.count);
  const add = (ages: readonly number[]): void => {
    for (let mask = 1; mask < sums.length; mask++)
      sums[mask] = sums[mask & (mask - 1)]! + ages[31 - Math.clz32(mask & -mask)]!;
  };
  /** Whether the people who belong to a line give its numbers. */
  const holds = (t: number, mask: Mask, ages: readonly number[]): boolean => {
    if (sums[mask]! < ranges[t]![0] || sums[mask]! > ranges[t]![1]) return false;
    const { count, median: middle } = tables[t]!;
    if (SIZE[mask] !== count) return false;
    return middle === null || !count || median(ages.filter((_, i) => mask & (1 << i))) === middle;
  };

  /** Which lines can be checked once an attribute is known, and which sets of people have a size that fits. */
  const plans = new Map<string, Plan>();
  const plan = (name: Attribute, masks: Partial<Record<Attribute, Mask>>): Plan => {
    const key = `${name} ${NAMES.map((one) => masks[one])}`;
    const made = plans.get(key);
    if (made) return made;
    const settled = tables.flatMap((one, t) => {
      const free = NAMES.some(
        (other) => other !== name && masks[other] === undefined && one.where[other] !== undefined,
      );
      if (one.where[name] === undefined || free) return [];
      let others = whole;
      for (const other of NAMES)
        if (other !== name && one.where[other] !== undefined)
          others &= one.where[other] === VALUES[other][1] ? masks[other]! : ~masks[other]!;
      return [{ t, others, flip: one.where[name] === VALUES[name][1] ? 0 : whole }];
    });
    const [without, having] = VALUES[name].map((value) => line(name, value)?.count);
    const size = having ?? (without === undefined ? undefined : everybody.count - without);
    const allowed = Array.from({ length: whole + 1 }, (_, mask) => mask).filter(
      (mask) => size === undefined || SIZE[mask] === size,
    );
    plans.set(key, { settled, allowed });
    return { settled, allowed };
  };

  /** Give everybody a value of the next attribute, in all ways that fit; false once there are enough blocks. */
  const label = (
    ages: readonly number[],
    masks: Partial<Record<Attribute, Mask>>,
    left: readonly Attribute[],
  ): boolean => {
    const [name, ...rest] = left;
    if (name === undefined) {
      const people = ages.map((age, i): Person => {
        const value = (one: Attribute) => VALUES[one][(masks[one]! >> i) & 1];
        return {
          age,
          sex: value("sex") as string,
          origin: value("origin") as string,
          married: value("married") as boolean,
        };
      });
      const code = (i: number) => NAMES.reduce((sum, one) => 2 * sum + ((masks[one]! >> i) & 1), 0);
      const key = (i: number) => ages[i]! * 8 + code(i);
      const split = first === undefined ? ages.length : line(first, VALUES[first][0])!.count;
      for (let i = 1; i < ages.length; i++) if (i !== split && key(i - 1) > key(i)) return true; // the same people in another order
      blocks.push(people);
      return blocks.length < most;
    }
    const { settled, allowed } = plan(name, masks);
    for (const mask of allowed) {
      let fits = true;
      for (let place = 0; fits && place < settled.length; place++) {
        const { t, others, flip } = settled[place]!;
        fits = holds(t, (mask ^ flip) & others, ages);
      }
      if (fits && !label(ages, { ...masks, [name]: mask }, rest)) return false;
    }
    return true;
  };

  const all = tables.indexOf(everybody);
  if (first === undefined) {
    for (const ages of sortedAges(everybody, oldest)) {
      add(ages);
      if (!label(ages, {}, NAMES)) return { blocks, all: false };
    }
    return { blocks, all: true };
  }
  const [one, other] = VALUES[first].map((value) => [...sortedAges(line(first, value)!, oldest)]) as [
    number[][],
    number[][],
  ];
  const split = line(first, VALUES[first][0])!.count;
  const masks = { [first]: whole & ~((1 << split) - 1) };
  const rest = NAMES.filter((name) => name !== first);
  const second = rest.find((name) => VALUES[name].some((value) => line(name, value)));
  if (second === undefined) {
    for (const left of one)
      for (const right of other) {
        const ages = [...left, ...right];
        add(ages);
        if (holds(all, whole, ages) && !label(ages, masks, rest)) return { blocks, all: false };
      }
    return { blocks, all: true };
  }
  // Who has the second attribute: sums over both halves have to come to the published total, so halves are looked up by their sum.
  const value = VALUES[second].find((one) => line(second, one))!;
  const known = line(second, value)!;
  const [low, high] = ranges[tables.indexOf(known)]!;
  const bySum = new Map<number, [number[], Mask][]>();
  for (const [left, mask, size, sum] of chosen(one)) {
    const key = size * SUMS + sum;
    const alike = bySum.get(key);
    alike ? alike.push([left, mask]) : bySum.set(key, [[left, mask]]);
  }
  const { settled } = plan(second, masks);
  const third = rest.filter((name) => name !== second);
  for (const [right, mask, size, sum] of chosen(other))
    for (let total = low; total <= high; total++)
      for (const [left, mine] of bySum.get((known.count - size) * SUMS + total - sum) ?? []) {
        const ages = [...left, ...right];
        const having = mine | (mask << split);
        const now = value === VALUES[second][1] ? having : whole & ~having;
        add(ages);
        const fits =
          holds(all, whole, ages) && settled.every(({ t, others, flip }) => holds(t, (now ^ flip) & others, ages));
        if (fits && !label(ages, { ...masks, [second]: now }, third)) return { blocks, all: false };
      }
  return { blocks, all: true };
}

/** Every choice of some of the people of each list: the list, who, how many, and the sum of their ages. */
function* chosen(lists: readonly number[][]): Generator<[number[], Mask, number, number]> {
  for (const ages of lists)
    for (let mask = 0; mask < 1 << ages.length; mask++) {
      let sum = 0;
      for (let i = 0; i < ages.length; i++) if (mask & (1 << i)) sum += ages[i]!;
      yield [ages, mask, SIZE[mask]!, sum];
    }
}

const told = (person: Person): string =>
  `${person.age} ${person.sex}${person.origin} ${person.married ? "married" : "single"}`;

/** In what share of the blocks each line of the questionnaire stands, the surest first; a line in all of them is certain. */
export function known(blocks: readonly (readonly Person[])[], as = told): [string, number][] {
  const seen = new Map<string, number>();
  for (const block of blocks) {
    const inside = new Map<string, number>();
    for (const person of block) {
      const number = inside.get(as(person)) ?? 0;
      inside.set(as(person), number + 1);
      const key = `${as(person)}#${number}`;
      seen.set(key, (seen.get(key) ?? 0) + 1);
    }
  }
  const sure = [...seen].map(([key, times]): [string, number] => [key.split("#")[0]!, times / blocks.length]);
  return sure.sort((a, b) => b[1] - a[1] || parseInt(a[0]) - parseInt(b[0]));
}
