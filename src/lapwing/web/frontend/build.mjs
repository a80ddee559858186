// Bundles what runs in the browser into ../static, with names that change with their content.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "static");
const modules = join(here, "node_modules");
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const fetchedByPython = ["pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];
const pythonBytes = fetchedByPython.reduce((sum, name) => sum + statSync(join(modules, "pyodide", name)).size, 0);

const widgets = readdirSync(join(here, "src", "widgets")).filter((name) => name.endsWith(".ts"));
const result = await build({
  entryPoints: [
    join(here, "src", "page.ts"),
    join(here, "src", "style.css"),
    join(here, "src", "exercise.ts"),
    join(here, "src", "discussion.ts"),
    join(here, "src", "lab.ts"),
    join(here, "src", "lab-intake.ts"),
    join(here, "src", "lab-stream.ts"),
    join(here, "src", "styles", "lab.css"),
    join(here, "src", "moderation.ts"),
    join(here, "src", "python.ts"),
    join(here, "src", "console.ts"),
    join(here, "src", "take-part.ts"),
    join(here, "src", "styles", "collections.css"),
    join(here, "src", "survey.ts"),
    join(here, "src", "survey-new.ts"),
    join(here, "src", "styles", "asking.css"),
    join(here, "src", "styles", "classes.css"),
    join(here, "src", "styles", "survey.css"),
    join(here, "src", "write.ts"),
    join(here, "src", "styles", "write.css"),
    join(here, "src", "guide.ts"),
    join(here, "src", "styles", "guide.css"),
    join(here, "src", "icon.svg"),
    ...widgets.map((name) => join(here, "src", "widgets", name)),
  ],
  bundle: true,
  splitting: true,
  format: "esm",
  target: "es2022",
  minify: true,
  metafile: true,
  outdir: out,
  outbase: join(here, "src"),
  entryNames: "[dir]/[name]-[hash]",
  chunkNames: "chunks/[name]-[hash]",
  assetNames: "fonts/[name]-[hash]",
  loader: { ".svg": "copy", ".woff2": "file", ".woff": "empty", ".ttf": "empty" },
  legalComments: "linked",
  define: { PYTHON_BYTES: String(pythonBytes) },
});

const manifest = {};
const needed = {}; // what else a script imports at once, so that pages can ask for it early
const { outputs } = result.metafile;
const inStatic = (path) => path.replace(/^.*?static\//, "");
const imported = (path, found = new Set()) => {
  for (const one of outputs[path].imports)
    if (one.kind === "import-statement" && !found.has(one.path)) imported(one.path, found.add(one.path));
  return found;
};
for (const [path, { entryPoint }] of Object.entries(outputs)) {
  if (!entryPoint) continue;
  const name = entryPoint.replace(/^.*?src\//, "").replace(/\.ts$/, ".js");
  manifest[name] = inStatic(path);
  if (name.endsWith(".js")) needed[name] = [...imported(path)].map(inStatic);
}

// Python for exercises: CPython as WebAssembly, and the part of Lapwing that needs nothing else.
const { version } = JSON.parse(readFileSync(join(modules, "pyodide", "package.json"), "utf8"));
const python = `pyodide-${version}`;
mkdirSync(join(out, python));
for (const name of ["pyodide.mjs", "pyodide.asm.mjs", ...fetchedByPython])
  copyFileSync(join(modules, "pyodide", name), join(out, python, name));
manifest.pyodide = python;
const zip = join(out, "lapwing.zip");
execFileSync(process.env.PYTHON ?? "python3", [join(here, "..", "..", "..", "..", "tools", "browser-zip"), zip]);
manifest["lapwing.zip"] = `lapwing-${createHash("sha256").update(readFileSync(zip)).digest("hex").slice(0, 8)}.zip`;
renameSync(zip, join(out, manifest["lapwing.zip"]));

// KaTeX renders formulas on the server; browsers never load it.
copyFileSync(join(modules, "katex", "dist", "katex.min.js"), join(out, "katex.js"));
writeFileSync(join(out, "needed.json"), JSON.stringify(needed, null, 2) + "\n");
writeFileSync(join(out, "manifest.json"), JSON.stringify(manifest, null, 2) + "\n");
