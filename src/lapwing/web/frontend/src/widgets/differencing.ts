// A curator answers questions about groups only. Which rules keep one person's answer secret, and what does noise change?
import { css, html, nothing, svg, type CSSResultGroup, type TemplateResult } from "lit";
import office from "../data/office.json";
import "../lib/epsilon.js";
import { counted } from "../lib/plural.js";
import { uniform } from "../lib/random.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { answered, bestGuess, chance, discreteLaplace, logOdds } from "../math/differencing.js";

/** Postcodes that begin so are a tracker: about a fifth of the people. */
const TRACKER = "0001";
const PEOPLE = office.name.length;
const NAMED = "refused: a name";
const RULES = {
  none: "answers everything exactly",
  size: "refuses small groups",
  names: "refuses small groups and names",
  noise: "adds noise to every answer",
} as const;
const ATTACKS = {
  direct: "ask about the person",
  difference: "take a difference",
  tracker: "use a tracker",
  general: "use a general tracker",
} as const;
type Attack = keyof typeof ATTACKS;
interface Query {
  where: string;
  members: boolean[];
  /** Whether it is added or subtracted in the end. */
  sign: 1 | -1;
  names?: boolean;
}
interface Answer extends Query {
  size: number;
  exact: number;
  shown: number | null;
  why: string;
}

export class DifferencingStory extends Story {
  static override properties = {
    rule: {},
    attack: {},
    target: { type: Number },
    smallest: { type: Number },
    epsilon: { type: Number },
    releases: { state: true },
  };
  declare rule: string;
  declare attack: string;
  declare target: number;
  declare smallest: number;
  declare epsilon: number;
  /** The noise of each release: of the target alone, and of the other cells into which the questions cut the people. */
  declare releases: [number, number, number][];
  protected readonly question =
    "A hundred people work here. The curator answers only sums over groups. Does one particular person smoke?";
  protected readonly first = {
    rule: "size",
    attack: "direct",
    target: office.alone.find((row) => office.smokes[row])!,
    smallest: 10,
    epsilon: 1,
  };

  protected override get allowed(): Record<string, Allowed> {
    return {
      rule: Object.keys(RULES),
      attack: Object.keys(ATTACKS),
      target: office.alone,
      smallest: { from: 2, to: 45, whole: true },
    };
  }

  constructor() {
    super();
    this.releases = [];
  }

  protected override take(name: string, value: number | string | boolean): void {
    super.take(name, value);
    if (name === "rule" || name === "epsilon" || name === "target" || name === "attack")
      this.releases = [draw(this.epsilon)];
  }

  private get queries(): Query[] {
    const [sex, work, name] = [office.sex[this.target]!, office.occupation[this.target]!, office.name[this.target]!];
    const people = (fits: (row: number) => boolean): boolean[] => office.name.map((_, row) => fits(row));
    const same = people((row) => office.sex[row] === sex);
    const rest = people((row) => office.sex[row] === sex && row !== this.target);
    const inside = people((row) => office.postcode[row]!.startsWith(TRACKER));
    const outside = inside.map((one) => !one);
    const or = (group: boolean[]) => group.map((one, row) => one || row === this.target);
    switch (this.attack as Attack) {
      case "difference":
        return [
          { where: `sex = '${sex}'`, members: same, sign: 1 },
          { where: `sex = '${sex}' AND name != '${name}'`, members: rest, sign: -1, names: true },
        ];
      case "tracker":
        return [
          { where: `sex = '${sex}'`, members: same, sign: 1 },
          { where: `sex = '${sex}' AND job != '${work}'`, members: rest, sign: -1 },
        ];
      case "general":
        return [
          {
            where: `postcode LIKE '${TRACKER}%' OR (sex = '${sex}' AND job = '${work}')`,
            members: or(inside),
            sign: 1,
          },
          {
            where: `postcode NOT LIKE '${TRACKER}%' OR (sex = '${sex}' AND job = '${work}')`,
            members: or(outside),
            sign: 1,
          },
          { where: `postcode LIKE '${TRACKER}%'`, members: inside, sign: -1 },
          { where: `postcode NOT LIKE '${TRACKER}%'`, members: outside, sign: -1 },
        ];
      default:
        return [{ where: `name = '${name}'`, members: people((row) => row === this.target), sign: 1, names: true }];
    }
  }

