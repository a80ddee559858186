// The budget of a data set: what is spent, what this question would take, what then remains.
import { LitElement, css, html, type TemplateResult } from "lit";
import { meter } from "../math/lab.js";
import { calm, said } from "./look.js";

export class Meter extends LitElement {
  static override properties = { allowance: { type: Number }, spent: { type: Number }, asked: { type: Number } };
  declare allowance: number;
  declare spent: number;
  /** What the question would take; nothing after it was asked. */
  declare asked: number;

  constructor() {
    super();
    this.allowance = 1;
    this.spent = 0;
    this.asked = 0;
  }

  override render(): TemplateResult {
    const { spent, asked, left, over } = meter(this.allowance, this.spent, this.asked);
    const wide = (share: number): string => `width:${(100 * share).toFixed(2)}%`;
    const remains = Math.max(0, this.allowance - this.spent);
    const words = over
      ? html`This question would take <b>${said(this.asked)}</b>, but only <b>${said(remains)}</b> is left.`
      : html`Spent: <b>${said(this.spent)}</b>. ${this.asked ? html`This question: <b>${said(this.asked)}</b>. Left after it` : "Left"}: <b>${said(left * this.allowance)}</b> of ${said(this.allowance)}.`;
    return html`<div class="bar ${over ? "over" : ""}" role="img" aria-label="Budget: ${said(this.spent)} of ${said(this.allowance)} spent${this.asked ? `, this question takes ${said(this.asked)}` : ""}">
        <span class="spent" style=${wide(spent)}></span><span class="asked" style=${wide(over ? 1 - spent : asked)}></span>
      </div>
      <p>${words}</p>`;
  }

  static override styles = [
    calm,
    css`
      .bar { display: flex; height: 1.1rem; border: 1px solid var(--budget); border-radius: 0.55rem; overflow: hidden; background: var(--card); }
      .spent { background: var(--budget); }
      .asked { background: repeating-linear-gradient(135deg, var(--budget) 0 3px, transparent 3px 8px); border-right: 2px solid var(--budget); }
      .over .asked { background: repeating-linear-gradient(135deg, var(--adversary) 0 3px, transparent 3px 8px); border-right: 0; }
      .over { border-color: var(--adversary); }
      p { margin: 0.35rem 0 0; font-size: 0.95rem; font-variant-numeric: tabular-nums; min-height: 1.5em; }
    `,
  ];
}
customElements.define("lw-meter", Meter);
