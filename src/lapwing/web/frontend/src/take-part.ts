// Taking part in a collection: the answer is randomised and sealed here; tokens and the report travel to its servers only.
import { read } from "./collect/collection.js";
import { Device } from "./collect/device.js";
import type { Answer } from "./collect/reports.js";
import { decimal } from "./math/survey.js";

const AGAIN = "Keep this page open, or come back later: the same bytes are then sent again.";

/** Why somebody cannot take part now, by the status that the issuer answered; 0 for none. */
const WHY_NOT: Record<number, string> = {
  0: "The server that lets people take part does not answer. Try again in a moment.",
  403: "This code is not known. Ask the person who sent you the link.",
  410: "The collection takes no answers today.",
  429: "This code cannot be used again.",
};

/** The same where people sign in. */
const WHY_NOT_SIGNED_IN: Record<number, string> = {
  403: "You are not signed in any more. Load this page again, and sign in.",
  429: "Your account has already received its tokens, in another browser or in this one before you left. Take part there, or wait for the next tokens.",
};

const box = document.querySelector<HTMLElement>("[data-collection]");
if (box) begin(box);

function begin(box: HTMLElement): void {
  const agreeing = box.querySelector(".agreeing") as HTMLFormElement;
  const answering = box.querySelector(".answering") as HTMLFormElement;
  const said = box.querySelector(".outcome") as HTMLElement;
  const left = box.querySelector(".left") as HTMLElement;
  const leaving = box.querySelector(".leaving") as HTMLElement;
  const warning = document.querySelector<HTMLElement>(".insecure");
  const code = agreeing.querySelector<HTMLInputElement>("[data-code]");
  const group = agreeing.querySelector<HTMLSelectElement>("[data-group]");
  if (warning) warning.hidden = isSecureContext;

  const say = (text: string): void => {
    said.textContent = text;
    said.focus();
  };
  /** Whatever fails, somebody is told; nothing that failed was sent unless it says so. */
  const safely = async (work: () => Promise<void> | void): Promise<void> => {
    try {
      await work();
    } catch (error) {
      say(`${error instanceof Error ? error.message : "Something went wrong on this page."} Nothing was sent.`);
    }
  };
  const onSubmit = (form: HTMLFormElement, work: () => Promise<void>): void =>
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const button = form.querySelector("button") as HTMLButtonElement;
      button.disabled = true;
      void safely(work).finally(() => (button.disabled = false));
    });

  void safely(async () => {
    const collection = read(box.dataset.collection ?? "");
    const shown = { ".question-text": collection.question, ".consent": collection.consent };
    for (const [place, text] of Object.entries(shown))
      (document.querySelector(place) as HTMLElement).textContent = text; // what was signed is what is read
    const why = { ...WHY_NOT, ...(collection.signsIn ? WHY_NOT_SIGNED_IN : {}) };
    const device = (): Device => new Device(collection, undefined, admission(box, code));
    const show = (): void => {
      const mine = device();
      agreeing.hidden = mine.optedIn && mine.admitted;
      answering.hidden = !agreeing.hidden || !mine.open;
      leaving.hidden = left.hidden = !mine.optedIn;
      const belongs = mine.attribute === null ? "" : `Your group: ${mine.attribute}. `;
      left.textContent = belongs + remaining(mine.left, collection.reportsPerDay);
    };
    onSubmit(agreeing, async () => {
      const mine = device();
      const before = mine.optedIn;
      mine.optIn(group?.value ?? null);
      await mine.prepare(); // as long before the first report as a page can
      if (mine.turnedAway && !before) mine.optOut(); // nothing has begun
      show();
      if (!mine.admitted) return say(`You do not take part yet. ${why[mine.refusal] ?? why[0]}`);
      if (!mine.open) return say("You take part. This browser has answered for now already.");
      said.textContent = "You take part. Nothing was sent yet: now choose your answer.";
      answering.querySelector<HTMLInputElement>("[data-answer]")?.focus();
    });
    onSubmit(answering, async () => {
      const [mine, given] = [device(), answerOf(box.dataset.kind ?? "", answering)];
      if (!mine.open) {
        show();
        return say("This browser has answered for now already. Nothing was sent.");
      }
      const sent = await mine.answer(given);
      answering.reset();
      show();
      say(mine.open ? `Nothing was sent. ${why[mine.refusal] ?? why[0]}` : outcome(mine, sent));
    });
    leaving.querySelector("button")?.addEventListener("click", () => {
      void safely(() => {
        device().optOut();
        show();
        say(
          "You have left. What waited here is deleted. What was sent before cannot be taken back, because nobody knows that it came from you.",
        );
      });
    });
    for (const field of answering.querySelectorAll<HTMLInputElement>("[data-answer]")) field.name = "answer";
    if (group) group.value = device().attribute ?? "";
    show();
    if (!device().optedIn) return;
    const before = device();
    const asks = !code && agreeing.querySelector("button") !== null; // nothing is missing that only a person has
    if (!before.admitted && asks) await before.prepare(); // tokens of the next time, before anybody answers
    const done = await before.retry();
    show();
    said.textContent = !done
      ? `An earlier report is still waiting to be sent. ${AGAIN}`
      : !before.admitted
        ? asks
          ? (why[before.refusal] ?? (why[0] as string))
          : ""
        : before.open
          ? "You take part. You can give the next answer now."
          : "You have answered for now. Thank you.";
  });
}

/** What the issuer is shown: a code, or that this page of its own asks for somebody who is signed in. */
function admission(box: HTMLElement, code: HTMLInputElement | null): Record<string, string> {
  const given = code?.value.trim();
  if (given) return { "x-lapwing-code": given };
  return box.dataset.csrf ? { "x-csrf-token": box.dataset.csrf } : {};
}

function answerOf(kind: string, form: HTMLFormElement): Answer {
  const given = String(new FormData(form).get("answer") ?? "");
  if (kind === "number" && !decimal(given)) throw new Error("This is not a number. Write one such as 7.5.");
  return kind === "number" ? given : kind === "yes-no" ? given === "0" : Number(given);
}

function remaining(left: number, perDay: number): string {
  if (left === 0) return "Your lifetime budget is spent. What this browser sends now says nothing about you.";
  const each = perDay === 1 ? "one a day" : `${perDay} a day`;
  return `${left === 1 ? "One more answer" : `${left} more answers`} can be sent from this browser, ${each}. After that, what it sends says nothing about you.`;
}

/** What happened, in plain words. */
function outcome(mine: Device, sent: boolean): string {
  if (!sent)
    return `Your report is ready and waits in this browser, because the server has not accepted it yet. ${AGAIN}`;
  if (mine.refusal === 410) return "Your report was not counted: the collection is closed.";
  if (mine.refusal)
    return "Your report was refused and is not counted. This browser can try again at the next time for a report.";
  return "Thank you. Your answer was randomised here, sealed and sent. Nobody can be sure what you answered.";
}
