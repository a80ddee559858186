// Columns of a hospital's table made coarser, what k, l, t and the loss become, and who falls to three attacks.
import { css, html, type CSSResultGroup, type TemplateResult } from "lit";
import ward from "../data/ward.json";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { certain, classes, counted, inBoth, loss, measured } from "../math/classes.js";

const COLUMNS = ["age", "sex", "postcode"] as const;
type Column = (typeof COLUMNS)[number];
const LEVELS: Record<Column, string[]> = {
  age: ["exact", "5 years", "10 years", "20 years", "left out"],
  sex: ["exact", "left out"],
  postcode: ["all five digits", "first four digits", "left out"],
};
const ATTACKS = {
  none: "none",
  homogeneity: "homogeneity",
  background: "background knowledge",
  composition: "composition",
} as const;
type Attack = keyof typeof ATTACKS;
const ROWS = ward.diagnosis.length;
const KINDS = [...new Set(ward.diagnosis)].sort();
interface State {
  keys: string[];
  /** Whose rows are published: all of classes that are large enough. */
  kept: number[];
  lost: number;
  fallen: (string | null)[];
}

export class AnonymityStory extends Story {
  static override properties = {
    age: { type: Number },
    sex: { type: Number },
    postcode: { type: Number },
    k: { type: Number },
    attack: {},
    ruled: {},
  };
  declare age: number;
  declare sex: number;
  declare postcode: number;
  declare k: number;
  declare attack: string;
  declare ruled: string;
  protected readonly question = "How coarse must the table be before no attack finds a diagnosis?";
  protected readonly first = { age: 2, sex: 0, postcode: 0, k: 2, attack: "none", ruled: "injury" };

  protected override get allowed(): Record<string, Allowed> {
    return {
      ...Object.fromEntries(COLUMNS.map((name) => [name, { from: 0, to: LEVELS[name].length - 1, whole: true }])),
      k: { from: 1, to: 12, whole: true },
      attack: Object.keys(ATTACKS),
      ruled: KINDS,
    };
  }

  private at(levels: Record<Column, number>): Omit<State, "fallen"> {
    const cells = COLUMNS.map((name) => {
      const { kind, labels, shares } = ward.columns[name];
      return {
        label: kind.map((one) => labels[levels[name]]![one]!),
        share: kind.map((one) => shares[levels[name]]![one]!),
      };
    });
    const keys = ward.diagnosis.map((_, row) => cells.map(({ label }) => label[row]).join(" · "));
    const kept = classes(keys)
      .filter((rows) => rows.length >= this.k)
      .flat()
      .sort((a, b) => a - b);
    return {
      keys,
      kept,
      lost: loss(
        kept.map((row) => cells.map(({ share }) => share[row]!)),
        ROWS - kept.length,
      ),
    };
  }

  private get state(): State {
    const made = this.at(this);
    return { ...made, fallen: this.fallen(made.keys, made.kept) };
  }

  private fallen(keys: string[], kept: number[]): (string | null)[] {
    const [mine, told] = [kept.map((row) => keys[row]!), kept.map((row) => ward.diagnosis[row]!)];
    const all = new Array<string | null>(ROWS).fill(null);
    if (this.attack === "homogeneity" || this.attack === "background")
      certain(mine, told, this.attack === "background" ? [this.ruled] : []).forEach(
        (value, place) => (all[kept[place]!] = value),
      );
    if (this.attack === "composition")
      for (const rows of classes(mine)) {
        const here = rows.map((place) => told[place]!);
        for (const place of rows) {
          const other = ward.other.classes[ward.other.class[kept[place]!]!];
          if (other) all[kept[place]!] = inBoth(here, other.diagnoses);
        }
      }
    return all;
  }

  /** The levels that lose least while every class has k rows, a tenth of the rows being left out at most. */
  private best = (): void => {
    let least = Infinity;
    let found: Record<Column, number> | null = null;
    for (let age = 0; age < LEVELS.age.length; age++)
      for (let sex = 0; sex < LEVELS.sex.length; sex++)
        for (let postcode = 0; postcode < LEVELS.postcode.length; postcode++) {
          const { kept, lost } = this.at({ age, sex, postcode });
          if (ROWS - kept.length <= ROWS / 10 && lost < least) [least, found] = [lost, { age, sex, postcode }];
        }
    if (found) for (const name of COLUMNS) this.take(name, found[name]);
  };

