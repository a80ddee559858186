// Which nuggets are opened and finished, told to the school without saying by whom. The browser itself keeps the bound
// that the promise rests on.
import { admitted, weekOf, type Counted } from "../math/week.js";
import { send } from "./account.js";
import { progress, share } from "./progress.js";

const KEY = "lapwing-counted";

/** Remembers that something is told now, or says that it must not be. First remembered, then told: rather too few. */
function admit(what: string, week: string): boolean {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Counted>;
    const next = admitted(kept, what, week);
    if (next) localStorage.setItem(KEY, JSON.stringify(next));
    return next !== null;
  } catch {
    return false; // without a memory there is no bound, so nothing is told
  }
}

function tell(what: "opened" | "finished", slug: string): void {
  const week = weekOf(new Date());
  if (!admit(`${what} ${slug}`, week)) return;
  void send("/usage", { what, slug, week }, { keepalive: true }).catch(() => undefined);
}

/** Counts this page, unless the browser asks for no such thing. */
export function countReading(): void {
  const slug = document.querySelector<HTMLElement>("article[data-slug]")?.dataset.slug;
  const { globalPrivacyControl } = navigator as { globalPrivacyControl?: boolean };
  if (!slug || globalPrivacyControl || navigator.doNotTrack === "1") return;
  tell("opened", slug);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden" && share(progress()[slug]) >= 1) tell("finished", slug);
  });
}
