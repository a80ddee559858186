// What the best reader of an ε-private answer can do: believe, set a premium, or test.
import { posterior } from "./odds.js";

/** The lowest belief that any release can leave. */
export const least = (epsilon: number, prior: number): number => 1 - posterior(epsilon, 1 - prior);

/** The highest belief in anything about a person, if without that person it would have been `apart`: the odds change by e^2ε. */
export const together = (epsilon: number, apart: number): number => posterior(2 * epsilon, apart);

/** How many of those present the best test can find, if it accuses a share `alarm` of those absent. */
export const power = (epsilon: number, delta: number, alarm: number): number =>
  Math.min(1, delta + Math.exp(epsilon) * alarm, Math.max(alarm, 1 - Math.exp(-epsilon) * (1 - delta - alarm)));

/** How many the best test finds from a count with Laplace noise of scale 1/ε. */
export const found = (epsilon: number, alarm: number): number => {
  if (alarm >= 0.5) return 1 - Math.exp(-epsilon) * (1 - alarm);
  return alarm <= Math.exp(-epsilon) / 2 ? Math.exp(epsilon) * alarm : 1 - Math.exp(-epsilon) / (4 * alarm);
};
