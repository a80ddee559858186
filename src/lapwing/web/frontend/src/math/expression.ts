// Formulas of authors, read and computed by hand, never by eval: the same language and the same numbers as school/expression.py.
import { logPhi } from "./gaussian.js";

export type Tree = readonly [kind: string, ...parts: (Tree | string | number)[]];
export const LONGEST = 300;
const DEEPEST = 40;
const CONSTANTS: Record<string, number> = { pi: Math.PI, e: Math.E };
const COMPARED = ["<", "<=", ">", ">=", "=="];
const NAME = "[A-Za-z_\\u0370-\\u03ff][A-Za-z0-9_\\u0370-\\u03ff]*";
const TOKEN = new RegExp(
  `[ \\t\\r\\n]*(?:((?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(${NAME})|(\\*\\*|<=|>=|==|[-+*/^(),<>]))`,
  "y",
);

export class WrongExpression extends Error {
  constructor(
    readonly place: number,
    readonly why: string,
  ) {
    super(`at character ${place + 1}: ${why}`);
  }
}

type Compute = (...given: number[]) => number;
const extreme =
  (pick: Compute): Compute =>
  (...given) =>
    pick(...given);
const FUNCTIONS = new Map<string, [least: number, most: number, compute: Compute]>([
  ["abs", [1, 1, Math.abs]],
  ["sqrt", [1, 1, Math.sqrt]],
  ["exp", [1, 1, Math.exp]],
  ["ln", [1, 1, Math.log]],
  ["log2", [1, 1, Math.log2]],
  ["log10", [1, 1, Math.log10]],
  ["sin", [1, 1, Math.sin]],
  ["cos", [1, 1, Math.cos]],
  ["tan", [1, 1, Math.tan]],
  ["atan", [1, 1, Math.atan]],
  ["tanh", [1, 1, Math.tanh]],
  ["phi", [1, 1, (x = 0) => (Number.isFinite(x) ? Math.exp(logPhi(x)) : Number.isNaN(x) ? NaN : x > 0 ? 1 : 0)]],
  ["floor", [1, 1, Math.floor]],
  ["ceil", [1, 1, Math.ceil]],
  ["round", [1, 1, (x = 0) => Math.floor(x + 0.5)]],
  ["sign", [1, 1, Math.sign]],
  ["min", [2, 8, extreme(Math.min)]],
  ["max", [2, 8, extreme(Math.max)]],
  ["mod", [2, 2, (a = 0, b = 0) => a - b * Math.floor(a / b)]],
  ["if", [3, 3, (test = 0, then = 0, other = 0) => (test && !Number.isNaN(test) ? then : other)]],
]);
const SIGNS = new Map<string, Compute>([
  ["+", (a = 0, b = 0) => a + b],
  ["-", (a = 0, b = 0) => a - b],
  ["*", (a = 0, b = 0) => a * b],
  ["/", (a = 0, b = 0) => a / b],
  ["^", (a = 0, b = 0) => a ** b],
  ["negative", (a = 0) => -a],
  ["<", (a = 0, b = 0) => Number(a < b)],
  ["<=", (a = 0, b = 0) => Number(a <= b)],
  [">", (a = 0, b = 0) => Number(a > b)],
  [">=", (a = 0, b = 0) => Number(a >= b)],
  ["==", (a = 0, b = 0) => Number(a === b)],
]);

export type Formula = (names: Readonly<Record<string, number>>) => number;

/** A formula that can be computed quickly, again and again. */
export function formula(text: string, names: readonly string[]): Formula {
  return compiled(parsed(text, names));
}

function compiled([kind, ...parts]: Tree): Formula {
  if (kind === "number") return () => parts[0] as number;
  if (kind === "name") {
    const name = parts[0] as string;
    const fixed = Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : undefined;
    return fixed === undefined ? (names) => names[name] ?? NaN : () => fixed;
  }
  const compute = SIGNS.get(kind) ?? FUNCTIONS.get(kind)![2];
  const given = parts.map((part) => compiled(part as Tree));
  return (names) => compute(...given.map((one) => one(names)));
}

function parsed(text: string, names: readonly string[]): Tree {
  if (text.length > LONGEST)
    throw new WrongExpression(LONGEST, `the formula is longer than ${LONGEST} characters. Make it shorter`);
  const reader = new Reader(text, names);
  const tree = reader.comparison(0);
  if (reader.word) {
    const more =
      reader.kind === "name" || reader.kind === "number" || reader.word === "(" ? ". Write * to multiply" : "";
    throw new WrongExpression(reader.place, `something is missing before '${reader.word}'${more}`);
  }
  return tree;
}

