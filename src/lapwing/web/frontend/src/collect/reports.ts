// One report, randomised here with exactly the odds of the signed file: whole numbers only.
import { below, fresh, type Words } from "../math/response.js";
import { decimal, LEVELS, levelBetween, type Ratio, uniform } from "../math/survey.js";
import { type Bytes, fromHex, joined, little, utf8 } from "./bytes.js";
import type { Collection } from "./collection.js";
import { ratio } from "./lifetime.js";

/** An answer: its place in the domain, yes or no, a number as text; null for none. */
export type Answer = number | boolean | string | null;

/** What a browser can answer; other protocols need another client. */
export const KNOWN = ["BinaryResponse", "CategoryResponse", "StochasticRounding", "UnaryEncoding"];

const coin = (odds: Ratio, words: Words): boolean => below(odds[0], odds[1], words);

/** The level of a number between its bounds; the middle for none. */
function levelOf(answer: Answer, low: Ratio, high: Ratio): bigint {
  const x = answer === null ? null : decimal(String(answer));
  return x ? levelBetween(x, low, high) : LEVELS / 2n;
}

/** Bits of one column, lowest first, in whole bytes. */
function packed(bits: boolean[]): Bytes {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, place) => {
    if (bit) bytes[place >> 3] = (bytes[place >> 3] as number) | (1 << (place & 7));
  });
  return bytes;
}

/** The words of a domain, in order and as the library writes them; numbers for a domain that is only a size. */
export function domainOf(collection: Collection): string[] {
  const domain = collection.protocol.domain as unknown;
  return Array.isArray(domain)
    ? domain.map((word) => (typeof word === "boolean" ? (word ? "True" : "False") : String(word)))
    : Array.from({ length: Number(domain ?? 0) }, (_, place) => String(place));
}

function columns(protocol: Record<string, unknown>, size: number, answer: Answer, words: Words): Bytes {
  switch (protocol.protocol) {
    case "BinaryResponse":
      return packed([coin(ratio(answer === true ? protocol.yes_if_yes : protocol.yes_if_no), words)]);
    case "UnaryEncoding": {
      const odds = [ratio(protocol.one_if_other), ratio(protocol.one_if_true)] as const;
      return packed(Array.from({ length: size }, (_, place) => coin(odds[Number(place === answer)] as Ratio, words)));
    }
    case "CategoryResponse": {
      const width = Math.max(1, BigInt(size - 1).toString(2).length);
      const known = typeof answer === "number" && answer >= 0 && answer < size;
      const place = !known
        ? uniform(size, words)
        : coin(ratio(protocol.keep), words)
          ? answer
          : (answer + 1 + uniform(size - 1, words)) % size;
      return packed(Array.from({ length: width }, (_, bit) => ((place >> bit) & 1) === 1));
    }
    case "StochasticRounding": {
      const [low, high] = protocol.bounds as [unknown, unknown];
      const up = words() >> 34n < levelOf(answer, ratio(low), ratio(high));
      return packed([up !== coin(ratio(protocol.flip), words)]);
    }
    default:
      throw new Error("This browser cannot answer with the protocol of this collection.");
  }
}

/** The bytes of one report for an answer, as lapwing.crowd reads them. */
export function randomised(collection: Collection, answer: Answer, words: Words = fresh): Bytes {
  const head = joined(utf8("LWR1"), fromHex(String(collection.protocol.fingerprint)), little(1, 8));
  return joined(head, columns(collection.protocol, domainOf(collection).length, answer, words));
}