  protected handles(): TemplateResult {
    return html`${COLUMNS.map((name) =>
      this.choice(
        name,
        name,
        LEVELS[name].map((said, level) => [level, said]),
      ),
    )}
      <label class="wide">leave out classes of fewer than ${this.k}
        <input type="range" min="1" max="12" .value=${String(this.k)} @input=${(event: Event) => this.take("k", Number((event.target as HTMLInputElement).value))} /></label>
      <button class="best" type="button" @click=${this.best}>Least loss for k = ${this.k}</button>
      <fieldset class="wide"><legend>attack</legend>
        ${Object.entries(ATTACKS).map(([value, said]) => html`<label class="tick"><input type="radio" name="attack" value=${value} .checked=${this.attack === value} @change=${() => this.take("attack", value)} /> ${said}</label>`)}
        <label class="ruled" ?data-off=${this.attack !== "background"}>you can rule out
          <select ?disabled=${this.attack !== "background"} @change=${(event: Event) => this.take("ruled", (event.target as HTMLSelectElement).value)}>
            ${KINDS.map((kind) => html`<option .selected=${kind === this.ruled}>${kind}</option>`)}
          </select></label>
      </fieldset>`;
  }

  protected picture(): unknown {
    const { keys, kept, lost, fallen } = this.state;
    const { k, l, t } = measured(
      kept.map((row) => keys[row]!),
      kept.map((row) => ward.diagnosis[row]!),
    );
    const inside = new Set(kept);
    const groups = classes(keys)
      .filter((rows) => inside.has(rows[0]!))
      .sort((a, b) => b.length - a.length);
    const gone = ROWS - kept.length;
    const names = fallen.flatMap((value, row) => (value === null ? [] : [`${ward.names[row]}: ${value}`]));
    return html`<dl>
        <div><dt>k</dt><dd>${k}</dd><dd class="note">smallest class</dd></div>
        <div><dt>l</dt><dd>${l}</dd><dd class="note">fewest diagnoses in a class</dd></div>
        <div><dt>t</dt><dd>${t.toFixed(2)}</dd><dd class="note">how far a class is from the whole table, at most (see below)</dd></div>
        <div><dt>loss</dt><dd>${Math.round(100 * lost)}\u00a0%</dd><dd class="note">of the detail (100\u00a0%: nothing is left)</dd></div>
      </dl>
      <p class="legend"><span><i></i> published</span> <span><i class="fallen"></i> diagnosis found out</span> <span><i class="gone"></i> left out</span> <span>A box is a class: nobody can tell its rows apart.</span></p>
      <div class="classes" tabindex="0" role="img" aria-label="${groups.length} classes of patients, ${names.length} diagnoses found out, ${gone} left out">
        ${groups.map((rows) => html`<span class="class" title="${keys[rows[0]!]}: ${summed(rows)}">${rows.map((row) => html`<i class=${fallen[row] === null ? "" : "fallen"}></i>`)}</span>`)}
        ${gone ? html`<span class="class out" title="left out">${Array.from({ length: gone }, () => html`<i class="gone"></i>`)}</span>` : ""}
      </div>
      <p class="found">${names.slice(0, 4).map((name) => html`<span>${name}</span> `)}${names.length > 4 ? `and ${names.length - 4} more` : ""}</p>`;
  }

  protected sentence(): string {
    const { keys, kept, fallen } = this.state;
    const many = fallen.filter((value) => value !== null).length;
    const { k } = measured(
      kept.map((row) => keys[row]!),
      kept.map((row) => ward.diagnosis[row]!),
    );
    const claim = `The table is ${k}-anonymous`;
    const found = many === 1 ? "1 diagnosis" : `${many} diagnoses`;
    switch (this.attack as Attack) {
      case "homogeneity":
        return many
          ? `${claim}, but the attack finds out ${found}. In some classes everybody has the same diagnosis, so it does not matter which row is whose.`
          : `${claim}, and every class has at least two diagnoses. The homogeneity attack finds out nothing. Try background knowledge.`;
      case "background":
        return many
          ? `${claim}. You can see who has no ${this.ruled}. With this knowledge you find out ${found}: in ${many === 1 ? "its class" : "their classes"} only one diagnosis is left.`
          : `${claim}. Ruling out ${this.ruled} leaves at least two diagnoses in every class. An attacker who knows more can rule out more.`;
      case "composition": {
        const both = kept.filter((row) => ward.other.class[row]! >= 0).length;
        return many
          ? `${claim}. Another hospital published a ${ward.other.k}-anonymous table, and ${both} patients are in both tables. For ${many} of them, both classes have only one diagnosis in common. So the attack finds out ${found}.`
          : `${claim}. Another hospital published a ${ward.other.k}-anonymous table, and ${both} patients are in both tables. For each of them, both classes have at least two diagnoses in common. This time the attack finds out nothing.`;
      }
      default:
        return k <= 1
          ? `Some rows are unique. An attacker who knows age, sex and postcode can find them. Generalise a column, or leave out small classes.`
          : `${claim}: every row looks like at least ${k - 1} other${k > 2 ? "s" : ""}, and ${ROWS - kept.length} of ${ROWS} rows are left out. Now choose an attack.`;
    }
  }

