// The desk of an author: CodeMirror for Markdown beside a preview that follows, a form in step with the text, buttons that
// insert, and saving while one types. Readers never load this; without it a plain text field does the same, by forms.
import { indentWithTab } from "@codemirror/commands";
import { markdown } from "@codemirror/lang-markdown";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Prec } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { EditorView, basicSetup } from "codemirror";
import { draftOf, dropDraft } from "./lib/draft.js";
import { look } from "./lib/editor-look.js";
import { counted } from "./lib/plural.js";
import { added, block, formatted, inline, pressed, type Edit, type Kind, type Place } from "./writing/formatting.js";
import { fill, written, type Front } from "./writing/front.js";
import { reveal, scrollTo, show } from "./writing/preview.js";
import { Saving, plain } from "./writing/saving.js";
import { chooser, sent } from "./writing/sending.js";
import { button, choice, enter, toolbar, type Shortcut } from "./writing/toolbar.js";

interface Snippet {
  name: string;
  about: string;
  text: string;
  inline: boolean;
  holes: string[]; // what the author has to replace
  formats: boolean; // whether a button for formatting does it, too
}
interface Look {
  html: string;
  complaints: { words: string; line: number | null; advice: boolean; hole: boolean }[];
  front: Front;
  head: string | null;
  widgets: Record<string, string>;
}

const AFTER = 500; // milliseconds without a key before the preview follows
const STALE = "follows in a moment …";
const form = document.querySelector<HTMLFormElement>("#writing")!;
const field = document.querySelector<HTMLTextAreaElement>("#text")!;
const shown = document.querySelector<HTMLElement>("#preview")!;
const stale = document.querySelector<HTMLElement>("#fresh")!;
const complaints = document.querySelector<HTMLElement>("#complaints")!;
const restored = document.querySelector<HTMLElement>("#restored")!;
const saving = new Saving(form, field.value, () => text());
const { slug, writer, base } = saving;
const onServer = { text: field.value, base: base.value };
const unsaved = draftOf(writer, slug);
const brought = unsaved !== null && plain(unsaved.text) !== plain(field.value) ? unsaved : null;

const colours = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "600", color: "var(--private)" },
  { tag: tags.strong, fontWeight: "700" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.link, tags.url], color: "var(--private)" },
  { tag: tags.monospace, color: "var(--noise)" },
  { tag: [tags.processingInstruction, tags.labelName, tags.contentSeparator], color: "var(--budget)" },
  { tag: tags.quote, color: "var(--quiet)" },
]);

const STYLES: { kind: Kind; name: string; about: string; shortcut: Shortcut }[] = [
  { kind: "bold", name: "Bold", about: "Important words", shortcut: { keys: "Mod-b" } },
  { kind: "italic", name: "Italic", about: "Titles, and words to stress", shortcut: { keys: "Mod-i" } },
  { kind: "heading", name: "Heading", about: "A title within a screen", shortcut: { keys: "Mod-Alt-3" } },
  { kind: "list", name: "List", about: "Each line becomes an item", shortcut: { keys: "Mod-Shift-8" } },
  { kind: "numbers", name: "Numbers", about: "Each line becomes a numbered item", shortcut: { keys: "Mod-Shift-7" } },
  { kind: "link", name: "Link", about: "To another nugget, or elsewhere", shortcut: { keys: "Mod-k" } },
  {
    kind: "formula",
    name: "Formula",
    about: "Within a line, or of several lines",
    shortcut: { keys: "Alt-=", mac: "Ctrl-=" },
  },
  { kind: "table", name: "Table", about: "Of the lines selected, or a new one", shortcut: { keys: "Mod-Shift-9" } },
];
const PICTURE: Shortcut = { keys: "Mod-Shift-6" };
const TO_BUTTONS: Shortcut = { keys: "Alt-F10" };

