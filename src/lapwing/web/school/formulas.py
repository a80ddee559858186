"""Formulas, rendered once on the server: a page needs no script to show them.

KaTeX runs inside the process, on QuickJS, with `trust` off: no links, images or raw HTML from a formula.
"""

from __future__ import annotations

import html
import json
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock
from typing import Any

LONGEST = 2000
"""Characters of one formula; a longer one is shown as it was written."""
MOST = 4096
"""Formulas kept ready."""
_LOCK = Lock()
_DISPLAYED = '<span class="katex-display">'
_REACHED = '<span class="katex-display" tabindex="0" role="group" aria-label="Formula">'
"""A long formula scrolls, and whoever has no mouse must be able to get there."""


@lru_cache(maxsize=MOST)
def rendered(formula: str, *, block: bool = False) -> str:
    """HTML with MathML for readers that prefer it; a formula that is not one is shown as text, never as an error.

    >>> "katex" in rendered("e^{-x}")
    True
    >>> rendered("{")
    '<code class="formula-wrong">{</code>'
    """
    if len(formula) <= LONGEST:
        with _LOCK:  # one engine, and it is not made for threads
            made = json.loads(_engine().eval(f"formula({json.dumps(formula)}, {json.dumps(block)})"))
        if made:
            return str(made).replace(_DISPLAYED, _REACHED, 1)
    return f'<code class="formula-wrong">{html.escape(formula)}</code>'


@cache
def _engine() -> Any:
    import quickjs

    engine = quickjs.Context()
    engine.set_memory_limit(1 << 28)
    engine.eval((files("lapwing") / "web" / "static" / "katex.js").read_text(encoding="utf-8"))
    engine.eval(_FORMULA)
    return engine


_FORMULA = """function formula(text, block) {
    const safe = { trust: false, maxExpand: 200, maxSize: 20 };
    const options = { displayMode: block, throwOnError: true, strict: "ignore", ...safe };
    try { return JSON.stringify(katex.renderToString(text, options)); } catch (error) { return "null"; }
}"""  # as JSON because the engine hands over flat strings only
