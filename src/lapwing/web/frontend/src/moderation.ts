// The queue by keyboard. The keys work while a comment of the queue is in focus, so they disturb nobody who types.
const form = document.querySelector<HTMLFormElement>("form.moderation");
const queue = document.querySelector<HTMLElement>("#queue");

if (form && queue) {
  const entries = [...queue.querySelectorAll<HTMLElement>(":scope > li")];
  document.querySelector<HTMLElement>("#keys")!.hidden = false;
  for (const entry of entries) entry.tabIndex = 0;
  const box = (entry: HTMLElement) => entry.querySelector<HTMLInputElement>("input[name=chosen]");
  const act = (action: string, entry: HTMLElement): void => {
    const own = box(entry);
    if (own && !entries.some((one) => box(one)?.checked)) own.checked = true; // nothing chosen: this one
    form.querySelector<HTMLButtonElement>(`button[value=${action}]`)?.click();
  };
  queue.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const entry = (event.target as Element).closest<HTMLElement>("#queue > li");
    if (!entry) return;
    const at = entries.indexOf(entry);
    const all = entries.map(box).filter((one) => one !== null);
    const keys: Record<string, () => void> = {
      j: () => entries[Math.min(at + 1, entries.length - 1)]?.focus(),
      k: () => entries[Math.max(at - 1, 0)]?.focus(),
      x: () => box(entry)?.click(),
      a: () => {
        const whole = all.every((one) => one.checked);
        for (const one of all) one.checked = !whole;
      },
      h: () => act("hide", entry),
      r: () => act("restore", entry),
      d: () => act("dismiss", entry),
      Delete: () => act("remove", entry),
      n: () => form.querySelector<HTMLInputElement>("input[name=note]")?.focus(),
    };
    const chosen = keys[event.key];
    if (!chosen) return;
    event.preventDefault();
    chosen();
  });
}
