// RAPPOR: the bits of an answer, noise that stays, fresh noise in every report, and what they cost. The library's `crowd/rappor.py`.
import { cellOf } from "./hashing.js";

export interface Parameters {
  bits: number;
  hashes: number;
  /** Permanent noise f: so often a bit is replaced by a fair coin, for ever. */
  f: number;
  /** A bit of a report is one with probability p if it is zero in the permanent response, with q if it is one. */
  p: number;
  q: number;
}

/** Which bits an answer sets: one for each hash function of the cohort. Two functions may agree. */
export const places = (text: string, cohort: number, { bits, hashes }: Parameters, salt = ""): number[] =>
  Array.from({ length: hashes }, (_, i) => cellOf(text, salt, cohort * hashes + i, bits));

/** That a bit is one in the permanent response. */
export const permanent = (set: boolean, f: number): number => (set ? 1 - f / 2 : f / 2);

/** That a bit is one in a report: q* or p*. */
export const reported = (set: boolean, { f, p, q }: Parameters): number =>
  permanent(set, f) * q + (1 - permanent(set, f)) * p;

/** What one report costs by itself, at most. */
export const reportLoss = (given: Parameters): number =>
  given.hashes * (logit(reported(true, given)) - logit(reported(false, given)));

/** What any number of reports about the same answer cost together, at most. */
export const lifetimeLoss = ({ hashes, f }: Parameters): number =>
  hashes * (logit(permanent(true, f)) - logit(permanent(false, f)));

const logit = (x: number): number => Math.log(x / (1 - x));
