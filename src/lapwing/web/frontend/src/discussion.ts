// The discussion under a nugget comes when it is near, and answers in place. Without this script all of it are pages
// and plain forms. htmx is loaded only here, cannot run code from attributes, and keeps no history.
import type { Htmx, HtmxEvent } from "htmx.org";
import { bringBack, drop, formOf, keep, openBegun } from "./lib/unsent.js";
import { countReading } from "./lib/usage.js";

const place = document.querySelector<HTMLElement>("#discussion");
let loaded: Promise<Htmx> | undefined;

async function start(): Promise<Htmx> {
  const { default: htmx } = await import("htmx.org");
  htmx.config.history = false;
  const never = function (): never {
    throw new Error("attributes are not code");
  };
  htmx.registerExtension("no-code", {
    init: (api: { initSecurity(policy: null, now: unknown, later: unknown): void }) =>
      api.initSecurity(null, never, never),
  });
  place?.addEventListener("htmx:config:request", (event) => {
    event.detail.ctx.request.headers.Accept = "application/problem+json"; // what is refused is told in a sentence
  });
  place?.addEventListener("htmx:before:response", sent);
  place?.addEventListener("htmx:before:response", (event) => void refused(event));
  place?.addEventListener("htmx:error", (event) =>
    say(event.target as Element, "That did not reach the school. Try again."),
  );
  place?.addEventListener("htmx:after:swap", lookThere);
  htmx.process(document.body);
  return htmx;
}

/** A comment that is there now need not be kept here; a preview of it is no answer yet. */
function sent(event: HtmxEvent<"htmx:before:response">): void {
  const { response, sourceElement } = event.detail.ctx;
  const form = formOf(sourceElement);
  if (form && response && response.status < 400 && !response.headers.get("hx-retarget")) drop(form);
}

/** A refusal stands beside the form; only forms with a complaint of their own are put in its place. */
async function refused(event: HtmxEvent<"htmx:before:response">): Promise<void> {
  const { response, sourceElement } = event.detail.ctx;
  if (!response || response.status < 400 || response.headers.get("hx-retarget")) return;
  event.preventDefault();
  const told = (await response.raw.json().catch(() => ({}))) as { detail?: string };
  if (response.status === 401) return signedOut(sourceElement);
  say(sourceElement, told.detail ?? "That did not work. Try again.");
}

/** The session ended: who signs in comes back to what they were writing. */
function signedOut(near: Element): void {
  const form = formOf(near);
  const kept = form && keep(form) ? "What you wrote is kept in this browser and comes back. " : "";
  const link = document.createElement("a");
  const address = (form ?? near).getAttribute(form ? "action" : "href") ?? location.pathname;
  link.href = `/account/sign-in?next=${encodeURIComponent(address.replace(/^(\/comments\/\d+)\/.*/, "$1"))}`;
  link.textContent = "Sign in";
  say(near, `You are signed out. ${kept}`, link);
}

function say(near: Element, words: string, ...more: Element[]): void {
  const form = near.closest("form") ?? near.closest("article")?.querySelector(".slot") ?? place;
  if (!form) return;
  form.querySelector(":scope > .complaint")?.remove();
  const line = document.createElement("p");
  line.className = "complaint";
  line.setAttribute("role", "alert");
  line.append(words, ...more);
  form.prepend(line);
}

/** What was just written, or the form that was asked for, gets the focus. */
function lookThere(): void {
  if (place) bringBack(place);
  const found = place?.querySelector<HTMLElement>("[data-at]");
  if (found) {
    found.removeAttribute("data-at");
    found.focus({ preventScroll: true });
    found.scrollIntoView({ block: "nearest" });
    return;
  }
  const form = place?.querySelector<HTMLFormElement>(".slot form:not([data-seen])");
  if (!form) return;
  form.dataset.seen = "";
  (form.querySelector<HTMLElement>("input[type=radio], textarea") ?? form.querySelector("button"))?.focus();
}

if (place) {
  place.addEventListener("click", (event) => {
    const link = (event.target as Element).closest("[data-cancel]");
    const slot = link?.closest(".slot");
    if (!slot) return;
    event.preventDefault();
    const article = slot.closest<HTMLElement>("article");
    const form = formOf(link!);
    if (form) drop(form);
    slot.replaceChildren();
    article?.focus();
  });
  place.addEventListener("input", (event) => {
    const form = formOf(event.target as Element);
    if (form) keep(form);
  });
  bringBack(place);
  const address = place.dataset.address;
  if (!address) {
    loaded ??= start();
    void loaded.then(() => openBegun(place));
  } else
    new IntersectionObserver(
      (entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        loaded ??= start();
        void loaded.then((htmx) => htmx.ajax("GET", address, { target: "#talk", swap: "outerHTML", source: place }));
      },
      { rootMargin: "300px" },
    ).observe(place);
}
countReading();
