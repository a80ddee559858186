// A vote under a nugget. The answer is randomised here, and only that leaves the page: the true one is kept nowhere.
// As in lapwing.crowd.Lifetime: first the vote is charged and kept, then it is sent; sent again it is the same bit.
import { me, send } from "./account.js";
import { alone, token } from "./memo.js";
import { profile } from "./profile.js";
import { MOST_VOTES, respond, stated } from "../math/response.js";

interface Kept {
  /** What is sent: randomised already. */
  yes: boolean;
  role: string;
  token: string;
  sent: boolean;
}
const KEY = "lapwing-votes";

export function votes(): Record<string, Kept> {
  return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Record<string, Kept>;
}

function keep(slug: string, vote: Kept): void {
  localStorage.setItem(KEY, JSON.stringify({ ...votes(), [slug]: vote }));
}

const word = (yes: boolean): string => (yes ? "yes" : "no");
const voted = (kept: Kept): string =>
  `You voted. Your browser sent “${word(kept.yes)}”, which may or may not be what you think; only you know. ` + left();

function left(): string {
  const more = MOST_VOTES - Object.keys(votes()).length;
  return more > 0 ? `You have ${more} of ${MOST_VOTES} votes left.` : "That was the last of your votes.";
}

/** Where this account voted with other browsers. */
async function elsewhere(): Promise<string[]> {
  if (!(await me())) return [];
  const answer = await fetch("/me/votes", { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error("no answer");
  return ((await answer.json()) as { voted: string[] }).voted;
}

/** Votes, unless that was done or may not be done any more; says what happened. */
async function vote(slug: string, truth: boolean, role: string): Promise<{ words: string; over: boolean }> {
  if (!votes()[slug]) {
    let others: string[];
    try {
      others = await elsewhere();
    } catch {
      return { words: "The school did not respond. Nothing was sent. Try again later.", over: false };
    }
    if (others.includes(slug))
      return { words: "You voted on this with another browser. Nothing was sent.", over: true };
    if (Math.max(others.length, Object.keys(votes()).length) >= MOST_VOTES)
      return {
        words: `You have used your ${MOST_VOTES} votes. Nothing was sent, and nothing more will be.`,
        over: true,
      };
    try {
      keep(slug, { yes: respond(truth), role, token: token(), sent: false });
    } catch {
      return {
        words: "This browser stores no data, so it cannot make sure that you vote only once. Nothing was sent.",
        over: true,
      };
    }
  }
  return deliver(slug);
}

async function deliver(slug: string): Promise<{ words: string; over: boolean }> {
  const kept = votes()[slug] as Kept;
  if (!kept.sent) {
    const { yes, role, token } = kept;
    const answer = await send("/votes", { slug, role, yes, token, truth: stated()[0] }).catch(() => null);
    if (!answer || answer.status === 429 || answer.status >= 500)
      return {
        words: "Your vote is randomised, but the school did not respond. It will be sent when you come back.",
        over: true,
      };
    if (!answer.ok) {
      const problem = (await answer.json().catch(() => ({}))) as { detail?: string };
      return { words: problem.detail ?? "The school refused the vote.", over: true };
    }
    keep(slug, { ...kept, sent: true });
  }
  return { words: voted(kept), over: true };
}

export async function offerVote(): Promise<void> {
  const box = document.querySelector<HTMLElement>("[data-vote]");
  const said = box?.querySelector<HTMLElement>("[role=status]");
  if (!box || !said) return;
  const slug = box.dataset.vote ?? "";
  const choice = box.querySelector<HTMLElement>("[data-choice]") as HTMLElement;
  const buttons = [...choice.querySelectorAll<HTMLButtonElement>("button")];
  const role = choice.querySelector<HTMLSelectElement>("select") as HTMLSelectElement;
  const show = ({ words, over }: { words: string; over: boolean }): void => {
    said.textContent = words;
    choice.hidden = over;
    for (const button of buttons) button.disabled = false;
  };
  choice.hidden = false;
  let before: Record<string, Kept> = {};
  try {
    before = votes();
  } catch {
    /* said when somebody votes */
  }
  if (before[slug]) show(await alone(KEY, () => deliver(slug)));
  else if (Object.keys(before).length >= MOST_VOTES)
    show({ words: `You have used your ${MOST_VOTES} votes, so we do not ask you any more.`, over: true });
  for (const button of buttons)
    button.addEventListener("click", async () => {
      for (const one of buttons) one.disabled = true;
      show(await alone(KEY, () => vote(slug, button.value === "yes", role.value)));
      if (choice.hidden) said.focus();
    });
  const { about } = await profile();
  if ([...role.options].some(({ value }) => value === about.roles[0])) role.value = about.roles[0] as string;
}

/** On the page about votes: what this browser has sent. */
export function showMyVotes(): void {
  const box = document.querySelector<HTMLElement>("#my-votes");
  if (!box) return;
  const mine = Object.entries(votes());
  const titles = JSON.parse(box.dataset.titles ?? "{}") as Record<string, string>;
  const list = box.querySelector("ul") as HTMLUListElement;
  for (const [slug, { yes, sent }] of mine) {
    const row = list.appendChild(document.createElement("li"));
    const link = row.appendChild(document.createElement("a"));
    link.href = `/learn/${encodeURIComponent(slug)}`;
    link.textContent = titles[slug] ?? slug;
    row.append(`: sent “${word(yes)}”${sent ? "" : " (on its way)"}`);
  }
  const words = box.querySelector("p") as HTMLElement;
  words.textContent = mine.length
    ? `${mine.length} of ${MOST_VOTES} votes are used. Together they cost an epsilon of at most ${(Math.ceil(100 * mine.length * Math.log(5 / 3)) / 100).toFixed(2)}.`
    : `None yet. You have ${MOST_VOTES} votes.`;
  box.hidden = false;
}
