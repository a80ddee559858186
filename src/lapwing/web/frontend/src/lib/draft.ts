// What an author typed and the school has not saved yet, kept in this browser: a session may end at any moment.
export interface Draft {
  text: string;
  base: string; // the fingerprint of the saved text that it was made from
  at: number;
}

const PREFIX = "lapwing-draft:";
const LASTS = 90 * 86_400_000; // milliseconds
const keyOf = (writer: string, slug: string): string => `${PREFIX}${writer}:${slug}`;

/** Keeps it; says whether this browser could. */
export function keepDraft(writer: string, slug: string, text: string, base: string): boolean {
  try {
    localStorage.setItem(keyOf(writer, slug), JSON.stringify({ text, base, at: Date.now() } satisfies Draft));
    return true;
  } catch {
    return false; // no room, or none for us
  }
}

/** What is kept of this writer's draft, if anything. */
export function draftOf(writer: string, slug: string): Draft | null {
  try {
    const found = JSON.parse(localStorage.getItem(keyOf(writer, slug)) ?? "null") as Draft | null;
    return found && typeof found.text === "string" && Date.now() - found.at < LASTS ? found : null;
  } catch {
    return null;
  }
}

export function dropDraft(writer: string, slug: string): void {
  try {
    localStorage.removeItem(keyOf(writer, slug));
  } catch {
    // then there is nothing to drop
  }
}

/** Somebody signs out: nothing that they wrote stays in this browser. */
export function dropDrafts(writer: string): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(keyOf(writer, ""))) localStorage.removeItem(key);
}

/** Where two texts meet on a page, what is sent from there counts, not what was typed before. */
export function dropDecided(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-draft]"))
    form.addEventListener("submit", () => dropDraft(form.dataset.writer ?? "", form.dataset.draft!));
}
