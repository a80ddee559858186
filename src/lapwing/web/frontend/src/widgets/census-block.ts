// Seven people, the tables about them, and all blocks that would give the same tables.
import { css, html, type CSSResultGroup, type TemplateResult } from "lit";
import block from "../data/block.json";
import { Story, type Table } from "../lib/story.js";
import { known, reconstruct, tabulate, type Person, type Statistic, type Where } from "../math/census.js";

const PEOPLE: Person[] = block.people;
const GROUPS: Where[] = block.groups as Where[];
const MOST = 1000;
const SMALLEST = 3;
const PARTS = ["sex", "origin", "cross", "marriage"] as const;
type Part = (typeof PARTS)[number];
const SAID: Record<Part, string> = {
  sex: "by sex",
  origin: "by origin",
  cross: "by sex and origin",
  marriage: "by marriage",
};
interface Found {
  lines: Statistic[];
  blocks: Person[][];
  all: boolean;
}

const part = (where: Where): Part | "everybody" => {
  if (where.married !== undefined) return "marriage";
  if (where.sex !== undefined) return where.origin !== undefined ? "cross" : "sex";
  return where.origin !== undefined ? "origin" : "everybody";
};

export class CensusBlockStory extends Story {
  static override properties = {
    sex: { type: Boolean },
    origin: { type: Boolean },
    cross: { type: Boolean },
    marriage: { type: Boolean },
    suppress: { type: Boolean },
  };
  declare sex: boolean;
  declare origin: boolean;
  declare cross: boolean;
  declare marriage: boolean;
  declare suppress: boolean;
  protected readonly question = "Seven people live in this block. Only statistics are published. Who lives there?";
  protected readonly first = { sex: false, origin: false, cross: false, marriage: false, suppress: false };
  private readonly seen = new Map<string, Found>();

