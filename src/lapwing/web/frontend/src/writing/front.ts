// The form beside the text of a nugget: what stands in its front matter.
export type Front = Record<string, string | string[]>;

const FIELDS = ["title", "category", "level", "summary", "objectives", "after", "words", "picture"];
const LINES = ["objectives", "words"];
const LISTS = ["roles", "needs", "helps"];

function inputs(form: HTMLFormElement, name: string): HTMLInputElement[] {
  return [...form.querySelectorAll<HTMLInputElement>(`.front [name="${name}"]`)];
}

/** Shows it in the form, but for the field in which somebody types. */
export function fill(form: HTMLFormElement, front: Front): void {
  for (const name of FIELDS) {
    const value = front[name];
    const input = inputs(form, name)[0]!;
    if (input !== document.activeElement) input.value = Array.isArray(value) ? value.join("\n") : (value ?? "");
  }
  for (const name of LISTS) for (const box of inputs(form, name)) box.checked = (front[name] ?? []).includes(box.value);
}

/** What the form says now. */
export function written(form: HTMLFormElement): Front {
  const front: Front = {};
  for (const name of FIELDS) {
    const { value } = inputs(form, name)[0]!;
    front[name] = LINES.includes(name) ? value.split("\n") : value;
  }
  for (const name of LISTS)
    front[name] = inputs(form, name)
      .filter((box) => box.checked)
      .map((box) => box.value);
  return front;
}
