// Python in a worker of its own: it cannot reach the page, and it can be ended.
/// <reference lib="webworker" />
export interface Wanted {
  what: "load" | "run" | "check";
  pyodide: string;
  lapwing: string;
  code: string;
  checks: string;
  audit: { call: string; epsilon: number[]; domain: string; relation: string } | null;
}
export type Told =
  | { kind: "loading"; share: number }
  | { kind: "ready" }
  | { kind: "failed" }
  | { kind: "progress"; text: string }
  | { kind: "done"; passed: boolean; lines: [string, string][] };

const scope = self as unknown as DedicatedWorkerGlobalScope;
const tell = (told: Told): void => scope.postMessage(told);

const WAYS_OUT = [
  "fetch",
  "XMLHttpRequest",
  "WebSocket",
  "WebSocketStream",
  "WebTransport",
  "EventSource",
  "Worker",
  "SharedWorker",
  "BroadcastChannel",
  "importScripts",
  "indexedDB",
  "caches",
  "cookieStore",
  "FontFace",
  "fonts",
];
const WAYS_BEHIND = ["storageBuckets", "storage", "serviceWorker", "sendBeacon"]; // a bucket has a cache, and a cache asks for pages

/** Programs of authors run in the browsers of readers: once all is loaded, they reach neither the school nor anybody else. */
function cutOff(): void {
  for (const [from, names] of [
    [scope, WAYS_OUT],
    [scope.navigator, WAYS_BEHIND],
  ] as [object, string[]][])
    for (const name of names) {
      for (let holder: object | null = from; holder; holder = Object.getPrototypeOf(holder) as object | null)
        Reflect.deleteProperty(holder, name);
      Object.defineProperty(from, name, { value: undefined });
    }
}

const JUDGE = `
import sys
sys.path.insert(0, "/lapwing")
from lapwing.web.school.judge import judged
judged(wanted.to_py(), told)
`;

declare const PYTHON_BYTES: number; // what there is to load, told by build.mjs
let started: Promise<any> | undefined;

/** Everything that Pyodide fetches is counted on its way, so that people see how far it is. */
function countLoading(): void {
  const fetched = scope.fetch.bind(scope);
  let bytes = 0;
  const count = new Set<number>();
  scope.fetch = async (...asked: Parameters<typeof fetch>) => {
    const answer = await fetched(...asked);
    if (!answer.body) return answer;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(part, next) {
        bytes += part.byteLength;
        const percent = Math.min(99, Math.floor((100 * bytes) / PYTHON_BYTES));
        if (!count.has(percent)) tell({ kind: "loading", share: percent / 100 });
        count.add(percent);
        next.enqueue(part);
      },
    });
    return new Response(answer.body.pipeThrough(counter), { status: answer.status, headers: answer.headers });
  };
}

async function start({ pyodide, lapwing }: Wanted): Promise<any> {
  countLoading();
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
  let python: any;
  try {
    python = await (started ??= start(data)); // once; every run has names of its own
  } catch (error) {
    console.error(error);
    return tell({ kind: "failed" });
  }
  if (data.what === "load") return tell({ kind: "ready" });
  tell({ kind: "progress", text: data.what === "check" ? "Checking …" : "Running …" });
  python.globals.set("wanted", data);
  python.globals.set("told", (text: string) => tell({ kind: "progress", text }));
  tell({ kind: "done", ...JSON.parse(python.runPython(JUDGE) as string) });
};
