// How far the answers of different mechanisms are off: half-widths that hold with 95 % confidence. Neighbours: one person is replaced.
import { analytic, laplace } from "./gaussian.js";
import { localLoss } from "./shuffling.js";

export const DELTA = 1e-9;
export const OPTIONS = 100; // categories, or candidates to choose from
const Z = 1.959963984540054; // 95 % of a normal law
const Z_ALL = 3.480756404346212; // all of 100 normal numbers at once (Bonferroni)

/** Laplace noise on numbers of which one person can change so many, each by 1. */
export const laplaceWithin = (epsilon: number, changes: number): number => (changes / epsilon) * Math.log(20);

/** The same where a delta is allowed, which saves much for many numbers. */
const laplaceDeltaWithin = (epsilon: number, changes: number): number =>
  (laplace(changes, epsilon, DELTA) / Math.SQRT2) * Math.log(20);

/** Gaussian noise, with a delta. */
export const gaussianWithin = (epsilon: number, changes: number, z = Z): number =>
  z * analytic(epsilon, DELTA) * Math.sqrt(changes);

/** Variance of one person's part in an estimated count of a category, from a report that shows it with probability p if true, else q. */
const coins = (share: number, p: number, q: number): number =>
  ((1 - share) * q * (1 - q) + share * p * (1 - p)) / (p - q) ** 2;

/** Yes or no: the worst share does not matter. */
export const responseVariance = (epsilon: number): number => Math.exp(epsilon) / Math.expm1(epsilon) ** 2;

/** Optimized unary encoding: a bit for each category, shown truly with ½, else with 1/(1 + e^ε). */
export const unaryVariance = (epsilon: number, share: number): number => coins(share, 0.5, 1 / (1 + Math.exp(epsilon)));

/** The true category with e^ε times the probability of any other. */
export const categoryVariance = (epsilon: number, options: number, share: number): number =>
  coins(share, Math.exp(epsilon) / (Math.exp(epsilon) + options - 1), 1 / (Math.exp(epsilon) + options - 1));

/** One bit of a number between 0 and 1, rounded at random: the worst case, all numbers in the middle. */
export const bitVariance = (epsilon: number): number => ((Math.exp(epsilon) + 1) / Math.expm1(epsilon)) ** 2 / 4;

/** The exponential mechanism among `options` counts: how far the chosen one is behind. */
export function exponentialWithin(epsilon: number, options: number): number {
  return Math.max(0, Math.ceil((2 / epsilon) * Math.log(19 * (options - 1))) - 1);
}

/** Permute-and-flip: the same question. */
export function flipWithin(epsilon: number, options: number): number {
  const rarely = (steps: number): boolean => {
    const x = Math.exp((-(steps + 1) * epsilon) / 2);
    const land = x < 1 ? -Math.expm1(options * Math.log1p(-x)) : 1;
    return options * x > 1e-6 ? 1 - land / (options * x) <= 0.05 : (options * x) / 2 <= 0.05;
  };
  let high = 1;
  while (!rarely(high)) high *= 2;
  let low = -1;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (rarely(middle)) high = middle;
    else low = middle;
  }
  return high;
}

export type Kind = "count" | "histogram" | "mean" | "best";
export type Trust = "curator" | "shuffler" | "nobody";
export interface Candidate {
  name: string;
  /** As a share of all people, or of the range of the numbers. */
  error: number;
}

/** What fits, the smallest error first. */
export function candidates(kind: Kind, trust: Trust, queries: number, people: number, epsilon: number): Candidate[] {
  const found =
    trust === "curator"
      ? central(kind, queries, people, epsilon)
      : local(kind, queries, people, trust === "nobody" ? epsilon : localLoss(epsilon, people, DELTA));
  return found.sort((a, b) => a.error - b.error);
}

function central(kind: Kind, queries: number, people: number, epsilon: number): Candidate[] {
  const changes = kind === "histogram" || kind === "best" ? 2 * queries : queries; // a replaced person leaves one cell and enters another
  if (kind === "best")
    return [
      { name: "Permute-and-flip", error: flipWithin(epsilon / queries, OPTIONS) / people },
      { name: "Exponential", error: exponentialWithin(epsilon / queries, OPTIONS) / people },
      { name: "Gaussian noise on all counts", error: (2 * gaussianWithin(epsilon, changes, Z_ALL)) / people },
    ];
  const pure = { name: "Laplace", error: laplaceWithin(epsilon, changes) / people };
  const delta = { name: "Laplace with a δ", error: laplaceDeltaWithin(epsilon, changes) / people };
  const normal = { name: "Gaussian", error: gaussianWithin(epsilon, changes) / people };
  return delta.error < 0.999 * pure.error ? [pure, delta, normal] : [pure, normal]; // for few numbers a delta does not help
}

/** Everybody answers all questions with a part of ε each, or one question, drawn at random, with all of it. */
function local(kind: Kind, queries: number, people: number, epsilon: number): Candidate[] {
  const share = kind === "histogram" || kind === "best" ? 1 / OPTIONS : 0.5;
  const wide = kind === "best" ? 2 * Z_ALL : Z;
  const protocols: [string, (loss: number) => number][] = {
    count: [["Randomized response", responseVariance] as [string, (loss: number) => number]],
    mean: [["One random bit", bitVariance] as [string, (loss: number) => number]],
    histogram: categories(share),
    best: categories(share),
  }[kind];
  return protocols.flatMap(([name, variance]) => {
    const drawn = share * (1 - share) * (1 - 1 / queries); // who is asked varies too
    const one = {
      name: queries > 1 ? `${name}, one question each` : name,
      error: wide * Math.sqrt(((variance(epsilon) + drawn) * queries) / people),
    };
    const all = { name: `${name}, all questions`, error: wide * Math.sqrt(variance(epsilon / queries) / people) };
    return queries > 1 ? [one, all] : [one];
  });
}

const categories = (share: number): [string, (loss: number) => number][] => [
  ["Unary encoding", (loss) => unaryVariance(loss, share)],
  ["Category response", (loss) => categoryVariance(loss, OPTIONS, share)],
];

/** Half-width of an estimated share in the three models, and of the sample itself. */
export function models(
  people: number,
  epsilon: number,
): { central: number; shuffled: number; local: number; sample: number } {
  return {
    central: laplaceWithin(epsilon, 1) / people,
    shuffled: Z * Math.sqrt(responseVariance(localLoss(epsilon, people, DELTA)) / people),
    local: Z * Math.sqrt(responseVariance(epsilon) / people),
    sample: Z * Math.sqrt(0.25 / people),
  };
}