/** For tests: what is read and computed, or what is wrong; infinities and non-numbers by their names, which JSON lacks. */
export function tried(
  text: string,
  names: Record<string, number>,
): { tree?: Tree; value?: number | string; wrong?: string; place?: number } {
  try {
    const tree = parsed(text, Object.keys(names));
    const value = compiled(tree)(names);
    return { tree: spelled(tree) as Tree, value: Number.isFinite(value) ? value : String(value) };
  } catch (error) {
    if (error instanceof WrongExpression) return { wrong: error.why, place: error.place };
    throw error;
  }
}

const spelled = (part: Tree | string | number): unknown =>
  Array.isArray(part) ? part.map(spelled) : part === Infinity ? "Infinity" : part;

class Reader {
  private readonly names: Set<string>;
  private at = 0;
  private readonly end: number;
  kind = "";
  word = "";
  place = 0;

  constructor(
    private readonly text: string,
    names: readonly string[],
  ) {
    this.names = new Set(names);
    this.end = text.replace(/[ \t\r\n]+$/, "").length;
    this.step();
  }

  step(): string {
    const word = this.word;
    if (this.at >= this.end) {
      [this.kind, this.word, this.place] = ["end", "", this.end];
      return word;
    }
    TOKEN.lastIndex = this.at;
    const found = TOKEN.exec(this.text);
    if (!found) {
      while (/[ \t\r\n]/.test(this.text[this.at]!)) this.at++;
      const sign = String.fromCodePoint(this.text.codePointAt(this.at)!);
      throw new WrongExpression(this.at, `'${sign}' means nothing here. Write numbers, names and + - * / ^`);
    }
    this.kind = found[1] !== undefined ? "number" : found[2] !== undefined ? "name" : "sign";
    const written = found[1] ?? found[2] ?? found[3]!;
    this.word = written === "**" ? "^" : written;
    this.at = TOKEN.lastIndex;
    this.place = this.at - written.length;
    return word;
  }

  private refuseDepth(depth: number): void {
    if (depth > DEEPEST)
      throw new WrongExpression(this.place, "the parentheses are too deep. Cut the formula in parts");
  }

  comparison(depth: number): Tree {
    this.refuseDepth(depth);
    const left = this.sum(depth);
    return COMPARED.includes(this.word) ? [this.step(), left, this.sum(depth)] : left;
  }

  private sum(depth: number): Tree {
    let left = this.product(depth);
    while (this.word === "+" || this.word === "-") left = [this.step(), left, this.product(depth)];
    return left;
  }

  private product(depth: number): Tree {
    let left = this.signed(depth);
    while (this.word === "*" || this.word === "/") left = [this.step(), left, this.signed(depth)];
    return left;
  }

  private signed(depth: number): Tree {
    this.refuseDepth(depth);
    if (this.word === "-") {
      this.step();
      return ["negative", this.signed(depth + 1)];
    }
    if (this.word === "+") {
      this.step();
      return this.signed(depth + 1);
    }
    return this.power(depth);
  }

  private power(depth: number): Tree {
    const base = this.atom(depth);
    if (this.word !== "^") return base;
    this.step();
    return ["^", base, this.signed(depth + 1)];
  }

  private atom(depth: number): Tree {
    const { kind, word, place } = this;
    if (kind === "number") {
      this.step();
      return ["number", Number(word)];
    }
    if (word === "(") {
      this.step();
      const inside = this.comparison(depth + 1);
      this.close();
      return inside;
    }
    if (kind !== "name")
      throw new WrongExpression(place, `a number or a name is missing ${word ? `before '${word}'` : "at the end"}`);
    this.step();
    const known = FUNCTIONS.get(word);
    if (known && this.word === "(") return this.call(word, known, place, depth);
    if (known) throw new WrongExpression(place, `'${word}' is a function. Write ${word}(…)`);
    if (!this.names.has(word) && !Object.hasOwn(CONSTANTS, word)) {
      const all = [...new Set([...this.names, ...Object.keys(CONSTANTS), ...FUNCTIONS.keys()])].sort().join(", ");
      throw new WrongExpression(place, `'${word}' is not known here. There are ${all}`);
    }
    return ["name", word];
  }

  private call(name: string, [least, most]: [number, number, Compute], place: number, depth: number): Tree {
    this.step();
    const given = [this.comparison(depth + 1)];
    while (this.word === ",") {
      this.step();
      given.push(this.comparison(depth + 1));
    }
    this.close();
    if (given.length < least || given.length > most) {
      const wanted = least === most ? String(least) : `${least} to ${most}`;
      throw new WrongExpression(place, `'${name}' takes ${wanted} values, not ${given.length}`);
    }
    return [name, ...given];
  }

  private close(): void {
    if (this.word !== ")") throw new WrongExpression(this.place, "a ) is missing");
    this.step();
  }
}
