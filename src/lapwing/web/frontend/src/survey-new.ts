// Making a survey: the fields of the chosen kind, and epsilon, people and error, each of which follows from the others.
import "./lib/epsilon.js";
import type { Epsilon } from "./lib/epsilon.js";
import { decimal, epsilonFor, expectedError, type Plan } from "./math/survey.js";

const form = document.querySelector<HTMLFormElement>("form#new-survey");
if (form) begin(form);

function begin(form: HTMLFormElement): void {
  const field = <T extends HTMLElement = HTMLInputElement>(name: string): T =>
    form.querySelector(`[name="${name}"]`) as T;
  const kind = (): Plan["kind"] =>
    (form.querySelector<HTMLInputElement>('[name="kind"]:checked')?.value ?? "yes-no") as Plan["kind"];
  const epsilon = field("epsilon");
  const trade = form.querySelector("#trade") as HTMLElement;
  const people = trade.querySelector("#people") as HTMLInputElement;
  const error = trade.querySelector("#error") as HTMLInputElement;
  const unit = trade.querySelector("#error-unit") as HTMLElement;
  const words = trade.querySelector("[role=status]") as HTMLElement;

  const slider = document.createElement("lw-epsilon") as Epsilon;
  slider.value = Number(epsilon.value) || 1;
  slider.about = "on somebody’s answer";
  slider.label = "Privacy:";
  trade.prepend(slider);
  (epsilon.closest("label") as HTMLElement).hidden = true;
  trade.hidden = false;

  const answers = (): number => {
    const lines = field<HTMLTextAreaElement>("answers")
      .value.split("\n")
      .filter((line) => line.trim()).length;
    return Math.min(20, Math.max(2, lines));
  };
  /** What a whole error would be: 100 points, or the distance of the bounds. */
  const whole = (): number => {
    if (kind() !== "number") return 100;
    const [a, b] = [decimal(field("low").value), decimal(field("high").value)];
    return a && b ? Math.max(0, Number(b[0]) / Number(b[1]) - Number(a[0]) / Number(a[1])) : 0;
  };
  const count = (): number => Math.max(1, Math.round(Number(people.value)) || 1);

  function tell(): void {
    const size = whole();
    unit.textContent = kind() === "number" ? field("measure").value || "of the number’s unit" : "points";
    const off = expectedError(kind(), answers(), slider.value, count());
    error.value = size ? String(+(off * size).toPrecision(2)) : "";
    words.textContent =
      off >= 0.5
        ? `With ${count().toLocaleString("en")} people the error would be too large to learn anything. Ask more people, or choose a larger epsilon.`
        : `If ${count().toLocaleString("en")} people answer, the estimate will lie within about ±${error.value} ${unit.textContent} of the truth, with 95\u00a0% confidence.`;
    epsilon.value = String(slider.value);
  }
  function follow(): void {
    const size = whole();
    if (!(Number(error.value) > 0) || !size) return;
    const found = epsilonFor(kind(), answers(), Number(error.value) / size, count());
    if (found === null) {
      const wished = error.value;
      tell();
      words.textContent = `±${wished} is not possible with ${count().toLocaleString("en")} people at any epsilon. Ask more people.`;
      return;
    }
    slider.value = Math.ceil(found * 1000) / 1000;
    tell();
  }
  function fields(): void {
    for (const part of form.querySelectorAll<HTMLElement>("[data-kind]")) part.hidden = part.dataset.kind !== kind();
    tell();
  }

  slider.addEventListener("epsilon", tell);
  people.addEventListener("input", tell);
  error.addEventListener("change", follow);
  for (const name of ["answers", "low", "high", "measure"]) field(name).addEventListener("input", tell);
  for (const one of form.querySelectorAll('[name="kind"]')) one.addEventListener("change", fields);
  fields();
}
