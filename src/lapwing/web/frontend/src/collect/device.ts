// A browser as a device of a collection: consent, one report a slot, a lifetime, retries of the same bytes.
// First the slot is marked, then the answer is looked at, then the report is kept, then it is sent: whatever stops in
// between, no slot has two reports. Everything is in one item of the browser's store.
import { alone } from "../lib/memo.js";
import { type Bytes, fromHex, hex } from "./bytes.js";
import { type Collection, DAY, type Epoch, epochOn, isTaken } from "./collection.js";
import { crowdName } from "./crowds.js";
import {
  type Request,
  type Token,
  envelope,
  received,
  request,
  requested,
  sealReport,
  statusOf,
  wrapped,
} from "./envelopes.js";
import { type Account, agreed, charged, left, ofSlots } from "./lifetime.js";
import { type Answer, randomised } from "./reports.js";

interface State extends Account {
  operator: string;
  hash: string;
  perDay: number;
  /** To which crowd the person belongs, where crowds are made of something public. */
  attribute?: string | null;
  /** The last slot that was begun, and whether its report was made. */
  slot: number;
  made: boolean;
  asking: Request | null;
  asked: number[];
  tokens: Token[];
  outbox: { epoch: number; bytes: string }[];
}

/** What a device needs around it; tests bring their own. */
export interface World {
  store: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  now: () => number;
  post: (
    address: string,
    body: Bytes,
    headers?: Record<string, string>,
    credentials?: RequestCredentials,
  ) => Promise<{ status: number; body: Bytes }>;
}

export const MOST_WAITING = 32;
/** What an ingestor refuses today it refuses tomorrow. */
const FOR_GOOD = [400, 403, 410, 413];
/** With these an issuer says no. After others (a proxy's 504) it may have counted the request: the same bytes again. */
const TURNED_AWAY = [400, 403, 410, 429];

/** Without a referrer, and without cookies: but for tokens where people sign in, which the page's own site issues. */
export const browser: World = {
  get store() {
    return localStorage;
  },
  now: () => Date.now(),
  post: async (address, body, headers = {}, credentials = "omit") => {
    const options = { method: "POST", credentials, referrerPolicy: "no-referrer", cache: "no-store" } as const;
    const kind = { "content-type": "application/octet-stream", ...headers };
    const answer = await fetch(address, { ...options, headers: kind, body: body as BodyInit });
    return { status: answer.status, body: new Uint8Array(await answer.arrayBuffer()) };
  },
};