  private answers(release = this.releases.at(-1)): Answer[] {
    const queries = this.queries;
    const pattern = (row: number): string => queries.map(({ members }) => Number(members[row])).join("");
    const cells = [...new Set([pattern(this.target), ...office.name.map((_, row) => pattern(row))])];
    return queries.map((query, place) => {
      const rows = office.name.flatMap((_, row) => (query.members[row] ? [row] : []));
      const exact = rows.reduce((sum, row) => sum + office.smokes[row]!, 0);
      const size = rows.length;
      const tooFew = (this.rule === "size" || this.rule === "names") && !answered(size, PEOPLE, this.smallest);
      const why = tooFew ? "refused: group size" : this.rule === "names" && query.names ? NAMED : "";
      const noise =
        this.rule === "noise" && release
          ? cells.reduce((sum, cell, i) => sum + Number(cell[place]) * (release[i] ?? 0), 0)
          : 0;
      return { ...query, size, exact, why, shown: why ? null : exact + noise };
    });
  }

  /** What the attacker believes: the chance that the target smokes. */
  private get belief(): number {
    const told = this.answers();
    if (told.some((answer) => answer.shown === null)) return 0.5;
    const gap = (answers: Answer[]): number => answers.reduce((sum, answer) => sum + answer.sign * answer.shown!, 0);
    if (this.rule !== "noise") return gap(told) ? 1 : 0;
    return chance(
      this.releases.reduce((sum, release) => sum + logOdds(gap(this.answers(release)), 1 / this.epsilon), 0),
    );
  }

  private more(times: number): void {
    this.releases = [...this.releases, ...Array.from({ length: times }, () => draw(this.epsilon))];
  }

  protected handles(): TemplateResult {
    return html`${this.choice("rule", "the curator …", Object.entries(RULES))} ${this.choice("attack", "you …", Object.entries(ATTACKS))}
      ${this.choice(
        "target",
        "your target, the only one of their kind",
        office.alone.map((row) => [row, `${office.name[row]}, ${office.sex[row]} ${office.occupation[row]}`]),
      )}
      <div class="slot">${
        this.rule === "noise"
          ? this.epsilonHandle(undefined, { about: "that the person smokes", when: "After asking once" })
          : this.rule === "none"
            ? nothing
            : html`<label>refused: groups of fewer than ${this.smallest} people, and groups that leave out fewer than ${this.smallest}
                <input type="range" min="2" max="45" .value=${String(this.smallest)} @input=${(event: Event) => this.take("smallest", Number((event.target as HTMLInputElement).value))} /></label>`
      }</div>`;
  }

  protected picture(): unknown {
    const noisy = this.rule === "noise";
    return html`<ol class="queries">${this.answers().map(
      (answer) => html`<li><code><span>SELECT SUM(smokes) FROM staff</span> WHERE ${answer.where}</code>
          <span class="size">${counted(answer.size, "person", "people")}</span>
          <b class=${answer.shown === null ? "refused" : noisy ? "private" : "exact"}>${answer.shown === null ? answer.why : `${answer.sign < 0 ? "− " : ""}${String(answer.shown).replace("-", "−")}`}</b></li>`,
    )}</ol>
      ${this.scale()}
      <div class="again">${
        noisy
          ? html`<button type="button" @click=${() => this.more(1)}>Ask again</button> <button type="button" @click=${() => this.more(20)}>Ask 20 more times</button>
              <span>asked ${this.releases.length === 1 ? "once" : `${this.releases.length} times`}, spent ε = ${+(this.releases.length * this.epsilon).toPrecision(3)}</span>`
          : nothing
      }</div>`;
  }

  private get limit(): number {
    return this.rule === "noise" ? bestGuess(this.epsilon * this.releases.length) : 1;
  }

  private scale(): TemplateResult {
    const x = (share: number): number => 20 + 600 * share;
    const at = x(this.belief);
    return html`${svg`<svg viewBox="0 0 640 96" role="img" aria-label="You are ${Math.round(100 * this.belief)}\u00a0% sure that the person smokes">
      <rect class="may" x=${x(1 - this.limit)} width=${600 * (2 * this.limit - 1)} y="36" height="18"></rect>
      <line class="base" x1="20" x2="620" y1="45" y2="45"></line>
      ${[0, 0.25, 0.5, 0.75, 1].map((share) => svg`<text class=${share % 0.5 ? "between" : ""} x=${x(share)} y="80" text-anchor=${share === 0 ? "start" : share === 1 ? "end" : "middle"}>${["certainly not", "25\u00a0%", "50\u00a0%", "75\u00a0%", "certainly"][4 * share]}</text>`)}
      <path class="belief" d="M${at},45m0,-11l11,11l-11,11l-11,-11z"></path>
      <text class="label adversary" x=${Math.min(Math.max(at, 150), 490)} y="24" text-anchor="middle">your belief: ${outOf(this.belief)}</text>
    </svg>`}`;
  }

