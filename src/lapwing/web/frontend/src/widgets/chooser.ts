// Which mechanism for which question: what fits, and how far off its answers are.
import { css, html, type TemplateResult } from "lit";
import { chart, short, type Ink, type Point } from "../lib/chart.js";
import "../lib/epsilon.js";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { candidates, type Candidate, type Kind, type Trust } from "../math/choice.js";

const KINDS: [Kind, string][] = [
  ["count", "yes or no: how many say yes"],
  ["histogram", "one of 100 groups: how many in each"],
  ["mean", "a number from 0 to 100: the mean"],
  ["best", "one of 100 favourites: the most popular"],
];
const TRUST: [Trust, string][] = [
  ["curator", "a curator, with all data"],
  ["shuffler", "a shuffler, to mix the reports"],
  ["nobody", "nobody"],
];
const QUERIES = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000];
const PEOPLE = [100, 1000, 10_000, 100_000, 1_000_000];
const INKS: Ink[] = ["private", "noise", "quiet", "budget"];

export class ChooserStory extends Story {
  static override properties = {
    kind: { type: String },
    trust: { type: String },
    queries: { type: Number },
    people: { type: Number },
    epsilon: { type: Number },
  };
  declare kind: Kind;
  declare trust: Trust;
  declare queries: number;
  declare people: number;
  declare epsilon: number;
  protected readonly question = "Which mechanism fits, and how far will its answers be off?";
  protected readonly first = { kind: "count", trust: "curator", queries: 1, people: 10_000, epsilon: 1 };

  protected override get allowed(): Record<string, Allowed> {
    return {
      kind: KINDS.map(([kind]) => kind),
      trust: TRUST.map(([trust]) => trust),
      queries: QUERIES,
      people: PEOPLE,
    };
  }

  protected handles(): TemplateResult {
    return html`${this.choice("kind", "each person has", KINDS)} ${this.choice("trust", "people trust", TRUST)}
      ${this.choice(
        "people",
        "people",
        PEOPLE.map((one) => [one, one.toLocaleString("en")]),
      )}
      <label>number of such questions: ${this.queries.toLocaleString("en")}
        <input type="range" min="0" max=${QUERIES.length - 1} .value=${String(QUERIES.indexOf(this.queries))} aria-valuetext="${this.queries} questions"
          @input=${(event: Event) => this.take("queries", QUERIES[Number((event.target as HTMLInputElement).value)]!)} />
      </label>
      ${this.epsilonHandle("for all questions together:", {
        about: "of your answer",
        when: "After all questions",
        except: this.pure(this.at(this.queries)[0]!) ? "" : "leaving δ = 10⁻⁹ aside",
      })}`;
  }

  /** Whether it needs no delta. */
  private pure({ name }: Candidate): boolean {
    return this.trust === "nobody" || name === "Laplace" || name.startsWith("Perm");
  }

  private at(queries: number): Candidate[] {
    return candidates(this.kind, this.trust, queries, this.people, this.epsilon);
  }

  protected picture(): unknown {
    const all = QUERIES.map((queries) => this.at(queries));
    const short = (name: string): string =>
      this.trust === "curator" ? name : name.replace(/, (one|all) questions?( each)?$/, "");
    const names = [...new Set(all[all.length - 1]!.map(({ name }) => name))];
    const line = (name: string): Point[] =>
      QUERIES.flatMap((queries, i): Point[] => {
        const found =
          all[i]!.find((one) => one.name === name) ??
          all[i]!.find((one) => one.name === short(name)) ??
          (name === "Laplace with a δ" ? all[i]!.find((one) => one.name === "Laplace") : undefined);
        return found ? [[queries, Math.min(BEYOND, Math.max(found.error, LEAST))]] : [];
      });
    const best = this.at(this.queries)[0]!;
    const now = names.find((name) => name === best.name || short(name) === best.name) ?? names[0]!;
    const marks = names.map((name, i) => ({
      kind: "line" as const,
      ink: INKS[i % INKS.length]!,
      points: line(name),
      dashed: name !== now,
    }));
    return html`${chart({
      title: "Error over the number of questions, for each mechanism that fits",
      x: { from: 1, to: 1000, label: "questions", log: true, ticks: [1, 10, 100, 1000] },
      y: {
        from: LEAST,
        to: BEYOND,
        label: "off by at most, with 95 % confidence",
        log: true,
        ticks: [0.0001, 0.001, 0.01, 0.1, 1],
        format: (share) => `${+(100 * share).toPrecision(2)}\u00a0%`,
      },
      marks: [
        { kind: "across", ink: "adversary", points: [[1, 1]], label: "useless above this line", dashed: true },
        ...marks,
        { kind: "down", ink: "exact", points: [[this.queries, 1]], dashed: true },
        { kind: "dots", ink: "exact", points: [[this.queries, Math.min(BEYOND, Math.max(best.error, LEAST))]] },
      ],
    })}
      <ul class="key">${names.map((name, i) => html`<li class=${INKS[i % INKS.length]!}><span class=${name === now ? "" : "dashed"}></span>${name}</li>`)}</ul>`;
  }

  private said({ error }: Candidate): string {
    if (this.kind === "mean") return `${short(100 * error)} of 100 points`;
    const people = error * this.people;
    return `${short(people)} ${people === 1 ? "person" : "people"} (${short(100 * error)}\u00a0%)`;
  }

  protected sentence(): string {
    const [best, second] = this.at(this.queries);
    const what =
      this.kind === "best"
        ? "the chosen favourite is behind the true one by at most"
        : this.queries > 1 || this.kind === "histogram"
          ? "each answer is off by at most"
          : "the answer is off by at most";
    const other = second ? ` Second best: ${second.name}, with ${this.said(second)}.` : "";
    const cost =
      best!.error >= 1
        ? " Such an answer is useless. Ask fewer questions, find more people, or reconsider epsilon and trust."
        : this.trust === "nobody"
          ? " Pure ε, and nobody ever sees a true answer."
          : this.pure(best!)
            ? " Pure ε: no delta is needed."
            : " It needs a delta, here 10⁻⁹.";
    return `Take: ${best!.name}. With 95 % confidence ${what} ${this.said(best!)}.${other}${cost}`;
  }

  protected table(): Table {
    const rows = TRUST.flatMap(([trust, said]) =>
      candidates(this.kind, trust, this.queries, this.people, this.epsilon).map((one) => [
        said.split(",")[0]!,
        one.name,
        this.said(one),
      ]),
    );
    return { head: ["trusted", "mechanism", "off by at most, with 95 % confidence"], rows };
  }

  static override styles = [
    Story.styles,
    css`
      .handles > lw-epsilon { flex-basis: 100%; }
      .key { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; list-style: none; padding: 0; margin: 0 0 0.6rem; font-size: 0.9rem; }
      .key span { display: inline-block; width: 1.8rem; border-top: 3px solid; vertical-align: middle; margin-right: 0.4rem; }
      .key span.dashed { border-top-style: dashed; }
      .private span { color: var(--private); } .noise span { color: var(--noise); } .budget span { color: var(--budget); } .quiet span { color: var(--quiet); }
    `,
  ];
}
const LEAST = 1e-5;
const BEYOND = 10;
customElements.define("lw-chooser", ChooserStory);
