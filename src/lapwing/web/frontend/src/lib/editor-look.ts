// How CodeMirror looks, in the colours of the page, light and dark.
import { EditorView } from "codemirror";

export const look = EditorView.theme({
  "&": { fontSize: "0.9rem", color: "var(--ink)", backgroundColor: "var(--card)" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace', lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused": { outline: "3px solid var(--budget)", outlineOffset: "-3px" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--private) 8%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--private) 30%, transparent)",
  },
  ".cm-panels": { backgroundColor: "var(--paper)", color: "var(--ink)" },
  ".cm-panels input, .cm-panels button": {
    color: "var(--ink)",
    backgroundColor: "var(--card)",
    backgroundImage: "none",
  },
});
