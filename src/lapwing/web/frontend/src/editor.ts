// CodeMirror for Python. Escape then Tab leaves it by keyboard.
import { python } from "@codemirror/lang-python";
import { indentWithTab } from "@codemirror/commands";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { EditorView, basicSetup } from "codemirror";
import { look } from "./lib/editor-look.js";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null], color: "var(--private)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--noise)" },
  { tag: tags.number, color: "var(--budget)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: tags.function(tags.definition(tags.variableName)), fontWeight: "600" },
]);

export function editor(start: string, changed: (text: string) => void) {
  const element = document.createElement("div");
  element.className = "editor";
  const root = element.attachShadow({ mode: "open" }); // there its styles need no <style>, which our policy forbids
  const view = new EditorView({
    doc: start,
    root,
    parent: root,
    extensions: [
      basicSetup,
      keymap.of([indentWithTab]),
      python(),
      look,
      syntaxHighlighting(colours),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "Python code. Press Escape, then Tab, to leave the editor." }),
      EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
    ],
  });
  return {
    element,
    text: () => view.state.doc.toString(),
    focus: () => view.focus(),
    replace: (text: string) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
  };
}