const place = document.createElement("div");
place.className = "markdown";
const root = place.attachShadow({ mode: "open" }); // there its styles need no <style>, which our policy forbids
const view = new EditorView({
  doc: brought?.text ?? field.value,
  root,
  parent: root,
  extensions: [
    Prec.highest(
      keymap.of([
        ...STYLES.map(({ kind, shortcut: { keys, mac } }) => ({
          key: keys,
          ...(mac ? { mac } : {}),
          run: () => style(kind),
          preventDefault: true,
        })),
        { key: PICTURE.keys, run: () => (picture.click(), true), preventDefault: true },
        { key: TO_BUTTONS.keys, run: () => enter(document.querySelector<HTMLElement>("#format")!) },
      ]),
    ),
    basicSetup,
    keymap.of([indentWithTab, { key: "Mod-s", run: () => (void saving.save(), true) }]),
    markdown(),
    look,
    EditorView.theme({ "&": { height: "100%" } }),
    syntaxHighlighting(colours),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      "aria-label": "Markdown of the nugget. Press Escape, then Tab, to leave the editor.",
      spellcheck: "true",
      tabindex: "0",
    }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) changed();
      if (update.docChanged || update.selectionSet) showPressed();
    }),
  ],
});
const text = (): string => view.state.doc.toString();

// Preview, and the form in step

let looks = 0;
let later: ReturnType<typeof setTimeout> | undefined;

function changed(): void {
  field.value = text();
  fresh(STALE);
  clearTimeout(later);
  later = setTimeout(() => void follow(), AFTER);
  saving.changed();
}

async function follow(front: Front | null = null): Promise<void> {
  const number = ++looks;
  const asked = text();
  fresh(STALE);
  const answer = await saving.ask("/write/preview", { slug, text: asked, front }).catch(() => null);
  if (number !== looks) return; // somebody typed on
  if (!answer?.ok) {
    const busy = answer?.status === 429 || answer?.status === 503;
    const out = answer?.status === 401 || answer?.status === 403;
    if (!out) later = setTimeout(() => void follow(front), busy ? 1500 : 10_000);
    fresh(
      busy
        ? "waits for its turn: many drafts are looked at just now"
        : out
          ? "shows an older text: sign in again"
          : "shows an older text: the school could not be reached",
    );
    return;
  }
  const told = (await answer.json()) as Look;
  if (number !== looks) return;
  if (told.head !== null && text() === asked) {
    const old = /^---\n[^]*?\n---\n/.exec(asked)?.[0].length ?? 0;
    if (asked.slice(0, old) !== told.head) {
      view.dispatch({ changes: { from: 0, to: old, insert: told.head } });
      clearTimeout(later); // this text is what we look at already
    }
  }
  if (front === null) fill(form, told.front);
  document.querySelector("h1")!.textContent = String(told.front.title || slug);
  complain(told.complaints);
  show(shown, told.html);
  for (const [name, address] of Object.entries(told.widgets)) if (!customElements.get(name)) void import(address);
  if (text() === asked || told.head !== null) fresh();
  if (along && view.hasFocus)
    reveal(shown, view.state.doc.lineAt(view.state.selection.main.head).number, view.state.doc.lines);
}

/** Whether the preview shows this very text; if not, why. */
function fresh(words = ""): void {
  shown.classList.toggle("waiting", words !== "");
  stale.textContent = words;
}

/** The preview shows what the top of the editor shows, until somebody scrolls it by itself. */
function scrollAlong(): void {
  along = true;
  const { scrollDOM, state } = view;
  const block = view.lineBlockAtHeight(scrollDOM.scrollTop);
  const part = block.height ? (scrollDOM.scrollTop - block.top) / block.height : 0;
  scrollTo(shown, scrollDOM.scrollTop <= 1 ? 1 : state.doc.lineAt(block.from).number + part, state.doc.lines);
}

