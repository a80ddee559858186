// Numbers as people say them.
import { posterior } from "../math/odds.js";

/** The worst case of a fifty-fifty belief. */
export function outOf(epsilon: number, about = "that you are in the data", when = "", except = ""): string {
  const hundred = Math.ceil(100 * posterior(epsilon, 0.5) - 1e-9); // rounded to where "at most" stays true
  return `${when ? `${when}, an` : "An"} attacker who was 50\u00a0% sure ${about} can become ${hundred >= 100 ? "more than 99" : `at most ${hundred}`}\u00a0% sure${except && ` (${except})`}.`;
}

/** A limit in percent, with more digits the closer it is to 0 or 1, rounded to where it stays true. */
export function limit(share: number, way: "up" | "down"): string {
  const edge = Math.min(share, 1 - share);
  if (edge > 0 && edge < 1e-5) return share < 0.5 ? "under 0.001\u00a0%" : "over 99.999\u00a0%";
  const scale = 10 ** (edge < 0.001 ? 3 : edge < 0.01 ? 2 : 1);
  const exact = 100 * scale * share; // doubles are right to about twelve digits
  return `${(way === "up" ? Math.ceil(exact - 1e-9) : Math.floor(exact + 1e-9)) / scale}\u00a0%`;
}

/** A share in percent, with more digits the closer it is to 0 or 1: never 100 % where it is less. */
export function share(value: number): string {
  const edge = Math.min(value, 1 - value);
  if (edge > 0 && edge < 1e-5) return value < 0.5 ? "under 0.001\u00a0%" : "over 99.999\u00a0%";
  return `${+(100 * value).toFixed(edge < 0.001 ? 3 : edge < 0.01 ? 2 : 1)}\u00a0%`;
}

export function percent(share: number, digits = 0): string {
  return `${(100 * share).toFixed(digits)}\u00a0%`;
}
