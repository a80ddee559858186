// An exercise becomes an editor when somebody wants to write. Only then is the editor loaded, and Python behind it:
// it is there when the first program is written.
import type { Told, Wanted } from "./python.js";

interface Exercise {
  id: string;
  starter: string;
  checks: string;
  audit: { call: string; epsilon: number[]; domain: string; relation: string } | null;
}
const PATIENCE = 60; // seconds a program may run; data-patience says otherwise
const LOADING = 300; // seconds that Python may take to come
const KEY = "lapwing-exercise-";

class ExerciseElement extends HTMLElement {
  private exercise!: Exercise;
  private text!: () => string;
  private worker: Worker | undefined;
  private busy = false;
  private running = false;
  private checking = false;
  private timer = 0;
  private readonly said = document.createElement("div");
  private readonly loading = document.createElement("label");
  private readonly run = button("Run", () => this.ask("run"));
  private readonly stop = button("Stop", () =>
    this.stopped("Stopped. Your program is still here, and you can run it again."),
  );

  connectedCallback(): void {
    this.exercise = JSON.parse(this.dataset.exercise ?? "{}") as Exercise;
    const start = button("Write it here", () => void this.open(start), "main");
    this.append(start);
  }

  private async open(start: HTMLButtonElement): Promise<void> {
    start.disabled = true;
    start.textContent = "Loading the editor …";
    const { editor } = await import("./editor.js");
    const key = KEY + this.exercise.id;
    const shown = editor(localStorage.getItem(key) ?? this.exercise.starter, (text) => localStorage.setItem(key, text));
    this.text = shown.text;
    this.said.className = "said";
    this.said.setAttribute("role", "status");
    this.loading.className = "loading";
    this.loading.hidden = true;
    this.loading.append("Loading Python … ", document.createElement("progress"));
    this.stop.disabled = true;
    const row = document.createElement("div");
    row.className = "buttons";
    row.append(
      this.run,
      button("Check it", () => this.ask("check"), "main"),
      this.stop,
      button("Start again", () => {
        if (this.busy) this.stopped("");
        this.say([]);
        shown.replace(this.exercise.starter);
      }),
      this.loading,
    );
    this.replaceChildren(shown.element, row, this.said);
    shown.focus();
    this.load();
  }

  /** Python is fetched and started before anybody needs it. */
  private load(): void {
    this.python().postMessage(this.wanted("load"));
  }

  private python(): Worker {
    if (this.worker) return this.worker;
    const { python = "" } = assets();
    const worker = new Worker(python, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Told>) => this.heard(data);
    worker.onerror = () => this.heard({ kind: "failed" });
    return (this.worker = worker);
  }

  private wanted(what: Wanted["what"]): Wanted {
    const { pyodide = "", lapwing = "" } = assets();
    return { what, pyodide, lapwing, code: this.text(), checks: this.exercise.checks, audit: this.exercise.audit };
  }

  private ask(what: "run" | "check"): void {
    if (this.busy) this.end();
    this.checking = what === "check";
    this.busy = true;
    this.running = false;
    this.stop.disabled = false;
    this.endAfter(LOADING, "Python was not loaded. Reload the page and try again.");
    this.say([["quiet", "Starting Python …"]]);
    this.python().postMessage(this.wanted(what));
  }

  private heard(told: Told): void {
    this.loading.hidden = told.kind !== "loading";
    if (told.kind === "loading") this.loading.querySelector("progress")!.value = told.share;
    else if (told.kind === "progress") this.went(told.text);
    else if (told.kind === "done") {
      this.idle(); // Python stays for the next run: to start takes longer than to run
      this.say(told.lines);
      if (this.checking && told.passed)
        this.dispatchEvent(new CustomEvent("passed", { bubbles: true, detail: this.exercise.id }));
    } else if (told.kind === "failed") {
      const waited = this.busy;
      this.end();
      if (waited)
        this.say([["wrong", "Python could not be started in this browser. Check your connection and try again."]]);
    }
  }

  private went(text: string): void {
    const patience = Number(this.dataset.patience) || PATIENCE;
    if (!this.running) this.endAfter(patience, `Stopped after ${patience} seconds: is there a loop that never ends?`);
    this.running = true;
    this.say([["quiet", text]]);
  }

  private endAfter(seconds: number, why: string): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.stopped(why), 1000 * seconds);
  }

  /** A program cannot be interrupted, but its Python can be ended. Another one is started for the next run. */
  private stopped(why: string): void {
    this.end();
    this.say(why ? [["wrong", why]] : []);
    this.load();
  }

  private end(): void {
    this.worker?.terminate();
    this.worker = undefined;
    this.loading.hidden = true;
    this.idle();
  }

  private idle(): void {
    clearTimeout(this.timer);
    this.busy = false;
    if (document.activeElement === this.stop) this.run.focus(); // a disabled button would lose the keyboard
    this.stop.disabled = true;
  }

  private say(lines: [string, string][]): void {
    this.said.replaceChildren(
      ...lines.map(([kind, text]) => {
        if (kind === "picture") return picture(text);
        const line = document.createElement(kind === "out" ? "pre" : "p");
        line.className = kind;
        line.textContent = text;
        return line;
      }),
    );
  }
}

function assets(): DOMStringMap {
  return document.querySelector<HTMLElement>("[data-python]")?.dataset ?? {};
}

/** What draws is loaded with the first picture. */
function picture(text: string): HTMLElement {
  const place = document.createElement("div");
  void import("./plot.js").then(({ plot }) => place.replaceWith(plot(text)));
  return place;
}

function button(text: string, act: () => void, more = ""): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = `button ${more}`;
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}
customElements.define("lw-exercise", ExerciseElement);
