// What the buttons over the editor do to Markdown: each takes a text with a selection and gives changes. Pressed again,
// a button takes back what it did. Nothing here knows of a browser.
export interface Place {
  text: string;
  from: number;
  to: number;
}
export interface Change {
  from: number;
  to: number;
  insert: string;
}
/** Changes in the coordinates of the old text, in order, and what is selected in the new one. */
export interface Edit {
  changes: Change[];
  anchor: number;
  head: number;
}
type Part = { from: number; to: number };
export type Kind = "bold" | "italic" | "heading" | "list" | "numbers" | "link" | "formula" | "table";

const MARKS = { bold: "**", italic: "*", formula: "$" } as const;
const RUNS = {
  bold: /(?<!\\)\*\*(?=[^\s*])(.*?[^\s*]\*?)\*\*/g,
  italic: /(?<![*\\])\*(?=[^\s*])([^*]*?[^\s*])\*(?!\*)/g,
  formula: /(?<![\\$])\$(?=[^\s$])([^$]*?[^\s$])\$(?!\$)/g,
  link: /(?<![!\\])\[([^[\]]*)\]\(([^()\s]*)(?:\s+"[^"]*")?\)/g,
} as const;
const BEFORE = /^(?:\s*>)*\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(?:#{1,6}\s+)?/; // what makes a line a quote, an item or a title
const STRUCTURE = /^\s*(?:```|~~~|\$\$|:::|\|)/; // lines that words are not marked in
const HEADING = "### ";
const ITEM = { list: /^(\s*)[-*+]\s+/, numbers: /^(\s*)\d{1,9}[.)]\s+/ } as const;

/** The edit of one button; `sample` is what stands where nothing was selected. */
export function formatted(kind: Kind, place: Place, sample: string): Edit {
  if (kind === "heading") return headed(place, sample);
  if (kind === "list" || kind === "numbers") return listed(place, kind, sample);
  if (kind === "table") return tabled(place, sample);
  if (kind === "link") return linked(place, sample);
  if (kind === "formula") return formulaAround(place, sample) ?? marked(place, kind, sample);
  return marked(place, kind, sample);
}

/** Which buttons are pressed where the selection is. */
export function pressed(place: Place): Kind[] {
  const found: Kind[] = [];
  const parts = pieces(place);
  for (const kind of ["bold", "italic", "formula"] as const)
    if (parts.length && parts.every((part) => run(place.text, part, kind))) found.push(kind);
  const lines = written(place);
  if (lines.length && lines.every(({ from, to }) => place.text.slice(from, to).startsWith(HEADING)))
    found.push("heading");
  for (const kind of ["list", "numbers"] as const)
    if (lines.length && lines.every(({ from, to }) => ITEM[kind].test(place.text.slice(from, to)))) found.push(kind);
  if (enclosing(place, RUNS.link)) found.push("link");
  if (!found.includes("formula") && formulaBlock(place)) found.push("formula");
  if (tableAround(place)) found.push("table");
  return found;
}

/** Something that stands on lines of its own, put where the selection is; `chosen` of it is selected. */
export function block({ text, from, to }: Place, what: string, chosen = ""): Edit {
  const before = text.slice(0, from);
  const behind = text.slice(to);
  const lead = !before || before.endsWith("\n\n") ? "" : before.endsWith("\n") ? "\n" : "\n\n";
  const tail = behind.startsWith("\n\n") ? "" : behind.startsWith("\n") ? "\n" : "\n\n";
  const at = from + lead.length;
  return selecting({ from, to, insert: lead + what + tail }, at, what, chosen);
}

/** The same, behind the line or the fence in which the selection is. */
export function added(place: Place, what: string, chosen = ""): Edit {
  return block({ ...place, ...behind(place) }, what, chosen);
}

/** Something within a line, put where the selection is. */
export function inline({ from, to }: Place, what: string, chosen = ""): Edit {
  return selecting({ from, to, insert: what }, from, what, chosen);
}

/** The text after an edit. */
export function applied(text: string, { changes }: Edit): string {
  let made = "";
  let at = 0;
  for (const { from, to, insert } of changes) {
    made += text.slice(at, from) + insert;
    at = to;
  }
  return made + text.slice(at);
}

function selecting(change: Change, at: number, what: string, chosen: string): Edit {
  const found = chosen ? what.indexOf(chosen) : -1;
  const [anchor, head] = found < 0 ? [at + what.length, at + what.length] : [at + found, at + found + chosen.length];
  return { changes: [change], anchor, head };
}

/** The lines that a selection touches; one that ends where a line begins does not touch that line. */
function lines({ text, from, to }: Place): Part[] {
  const end = to > from && text[to - 1] === "\n" ? to - 1 : to;
  const found: Part[] = [];
  let begin = text.lastIndexOf("\n", from - 1) + 1;
  for (;;) {
    const next = text.indexOf("\n", begin);
    const stop = next < 0 ? text.length : next;
    found.push({ from: begin, to: stop });
    if (stop >= end) return found;
    begin = stop + 1;
  }
}

function written(place: Place): Part[] {
  return lines(place).filter(({ from, to }) => place.text.slice(from, to).trim());
}

/** Changes in the lines of a selection; all of what they become is selected. */
function editLines(place: Place, change: (line: string, number: number) => string | null): Edit {
  const changes: Change[] = [];
  const touched = lines(place);
  let number = 0;
  let longer = 0;
  for (const { from, to } of touched) {
    const line = place.text.slice(from, to);
    const made = line.trim() ? change(line, number++) : null;
    if (made === null || made === line) continue;
    changes.push({ from, to, insert: made });
    longer += made.length - line.length;
  }
  const [first, last] = [touched[0]!, touched.at(-1)!];
  const caret = place.from === place.to ? Math.max(first.from, place.from + longer) : null;
  return { changes, anchor: caret ?? first.from, head: caret ?? last.to + longer };
}

/** Where words of a selection stand, line by line, without what makes a line an item or a title. */
function pieces(place: Place): Part[] {
  const { text, from, to } = place;
  if (from === to) {
    const [line] = lines(place) as [Part];
    const left = /[\p{L}\p{N}_'’-]*$/u.exec(text.slice(line.from, from))![0].length;
    const right = /^[\p{L}\p{N}_'’-]*/u.exec(text.slice(from, line.to))![0].length;
    return left + right ? [{ from: from - left, to: from + right }] : [{ from, to }];
  }
  const found: Part[] = [];
  for (const line of lines(place)) {
    const whole = text.slice(line.from, line.to);
    if (STRUCTURE.test(whole)) continue;
    const start = Math.max(from, line.from + BEFORE.exec(whole)![0].length);
    const words = text.slice(start, Math.max(start, Math.min(to, line.to)));
    const trimmed = words.trim();
    if (!trimmed) continue;
    const begin = start + words.indexOf(trimmed);
    found.push({ from: begin, to: begin + trimmed.length });
  }
  return found;
}

/** The run of a mark, with its marks, in which a part of a line stands. */
function run(text: string, part: Part, kind: keyof typeof MARKS): Part | null {
  return enclosing({ text, ...part }, RUNS[kind]) ?? (kind === "italic" ? boldItalic(text, part) : null);
}

/** `***both***`: one star of each end is the italic. */
function boldItalic(text: string, part: Part): Part | null {
  const both = enclosing({ text, ...part }, /\*\*\*(?=[^\s*])([^*]*?[^\s*])\*\*\*/g);
  return both && { from: both.from + 2, to: both.to - 2 };
}

function enclosing({ text, from, to }: Place, pattern: RegExp): Part | null {
  const begin = text.lastIndexOf("\n", from - 1) + 1;
  const next = text.indexOf("\n", to);
  for (const found of text.slice(begin, next < 0 ? text.length : next).matchAll(pattern)) {
    const start = begin + found.index;
    if (start <= from && to <= start + found[0].length && !found[0].includes("\n"))
      return { from: start, to: start + found[0].length };
  }
  return null;
}

function marked(place: Place, kind: keyof typeof MARKS, sample: string): Edit {
  const mark = MARKS[kind];
  const parts = pieces(place);
  const runs = parts.map((part) => run(place.text, part, kind));
  if (parts.length === 0) return { changes: [], anchor: place.from, head: place.to };
  const [only] = parts as [Part];
  if (parts.length === 1 && only.from === only.to && !runs[0])
    return {
      changes: [{ from: only.from, to: only.to, insert: mark + sample + mark }],
      anchor: only.from + mark.length,
      head: only.from + mark.length + sample.length,
    };
  const off = runs.every(Boolean);
  const changes: Change[] = [];
  parts.forEach((part, i) => {
    const found = runs[i];
    if (off && found && !changes.some(({ from }) => from === found.from)) {
      const kept = place.text.slice(found.from + mark.length, found.to - mark.length);
      changes.push({ from: found.from, to: found.to, insert: kept === sample ? "" : kept });
    } else if (!off && !found)
      changes.push({ from: part.from, to: part.to, insert: mark + place.text.slice(part.from, part.to) + mark });
  });
  const longer = changes.reduce((sum, { from, to, insert }) => sum + insert.length - (to - from), 0);
  const [first, last] = [changes[0]!, changes.at(-1)!];
  if (place.from === place.to) {
    const moved = off ? -mark.length : mark.length;
    const caret = Math.min(Math.max(place.from + moved, first.from), first.from + first.insert.length);
    return { changes, anchor: caret, head: caret };
  }
  const around = off ? 0 : mark.length;
  if (parts.length === 1) return { changes, anchor: first.from + around, head: last.to + longer - around };
  return { changes, anchor: runs[0]?.from ?? parts[0]!.from, head: (runs.at(-1)?.to ?? parts.at(-1)!.to) + longer };
}

function headed(place: Place, sample: string): Edit {
  const found = written(place);
  if (!found.length) return inline(place, HEADING + sample, sample);
  const off = found.every(({ from, to }) => place.text.slice(from, to).startsWith(HEADING));
  return editLines(place, (line) => {
    if (STRUCTURE.test(line)) return null;
    const bare = line.replace(/^\s*#{1,6}\s+/, "").replace(/\s*\{(?:serves=[0-9,]+)? ?(?:deeper)?\}\s*$/, "");
    return off ? bare : HEADING + bare;
  });
}

function listed(place: Place, kind: "list" | "numbers", sample: string): Edit {
  const found = written(place);
  const other = kind === "list" ? ITEM.numbers : ITEM.list;
  if (!found.length) return inline(place, (kind === "list" ? "- " : "1. ") + sample, sample);
  const off = found.every(({ from, to }) => ITEM[kind].test(place.text.slice(from, to)));
  return editLines(place, (line, number) => {
    if (STRUCTURE.test(line)) return null;
    if (off) return line.replace(ITEM[kind], "$1");
    const bare = line.replace(ITEM[kind], "$1").replace(other, "$1");
    const [space] = /^\s*/.exec(bare)!;
    return space + (kind === "list" ? "- " : `${number + 1}. `) + bare.slice(space.length);
  });
}

function linked(place: Place, sample: string): Edit {
  const { text } = place;
  const found = enclosing(place, RUNS.link);
  const address = "address";
  if (found) {
    const words = /^\[([^[\]]*)\]/.exec(text.slice(found.from, found.to))![1]!;
    const kept = words === sample ? "" : words;
    return { changes: [{ ...found, insert: kept }], anchor: found.from, head: found.from + kept.length };
  }
  const chosen = text.slice(place.from, place.to);
  if (/^(?:https?:\/\/|mailto:|\/(?!\/)|#)\S+$/i.test(chosen)) return inline(place, `[${sample}](${chosen})`, sample);
  return inline(place, `[${chosen || sample}](${address})`, chosen ? address : sample);
}

/** A formula on lines of its own, around or for a selection; nothing if it belongs within a line. */
function formulaAround(place: Place, sample: string): Edit | null {
  const { text, from, to } = place;
  const around = formulaBlock(place);
  if (around) {
    const inside = text
      .slice(around.from, around.to)
      .replace(/^\$\$\n?/, "")
      .replace(/\n?\$\$$/, "");
    const kept = inside === sample ? "" : inside;
    return { changes: [{ ...around, insert: kept }], anchor: around.from, head: around.from + kept.length };
  }
  const chosen = text.slice(from, to);
  const [line] = lines(place) as [Part];
  if (from === to && !text.slice(line.from, line.to).trim()) return block(place, `$$\n${sample}\n$$`, sample);
  if (!chosen.trim().includes("\n")) return null;
  const bare = chosen.trim().replace(/^\$|\$$/gm, "");
  return block(place, `$$\n${bare}\n$$`, bare);
}

function formulaBlock({ text, from, to }: Place): Part | null {
  for (const found of text.matchAll(/^\$\$\n?[^$]*?\n?\$\$$/gm)) {
    const end = found.index + found[0].length;
    if (found.index <= from && to <= end) return { from: found.index, to: end };
  }
  return null;
}

function tableAround({ text, from, to }: Place): Part | null {
  for (const found of text.matchAll(/^(?:[ \t]*\|.*\|[ \t]*(?:\n|$))+/gm)) {
    const end = found.index + found[0].replace(/\n$/, "").length;
    if (found.index <= from && to <= end + 1 && found[0].length) return { from: found.index, to: end };
  }
  return null;
}

function tabled(place: Place, sample: string): Edit {
  const { text } = place;
  const around = tableAround(place);
  if (around) {
    const whole = text.slice(around.from, around.to);
    const rows = whole.split("\n").filter((row) => !/^[ \t]*\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$/.test(row));
    const cells = rows.map((row) =>
      row
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll("\\|", "|")),
    );
    const made = whole === sample ? "" : cells.map((row) => row.join("\t")).join("\n");
    return { changes: [{ ...around, insert: made }], anchor: around.from, head: around.from + made.length };
  }
  const chosen = written(place).map(({ from, to }) => text.slice(from, to).trim());
  if (place.from === place.to || !chosen.length) {
    const first = /\|\s*([^|\n]*?)\s*\|/.exec(sample)?.[1] ?? "";
    return added(place, sample, first);
  }
  const touched = lines(place);
  const separator = ["\t", ";", ","].find((sign) => chosen.every((line) => line.includes(sign))) ?? "\n";
  const rows = chosen.map((line) =>
    line
      .replace(ITEM.list, "")
      .split(separator)
      .map((cell) => cell.trim().replaceAll("|", "\\|")),
  );
  const width = Math.max(...rows.map((row) => row.length));
  const shown = (row: string[]): string => `| ${Array.from({ length: width }, (_, i) => row[i] ?? "").join(" | ")} |`;
  const made = [shown(rows[0]!), `|${"---|".repeat(width)}`, ...rows.slice(1).map(shown)].join("\n");
  return block({ text, from: touched[0]!.from, to: touched.at(-1)!.to }, made, made);
}

/** Where a new block goes: it replaces nothing, cuts neither a line nor a fence in two, and stands not in the front matter. */
function behind({ text, to }: Place): Part {
  const front = /^---\n[^]*?\n---\n/.exec(text)?.[0].length ?? 0;
  let at = to < front ? -1 : text.indexOf("\n", to);
  const before = text.slice(0, at < 0 ? text.length : at);
  const fences = before.match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0;
  if (fences % 2 && at >= 0) {
    const close = /^ {0,3}(?:```|~~~)[ \t]*$/m.exec(text.slice(at + 1));
    at = close ? at + 1 + close.index + close[0].length : -1;
  }
  const end = at < 0 ? text.length : at;
  return { from: end, to: end };
}
