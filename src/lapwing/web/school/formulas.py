"""Formulas, rendered once on the server: a page needs no script to show them.

KaTeX runs inside the process, on QuickJS, with `trust` off: no links, images or raw HTML from a formula. What makes
much of little, such as commands of one's own, is not taken, so that a formula costs about as much as it is long.
"""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any

from lapwing.web.service.assets import MissingAssets
from lapwing.web.service.cache import TextCache

LONGEST = 2000
"""Characters of one formula; a longer one is shown as it was written."""
LARGEST = 200_000
"""Characters that may come of it; the largest of ours has 16,000."""
_READY = TextCache(32 << 20)
"""Formulas as HTML, as many as fit. All of ours take 2.4 MB."""
_SECONDS = 2.0
"""A formula of ours takes a hundredth; what takes longer is cut short."""
_MULTIPLIES = re.compile(r"\\(?:[gex]?def|let|futurelet|(?:re)?newcommand|providecommand|pmb)(?![A-Za-z@])")
_LOCK = Lock()
_DISPLAYED = '<span class="katex-display">'
_REACHED = '<span class="katex-display" tabindex="0" role="group" aria-label="Formula">'
"""A long formula scrolls, and whoever has no mouse must be able to get there."""


def rendered(formula: str, *, block: bool = False) -> str:
    """HTML with MathML for readers that prefer it; a formula that is not one is shown as text, never as an error.

    >>> "katex" in rendered("e^{-x}")
    True
    >>> rendered("{")
    '<code class="formula-wrong">{</code>'
    """
    return _READY.of(f"{'block' if block else 'line'} {formula}", lambda: _shown(formula, block))


def _shown(formula: str, block: bool) -> str:
    if len(formula) <= LONGEST and not _MULTIPLIES.search(formula):
        drawn = _made(formula, block)
        if drawn and len(drawn) <= LARGEST:
            return drawn.replace(_DISPLAYED, _REACHED, 1)
    return f'<code class="formula-wrong">{html.escape(formula)}</code>'


def _made(formula: str, block: bool) -> str | None:
    import quickjs

    with _LOCK:  # one engine, and it is not made for threads
        try:
            drawn: str | None = json.loads(_engine().eval(f"formula({json.dumps(formula)}, {json.dumps(block)})"))
        except quickjs.JSException:  # no time or no memory left
            _engine.cache_clear()
            return None
    return drawn


@cache
def _engine() -> Any:
    import quickjs

    source = files("lapwing") / "web" / "static" / "katex.js"
    if not source.is_file():
        raise MissingAssets
    engine = quickjs.Context()
    engine.set_memory_limit(1 << 28)
    engine.eval(source.read_text(encoding="utf-8"))
    engine.eval(_FORMULA)
    engine.set_time_limit(_SECONDS)
    return engine


_FORMULA = """function formula(text, block) {
    const safe = { trust: false, maxExpand: 200, maxSize: 20 };
    const options = { displayMode: block, throwOnError: true, strict: "ignore", ...safe };
    try { return JSON.stringify(katex.renderToString(text, options)); } catch (error) { return "null"; }
}"""  # as JSON because the engine hands over flat strings only
