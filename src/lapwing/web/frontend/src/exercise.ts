// An exercise becomes an editor when somebody wants to write; only then are the editor and Python loaded.
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
  private stop = 0;
  private readonly said = document.createElement("div");

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
    const row = document.createElement("div");
    row.className = "buttons";
    row.append(
      button("Run", () => this.ask("run")),
      button("Check it", () => this.ask("check"), "main"),
      button("Start again", () => shown.replace(this.exercise.starter)),
    );
    this.replaceChildren(shown.element, row, this.said);
    shown.focus();
  }

  private ask(what: "run" | "check"): void {
    if (this.busy) this.end();
    const { python = "", pyodide = "", lapwing = "" } = document.querySelector<HTMLElement>("[data-python]")?.dataset ?? {};
    const worker = (this.worker ??= new Worker(python, { type: "module" }));
    this.busy = true;
    const patience = Number(this.dataset.patience) || PATIENCE;
    let running = false;
    this.endAfter(LOADING, "Python did not come. Reload the page and try again.");
    this.say([["quiet", "Starting Python …"]]);
    worker.onmessage = ({ data }: MessageEvent<Told>) => {
      if (data.kind === "progress") {
        if (!running) this.endAfter(patience, `Stopped after ${patience} seconds: is there a loop that never ends?`);
        running = true;
        return this.say([["quiet", data.text]]);
      }
      clearTimeout(this.stop);
      this.busy = false; // it stays for the next run: to start takes longer than to run
      this.say(data.lines);
      if (what === "check" && data.passed) this.dispatchEvent(new CustomEvent("passed", { bubbles: true, detail: this.exercise.id }));
    };
    worker.onerror = () => {
      this.end();
      this.say([["wrong", "Python could not be started in this browser."]]);
    };
    const wanted: Wanted = { what, pyodide, lapwing, code: this.text(), checks: this.exercise.checks, audit: this.exercise.audit };
    worker.postMessage(wanted);
  }

  private endAfter(seconds: number, why: string): void {
    clearTimeout(this.stop);
    this.stop = window.setTimeout(() => {
      this.end();
      this.say([["wrong", why]]);
    }, 1000 * seconds);
  }

  private end(): void {
    clearTimeout(this.stop);
    this.worker?.terminate();
    this.worker = undefined;
    this.busy = false;
  }

  private say(lines: [string, string][]): void {
    this.said.replaceChildren(
      ...lines.map(([kind, text]) => {
        const line = document.createElement(kind === "out" ? "pre" : "p");
        line.className = kind;
        line.textContent = text;
        return line;
      }),
    );
  }
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
