// Toolbars as ARIA has them: one stop for Tab; arrow keys, Home and End go from button to button; Escape goes back.
const MOVES: Record<string, (at: number, count: number) => number> = {
  ArrowRight: (at, count) => (at + 1) % count,
  ArrowLeft: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

const itemsOf = (bar: HTMLElement): HTMLElement[] => [...bar.querySelectorAll<HTMLElement>("button, select")];

/** Makes a toolbar of what stands in an element; `leave` is where Escape goes. */
export function toolbar(bar: HTMLElement, leave: () => void): void {
  const choose = (chosen: HTMLElement | undefined): void =>
    itemsOf(bar).forEach((one) => (one.tabIndex = one === chosen ? 0 : -1));
  bar.addEventListener("focusin", (event) => choose(event.target as HTMLElement));
  bar.addEventListener("keydown", (event) => {
    const items = itemsOf(bar);
    const next = MOVES[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") leave();
    else if (next) items[next(items.indexOf(event.target as HTMLElement), items.length)]?.focus();
    else return;
    event.preventDefault();
  });
  choose(itemsOf(bar)[0]);
}

/** Goes to the button of a toolbar where one was last. */
export function enter(bar: HTMLElement): boolean {
  (itemsOf(bar).find((one) => one.tabIndex === 0) ?? itemsOf(bar)[0])?.focus();
  return true;
}

export interface Shortcut {
  keys: string; // as CodeMirror writes them: Mod-b
  mac?: string;
}
const MAC = typeof navigator !== "undefined" && /Mac|iP(hone|ad)/.test(navigator.platform);

/** A shortcut as people read it, and as `aria-keyshortcuts` wants it. */
export function spoken({ keys, mac }: Shortcut, onMac = MAC): { shown: string; aria: string } {
  const written = ((onMac && mac) || keys).replace("Mod", onMac ? "Meta" : "Ctrl");
  return {
    shown: written
      .replace("Meta", "⌘")
      .replace("Ctrl", onMac ? "⌃" : "Ctrl")
      .replaceAll("-", onMac ? "" : "+")
      .replace(/[a-z]$/, (key) => key.toUpperCase()),
    aria: written.replace("Ctrl", "Control").replaceAll("-", "+"),
  };
}

export function button(name: string, about: string, act: () => void, shortcut?: Shortcut): HTMLButtonElement {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button";
  made.textContent = name;
  made.title = shortcut ? `${about} (${spoken(shortcut).shown})` : about;
  if (shortcut) made.setAttribute("aria-keyshortcuts", spoken(shortcut).aria);
  made.addEventListener("click", act);
  return made;
}

/** A list to choose from. By keyboard it opens first: arrow keys on a closed list would insert whatever comes next. */
export function choice(
  label: string,
  options: [value: string, words: string][],
  act: (value: string) => void,
): HTMLSelectElement {
  const made = document.createElement("select");
  made.setAttribute("aria-label", `Insert: ${label}`);
  made.append(new Option(`${label} …`, ""), ...options.map(([value, words]) => new Option(words, value)));
  made.addEventListener("keydown", (event) => {
    if (event.key in MOVES || event.key === "Tab" || event.key === "Escape" || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    made.showPicker();
  });
  made.addEventListener("change", () => {
    if (made.value) act(made.value);
    made.value = "";
  });
  return made;
}
