// Calls functions of src/math for the tests in Python: a list of [module, function, arguments] in, a list of results out.
import { readFileSync } from "node:fs";
import { loaded } from "./load.mjs";

const calls = JSON.parse(readFileSync(0, "utf8"));
const names = [...new Set(calls.map(([module]) => module))];
const modules = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await loaded(`math/${name}`)])));
// What JSON has no word for: a whole number of any length becomes text, a map its pairs, a typed array a list.
const plain = (_, value) =>
  typeof value === "bigint" ? String(value) : value instanceof Map || ArrayBuffer.isView(value) ? [...value] : value;
console.log(
  JSON.stringify(
    calls.map(([module, name, given]) => modules[module][name](...given)),
    plain,
  ),
);