let along = true;
let complained = "";
function complain(about: Look["complaints"]): void {
  if (JSON.stringify(about) === complained) return; // nobody hears the same twice
  complained = JSON.stringify(about);
  showHoles(about.filter(({ hole }) => hole));
  complaints.replaceChildren(
    ...about
      .filter(({ hole }) => !hole)
      .map(({ words, line, advice }) => {
        const item = document.createElement("li");
        if (advice) item.className = "advice";
        if (line) {
          const go = document.createElement("button");
          go.type = "button";
          go.textContent = `Line ${line}:`;
          go.addEventListener("click", () => goTo(line));
          item.append(go, " ");
        }
        item.append(words);
        return item;
      }),
  );
}

/** What is left to write, closed until somebody wants to see it. */
function showHoles(found: Look["complaints"]): void {
  const place = document.querySelector<HTMLElement>("#holes")!;
  const open = place.querySelector("details")?.open ?? false;
  if (!found.length) return place.replaceChildren();
  const list = document.createElement("details");
  list.className = "holes";
  list.open = open;
  const summary = document.createElement("summary");
  summary.textContent = `${counted(found.length, "place needs", "places need")} words of your own before this can be published`;
  const items = document.createElement("ul");
  for (const { words, line } of found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = "#text";
    link.dataset.goto = String(line);
    link.textContent = `Line ${line}`;
    item.append(link, `: ${words}`);
    items.append(item);
  }
  list.append(summary, items);
  place.replaceChildren(list);
}

document.addEventListener("click", (event) => {
  const link = (event.target as Element).closest<HTMLElement>("[data-goto]");
  if (!link) return;
  event.preventDefault();
  goTo(Number(link.dataset.goto));
});

function goTo(line: number): void {
  const at = view.state.doc.line(Math.min(line, view.state.doc.lines)).from;
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  view.focus();
}

/** Shows what this browser kept in place of the text that the school has, and says so. */
function bringBack(): void {
  if (!brought) return dropDraft(writer, slug);
  base.value = brought.base; // if the school has a newer text by now, saving shows both
  field.value = brought.text;
  restored.querySelector("time")!.textContent = new Date(brought.at).toLocaleString([], {
    dateStyle: "medium",
    timeStyle: "short",
  });
  restored.querySelector("button")!.addEventListener("click", () => {
    const early = saving.kept === onServer.text; // nothing of what was brought back is saved so far
    if (early) base.value = onServer.base;
    if (early) saving.stuck = false;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: onServer.text } });
    if (early) saving.say("This is the saved text.");
    restored.hidden = true;
    view.focus();
  });
  restored.hidden = false;
  changed();
}

// Buttons

function put({ changes, anchor, head }: Edit): boolean {
  view.dispatch({ changes, selection: { anchor, head }, scrollIntoView: true, userEvent: "input.format" });
  view.focus();
  return true;
}

function selection(): Place {
  const { from, to } = view.state.selection.main;
  return { text: text(), from, to };
}

function insert({
  text: what,
  inline: within,
  holes = [],
}: Pick<Snippet, "text" | "inline"> & { holes?: string[] }): void {
  put((within ? inline : added)(selection(), what, holes[0]));
}

const told = JSON.parse(document.querySelector("#snippets")?.textContent ?? "{}") as {
  snippets: Snippet[];
  widgets: Snippet[];
  terms: string[];
  samples: Record<Kind | "picture" | "video" | "captions", string>;
};
const style = (kind: Kind): boolean => put(formatted(kind, selection(), told.samples[kind]));
const said = document.createElement("span");
const picture = chooser("Picture to send", "image/png,image/jpeg,image/webp", async (file) => {
  said.textContent = "Sending the picture …";
  const found = await sent("/uploads", { picture: file! }, saving.csrf);
  said.textContent =
    typeof found === "string" ? found : "The picture is there. Write in the brackets what people see on it.";
  if (typeof found === "string") return;
  const { text: whole, from, to } = selection();
  const words = whole.slice(from, to).trim();
  const about = words && !/[[\]\n]/.test(words) ? words : told.samples.picture;
  put(block({ text: whole, from, to }, `![${about}](${found.address})`, about));
});

