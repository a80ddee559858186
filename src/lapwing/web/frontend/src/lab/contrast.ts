// A question without a private answer, for contrast: looked at in teaching mode, and kept nowhere.
import { html, nothing, type TemplateResult } from "lit";
import { Asked, TEACHING } from "./asked.js";
import type { Result } from "./kinds.js";
import { said } from "./look.js";

class Look extends Asked<{ result: Result }> {
  protected readonly kind = "look";

  protected override get address(): string {
    return `${location.pathname}/look`;
  }

  private sent(): [string, string][] {
    const form = document.querySelector<HTMLFormElement>("form#question");
    return form
      ? [...new FormData(form)].filter(([name]) => name !== "epsilon").map(([name, value]) => [name, String(value)])
      : [];
  }

  override render(): TemplateResult {
    const { found } = this;
    return html`${this.button("Look at it", () => this.sent())}
      ${
        found
          ? html`<ul>${found.result.notes.map((note) => html`<li>${note}</li>`)}</ul>
        ${found.result.series.map(
          ({
            name,
            values,
          }) => html`<div class="scroll" tabindex="0" role="group" aria-label=${name}><table><thead><tr><th scope="col">${found.result.x_label}</th><th scope="col" class="right">${name}</th></tr></thead>
          <tbody>${values.map(({ label, value }) => html`<tr><td>${label}</td><td class="right">${value === null ? "–" : said(value, 6)}</td></tr>`)}</tbody></table></div>`,
        )}
        <p><span class="mark">${TEACHING}</span></p>`
          : nothing
      }`;
  }
}
customElements.define("lw-look", Look);
