// A nugget while it is read: its map, its questions, its steps, and how it ends.
import { counted } from "./plural.js";
import { keep, progress, share, type Done } from "./progress.js";

interface Reading {
  slug: string;
  article: HTMLElement;
  screens: HTMLElement[];
  questions: HTMLFormElement[];
}
const WHOLE = "lapwing-whole"; // who wants all sections at once is not asked again
const SHORT = "lapwing-short";

export function watchReading(): void {
  const article = document.querySelector<HTMLElement>("article[data-slug]");
  if (!article) return;
  const screens = [...article.querySelectorAll<HTMLElement>("section.screen")];
  const questions = [...article.querySelectorAll<HTMLFormElement>("form.question")];
  const reading = { slug: article.dataset.slug ?? "", article, screens, questions };
  const kept = (change: (done: Done) => void): void => {
    keep(reading.slug, (done) => {
      change(done);
      // What is deeper counts for those who read it, and is not missed by the others.
      const counted = screens.filter(({ id, classList }) => !classList.contains("deeper") || done.screens.includes(id));
      done.total = counted.length + questions.length;
    });
    show(reading);
  };
  rememberShort();
  show(reading);
  follow(screens);
  goStepByStep(reading);
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
    say(
      good ? "✓ Right." : some ? "Right so far. There is more." : "Not quite. Try again.",
      good ? "right" : some ? "" : "wrong",
    );
    if (good) right();
  });
}

/** What was read and answered: in the map beside the text, and at the end. */
function show({ slug, screens, questions }: Reading): void {
  const done = progress()[slug];
  const read = new Set(screens.map(({ id }) => id).filter((id) => done?.screens.includes(id)));
  for (const link of document.querySelectorAll(".map a"))
    link.classList.toggle("read", read.has((link.getAttribute("href") ?? "").slice(1)));
  const titled = screens.filter((screen) => screen.querySelector(":scope > h2"));
  const right = Math.min(questions.length, done?.questions.length ?? 0);
  const line = document.querySelector<HTMLElement>("#so-far");
  if (line) {
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.append(document.createElement("span"));
    (bar.firstElementChild as HTMLElement).style.width = `${100 * share(done)}%`;
    const said = `${titled.filter(({ id }) => read.has(id)).length} of ${titled.length} sections read`;
    line.replaceChildren(questions.length ? `${said}, ${right} of ${questions.length} questions right` : said, bar);
    line.hidden = false;
  }
  for (const one of document.querySelectorAll<HTMLElement>(".learned li")) {
    const left = (one.dataset.served ?? "").split(" ").filter((id) => id && !read.has(id));
    one.classList.toggle("left", left.length > 0);
    one.classList.toggle("read", !left.length);
    one.querySelector("small")?.remove();
    const still = document.createElement("small");
    one.append(still);
    if (!left.length) {
      still.append("You have read this.");
      continue;
    }
    const link = document.createElement("a");
    link.href = `#${left[0]}`;
    link.textContent = document.getElementById(left[0] as string)?.querySelector("h2")?.textContent ?? "this section";
    still.append("Not yet: read ", link);
  }
  const result = document.querySelector<HTMLElement>("#quiz-result");
  if (!result) return;
  result.hidden = false;
  result.textContent =
    right === questions.length
      ? `✓ All ${right} questions right.`
      : `You have answered ${right} of ${questions.length} questions correctly so far.`;
}

/** Where one is, marked in the map. */
function follow(screens: HTMLElement[]): void {
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

/** The short version stays chosen from one nugget to the next. */
function rememberShort(): void {
  const short = document.querySelector<HTMLInputElement>("#short");
  if (!short) return;
  short.checked = localStorage.getItem(SHORT) === "1";
  short.addEventListener("change", () =>
    short.checked ? localStorage.setItem(SHORT, "1") : localStorage.removeItem(SHORT),
  );
}

/** In a long nugget the next section comes with “Continue”. What was read stays open; links and searches open what they lead to. */
function goStepByStep({ slug, article, screens }: Reading): void {
  if (!("steps" in article.dataset) || localStorage.getItem(WHOLE) === "1") return;
  const read = progress()[slug]?.screens ?? [];
  const last = screens.at(-1);
  const rest = [...article.children].slice([...article.children].indexOf(last as Element) + 1) as HTMLElement[];
  const first = screens.findIndex((screen) => screen.querySelector(":scope > h2"));
  let open = Math.max(first, ...screens.map(({ id }, place) => (read.includes(id) ? place : 0)));
  const row = document.createElement("div");
  row.className = "steps-on";
  const skipped = (screen: HTMLElement): boolean =>
    screen.classList.contains("deeper") && document.querySelector<HTMLInputElement>("#short")?.checked === true;
  const next = (): number => screens.findIndex((screen, place) => place > open && !skipped(screen));
  const lay = (): void => {
    screens.forEach((screen, place) =>
      place > open ? screen.setAttribute("hidden", "until-found") : screen.removeAttribute("hidden"),
    );
    const following = screens[next()];
    for (const part of rest) part.hidden = Boolean(following);
    if (!following) return row.remove();
    const title = following.querySelector(":scope > h2")?.textContent ?? "the next section";
    const minutes = Number(following.dataset.minutes);
    go.textContent = `Continue: ${title}`;
    about.textContent = `${counted(minutes, "minute")}, section ${next() + 1 - first} of ${screens.length - first}`;
    screens[open]?.after(row);
  };
  const reach = (place: number): void => {
    if (place <= open) return;
    open = place;
    lay();
  };
  const all = (): void => reach(screens.length - 1);
  const go = button("Continue", "button main", () => {
    const following = screens[next()];
    if (!following) return all();
    reach(screens.indexOf(following));
    const title = following.querySelector<HTMLElement>(":scope > h2") ?? following;
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
    following.scrollIntoView();
  });
  const about = document.createElement("small");
  const whole = button("Always show everything", "all", () => {
    localStorage.setItem(WHOLE, "1");
    all();
  });
  row.append(go, about, whole);
  const lead = (id: string): void => {
    const place = screens.findIndex((screen) => screen.id === id || screen.querySelector(`[id="${CSS.escape(id)}"]`));
    if (place >= 0) reach(place);
    else if (id && !article.querySelector(`.opening [id="${CSS.escape(id)}"]`) && id !== "main") all();
  };
  screens.forEach((screen, place) => screen.addEventListener("beforematch", () => reach(place)));
  document.addEventListener("click", (event) => {
    const link = (event.target as Element).closest?.('a[href^="#"]');
    if (link) lead((link.getAttribute("href") ?? "").slice(1));
  });
  window.addEventListener("hashchange", () => lead(location.hash.slice(1)));
  window.addEventListener("beforeprint", all);
  document.querySelector("#short")?.addEventListener("change", lay);
  lay();
  if (location.hash.length > 1) {
    lead(location.hash.slice(1));
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
}

function button(words: string, kind: string, pressed: () => void): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = kind;
  made.textContent = words;
  made.addEventListener("click", pressed);
  return made;
}
