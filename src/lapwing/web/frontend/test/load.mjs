// Modules of src, bundled so that Node runs them.
import { build } from "esbuild";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const src = join(dirname(fileURLToPath(import.meta.url)), "..", "src");

/** A module by its path in src, without the ending. */
export async function loaded(name) {
  const outfile = join(mkdtempSync(join(tmpdir(), "lapwing-")), "module.mjs");
  await build({ entryPoints: [join(src, `${name}.ts`)], bundle: true, format: "esm", outfile });
  return import(pathToFileURL(outfile).href);
}
