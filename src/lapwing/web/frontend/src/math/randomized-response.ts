// Randomized response: the truth with probability gamma, otherwise a lie.
const Z = 1.959963984540054; // 95 % of a normal law lie within this many standard deviations

/** The probability of telling the truth, as large as epsilon allows. */
export const keep = (epsilon: number): number => 1 / (1 + Math.exp(-epsilon));

/** The same as two coins: the truth with this probability, otherwise a fair coin. */
export const alpha = (epsilon: number): number => Math.tanh(epsilon / 2);

/** The standard error of the estimated share for these respondents: only the coins are random. */
export const coinsError = (n: number, epsilon: number): number =>
  Math.sqrt((keep(epsilon) * (1 - keep(epsilon))) / n) / alpha(epsilon);

/** The share of yes behind the answers, with the ends of a 95 % interval for these respondents. */
export function estimate(yes: number, n: number, epsilon: number): [number, number, number] {
  const share = (yes / n - (1 - keep(epsilon))) / alpha(epsilon);
  const half = Z * coinsError(n, epsilon);
  return [share, share - half, share + half];
}

/** The half-width of the 95 % interval. */
export const within = (n: number, epsilon: number): number => Z * coinsError(n, epsilon);
