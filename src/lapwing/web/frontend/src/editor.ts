// CodeMirror for Python. Escape then Tab leaves it by keyboard.
import { python } from "@codemirror/lang-python";
import { indentWithTab } from "@codemirror/commands";
import { keymap } from "@codemirror/view";
import { EditorView, basicSetup } from "codemirror";

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