  protected sentence(): string {
    const told = this.answers();
    const name = office.name[this.target]!;
    const refused = told.filter((answer) => answer.shown === null);
    if (refused.length) {
      const which =
        refused.length < told.length
          ? refused.length === 1
            ? "one of your questions"
            : "some of your questions"
          : told.length === 1
            ? "your question"
            : "your questions";
      const hint = refused.some((answer) => answer.why !== NAMED)
        ? "what if every group you ask about is large enough?"
        : "can you describe the group without a name?";
      return `The curator refuses ${which}. So this attack does not tell ${name} from the others. Try another attack: ${hint}`;
    }
    if (this.rule !== "noise") {
      const says = `${name} ${office.smokes[this.target] ? "smokes" : "does not smoke"}`;
      return this.attack === "direct"
        ? `The curator simply tells you: ${says}.`
        : `Every group was large${this.attack === "difference" ? "" : " and nobody was named"}. But ${told.length === 2 ? "the difference of the answers is" : "the answers, added and subtracted, give"} ${office.smokes[this.target]}, so you are certain: ${says}.`;
    }
    const right =
      Math.round(this.belief * 100) === 50
        ? "no idea"
        : this.belief > 0.5 === Boolean(office.smokes[this.target])
          ? "right"
          : "wrong";
    return `The curator answers all questions, and all answers have noise. The same attack now takes your belief from 50\u00a0% to ${outOf(this.belief)}, which ${right === "no idea" ? "tells you nothing" : `is ${right} this time`}. At a total ε of ${+(this.epsilon * this.releases.length).toPrecision(3)}, no attack can take your belief outside the shaded range of ${Math.floor(100 * (1 - this.limit))}\u00a0% to ${Math.ceil(100 * this.limit)}\u00a0%.`;
  }

  protected table(): Table {
    const rows = this.answers().map((answer) => [
      answer.sign < 0 ? "−" : "+",
      answer.where,
      answer.size,
      answer.shown ?? answer.why,
    ]);
    return {
      head: ["sign", "group", "people", "answer"],
      rows: [...rows, ["", "your belief that the person smokes", "", outOf(this.belief)]],
    };
  }

  static override styles: CSSResultGroup = [
    Story.styles,
    css`
      .handles > * { flex: 1 1 15rem; } /* as wide as the longest option */
      .handles > .slot { flex: 1 1 100%; min-height: 6rem; }
      .queries { list-style: none; padding: 0; margin: 0; min-height: 8.5rem; font-size: 0.9rem; }
      .queries li { display: grid; grid-template-columns: 1fr auto 8.5rem; gap: 0.2rem 0.8rem; align-items: baseline; border-bottom: 1px solid var(--line); padding: 0.35rem 0; }
      code { font: 0.85rem/1.4 ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
      code span { color: var(--quiet); }
      .size { color: var(--quiet); white-space: nowrap; }
      .queries b { text-align: right; font-variant-numeric: tabular-nums; }
      .private { color: var(--private); } .exact { color: var(--exact); } .refused { color: var(--adversary); font-weight: 400; }
      .may { fill: var(--private); opacity: 0.22; }
      .belief { fill: var(--adversary); }
      .again { display: flex; flex-wrap: wrap; gap: 0.4rem 0.8rem; align-items: center; min-height: 2.6rem; font-size: 0.9rem; }
      .seen { min-height: 6em; }
      @media (max-width: 34rem) { .queries li { grid-template-columns: 1fr auto; } .queries code { grid-column: 1 / -1; } svg { font-size: 26px; } .between { display: none; } }
    `,
  ];
}

const draw = (epsilon: number): [number, number, number] => {
  const one = (): number => discreteLaplace(1 / epsilon, uniform(), uniform());
  return [one(), one(), one()];
};

function outOf(share: number): string {
  const hundred = 100 * share;
  if (hundred > 99 && hundred < 100) return "more than 99\u00a0%";
  if (hundred < 1 && hundred > 0) return "less than 1\u00a0%";
  return `${Math.round(hundred)}\u00a0%`;
}
customElements.define("lw-differencing", DifferencingStory);
