// Build a total out of the nodes of the tree: each covers 1, 2, 4, 8 or 16 days, and has noise of its own.
import { css, html, type TemplateResult } from "lit";
import { Story, type Allowed, type Table } from "../lib/story.js";
import { counted } from "../lib/plural.js";
import { levels, nodesOf } from "../math/continual.js";

const DAYS = 16;
const CALLS = [4, 3, 5, 3, 4, 1, 0, 5, 2, 4, 3, 6, 1, 0, 3, 4]; // made up
type Node = readonly [from: number, to: number];
const NODES: Node[] = [1, 2, 4, 8, 16].flatMap((size) =>
  Array.from({ length: DAYS / size }, (_, place): Node => [place * size + 1, (place + 1) * size]),
);
const keyOf = ([from, to]: Node): string => `${from}-${to}`;
const KNOWN = new Map(NODES.map((node) => [keyOf(node), node]));
const named = ([from, to]: Node): string => (from === to ? `day ${from}` : `days ${from} to ${to}`);
const listed = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? "") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]!}`;
const calls = ([from, to]: Node): number => CALLS.slice(from - 1, to).reduce((sum, one) => sum + one, 0);

export class TreeNodes extends Story {
  static override properties = { day: { type: Number }, nodes: {} };
  declare day: number;
  /** The chosen nodes, as in a link: 1-8.9-12. */
  declare nodes: string;
  protected readonly question = "Which noisy nodes make the total up to a day?";
  protected readonly first = { day: 13, nodes: "" };

  protected override get allowed(): Record<string, Allowed> {
    return { day: { from: 1, to: DAYS, whole: true } };
  }

  private get chosen(): Node[] {
    const wanted = new Set(String(this.nodes ?? "").split("."));
    return NODES.filter((node) => wanted.has(keyOf(node)));
  }

  private choose(nodes: readonly Node[]): void {
    this.take("nodes", nodes.map(keyOf).join("."));
  }

  private toggle(node: Node): void {
    const { chosen } = this;
    this.choose(chosen.includes(node) ? chosen.filter((one) => one !== node) : [...chosen, node]);
  }

  private show = (): void => this.choose(nodesOf(this.day).map((node) => KNOWN.get(keyOf(node))!));

  /** How often each day is in a chosen node. */
  private get covered(): number[] {
    return CALLS.map((_, place) => this.chosen.filter(([from, to]) => from <= place + 1 && place + 1 <= to).length);
  }

  protected handles(): TemplateResult {
    return html`<label>total up to day ${this.day}
        <input type="range" min="1" max=${DAYS} .value=${String(this.day)} aria-valuetext="day ${this.day}"
          @input=${(event: Event) => this.take("day", Number((event.target as HTMLInputElement).value))} />
      </label>
      <button type="button" @click=${this.show}>Show me</button>`;
  }

  protected picture(): unknown {
    const { chosen, covered } = this;
    return html`<div class="tree" role="group" aria-label="The nodes of the tree">
      ${CALLS.map((count, place) => {
        const wanted = place < this.day;
        const state =
          covered[place] === Number(wanted) ? (wanted ? "right" : "") : covered[place] ? "wrong" : "missing";
        return html`<span class="day ${state}" style="--from: ${place + 1}">${place + 1}<small>${count}</small></span>`;
      })}
      ${NODES.map((node) => {
        const [from, to] = node;
        const level = Math.log2(to - from + 1) + 2;
        return html`<button type="button" aria-pressed=${chosen.includes(node)} aria-label=${from === to ? `day ${from}` : `days ${from}–${to}`} style="--from: ${from}; --to: ${to + 1}; --level: ${level}" @click=${() => this.toggle(node)}>${from === to ? from : html`${from}–${to}`}</button>`;
      })}
    </div>
    <p class="legend">Days with their calls come first, then the nodes. Each node has noise of its own. Press nodes to choose them.</p>`;
  }

  protected sentence(): string | TemplateResult {
    const { chosen, covered } = this;
    const places = CALLS.map((_, place) => place + 1);
    const missing = places.filter((day) => day <= this.day && !covered[day - 1]);
    const twice = places.filter((day) => covered[day - 1]! > 1);
    const beyond = places.filter((day) => day > this.day && covered[day - 1]);
    const best = nodesOf(this.day).length;
    if (!chosen.length)
      return `Choose nodes that cover days 1 to ${this.day}, each day once. The fewer nodes, the less noise.`;
    if (missing.length || twice.length || beyond.length) {
      const faults = [
        missing.length ? `${counted(missing.length, "day")} missing (${missing.join(", ")})` : "",
        twice.length ? `${counted(twice.length, "day")} counted twice (${twice.join(", ")})` : "",
        beyond.length ? `${counted(beyond.length, "day")} after day ${this.day} (${beyond.join(", ")})` : "",
      ].filter(Boolean);
      return `Not yet: ${listed(faults)}.`;
    }
    const parts = listed([...chosen].sort(([a], [b]) => a - b).map(named));
    const found = html`<b>${chosen.length === best ? "Yes" : "It adds up"}</b>: ${parts}. That is noise from ${counted(chosen.length, "node")}`;
    if (chosen.length > best)
      return html`${found}. ${best === 1 ? "One node is" : `${best} nodes are`} enough: whole pairs, fours and eights have noise only once.`;
    return html`${found} instead of ${counted(this.day, "day")}. The price: one call is in one node of each level, so ${levels(DAYS)} levels share the budget.`;
  }

  protected table(): Table {
    const rows = Array.from({ length: DAYS }, (_, place) => [
      place + 1,
      calls([1, place + 1]),
      nodesOf(place + 1)
        .map(named)
        .join(", "),
      nodesOf(place + 1).length,
    ]);
    return { head: ["day", "calls so far", "nodes", "draws of noise in the total"], rows };
  }

  static override styles = [
    Story.styles,
    css`
      /* On a phone the days run down and the nodes stand beside them, so that each can be touched. */
      .tree { display: grid; grid-template-columns: 3.4rem repeat(5, minmax(2.2rem, 1fr)); grid-template-rows: repeat(16, 26px); gap: 2px; margin: 0.8rem 0; }
      .tree > * { grid-row: var(--from) / var(--to, auto); grid-column: var(--level, 1); min-width: 0; box-sizing: border-box; }
      .day { display: flex; gap: 0.4rem; align-items: center; padding: 0 0.3rem; font-size: 0.85rem; font-variant-numeric: tabular-nums; border-radius: 4px; border: 1px solid transparent; }
      .day small { margin-left: auto; color: var(--quiet); font-size: 0.8rem; }
      .day.right { background: color-mix(in srgb, var(--private) 18%, var(--card)); border-color: var(--private); }
      .day.missing { border: 1px dashed var(--private); }
      .day.wrong { background: color-mix(in srgb, var(--adversary) 14%, var(--card)); border-color: var(--adversary); }
      .tree button { padding: 0; font-size: 0.8rem; font-variant-numeric: tabular-nums; border-color: var(--noise); border-radius: 4px; background: color-mix(in srgb, var(--noise) 8%, var(--card)); min-height: 24px; }
      .tree button[aria-pressed="true"] { background: var(--private); border-color: var(--private); color: var(--card); font-weight: 600; }
      .legend { color: var(--quiet); }
      @container (min-width: 34rem) {
        .tree { grid-template-columns: repeat(16, minmax(1.5rem, 1fr)); grid-template-rows: 3rem repeat(5, 2rem); }
        .tree > * { grid-column: var(--from) / var(--to, auto); grid-row: var(--level, 1); }
        .day { flex-direction: column; justify-content: center; gap: 0; padding: 0; } .day small { margin: 0; }
      }
      .seen { min-height: 4.5em; }
    `,
  ];
}
customElements.define("lw-tree-nodes", TreeNodes);
