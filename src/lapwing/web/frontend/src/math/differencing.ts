// What totals that differ by one person say about that person, exact and with noise.

/** Whether query-set-size control answers: neither too few people nor all but too few. */
export const answered = (members: number, people: number, smallest: number): boolean =>
  members >= smallest && members <= people - smallest;

/** The log of the odds that a value is 1 and not 0, from a difference with discrete Laplace noise of this scale. */
export const logOdds = (gap: number, scale: number): number => (Math.abs(gap) - Math.abs(gap - 1)) / scale;

/** The chance that it is 1, even odds beforehand. */
export const chance = (odds: number): number => 1 / (1 + Math.exp(-odds));

/** How often the best guess of a fair coin can be right at most, at this epsilon. */
export const bestGuess = (epsilon: number): number => 1 / (1 + Math.exp(-epsilon));

/** Discrete Laplace noise from two numbers between 0 and 1: the difference of two geometric ones. */
export function discreteLaplace(scale: number, first: number, second: number): number {
  const geometric = (part: number): number => Math.floor(-Math.log(part) * scale);
  return geometric(first) - geometric(second);
}
