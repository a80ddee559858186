// The names of all functions that modules of src/math export: what a test in Python compares with the library.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { loaded } from "./load.mjs";

const home = join(dirname(fileURLToPath(import.meta.url)), "..", "src", "math");
const found = [];
for (const file of readdirSync(home)
  .filter((name) => name.endsWith(".ts"))
  .sort()) {
  const name = file.slice(0, -3);
  for (const [key, value] of Object.entries(await loaded(`math/${name}`)))
    if (typeof value === "function") found.push([name, key]);
}
console.log(JSON.stringify(found));