export class Device {
  private readonly name: string;
  /** With which status the last request was refused for good; 0 if none was, or nobody answered. */
  refusal = 0;
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    readonly collection: Collection,
    private readonly world: World = browser,
    /** Headers that say why the issuer should let this device in. */
    private readonly admission: Record<string, string> = {},
  ) {
    this.name = `lapwing-collect-${collection.operator}-${collection.name}`;
  }

  private read(): State | null {
    const kept = JSON.parse(this.world.store.getItem(this.name) ?? "null") as State | null;
    if (!kept || kept.spent !== undefined) return kept;
    const { charged: slots, ...rest } = kept as State & { charged: number }; // as pages wrote it that counted slots
    return { ...rest, ...ofSlots(this.collection, slots, rest.hash === hex(this.collection.hash)) };
  }

  private write(state: State): void {
    this.world.store.setItem(this.name, JSON.stringify(state));
  }

  /** Whether the person agreed to this version. */
  get optedIn(): boolean {
    return this.read()?.hash === hex(this.collection.hash);
  }

  /**
   * The person read the text and agrees to this version. What was spent before stays spent; a version that promises less
   * is refused by an error. `attribute` says to which crowd they belong, where the collection makes crowds of one.
   */
  optIn(attribute: string | null = null): void {
    const before = this.read();
    const hash = hex(this.collection.hash);
    if (this.collection.crowd?.source === "attribute") crowdName(this.collection, new Uint8Array(0), null, attribute);
    if (before?.hash === hash) return this.write({ ...before, attribute });
    this.write({
      attribute,
      operator: this.collection.operator,
      hash,
      ...agreed(this.collection, before),
      perDay: this.collection.reportsPerDay,
      slot: before?.perDay === this.collection.reportsPerDay ? before.slot : -1,
      made: before?.perDay === this.collection.reportsPerDay ? before.made : true,
      // tokens are not bound to a version; what waits was answered under another text
      asking: before?.asking ?? null,
      asked: before?.asked ?? [],
      tokens: before?.tokens ?? [],
      outbox: [],
    });
  }

  /** Ask for tokens early, so that the request and the report do not leave together. */
  async prepare(): Promise<void> {
    await this.inTurn(async () => {
      this.refusal = 0;
      await this.refill();
    });
  }

  /** One after another: in this page by a queue, between pages by a lock where browsers have one (https). */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.queue.then(() => alone(this.name, work));
    this.queue = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Leave: what waits is deleted. What was sent cannot be recalled, and what was spent stays spent. Tokens stay where the
   * issuer counts them: nobody gets them twice.
   */
  optOut(): void {
    const state = this.read();
    const tokens = this.collection.counted ? {} : { asking: null, asked: [], tokens: [] };
    if (state) this.write({ ...state, hash: "", attribute: null, outbox: [], ...tokens });
  }

  private get slot(): number {
    return Math.floor(this.world.now() / (DAY / this.collection.reportsPerDay));
  }

  private get epoch(): Epoch | undefined {
    return epochOn(this.collection, new Date(this.world.now()).toISOString().slice(0, 10));
  }

  /** Whether this slot still takes an answer. */
  get open(): boolean {
    const state = this.read();
    return this.optedIn && this.epoch !== undefined && state !== null && this.slot > state.slot;
  }

  /** To which crowd the person said that they belong. */
  get attribute(): string | null {
    return this.read()?.attribute ?? null;
  }

  /** Whether there is nothing to ask the issuer for now. */
  get admitted(): boolean {
    const epoch = this.epoch;
    return !this.collection.tokens || (epoch !== undefined && (this.read()?.asked.includes(epoch.number) ?? false));
  }

  /** Whether the issuer refused this device; not if nobody can say what became of the request. */
  get turnedAway(): boolean {
    return !this.admitted && TURNED_AWAY.includes(this.refusal);
  }

  /** How many answers are left in the lifetime of this device. */
  get left(): number {
    return left(this.collection, this.read() ?? agreed(this.collection, null));
  }

  /** Make the report of this slot, with an answer or with none, and send what waits. Whether all of it was sent. */
  async answer(answer: Answer): Promise<boolean> {
    return this.inTurn(async () => {
      this.refusal = 0;
      await this.refill();
      this.make(answer);
      return this.send();
    });
  }

  /** Send what waits: the same bytes again. */
  async retry(): Promise<boolean> {
    return this.inTurn(() => this.send());
  }

  /** Ask once for all tokens of an epoch. */
  private async refill(): Promise<void> {
    const [state, epoch] = [this.read(), this.epoch];
    if (!state || !this.optedIn || !epoch || !this.collection.tokens || state.asked.includes(epoch.number)) return;
    if (state.asking?.epoch !== epoch.number) {
      const days = Math.round((Date.parse(epoch.until) - Date.parse(epoch.from)) / DAY) + 1;
      state.asking = request(epoch.number, this.collection.reportsPerDay * (days + 2));
      this.write(state);
    }
    const address = `${this.collection.servers.issuer}/tokens`;
    const credentials = this.collection.signsIn ? "same-origin" : "omit";
    const asked = this.world.post(address, requested(state.asking), this.admission, credentials);
    const reply = await asked.catch(() => null);
    if (reply?.status !== 200) {
      this.refusal = reply?.status ?? 0;
      return;
    }
    const tokens = received(state.asking, epoch.tokenKey, reply.body);
    const now = this.read(); // the person may have left meanwhile
    if (now?.hash !== state.hash || now.asking?.epoch !== epoch.number) return;
    this.write({ ...now, asking: null, asked: [...now.asked, epoch.number], tokens: [...now.tokens, ...tokens] });
  }

  private make(answer: Answer): void {
    const [state, epoch, slot] = [this.read(), this.epoch, this.slot];
    if (!state || !this.optedIn || !epoch || slot < state.slot || (slot === state.slot && state.made)) return;
    const token = state.tokens.find((one) => one.epoch === epoch.number);
    if (this.collection.tokens && !token) return;
    const begun = slot === state.slot; // it stopped after an answer was looked at: this report is for none
    const paid = begun ? null : charged(this.collection, state);
    const account = paid ?? state;
    if (!begun) this.write({ ...state, ...account, slot, made: false });
    const known = paid ? answer : null; // a crowd tells of an answer only where the answer was paid for
    const report = randomised(this.collection, known);
    const crowd = this.collection.crowd && crowdName(this.collection, report, known, state.attribute ?? null);
    const sealed = sealReport(this.collection, epoch, report, crowd);
    const bytes = hex(envelope(this.collection, epoch.number, sealed, token ?? null));
    const outbox = [...state.outbox, { epoch: epoch.number, bytes }].slice(-MOST_WAITING);
    const tokens = state.tokens.filter((one) => one !== token);
    this.write({ ...state, ...account, slot, made: true, tokens, outbox });
  }

  private async send(): Promise<boolean> {
    if (!this.optedIn) return true; // what waits belongs to another text
    this.giveUp();
    for (let item = this.read()?.outbox[0]; item; item = this.read()?.outbox[0]) {
      const status = await this.status(item.epoch, fromHex(item.bytes)).catch(() => 503);
      if (status !== 201 && !FOR_GOOD.includes(status)) return false;
      this.refusal = status === 201 ? 0 : status;
      const state = this.read() as State;
      this.write({ ...state, outbox: state.outbox.filter((one) => one.bytes !== item?.bytes) });
    }
    return true;
  }

  /** Delete reports of epochs that are over. Through a relay nobody can say so: the key for the answer is gone, too. */
  private giveUp(): void {
    const state = this.read() as State;
    const outbox = state.outbox.filter((one) => isTaken(this.collection, one.epoch, this.world.now()));
    if (outbox.length < state.outbox.length) this.write({ ...state, outbox });
  }

  private async status(number: number, bytes: Bytes): Promise<number> {
    const { relay, ingestor } = this.collection.servers;
    if (!relay) return (await this.world.post(`${ingestor}/reports`, bytes)).status;
    const epoch = this.collection.epochs.find((one) => one.number === number) as Epoch;
    const { key, body } = wrapped(this.collection, epoch, bytes);
    const reply = await this.world.post(`${relay}/reports`, body);
    return reply.status === 200 ? statusOf(key, reply.body) : 503; // only the ingestor decides
  }
}
