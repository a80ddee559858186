// Numbers as people say them.
import { posterior } from "../math/odds.js";

/** The worst case of a fifty-fifty belief, out of 100. */
export function outOf(epsilon: number, about = "that you are in the data"): string {
  const hundred = Math.ceil(100 * posterior(epsilon, 0.5) - 1e-9); // rounded to where "at most" stays true
  const said = hundred >= 100 ? "more than 99" : String(hundred);
  return `Who would bet 50 out of 100 ${about} can at most come to bet ${said} out of 100.`;
}

export function percent(share: number, digits = 0): string {
  return `${(100 * share).toFixed(digits)} %`;
}
