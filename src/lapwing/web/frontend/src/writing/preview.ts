// The preview beside the text: what did not change stays as it is, widgets and open blocks too, and it scrolls along.
const sources = new WeakMap<Element, string>(); // what the server sent, before scripts changed it
const LINE = / data-line="\d+"/g;
const sourceOf = (element: Element): string => sources.get(element) ?? "";

function remember(element: Element): void {
  sources.set(element, element.outerHTML.replace(LINE, ""));
  if (element.matches("article, section.screen")) for (const child of element.children) remember(child);
}

/** Shows new HTML, cleaned by the server, with as few changes as its parts allow. */
export function show(place: HTMLElement, html: string): void {
  const made = document.createElement("template");
  made.innerHTML = html;
  for (const element of made.content.children) remember(element);
  renew(place, [...made.content.children]);
}

/** Exchanges children between those that are the same at the beginning and at the end. */
function renew(place: Element, fresh: Element[]): void {
  const old = [...place.children];
  let first = 0;
  while (first < old.length && first < fresh.length && sourceOf(old[first]!) === sourceOf(fresh[first]!)) first++;
  let last = 0;
  while (
    last < Math.min(old.length, fresh.length) - first &&
    sourceOf(old.at(-1 - last)!) === sourceOf(fresh.at(-1 - last)!)
  )
    last++;
  old.slice(0, first).forEach((one, i) => renumber(one, fresh[i]!));
  old.slice(old.length - last).forEach((one, i) => renumber(one, fresh[fresh.length - last + i]!));
  const changed = old.slice(first, old.length - last);
  const instead = fresh.slice(first, fresh.length - last);
  instead.forEach((one, i) => {
    const before = changed[i];
    if (before && within(before, one)) return;
    if (before instanceof HTMLDetailsElement && one instanceof HTMLDetailsElement) one.open = before.open;
    if (before) before.replaceWith(one);
    else place.insertBefore(one, old[old.length - last] ?? null);
  });
  for (const one of changed.slice(instead.length)) one.remove();
}

/** Renews what stands inside an article or a screen, if both are one. */
function within(old: Element, fresh: Element): boolean {
  if (!old.matches("article, section.screen") || old.tagName !== fresh.tagName || old.className !== fresh.className)
    return false;
  old.id = fresh.id;
  renew(old, [...fresh.children]);
  sources.set(old, sourceOf(fresh));
  return true;
}

/** What stays may have moved to another line. */
function renumber(old: Element, fresh: Element): void {
  const [before, now] = [old, fresh].map((one) =>
    [one, ...one.querySelectorAll("[data-line]")].filter((each) => each.hasAttribute("data-line")),
  ) as [Element[], Element[]];
  now.forEach((one, i) => before[i]?.setAttribute("data-line", one.getAttribute("data-line")!));
}

/** Where a line stands, between those that are known: pairs of a line and a height, in order. */
export function heightOf(line: number, known: readonly (readonly [line: number, height: number])[]): number {
  const after = known.findIndex(([each]) => each > line);
  if (after === 0) return known[0]![1];
  if (after < 0) return known.at(-1)?.[1] ?? 0;
  const [[begin, top], [end, bottom]] = [known[after - 1]!, known[after]!];
  return top + ((line - begin) / (end - begin)) * (bottom - top);
}

/** The heights of all lines that a preview knows; the first line is its top, the last its end. */
function heights(place: HTMLElement, lastLine: number): [number, number][] {
  const top = place.getBoundingClientRect().top - place.scrollTop;
  const found: [number, number][] = [[1, 0]];
  for (const one of place.querySelectorAll<HTMLElement>("[data-line]")) {
    const box = one.getBoundingClientRect();
    const line = Number(one.dataset.line);
    if (box.height && line > found.at(-1)![0]) found.push([line, box.top - top]);
  }
  found.push([Math.max(lastLine, found.at(-1)![0]) + 1, place.scrollHeight]);
  return found;
}

/** Scrolls so that a line of the text, counted with fractions, stands at the top as it does in the editor. */
export function scrollTo(place: HTMLElement, line: number, lastLine: number): void {
  if (place.scrollHeight > place.clientHeight)
    place.scrollTop = line <= 1 ? 0 : heightOf(line, heights(place, lastLine)) - 12;
}

/** Brings a line into sight, and moves nothing if it is. */
export function reveal(place: HTMLElement, line: number, lastLine: number): void {
  const { clientHeight, scrollHeight, scrollTop } = place;
  if (scrollHeight <= clientHeight) return;
  const height = heightOf(line, heights(place, lastLine));
  if (height < scrollTop || height > scrollTop + 0.8 * clientHeight) place.scrollTop = height - clientHeight / 3;
}
