// Comments that somebody began and did not send stay in this browser, as an author's drafts do: a session may end meanwhile.
import { draftOf, dropDraft, keepDraft } from "./draft.js";

const WRITTEN = "form[data-writer]";
const addressOf = (form: HTMLFormElement): string => form.getAttribute("action")!;
const writerOf = (form: HTMLFormElement): string => form.dataset.writer!;
const field = (form: HTMLFormElement): HTMLTextAreaElement => form.querySelector("textarea")!;
/** For other words: the comment as it was when they were begun. */
const was = (form: HTMLFormElement): HTMLInputElement | null => form.querySelector('input[name="was"]');

function setWas(form: HTMLFormElement, mark: string): void {
  const input = was(form);
  if (input) input.value = mark;
}

/** The form for a comment in which something is; not one for a report. */
export function formOf(inside: Element): HTMLFormElement | null {
  return inside.closest<HTMLFormElement>(WRITTEN);
}

/** Keeps what stands in a form; says whether this browser could. */
export function keep(form: HTMLFormElement): boolean {
  const { value } = field(form);
  if (value.trim()) return keepDraft(writerOf(form), addressOf(form), value, was(form)?.value ?? "");
  drop(form);
  return true;
}

/** It was sent, or is not wanted any more. */
export function drop(form: HTMLFormElement): void {
  dropDraft(writerOf(form), addressOf(form));
}

/** Puts what was kept into the forms that came onto the page since this was last called. */
export function bringBack(place: HTMLElement): void {
  for (const form of place.querySelectorAll<HTMLFormElement>(`${WRITTEN}:not([data-looked])`)) {
    form.dataset.looked = "";
    if (form.querySelector(".preview, .complaint")) continue; // the school's answer to this very text
    const kept = draftOf(writerOf(form), addressOf(form));
    if (!kept || kept.text.trim() === field(form).value.trim()) continue;
    const current = was(form)?.value ?? "";
    field(form).value = kept.text;
    setWas(form, kept.base); // if the comment is another by now, its author sees both
    form.prepend(
      notice(kept.at, () => {
        drop(form);
        form.reset();
        setWas(form, current); // the browser does not reset a hidden field
        field(form).focus();
      }),
    );
  }
}

function notice(at: number, discard: () => void): HTMLElement {
  const line = document.createElement("p");
  line.className = "hint unsent";
  line.setAttribute("role", "status");
  const when = new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  const away = document.createElement("button");
  away.type = "button";
  away.className = "button";
  away.textContent = "Discard it";
  away.addEventListener("click", () => {
    line.remove();
    discard();
  });
  line.append(`You wrote this on ${when} and did not send it. `, away);
  return line;
}

/** Opens the answer or the change that somebody had begun at the comment to which they come back. */
export function openBegun(place: HTMLElement): void {
  const article = place.querySelector<HTMLElement>("article[data-at]");
  const writer = place.querySelector<HTMLElement>(WRITTEN)?.dataset.writer;
  if (!article || writer === undefined) return;
  const begun = [...article.querySelectorAll<HTMLAnchorElement>(":scope > footer a")].find((link) =>
    draftOf(writer, link.getAttribute("href")!),
  );
  if (!begun) return;
  article.removeAttribute("data-at"); // the form gets the focus
  begun.click();
}
