// A secret cut in two: each share alone is as likely for every secret, and sums are taken share by share.

/** Who looks: the server that gets the mask, the one that gets what is missing to the secret, or both. */
export type Seat = "first" | "second" | "both";
/** A mask as it should be; one that prefers small numbers; one whose share is not brought back onto the ring. */
export type Mask = "fair" | "loaded" | "straight";

/** On a ring 0 comes after the last number. On a ring of two, adding is XOR. */
const around = (value: number, ring: number): number => ((value % ring) + ring) % ring;

/** The shares of both servers: the mask, and what is missing to the secret. */
export const split = (secret: number, mask: number, ring: number): [first: number, second: number] => [
  mask,
  around(secret - mask, ring),
];

/** What shares add up to: all shares of one server, or the sums of both. */
export const added = (shares: readonly number[], ring: number): number =>
  around(
    shares.reduce((sum, share) => sum + share, 0),
    ring,
  );

/** How likely each mask is, from 0 on. */
export function maskLaw(mask: Mask, ring: number): number[] {
  const weights = Array.from({ length: ring }, (_, value) => (mask === "loaded" ? ring - value : 1));
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / all);
}

/** What a seat sees of one secret and one mask. */
export function seen(secret: number, drawn: number, seat: Seat, mask: Mask, ring: number): number {
  if (seat === "both") return secret;
  return seat === "first" ? drawn : mask === "straight" ? secret - drawn : around(secret - drawn, ring);
}

/** All numbers that a seat could ever see. */
export function views(seat: Seat, mask: Mask, ring: number): number[] {
  const from = seat === "second" && mask === "straight" ? 1 - ring : 0;
  return Array.from({ length: ring - from }, (_, place) => from + place);
}

/** How likely each of them is for this secret. */
export function viewLaw(secret: number, seat: Seat, mask: Mask, ring: number): number[] {
  const values = views(seat, mask, ring);
  const law = new Array<number>(values.length).fill(0);
  maskLaw(mask, ring).forEach((chance, drawn) => {
    law[seen(secret, drawn, seat, mask, ring) - values[0]!]! += chance;
  });
  return law;
}

/** How often the best guess is right which of two secrets, as likely before, gave what is seen. */
export const bestGuess = (left: readonly number[], right: readonly number[]): number =>
  0.5 + left.reduce((sum, chance, place) => sum + Math.abs(chance - right[place]!), 0) / 4;
