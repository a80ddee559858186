// Groups within groups, drawn as a treemap: areas are private counts, and what may as well be nothing is hatched.
import { nothing, svg, type SVGTemplateResult } from "lit";
import { narrow, wide } from "../lib/chart.js";
import { squarified, type Box } from "../lib/treemap.js";
import type { Series, Value } from "./kinds.js";
import { errorOf, said } from "./look.js";
import { offBy } from "../math/lab.js";

interface Node {
  value: Value;
  name: string;
  exact: number | null;
  children: Node[];
}
const GAP = 3;
const HEAD = 19;

/** The total, if there is one, and the nodes below it; values stand in the order of a walk, and `x` says how deep. */
function nodesOf(series: Series, exact: Series | null): { total: Node | null; nodes: Node[] } {
  const truths = new Map(exact?.values.map(({ label, value }) => [label, value]));
  const root: Node[] = [];
  const open: Node[] = [];
  for (const value of series.values) {
    const depth = value.x ?? 0;
    open.length = Math.max(0, Math.min(open.length, depth));
    const parent = open[open.length - 1];
    const before = parent && (parent.value.x ?? 0) > 0 ? parent.value.label.length + 3 : 0;
    const node = { value, name: value.label.slice(before), exact: truths.get(value.label) ?? null, children: [] };
    (parent ? parent.children : root).push(node);
    open.push(node);
  }
  const [first] = root;
  return root.length === 1 && first?.value.x === 0
    ? { total: first, nodes: first.children }
    : { total: null, nodes: root };
}

export function treemap(series: Series, exact: Series | null, title: string): SVGTemplateResult {
  const height = narrow() ? 460 : 420;
  const room: Box = { x: 0, y: 0, width: wide(), height };
  const { total, nodes } = nodesOf(series, exact);
  const cells = placed(nodes, room);
  const unnamed = all(nodes).length - cells.reduce((sum, cell) => sum + named(cell), 0);
  const below = total ? 22 : 0;
  return svg`<svg class="tree" viewBox="0 0 ${wide()} ${height + 22 + below}" role="img" aria-label=${title}>
    <defs><pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0,0v6"></path></pattern></defs>
    ${cells.map((cell) => drawn(cell, 1))}
    ${total ? svg`<text class="name" x="4" y=${height + 16}>${total.name} ${said(total.value.value ?? 0, 9)}${beside(total).map(({ text, ink }) => svg`<tspan class=${ink}> ${text}</tspan>`)}</text>` : nothing}
    ${unnamed ? svg`<text x="4" y=${height + 16 + below}>${unnamed} ${unnamed === 1 ? "group has" : "groups have"} no room for a name. The table below lists all of them.</text>` : nothing}</svg>`;
}

const size = ({ value }: Node): number => Math.max(0, value.value ?? 0);
const all = (nodes: readonly Node[]): Node[] => nodes.flatMap((node) => [node, ...all(node.children)]);
const fits = ({ width, height }: Box): boolean => Math.floor((width - 10) / 7) >= 3 && height >= 16;

/** A node in its place, with what it is divided into, as far as that can be read. */
interface Cell {
  node: Node;
  box: Box;
  parts: Cell[];
}

const named = ({ box, parts }: Cell): number => Number(fits(box)) + parts.reduce((sum, part) => sum + named(part), 0);
const readable = ({ box, parts }: Cell): number =>
  parts.length ? parts.reduce((sum, part) => sum + readable(part), 0) : fits(box) ? box.width * box.height : 0;

function placed(nodes: readonly Node[], room: Box): Cell[] {
  const boxes = squarified(nodes.map(size), room);
  return nodes.flatMap((node, place) => {
    const box = inside(boxes[place]!, GAP / 2, 0);
    if (box.width < 2 || box.height < 2) return [];
    const parts = placed(node.children, inside(box, GAP, box.height < 2 * HEAD ? 0 : HEAD));
    const read = parts.reduce((sum, part) => sum + readable(part), 0);
    return [{ node, box, parts: read > 0.4 * box.width * box.height ? parts : [] }]; // boxes without names say nothing
  });
}

function drawn({ node, box, parts }: Cell, depth: number): SVGTemplateResult {
  const leaf = !parts.length;
  const head = leaf || box.height >= 2 * HEAD;
  const { value, low, high, label } = node.value;
  const span = low === null || high === null ? "" : ` (${said(low, 9)} to ${said(high, 9)})`;
  return svg`<g><title>${label}: ${said(value ?? 0, 9)}${span}</title>${frame(node, box, leaf, depth)}${head ? words(node, box, leaf) : nothing}
    ${parts.map((part) => drawn(part, depth + 1))}</g>`;
}

function frame(node: Node, box: Box, leaf: boolean, depth: number): SVGTemplateResult {
  const { low } = node.value;
  const unsure = leaf && low !== null && low <= 0;
  return svg`<rect class=${leaf ? "leaf" : `frame depth-${Math.min(depth, 2)}`} x=${box.x} y=${box.y} width=${box.width} height=${box.height} rx="3"></rect>
    ${unsure ? svg`<rect class="unsure" x=${box.x} y=${box.y} width=${box.width} height=${box.height} rx="3"></rect>` : nothing}`;
}

/** How far off a number may be, and the exact one where somebody may see it. */
function beside({ value, exact }: Node): { text: string; ink: string }[] {
  const error = errorOf(value);
  const off = error === null ? [] : [{ text: `± ${offBy(error)}`, ink: "noise" }];
  return exact === null ? off : [...off, { text: `◆ ${said(exact, 9)}`, ink: "exact" }];
}

/** The name and the number, as far as there is room for them, and what stands beside the number. */
function words(node: Node, box: Box, leaf: boolean): SVGTemplateResult | typeof nothing {
  const letters = Math.floor((box.width - 10) / 7);
  const number = said(node.value.value ?? 0, 9);
  const room = leaf ? letters : letters - number.length - 1;
  if (room < 2 || !fits(box)) return nothing;
  const name = node.name.length > room ? `${node.name.slice(0, room - 1)}…` : node.name;
  const signs = beside(node);
  if (!leaf) {
    let left = room - name.length;
    const fitting = signs.filter(({ text }) => (left -= text.length + 1) >= 0);
    return svg`<text class="name" x=${box.x + 5} y=${box.y + 14}>${name} ${number}${fitting.map(({ text, ink }) => svg`<tspan class=${ink}> ${text}</tspan>`)}</text>`;
  }
  const lines = [{ text: number, ink: "number" }, ...signs];
  const shown = lines.filter(({ text }, place) => box.height >= 16 + 15 * (place + 1) && text.length <= letters);
  return svg`<text class="name" x=${box.x + 5} y=${box.y + 14}>${name}</text>
    ${shown.map(({ text, ink }, place) => svg`<text class=${ink} x=${box.x + 5} y=${box.y + 14 + 15 * (place + 1)}>${text}</text>`)}`;
}

const inside = (box: Box, margin: number, head: number): Box => ({
  x: box.x + margin,
  y: box.y + margin + head,
  width: Math.max(0, box.width - 2 * margin),
  height: Math.max(0, box.height - 2 * margin - head),
});
