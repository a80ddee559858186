// Numbers as people say them.
import { posterior } from "../math/odds.js";

/** The worst case of a fifty-fifty belief. */
export function outOf(epsilon: number, about = "that you are in the data", when = "", except = ""): string {
  const hundred = Math.ceil(100 * posterior(epsilon, 0.5) - 1e-9); // rounded to where "at most" stays true
  return `${when ? `${when}, an` : "An"} attacker who was 50\u00a0% sure ${about} can become ${hundred >= 100 ? "more than 99" : `at most ${hundred}`}\u00a0% sure${except && ` (${except})`}.`;
}

export function percent(share: number, digits = 0): string {
  return `${(100 * share).toFixed(digits)}\u00a0%`;
}
