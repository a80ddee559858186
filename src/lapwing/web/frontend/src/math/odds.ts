// What epsilon means for a belief.

/** The largest belief that any release can lead to, from a belief beforehand. */
export const posterior = (epsilon: number, prior: number): number => {
  const odds = (Math.exp(epsilon) * prior) / (1 - prior);
  return Number.isFinite(odds) ? odds / (1 + odds) : 1;
};