  /** A table by sex and origin is printed with its margins. */
  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    if (name === "cross" && value) for (const margin of ["sex", "origin"]) super.take(margin, true);
    if ((name === "sex" || name === "origin") && !value) super.take("cross", false);
  }

  private get found(): Found {
    const state = [...PARTS, "suppress" as const].map((name) => Number(this[name])).join("");
    const before = this.seen.get(state);
    if (before) return before;
    const groups = GROUPS.filter((where) => part(where) === "everybody" || this[part(where) as Part]);
    const lines = tabulate(PEOPLE, groups, this.suppress ? SMALLEST : 0);
    const made = { lines, ...reconstruct(lines, 99, MOST) };
    this.seen.set(state, made);
    return made;
  }

  private tick(name: Part | "suppress", label: string): TemplateResult {
    return html`<label class="tick"><input type="checkbox" .checked=${this[name]} @change=${(event: Event) => this.take(name, (event.target as HTMLInputElement).checked)} /> ${label}</label>`;
  }

  protected handles(): TemplateResult {
    return html`<fieldset><legend>Publish number, mean and median age</legend>
        <label class="tick"><input type="checkbox" checked disabled /> of everybody</label>
        ${PARTS.map((name) => this.tick(name, SAID[name]))}</fieldset>
      <fieldset><legend>Protection</legend>${this.tick("suppress", `leave out groups of fewer than ${SMALLEST}`)}</fieldset>`;
  }

  protected picture(): unknown {
    const { lines, blocks, all } = this.found;
    const short = (person: Person) => `${person.age} ${person.sex}${person.origin}`;
    const residents = all ? known(blocks, short).slice(0, PEOPLE.length) : [];
    const cards = residents
      .map(([who, sure]) => ({ who, sure, married: marriedShare(blocks, who, short) }))
      .sort((a, b) => parseInt(a.who) - parseInt(b.who));
    return html`<div class="two">
      <div class="scroll" tabindex="0" role="group" aria-label="Published"><table><caption>Published</caption>
        <thead><tr><th scope="col">group</th><th scope="col">people</th><th scope="col">mean</th><th scope="col">median</th></tr></thead>
        <tbody>${lines.map((line) => html`<tr><td>${group(line.where)}</td><td>${line.count}</td><td>${line.mean?.toFixed(1)}</td><td>${line.median}</td></tr>`)}</tbody></table></div>
      <div><p class="count"><b>${all ? blocks.length : `more than ${MOST.toLocaleString("en")}`}</b> possible set${all && blocks.length === 1 ? "" : "s"} of residents</p>
        <ul class="cards">${
          cards.length
            ? cards.map(
                ({ who, sure, married }) =>
                  html`<li class=${sure === 1 ? "sure" : ""}><b>${age(who)}</b> ${kind(who)}, ${wed(married)}<span class="bar"><span style="width:${100 * sure}%"></span></span><small>${sure === 1 ? "certain" : `in ${Math.round(100 * sure)}\u00a0% of the blocks`}</small></li>`,
              )
            : PEOPLE.map(
                () => html`<li><b>?</b> too many blocks fit<span class="bar"></span><small>search stopped</small></li>`,
              )
        }</ul></div></div>`;
  }

  protected sentence(): string {
    const { lines, blocks, all } = this.found;
    const numbers = lines.reduce((sum, line) => sum + (line.count ? 3 : 1), 0);
    if (!all)
      return `${numbers} numbers are published. More than ${MOST.toLocaleString("en")} different blocks would give the same numbers, so the residents cannot be listed yet. Publish one more table.`;
    if (blocks.length === 1)
      return `${numbers} numbers are published, and only one block of seven people fits all of them. So every age, sex, origin and marriage is known${this.suppress ? ", although every small group was left out" : ""}. No record was ever released.`;
    return `${numbers} numbers are published, and ${blocks.length} blocks fit. The attacker is certain of what all these blocks have in common. Where the blocks differ, the percentage is the attacker's belief.`;
  }

  protected table(): Table {
    const { blocks, all } = this.found;
    const rows = all
      ? known(blocks)
          .slice(0, 14)
          .map(([who, sure]) => [who, `${(100 * sure).toFixed(0)}\u00a0%`])
      : [["any", "too many blocks fit"]];
    return {
      head: ["resident (age, sex and origin, marriage)", "share of the blocks that fit"],
      rows,
    };
  }

  static override styles: CSSResultGroup = [
    Story.styles,
    css`
      fieldset { border: 1px solid var(--line); border-radius: 6px; padding: 0.3rem 0.8rem 0.5rem; margin: 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1rem; align-self: stretch; }
      .handles > fieldset:first-child { flex: 2 1 20rem; }
      legend { font-size: 0.9rem; color: var(--quiet); }
      .tick { display: inline-flex; align-items: center; gap: 0.4rem; font-size: 1rem; color: var(--ink); min-height: 1.8rem; }
      .tick input { width: 1.1rem; height: 1.1rem; }
      .two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 16rem), 1fr)); gap: 1rem; margin-top: 1rem; min-height: 25rem; }
      .scroll { overflow: auto; }
      table { font-size: 0.9rem; width: 100%; } caption { text-align: left; font-weight: 600; color: var(--quiet); }
      td:not(:first-child), th:not(:first-child) { text-align: right; }
      .count { margin: 0 0 0.4rem; } .count b { font-size: 1.4rem; font-variant-numeric: tabular-nums; color: var(--adversary); }
      .cards { list-style: none; padding: 0; margin: 0; display: grid; gap: 0.35rem; font-size: 0.95rem; }
      .cards li { display: grid; grid-template-columns: 1.8rem 1fr auto; gap: 0 0.4rem; align-items: baseline; border-left: 3px solid var(--line); padding-left: 0.5rem; }
      .cards li.sure { border-color: var(--adversary); }
      .cards b { font-variant-numeric: tabular-nums; }
      .bar { grid-row: 2; grid-column: 2 / -1; height: 4px; background: var(--line); border-radius: 2px; overflow: hidden; }
      .bar span { display: block; height: 100%; background: var(--adversary); }
      small { color: var(--quiet); grid-column: 3; grid-row: 1; }
    `,
  ];
}

function group(where: Where): string {
  const words = [
    where.origin && `origin ${where.origin}`,
    where.sex && (where.sex === "F" ? "women" : "men"),
    where.married !== undefined && (where.married ? "married" : "single"),
  ];
  return words.filter(Boolean).reverse().join(", ") || "everybody";
}
const age = (who: string): string => who.split(" ")[0]!;
const kind = (who: string): string => `${who.includes(" F") ? "female" : "male"}, origin ${who.slice(-1)}`;
const wed = (share: number): string => (share === 1 ? "married" : share === 0 ? "single" : "married?");

function marriedShare(blocks: readonly Person[][], who: string, short: (person: Person) => string): number {
  const mine = blocks.flatMap((people) => people.filter((person) => short(person) === who));
  return mine.filter((person) => person.married).length / mine.length;
}
customElements.define("lw-census-block", CensusBlockStory);
