// Randomness of the browser's own generator; enough for pictures and games, never for a release of real data.

/** Strictly between 0 and 1. */
export function uniform(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number];
  return ((high >>> 5) * 2 ** 26 + (low >>> 6) + 0.5) / 2 ** 53;
}

export const coin = (probability = 0.5): boolean => uniform() < probability;

/** A whole number from 0 to below `count`. */
export const below = (count: number): number => Math.floor(uniform() * count);

export const exponential = (): number => -Math.log(uniform());

export const laplace = (scale: number): number => scale * (exponential() - exponential());

export const normal = (deviation: number): number =>
  deviation * Math.sqrt(2 * exponential()) * Math.cos(2 * Math.PI * uniform());

/** Many words of 32 random bits; the browser gives 65,536 bytes at a time. */
export function words(count: number): Uint32Array {
  const drawn = new Uint32Array(count);
  for (let from = 0; from < count; from += 1 << 14)
    crypto.getRandomValues(drawn.subarray(from, Math.min(count, from + (1 << 14))));
  return drawn;
}
