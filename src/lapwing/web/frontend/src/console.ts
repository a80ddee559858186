// The console of a collection: the part that changes is asked for again, while somebody looks and wishes so; and whoever
// is chosen in the figure says what they know, alone or together.
const EVERY = 4000;

const place = document.querySelector<HTMLElement>("#now");
const keeping = document.querySelector<HTMLElement>(".keeping");
const wish = keeping?.querySelector<HTMLInputElement>("input");
const figure = document.querySelector<HTMLElement>(".pipeline");

if (place && keeping && wish) {
  let shown = "";
  keeping.hidden = false;
  setInterval(() => {
    if (wish.checked && !document.hidden) void renew(place);
  }, EVERY);

  /** Nothing is touched unless it says something else, nor while somebody is in it with the keyboard. */
  const renew = async (place: HTMLElement): Promise<void> => {
    const answer = await fetch(place.dataset.address ?? "", { headers: { accept: "text/html" } }).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const fresh = document.createElement("template");
    fresh.innerHTML = await answer.text();
    for (const part of fresh.content.querySelectorAll<HTMLElement>("[data-live]")) {
      const mine = figure?.querySelector<HTMLElement>(`[data-live="${part.dataset.live}"]`);
      if (mine && mine.innerHTML !== part.innerHTML) mine.innerHTML = part.innerHTML; // holds nothing to be in
    }
    const text = fresh.content.querySelector('[data-part="now"]')?.innerHTML ?? "";
    if (!text || text === shown || place.contains(document.activeElement)) return;
    place.innerHTML = text;
    shown = text;
  };
}

if (figure) choose(figure);

/** One party or two: a third takes the place of the first. What is said comes from the tables below. */
function choose(figure: HTMLElement): void {
  const boxes = [...figure.querySelectorAll<HTMLInputElement>(".station input")];
  const panel = figure.querySelector(".knowledge") as HTMLElement;
  const chosen: HTMLInputElement[] = [];
  const explained = boxes.filter((box) => row(box.value));
  const show = (): void => {
    while (chosen.length > 2) (chosen.shift() as HTMLInputElement).checked = false;
    figure.classList.toggle("colluding", chosen.length === 2);
    const names = boxes.filter((box) => chosen.includes(box)).map((box) => box.value);
    panel.replaceChildren(...(names.length ? said(names) : [note("p", "No party is chosen.")]));
  };
  for (const box of explained) {
    box.hidden = false;
    box.addEventListener("change", () => {
      const at = chosen.indexOf(box);
      if (box.checked && at < 0) chosen.push(box);
      if (!box.checked && at >= 0) chosen.splice(at, 1);
      figure.classList.add("in-use"); // from now on a phone keeps what is said in sight
      show();
    });
  }
  for (const part of figure.querySelectorAll<HTMLElement>(".choosing, .plain"))
    part.hidden = part.classList.contains("plain");
  panel.hidden = false;
  const first = explained.find((box) => box.value === "aggregator");
  if (first) {
    first.checked = true;
    chosen.push(first);
  }
  show();
}

function row(of: string): HTMLElement | null {
  return document.querySelector(`.learns tr[data-of="${of}"]`);
}

function said(names: string[]): Node[] {
  const cells = [...(row(names.join(" "))?.children ?? [])].map((cell) => cell.textContent ?? "");
  const [who = "", learns = "", guarantee = ""] = cells;
  const alone = names[0] === "devices" ? "Devices alone" : `The ${names[0]} alone`;
  return [
    note("h3", names.length === 1 ? alone : sentence(who).replace(/\.$/, "")),
    note("p", "", "learns", "Can learn", sentence(learns)),
    note("p", "", guarantee.startsWith("none") ? "holds none" : "holds", "What protects people", sentence(guarantee)),
  ];
}

/** With a capital in front and a full stop behind. */
function sentence(text: string): string {
  return `${text.replace(/^[a-z]/, (letter) => letter.toUpperCase())}.`;
}

/** An element with a text; with a heading of its own in front of it. */
function note(kind: string, text: string, role = "", heading = "", rest = ""): HTMLElement {
  const made = Object.assign(document.createElement(kind), { textContent: text, className: role });
  if (heading) made.append(Object.assign(document.createElement("strong"), { textContent: heading }), rest);
  return made;
}
