// Calls functions of src/math for the tests in Python: a list of [module, function, arguments] in, a list of results out.
import { build } from "esbuild";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const calls = JSON.parse(readFileSync(0, "utf8"));
const home = join(dirname(fileURLToPath(import.meta.url)), "..", "src", "math");
const names = [...new Set(calls.map(([module]) => module))];
const out = mkdtempSync(join(tmpdir(), "lapwing-"));
await build({ entryPoints: names.map((name) => join(home, `${name}.ts`)), bundle: true, format: "esm", outdir: out, outExtension: { ".js": ".mjs" } });
const modules = Object.fromEntries(
  await Promise.all(names.map(async (name) => [name, await import(pathToFileURL(join(out, `${name}.mjs`)).href)])),
);
// What JSON has no word for: a whole number of any length becomes text, a map its pairs, a typed array a list.
const plain = (_, value) => (typeof value === "bigint" ? String(value) : value instanceof Map || ArrayBuffer.isView(value) ? [...value] : value);
console.log(JSON.stringify(calls.map(([module, name, given]) => modules[module][name](...given)), plain));
