// The seven dimensions along which the definition can be changed (Desfontaines and Pejó 2020), with some members of the family.
export type Strength = "weaker" | "stronger" | "other";
export interface Variant {
  /** What is said by somebody who needs it. */
  need: string;
  name: string;
  /** How it stands in the name of a combined definition. */
  part: string;
  who: string;
  changes: string;
  strength: Strength;
  mind: string;
}
export interface Dimension {
  letter: string;
  /** Its name in an address. */
  key: string;
  name: string;
  asks: string;
  usual: string;
  variants: Variant[];
}

export const DIMENSIONS: Dimension[] = [
  {
    letter: "Q",
    key: "loss",
    name: "Quantification of the loss",
    asks: "How is the loss summed up over all outputs?",
    usual: "the worst output counts",
    variants: [
      {
        need: "I can live with a tiny chance of a larger loss",
        name: "(ε, δ)-differential privacy",
        part: "(ε, δ)",
        who: "Dwork, Kenthapadi, McSherry, Mironov, Naor 2006",
        changes: "δ is a small additional probability by which the limit of ε may be exceeded.",
        strength: "weaker",
        mind: "δ must be far below one over the number of people. It allows Gaussian noise.",
      },
      {
        need: "I release hundreds of numbers, or train a model",
        name: "Rényi and zero-concentrated differential privacy",
        part: "zero-concentrated",
        who: "Mironov 2017; Bun, Steinke 2016",
        changes: "It limits an average of the loss over the outputs. The original limits the largest loss.",
        strength: "weaker",
        mind: "Add up the losses of many releases. Their sum is close to what all of them really lose. Convert it to (ε, δ) at the very end.",
      },
    ],
  },
  {
    letter: "N",
    key: "neighbours",
    name: "Neighbours",
    asks: "Which two data sets must look alike?",
    usual: "one person more or less",
    variants: [
      {
        need: "I hide single events, not all that a person did",
        name: "event-level differential privacy",
        part: "event-level",
        who: "Dwork, Naor, Pitassi, Rothblum 2010",
        changes: "Neighbours differ in one record of somebody who may have many.",
        strength: "weaker",
        mind: "A person with a hundred records is protected only by 100 ε.",
      },
      {
        need: "I hide households or other groups",
        name: "group differential privacy",
        part: "group",
        who: "Dwork 2006",
        changes: "Neighbours differ in up to k people.",
        strength: "stronger",
        mind: "Plain differential privacy with ε/k gives it, with k times the noise.",
      },
      {
        need: "My data are a network",
        name: "edge and node differential privacy",
        part: "edge-level",
        who: "Hay, Li, Miklau, Jensen 2009",
        changes: "Neighbours differ in one edge, or in one node with all its edges.",
        strength: "other",
        mind: "Edges hide a friendship, nodes a person. Nodes need far more noise.",
      },
      {
        need: "Only the label is secret, the features are known",
        name: "label differential privacy",
        part: "label",
        who: "Chaudhuri, Hsu 2011",
        changes: "Neighbours differ in the label of one record.",
        strength: "weaker",
        mind: "It does not hide that somebody is in the data, nor any feature.",
      },
    ],
  },
  {
    letter: "V",
    key: "variation",
    name: "Variation of the loss",
    asks: "Is the loss the same for everybody and everything?",
    usual: "one ε for all",
    variants: [
      {
        need: "People choose how much they want to be protected",
        name: "personalised differential privacy",
        part: "personalised",
        who: "Jorgensen, Yu, Cormode 2015",
        changes: "Everybody has an ε of their own.",
        strength: "other",
        mind: "The choice itself may tell something: the ε of a person must not depend on the secret.",
      },
      {
        need: "Near things must look alike, far ones need not",
        name: "d-privacy, for places: geo-indistinguishability",
        part: "distance-based",
        who: "Chatzikokolakis and others 2013; Andrés and others 2013",
        changes: "The loss grows with a distance: ε times the metres between two places.",
        strength: "other",
        mind: "Your street is hidden, your country is not. Choose the distance with care.",
      },
    ],
  },
  {
    letter: "B",
    key: "background",
    name: "Background knowledge",
    asks: "What does the adversary know already?",
    usual: "every record except that of one person",
    variants: [
      {
        need: "Nobody can know all other records",
        name: "noiseless privacy",
        part: "noiseless",
        who: "Bhaskar, Bhowmick, Goyal, Laxman, Thakurta 2011",
        changes: "The data are random to the adversary, and that randomness does the work of noise.",
        strength: "weaker",
        mind: "It rests on a guess about people you do not know, and two releases together may tell everything.",
      },
    ],
  },
  {
    letter: "F",
    key: "formalism",
    name: "Formalism",
    asks: "How is a gain of knowledge expressed?",
    usual: "as a ratio of probabilities of an output",
    variants: [
      {
        need: "I want to state what somebody believes before and after",
        name: "membership privacy",
        part: "membership",
        who: "Li, Qardaji, Su, Wu, Yang 2013",
        changes:
          "The probability that somebody is in the data may grow only by a limited factor, for every prior in a stated family.",
        strength: "other",
        mind: "The family decides how strong it is. For priors in which people are independent, it is the same as differential privacy.",
      },
    ],
  },
  {
    letter: "R",
    key: "relative",
    name: "Relative gain",
    asks: "The gain of knowledge is compared with what?",
    usual: "with a release without that person",
    variants: [
      {
        need: "The data of friends tell something about a person",
        name: "zero-knowledge privacy",
        part: "zero-knowledge",
        who: "Gehrke, Lui, Pass 2011",
        changes: "Everything that is learned could also be learned from statistics of a random sample.",
        strength: "stronger",
        mind: "For data in which people depend on each other, such as social networks.",
      },
      {
        need: "Something else leaks beside the release",
        name: "bounded leakage differential privacy",
        part: "bounded-leakage",
        who: "Ligett, Peale, Reingold 2020",
        changes: "The promise holds for an adversary who has seen the leak as well.",
        strength: "other",
        mind: "You must be able to write the leak down as a function.",
      },
    ],
  },
  {
    letter: "C",
    key: "computing",
    name: "Computing power",
    asks: "How much can the adversary compute?",
    usual: "without any limit",
    variants: [
      {
        need: "Cryptography takes the place of a trusted curator",
        name: "computational differential privacy",
        part: "computational",
        who: "Mironov, Pandey, Reingold, Vadhan 2009",
        changes: "The promise holds against everybody who computes in polynomial time.",
        strength: "weaker",
        mind: "It holds until somebody breaks the cryptography. Parties can compute on their data together, and none sees the data of another.",
      },
    ],
  },
];

/** For tests: letters, and how many variants each dimension has. */
export const summary = (): [string, number][] => DIMENSIONS.map(({ letter, variants }) => [letter, variants.length]);

/** What was chosen: for the key of every dimension 0 for the usual, otherwise which variant. */
export type Choice = Record<string, number>;

export const chosen = (choice: Choice): { dimension: Dimension; variant: Variant }[] =>
  DIMENSIONS.flatMap((dimension) => {
    const variant = dimension.variants[(choice[dimension.key] ?? 0) - 1];
    return variant ? [{ dimension, variant }] : [];
  });

/** The name of the combined definition. */
export function combined(choice: Choice): string {
  const parts = chosen(choice).map(({ variant }) => variant.part);
  if (!parts.length) return "ε-differential privacy";
  return `${parts.join(" ")} differential privacy`;
}

/** Compared with plain differential privacy: a change that weakens and one that strengthens cannot be set off against each other. */
export function strength(choice: Choice): Strength | "same" {
  const all = new Set(chosen(choice).map(({ variant }) => variant.strength));
  if (!all.size) return "same";
  return all.size === 1 ? [...all][0]! : "other";
}
