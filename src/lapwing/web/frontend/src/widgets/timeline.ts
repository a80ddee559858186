// Events in order, from the table that stands inside the element: year, kind, what happened. A filter shows one kind.
import { css, html, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import { Story, type Allowed, type Table } from "../lib/story.js";

interface Happening {
  year: string;
  kind: string;
  what: string;
}
const INKS: Record<string, string> = { idea: "private", attack: "adversary", use: "exact", "rule or tool": "budget" };
const SIGNS: Record<string, string> = { idea: "●", attack: "▲", use: "■", "rule or tool": "◆" };
const ALL = "all";

export class Timeline extends Story {
  static override properties = { kind: { type: String } };
  declare kind: string;
  protected readonly question = "What happened when?";
  protected readonly first = { kind: ALL };

  protected override get allowed(): Record<string, Allowed> {
    return { kind: [ALL, ...this.kinds] };
  }
  private events: Happening[] = [];

  override connectedCallback(): void {
    this.events = [...this.querySelectorAll("tbody tr")].map((row) => {
      const [year = "", kind = "", what = ""] = [...row.querySelectorAll("td")].map(
        (cell) => cell.textContent?.trim() ?? "",
      );
      return { year, kind, what };
    });
    super.connectedCallback();
  }

  private get kinds(): string[] {
    return [...new Set(this.events.map((one) => one.kind))];
  }

  private get shown(): Happening[] {
    return this.events.filter((one) => this.kind === ALL || one.kind === this.kind);
  }

  protected handles(): TemplateResult {
    return html`<fieldset>
      <legend>Show</legend>
      ${[ALL, ...this.kinds].map(
        (kind) => html`<label class=${INKS[kind] ?? "quiet"}>
          <input type="radio" name="kind" value=${kind} .checked=${kind === this.kind} @change=${() => this.take("kind", kind)} />
          ${SIGNS[kind] ?? ""} ${kind === ALL ? "everything" : (PLURALS[kind] ?? kind)}
        </label>`,
      )}
    </fieldset>`;
  }

  protected picture(): TemplateResult {
    return html`${this.strip()}
      <ol tabindex="0" aria-label="Events">${this.shown.map((one) => html`<li class=${INKS[one.kind] ?? "quiet"}><span class="year">${one.year}</span><span class="sign" title=${one.kind} role="img" aria-label=${one.kind}>${SIGNS[one.kind] ?? "●"}</span><span>${one.what}</span></li>`)}</ol>`;
  }

  /** All years at a glance; what is not shown is pale. */
  private strip(): SVGTemplateResult {
    const years = this.events.map((one) => parseInt(one.year, 10));
    const [from, to] = [Math.min(...years), Math.max(...years)];
    const narrow = innerWidth < 520;
    const wide = narrow ? 340 : 640;
    const across = (year: number): number => 14 + ((wide - 28) * (year - from)) / (to - from || 1);
    const stacked = new Map<number, number>();
    return svg`<svg viewBox="0 0 ${wide} 110" role="img" aria-label="One mark per event, from ${from} to ${to}">
      <line class="base" x1="6" x2=${wide - 6} y1="86" y2="86"></line>
      ${this.events.map((one, i) => {
        const year = narrow ? 2 * Math.floor(years[i]! / 2) : years[i]!; // marks of two years stand on each other where there is little room
        const level = stacked.get(year) ?? 0;
        stacked.set(year, level + 1);
        const pale = this.kind !== ALL && one.kind !== this.kind;
        return svg`<text class=${INKS[one.kind] ?? "quiet"} x=${across(year)} y=${80 - 14 * level} text-anchor="middle" opacity=${pale ? 0.15 : 1}>${SIGNS[one.kind] ?? "●"}</text>`;
      })}
      ${[1970, 1980, 1990, 2000, 2010, 2020].filter((year) => !narrow || year % 20 === 0).map((year) => svg`<text x=${across(year)} y="104" text-anchor="middle">${year}</text>`)}
    </svg>`;
  }

  protected sentence(): string {
    const shown = this.shown;
    if (!shown.length) return "There is nothing of this kind.";
    const name = this.kind === ALL ? "events" : (PLURALS[this.kind] ?? this.kind);
    return `${shown.length} ${name}, from ${shown[0]!.year} to ${shown[shown.length - 1]!.year}. ${SEEN[this.kind] ?? ""}`;
  }

  protected table(): Table {
    return { head: ["year", "kind", "what happened"], rows: this.shown.map((one) => [one.year, one.kind, one.what]) };
  }

  static override styles = [
    Story.styles,
    css`
      fieldset { border: 0; padding: 0; margin: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; }
      legend { padding: 0; font-size: 0.9rem; color: var(--quiet); }
      fieldset label { display: flex; gap: 0.35rem; align-items: center; font-size: 1rem; padding: 0.2rem 0; }
      label.private, li.private .sign { color: var(--private); }
      label.adversary, li.adversary .sign { color: var(--adversary); }
      label.exact, li.exact .sign { color: var(--exact); }
      label.budget, li.budget .sign { color: var(--budget); }
      ol { list-style: none; margin: 0.6rem 0; padding: 0; max-height: 26rem; overflow-y: auto; border-block: 1px solid var(--line); }
      li { display: grid; grid-template-columns: 3rem 1.2rem 1fr; gap: 0.4rem; padding: 0.35rem 0; line-height: 1.4; }
      li + li { border-top: 1px solid var(--line); }
      .year { font-weight: 600; font-variant-numeric: tabular-nums; }
      .seen { min-height: 3em; }
      @media print { ol { max-height: none; overflow: visible; } }
    `,
  ];
}
const PLURALS: Record<string, string> = {
  idea: "ideas",
  attack: "attacks",
  use: "uses",
  "rule or tool": "rules and tools",
};
const SEEN: Record<string, string> = {
  [ALL]:
    "First came an idea, then attacks, then the definition. The first public product followed two years later, the first browser after eight.",
  idea: "Most of the theory that you need is from between 2006 and 2010.",
  attack: "Each attack disproved a belief.",
  use: "From a map of commuters (2008) to a national census (2021) in thirteen years.",
  "rule or tool": "PINQ was early. Ten years later large firms opened their libraries. Guidance for buyers came last.",
};
customElements.define("lw-timeline", Timeline);
