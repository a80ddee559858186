// Gaussian noise: how wide it must be for (ε, δ), and how it compares with Laplace noise over many answers. For noise on the continuous line.

/** The textbook's sigma. Proven for ε < 1 only. */
export const classical = (epsilon: number, delta: number): number => Math.sqrt(2 * Math.log(1.25 / delta)) / epsilon;

/** The δ at ε of Gaussian noise, for an answer that one person moves by 1: Φ(1/(2σ) − εσ) − e^ε·Φ(−1/(2σ) − εσ). */
export const delta = (sigma: number, epsilon: number): number =>
  Math.exp(logPhi(0.5 / sigma - epsilon * sigma)) - Math.exp(epsilon + logPhi(-0.5 / sigma - epsilon * sigma));

/** The smallest sigma (Balle and Wang 2018). */
export const analytic = (epsilon: number, wanted: number): number => least((sigma) => delta(sigma, epsilon) <= wanted);

/** The standard deviation of Gaussian noise on each of k answers, each of which one person moves by 1. */
export const gaussian = (k: number, epsilon: number, wanted: number): number => Math.sqrt(k) * analytic(epsilon, wanted);

/** The same for Laplace noise with all of epsilon split among the answers, and no delta. */
export const laplacePure = (k: number, epsilon: number): number => (Math.SQRT2 * k) / epsilon;

/**
 * The same for Laplace noise that may use the delta, too, a little more than would be needed: the better of two ways to count.
 * Each answer gets its part of ε and δ (the δ of one release at ε is 1 − e^((ε − 1/b)/2)), or all are counted together by Rényi's divergences.
 */
export function laplace(k: number, epsilon: number, wanted: number): number {
  const parts = 1 / (epsilon / k - 2 * Math.log1p(-wanted / k));
  if (k === 1) return Math.SQRT2 * parts;
  return Math.SQRT2 * Math.min(parts, least((scale) => laplaceEpsilon(scale, k, wanted) <= epsilon, 1e-6));
}

/** The number of answers from which on Gaussian noise is the smaller one. */
export function crossing(epsilon: number, wanted: number): number {
  const sigma = analytic(epsilon, wanted);
  for (let k = 1; k < 1000; k++) if (Math.sqrt(k) * sigma <= laplace(k, epsilon, wanted)) return k;
  return Infinity;
}

/** An ε at δ for k answers with Laplace noise: the best over all orders of Rényi's divergence. */
export function laplaceEpsilon(scale: number, k: number, wanted: number): number {
  const at = (x: number): number => {
    const order = 1 + Math.exp(x);
    return k * laplaceRenyi(scale, order) + Math.log1p(-1 / order) - Math.log(wanted * order) / (order - 1);
  };
  let [low, high] = [Math.log(1e-3), Math.log(1e5)];
  for (let i = 0; i < 40; i++) {
    const third = (high - low) / 3;
    if (at(low + third) < at(high - third)) high -= third;
    else low += third;
  }
  return Math.max(0, at((low + high) / 2));
}

/** Rényi's divergence between Laplace noise around 0 and around 1 (Mironov 2017, Table II). */
export function laplaceRenyi(scale: number, order: number): number {
  const near = order / (2 * order - 1);
  return 1 / scale + Math.log(near + (1 - near) * Math.exp(-(2 * order - 1) / scale)) / (order - 1);
}

/** The smallest number for which something holds that then always holds. */
function least(holds: (value: number) => boolean, precision = 1e-13): number {
  let [low, high] = [1e-6, 1];
  while (!holds(high)) [low, high] = [high, 2 * high];
  for (let i = 0; i < 200 && high - low > precision * high; i++) {
    const middle = low * 2 < high ? Math.sqrt(low * high) : (low + high) / 2;
    if (middle === low || middle === high) break;
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** ln Φ(z). */
export function logPhi(z: number): number {
  if (z > 0) return Math.log1p(-Math.exp(logPhi(-z)));
  const x = -z / Math.SQRT2;
  if (x < 2.2) return Math.log((1 - erf(x)) / 2);
  let fraction = x; // Laplace's continued fraction of erfc
  for (let n = 120; n > 0; n--) fraction = x + n / 2 / fraction;
  return -x * x - Math.log(2 * Math.sqrt(Math.PI) * fraction);
}

function erf(x: number): number {
  let term = x;
  let sum = x;
  for (let n = 1; term > 1e-18 * sum; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}
