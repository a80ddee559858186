// Which member of the family fits? Seven questions, each of which may stay as it is.
import { css, html, type TemplateResult } from "lit";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { DIMENSIONS, chosen, combined, strength, type Choice } from "../math/family.js";

const COUNT = [
  "No dimension is",
  "One dimension is",
  "Two dimensions are",
  "Three dimensions are",
  "Four dimensions are",
  "Five dimensions are",
  "Six dimensions are",
  "All seven dimensions are",
];
const COMPARED = {
  same: "This is the definition of the course, so nothing has to be explained. Change it only for a reason.",
  weaker: "It promises less than plain differential privacy with the same ε. Say so to the people in the data.",
  stronger: "It promises more than plain differential privacy with the same ε, and costs more noise.",
  other: "It is neither stronger nor weaker than plain differential privacy as a whole: it promises something else.",
};
const MEANS = { weaker: "promises less", stronger: "promises more", other: "promises something else" };

export class FamilyStory extends Story {
  static override properties = Object.fromEntries(DIMENSIONS.map(({ key }) => [key, { type: Number }]));
  protected readonly question = "Which definition fits what you have to protect?";
  protected readonly first = Object.fromEntries(DIMENSIONS.map(({ key }) => [key, 0])) as Record<string, number>;

  protected override get allowed(): Record<string, Allowed> {
    return Object.fromEntries(
      DIMENSIONS.map(({ key, variants }) => [key, { from: 0, to: variants.length, whole: true }]),
    );
  }

  private get answers(): Choice {
    return Object.fromEntries(
      DIMENSIONS.map(({ key }) => [key, Number((this as unknown as Record<string, unknown>)[key]) || 0]),
    );
  }

  protected handles(): TemplateResult {
    const now = this.answers;
    return html`<div class="asks">${DIMENSIONS.map(
      ({ key, letter, asks, usual, variants }) => html`<label><span><b>${letter}</b> ${asks}</span>
        <select @change=${(event: Event) => this.take(key, Number((event.target as HTMLSelectElement).value))}>
          ${[`as usual: ${usual}`, ...variants.map(({ need }) => need)].map((said, i) => html`<option value=${i} .selected=${i === now[key]}>${said}</option>`)}
        </select></label>`,
    )}</div>`;
  }

  protected picture(): unknown {
    const found = chosen(this.answers);
    return html`<p class="name">${combined(this.answers)}</p>
      <ul class="cards">${found.map(
        ({ dimension, variant }) => html`<li><span class="letter" aria-hidden="true">${dimension.letter}</span>
          <div><b>${variant.name}</b> <span class=${variant.strength}>${MEANS[variant.strength]}</span>
            <p>${variant.changes} ${variant.mind}</p><p class="who">${variant.who}</p></div></li>`,
      )}</ul>`;
  }

  protected sentence(): string {
    const found = chosen(this.answers);
    return `${COUNT[found.length]} changed. ${COMPARED[strength(this.answers)]}`;
  }

  protected table(): Table {
    const now = this.answers;
    return {
      head: ["dimension", "as usual", "yours"],
      rows: DIMENSIONS.map(({ key, letter, name, usual, variants }) => [
        `${letter}: ${name}`,
        usual,
        variants[now[key]! - 1]?.name ?? "as usual",
      ]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      .asks { display: grid; gap: 0.5rem; flex: 1 1 100%; }
      .asks label { gap: 0.2rem; font-size: 0.95rem; }
      .asks select { text-overflow: ellipsis; }
      .asks b { color: var(--private); }
      .name { font: 600 1.3rem var(--serif); color: var(--private); margin: 1.2rem 0 0.4rem; }
      .cards { list-style: none; padding: 0; margin: 0; display: grid; gap: 0.7rem; }
      .cards li { display: grid; grid-template-columns: 2.2rem minmax(0, 1fr); gap: 0.8rem; border: 1px solid var(--line); border-radius: 8px; padding: 0.7rem 0.9rem; background: var(--paper); }
      .cards p { margin: 0.3rem 0 0; line-height: 1.45; }
      .letter { font: 600 1.4rem var(--serif); color: var(--private); text-align: center; }
      .weaker, .stronger, .other { font-size: 0.85rem; border: 1px solid currentColor; border-radius: 9px; padding: 0 0.5em; white-space: nowrap; }
      .weaker { color: var(--adversary); } .stronger { color: var(--private); } .other { color: var(--noise); }
      .who { font-size: 0.85rem; color: var(--quiet); }
    `,
  ];
}
customElements.define("lw-family-finder", FamilyStory);
