// An element that starts work of teaching mode and shows what came out, which nobody keeps.
import { LitElement, css, html, nothing, type TemplateResult } from "lit";
import { told } from "./told.js";
import { calm } from "./look.js";
import { benchOf, follow, get, underWay, type Job } from "./waiting.js";

export const TEACHING = "teaching mode: not private, not kept";

export abstract class Asked<T> extends LitElement {
  static override properties = { found: { state: true }, job: { state: true }, wrong: { state: true } };
  declare found: T | null;
  declare job: Job | null;
  declare wrong: string;
  /** What the server calls it. */
  protected abstract readonly kind: string;

  constructor() {
    super();
    this.found = this.job = null;
    this.wrong = "";
  }

  override connectedCallback(): void {
    super.connectedCallback();
    const shown = told<T & { kind: string }>("shown");
    if (shown?.kind === this.kind) this.found = shown;
  }

  protected get teaching(): boolean {
    return document.querySelector("[data-teaching]") !== null;
  }

  /** Where the work begins. */
  protected get address(): string {
    return `${document.querySelector<HTMLElement>("[data-here]")?.dataset.here ?? ""}/show/${this.kind}`;
  }

  protected async begin(body: [string, string][] = []): Promise<void> {
    await this.done(body, async ({ id }) => void (this.found = await get<T>(`${benchOf()}/shown/${id}`)));
  }

  /** Does the work, and then something with it. Whether it succeeded; if not, what went wrong is shown. */
  protected async done(body: [string, string][], then?: (job: Job) => Promise<void>): Promise<boolean> {
    this.wrong = "";
    try {
      const job = await follow(benchOf(), this.address, new URLSearchParams(body), (now) => (this.job = now));
      await then?.(job);
    } catch (error) {
      this.wrong = (error as Error).message;
    }
    this.job = null;
    return !this.wrong;
  }

  /** The button, or how far it is, or what went wrong. */
  protected button(words: string, body: () => [string, string][] = () => [], danger = false): TemplateResult {
    if (this.job) return underWay(this.job, benchOf());
    return html`<p class="begin"><button type="button" class=${danger ? "danger" : ""} @click=${() => void this.begin(body())}>${words}</button> ${this.teaching ? html`<span class="mark">${TEACHING}</span>` : nothing}</p>
      ${this.wrong ? html`<p class="wrong" role="alert">${this.wrong}</p>` : nothing}`;
  }

  static override styles = [
    calm,
    css`
      .begin { margin: 0.6rem 0; }
      .danger { border-color: var(--adversary); color: var(--adversary); }
      .wrong { border-left: 4px solid var(--adversary); padding-left: 0.8rem; }
      .under-way { display: flex; gap: 0.8rem; align-items: center; min-height: 2.4rem; }
      progress { flex: 1 1 8rem; accent-color: var(--private); max-width: 24rem; }
      figure { margin: 0.6rem 0 0; }
      @media print { .begin { display: none; } }
    `,
  ];
}
