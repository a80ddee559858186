// Run a Python script on Pyodide, with one folder of the machine on its path:  node run.mjs SRC SCRIPT
import { basename, dirname, resolve } from "node:path";
import { loadPyodide } from "pyodide";

const [source, script] = process.argv.slice(2).map((path) => resolve(path));
const python = await loadPyodide({ stdout: console.log, stderr: console.error });
python.mountNodeFS("/src", source);
python.mountNodeFS("/script", dirname(script));
try {
  python.runPython(`
import runpy, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/src")
print("Python", sys.version)
runpy.run_path("/script/${basename(script)}", run_name="__main__")
`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
