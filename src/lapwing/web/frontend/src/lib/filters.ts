// The filters of the landing page answer at once; without scripts the form asks the server, which finds the same.
const MOST_WORDS = 4; // of the glossary

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** Whether each of the asked begins one of the words. */
function begin(asked: string[], words: string): boolean {
  return asked.every((one) => ` ${words}`.includes(` ${one}`));
}

/** The same as lapwing.web.school.filters. */
function fits({ dataset }: HTMLElement, wanted: Record<string, string>): boolean {
  return (
    (!wanted.category || dataset.category === wanted.category) &&
    (!wanted.role || (dataset.roles ?? "").split(" ").includes(wanted.role)) &&
    (!wanted.minutes || Number(dataset.minutes) <= Number(wanted.minutes)) &&
    (!wanted.level || dataset.level === wanted.level)
  );
}

export function liveFilters(): void {
  const form = document.querySelector<HTMLFormElement>("form.filters");
  if (!form) return;
  const tiles = [...document.querySelectorAll<HTMLElement>("li[data-tile]")];
  const nothing = document.querySelector<HTMLElement>("#nothing");
  const glossary = document.querySelector<HTMLElement>("#words");
  const terms = [...document.querySelectorAll<HTMLElement>("[data-names]")].map((row) => {
    return {
      row,
      names: row.dataset.names ?? "",
      short: wordsOf(row.querySelector("dd")?.textContent ?? "").join(" "),
    };
  });
  const explain = (asked: string[]): void => {
    const called = terms.filter(({ names }) => begin(asked, names));
    const told = called.length ? called : terms.filter(({ short }) => begin(asked, short));
    const found = asked.length ? told.slice(0, MOST_WORDS) : [];
    for (const term of terms) term.row.hidden = !found.includes(term);
    if (glossary) glossary.hidden = !found.length;
  };
  const choices = [...form.querySelectorAll("select")];
  const apply = (): void => {
    const asked = wordsOf(String(new FormData(form).get("q") ?? ""));
    const wanted = Object.fromEntries(choices.map((choice) => [choice.name, choice.value]));
    const candidates = tiles.filter(({ dataset: { words = "" } }) => begin(asked, words));
    for (const tile of tiles) tile.hidden = !candidates.includes(tile) || !fits(tile, wanted);
    const shown = tiles.filter((tile) => !tile.hidden).length;
    // What would leave nothing, with the others as they are, cannot be chosen.
    for (const choice of choices)
      for (const option of choice.options)
        option.disabled =
          option.value !== "" &&
          option.value !== choice.value &&
          !candidates.some((tile) => fits(tile, { ...wanted, [choice.name]: option.value }));
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
