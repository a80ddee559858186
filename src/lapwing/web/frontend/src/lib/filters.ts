// The filters of the landing page answer at once; without scripts the form asks the server, which finds the same.
const MOST_WORDS = 4; // of the glossary

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Whether each of the asked begins one of the words. */
function begin(asked: string[], words: string): boolean {
  return asked.every((one) => ` ${words}`.includes(` ${one}`));
}

export function liveFilters(): void {
  const form = document.querySelector<HTMLFormElement>("form.filters");
  if (!form) return;
  const tiles = [...document.querySelectorAll<HTMLElement>("li[data-tile]")];
  const nothing = document.querySelector<HTMLElement>("#nothing");
  const glossary = document.querySelector<HTMLElement>("#words");
  const terms = [...document.querySelectorAll<HTMLElement>("[data-names]")].map((row) => {
    return { row, names: row.dataset.names ?? "", short: wordsOf(row.querySelector("dd")?.textContent ?? "").join(" ") };
  });
  const explain = (asked: string[]): void => {
    const called = terms.filter(({ names }) => begin(asked, names));
    const told = called.length ? called : terms.filter(({ short }) => begin(asked, short));
    const found = asked.length ? told.slice(0, MOST_WORDS) : [];
    for (const term of terms) term.row.hidden = !found.includes(term);
    if (glossary) glossary.hidden = !found.length;
  };
  const apply = (): void => {
    const wanted = new FormData(form);
    const asked = wordsOf(String(wanted.get("q") ?? ""));
    const category = String(wanted.get("category") ?? "");
    const role = String(wanted.get("role") ?? "");
    const minutes = Number(wanted.get("minutes") ?? 0);
    const level = String(wanted.get("level") ?? "");
    let shown = 0;
    for (const tile of tiles) {
      const { words = "", roles = "", minutes: takes = "0", level: is = "" } = tile.dataset;
      const fits =
        begin(asked, words) &&
        (!category || tile.dataset.category === category) &&
        (!role || roles.split(" ").includes(role)) &&
        (!minutes || Number(takes) <= minutes) &&
        (!level || is === level);
      tile.hidden = !fits;
      shown += Number(fits);
    }
    for (const part of document.querySelectorAll<HTMLElement>("section.category"))
      part.hidden = !part.querySelector("li[data-tile]:not([hidden])");
    if (nothing) nothing.hidden = shown > 0;
    explain(asked);
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  form.querySelector<HTMLElement>("button")?.setAttribute("hidden", "");
  if ([...new FormData(form).values()].some(Boolean)) apply();
}
