// Gaussian noise: how wide it must be for (ε, δ), and how it compares with Laplace noise over many answers. For noise on the continuous line.

/** The textbook's sigma. Proven for ε < 1 only. */
export const classical = (epsilon: number, delta: number): number => Math.sqrt(2 * Math.log(1.25 / delta)) / epsilon;

/** The δ at ε of Gaussian noise, for an answer that one person moves by 1: Φ(1/(2σ) − εσ) − e^ε·Φ(−1/(2σ) − εσ). */
export const delta = (sigma: number, epsilon: number): number =>
  Math.exp(logPhi(0.5 / sigma - epsilon * sigma)) - Math.exp(epsilon + logPhi(-0.5 / sigma - epsilon * sigma));

/** The smallest sigma (Balle and Wang 2018). */
export const analytic = (epsilon: number, wanted: number): number => least((sigma) => delta(sigma, epsilon) <= wanted);

/** The standard deviation of Gaussian noise on each of k answers, each of which one person moves by 1. */
export const gaussian = (k: number, epsilon: number, wanted: number): number =>
  Math.sqrt(k) * analytic(epsilon, wanted);

/** The same for Laplace noise with all of epsilon split among the answers, and no delta. */
export const laplacePure = (k: number, epsilon: number): number => (Math.SQRT2 * k) / epsilon;

/** The same for Laplace noise that may use the delta, too. One release at ε has a δ of 1 − e^((ε − 1/b)/2), so that splitting both is always enough. */
export function laplace(k: number, epsilon: number, wanted: number): number {
  let high = 1 / (epsilon / k - 2 * Math.log1p(-wanted / k));
  if (k === 1) return Math.SQRT2 * high;
  high = Math.min(high, 1.05 * gaussian(k, epsilon, wanted)); // Laplace noise is never wider than √2 times the Gaussian
  let low = high / 2;
  let [much, little] = [laplaceDelta(low, k, epsilon), laplaceDelta(high, k, epsilon)];
  for (let i = 0; i < 16 && high - low > 2e-4 * high; i++) {
    const part = Math.log(wanted / much) / Math.log(little / much); // a straight line through the logarithms, where there are any
    const middle = low + (high - low) * (i % 3 < 2 && part > 0.01 && part < 0.99 ? part : 0.5);
    const found = laplaceDelta(middle, k, epsilon);
    if (Math.abs(found / wanted - 1) < 1e-3) return Math.SQRT2 * middle;
    if (found <= wanted) [high, little] = [middle, found];
    else [low, much] = [middle, found];
  }
  return Math.SQRT2 * high;
}

/** The number of answers from which on Gaussian noise is the smaller one. */
export function crossing(epsilon: number, wanted: number): number {
  const sigma = analytic(epsilon, wanted);
  const smaller = (k: number): boolean => Math.sqrt(k) * sigma <= laplace(k, epsilon, wanted);
  let [low, high] = [0, 1];
  while (!smaller(high)) [low, high] = [high, 2 * high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (smaller(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * The δ at ε of k answers with Laplace noise, from the distribution of their privacy loss L.
 *
 * It is E[(1 − e^(ε−L))⁺], and (1 − e^−x)⁺ has the Laplace transform 1/(z(z+1)), so δ = 1/(2πi)·∫ E[e^(zL)]^k·e^(−zε)/(z(z+1)) dz along any line to the
 * right of 0, summed by the midpoint rule on the line where the integrand is smallest. It repeats with period π·scale, ever smaller; a few periods do.
 */
function laplaceDelta(scale: number, k: number, epsilon: number): number {
  const one = 1 / scale;
  if (k * one <= epsilon) return 0;
  const size = (x: number): number =>
    k * logMoment(Math.exp(x), 0, one)[0] - Math.exp(x) * epsilon - x - Math.log1p(Math.exp(x));
  let [low, high] = [Math.log(1e-2), Math.log(1e5)];
  for (let i = 0; i < 30; i++) {
    const third = (high - low) / 3;
    if (size(low + third) < size(high - third)) high -= third;
    else low += third;
  }
  const c = Math.exp((low + high) / 2);
  const periods = Math.max(2, Math.min(8, Math.round(60 / Math.sqrt(k)))) + 0.5;
  const step = 0.4 / (one * Math.sqrt(k));
  let sum = 0;
  for (let y = step / 2; y < (periods * Math.PI) / one; y += step) {
    const [log, angle] = logMoment(c, y, one);
    const below = Math.log((c * c + y * y) * ((c + 1) ** 2 + y * y)) / 2;
    const turned = k * angle - y * epsilon - Math.atan2(y, c) - Math.atan2(y, c + 1);
    sum += Math.exp(k * log - c * epsilon - below) * Math.cos(turned);
  }
  return (sum * step) / Math.PI;
}

/** ln E[e^(zL)] for the loss L of one answer and z = x + iy, as length and angle: zε + ln((z+1 + z·e^(−(2z+1)ε))/(2z+1)). */
function logMoment(x: number, y: number, one: number): [number, number] {
  const shrunk = Math.exp(-(2 * x + 1) * one);
  const [cos, sin] = [shrunk * Math.cos(2 * y * one), -shrunk * Math.sin(2 * y * one)];
  const real = x + 1 + x * cos - y * sin;
  const imaginary = y + x * sin + y * cos;
  return [
    x * one + Math.log((real * real + imaginary * imaginary) / ((2 * x + 1) ** 2 + 4 * y * y)) / 2,
    y * one + Math.atan2(imaginary, real) - Math.atan2(2 * y, 2 * x + 1),
  ];
}

/** The smallest number for which something holds that then always holds. */
function least(holds: (value: number) => boolean): number {
  let [low, high] = [1e-6, 1];
  while (!holds(high)) [low, high] = [high, 2 * high];
  for (let i = 0; i < 200 && high - low > 1e-13 * high; i++) {
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
