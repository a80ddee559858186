// The filters of the landing page answer at once; without scripts the form asks the server.
export function liveFilters(): void {
  const form = document.querySelector<HTMLFormElement>("form.filters");
  if (!form) return;
  const tiles = [...document.querySelectorAll<HTMLElement>("li[data-tile]")];
  const nothing = document.querySelector<HTMLElement>("#nothing");
  const apply = (): void => {
    const wanted = new FormData(form);
    const word = String(wanted.get("q") ?? "").trim().toLowerCase();
    const category = String(wanted.get("category") ?? "");
    const role = String(wanted.get("role") ?? "");
    const minutes = Number(wanted.get("minutes") ?? 0);
    const level = String(wanted.get("level") ?? "");
    let shown = 0;
    for (const tile of tiles) {
      const { words = "", roles = "", minutes: takes = "0", level: is = "" } = tile.dataset;
      const fits =
        word.split(/\s+/).every((part) => words.includes(part)) &&
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
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    apply();
  });
  form.querySelector<HTMLElement>("button")?.setAttribute("hidden", "");
  if ([...new FormData(form).values()].some(Boolean)) apply();
}
