// Envelopes, tokens and requests through a relay: the bytes of docs/collect-wire.md.
import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { ristretto255_oprf as oprf } from "@noble/curves/ed25519.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type Bytes, fromHex, hex, joined, little, random, utf8 } from "./bytes.js";
import type { Collection, Epoch } from "./collection.js";
import { crowdId, crowdName, type Draw, encrypted } from "./crowds.js";
import { sealed } from "./sealing.js";

const ID = 16;
const ELEMENT = 32;
const PROOF = 64;

/** The right to send one report: kept on this device, as text. */
export interface Token {
  epoch: number;
  id: string;
  secret: string;
}

/** What is kept while the issuer is asked. */
export interface Request {
  epoch: number;
  ids: string[];
  blinds: string[];
  blinded: string[];
}

const about = (label: string, collection: Collection, epoch: number): Bytes =>
  joined(utf8(label), collection.hash, little(epoch, 4));

/** What a layer is sealed as, by who opens it. */
const LABELS: Record<string, string> = {
  aggregator: "lapwing report 1",
  shuffler: "lapwing shuffle1",
  thresholder: "lapwing thresh 1",
  blinder: "lapwing blinder1",
};

/** A report in all its layers, each under a random id. `crowd` is the name of its crowd; one of reports needs none. */
export function sealReport(
  collection: Collection,
  epoch: Epoch,
  report: Bytes,
  crowd: Bytes | null = null,
  draw: Draw = random,
): Bytes {
  const layer = (party: string, key: Bytes | undefined, ...parts: Bytes[]): Bytes => {
    if (!key) throw new Error("This collection lacks a key that its reports are sealed for.");
    const plain = joined(draw(ID), ...parts);
    return sealed(key, plain, about(LABELS[party] as string, collection, epoch.number), draw(32));
  };
  const inside = layer("aggregator", epoch.reportKey, report);
  if (!collection.crowd) return inside;
  const id = crowdId(collection, crowd ?? crowdName(collection, report, null, null));
  const { shuffler, thresholder, blinder } = epoch.hopKeys;
  if (collection.transport === "shuffled") return layer("shuffler", shuffler, id, inside);
  const pair = encrypted(epoch.crowdKey as Bytes, id, draw);
  return layer("blinder", blinder, pair, layer("thresholder", thresholder, inside));
}

/** What is sent: with a token its id and tag, without one a random id. */
export function envelope(collection: Collection, epoch: number, report: Bytes, token: Token | null): Bytes {
  const id = token ? fromHex(token.id) : random(ID);
  const message = joined(about("lapwing token 1", collection, epoch), id, report);
  const tag = token ? hmac(sha256, fromHex(token.secret), message).subarray(0, 16) : new Uint8Array(16);
  return joined(little(epoch, 4), id, tag, report);
}

/** Ask for so many tokens: what to keep. */
export function request(epoch: number, count: number): Request {
  const ids = Array.from({ length: count }, () => random(ID));
  const blinds = ids.map((id) => oprf.voprf.blind(id));
  return {
    epoch,
    ids: ids.map(hex),
    blinds: blinds.map(({ blind }) => hex(blind)),
    blinded: blinds.map(({ blinded }) => hex(blinded)),
  };
}

/** What is sent to the issuer. */
export const requested = (kept: Request): Bytes => joined(little(kept.epoch, 4), ...kept.blinded.map(fromHex));

/** The tokens in an issuer's answer; an error if it used another key than the signed file names. */
export function received(kept: Request, key: Bytes, answer: Bytes): Token[] {
  const end = ELEMENT * kept.ids.length;
  if (answer.length !== end + PROOF) throw new Error("The issuer's answer has the wrong length.");
  const items = kept.ids.map((id, place) => ({
    input: fromHex(id),
    blind: fromHex(kept.blinds[place] as string),
    blinded: fromHex(kept.blinded[place] as string),
    evaluated: answer.slice(ELEMENT * place, ELEMENT * (place + 1)),
  }));
  const secrets = oprf.voprf.finalizeBatch(items, key, answer.slice(end));
  return kept.ids.map((id, place) => ({ epoch: kept.epoch, id, secret: hex(secrets[place] as Bytes) }));
}

/** Around an envelope for the ingestor, so that a relay cannot read it. */
export function wrapped(collection: Collection, epoch: Epoch, inner: Bytes): { key: Bytes; body: Bytes } {
  if (!epoch.gatewayKey) throw new Error("This collection has no key for requests through a relay.");
  const key = random(32);
  const body = sealed(epoch.gatewayKey, joined(key, inner), about("lapwing relay 1", collection, epoch.number));
  return { key, body: joined(little(epoch.number, 4), body) };
}

/** The status that the ingestor answered through a relay. */
export function statusOf(key: Bytes, answer: Bytes): number {
  const plain = chacha20poly1305(key, answer.slice(0, 12)).decrypt(answer.slice(12));
  return (plain[0] as number) + 256 * (plain[1] as number);
}
