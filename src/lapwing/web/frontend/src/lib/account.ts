// Who is signed in, if anybody: asked for only where a cookie without a secret says that it is worth it.
import { dropDrafts } from "./draft.js";
import { adopt, forget, progress, showProgress, type Done } from "./progress.js";

export interface Me {
  name: string;
  role: "learner" | "instructor" | "admin";
  csrf: string;
  writes: string[];
  profile: { roles: string[]; knowledge: string; goals: string[] };
  progress: Record<string, Done>;
  classes: number;
}
const MARKER = /(?:^|; )lapwing-signed-in=1/;
const LINKED = "lapwing-carried-into";
let asked: Promise<Me | null> | undefined;

/** The one who is signed in, or null; asked once for each page. */
export function me(): Promise<Me | null> {
  if (!MARKER.test(document.cookie)) return Promise.resolve(null);
  return (asked ??= fetch("/me", { headers: { accept: "application/json" } })
    .then(async (answer) => {
      const told = answer.ok ? await answer.json() : null;
      return told?.signed_in ? (told as Me) : null;
    })
    .catch(() => null));
}

/** A change, with the proof that one of our own pages asks for it. Works for nobody in particular, too. */
export async function send(address: string, body: unknown, options: RequestInit = {}): Promise<Response> {
  const person = await me();
  const headers: Record<string, string> = { "content-type": "application/json", accept: "application/json" };
  if (person) headers["x-csrf-token"] = person.csrf;
  return fetch(address, { method: "POST", headers, body: JSON.stringify(body), ...options });
}

/** Names the account in the header and keeps progress in step, once somebody wished so. */
export async function greet(): Promise<void> {
  const person = await me();
  if (!person) return;
  const link = document.querySelector<HTMLAnchorElement>("#account");
  if (link) link.textContent = person.name;
  const edit = document.querySelector<HTMLAnchorElement>("a#edit");
  if (edit) edit.hidden = person.role === "learner" && !person.writes.includes(edit.dataset.slug ?? "");
  document.querySelector("#sign-out")?.addEventListener("submit", () => {
    if (localStorage.getItem(LINKED) === person.name) forget();
    localStorage.removeItem(LINKED);
    dropDrafts(person.name);
  });
  if (Object.keys(progress()).length === 0) localStorage.setItem(LINKED, person.name); // nothing of anybody else's here
  if (localStorage.getItem(LINKED) === person.name) await keepInStep(person);
  else offer(person);
}

/** Whether this browser knows of something done that the account does not. */
function ahead(known: Record<string, Done>): boolean {
  return Object.entries(progress()).some(([slug, mine]) => {
    const theirs = known[slug];
    return (
      !theirs ||
      mine.screens.some((one) => !theirs.screens.includes(one)) ||
      mine.questions.some((one) => !theirs.questions.includes(one))
    );
  });
}

async function keepInStep(person: Me): Promise<void> {
  let known = person.progress;
  const carry = async (): Promise<void> => {
    if (!ahead(known)) return;
    const answer = await send("/me/progress", progress(), { keepalive: true });
    if (answer.ok) known = (await answer.json()) as Record<string, Done>;
  };
  adopt(known);
  showProgress();
  await carry().catch(() => undefined);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") void carry().catch(() => undefined);
  });
}

function offer(person: Me): void {
  const box = document.querySelector<HTMLElement>("#carry");
  if (!box) return;
  box.hidden = false;
  box.querySelector("button")?.addEventListener("click", async () => {
    localStorage.setItem(LINKED, person.name);
    await keepInStep(person);
    box.hidden = true;
    location.reload();
  });
}
