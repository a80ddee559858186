// What every page does: the theme, the progress that stays in this browser, filters, and widgets when they are near.
import { applyTheme } from "./lib/theme.js";
import { showProgress } from "./lib/progress.js";
import { watchReading } from "./lib/reading.js";
import { liveFilters } from "./lib/filters.js";
import { greet } from "./lib/account.js";
import { tellClasses } from "./lib/classes.js";
import { dropDecided } from "./lib/draft.js";
import { offerVote, showMyVotes } from "./lib/vote.js";
import { drawPath, forYou } from "./lib/for-you.js";

applyTheme();
void tellClasses(); // first: it hears what is read from now on
showProgress();
watchReading();
liveFilters();
dropDecided();
void greet();
void offerVote();
showMyVotes();
void forYou();
drawPath();

const sources = document.querySelector<HTMLScriptElement>("script#widgets");
if (sources) {
  const addresses: Record<string, string> = JSON.parse(sources.textContent ?? "{}");
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        const address = addresses[target.localName];
        if (address) void import(address);
      }
    },
    { rootMargin: "400px" },
  );
  for (const name of Object.keys(addresses)) document.querySelectorAll(name).forEach((one) => near.observe(one));
}
