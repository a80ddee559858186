// The asking page and the page of an answer: forms that answer at once, and pictures beside the tables.
import { html, render } from "lit";
import "./lab/answer.js";
import "./lab/attacks.js";
import "./lab/clipping.js";
import "./lab/contrast.js";
import "./lab/draws.js";
import type { Handles, Nearby, Typed } from "./lab/handles.js";
import "./lab/handles.js";
import type { QuestionHandles } from "./lab/kinds.js";
import { told } from "./lab/told.js";
import { benchOf, follow, get, underWay } from "./lab/waiting.js";

const PAUSE = 400; // milliseconds without a key, after which a price is asked for

function asking(handles: Handles, question: HTMLFormElement, release: HTMLFormElement): void {
  const typed = release.querySelector<HTMLInputElement>("input[name=epsilon]") as HTMLInputElement;
  const kept = document.querySelectorAll<HTMLInputElement>("input[data-epsilon]");
  const wrong = document.getElementById("wrong") as HTMLElement;
  const go = document.getElementById("go") as HTMLButtonElement;
  const copied = document.getElementById("copied") as HTMLElement;
  const waiting = document.getElementById("waiting") as HTMLElement;
  const basis = document.getElementById("based-on");
  let latest = 0;
  let stale = false; // something was typed since the last quote was asked for
  let typing: ReturnType<typeof setTimeout> | undefined;
  let quote: Promise<boolean> = Promise.resolve(!wrong.textContent); // whether the form, as it stands, can be released
  let pressed: Promise<unknown> = Promise.resolve(); // as long as the button is held down, nothing on the page moves

  const choose = (epsilon: number): void => {
    typed.value = String(epsilon);
    for (const one of kept) one.value = String(epsilon);
    const { left = 0, allowance = 1 } = handles.asking?.budget ?? {};
    go.disabled = epsilon > left + allowance * 1e-9;
  };
  const begin = Number(typed.value);
  handles.asking = told<QuestionHandles>("asking");
  handles.epsilon = begin >= 0.01 && begin <= 10 ? begin : 1;
  choose(handles.epsilon);
  handles.addEventListener("chosen", (event) => {
    choose((event as CustomEvent<number>).detail);
    remember();
    void exactly();
  });

  const words = (): URLSearchParams => {
    const sent = new URLSearchParams();
    for (const [name, value] of new FormData(question)) if (name !== "epsilon") sent.append(name, String(value));
    return sent;
  };
  /** What the line between two places of the slider only comes near. */
  const exactly = async (): Promise<void> => {
    const { epsilon } = handles;
    const turn = latest;
    if (handles.asking?.places.includes(epsilon)) return;
    const place = (question.dataset.preview ?? "").replace(/preview$/, "at");
    const found = await get<Typed>(`${place}?${words()}&epsilon=${epsilon}`).catch(() => null);
    if (turn === latest && epsilon === handles.epsilon) handles.typed = found;
  };
  let soon: ReturnType<typeof setTimeout> | undefined;
  /** The address leads to this state; browsers do not like it to change with every step of a slider. */
  const remember = (): void => {
    clearTimeout(soon);
    soon = setTimeout(() => history.replaceState(null, "", `?${words()}&epsilon=${handles.epsilon}`), 300);
  };
  const spread = async (turn: number): Promise<void> => {
    const found = await get<Nearby>(`${question.dataset.nearby}?${words()}`).catch(() => null);
    if (turn === latest) handles.nearby = found;
  };
  const quoted = async (turn: number): Promise<boolean> => {
    let found: QuestionHandles | null = null;
    let complaint = "";
    try {
      const told = await get<QuestionHandles | { complaint: string }>(`${question.dataset.preview}?${words()}`);
      if ("complaint" in told) complaint = told.complaint;
      else found = told;
    } catch (error) {
      complaint = (error as Error).message;
    }
    await pressed;
    if (turn !== latest) return quote; // a newer one is under way
    go.removeAttribute("aria-busy");
    wrong.textContent = complaint;
    wrong.hidden = !complaint;
    handles.invalid = !found;
    if (!found) {
      basis?.replaceChildren(); // it was about the question before
      return false;
    }
    handles.nearby = handles.typed = null;
    handles.asking = found;
    copied.replaceChildren(
      ...found.asked.map(([name, value]) =>
        Object.assign(document.createElement("input"), { type: "hidden", name, value }),
      ),
    );
    basis?.replaceChildren(
      ...found.based_on.map((line) => Object.assign(document.createElement("li"), { textContent: line })),
    );
    choose(handles.epsilon);
    remember();
    void spread(turn);
    void exactly();
    return true;
  };
  const ask = (): Promise<boolean> => {
    clearTimeout(typing);
    stale = false;
    go.setAttribute("aria-busy", "true");
    quote = quoted(++latest);
    return quote;
  };
  question.addEventListener("input", () => {
    stale = true;
    clearTimeout(typing);
    typing = setTimeout(() => void ask(), PAUSE);
  });
  question.addEventListener("change", () => {
    if (stale) void ask();
  });
  question.addEventListener("submit", (event) => {
    event.preventDefault();
    void ask();
  });
  go.addEventListener("pointerdown", () => {
    pressed = new Promise((lifted) => {
      for (const end of ["pointerup", "pointercancel"])
        window.addEventListener(end, () => setTimeout(lifted), { once: true }); // after the click
    });
  });

  let releasing = false;
  release.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (releasing) return;
    releasing = true;
    const bench = benchOf();
    try {
      render(html`<p class="hint">Checking the price …</p>`, waiting);
      if (!(await (stale ? ask() : quote))) throw new Error(`Nothing was released. ${wrong.textContent}`);
      const body = new URLSearchParams();
      for (const [name, value] of new FormData(release)) body.append(name, String(value));
      const job = await follow(bench, release.action, body, (now) => render(underWay(now, bench), waiting));
      location.assign(job.where);
    } catch (error) {
      render(html`<p class="complaint" role="alert">${(error as Error).message}</p>`, waiting);
      await ask(); // what is left may be less by now
    }
    releasing = false;
  });
  void spread(latest);
  void exactly();
}

