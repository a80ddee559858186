// Python in a worker of its own: it cannot reach the page, and it can be ended.
/// <reference lib="webworker" />
export interface Wanted {
  what: "run" | "check";
  pyodide: string;
  lapwing: string;
  code: string;
  checks: string;
  audit: { call: string; epsilon: number[]; domain: string; relation: string } | null;
}
export type Told =
  | { kind: "progress"; text: string }
  | { kind: "done"; passed: boolean; lines: [string, string][] };

const scope = self as unknown as DedicatedWorkerGlobalScope;
const tell = (told: Told): void => scope.postMessage(told);

const WAYS_OUT = ["fetch", "XMLHttpRequest", "WebSocket", "WebSocketStream", "WebTransport", "EventSource", "Worker", "SharedWorker", "BroadcastChannel", "importScripts", "indexedDB", "caches", "cookieStore", "FontFace", "fonts"];
const WAYS_BEHIND = ["storageBuckets", "storage", "serviceWorker", "sendBeacon"]; // a bucket has a cache, and a cache asks for pages

/** Programs of authors run in the browsers of readers: once all is loaded, they reach neither the school nor anybody else. */
function cutOff(): void {
  for (const [from, names] of [[scope, WAYS_OUT], [scope.navigator, WAYS_BEHIND]] as [object, string[]][])
    for (const name of names) {
      for (let holder: object | null = from; holder; holder = Object.getPrototypeOf(holder) as object | null) Reflect.deleteProperty(holder, name);
      Object.defineProperty(from, name, { value: undefined });
    }
}

const JUDGE = `
import sys
sys.path.insert(0, "/lapwing")
from lapwing.web.school.judge import judged
judged(wanted.to_py(), told)
`;

let started: Promise<any> | undefined;

async function start({ pyodide, lapwing }: Wanted): Promise<any> {
  const home = new URL(pyodide, scope.location.origin).href;
  const { loadPyodide } = (await import(`${home}pyodide.mjs`)) as { loadPyodide: (options: object) => Promise<any> };
  const [python, archive] = await Promise.all([
    loadPyodide({ indexURL: home }),
    fetch(lapwing).then((answer) => answer.arrayBuffer()),
  ]);
  python.unpackArchive(archive, "zip", { extractDir: "/lapwing" });
  cutOff();
  return python;
}

scope.onmessage = async ({ data }: MessageEvent<Wanted>) => {
  const python = await (started ??= start(data)); // once; every run has names of its own
  tell({ kind: "progress", text: data.what === "check" ? "Checking …" : "Running …" });
  python.globals.set("wanted", data);
  python.globals.set("told", (text: string) => tell({ kind: "progress", text }));
  tell({ kind: "done", ...JSON.parse(python.runPython(JUDGE) as string) });
};
