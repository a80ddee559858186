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

const hundred = (share: number): string =>
  share > 0.99 && share < 1 ? "more than 99" : String(Math.round(100 * share));
const atMost = (share: number): string => (share > 0.99 ? "more than 99" : String(Math.ceil(100 * share - 1e-9)));
const limit = (share: number): string => (share > 0.99 ? "" : "at most ") + atMost(share);

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
        <thead><tr><th scope="col">Attack</th><th scope="col" class="right">Costs ε</th>${played ? html`<th scope="col" class="right">Exact answer</th><th scope="col" class="right">This answer</th>` : nothing}<th scope="col" class="right">At most</th></tr></thead>
        <tbody>${outcomes.map(
          (
            one,
          ) => html`<tr><td><b>${one.title}</b><br />${one.how}</td><td class="right">${said(one.epsilon)}${one.epsilon > (this.known?.budget.left ?? 0) + 1e-9 ? html`<br /><small>more than is left</small>` : nothing}</td>
          ${played ? html`<td class="right">${one.exact === null ? "–" : hundred(one.exact)}</td><td class="right">${one.private === null ? "–" : html`${hundred(one.private)}<br /><small>${hundred(one.low ?? 0)} to ${hundred(one.high ?? 1)}</small>`}</td>` : nothing}<td class="right">${atMost(one.bound)}</td></tr>`,
        )}</tbody></table></div>
        <p class="quiet">How often the attacker guesses correctly, out of 100, if “in” and “not in” were equally likely before.${played ? " The range is a 95 % interval for the true rate." : ""}</p></details>`;
  }

  private sentence(outcomes: Outcome[]): string {
    const [first] = outcomes;
    const last = outcomes[outcomes.length - 1];
    if (!first || !last) return "";
    if (first.private === null || first.exact === null)
      return `With this answer, an attacker can be right ${limit(first.bound)} times out of 100. With ${last.questions} such answers, an attacker could be right ${limit(last.bound)} times out of 100. ${this.price(last)}`;
    const falls =
      first.exact === 1
        ? "The exact answer gives the target away every time"
        : "Even the exact answer is the same with and without this target";
    const again =
      last.private !== null && last.private > first.private + 0.1
        ? `With ${last.questions} such answers, the attacker was right ${hundred(last.private)} times out of 100. `
        : `With ${last.questions} such answers, an attacker could be right ${limit(last.bound)} times out of 100. `;
    return `${falls}. With this answer, the attacker was right ${hundred(first.private)} times out of 100. The proved limit is ${atMost(first.bound)} times out of 100. ${again}${this.price(last)}`;
  }

  /** What so many answers would cost, beside what is left. */
  private price({ epsilon }: Outcome): string {
    const over = epsilon > (this.known?.budget.left ?? 0) + 1e-9;
    return `They would cost ε = ${said(epsilon)}, ${over ? "more than is left of your budget" : "which your budget still allows"}.`;
  }

  private picture(outcomes: Outcome[]): SVGTemplateResult {
    const small = narrow();
    const left = small ? 12 : 230;
    const at = place({ from: 0.5, to: 1, label: "" }, left, wide() - 40);
    const step = small ? 58 : 42;
    const floor = 12 + step * outcomes.length;
    return svg`<svg viewBox="0 0 ${wide()} ${floor + 44}" role="img" aria-label="Correct guesses of attackers, out of 100; as numbers in the table">
      ${[0.5, 0.6, 0.7, 0.8, 0.9, 1].map((share) => svg`<g class="tick"><line x1=${at(share)} x2=${at(share)} y1="8" y2=${floor}></line><text x=${at(share)} y=${floor + 16} text-anchor="middle">${100 * share}</text></g>`)}
      <text x=${(left + wide() - 40) / 2} y=${floor + 36} text-anchor="middle">correct guesses out of 100</text>
      ${outcomes.map((one, i) => {
        const y = 12 + step * i + step * (small ? 0.7 : 0.5);
        const clip = (share: number): number => at(Math.min(1, Math.max(0.5, share)));
        return svg`<g>
          <text x=${small ? 12 : left - 10} y=${small ? y - 22 : y} text-anchor=${small ? "start" : "end"} dy="0.32em">${one.title}</text>
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
      small { color: var(--quiet); }
    `,
  ];
}
customElements.define("lw-attacks", Attacks);
