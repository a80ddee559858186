// The console of a collection: the part that changes is asked for again, while somebody looks and wishes so.
const EVERY = 4000;

const place = document.querySelector<HTMLElement>("#now");
const keeping = document.querySelector<HTMLElement>(".keeping");
const wish = keeping?.querySelector<HTMLInputElement>("input");

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
    const text = await answer.text();
    if (text === shown || place.contains(document.activeElement)) return;
    place.innerHTML = text;
    shown = text;
  };
}
