// The answer to a survey, randomised with exactly the stated odds: whole numbers only. The same random words give the
// same report as the scalar code of the library: RandomizedResponse, KaryResponse, and StochasticRounding's two draws.
import { below, fresh, respond, type Words } from "./response.js";

export interface Plan {
  kind: "yes-no" | "choice" | "number";
  /** As they are shown; none if a number is asked for. */
  answers: string[];
  low: string;
  high: string;
  /** The probability that the truth is sent: numerator and denominator. */
  keep: [string, string];
  /** How the bytes of every report begin, as hexadecimal digits. */
  head: string;
}

/** One turn of a wheel: how much of its rim stands for "yes", where it stopped, and whether that is there. */
export interface Turn {
  what: "keep" | "round" | "draw";
  share: number;
  at: number;
  hit: boolean;
}

export interface Randomised {
  /** What is sent: 1 or 0 for yes or no and for the upper or the lower bound, the place of the answer in a list. */
  value: number;
  turns: Turn[];
}

/** Levels of a number between its bounds, as in lapwing.crowd.numeric. */
export const LEVELS = 1n << 30n;

export type Ratio = readonly [bigint, bigint];
const share = ([numerator, denominator]: Ratio): number => Number((numerator << 53n) / denominator) / 2 ** 53;

/** A decimal number exactly, as people and browsers write it; null for anything else. */
export function decimal(text: string): Ratio | null {
  const found = /^([-−]?)(\d{0,40})(?:[.,](\d{0,40}))?(?:e([+-]?\d{1,2}))?$/i.exec(text.trim());
  if (!found || !(found[2] || found[3])) return null;
  const fraction = found[3] ?? "";
  const power = Number(found[4] ?? 0) - fraction.length;
  const digits = BigInt(`${found[2]}${fraction}`) * (found[1] ? -1n : 1n);
  return power >= 0 ? [digits * 10n ** BigInt(power), 1n] : [digits, 10n ** BigInt(-power)];
}

/** How far between the bounds a number lies, in whole levels: cut to the bounds, and rounded. */
export function level(text: string, low: string, high: string): bigint | null {
  const [x, a, b] = [decimal(text), decimal(low), decimal(high)];
  return x && a && b && levelBetween(x, a, b);
}

/** The same for fractions. */
export function levelBetween(x: Ratio, a: Ratio, b: Ratio): bigint {
  const above = (x[0] * a[1] - a[0] * x[1]) * b[1]; // over x[1]·a[1]·b[1]
  const width = (b[0] * a[1] - a[0] * b[1]) * x[1]; // over the same
  if (above <= 0n) return 0n;
  if (above >= width) return LEVELS;
  return (2n * above * LEVELS + width) / (2n * width);
}

/** A uniform whole number from 0 to below `count`: the highest bits of a word, until they fit. */
export function uniform(count: number, words: Words): number {
  const width = BigInt(count - 1).toString(2).length;
  if (count === 1) return 0;
  for (;;) {
    const value = Number(words() >> BigInt(64 - width));
    if (value < count) return value;
  }
}

/**
 * The report for a true answer: its place among the answers, or a number as text. Nothing is decided by the turns that
 * are given back: they are for showing what happened.
 */
export function randomise(plan: Plan, truth: number | string, words: Words = fresh): Randomised {
  const keep: Ratio = [BigInt(plan.keep[0]), BigInt(plan.keep[1])];
  const odds = { numerator: keep[0], denominator: keep[1] };
  let first: bigint | undefined;
  const seen: Words = () => {
    const word = words();
    first ??= word;
    return word;
  };
  const stopped = (): number => {
    const at = Number((first ?? 0n) >> 11n) / 2 ** 53;
    first = undefined;
    return at;
  };
  if (plan.kind === "yes-no") {
    const yes = truth === 0;
    const sent = respond(yes, seen, odds);
    return { value: Number(sent), turns: [{ what: "keep", share: share(keep), at: 1 - stopped(), hit: sent === yes }] };
  }
  if (plan.kind === "choice") {
    const kept = below(...keep, seen);
    const turns: Turn[] = [{ what: "keep", share: share(keep), at: stopped(), hit: kept }];
    if (kept) return { value: Number(truth), turns };
    const others = plan.answers.length - 1;
    const value = (Number(truth) + 1 + uniform(others, seen)) % plan.answers.length;
    return { value, turns: [...turns, { what: "draw", share: 1 / others, at: 0, hit: true }] };
  }
  const stands = level(String(truth), plan.low, plan.high);
  if (stands === null) throw new RangeError("not a number");
  const up = seen() >> 34n < stands;
  const rounded: Turn = { what: "round", share: share([stands, LEVELS]), at: stopped(), hit: up };
  const sent = respond(up, seen, odds);
  return {
    value: Number(sent),
    turns: [rounded, { what: "keep", share: share(keep), at: 1 - stopped(), hit: sent === up }],
  };
}

