// For pupils of a class: their teacher is told that a nugget was finished, once it was. Who is in no class tells nothing.
import { me, send } from "./account.js";
import { FINISHED, KEPT, share, type Done, type Kept } from "./progress.js";

/** What this pupil read since joining, in this browser. What was read before, or by somebody else here, is not in it. */
interface Since {
  who: string;
  done: Record<string, Done>;
}
interface Answer {
  classes: number;
  right: number;
  questions: number;
}
const KEY = "lapwing-class";

export async function tellClasses(): Promise<void> {
  const earlier: Kept[] = [];
  let hear = (kept: Kept): void => void earlier.push(kept);
  document.addEventListener(KEPT, (event) => hear((event as CustomEvent<Kept>).detail));
  const person = await me();
  hear = () => undefined;
  if (!person?.classes) return localStorage.removeItem(KEY);
  document.querySelector("#sign-out")?.addEventListener("submit", () => localStorage.removeItem(KEY));
  let told = -1;
  hear = ({ slug, change }) => {
    const since = read(person.name);
    const done = (since.done[slug] ??= { screens: [], questions: [], total: 1, at: 0 });
    change(done);
    localStorage.setItem(KEY, JSON.stringify(since));
    if (share(done) < FINISHED || done.questions.length <= told) return;
    told = done.questions.length;
    void send("/classes/finished", { slug, right: told }, { keepalive: true })
      .then(async (answer) => {
        if (!answer.ok) throw new Error(String(answer.status));
        show((await answer.json()) as Answer);
      })
      .catch(() => (told = -1)); // the next thing that is read tries again
  };
  for (const kept of earlier) hear(kept);
}

function read(who: string): Since {
  try {
    const since = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Since>;
    if (since.who === who && since.done) return { who, done: since.done };
  } catch {
    // begins anew
  }
  return { who, done: {} };
}

/** At the end of the nugget: what the teacher sees of it now. */
function show({ classes, right, questions }: Answer): void {
  if (!classes) return;
  const line = document.querySelector<HTMLElement>("#class-told") ?? document.createElement("p");
  line.id = "class-told";
  line.className = "class-told";
  line.setAttribute("role", "status");
  const link = document.createElement("a");
  link.href = "/classes";
  link.textContent = "All that your teacher sees";
  const score = questions ? `, with ${right} of ${questions} questions right` : "";
  line.replaceChildren(
    `✓ Your ${classes > 1 ? "teachers see" : "teacher sees"} that you finished this nugget${score}. `,
    link,
  );
  (document.querySelector("#quiz-result") ?? document.querySelector("#learned ul.learned"))?.after(line);
}
