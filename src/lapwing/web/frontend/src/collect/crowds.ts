// Which reports hide each other: the name of a crowd, and what shufflers get to see of it (docs/collect-wire.md).
import { ristretto255, ristretto255_hasher as hasher } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { decimal } from "../math/survey.js";
import { type Bytes, fromLittle, joined, random, utf8 } from "./bytes.js";
import type { Collection } from "./collection.js";
import { type Answer, domainOf } from "./reports.js";

/** Of the bytes of a report: how each of them begins, whatever it says. */
const HEAD = 28;
const { BASE, Fn } = ristretto255.Point;
const HASH_TO_GROUP = { DST: "HashToGroup-OPRFV1-\x01-ristretto255-SHA512" };

/** Random bytes; tests bring their own. */
export type Draw = (size: number) => Bytes;

/** The answer as the library writes it; null for none. */
function written(collection: Collection, answer: Answer): string | null {
  if (typeof answer === "boolean") return answer ? "True" : "False";
  return typeof answer === "number" ? (domainOf(collection)[answer] ?? null) : answer === null ? null : number(answer);
}

/** A number without an exponent, and without zeros that it does not need: 7.5 for 7,50. */
function number(text: string): string | null {
  const exact = decimal(text);
  if (!exact) return null;
  const [above, below] = exact[0] < 0n ? [-exact[0], exact[1]] : exact; // below is a power of ten
  const places = below.toString().length - 1;
  const digits = above.toString().padStart(places + 1, "0");
  const fraction = digits.slice(digits.length - places).replace(/0+$/, "");
  const whole = `${exact[0] < 0n ? "-" : ""}${digits.slice(0, digits.length - places)}`;
  return places && fraction ? `${whole}.${fraction}` : whole;
}

/** The crowd of a report; an error for an attribute that the collection does not list. */
export function crowdName(collection: Collection, report: Bytes, answer: Answer, attribute: string | null): Bytes {
  const { source, values, prefix } = collection.crowd ?? { source: "report", values: [], prefix: null };
  if (source === "report") return joined(utf8("report\n"), report.subarray(HEAD));
  if (source === "attribute") {
    if (attribute === null || !values.includes(attribute)) throw new Error("Choose a group that the collection lists.");
    return utf8(`attribute\n${attribute}`);
  }
  const text = written(collection, answer);
  if (text === null) return utf8("no answer\n");
  const letters = [...text].slice(0, prefix ?? undefined).join("");
  return utf8(`answer\n${letters.replace(/\p{Cs}/gu, "?")}`); // halves of a letter have no bytes
}

/** What one shuffler sees of a crowd. */
export const crowdId = (collection: Collection, name: Bytes): Bytes =>
  sha256(joined(utf8("lapwing crowd 1"), collection.hash, name));

/** The same for two shufflers, neither of which can read it: El Gamal over ristretto255. */
export function encrypted(key: Bytes, crowd: Bytes, draw: Draw = random): Bytes {
  const secret = scalar(draw);
  const shared = ristretto255.Point.fromBytes(key).multiply(secret);
  return joined(BASE.multiply(secret).toBytes(), hasher.hashToCurve(crowd, HASH_TO_GROUP).add(shared).toBytes());
}

/** Uniform, and not zero: 253 bits, drawn again while they are too many. */
function scalar(draw: Draw): bigint {
  for (;;) {
    const bytes = draw(32);
    bytes[31] = (bytes[31] as number) & 0x1f;
    const value = fromLittle(bytes) + 1n;
    if (value < Fn.ORDER) return value;
  }
}
