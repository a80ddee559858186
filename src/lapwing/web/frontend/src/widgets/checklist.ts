// Questions to tick off, from the table that stands inside the element: about, question, what a good answer says.
import { css, html, type TemplateResult } from "lit";
import { Story, type Table } from "../lib/story.js";

interface Item {
  about: string;
  ask: string;
  good: string;
}

export class Checklist extends Story {
  static override properties = { ticked: { type: String } };
  declare ticked: string;
  protected readonly question = "What has the offer answered?";
  protected readonly first = { ticked: "" };
  private items: Item[] = [];

  override connectedCallback(): void {
    this.items = [...this.querySelectorAll("tbody tr")].map((row) => {
      const [about = "", ask = "", good = ""] = [...row.querySelectorAll("td")].map(
        (cell) => cell.textContent?.trim() ?? "",
      );
      return { about, ask, good };
    });
    super.connectedCallback();
  }

  private get done(): Set<number> {
    const ticked = this.ticked.split(".");
    return new Set(this.items.flatMap((_, place) => (ticked.includes(String(place)) ? [place] : [])));
  }

  private toggle(place: number, on: boolean): void {
    const done = this.done;
    if (on) done.add(place);
    else done.delete(place);
    this.take("ticked", [...done].sort((a, b) => a - b).join("."));
  }

  /** Prints this screen of the page and nothing else. */
  private print(): void {
    const root = document.documentElement;
    root.dataset["print"] = "checklist";
    addEventListener("afterprint", () => delete root.dataset["print"], { once: true });
    print();
  }

  protected handles(): TemplateResult {
    return html`<button type="button" class="main" @click=${this.print}>Print this list</button>`;
  }

  protected picture(): TemplateResult {
    const groups = [...new Set(this.items.map((item) => item.about))];
    const done = this.done;
    return html`${groups.map(
      (about) => html`<fieldset>
        <legend>${about}</legend>
        ${this.items.map((item, i) =>
          item.about === about
            ? html`<div class="item">
                <input type="checkbox" id="item-${i}" aria-describedby="good-${i}" .checked=${done.has(i)} @change=${(event: Event) => this.toggle(i, (event.target as HTMLInputElement).checked)} />
                <label for="item-${i}">${item.ask}</label>
                <p id="good-${i}">${item.good}</p>
              </div>`
            : "",
        )}
      </fieldset>`,
    )}`;
  }

  protected sentence(): string {
    const done = this.done;
    const open = this.items.filter((_, i) => !done.has(i));
    if (!done.size)
      return `${this.items.length} questions. Tick what the offer answers in writing. The link below keeps your marks.`;
    if (!open.length) return "All questions are answered in writing. Now check the answers.";
    const next = [...new Set(open.map((item) => item.about.toLowerCase()))].join(", ");
    return `${this.items.length - open.length} of ${this.items.length} answered. Still open: ${next}.`;
  }

  protected table(): Table {
    const done = this.done;
    return {
      head: ["about", "question", "answered"],
      rows: this.items.map((item, i) => [item.about, item.ask, done.has(i) ? "yes" : "not yet"]),
    };
  }

  static override styles = [
    Story.styles,
    css`
      fieldset { border: 0; border-top: 1px solid var(--line); margin: 0.8rem 0 0; padding: 0.3rem 0 0; }
      legend { font-weight: 600; color: var(--private); padding: 0 0.6rem 0 0; }
      .item { display: grid; grid-template-columns: 1.6rem 1fr; align-items: start; padding: 0.35rem 0; break-inside: avoid; }
      .item input { width: 1.05rem; height: 1.05rem; margin: 0.2rem 0 0; }
      .item label { font-size: 1rem; color: var(--ink); font-weight: 600; line-height: 1.4; cursor: pointer; }
      .item p { grid-column: 2; margin: 0.1rem 0 0; font-size: 0.95rem; color: var(--quiet); line-height: 1.4; }
      .seen { min-height: 3em; }
      @media print { .handles, .below, .seen { display: none; } }
    `,
  ];
}
customElements.define("lw-checklist", Checklist);
