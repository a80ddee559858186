// What to read next, said on the landing page. Who reads stays in this browser: the school is asked for nothing personal.
import { counted } from "./plural.js";
import { progress, share } from "./progress.js";
import { profile, tell } from "./profile.js";
import { recommend, type About, type Advice, type Offer, type Told } from "../math/recommend.js";

export async function forYou(): Promise<void> {
  const box = document.querySelector<HTMLElement>("#for-you");
  if (!box) return;
  const [told, { about, asked }] = await Promise.all([
    fetch("/recommendation", { headers: { accept: "application/json" } })
      .then((answer) => (answer.ok ? (answer.json() as Promise<Told>) : null))
      .catch(() => null),
    profile(),
  ]);
  if (!told) return;
  const show = (now: About): void => {
    const done = Object.fromEntries(Object.entries(progress()).map(([slug, one]) => [slug, share(one)]));
    const advice = recommend(told, now, done);
    const left = advice.filter(({ slug }) => (done[slug] ?? 0) < told.rules.finished);
    fill(box, told.nuggets, left.length ? left : advice);
    arrange(advice);
    mark(done, told, left);
  };
  show(about);
  ask(box, about, asked, show);
  box.dataset.ready = "";
  window.addEventListener("pageshow", (event) => event.persisted && show(about));
}

/** The row at the top: as many tiles as the page came with. */
function fill(box: HTMLElement, offers: Offer[], advice: Advice[]): void {
  const tiles = [...box.querySelectorAll<HTMLElement>(".tiles > li")];
  tiles.forEach((tile, i) => {
    const one = advice[i];
    const offer = offers.find(({ slug }) => slug === one?.slug);
    tile.hidden = !offer;
    if (!offer || !one) return;
    const link = tile.querySelector("a") as HTMLAnchorElement;
    link.href = `/learn/${offer.slug}`;
    link.textContent = offer.title;
    (tile.querySelector("p") as HTMLElement).textContent = one.reason;
    (tile.querySelector(".facts") as HTMLElement).textContent = `${counted(offer.minutes, "minute")} · ${offer.level}`;
  });
}

/** Tiles in every category, the most relevant first. */
function arrange(advice: Advice[]): void {
  const rank = new Map(advice.map(({ slug }, i) => [slug, i]));
  const at = (tile: Element): number =>
    rank.get(tile.querySelector<HTMLElement>("[data-progress]")?.dataset.progress ?? "") ?? advice.length;
  for (const list of document.querySelectorAll<HTMLElement>("section.category ul.tiles")) {
    const tiles = [...list.children];
    const sorted = [...tiles].sort((a, b) => at(a) - at(b));
    if (sorted.some((tile, i) => tile !== tiles[i])) list.append(...sorted);
  }
}

/** The path: what is finished, and where to go on. */
function mark(done: Record<string, number>, told: Told, left: Advice[]): void {
  for (const step of document.querySelectorAll<HTMLElement>("[data-step]")) {
    const slug = step.dataset.step ?? "";
    const finished = (done[slug] ?? 0) >= told.rules.finished;
    const next = slug === left[0]?.slug;
    step.classList.toggle("finished", finished);
    step.classList.toggle("next", next);
    const state = step.querySelector(".how-far") as HTMLElement;
    state.textContent = finished ? "✓ finished" : next ? "● next for you" : (done[slug] ?? 0) > 0 ? "◐ begun" : "";
  }
}

/** Three questions, all optional, asked once. */
function ask(box: HTMLElement, about: About, asked: boolean, show: (about: About) => void): void {
  const details = box.querySelector<HTMLDetailsElement>("details") as HTMLDetailsElement;
  const form = details.querySelector("form") as HTMLFormElement;
  const summary = details.querySelector("summary") as HTMLElement;
  const known = (): void => void (summary.textContent = summary.dataset.known ?? "");
  if (asked) known();
  for (const input of form.querySelectorAll<HTMLInputElement>("input"))
    input.checked =
      input.name === "knowledge"
        ? input.value === about.knowledge
        : [...about.roles, ...about.goals].includes(input.value);
  const over = async (now: About): Promise<void> => {
    show(now);
    known();
    details.open = false;
    summary.focus();
    await tell(now);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const all = (name: string): string[] => given.getAll(name).map(String);
    void over({ roles: all("roles"), knowledge: String(given.get("knowledge") ?? ""), goals: all("goals") });
  });
  form.addEventListener("reset", () => void over({ roles: [], knowledge: "", goals: [] }));
}

/** Lines from what is needed to what needs it, behind the steps; only where the steps stand side by side. */
export function drawPath(): void {
  const map = document.querySelector<HTMLElement>(".stages");
  const lines = map?.querySelector("svg");
  if (!map || !lines) return;
  const draw = (): void => {
    const home = map.getBoundingClientRect();
    lines.replaceChildren();
    lines.setAttribute("viewBox", `0 0 ${home.width} ${home.height}`);
    for (const step of map.querySelectorAll<HTMLElement>("[data-step]"))
      for (const need of (step.dataset.needs ?? "").split(" ").filter(Boolean)) {
        const from = map.querySelector(`[data-step="${need}"]`)?.getBoundingClientRect();
        const to = step.getBoundingClientRect();
        if (!from || from.right >= to.left) continue;
        const [x, y] = [from.right - home.left, from.top + from.height / 2 - home.top];
        const [u, v] = [to.left - home.left, to.top + to.height / 2 - home.top];
        const bend = (u - x) / 2;
        const path = lines.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "path"));
        path.setAttribute("d", `M${x} ${y}C${x + bend} ${y} ${u - bend} ${v} ${u} ${v}`);
        path.dataset.from = need;
        path.dataset.to = step.dataset.step;
      }
  };
  const light = (event: Event): void => {
    const step = (event.target as HTMLElement).closest<HTMLElement>("[data-step]")?.dataset.step;
    for (const path of lines.querySelectorAll<SVGPathElement>("path"))
      path.classList.toggle(
        "near",
        step !== undefined && event.type !== "mouseleave" && [path.dataset.from, path.dataset.to].includes(step),
      );
  };
  for (const type of ["mouseover", "focusin", "mouseleave"]) map.addEventListener(type, light);
  new ResizeObserver(draw).observe(map);
}
