// The two errors of a published share: of the sample, and of the noise. And what a budget buys.
const Z = 1.959963984540054; // 95 % of a normal law lie within this many standard deviations
const TAIL = Math.log(20); // 95 % of Laplace noise lie within this many scales

/** How far a share may be off because only some people were asked (with 95 % confidence). */
export const samplingError = (share: number, n: number): number => Z * Math.sqrt((share * (1 - share)) / n);

/** How far it may be off because of noise on the count, if so many questions share epsilon. */
export const noiseError = (n: number, epsilon: number, questions = 1): number => (TAIL * questions) / (epsilon * n);

/** The number of people from which on the sample is the larger of the two. */
export const crossing = (share: number, epsilon: number, questions = 1): number =>
  ((TAIL * questions) / (epsilon * Z)) ** 2 / (share * (1 - share));

/** How many of n answers one could lose instead: the variance of the share would be the same. */
export function lostAnswers(share: number, n: number, epsilon: number, questions = 1): number {
  const noise = (2 * (questions / epsilon) ** 2) / (share * (1 - share));
  return (n * noise) / (n + noise);
}

/** How likely an event may become, and how unlikely, because somebody takes part: from its chance without them. */
export const chances = (chance: number, epsilon: number): [number, number] => [
  Math.max(Math.exp(-epsilon) * chance, 1 - Math.exp(epsilon) * (1 - chance)),
  Math.min(Math.exp(epsilon) * chance, 1 - Math.exp(-epsilon) * (1 - chance)),
];

/** How far a count may be off (with 95 % confidence) at this epsilon. */
export const countError = (epsilon: number): number => TAIL / epsilon;

/** The epsilon that a count within this error costs. */
export const priceOf = (within: number): number => TAIL / within;

/** Errors of counts, one question after the other, if each gets an equal part of epsilon. */
export const planned = (epsilon: number, questions: number): number[] =>
  Array.from({ length: questions }, () => countError(epsilon / questions));

/** … if each gets half of what is left. */
export const halved = (epsilon: number, questions: number): number[] =>
  Array.from({ length: questions }, (_, i) => countError(epsilon / 2 ** (i + 1)));

/** … if each must be within the same error: as many as epsilon pays for. */
export const affordable = (epsilon: number, within: number): number => Math.floor(epsilon / priceOf(within) + 1e-9);
