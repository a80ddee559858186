// The preview scrolls with the text.
import assert from "node:assert/strict";
import test from "node:test";
import { loaded } from "./load.mjs";

const { heightOf } = await loaded("writing/preview");
const KNOWN = [
  [1, 0],
  [10, 100],
  [20, 400],
  [31, 1000],
];

test("a line that is known stands where it is", () =>
  assert.deepEqual(
    [1, 10, 20].map((line) => heightOf(line, KNOWN)),
    [0, 100, 400],
  ));
test("lines between are spread evenly", () => assert.equal(heightOf(15, KNOWN), 250));
test("lines before the first and behind the last have an end", () =>
  assert.deepEqual([heightOf(0, KNOWN), heightOf(99, KNOWN), heightOf(3, [])], [0, 1000, 0]));