  protected table(): Table {
    const { keys, kept, fallen } = this.state;
    const inside = new Set(kept);
    const rows = classes(keys)
      .filter((one) => inside.has(one[0]!))
      .sort((a, b) => b.length - a.length);
    return {
      head: ["class", "people", "diagnoses", "found out"],
      rows: rows.map((one) => [
        keys[one[0]!]!,
        one.length,
        summed(one),
        one.filter((row) => fallen[row] !== null).length,
      ]),
    };
  }

  static override styles: CSSResultGroup = [
    Story.styles,
    css`
      .handles > * { flex: 1 1 9rem; }
      .handles > .wide { flex: 2 1 16rem; } .handles > fieldset.wide { flex: 1 1 100%; }
      .handles > .best { font-size: 0.9rem; }
      fieldset { border: 1px solid var(--line); border-radius: 6px; padding: 0.2rem 0.8rem 0.4rem; margin: 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; align-items: center; }
      legend { font-size: 0.9rem; color: var(--quiet); }
      .tick { display: inline-flex; align-items: center; gap: 0.35rem; font-size: 1rem; color: var(--ink); min-height: 1.8rem; }
      .tick input { accent-color: var(--adversary); width: 1.05rem; height: 1.05rem; }
      .ruled { display: inline-flex; align-items: center; gap: 0.4rem; } .ruled select { width: auto; } .ruled[data-off] { opacity: 0.55; }
      dl { display: grid; grid-template-columns: repeat(4, 1fr); gap: 0.5rem; margin: 1rem 0 0.6rem; }
      dl div { border-left: 3px solid var(--line); padding-left: 0.6rem; min-width: 0; }
      dt { color: var(--quiet); font-style: italic; } dd { margin: 0; font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; }
      dd.note { font-size: 0.8rem; font-weight: 400; color: var(--quiet); }
      .classes { display: flex; flex-wrap: wrap; gap: 0.35rem; height: 14rem; overflow-y: auto; align-content: flex-start; padding: 0.2rem; }
      .class { display: flex; flex-wrap: wrap; gap: 0.2rem; border: 1px solid var(--line); border-radius: 5px; padding: 0.25rem; max-width: 9.2rem; align-content: flex-start; }
      .class.out { border-style: dashed; max-width: 100%; }
      i { display: inline-block; width: 0.55rem; height: 0.55rem; border-radius: 50%; background: var(--exact); opacity: 0.55; }
      i.fallen { background: var(--adversary); border-radius: 0; transform: rotate(45deg); opacity: 1; }
      i.gone { background: none; border: 1.5px solid var(--quiet); }
      .legend { color: var(--quiet); margin: 0.4rem 0; } .legend i { margin-right: 0.2rem; }
      .found { min-height: 1.8em; font-size: 0.9rem; margin: 0 0 0.4rem; }
      .found span { display: inline-block; margin: 0.1rem 0.4rem 0.1rem 0; padding: 0 0.4rem; border: 1px solid var(--adversary); border-radius: 4px; }
      .seen { min-height: 4.4em; }
      @media (max-width: 30rem) { dl { grid-template-columns: repeat(2, 1fr); } .seen { min-height: 7em; } }
    `,
  ];
}

function summed(rows: readonly number[]): string {
  const counts = [...counted(rows.map((row) => ward.diagnosis[row]!))].sort((a, b) => b[1] - a[1]);
  return counts.map(([value, times]) => (times > 1 ? `${times} × ${value}` : value)).join(", ");
}
customElements.define("lw-k-anonymity", AnonymityStory);
