// Asks the search of a built site as its pages do: the same worker with the same index. Phrases come on stdin, as JSON.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";

const site = process.argv[2];
const folder = `${site}/assets/javascripts/workers`;
const script = readdirSync(folder).find((name) => name.endsWith(".js"));
const { config, docs } = JSON.parse(readFileSync(`${site}/search/search_index.json`, "utf8"));

let listen, answer;
Object.assign(globalThis, {
    self: globalThis,
    addEventListener: (_, heard) => (listen = heard),
    postMessage: (message) => answer(message),
});
createRequire(import.meta.url)(`${folder}/${script}`);
const ask = (type, data) => new Promise((done) => ((answer = done), listen({ data: { type, data } })));

await ask(0, { config, docs, options: { suggest: true } });
const found = {};
for (const phrase of JSON.parse(readFileSync(0, "utf8"))) {
    const { data } = await ask(2, phrase);
    found[phrase] = data.items.map(([first]) => first.location);
}
console.log(JSON.stringify(found));
