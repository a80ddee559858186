// What a device gives away in its lifetime, counted in exact fractions of epsilon. What was agreed to once binds what may
// be asked later, and is refused with the sentences of the library's Participant.
import type { Ratio } from "../math/survey.js";
import type { Collection } from "./collection.js";

export interface Account {
  /** The newest version that was agreed to, and how it counts. */
  version: number;
  accounting: string;
  /** The smallest lifetime that was agreed to, and what was spent of it: fractions such as "15/2". */
  lifetime: string;
  spent: string;
}

/** A number as files write it: 8, "0.5" or "3/4". */
export function ratio(value: unknown): Ratio {
  const [above = "", below = "1"] = String(value).split("/");
  const places = above.split(".")[1]?.length ?? 0;
  return [BigInt(above.replace(".", "")), BigInt(below) * 10n ** BigInt(places)];
}

/** In lowest terms. */
function written([above, below]: Ratio): string {
  let [divisor, rest] = [below, above];
  while (rest) [divisor, rest] = [rest, divisor % rest];
  return below === divisor ? `${above / divisor}` : `${above / divisor}/${below / divisor}`;
}

/**
 * What one truthful report is charged: the share of the lifetime that the signed file gives it. The epsilon of the
 * protocol is not more, because so many reports fit into the lifetime.
 */
const charge = ({ lifetime, answers }: Collection): Ratio => [lifetime[0], lifetime[1] * BigInt(answers)];

/** The account under a version that a person agrees to; an error if it promises less than the last. */
export function agreed(collection: Collection, before: Account | null): Account {
  const { version, accounting, lifetime } = collection;
  const [most, least] = [lifetime, ratio(before?.lifetime ?? 0)];
  const why = !before
    ? ""
    : before.accounting !== accounting
      ? "counts in another way than before, so what was spent would not count"
      : before.version > version
        ? `is older than version ${before.version}, which this device has seen`
        : most[0] * least[1] > least[0] * most[1]
          ? `allows more than the ${before.lifetime} that this device was promised before`
          : "";
  if (why) throw new Error(`This collection ${why}.`);
  return { version, accounting, lifetime: written(lifetime), spent: before?.spent ?? "0" };
}

/** The account after one more truthful report; null if nothing is left for it. */
export function charged(collection: Collection, account: Account): Account | null {
  const [spent, one, most] = [ratio(account.spent), charge(collection), ratio(account.lifetime)];
  const sum: Ratio = [spent[0] * one[1] + one[0] * spent[1], spent[1] * one[1]];
  return sum[0] * most[1] <= most[0] * sum[1] ? { ...account, spent: written(sum) } : null;
}

/** How many truthful reports are left. */
export function left(collection: Collection, account: Account): number {
  const [spent, one, most] = [ratio(account.spent), charge(collection), ratio(account.lifetime)];
  const rest = (most[0] * spent[1] - spent[0] * most[1]) * one[1]; // over the same as one report
  return rest > 0n ? Number(rest / (most[1] * spent[1] * one[0])) : 0;
}

/**
 * The account of a browser that counted slots only. What they cost is known if all were of one version, which is sure of
 * a first one; else everything is spent.
 */
export function ofSlots(collection: Collection, slots: number, same: boolean): Account {
  const account = agreed(collection, null);
  if (slots === 0) return account;
  const [above, below] = charge(collection);
  const known = same && collection.version === 1 && collection.answers > 0;
  return { ...account, spent: known ? written([above * BigInt(slots), below]) : account.lifetime };
}
