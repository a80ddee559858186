// Reports pass several parties. Which of them work together decides what is learned about one person.
import { css, html, type TemplateResult } from "lit";
import { short } from "../lib/chart.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { outOf } from "../lib/words.js";
import data from "../data/shuffling.json";

interface Party {
  key: "entrance" | "middle" | "reader";
  name: string;
  sees: string;
}
interface Way {
  said: string;
  parties: Party[];
}
const PEOPLE = 1_000_000;
const LOCAL = [1, 2, 4];
const ABOUT = "of your answer";
const WAYS: Record<string, Way> = {
  direct: {
    said: "direct: two servers",
    parties: [
      { key: "entrance", name: "Ingestor", sees: "who sends, and when; sealed envelopes" },
      { key: "reader", name: "Aggregator", sees: "noisy reports without sender or time" },
    ],
  },
  shuffled: {
    said: "shuffled: one shuffler",
    parties: [
      { key: "entrance", name: "Shuffler", sees: "who sends, and when; sealed envelopes" },
      { key: "reader", name: "Analyst", sees: "noisy reports, mixed, in large batches" },
    ],
  },
  blinded: {
    said: "blinded: two shufflers",
    parties: [
      { key: "entrance", name: "First shuffler", sees: "who sends, and when; sealed envelopes" },
      { key: "middle", name: "Second shuffler", sees: "how many reports belong together, under a pseudonym" },
      { key: "reader", name: "Analyst", sees: "noisy reports of large groups, mixed" },
    ],
  },
};

export class WhoLearns extends Story {
  static override properties = {
    way: {},
    local: { type: Number },
    entrance: { type: Boolean },
    middle: { type: Boolean },
    reader: { type: Boolean },
  };
  declare way: string;
  declare local: number;
  protected readonly question = "A million phones report. Who works with whom, and what do they learn about you?";
  protected readonly first = {
    way: "shuffled",
    local: 2,
    entrance: false,
    middle: false,
    reader: true,
  };

  protected override get allowed(): Record<string, Allowed> {
    return { way: Object.keys(WAYS), local: LOCAL };
  }

  private get together(): Party[] {
    return WAYS[this.way]!.parties.filter(({ key }) => this.now(key));
  }

  private get crowd(): number {
    return data.epsilon[data.local.indexOf(this.local)]![data.people.indexOf(PEOPLE)]!;
  }

  protected handles(): TemplateResult {
    return html`${this.choice(
      "way",
      "how reports travel",
      Object.entries(WAYS).map(([key, { said }]) => [key, said] as const),
    )}
      ${this.choice(
        "local",
        "ε₀ of a report",
        LOCAL.map((local) => [local, `ε₀ = ${local}`] as const),
      )}`;
  }

  protected picture(): unknown {
    return html`<ol class="path">
      <li class="you"><b>Your phone</b><p>knows your answer, and adds the noise</p></li>
      ${WAYS[this.way]!.parties.map(({ key, name, sees }) => {
        const joined = Boolean(this.now(key));
        return html`<li class=${joined ? "joined" : ""}><b>${name}</b><p>${sees}</p>
          <label class="check"><input type="checkbox" .checked=${joined} @change=${(event: Event) => this.take(key, (event.target as HTMLInputElement).checked)} /> tries to find out</label></li>`;
      })}
    </ol>`;
  }

  /** What these parties learn together; groups are made of the noisy reports, so ε₀ holds against all of them. */
  private told(keys: readonly string[]): string {
    const only = keys.length === 1 ? keys[0] : "";
    if (!keys.length) return "Nobody tries, so nobody learns anything except the statistics.";
    if (only === "entrance")
      return "That you take part, and when. Nothing about your answer: the envelope is sealed for somebody else.";
    if (only === "middle")
      return "How large each group of noisy reports is. Not which group it is, and not who is in it.";
    if (only && this.way !== "direct")
      return `Little, because your report hides among a million: ε\u00a0=\u00a0${short(this.crowd)}, δ\u00a0=\u00a010⁻⁶. ${outOf(this.crowd, ABOUT, "", "leaving δ aside")}`;
    const how =
      this.way === "direct" && only
        ? "A report, but not whose it is. The promise is the noise in it"
        : keys.includes("entrance")
          ? "Your noisy report, or its group, with your name on it. Only the noise is left"
          : "Noisy reports by group. No crowd is promised inside a small group, so only the noise of a report is left";
    return `${how}: ε₀\u00a0=\u00a0${short(this.local)}. ${outOf(this.local, ABOUT)}`;
  }

  protected sentence(): string {
    const told = this.told(this.together.map(({ key }) => key));
    const names = this.together.map(({ name }) => `the ${name.toLowerCase()}`).join(" with ");
    return names
      ? `${names[0]!.toUpperCase()}${names.slice(1)} learns: ${told[0]!.toLowerCase()}${told.slice(1)}`
      : told;
  }

  protected table(): Table {
    const { parties } = WAYS[this.way]!;
    const groups = parties.flatMap((party, place) => [
      [party],
      ...parties.slice(place + 1).map((other) => [party, other]),
    ]);
    const all = parties.length > 2 ? [...groups, parties] : groups;
    return {
      head: ["who works together", "what is learned about you"],
      rows: all.map((some) => [some.map(({ name }) => name).join(" + "), this.told(some.map(({ key }) => key))]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .path { list-style: none; padding: 0; margin: 0.6rem 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 0.7rem; }
      .path li { border: 2px solid var(--line); border-radius: 8px; padding: 0.6rem 0.8rem; background: var(--paper); display: grid; align-content: start; grid-template-rows: auto 1fr auto; }
      .path p { margin: 0.3rem 0 0.5rem; font-size: 0.92rem; line-height: 1.4; color: var(--quiet); }
      .path .you { border-color: var(--private); }
      .path .joined { border-color: var(--adversary); } .path .joined b { color: var(--adversary); }
      .seen { min-height: 7em; }
    `,
  ];
}
customElements.define("lw-who-learns", WhoLearns);
