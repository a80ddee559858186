// Bringing a table: dropped or chosen, with progress while it is sent and read. Forms do the same without this.
import "./lib/epsilon.js";
import type { Epsilon } from "./lib/epsilon.js";
import { queued } from "./lib/queue.js";

interface Told {
  state: "waiting" | "working" | "done" | "failed" | "cancelled";
  share: number;
  where: string;
  place: number;
}
const ASKS_EVERY = 400; // milliseconds

function size(bytes: number): string {
  return bytes < 1e6
    ? `${Math.ceil(bytes / 1e3)} kB`
    : bytes < 1e9
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${(bytes / 1e9).toFixed(2)} GB`;
}

function bringing(form: HTMLFormElement): void {
  const input = form.querySelector<HTMLInputElement>('input[type="file"]')!;
  const going = form.querySelector<HTMLElement>(".going")!;
  const [bar, words, stop] = [
    going.querySelector("progress")!,
    going.querySelector<HTMLElement>(".words")!,
    going.querySelector("button")!,
  ];
  const complaint = form.querySelector<HTMLElement>(".complaint")!;
  const most = Number(form.dataset.most);
  form.querySelector<HTMLElement>(".here")!.hidden = false;

  const complain = (text: string) => {
    complaint.textContent = text;
    complaint.hidden = !text;
    if (text) going.hidden = true;
  };
  const send = (file: File) => {
    complain("");
    if (file.size > most)
      return complain(
        `This file has ${size(file.size)}, and at most ${size(most)} are allowed. Bring fewer columns or rows, or save it as Parquet.`,
      );
    if (!file.size) return complain("The file is empty. Choose one with rows in it.");
    const request = new XMLHttpRequest(); // fetch does not tell how much is sent
    request.open("POST", form.action);
    request.setRequestHeader("accept", "application/json");
    request.setRequestHeader("content-type", "application/octet-stream");
    request.setRequestHeader("x-file-name", encodeURIComponent(file.name).slice(0, 1000));
    const csrf = form.querySelector<HTMLInputElement>('input[name="csrf"]');
    if (csrf) request.setRequestHeader("x-csrf-token", csrf.value);
    request.upload.onprogress = (event) => {
      bar.value = event.loaded / Math.max(1, event.total);
      words.textContent = `${size(event.loaded)} of ${size(event.total)} sent`;
    };
    request.onload = () => {
      const told = JSON.parse(request.responseText || "{}") as { where?: string; detail?: string };
      if (request.status === 201 && told.where) location.assign(told.where);
      else complain(told.detail ?? "This did not work. Please try again.");
    };
    request.onerror = () => complain("The connection broke. Please try again.");
    request.onabort = () => complain("You stopped it. Nothing was kept.");
    stop.onclick = () => request.abort();
    going.hidden = false;
    request.send(file);
  };

  form.addEventListener("submit", (event) => {
    const file = input.files?.[0];
    if (!file) return;
    event.preventDefault();
    send(file);
  });
  for (const name of ["dragenter", "dragover"])
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.add("over");
    });
  for (const name of ["dragleave", "drop"]) form.addEventListener(name, () => form.classList.remove("over"));
  form.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) send(file);
  });
}

async function following(place: HTMLElement): Promise<void> {
  const [bar, words] = [place.querySelector("progress")!, place.querySelector<HTMLElement>(".words")!];
  for (;;) {
    const answer = await fetch(place.dataset.job!, { headers: { accept: "application/json" } }).catch(() => null);
    if (answer && !answer.ok) return location.assign("/lab");
    const told = answer ? ((await answer.json()) as Told) : null;
    if (told) {
      bar.value = told.share;
      words.textContent = told.state === "waiting" ? queued(told.place) : `${Math.round(100 * told.share)} %`;
      if (told.state === "done") return location.replace(told.where || location.href);
      if (told.state === "failed" || told.state === "cancelled") return location.reload();
    }
    await new Promise((ready) => setTimeout(ready, ASKS_EVERY));
  }
}

/** The slider of the school in place of the field, which keeps the value for the form. */
function sliding(field: HTMLInputElement): void {
  const slider = document.createElement("lw-epsilon") as Epsilon;
  slider.value = Number(field.value) || 1;
  slider.label = "Allowance for everything that is ever asked,";
  slider.when = "After all questions";
  slider.addEventListener("epsilon", (event) => (field.value = String((event as CustomEvent<number>).detail)));
  const label = field.closest("label")!;
  label.before(slider);
  label.hidden = true;
}

// A suggestion and why it was made: gone once another type is chosen.
for (const kind of document.querySelectorAll<HTMLSelectElement>(".columns .kind select"))
  kind.addEventListener("change", () => kind.closest("li")?.querySelector(".why.guess")?.remove());
for (const time of document.querySelectorAll<HTMLTimeElement>("time[datetime]"))
  time.textContent = new Date(time.dateTime).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
const drop = document.querySelector<HTMLFormElement>("#drop");
if (drop) bringing(drop);
const job = document.querySelector<HTMLElement>("[data-job]");
if (job) void following(job);
const epsilon = document.querySelector<HTMLInputElement>("#epsilon");
if (epsilon) sliding(epsilon);
