// Run a Python script of this project on Pyodide:  node run.mjs SCRIPT [SITE-PACKAGES]
// The second folder, if given, is on its path last: packages of pure Python can be used from there.
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..", "..");
const [script, site] = process.argv.slice(2);
const python = await loadPyodide({ stdout: console.log, stderr: console.error });
python.mountNodeFS("/lapwing", root);
if (site) python.mountNodeFS("/site", resolve(site));
try {
  python.runPython(`
import runpy, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/lapwing/src")
sys.path.append("/site")
print("Python", sys.version)
runpy.run_path("/lapwing/${relative(root, script)}", run_name="__main__")
`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
