// Bytes as the wire wants them: joined, little-endian, in hexadecimal or base64.

export type Bytes = Uint8Array;

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

export function joined(...parts: Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A whole number below 2^53, lowest byte first. */
export function little(value: number, size: number): Bytes {
  const bytes = new Uint8Array(size);
  for (let place = 0; place < size; place++) {
    bytes[place] = value % 256;
    value = Math.floor(value / 256);
  }
  return bytes;
}

/** A whole number of any size, lowest byte first. */
export const fromLittle = (bytes: Bytes): bigint => BigInt(`0x${hex(bytes.slice().reverse())}`);

export const hex = (bytes: Bytes): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function fromHex(text: string): Bytes {
  return Uint8Array.from({ length: text.length / 2 }, (_, place) => parseInt(text.slice(2 * place, 2 * place + 2), 16));
}

export const fromBase64 = (text: string): Bytes => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));

/** From the browser's own generator, which is made for secrets, and is there also without https. */
export const random = (size: number): Bytes => crypto.getRandomValues(new Uint8Array(size));
