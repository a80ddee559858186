// The buttons over the editor. ⟦…⟧ stands for a selection, ¦ for a caret.
import assert from "node:assert/strict";
import test from "node:test";
import { loaded } from "./load.mjs";

const { added, applied, block, formatted, pressed } = await loaded("writing/formatting");

/** "a ⟦b⟧ c" to a text with a selection. */
function placed(drawn) {
  const from = drawn.search(/[⟦¦]/);
  const text = drawn.replace(/[⟦⟧¦]/g, "");
  const to = drawn.includes("¦") ? from : drawn.indexOf("⟧") - 1;
  return { text, from, to };
}
function drawn(text, anchor, head) {
  return anchor === head
    ? `${text.slice(0, anchor)}¦${text.slice(anchor)}`
    : `${text.slice(0, anchor)}⟦${text.slice(anchor, head)}⟧${text.slice(head)}`;
}
function done(kind, before, sample = "sample") {
  const place = placed(before);
  const edit = formatted(kind, place, sample);
  return drawn(applied(place.text, edit), edit.anchor, edit.head);
}
const TABLE = "| one | two |\n|---|---|\n| 1 | 2 |";

for (const [kind, before, after] of [
  ["bold", "a ⟦word⟧ b", "a **⟦word⟧** b"],
  ["bold", "a wo¦rd b", "a **wo¦rd** b"],
  ["bold", "a ¦ b", "a **⟦sample⟧** b"],
  ["bold", "a ⟦ word ⟧ b", "a  **⟦word⟧**  b"],
  ["italic", "a **⟦word⟧** b", "a ***⟦word⟧*** b"],
  ["bold", "⟦one\n\n- two\n3. three⟧", "⟦**one**\n\n- **two**\n3. **three**⟧"],
  ["bold", "⟦**one**\ntwo⟧", "⟦**one**\n**two**⟧"],
  ["heading", "a ti¦tle", "### a ti¦tle"],
  ["heading", "## Screen {serves=1}¦", "### Screen¦"],
  ["heading", "a\n\n¦", "a\n\n### ⟦sample⟧"],
  ["list", "⟦one\ntwo\n\nthree⟧", "⟦- one\n- two\n\n- three⟧"],
  ["numbers", "⟦- one\n- two\n⟧three", "⟦1. one\n2. two⟧\nthree"],
  ["formula", "so ⟦x^2⟧ is", "so $⟦x^2⟧$ is"],
  ["formula", "so ¦ is", "so $⟦sample⟧$ is"],
  ["formula", "so\n\n¦", "so\n\n$$\n⟦sample⟧\n$$\n\n"],
  ["formula", "⟦a = b\nc = d⟧", "$$\n⟦a = b\nc = d⟧\n$$\n\n"],
  ["link", "see ⟦this⟧.", "see [this](⟦address⟧)."],
  ["link", "see ⟦https://a.example/b⟧.", "see [⟦sample⟧](https://a.example/b)."],
  ["table", "⟦one\ttwo\n1\t2⟧", `⟦${TABLE}⟧\n\n`],
  ["table", "⟦one; two\n1; 2⟧", `⟦${TABLE}⟧\n\n`],
]) {
  test(`${kind} makes ${JSON.stringify(before)} into ${JSON.stringify(after)}`, () =>
    assert.equal(done(kind, before), after));
}

for (const [kind, before] of [
  ["bold", "a ⟦word⟧ b"],
  ["bold", "a wo¦rd b"],
  ["bold", "⟦one\n\n- two\n3. three⟧"],
  ["italic", "a ⟦word⟧ b"],
  ["heading", "⟦one\ntwo⟧"],
  ["list", "⟦one\n  two⟧"],
  ["numbers", "⟦one\ntwo⟧"],
  ["formula", "so ⟦x^2⟧ is"],
  ["link", "see ⟦this⟧."],
]) {
  test(`${kind} pressed twice leaves ${JSON.stringify(before)}`, () => {
    const once = done(kind, before);
    assert.ok(pressed(placed(once)).includes(kind), once);
    assert.equal(placed(done(kind, once)).text, placed(before).text);
  });
}

test("what a button inserted is gone when it is pressed again at once", () => {
  for (const kind of ["bold", "italic", "link"]) assert.equal(placed(done(kind, done(kind, "so ¦ is"))).text, "so  is");
  assert.equal(placed(done("formula", done("formula", "so\n\n¦"))).text.trim(), "so");
  const table = done("table", "so¦", TABLE);
  assert.equal(table, "so\n\n| ⟦one⟧ | two |\n|---|---|\n| 1 | 2 |\n\n");
  assert.equal(placed(done("table", table, TABLE)).text.trim(), "so");
});

test("a table turns back into the lines it was made of", () => {
  assert.equal(placed(done("table", done("table", "⟦one\ttwo\n1\t2⟧"))).text.trim(), "one\ttwo\n1\t2");
});

test("fences and tables in a selection stay as they are", () => {
  assert.equal(placed(done("bold", "⟦a\n```quiz\n| b |⟧")).text, "**a**\n```quiz\n| b |");
});

test("italic in bold is one star", () => {
  assert.deepEqual(pressed(placed("a ***wo¦rd*** b")).sort(), ["bold", "italic"]);
  assert.deepEqual(pressed(placed("a **wo¦rd** b")), ["bold"]);
  assert.equal(placed(done("italic", "a ***wo¦rd*** b")).text, "a **word** b");
  assert.equal(placed(done("bold", "a ***wo¦rd*** b")).text, "a *word* b");
});

test("a block stands on lines of its own", () => {
  const place = placed("one¦\ntwo");
  assert.equal(applied(place.text, block(place, "```x\n```")), "one\n\n```x\n```\n\ntwo");
});

test("what is added cuts neither a line nor a fence in two, and replaces nothing", () => {
  const into = (before) => applied(placed(before).text, added(placed(before), "NEW"));
  assert.equal(into("one t⟦w⟧o\nthree"), "one two\n\nNEW\n\nthree");
  assert.equal(into("```quiz\n- ask: ⟦Which?⟧\n```\nthree"), "```quiz\n- ask: Which?\n```\n\nNEW\n\nthree");
  assert.equal(into("---\nslug¦: a\n---\none\n"), "---\nslug: a\n---\none\n\nNEW\n\n");
  assert.equal(into("```quiz\n- ask¦"), "```quiz\n- ask\n\nNEW\n\n");
});
