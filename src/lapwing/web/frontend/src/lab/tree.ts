// Groups within groups, drawn as a treemap: areas are private counts, and what may as well be nothing is hatched.
import { nothing, svg, type SVGTemplateResult } from "lit";
import { narrow, wide } from "../lib/chart.js";
import { squarified, type Box } from "../lib/treemap.js";
import type { Series, Value } from "./kinds.js";
import { said } from "./look.js";

interface Node {
  value: Value;
  name: string;
  exact: number | null;
  children: Node[];
}
const GAP = 3;
const HEAD = 19;

/** The nodes below the total; values stand in the order of a walk, and `x` says how deep each is. */
function nodesOf(series: Series, exact: Series | null): Node[] {
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
  return root.length === 1 && first?.value.x === 0 ? first.children : root;
}

export function treemap(series: Series, exact: Series | null, title: string): SVGTemplateResult {
  const height = narrow() ? 460 : 420;
  const room: Box = { x: 0, y: 0, width: wide(), height };
  return svg`<svg class="tree" viewBox="0 0 ${wide()} ${height}" role="img" aria-label=${title}>
    <defs><pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0,0v6"></path></pattern></defs>
    ${drawn(nodesOf(series, exact), room, 1)}</svg>`;
}

const size = ({ value }: Node): number => Math.max(0, value.value ?? 0);

function drawn(nodes: readonly Node[], room: Box, depth: number): SVGTemplateResult[] {
  const boxes = squarified(nodes.map(size), room);
  return nodes.flatMap((node, place) => {
    const box = inside(boxes[place]!, GAP / 2, 0);
    if (box.width < 2 || box.height < 2) return [];
    const leaf = !node.children.some((child) => size(child) > 0);
    const head = leaf || box.height < 2 * HEAD ? 0 : HEAD;
    return [
      svg`<g>${frame(node, box, leaf, depth)}${leaf || head ? words(node, box, leaf) : nothing}
        ${leaf ? nothing : drawn(node.children, inside(box, GAP, head), depth + 1)}</g>`,
    ];
  });
}

function frame(node: Node, box: Box, leaf: boolean, depth: number): SVGTemplateResult {
  const { low } = node.value;
  const unsure = leaf && low !== null && low <= 0;
  return svg`<rect class=${leaf ? "leaf" : `frame depth-${Math.min(depth, 2)}`} x=${box.x} y=${box.y} width=${box.width} height=${box.height} rx="3"></rect>
    ${unsure ? svg`<rect class="unsure" x=${box.x} y=${box.y} width=${box.width} height=${box.height} rx="3"></rect>` : nothing}`;
}

/** The name and the number, as far as there is room for them. */
function words(node: Node, box: Box, leaf: boolean): SVGTemplateResult | typeof nothing {
  const letters = Math.floor((box.width - 10) / 7);
  const number = said(node.value.value ?? 0, 9);
  const room = leaf ? letters : letters - number.length - 1;
  if (room < 3 || box.height < 16) return nothing;
  const name = node.name.length > room ? `${node.name.slice(0, room - 1)}…` : node.name;
  const { low, high } = node.value;
  const off = low === null || high === null ? "" : `± ${said((high - low) / 2)}`;
  const lines = leaf ? [number, off, node.exact === null ? "" : `exact ${said(node.exact, 9)}`].filter(Boolean) : [];
  const shown = lines.filter((line, place) => box.height >= 16 + 15 * (place + 1) && line.length <= letters);
  return svg`<text class="name" x=${box.x + 5} y=${box.y + 14}>${leaf ? name : `${name} ${number}`}</text>
    ${shown.map((line, place) => svg`<text class=${line === off ? "noise" : line.startsWith("exact") ? "exact" : "number"} x=${box.x + 5} y=${box.y + 14 + 15 * (place + 1)}>${line}</text>`)}`;
}

const inside = (box: Box, margin: number, head: number): Box => ({
  x: box.x + margin,
  y: box.y + margin + head,
  width: Math.max(0, box.width - 2 * margin),
  height: Math.max(0, box.height - 2 * margin - head),
});
