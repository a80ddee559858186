// Laplace noise of scale b.
export const density = (x: number, centre: number, scale: number): number =>
  Math.exp(-Math.abs(x - centre) / scale) / (2 * scale);

/** The half-width that the noise keeps to with this probability. */
export const within = (scale: number, probability: number): number => -scale * Math.log(1 - probability);
