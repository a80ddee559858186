// How often an attacker is right: against the exact answer, against this one, and at most.
import { css, html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import { narrow, place, wide } from "../lib/chart.js";
import { Asked } from "./asked.js";
import { told } from "./told.js";
import { said } from "./look.js";

interface Outcome {
  attack: string;
  title: string;
  how: string;
  questions: number;
  epsilon: number;
  bound: number;
  exact: number | null;
  private: number | null;
  low: number | null;
  high: number | null;
  games: number;
}

const hundred = (share: number): string => (share > 0.99 && share < 1 ? "over 99" : String(Math.round(100 * share)));
const atMost = (share: number): string => (share > 0.99 ? "over 99" : String(Math.ceil(100 * share - 1e-9)));
/** The limit in a sentence: so high a limit promises next to nothing. */
const limit = (share: number): string =>
  share > 0.99
    ? "the proved limit is above 99 out of 100, which promises next to nothing"
    : `the proved limit is ${atMost(share)} out of 100`;
/** In how many games the attacker was right; a tie is worth half. */
function games({ private: share, games }: Outcome): string {
  const won = Math.round(2 * (share ?? 0) * games) / 2;
  return `${won.toLocaleString("en")} of ${games.toLocaleString("en")} games${Number.isInteger(won) ? "" : " (a tie counts half)"}`;
}

/** What an attack takes, as its bar is called. */
function answers({ attack, questions }: Outcome): string {
  if (attack === "averaging") return `${questions} answers, averaged`;
  return attack === "differencing" ? "Two answers, subtracted" : "One answer";
}

class Attacks extends Asked<{ outcomes: Outcome[] }> {
  protected readonly kind = "attacks";
  private readonly known = told<{ limits: Outcome[]; budget: { left: number } }>("released");

  override render(): TemplateResult {
    const outcomes = this.found?.outcomes ?? this.known?.limits ?? [];
    const played = outcomes.some((one) => one.private !== null);
    return html`<div class="legend">${played ? html`<span class="exact">┃ exact answer</span><span class="adversary">● right in the attacks we played, with a 95 % interval</span>` : nothing}<span class="bound">▮ no attacker can be right more often</span>${played ? html`<span class="mark">teaching mode: played on your real rows, not kept</span>` : nothing}</div>
      <figure>${this.picture(outcomes)}</figure>
      <p class="seen" role="status">${this.sentence(outcomes)}</p>
      ${this.teaching ? this.button(played ? "Attack again, another target" : "Attack this answer", () => [], true) : nothing}
      <details ?open=${!this.teaching}><summary>As a table</summary><div class="scroll" tabindex="0" role="group" aria-label="Attacks"><table>
        <thead><tr><th scope="col">Attack</th><th scope="col" class="right">Costs ε in all</th>${played ? html`<th scope="col" class="right">Exact answer</th><th scope="col" class="right">This answer</th><th scope="col" class="right">Games</th>` : nothing}<th scope="col" class="right">Proved limit</th></tr></thead>
        <tbody>${outcomes.map(
          (
            one,
          ) => html`<tr><td><b>${one.title}</b><br />${answers(one)}. ${one.how}</td><td class="right">${said(one.epsilon)}<br /><small>${this.further(one) ? `${said(this.further(one))} more${this.over(one) ? ", more than is left" : ""}` : "paid"}</small></td>
          ${played ? html`<td class="right">${one.exact === null ? "–" : hundred(one.exact)}</td><td class="right">${one.private === null ? "–" : html`${hundred(one.private)}<br /><small>${hundred(one.low ?? 0)} to ${hundred(one.high ?? 1)}</small>`}</td><td class="right">${one.games ? one.games.toLocaleString("en") : "–"}</td>` : nothing}<td class="right">${atMost(one.bound)}</td></tr>`,
        )}</tbody></table></div>
        <p class="quiet">How often the attacker guesses correctly, out of 100, if “in” and “not in” were equally likely before.${played ? " The range is a 95 % interval for the true rate." : ""}</p></details>`;
  }

  private sentence(outcomes: Outcome[]): string {
    const [first] = outcomes;
    const last = outcomes[outcomes.length - 1];
    if (!first || !last) return "";
    const here =
      first.bound > 0.99
        ? `With this answer, ${limit(first.bound)}`
        : `With this answer, an attacker can be right at most ${atMost(first.bound)} times out of 100`;
    if (first.private === null || first.exact === null)
      return `${here}. With ${last.questions} such answers, ${limit(last.bound)}. ${this.price(last)}`;
    const falls =
      first.exact === 1
        ? "The exact answer gives the target away every time"
        : "Even the exact answer is the same with and without this target";
    const again = last.private === null ? "" : `the attacker was right in ${games(last)}, and `;
    return `${falls}. With this answer, the attacker was right in ${games(first)}, and ${limit(first.bound)}. With ${last.questions} such answers, ${again}${limit(last.bound)}. ${this.price(last)}`;
  }

  /** What the answers beyond the one that is paid would cost. */
  private further({ epsilon }: Outcome): number {
    return Math.max(0, epsilon - (this.known?.limits[0]?.epsilon ?? 0));
  }

  private over(one: Outcome): boolean {
    return this.further(one) > (this.known?.budget.left ?? 0) + 1e-9;
  }

  /** What so many answers would cost, beside what is left. */
  private price(one: Outcome): string {
    return `This answer is paid. The other ${one.questions - 1} would cost ε = ${said(this.further(one))}, ${this.over(one) ? "more than is left of your budget" : "which your budget still allows"}.`;
  }

  private picture(outcomes: Outcome[]): SVGTemplateResult {
    const small = narrow();
    const left = small ? 12 : 230;
    const lowest = Math.min(0.5, ...outcomes.flatMap((one) => [one.private ?? 0.5, one.low ?? 0.5]));
    const from = Math.floor(10 * lowest + 1e-9) / 10;
    const at = place({ from, to: 1, label: "" }, left, wide() - 40);
    const marked = from < 0.3 ? [0, 0.25, 0.5, 0.75, 1] : [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
    const step = small ? 58 : 42;
    const floor = 12 + step * outcomes.length;
    return svg`<svg viewBox="0 0 ${wide()} ${floor + 44}" role="img" aria-label="Correct guesses of attackers, out of 100; as numbers in the table">
      ${marked.filter((share) => share >= from).map((share) => svg`<g class="tick"><line x1=${at(share)} x2=${at(share)} y1="8" y2=${floor}></line><text x=${at(share)} y=${floor + 16} text-anchor="middle">${Math.round(100 * share)}</text></g>`)}
      <text x=${(left + wide() - 40) / 2} y=${floor + 36} text-anchor="middle">correct guesses out of 100</text>
      ${outcomes.map((one, i) => {
        const y = 12 + step * i + step * (small ? 0.7 : 0.5);
        const clip = (share: number): number => at(Math.min(1, Math.max(from, share)));
        return svg`<g>
          <text x=${small ? 12 : left - 10} y=${small ? y - 22 : y} text-anchor=${small ? "start" : "end"} dy="0.32em">${answers(one)}</text>
          <rect class="bounded" x=${at(0.5)} y=${y - 9} width=${Math.max(1, clip(one.bound) - at(0.5))} height="18" rx="2"></rect>
          <path class="edge" d="M${clip(one.bound)},${y - 12}v24"></path>
          ${one.low !== null && one.high !== null ? svg`<path class="line adversary" d="M${clip(one.low)},${y}H${clip(one.high)}"></path>` : nothing}
          ${one.private !== null ? svg`<g class="dots adversary"><circle cx=${clip(one.private)} cy=${y} r="6"></circle></g>` : nothing}
          ${one.exact !== null ? svg`<path class="line exact" d="M${clip(one.exact)},${y - 14}v28" stroke-width="3"></path>` : nothing}
        </g>`;
      })}
    </svg>`;
  }

  static override styles = [
    ...Asked.styles,
    css`
      .legend { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; font-size: 0.92rem; }
      .adversary { color: var(--adversary); } .exact { color: var(--exact); } .bound { color: var(--adversary); }
      .bounded { fill: var(--adversary); opacity: 0.16; }
      .edge { stroke: var(--adversary); stroke-width: 3; }
      small { color: var(--quiet); white-space: normal; } th.right { white-space: normal; } td:first-child { min-width: 11rem; }
    `,
  ];
}
customElements.define("lw-attacks", Attacks);
