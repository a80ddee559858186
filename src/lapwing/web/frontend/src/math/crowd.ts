// One report among many without names: how well the answer of one person can be guessed by somebody who knows all others.
import { posterior } from "./odds.js";

/** How likely each number of yes is among the reports of `people`, of whom `yes` would truly say yes, at a local loss ε. */
export function yesLaw(people: number, yes: number, epsilon: number): number[] {
  const truth = posterior(epsilon, 0.5);
  let law = [1];
  for (let person = 0; person < people; person++) {
    const says = person < yes ? truth : 1 - truth;
    const next = new Array<number>(law.length + 1).fill(0);
    law.forEach((chance, count) => {
      next[count]! += chance * (1 - says);
      next[count + 1]! += chance * says;
    });
    law = next;
  }
  return law;
}

/** How often the best guess is right that sees the number of yes alone: ½ more by the height of the law of all others. */
export const foundInCrowd = (law: readonly number[], epsilon: number): number =>
  0.5 + (posterior(epsilon, 0.5) - 0.5) * Math.max(...law);

/** The best guess: yes if so many are likelier with one more yes than without. */
export const guessFromCount = (law: readonly number[], count: number): boolean =>
  (law[count - 1] ?? 0) >= (law[count] ?? 0);
