// Devices of a collection for the tests in Python: jobs in, one JSON object each out. Requests are real.
import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const src = join(dirname(fileURLToPath(import.meta.url)), "..", "src", "collect");
const outfile = join(mkdtempSync(join(tmpdir(), "lapwing-")), "collect.mjs");
const contents = ["bytes", "collection", "crowds", "device", "envelopes", "reports", "sealing"]
  .map((name) => `export * as ${name} from "./${name}.js";`)
  .join("\n");
const stdin = { contents, resolveDir: src, loader: "ts" };
await build({ stdin, bundle: true, format: "esm", outfile });
const { bytes, collection, crowds, device, envelopes, reports } = await import(pathToFileURL(outfile).href);

globalThis.navigator ??= {}; // as on a page without https: no locks

const { fromHex, hex } = bytes;
const memory = () => {
  const held = new Map();
  return {
    held,
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => held.set(key, value),
    removeItem: (key) => held.delete(key),
  };
};

const jobs = {
  read: ({ text }) => {
    const one = collection.read(text);
    return { hash: hex(one.hash), operator: one.operator, answers: one.answers, epochs: one.epochs.length };
  },
  refused: ({ text }) => {
    try {
      collection.read(text);
      return { refused: false };
    } catch (error) {
      return { refused: true, why: error.message };
    }
  },
  seal: ({ text, report, token }) => {
    const one = collection.read(text);
    const sealed = envelopes.sealReport(one, one.epochs[0], fromHex(report));
    return { envelope: hex(envelopes.envelope(one, one.epochs[0].number, sealed, token)) };
  },
  // All layers of a report, from given random bytes.
  layers: ({ collection: text, report, place, attribute, draws }) => {
    const one = collection.read(text);
    const given = draws.map(fromHex);
    const crowd = crowds.crowdName(one, fromHex(report), place, attribute);
    const draw = (size) => {
      const bytes = given.shift();
      if (bytes.length !== size) throw new Error(`${bytes.length} bytes are given, ${size} were drawn`);
      return bytes;
    };
    const sealed = envelopes.sealReport(one, one.epochs[0], fromHex(report), crowd, draw);
    return { crowd: hex(crowd), sealed: hex(sealed), left: given.length };
  },
  crowd: ({ text, answer, attribute = null }) => {
    try {
      return { crowd: hex(crowds.crowdName(collection.read(text), new Uint8Array(0), answer, attribute)) };
    } catch (error) {
      return { refused: error.message };
    }
  },
  tokens: ({ kept, key, answer }) => ({ tokens: envelopes.received(kept, fromHex(key), fromHex(answer)) }),
  request: ({ epoch, count }) => {
    const kept = envelopes.request(epoch, count);
    return { kept, body: hex(envelopes.requested(kept)) };
  },
  wrap: ({ text, envelope }) => {
    const one = collection.read(text);
    const { key, body } = envelopes.wrapped(one, one.epochs[0], fromHex(envelope));
    return { key: hex(key), body: hex(body) };
  },
  status: ({ key, answer }) => ({ status: envelopes.statusOf(fromHex(key), fromHex(answer)) }),
  report: ({ text, answer, words }) => {
    const one = collection.read(text);
    const given = words.map(BigInt);
    return { report: hex(reports.randomised(one, answer, () => given.shift())), left: given.length };
  },
  sample: ({ text, answer, count }) => {
    const one = collection.read(text);
    return { reports: Array.from({ length: count }, () => hex(reports.randomised(one, answer))) };
  },
  // A life: at each step a time, an answer (or none), and what the network does.
  live: async ({ text, steps, code, before = [] }) => {
    const store = memory();
    for (const [key, value] of before) store.setItem(key, value);
    const sent = [];
    let now = 0;
    let network = "up";
    const world = {
      store,
      now: () => now,
      post: async (address, body, headers) => {
        if (network === "down") throw new Error("no network");
        if (!address.endsWith("/tokens")) sent.push(hex(body));
        return device.browser.post(address, body, headers);
      },
    };
    const log = [];
    for (const step of steps) {
      now = step.now;
      network = step.network ?? "up";
      const one = new device.Device(collection.read(step.text ?? text), world, code ? { "x-lapwing-code": code } : {});
      try {
        if (step.optIn) one.optIn(step.attribute ?? null);
      } catch (error) {
        log.push({ refused: error.message });
        continue;
      }
      if (step.optOut) one.optOut();
      if (step.crash) {
        const keep = store.setItem;
        let writes = 0;
        store.setItem = (key, value) => {
          if (++writes > step.crash) throw new Error("the power failed");
          keep(key, value);
        };
        await one.answer(step.answer ?? null).catch(() => {});
        store.setItem = keep;
        continue;
      }
      const done = step.skip ? null : await one.answer(step.answer ?? null);
      log.push({ done, open: one.open, left: one.left, optedIn: one.optedIn, kept: [...store.held.values()].join("") });
    }
    return { sent, log };
  },
};

const lines = readFileSync(0, "utf8").trim().split("\n");
for (const line of lines) {
  const { job, ...rest } = JSON.parse(line);
  console.log(JSON.stringify(await jobs[job](rest)));
}
