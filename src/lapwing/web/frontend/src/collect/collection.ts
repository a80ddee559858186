// The signed file of a collection, as docs/collect-wire.md has it: read, checked against the operator's signature, hashed.
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha256 } from "@noble/hashes/sha2.js";
import type { Ratio } from "../math/survey.js";
import { type Bytes, fromBase64, hex, joined, utf8 } from "./bytes.js";
import { ratio } from "./lifetime.js";

export const DAY = 86_400_000;

/** Who opens the layers around a sealed report, the innermost first, by transport. */
export const SHUFFLERS: Record<string, readonly string[]> = {
  direct: [],
  shuffled: ["shuffler"],
  blinded: ["thresholder", "blinder"],
};

export interface Epoch {
  number: number;
  from: string;
  until: string;
  reportKey: Bytes;
  tokenKey: Bytes;
  gatewayKey: Bytes | null;
  /** Whom the outer layers are sealed for, by party, and for whom crowds are encrypted. */
  hopKeys: Record<string, Bytes>;
  crowdKey: Bytes | null;
}

/** What a crowd is made of. */
export interface Crowd {
  source: "report" | "attribute" | "answer";
  /** Of the attribute. */
  values: string[];
  /** So many letters of the answer; all of them without it. */
  prefix: number | null;
}

export interface Collection {
  name: string;
  version: number;
  question: string;
  consent: string;
  protocol: Record<string, unknown>;
  accounting: string;
  transport: string;
  /** Which reports hide each other, where a shuffler is on the way. */
  crowd: Crowd | null;
  reportsPerDay: number;
  /** Epsilon of all truthful reports together, and how many of them that pays for. */
  lifetime: Ratio;
  answers: number;
  tokens: boolean;
  /** Whether the issuer is the site of this page, and asks who is signed in. */
  signsIn: boolean;
  /** Whether the issuer knows who asks, and gives each of them so many tokens and no more. */
  counted: boolean;
  opens: string;
  closes: string;
  servers: Record<string, string>;
  epochs: Epoch[];
  operator: string;
  /** 32 bytes: bound into every report. */
  hash: Bytes;
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** One line of JSON with sorted keys and ASCII letters only: what was signed. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const keys = Object.keys(value).sort((a, b) => (a < b ? -1 : 1));
    return `{${keys.map((key) => `${canonical(key)}:${canonical(value[key] as Json)}`).join(",")}}`;
  }
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A collection whose signature holds; an error that can be shown otherwise. */
export function read(text: string): Collection {
  const { operator, signature, ...body } = JSON.parse(text) as Record<string, any>;
  if (body.format !== "lapwing collection 1") throw new Error("This page does not understand this collection.");
  const shufflers = Object.hasOwn(SHUFFLERS, body.transport) ? SHUFFLERS[body.transport] : null;
  if (!shufflers || body.fragments)
    throw new Error("Reports of this collection travel in a way that this page does not know.");
  const key = fromBase64(operator as string);
  const statement = joined(utf8(`${body.format}\n`), key, utf8(`\n${canonical(body)}`));
  if (!ed25519.verify(fromBase64(signature as string), statement, key))
    throw new Error("The signature of this collection is not valid. Somebody changed it: do not take part.");
  return {
    name: body.name,
    version: body.version,
    question: body.question,
    consent: body.consent,
    protocol: body.protocol,
    accounting: body.accounting,
    transport: body.transport,
    crowd: shufflers.length ? crowdOf(body.crowd) : null,
    reportsPerDay: body.limits.reports_per_day,
    lifetime: ratio(body.limits.lifetime_epsilon),
    answers: body.limits.answers ?? 0,
    tokens: body.admission !== "nobody-asked",
    signsIn: body.admission === "sign-in",
    counted: body.admission === "sign-in" || body.admission === "codes",
    opens: body.opens,
    closes: body.closes,
    servers: Object.fromEntries(
      Object.entries(body.servers).map(([name, server]: [string, any]) => [name, server.address]),
    ),
    epochs: body.epochs.map((epoch: any) => ({
      number: epoch.number,
      from: epoch.from,
      until: epoch.until,
      reportKey: fromBase64(epoch.report_key),
      tokenKey: fromBase64(epoch.token_key),
      gatewayKey: epoch.gateway_key ? fromBase64(epoch.gateway_key) : null,
      hopKeys: Object.fromEntries(shufflers.map((party) => [party, fromBase64(epoch[`${party}_key`])])),
      crowdKey: epoch.crowd_key ? fromBase64(epoch.crowd_key) : null,
    })),
    operator: hex(key),
    hash: sha256(statement),
  };
}

function crowdOf({ from, values, prefix }: Record<string, any>): Crowd {
  if (!["report", "attribute", "answer"].includes(from))
    throw new Error("Reports of this collection are grouped in a way that this page does not know.");
  return { source: from, values: values ?? [], prefix: prefix ?? null };
}

/** Whether an ingestor still takes reports of an epoch at a time: for a day longer, because clocks differ. */
export function isTaken(collection: Collection, number: number, moment: number): boolean {
  const yesterday = new Date(moment - DAY).toISOString().slice(0, 10);
  return collection.epochs.some((epoch) => epoch.number === number && yesterday <= epoch.until);
}

/** The newest epoch of a day (written 2026-12-31); none on days without one. */
export function epochOn(collection: Collection, day: string): Epoch | undefined {
  return collection.epochs.filter((epoch) => epoch.from <= day && day <= epoch.until).at(-1);
}
