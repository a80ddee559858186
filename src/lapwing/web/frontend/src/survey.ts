// Answering a survey. The answer is randomised here, before the eyes of who gives it; only that and a token leave the page.
// First the report is kept, then it is sent: sent again, or asked for again, it is the same.
import { alone, token } from "./lib/memo.js";
import { level, randomise, report, type Plan, type Turn } from "./math/survey.js";

interface Kept {
  /** What is sent: randomised already. */
  value: number;
  token: string;
  /** Whether it was tried to send it before. */
  tried: boolean;
  sent: boolean;
}
interface Survey extends Plan {
  id: string;
  personal: boolean;
}
const TURNING = 1800; // milliseconds, as in survey.css

/** Without cookies: not even an account that is signed in comes along. */
function send(address: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  return fetch(address, { method: "POST", credentials: "omit", headers, body: JSON.stringify(body) });
}

const box = document.querySelector<HTMLElement>("[data-survey]");
if (box) void begin(box, JSON.parse(box.dataset.survey ?? "{}") as Survey);

async function begin(box: HTMLElement, survey: Survey): Promise<void> {
  const form = box.querySelector("form") as HTMLFormElement;
  const said = box.querySelector("[role=status]") as HTMLElement;
  const wheels = box.querySelector("ol.wheels") as HTMLOListElement;
  const mine = survey.personal ? location.hash.slice(1) : "";
  if (survey.personal) addEventListener("hashchange", () => location.reload()); // another link, in the same page
  const name = `lapwing-survey-${survey.id}${mine && `-${mine}`}`;

  const kept = (): Kept | null => JSON.parse(localStorage.getItem(name) ?? "null") as Kept | null;
  const keep = (one: Kept): void => localStorage.setItem(name, JSON.stringify(one));
  const remembered = (): boolean => {
    try {
      return kept() !== null;
    } catch {
      return false;
    }
  };
  const show = (words: string, over = true): void => {
    said.textContent = words;
    form.hidden = over;
    if (over) form.reset(); // what you chose is kept nowhere
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  };
  const word = (value: number): string =>
    survey.kind === "number"
      ? value
        ? survey.high
        : survey.low
      : survey.kind === "choice"
        ? (survey.answers[value] ?? "")
        : value
          ? "Yes"
          : "No";

  async function deliver(): Promise<string> {
    const one = kept() as Kept;
    const meant =
      survey.kind === "number"
        ? "one of the two ends; your number was not sent"
        : "which may or may not be your answer. Only you know";
    const done = `You have answered. Your browser sent “${word(one.value)}”, ${meant}. Answering again would send the same.`;
    if (one.sent) return done;
    keep({ ...one, tried: true });
    const answer = await send(`/survey/${survey.id}/answers`, {
      report: report(survey, one.value),
      token: one.token,
    }).catch(() => null);
    if (!answer || answer.status === 429 || answer.status >= 500)
      return "Your answer is randomised, but the server did not respond. The same report will be sent when you are online again or when you open this page again.";
    const told = (await answer.json().catch(() => ({}))) as { detail?: string; counted?: boolean };
    if (!answer.ok) return told.detail ?? "The server refused the report. Nothing was counted.";
    keep({ ...one, tried: true, sent: true });
    return told.counted || one.tried ? done : "This link was used before, so nothing was counted.";
  }

  /** Randomises, keeps and sends, unless that was done; gives back what to show. */
  async function answered(truth: number | string): Promise<{ words: Promise<string>; turns: Turn[] }> {
    if (kept()) return { words: deliver(), turns: [] };
    const { value, turns } = randomise(survey, truth);
    keep({ value, token: mine || token(), tried: false, sent: false });
    const words = deliver();
    await words;
    return { words, turns };
  }

  let before: Kept | null = null;
  try {
    before = kept();
    if (!before) {
      localStorage.setItem(`${name}-try`, "");
      localStorage.removeItem(`${name}-try`);
    }
  } catch {
    return show(
      "This browser stores no data, so it cannot make sure that you answer only once. Nothing was sent. Allow it to store data for this site, or use another browser.",
    );
  }
  if (before) return show(await alone(name, deliver));
  if (survey.personal) {
    if (!/^[0-9a-f]{32}$/.test(mine))
      return show("This survey needs a personal link, and yours is not complete. Ask the person who invited you.");
    const asked = await send(`/survey/${survey.id}/link`, { token: mine }).catch(() => null);
    const state = asked?.ok ? ((await asked.json()) as { state: string }).state : "";
    if (state === "used") return show("This link was used already. Each link takes one answer. Nothing was sent now.");
    if (state === "unknown")
      return show("This survey needs a personal link, and this is not one of them. Ask the person who invited you.");
    if (state !== "fresh") return show("The server did not respond. Nothing was sent. Reload the page in a moment.");
  }

  // What is on the screen shows the answer: it goes with the page, also if a browser keeps the page to go back to.
  addEventListener("pagehide", () => {
    form.reset();
    wheels.replaceChildren();
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  addEventListener("online", () => {
    if (kept()?.sent === false) void alone(name, deliver).then((words) => show(words));
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = String(new FormData(form).get("answer") ?? "");
    if (survey.kind === "number" && level(given, survey.low, survey.high) === null) {
      said.textContent = `Type a number from ${survey.low} to ${survey.high}.`;
      return;
    }
    if (!given) return;
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    const truth = survey.kind === "number" ? given : Number(given);
    try {
      const { words, turns } = await alone(name, () => answered(truth));
      form.hidden = true;
      await turn(survey, truth, turns, wheels, word);
      show(await words);
      const sent = box.querySelector<HTMLElement>(".sent");
      const one = kept();
      if (sent && one && turns.length) {
        (sent.querySelector("strong") as HTMLElement).textContent = word(one.value);
        sent.hidden = false;
      }
      said.focus();
    } catch {
      show(
        remembered()
          ? "Something went wrong on this page. The result of the wheel is kept. Reload the page to see whether it was sent."
          : "This browser could not keep the randomised answer, so nothing was sent.",
      );
    }
  });
  for (const field of form.querySelectorAll<HTMLInputElement>("[data-answer]")) field.name = "answer";
  form.hidden = false;
}

/** Three digits of the smaller part: "100 %" stands only where nothing is left. */
const percent = (share: number): string =>
  `${+(share <= 0.5 ? (100 * share).toPrecision(3) : (100 - +(100 * (1 - share)).toPrecision(3)).toPrecision(12))} %`;

/** What a wheel is for, and where it stopped. */
function sentences(
  survey: Survey,
  truth: number | string,
  one: Turn,
  word: (value: number) => string,
): [string, string] {
  if (one.what === "round")
    return [
      `Your number lies ${percent(one.share)} of the way from ${survey.low} to ${survey.high}. So the green part is ${percent(one.share)} of the wheel. If the needle stops on green, your number is rounded up to ${survey.high}, otherwise down to ${survey.low}.`,
      `It stopped on the ${one.hit ? "green part: rounded up" : "other part: rounded down"}.`,
    ];
  if (one.what === "draw")
    return [`One of the other ${survey.answers.length - 1} answers is drawn instead, each with the same chance.`, ""];
  const what =
    survey.kind === "number"
      ? "the result of the first wheel"
      : `“${survey.kind === "yes-no" ? word(truth === 0 ? 1 : 0) : word(Number(truth))}”`;
  const otherwise = survey.kind === "choice" ? "another answer takes its place" : "it is changed to the opposite";
  return [
    `The green part is ${percent(one.share)} of the wheel. If the needle stops on green, ${what} is kept. Otherwise ${otherwise}.`,
    `It stopped on the ${one.hit ? "green part: kept" : "other part"}.`,
  ];
}

/** Shows the turns one after another; who asked for less motion sees where they stopped at once. */
async function turn(
  survey: Survey,
  truth: number | string,
  turns: Turn[],
  wheels: HTMLOListElement,
  word: (value: number) => string,
): Promise<void> {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const shape = document.querySelector<HTMLTemplateElement>("template#wheel") as HTMLTemplateElement;
  for (const one of turns) {
    const [before, after] = sentences(survey, truth, one, word);
    const item = wheels.appendChild(document.createElement("li"));
    const words = document.createElement("p");
    words.textContent = before;
    if (one.what !== "draw") {
      item.append(shape.content.cloneNode(true), words);
      item.querySelector(".part")?.setAttribute("stroke-dasharray", `${100 * one.share} 100`);
      const needle = item.querySelector<SVGElement>(".needle") as SVGElement;
      needle.getBoundingClientRect(); // from where it begins
      needle.style.setProperty("transform", `rotate(${still ? 0 : 3}turn) rotate(${one.at}turn)`);
      if (!still) await new Promise((done) => setTimeout(done, TURNING));
    } else item.append(words);
    if (after) words.append(" ", Object.assign(document.createElement("strong"), { textContent: after }));
  }
}
