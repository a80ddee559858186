// A widget is a small story: a question, one or two handles, a picture, and a sentence that says what is seen.
import { LitElement, css, html, nothing, type CSSResultGroup, type TemplateResult } from "lit";
import { INKS } from "./chart.js";

export interface Table {
  head: string[];
  rows: (string | number)[][];
}

/** What a property may be: one of these, or a number from here to there. */
export type Allowed = readonly (string | number)[] | { from: number; to: number; whole?: boolean };
/** Where every slider for epsilon begins and ends. */
export const EPSILON = { from: 0.01, to: 10 };

export abstract class Story extends LitElement {
  /** The question above the picture. */
  protected abstract readonly question: string;
  /** Names of the properties that make up the state, with what they are at first. */
  protected abstract readonly first: Record<string, number | string | boolean>;
  /** What a link may make of them; whatever else it says is not believed. */
  protected get allowed(): Record<string, Allowed> {
    return {};
  }
  protected abstract handles(): TemplateResult;
  protected abstract picture(): unknown;
  /** What one sees, in one sentence. */
  protected abstract sentence(): string | TemplateResult;
  /** The picture as numbers. */
  protected abstract table(): Table;

  override connectedCallback(): void {
    super.connectedCallback();
    const asked = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(this.first)) {
      const given = asked.get(`${this.key}.${name}`) ?? this.getAttribute(name);
      this.take(
        name,
        given === null
          ? value
          : believed(given, value, this.allowed[name] ?? (name === "epsilon" ? EPSILON : undefined)),
      );
    }
  }

  protected take(name: string, value: number | string | boolean): void {
    (this as unknown as Record<string, unknown>)[name] = value;
    this.requestUpdate();
  }

  protected now(name: string): unknown {
    return (this as unknown as Record<string, unknown>)[name];
  }

  /** The one slider for epsilon. */
  protected epsilonHandle(
    label = "epsilon",
    {
      about,
      when = "",
      except = "",
      instead = "",
      symbol = "ε",
    }: { about?: string; when?: string; except?: string; instead?: string; symbol?: string } = {},
  ): TemplateResult {
    return html`<lw-epsilon .value=${this.now("epsilon")} label=${label} about=${about ?? nothing} .when=${when} .except=${except} .instead=${instead} .symbol=${symbol} @epsilon=${(event: CustomEvent<number>) => this.take("epsilon", event.detail)}></lw-epsilon>`;
  }

  /** A choice of a few values. */
  protected choice(
    name: string,
    label: string,
    options: readonly (readonly [value: number | string, said: unknown])[],
  ): TemplateResult {
    return html`<label>${label}
      <select @change=${(event: Event) => this.take(name, options[(event.target as HTMLSelectElement).selectedIndex]![0])}>
        ${options.map(([value, said]) => html`<option value=${value} .selected=${value === this.now(name)}>${said}</option>`)}
      </select></label>`;
  }

  protected reset = (): void => {
    for (const [name, value] of Object.entries(this.first)) this.take(name, value);
  };

  /** Its name in a link; of several on one page each has its own. */
  private get key(): string {
    const place = [...document.querySelectorAll(this.localName)].indexOf(this);
    return `${this.localName.slice(3)}${place > 0 ? place + 1 : ""}`;
  }

  private get address(): string {
    const asked = new URLSearchParams();
    for (const [name, value] of Object.entries(this.first)) {
      const now = this.now(name);
      if (now !== value) asked.set(`${this.key}.${name}`, String(now));
    }
    return `?${asked.toString()}#${this.closest("section")?.id ?? ""}`;
  }

  override render(): TemplateResult {
    const { head, rows } = this.table();
    return html`<section aria-label=${this.question}>
      <p class="asked">${this.question}</p>
      <div class="handles">${this.handles()}</div>
      <div class="picture">${this.picture()}</div>
      <p class="seen" role="status">${this.sentence()}</p>
      <div class="below">
        <button type="button" @click=${this.reset}>Start again</button>
        <a href=${this.address}>Link to this state</a>
        <details>
          <summary>As a table</summary>
          <div class="scroll" tabindex="0" role="group" aria-label="Table">
            <table>
              <thead>
                <tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr>
              </thead>
              <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
            </table>
          </div>
        </details>
      </div>
    </section>`;
  }

  static override styles: CSSResultGroup = [
    INKS,
    css`
    :host { display: block; container-type: inline-size; font-family: var(--sans); color: var(--ink); }
    /* Where there is room, the handles and what they do stand beside each other. */
    @container (min-width: 52rem) {
      section { display: grid; grid-template-columns: 17rem minmax(0, 1fr); grid-template-rows: auto auto 1fr auto; gap: 0 2rem; grid-template-areas: "asked asked" "handles picture" "seen picture" "below below"; }
      .asked { grid-area: asked; } section > .handles { grid-area: handles; flex-flow: column; align-items: stretch; } section > .handles > button { align-self: start; } section > .handles > * { flex: none !important; /* what is a width in a row would be a height here */ } .picture { grid-area: picture; min-width: 0; } section > .seen { grid-area: seen; align-self: start; margin-top: 1.2rem; } .below { grid-area: below; }
    }
    .asked { font: 600 1.1rem var(--serif); margin: 0 0 0.8rem; }
    .handles { display: flex; flex-wrap: wrap; gap: 0.8rem 1.5rem; align-items: start; }
    .handles > * { flex: 1 1 14rem; min-width: 0; }
    .handles > button { flex: 0 1 auto; align-self: end; }
    .more { display: grid; gap: 0.6rem; }
    .legend { margin: -0.2rem 0 0.6rem; font-size: 0.85rem; display: flex; flex-wrap: wrap; gap: 0 1rem; }
    .legend .exact { color: var(--exact); } .legend .private { color: var(--private); } .legend .noise { color: var(--noise); } .legend .adversary { color: var(--adversary); }
    label { display: grid; gap: 0.2rem; min-width: 0; font-size: 0.9rem; color: var(--quiet); }
    label.check { display: flex; gap: 0.5rem; align-items: center; min-height: 1.8rem; }
    input[type="range"] { width: 100%; height: 1.5rem; margin: 0; }
    input[type="number"], input[type="text"], select { font: inherit; width: 100%; min-width: 0; box-sizing: border-box; padding: 0.3rem 0.5rem; border: 1px solid var(--line); border-radius: 6px; background: var(--paper); color: var(--ink); }
    .seen { min-height: 3em; margin: 0.4rem 0 0.8rem; font-size: 1.02rem; line-height: 1.45; }
    .below { display: flex; flex-wrap: wrap; gap: 0.4rem 1.2rem; align-items: center; font-size: 0.9rem; }
    .below details { flex: 1 1 100%; min-width: 0; }
    .below a { color: var(--private); }
    .below :is(a, summary) { padding: 0.2rem 0; }
    summary { cursor: pointer; }
    .scroll { overflow-x: auto; }
    @media print { .handles, .below { display: none; } }
    button { font: inherit; font-size: 0.95rem; padding: 0.3rem 0.8rem; border: 1px solid var(--line); border-radius: 6px; background: var(--paper); color: var(--ink); cursor: pointer; }
    button:hover { border-color: var(--private); }
    button.main { background: var(--private); border-color: var(--private); color: var(--card); }
    sup { line-height: 0; font-size: 0.75em; }
    :focus-visible { outline: 3px solid var(--budget); outline-offset: 2px; }
    table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
    th, td { padding: 0.2em 0.7em; border-bottom: 1px solid var(--line); text-align: left; }
  `,
  ];
}

function believed<T extends number | string | boolean>(
  given: string,
  first: T,
  allowed: Allowed | undefined,
): T | number | string | boolean {
  if (typeof first === "boolean") return given === "true";
  const value = typeof first === "number" ? Number(given) : given;
  if (Array.isArray(allowed)) return allowed.includes(value) ? value : first;
  if (typeof value === "string") return value;
  const { from, to, whole } = (allowed ?? { from: -Infinity, to: Infinity }) as {
    from: number;
    to: number;
    whole?: boolean;
  };
  return given.trim() && value >= from && value <= to && (!whole || Number.isInteger(value)) ? value : first;
}
