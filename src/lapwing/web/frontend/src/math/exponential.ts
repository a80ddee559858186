// Choosing one of several options, better ones more often: probabilities of two mechanisms.

/** The exponential mechanism: logarithms of the probabilities, which are proportional to e^(ε·score/(2Δ)). */
export function exponentialLogs(scores: readonly number[], epsilon: number, sensitivity: number): number[] {
  const coins = flips(scores, epsilon, sensitivity);
  const total = Math.log(coins.reduce((sum, one) => sum + Math.exp(one), 0));
  return coins.map((one) => one - total);
}

/**
 * Permute-and-flip: in random order, each option is taken with probability e^(−ε·gap/(2Δ)), gap being what it lacks of the best score.
 *
 * Let each option come at a time t, uniform in [0, 1]. It is taken if it lands and none before it did: q·∫ Π (1 − t·q_j) dt over the others.
 */
export function permuteAndFlipLogs(scores: readonly number[], epsilon: number, sensitivity: number): number[] {
  const coins = flips(scores, epsilon, sensitivity);
  return coins.map((coin, place) => {
    let powers = [1]; // of t
    coins.forEach((other, j) => {
      if (j === place) return;
      powers = Array.from(
        { length: powers.length + 1 },
        (_, i) => (powers[i] ?? 0) - Math.exp(other) * (powers[i - 1] ?? 0),
      );
    });
    return coin + Math.log(powers.reduce((sum, one, i) => sum + one / (i + 1), 0));
  });
}

/** Logarithms of the coins. */
function flips(scores: readonly number[], epsilon: number, sensitivity: number): number[] {
  const best = Math.max(...scores);
  return scores.map((score) => (epsilon * (score - best)) / (2 * sensitivity));
}

/** How far the chosen score is below the best, on average. */
export const lost = (scores: readonly number[], chances: readonly number[]): number =>
  scores.reduce((sum, score, i) => sum + (Math.max(...scores) - score) * chances[i]!, 0);

/** The largest factor between probabilities whose logarithms are given. */
export const factor = (some: readonly number[], others: readonly number[]): number =>
  Math.exp(Math.max(...some.map((one, i) => Math.abs(one - others[i]!))));

/** What bidders would pay in total, if each price in turn were the price. */
export const revenues = (prices: readonly number[], bids: readonly number[]): number[] =>
  prices.map((price) => price * bids.filter((bid) => bid >= price).length);
