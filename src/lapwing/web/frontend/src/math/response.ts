// A yes or no with exactly stated odds: whole numbers only, so the odds are those that are promised, not nearly.
// The same as lapwing.mechanisms.RandomizedResponse for one answer: the same random words give the same bit.

/** 64 fresh random bits at a time. */
export type Words = () => bigint;

const WORD = 64n;

/** From the browser's own generator, which is made for secrets. */
export const fresh: Words = () => crypto.getRandomValues(new BigUint64Array(1))[0] as bigint;

/**
 * Whether a uniform number of [0, 1) lies below numerator/denominator. Of the number only those bits are drawn that
 * decide it: it lies in [value, value + 1) / 2^bits, and more are drawn until that is on one side.
 */
export function below(numerator: bigint, denominator: bigint, words: Words): boolean {
  let value = words();
  for (let bits = WORD; ; bits += WORD) {
    const scaled = numerator << bits;
    const low = scaled / denominator;
    if (value < low) return true;
    if (value >= (scaled % denominator ? low + 1n : low)) return false;
    value = (value << WORD) | words();
  }
}

export interface Odds {
  numerator: bigint;
  denominator: bigint;
}

/** How often the truth is told. The school refuses votes that were randomised with other odds. */
export const TRUTH: Odds = { numerator: 5n, denominator: 8n };

/** The answer, turned round with the probability that the odds leave. */
export function respond(truth: boolean, words: Words = fresh, odds: Odds = TRUTH): boolean {
  return below(odds.denominator - odds.numerator, odds.denominator, words) !== truth;
}

/** Every vote may cost ln(5/3); so many together cost no more than 8. */
export const MOST_VOTES = 15;

/** For comparisons: answers from given bytes, eight to a word, the first the highest; and how many bytes were used. */
export function responses(
  truths: boolean[],
  numerator: number,
  denominator: number,
  bytes: number[],
): [boolean[], number] {
  let used = 0;
  const words: Words = () => bytes.slice(used, (used += 8)).reduce((word, byte) => (word << 8n) | BigInt(byte), 0n);
  const odds = { numerator: BigInt(numerator), denominator: BigInt(denominator) };
  return [truths.map((truth) => respond(truth, words, odds)), used];
}

/** For audits: fresh answers with the odds of votes, as ones and zeros. */
export function sample(truth: boolean, count: number): string {
  return Array.from({ length: count }, () => Number(respond(truth))).join("");
}

/** For comparisons: the odds and the most votes, as text. */
export const stated = (): [string, number] => [`${TRUTH.numerator}/${TRUTH.denominator}`, MOST_VOTES];
