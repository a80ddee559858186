// How far one is, kept in this browser: which screens were read and which questions answered.
import { counted } from "./plural.js";

export interface Done {
  screens: string[];
  questions: number[];
  total: number;
  at: number;
}
/** What is said to the rest of the page when something was read or answered. */
export interface Kept {
  slug: string;
  change: (done: Done) => void;
}
export const KEPT = "lapwing-kept";
const KEY = "lapwing-progress";
export const FINISHED = 0.8; // as in lapwing.web.school.recommend

export function progress(): Record<string, Done> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, Done>;
  } catch {
    return {};
  }
}

export function keep(slug: string, change: (done: Done) => void): void {
  const all = progress();
  const done = (all[slug] ??= { screens: [], questions: [], total: 1, at: 0 });
  change(done);
  done.at = Date.now();
  localStorage.setItem(KEY, JSON.stringify(all));
  showCounts(all);
  document.dispatchEvent(new CustomEvent<Kept>(KEPT, { detail: { slug, change } }));
}

/** Adds what an account knows; nothing that was done here is undone. */
export function adopt(more: Record<string, Done>): void {
  const all = progress();
  for (const [slug, other] of Object.entries(more)) {
    const mine = all[slug];
    const newest = !mine || other.at > mine.at ? other : mine;
    all[slug] = {
      screens: [...new Set([...other.screens, ...(mine?.screens ?? [])])],
      questions: [...new Set([...other.questions, ...(mine?.questions ?? [])])],
      total: newest.total,
      at: newest.at,
    };
  }
  localStorage.setItem(KEY, JSON.stringify(all));
}

export function forget(): void {
  localStorage.removeItem(KEY);
}

export function share(done: Done | undefined): number {
  return done ? Math.min(1, (done.screens.length + done.questions.length) / Math.max(1, done.total)) : 0;
}

export function showProgress(): void {
  const all = progress();
  for (const bar of document.querySelectorAll<HTMLElement>("[data-progress]")) {
    const part = share(all[bar.dataset.progress ?? ""]);
    const inner = bar.firstElementChild as HTMLElement | null;
    if (!inner || !part) continue;
    inner.style.width = `${100 * part}%`;
    bar.setAttribute("aria-label", `${Math.round(100 * part)} % done`);
    bar.hidden = false;
  }
  showCounts(all);
  const latest = Object.entries(all).sort(([, a], [, b]) => b.at - a.at)[0];
  const link = document.querySelector<HTMLAnchorElement>("#continue");
  if (link && latest && share(latest[1]) < 1) {
    link.href = `/learn/${latest[0]}#${latest[1].screens.at(-1) ?? ""}`;
    link.hidden = false;
    link.classList.add("main"); // who comes back goes on
    link.previousElementSibling?.classList.remove("main");
  }
}

/** How many of these nuggets are done: counted, never written. */
function showCounts(all: Record<string, Done>): void {
  const done = (slug: string): boolean => share(all[slug]) >= FINISHED;
  for (const dot of document.querySelectorAll<HTMLElement>("[data-dot]")) {
    const finished = done(dot.dataset.dot ?? "");
    if (finished && !dot.classList.contains("done")) dot.querySelector(".unseen")?.append(", done");
    dot.classList.toggle("done", finished);
  }
  for (const tick of document.querySelectorAll<HTMLElement>("[data-ticked]"))
    tick.hidden = !done(tick.dataset.ticked ?? "");
  for (const line of document.querySelectorAll<HTMLElement>("[data-counted]")) {
    const slugs = (line.dataset.counted ?? "").split(" ");
    const count = slugs.filter(done).length;
    if (!count && !line.id) continue;
    const bar = document.createElement("span");
    bar.className = "done-bar";
    bar.append(document.createElement("span"));
    (bar.firstElementChild as HTMLElement).style.width = `${(100 * count) / slugs.length}%`;
    line.replaceChildren(`${count} of ${counted(slugs.length, "nugget")} done`, bar);
    line.hidden = false;
  }
}
