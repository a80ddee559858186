// A hospital's rows without names beside a list of voters with names: which columns name whom?
import { css, html, svg, type CSSResultGroup, type SVGTemplateResult, type TemplateResult } from "lit";
import town from "../data/town.json";
import { counted } from "../lib/plural.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { linked, unique } from "../math/classes.js";

interface Known {
  born: number[];
  sex: number[];
  postcode: number[];
}
const BORN: Record<string, [string, (day: number) => unknown]> = {
  no: ["left out", () => ""],
  decade: ["decade", (day) => Math.floor(day / 1e5)],
  year: ["year", (day) => Math.floor(day / 1e4)],
  month: ["month and year", (day) => Math.floor(day / 100)],
  day: ["full date", (day) => day],
};
const POSTCODE: Record<string, [string, (code: string) => string]> = {
  no: ["left out", () => ""],
  four: ["first four digits", (code) => code.slice(0, 4)],
  five: ["all five digits", (code) => code],
};
const SEX: Record<string, [string]> = { no: ["left out"], yes: ["released"] };
const ROW = 43;
const STEP = 640 / ROW;
type Fate = "right" | "wrong" | "alone" | "crowd";
const FATES: Fate[] = ["right", "wrong", "alone", "crowd"];
const SAID: Record<Fate, string> = {
  right: "named correctly",
  wrong: "given somebody else's name",
  alone: "unique in the table, but matching several voters or none",
  crowd: "hidden in a crowd",
};

export class LinkageStory extends Story {
  static override properties = { born: {}, sex: {}, postcode: {} };
  declare born: string;
  declare sex: string;
  declare postcode: string;
  protected readonly question = "The hospital removes all names. Which columns may it release?";
  protected readonly first = { born: "day", sex: "yes", postcode: "five" };

  protected override get allowed(): Record<string, Allowed> {
    return { born: Object.keys(BORN), sex: Object.keys(SEX), postcode: Object.keys(POSTCODE) };
  }

  private keys(table: Known): string[] {
    const born = (BORN[this.born] ?? BORN.no!)[1];
    const code = (POSTCODE[this.postcode] ?? POSTCODE.no!)[1];
    return table.born.map(
      (day, row) =>
        `${born(day)} ${this.sex === "yes" ? table.sex[row] : ""} ${code(town.postcodes[table.postcode[row]!]!)}`,
    );
  }

  private get state() {
    const rows = this.keys(town.hospital);
    const { candidates, named } = linked(rows, this.keys(town.voters));
    const times = new Map<string, number>();
    for (const key of rows) times.set(key, (times.get(key) ?? 0) + 1);
    const fates = rows.map((key, row): Fate => {
      if (named[row]! >= 0) return named[row] === town.truth[row] ? "right" : "wrong";
      return times.get(key) === 1 ? "alone" : "crowd";
    });
    const count = (fate: Fate): number => fates.filter((one) => one === fate).length;
    return { fates, named, count, candidates, alone: Math.round(unique(rows) * rows.length), all: rows.length };
  }

  protected handles(): TemplateResult {
    const named = (options: Record<string, [string, ...unknown[]]>): [string, string][] =>
      Object.entries(options).map(([value, [said]]) => [value, said]);
    return html`${this.choice("born", "birth date", named(BORN))} ${this.choice("sex", "sex", named(SEX))} ${this.choice("postcode", "postcode", named(POSTCODE))}`;
  }

  protected picture(): unknown {
    const { fates, named, count } = this.state;
    const height = Math.ceil(fates.length / ROW) * STEP;
    const paths: Record<Fate, string> = { right: "", wrong: "", alone: "", crowd: "" };
    fates.forEach((fate, row) => {
      paths[fate] += mark(fate, ((row % ROW) + 0.5) * STEP, (Math.floor(row / ROW) + 0.5) * STEP);
    });
    const examples = fates
      .flatMap((fate, row) => (fate === "right" ? [row] : []))
      .filter((_, i) => i % 97 === 5)
      .slice(0, 4);
    return html`${svg`<svg viewBox="0 0 640 ${height}" role="img" aria-label="One mark for each of ${fates.length} patients">
        ${FATES.map((fate): SVGTemplateResult => svg`<path class=${fate} d=${paths[fate]}></path>`)}
      </svg>`}
      <ul class="legend">${FATES.map((fate) => html`<li>${key(fate)} <b>${count(fate)}</b> ${SAID[fate]}</li>`)}</ul>
      <p class="found">${examples.length ? "For example:" : html`&nbsp;`} ${examples.map((row) => html`<span>${town.voters.name[named[row]!]}: ${town.diagnoses[town.hospital.diagnosis[row]!]}</span> `)}</p>`;
  }

  protected sentence(): string {
    const { count, all, alone } = this.state;
    const names = count("right") + count("wrong");
    if (!names)
      return `None of the ${all} patients gets a name, because every row matches several voters or none. ${alone ? `Still, ${counted(alone, "row is", "rows are")} unique.` : "Every row looks like other rows."} What could you still learn from this table?`;
    const share = (100 * count("right")) / names;
    const said = share > 99 && share < 100 ? "more than 99" : String(Math.round(share));
    return `${names} of ${all} patients get a name, and ${count("right")} of these names are right (${said}\u00a0%). ${counted(alone, "row is", "rows are")} unique in the table. The table contained no names.`;
  }

  protected table(): Table {
    const { count, all, alone } = this.state;
    return {
      head: ["patients", "how many", "percent"],
      rows: [
        ...FATES.map((fate) => [SAID[fate], count(fate), percent(count(fate), all)]),
        ["unique rows", alone, percent(alone, all)],
        ["all", all, "100"],
      ],
    };
  }

  static override styles: CSSResultGroup = [
    Story.styles,
    css`
      .handles > * { flex: 1 1 9rem; }
      path.right { fill: var(--adversary); }
      path.wrong { stroke: var(--adversary); stroke-width: 2.2; fill: none; }
      path.alone { stroke: var(--noise); stroke-width: 1.8; fill: none; }
      path.crowd { fill: var(--exact); opacity: 0.45; }
      .legend { list-style: none; display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: 0.1rem 1rem; padding: 0; margin: 0.2rem 0 0.6rem; font-size: 0.9rem; }
      .legend li { padding-left: 1.3rem; text-indent: -1.3rem; }
      .legend svg { display: inline-block; width: 0.9rem; height: 0.9rem; margin: 0 0.2rem -0.1rem 0; }
      .legend b { font-variant-numeric: tabular-nums; }
      .found { min-height: 4.4em; font-size: 0.9rem; margin: 0; color: var(--quiet); }
      .found span { display: inline-block; margin: 0.1rem 0.5rem 0.1rem 0; padding: 0 0.4rem; border: 1px solid var(--adversary); border-radius: 4px; color: var(--ink); }
    `,
  ];
}

function mark(fate: Fate, x: number, y: number): string {
  const at = `${x.toFixed(1)},${y.toFixed(1)}`;
  if (fate === "right") return `M${at}m0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z`;
  if (fate === "wrong") return `M${at}m-4,-4l8,8m0,-8l-8,8`;
  const r = fate === "alone" ? 4 : 3;
  return `M${at}m${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`;
}

const key = (fate: Fate): SVGTemplateResult =>
  svg`<svg viewBox="-7 -7 14 14" aria-hidden="true"><path class=${fate} d=${mark(fate, 0, 0)}></path></svg>`;
const percent = (some: number, all: number): string => ((100 * some) / all).toFixed(1);
customElements.define("lw-linkage", LinkageStory);
