// How far one is, kept in this browser: which screens were read and which questions answered.
export interface Done {
  screens: string[];
  questions: number[];
  total: number;
  at: number;
}
const KEY = "lapwing-progress";
export const FINISHED = 0.8; // as in lapwing.web.recommend

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
  showCounts(all);
  const latest = Object.entries(all).sort(([, a], [, b]) => b.at - a.at)[0];
  const link = document.querySelector<HTMLAnchorElement>("#continue");
  if (link && latest && share(latest[1]) < 1) {
    link.href = `/learn/${latest[0]}`;
    link.hidden = false;
    link.classList.add("main"); // who comes back goes on
    link.previousElementSibling?.classList.remove("main");
  }
}

/** How many of these nuggets are done: counted, never written. */
function showCounts(all: Record<string, Done>): void {
  const done = (slug: string): boolean => share(all[slug]) >= FINISHED;
  for (const tick of document.querySelectorAll<HTMLElement>("[data-ticked]")) tick.hidden = !done(tick.dataset.ticked ?? "");
  for (const line of document.querySelectorAll<HTMLElement>("[data-counted]")) {
    const slugs = (line.dataset.counted ?? "").split(" ");
    const count = slugs.filter(done).length;
    if (!count && !line.id) continue;
    const bar = document.createElement("span");
    bar.className = "done-bar";
    bar.append(document.createElement("span"));
    (bar.firstElementChild as HTMLElement).style.width = `${(100 * count) / slugs.length}%`;
    line.replaceChildren(`${count} of ${slugs.length} nuggets done`, bar);
    line.hidden = false;
  }
}

export function watchReading(): void {
  const article = document.querySelector<HTMLElement>("article[data-slug]");
  if (!article) return;
  const slug = article.dataset.slug ?? "";
  const screens = [...article.querySelectorAll<HTMLElement>("section.screen")];
  const questions = [...article.querySelectorAll<HTMLFormElement>("form.question")];
  const total = screens.length + questions.length;
  const kept = (change: (done: Done) => void): void => {
    keep(slug, (done) => {
      done.total = total;
      change(done);
    });
    showMap(slug, screens, questions.length);
  };
  showMap(slug, screens, questions.length);
  followMap(screens);
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      const id = (target as HTMLElement).closest("section.screen")?.id ?? "";
      kept((done) => void (done.screens.includes(id) || done.screens.push(id)));
    }
  });
  for (const screen of screens) seen.observe(screen.lastElementChild ?? screen);
  for (const form of questions)
    answerThenCheck(form, () => {
      const number = Number(form.dataset.question);
      kept((done) => void (done.questions.includes(number) || done.questions.push(number)));
    });
}

/** A question is answered, then checked; whoever changes an answer checks again. */
function answerThenCheck(form: HTMLFormElement, right: () => void): void {
  const check = form.querySelector<HTMLInputElement>("input.check");
  const button = form.querySelector<HTMLButtonElement>(".checking button");
  const result = form.querySelector<HTMLElement>(".result");
  if (!check || !button || !result) return;
  const answers = [...form.querySelectorAll<HTMLInputElement>(".option > input")];
  const say = (words: string, kind = ""): void => {
    result.textContent = words;
    result.className = `result ${kind}`;
  };
  (check.parentElement as HTMLElement).hidden = true;
  button.hidden = false;
  check.checked = false;
  form.addEventListener("change", () => {
    check.checked = false;
    say("");
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const ticked = answers.filter((answer) => answer.checked);
    check.checked = ticked.length > 0;
    if (!ticked.length) return say("Choose an answer first.");
    const good = answers.every((answer) => answer.checked === "right" in answer.dataset);
    const some = ticked.every((answer) => "right" in answer.dataset);
    say(good ? "✓ Right." : some ? "Right so far. There is more." : "Not quite. Try again.", good ? "right" : some ? "" : "wrong");
    if (good) right();
  });
}

/** The map beside the text: what was read, and how far one is. */
function showMap(slug: string, screens: HTMLElement[], questions: number): void {
  const done = progress()[slug];
  const read = screens.filter(({ id }) => done?.screens.includes(id));
  for (const { id } of read)
    for (const link of document.querySelectorAll(`.map a[href="#${CSS.escape(id)}"]`)) link.classList.add("read");
  const right = Math.min(questions, done?.questions.length ?? 0);
  const titled = screens.filter((screen) => screen.querySelector(":scope > h2"));
  const said = `${read.filter((screen) => titled.includes(screen)).length} of ${titled.length} sections read` + (questions ? `, ${right} of ${questions} questions right` : "");
  const line = document.querySelector<HTMLElement>("#so-far");
  if (!line) return;
  const bar = document.createElement("span");
  bar.className = "bar";
  bar.append(document.createElement("span"));
  (bar.firstElementChild as HTMLElement).style.width = `${100 * share(done)}%`;
  line.replaceChildren(said, bar);
  line.hidden = false;
}

/** Where one is, marked in the map. */
function followMap(screens: HTMLElement[]): void {
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        for (const link of document.querySelectorAll(".map a"))
          if (link.getAttribute("href") === `#${target.id}`) link.setAttribute("aria-current", "true");
          else link.removeAttribute("aria-current");
      }
    },
    { rootMargin: "-15% 0px -75% 0px" },
  );
  for (const screen of screens) near.observe(screen);
}
