// Discrete Laplace noise made of coins that two servers toss together, as in lapwing.pair.joint_noise.

/** Coins of one number: enough that no picture shows the rounding. */
export const BITS = 32;

/** How likely each coin is a one: the sign, then the binary digits of the magnitude, the lowest first. */
export function coinChances(epsilon: number): number[] {
  const chance = (exponent: number): number => 1 / (1 + Math.exp(exponent));
  const chances = [chance(epsilon)];
  for (let weight = 1; chance(weight * epsilon) * 2 ** BITS >= 1; weight *= 2) chances.push(chance(weight * epsilon));
  return chances;
}

/** A coin is a one if a uniform number of `BITS` bits is below this. */
export const thresholds = (epsilon: number): number[] =>
  coinChances(epsilon).map((chance) => Math.round(chance * 2 ** BITS));

/** The noise that the coins make: below zero all digits are negated, −1 − G. */
export function noiseOf([sign, ...digits]: readonly boolean[]): number {
  const magnitude = digits.reduce((sum, digit, place) => sum + (digit ? 2 ** place : 0), 0);
  return sign ? -1 - magnitude : magnitude;
}

/** How likely noise of −reach … reach is, from one draw or as the sum of two. */
export function noiseLaw(epsilon: number, reach: number, draws: 1 | 2): number[] {
  const ratio = Math.exp(-epsilon);
  const top = (1 - ratio) / (1 + ratio);
  return Array.from({ length: 2 * reach + 1 }, (_, place) => {
    const size = Math.abs(place - reach);
    const once = top * ratio ** size;
    return draws === 1 ? once : once * top * (size + (1 + ratio ** 2) / (1 - ratio ** 2));
  });
}

/** The noise is at most so far from zero, with 95 % confidence. */
export function halfWidth(epsilon: number, draws: 1 | 2): number {
  const reach = Math.ceil(40 / epsilon);
  const law = noiseLaw(epsilon, reach, draws);
  let inside = law[reach]!;
  let width = 0;
  while (inside < 0.95 && width < reach) {
    width += 1;
    inside += law[reach - width]! + law[reach + width]!;
  }
  return width;
}
