// How far one is, kept in this browser: which screens were read and which questions answered.
export interface Done {
  screens: string[];
  questions: number[];
  total: number;
  at: number;
}
const KEY = "lapwing-progress";

export function progress(): Record<string, Done> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, Done>;
  } catch {
    return {};
  }
}

function keep(slug: string, change: (done: Done) => void): void {
  const all = progress();
  const done = (all[slug] ??= { screens: [], questions: [], total: 1, at: 0 });
  change(done);
  done.at = Date.now();
  localStorage.setItem(KEY, JSON.stringify(all));
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
  const latest = Object.entries(all).sort(([, a], [, b]) => b.at - a.at)[0];
  const link = document.querySelector<HTMLAnchorElement>("#continue");
  if (link && latest && share(latest[1]) < 1) {
    link.href = `/learn/${latest[0]}`;
    link.hidden = false;
    link.classList.add("main"); // who comes back goes on
    link.previousElementSibling?.classList.remove("main");
  }
}

export function watchReading(): void {
  const article = document.querySelector<HTMLElement>("article[data-slug]");
  if (!article) return;
  const slug = article.dataset.slug ?? "";
  const screens = [...article.querySelectorAll<HTMLElement>("section.screen")];
  const questions = [...article.querySelectorAll<HTMLFormElement>("form.question")];
  const total = screens.length + questions.length;
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      const id = (target as HTMLElement).closest("section.screen")?.id ?? "";
      keep(slug, (done) => {
        done.total = total;
        if (!done.screens.includes(id)) done.screens.push(id);
      });
    }
  });
  for (const screen of screens) seen.observe(screen.lastElementChild ?? screen);
  for (const form of questions) {
    form.addEventListener("change", (event) => {
      const chosen = event.target as HTMLInputElement;
      if (!("right" in chosen.dataset)) return;
      const number = Number(form.dataset.question);
      keep(slug, (done) => {
        done.total = total;
        if (!done.questions.includes(number)) done.questions.push(number);
      });
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  }
}