/** The bytes of a report, as hexadecimal digits: what lapwing.crowd.Reports reads. */
export function report(plan: Plan, value: number): string {
  return plan.head + value.toString(16).padStart(2, "0");
}

/** How far an estimate is off at most, with 95 % confidence, as a share of everybody or of the distance of the bounds. */
export function expectedError(kind: Plan["kind"], answers: number, epsilon: number, people: number): number {
  const others = kind === "choice" ? answers - 1 : 1;
  const keep = 1 / (1 + others * Math.exp(-epsilon));
  const flip = (1 - keep) / others;
  const likely = Math.min(keep, 0.5);
  return (1.96 * Math.sqrt((likely * (1 - likely)) / people)) / (keep - flip);
}

/** The smallest epsilon with which the error is no larger, or null if even the largest is not enough. */
export function epsilonFor(
  kind: Plan["kind"],
  answers: number,
  error: number,
  people: number,
  from = 0.01,
  to = 10,
): number | null {
  if (expectedError(kind, answers, to, people) > error) return null;
  let [low, high] = [Math.log(from), Math.log(to)];
  if (expectedError(kind, answers, from, people) <= error) return from;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (expectedError(kind, answers, Math.exp(middle), people) <= error) high = middle;
    else low = middle;
  }
  return Math.exp(high);
}

/** For comparisons: the value, the report and how many bytes were used, from given bytes, eight to a word. */
export function fromBytes(plan: Plan, truth: number | string, bytes: string): [number, string, number] {
  let used = 0;
  const words: Words = () => BigInt(`0x${bytes.slice(2 * used, 2 * (used += 8))}`);
  const { value } = randomise(plan, truth, words);
  return [value, report(plan, value), used];
}

/**
 * For audits: how often each value comes up over all random words that differ in their first `digits` bits, and for a
 * draw among others over all of those, too. With odds of that many binary digits these are the exact probabilities.
 */
export function law(plan: Plan, truth: number | string, digits: number): number[] {
  const counts = new Array<number>(plan.kind === "choice" ? plan.answers.length : 2).fill(0);
  const others = plan.kind === "choice" ? plan.answers.length - 1 : plan.kind === "number" ? 1 << 10 : 1;
  const width = plan.kind === "number" ? 10 : Math.max(1, BigInt(others - 1).toString(2).length);
  for (let one = 0; one < 2 ** digits; one++)
    for (let other = 0; other < others; other++) {
      const [coin, draw] = [BigInt(one) << BigInt(64 - digits), BigInt(other) << BigInt(64 - width)];
      const given = plan.kind === "number" ? [draw, coin] : [coin, draw];
      const { value } = randomise(plan, truth, () => given.shift() as bigint);
      counts[value] = (counts[value] as number) + 1;
    }
  return counts;
}

/** For audits: how often each value comes up with the browser's own generator. */
export function sample(plan: Plan, truth: number | string, count: number): number[] {
  const counts = new Array<number>(plan.kind === "choice" ? plan.answers.length : 2).fill(0);
  for (let i = 0; i < count; i++) {
    const { value } = randomise(plan, truth);
    counts[value] = (counts[value] as number) + 1;
  }
  return counts;
}

/** For tests: whether a text is taken for a number. */
export const readable = (text: string): boolean => decimal(text) !== null;