/** Of the fields of a filter, those that its column has: a key, or a range. */
function filtering(place: HTMLElement): void {
  const [keyed, bounded] = [place.dataset.keyed, place.dataset.bounded].map(
    (names) => new Set(JSON.parse(names ?? "[]") as string[]),
  );
  const field = (name: string): HTMLInputElement => place.querySelector<HTMLInputElement>(`[name=${name}]`)!;
  const where = field("where");
  const fit = (): void => {
    for (const [name, able] of [
      ["equals", keyed],
      ["low", bounded],
      ["high", bounded],
    ] as const) {
      const input = field(name);
      input.closest("label")!.hidden = !able?.has(where.value);
      if (!able?.has(where.value)) input.value = "";
    }
  };
  const matching = place.querySelector<HTMLInputElement>("[name=matching]");
  const known = (): void => {
    if (matching) matching.closest("label")!.hidden = !where.value; // of all rows, the number of people is stated
  };
  where.addEventListener("input", known);
  known();
  where.addEventListener("input", fit); // before a price is asked for
  fit();
}

const filter = document.querySelector<HTMLElement>(".some-rows");
if (filter) filtering(filter);
const handles = document.querySelector<Handles>("lw-handles");
const question = document.querySelector<HTMLFormElement>("form#question");
const release = document.querySelector<HTMLFormElement>("form#release");
if (handles && question && release) asking(handles, question, release);
else question?.addEventListener("change", () => question.requestSubmit());

const print = document.getElementById("print-label");
if (print) {
  print.hidden = false;
  print.addEventListener("click", () => {
    document.documentElement.dataset.print = "label";
    window.print();
    delete document.documentElement.dataset.print;
  });
}

// Who comes back by the browser's button sees what is left now.
window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted) location.reload();
});
