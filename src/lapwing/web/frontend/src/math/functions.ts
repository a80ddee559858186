// Many hash functions of many items: `hashing.ts` in parts, so that neither items nor functions are hashed twice.
import { sha256 } from "./hashing.js";

const PRIME = 2 ** 25 - 39;

export interface Item {
  u: number;
  v: number;
}
/** The five coefficients of a function. */
export type Row = readonly [number, number, number, number, number];

const bytes = (text: string): number[] => [...new TextEncoder().encode(text)];

/** The first words of a digest as the library reads them: little-endian. */
function words(kind: string, salt: string, text: readonly number[], count: number): number[] {
  const view = new DataView(new ArrayBuffer(4));
  const digest = sha256([...bytes(`${kind}\0${salt}\0`), ...text]);
  return digest.slice(0, count).map((word) => {
    view.setUint32(0, word);
    return view.getUint32(0, true);
  });
}

export function item(text: string, salt: string): Item {
  const [u, v] = words("lapwing item 1", salt, bytes(text), 2) as [number, number];
  return { u: u % PRIME, v: v % PRIME };
}

const known = new Map<string, Row>();

export function row(number: number, salt: string): Row {
  const name = `${number} ${salt}`;
  let found = known.get(name);
  if (!found) {
    const eight = [0, 8, 16, 24].map((by) => (number >>> by) & 255).concat([0, 0, 0, 0]);
    found = words("lapwing row 1", salt, eight, 5).map((word) => word % PRIME) as unknown as Row;
    known.set(name, found);
  }
  return found;
}

/** In which of `width` cells a function puts an item; every number on the way is below 2^52. */
export function cell({ u, v }: Item, [a, b, c, d, e]: Row, width: number): number {
  const total = a * ((u * u) % PRIME) + b * u + c * ((v * v) % PRIME) + d * v + e;
  return Math.floor(((total % PRIME) * width) / PRIME);
}

export const cellOf = (text: string, salt: string, number: number, width: number): number => cell(item(text, salt), row(number, salt), width);

/** The puzzle piece of a string: which of so many all its fragments carry. */
export function piece(text: string, salt: string, pieces = 256): number {
  const [low, high] = words("lapwing piece 1", salt, bytes(text), 2) as [number, number];
  return ((high % pieces) * (2 ** 32 % pieces) + (low % pieces)) % pieces;
}