const film = chooser(
  "Video to send, and its captions",
  "video/mp4,video/webm,.vtt,text/vtt",
  async (...files) => {
    said.textContent = "Sending …";
    const captions = files.find(({ name }) => name.toLowerCase().endsWith(".vtt"));
    const video = files.find((file) => file !== captions);
    const found = await sent(
      "/uploads/videos",
      { ...(video && { video }), ...(captions && { captions }) },
      saving.csrf,
    );
    if (typeof found === "string") return void (said.textContent = found);
    said.textContent = found.captions
      ? "It is there. Write what people see and hear."
      : "The video is there. Choose its captions, too, a .vtt file; if nobody speaks in it, write none.";
    if (found.video)
      put(
        added(
          selection(),
          `\`\`\`video\nfile: ${found.video}\ncaptions: ${found.captions ?? told.samples.captions}\nabout: ${told.samples.video}\n\`\`\``,
          found.captions ? told.samples.video : told.samples.captions,
        ),
      );
    else put(inline(selection(), found.captions!));
  },
  true,
);

function showPressed(): void {
  const now = pressed(selection());
  for (const one of document.querySelectorAll<HTMLElement>("#format [data-kind]"))
    one.setAttribute("aria-pressed", String(now.includes(one.dataset.kind as Kind)));
}

function buttons(): void {
  const format = document.querySelector<HTMLElement>("#format")!;
  const bar = document.querySelector<HTMLElement>("#insert")!;
  const { snippets, widgets, terms } = told;
  said.className = "said";
  said.setAttribute("role", "status");
  const styles = STYLES.map(({ kind, name, about, shortcut }) => {
    const made = button(name, about, () => style(kind), shortcut);
    made.dataset.kind = kind;
    return made;
  });
  const widget = (name: string): void => insert(widgets.find((one) => one.name === name)!);
  format.append(
    ...styles,
    button("Picture", "PNG, JPEG or WebP, up to 2 MB", () => picture.click(), PICTURE),
    button("Video", "A short MP4 or WebM, up to 16 MB; choose its captions (.vtt) with it", () => film.click()),
    picture,
    film,
  );
  bar.append(
    ...snippets.filter((one) => !one.formats).map((one) => button(one.name, one.about, () => insert(one))),
    choice(
      "Widget",
      widgets.map(({ name, about }) => [name, `${name}: ${about}`]),
      widget,
    ),
    choice(
      "Glossary term",
      terms.map((term) => [term, term]),
      (term) => insert({ text: term, inline: true }),
    ),
  );
  for (const one of [format, bar]) {
    toolbar(one, () => view.focus());
    one.hidden = false;
  }
  bar.after(said);
  showPressed();
}

field.hidden = true;
field.after(place);
document.querySelector<HTMLLabelElement>('label[for="text"]')!.removeAttribute("for");
document.querySelector<HTMLElement>(".keys")!.hidden = false;
form.querySelector<HTMLElement>("#look")!.hidden = true;
form.querySelector<HTMLElement>("#put")!.hidden = true;
buttons();
let typed: ReturnType<typeof setTimeout> | undefined;
form.querySelector("#front")!.addEventListener("input", () => {
  clearTimeout(typed);
  clearTimeout(later);
  looks++; // what the text said before counts no more
  typed = setTimeout(() => void follow(written(form)), 400);
});
let leaving = false;
form.addEventListener("submit", () => {
  leaving = true;
  field.value = text();
  saving.keepHere(); // if the session is over, nothing is saved
});
addEventListener("pagehide", () => saving.keepHere());
addEventListener("focus", () => {
  if (saving.out) void saving.save();
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden" && text().length < 15_000) void saving.save({ keepalive: true });
  else if (document.visibilityState === "hidden") void saving.save();
});
addEventListener("beforeunload", (event) => {
  if (!leaving && text() !== saving.kept && !saving.keepHere()) event.preventDefault();
});
for (const way of ["wheel", "touchmove", "keydown", "pointerdown"])
  shown.addEventListener(way, () => (along = false), { passive: true });
view.scrollDOM.addEventListener("scroll", scrollAlong, { passive: true });
bringBack();
void follow();
