// Saving while one types: the fingerprint of the text that this one was made from goes along, so that two tabs never
// overwrite each other. What the school has not saved stays in this browser.
import { dropDraft, keepDraft } from "../lib/draft.js";

const SAVES_AFTER = 2000; // milliseconds without a key before the text is saved,
const KEEPS_AFTER = 250; // and before this browser keeps it
type Timer = ReturnType<typeof setTimeout>;

/** The same text for the server, which leaves out what nobody can see. */
export function plain(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "");
}

export class Saving {
  readonly slug: string;
  readonly writer: string;
  readonly base: HTMLInputElement;
  csrf: string;
  kept: string; // the text that the school has
  stuck = false; // whether another text was saved meanwhile
  out = false; // whether the session is over
  private saving = false;
  private saves: Timer | undefined;
  private keeps: Timer | undefined;
  private readonly said: HTMLElement;

  constructor(
    form: HTMLFormElement,
    onServer: string,
    private readonly text: () => string,
  ) {
    const { slug = "", writer = "", csrf = "" } = form.dataset;
    this.slug = slug;
    this.writer = writer;
    this.csrf = csrf;
    this.kept = onServer;
    this.base = form.querySelector<HTMLInputElement>('input[name="base"]')!;
    this.said = form.querySelector<HTMLElement>("#saved")!;
  }

  /** Somebody typed. */
  changed(): void {
    clearTimeout(this.keeps);
    this.keeps = setTimeout(() => this.keepHere(), KEEPS_AFTER);
    clearTimeout(this.saves);
    if (!this.stuck) this.saves = setTimeout(() => void this.save(), SAVES_AFTER);
    if (!this.stuck && !this.out) this.say("Not saved yet.");
  }

  async ask(address: string, body: unknown, more: RequestInit = {}): Promise<Response> {
    const headers = { "content-type": "application/json", accept: "application/json", "x-csrf-token": this.csrf };
    return fetch(address, { method: "POST", headers, body: JSON.stringify(body), ...more });
  }

  /** Keeps in this browser what the school has not saved. Whether nothing would be lost if the page ended now. */
  keepHere(): boolean {
    clearTimeout(this.keeps);
    if (this.text() !== this.kept) return keepDraft(this.writer, this.slug, this.text(), this.base.value);
    dropDraft(this.writer, this.slug);
    return true;
  }

  /** The session ended: the text stays here until somebody signed in again, perhaps in another tab. */
  private signedOut(): void {
    this.out = true;
    const link = document.createElement("a");
    link.href = `/account/sign-in?next=${encodeURIComponent(`/write/${this.slug}`)}`;
    link.textContent = "Sign in";
    const here = this.keepHere();
    this.say(
      here
        ? "You are signed out. What you wrote is kept in this browser and comes back. "
        : "You are signed out, and this browser cannot keep what you wrote: copy it. ",
      true,
    );
    this.said.append(link);
  }

  /** The token of the session that this browser has now, if the same person is signed in. */
  private async signedInAgain(): Promise<boolean> {
    const answer = await fetch("/me", { headers: { accept: "application/json" } }).catch(() => null);
    const me = answer?.ok ? ((await answer.json()) as { signed_in: boolean; name?: string; csrf?: string }) : null;
    if (!me?.signed_in || me.name !== this.writer || !me.csrf) return false;
    this.csrf = me.csrf;
    document.querySelectorAll<HTMLInputElement>('input[name="csrf"]').forEach((one) => (one.value = this.csrf));
    this.out = false;
    return true;
  }

  async save(more: RequestInit = {}): Promise<void> {
    const now = this.text();
    if (this.saving || this.stuck || now === this.kept) return;
    if (this.out && !(await this.signedInAgain())) return this.signedOut();
    this.saving = true;
    this.say("Saving …");
    const send = (): Promise<Response | null> =>
      this.ask(`/write/${this.slug}/text`, { text: now, base: this.base.value }, more).catch(() => null);
    let answer = await send();
    if (answer?.status === 403 && (await this.signedInAgain())) answer = await send(); // signed in again in another tab
    this.saving = false;
    if (answer?.ok) {
      const told = (await answer.json()) as { base: string; saved: string };
      this.kept = now;
      this.base.value = told.base;
      document
        .querySelectorAll<HTMLInputElement>('form[data-base] input[name="base"]')
        .forEach((one) => (one.value = told.base));
      this.say(this.text() === this.kept ? `Saved ${told.saved}.` : "Not saved yet.");
      this.keepHere();
    } else if (answer?.status === 401) {
      this.signedOut();
    } else if (answer?.status === 409) {
      this.stuck = true;
      this.say("This was saved elsewhere, perhaps in another tab. Press Save to see both texts.", true);
    } else {
      const told = answer ? ((await answer.json().catch(() => ({}))) as { detail?: string }) : {};
      this.say(`Not saved: ${told.detail ?? "we could not reach the school. We try again."}`, true);
      clearTimeout(this.saves);
      this.saves = setTimeout(() => void this.save(), 10_000);
    }
    if (!this.stuck && this.text() !== this.kept && answer?.ok)
      this.saves = setTimeout(() => void this.save(), SAVES_AFTER);
  }

  say(words: string, wrong = false): void {
    this.said.textContent = words;
    this.said.classList.toggle("wrong", wrong);
  }
}
