// Two neighbours whose answers lie `gap` apart, Laplace noise of one scale, and a threshold that tells them apart.

/** How likely a noisy answer is at or above the threshold. */
export const above = (threshold: number, centre: number, scale: number): number => {
  const away = (threshold - centre) / scale;
  return away > 0 ? Math.exp(-away) / 2 : 1 - Math.exp(away) / 2;
};

/** How much likelier an answer is if the truth is `gap` than if it is 0. */
export const ratio = (answer: number, gap: number, scale: number): number =>
  Math.exp((Math.abs(answer) - Math.abs(answer - gap)) / scale);

/** How often a threshold is right, if either truth is as likely. */
export const right = (threshold: number, gap: number, scale: number): number =>
  (above(threshold, gap, scale) + 1 - above(threshold, 0, scale)) / 2;

/** How often the best guess is right. */
export const best = (gap: number, scale: number): number => right(gap / 2, gap, scale);
