// The hash functions of the library (`crowd/hashing.py`), byte for byte.

const PRIME = 2 ** 25 - 39;
const bytes = (text: string): number[] => [...new TextEncoder().encode(text)];

/** Whether a number has no divisor but itself. */
const prime = (n: number): boolean =>
  Array.from({ length: Math.floor(Math.sqrt(n)) - 1 }, (_, i) => i + 2).every((by) => n % by);
const PRIMES = Array.from({ length: 400 }, (_, i) => i + 2)
  .filter(prime)
  .slice(0, 64);
/** The first 32 bits behind the point. */
const fraction = (x: number): number => Math.floor((x % 1) * 2 ** 32);
const START = PRIMES.slice(0, 8).map((n) => fraction(Math.sqrt(n)));
const ROUNDS = PRIMES.map((n) => fraction(Math.cbrt(n)));

/** SHA-256 as eight words of 32 bits. */
export function sha256(message: readonly number[]): number[] {
  const padded = [...message, 0x80];
  while (padded.length % 64 !== 56) padded.push(0);
  const view = new DataView(new ArrayBuffer(padded.length + 8));
  padded.forEach((byte, i) => view.setUint8(i, byte));
  view.setUint32(padded.length, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length + 4, (message.length * 8) >>> 0);
  const turn = (x: number, by: number): number => (x >>> by) | (x << (32 - by));
  const state = [...START];
  for (let block = 0; block < view.byteLength; block += 64) {
    const w = Array.from({ length: 16 }, (_, i) => view.getUint32(block + 4 * i));
    for (let i = 16; i < 64; i++) {
      const [a, b] = [w[i - 15]!, w[i - 2]!];
      w.push(
        (w[i - 16]! + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + w[i - 7]! + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10))) >>>
          0,
      );
    }
    let [a, b, c, d, e, f, g, h] = state as [number, number, number, number, number, number, number, number];
    for (let i = 0; i < 64; i++) {
      const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUNDS[i]! + w[i]!;
      const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) >>> 0, c, b, a, (one + two) >>> 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i]! + word) >>> 0));
  }
  return state;
}

/** Eight digest words as little-endian ones. */
const swapped = (x: number): number =>
  (x & 0xff) * 2 ** 24 + ((x >>> 8) & 0xff) * 2 ** 16 + ((x >>> 16) & 0xff) * 2 ** 8 + (x >>> 24);

const digest = (kind: string, salt: string, text: readonly number[]): number[] =>
  sha256([...bytes(kind), 0, ...bytes(salt), 0, ...text]).map(swapped);

/** A text as the hash functions need it: u, its square, v and its square, modulo P. */
export type Item = readonly [u: number, uSquared: number, v: number, vSquared: number];
/** The five coefficients of a function. */
export type Row = readonly [a: number, b: number, c: number, d: number, e: number];

export function item(text: string, salt: string): Item {
  const [u, v] = digest("lapwing item 1", salt, bytes(text)).map((word) => word % PRIME) as [number, number];
  return [u, (u * u) % PRIME, v, (v * v) % PRIME];
}

const known = new Map<string, Row>();

/** Kept once it was made: sketches ask for the same functions again and again. */
export function row(number: number, salt: string): Row {
  const name = `${number} ${salt}`;
  let found = known.get(name);
  if (!found) {
    const eight = Array.from({ length: 8 }, (_, i) => Math.floor(number / 2 ** (8 * i)) % 256);
    found = digest("lapwing row 1", salt, eight)
      .slice(0, 5)
      .map((word) => word % PRIME) as unknown as Row;
    known.set(name, found);
  }
  return found;
}

/** Where a function puts an item, below `width`; every number on the way is below 2^53. */
export const cell = ([u, uSquared, v, vSquared]: Item, [a, b, c, d, e]: Row, width: number): number =>
  Math.floor((((a * uSquared + b * u + c * vSquared + d * v + e) % PRIME) * width) / PRIME);

/** The same from scratch. */
export const cellOf = (text: string, salt: string, number: number, width: number): number =>
  cell(item(text, salt), row(number, salt), width);

/** The puzzle piece of a whole string (`crowd/fragments.py`): 8 bytes, little-endian, modulo a power of two that 4 bytes hold. */
export const piece = (text: string, salt: string, pieces = 256): number =>
  digest("lapwing piece 1", salt, bytes(text))[0]! % pieces;
