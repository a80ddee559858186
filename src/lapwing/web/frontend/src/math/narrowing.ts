// What an adversary believes about a count from 0 to `most` after some noisy answers, having thought all counts as likely.

/** The lowest and highest count that answers with whole noise from -width to width leave. */
export const left = (answers: readonly number[], width: number, most: number): [number, number] => [
  Math.max(0, ...answers.map((answer) => answer - width)),
  Math.min(most, ...answers.map((answer) => answer + width)),
];

export const bounded = (answers: readonly number[], width: number, most: number): number[] => {
  const [low, high] = left(answers, width, most);
  return Array.from({ length: most + 1 }, (_, count) => (count >= low && count <= high ? 1 / (high - low + 1) : 0));
};

/** The same for whole-numbered Laplace noise, whose probabilities fall by e^ε with every step. */
export const laplace = (answers: readonly number[], epsilon: number, most: number): number[] => {
  const logs = Array.from(
    { length: most + 1 },
    (_, count) => -epsilon * answers.reduce((sum, answer) => sum + Math.abs(answer - count), 0),
  );
  const top = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - top));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
};

/** How likely it is that bounded noise has shown both its edges. */
export const certain = (width: number, answers: number): number => {
  const values = 2 * width + 1;
  return 1 - 2 * (1 - 1 / values) ** answers + (1 - 2 / values) ** answers;
};

/**
 * The width of uniform noise that is off by about as much, on average, as whole-numbered Laplace noise of this epsilon: w(w+1)/(2w+1) is nearest to
 * 1/sinh ε.
 */
export const alike = (epsilon: number): number => {
  const off = 1 / Math.sinh(epsilon);
  return Math.max(1, Math.round(off - 0.5 + Math.sqrt(off * off + 0.25)));
};
