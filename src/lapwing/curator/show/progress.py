"""A progress bar: it appears after a second, on a terminal or in a notebook, and disappears when the work is done.

Off where LAPWING_PROGRESS is 0 and by `release(progress=False)`; nothing is written where nobody looks (a pipe, a log,
a thread of a server).

Privacy: the progress and the running time of an engine reveal how many rows there are. Both are only for the person who
runs the engine in their own process, next to the data. Pages that are served to others, as in the lab, show neither.
See the threat model.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, Protocol

PATIENCE = 1.0
"""Seconds before anything is shown."""
EVERY = 0.3
"""Seconds between two changes."""
OFF = ("0", "no", "off", "false")
Fraction = Callable[[], float | None]
"""Asks an engine which share of its statement is done, from 0 to 1; None where it does not know."""


class Display(Protocol):
    """Where a bar is drawn."""

    def draw(self, share: float | None, seconds: float) -> None:
        """So much is done, after so many seconds."""

    def clear(self) -> None:
        """Leave nothing behind."""


class Bar:
    """How far one question is, across all statements that it takes."""

    def __init__(self, what: str = "", open_display: Callable[[str], Display] | None = None) -> None:
        self._what, self._open = what, open_display
        self._began = self._drawn = time.monotonic()
        self._display: Display | None = None

    def tick(self, fraction: Fraction | None) -> None:
        """Draw it anew, if it is time to."""
        now = time.monotonic()
        if self._open is None or now - self._began < PATIENCE or (self._display and now - self._drawn < EVERY):
            return
        if self._display is None:
            self._display = self._open(self._what)
        self._drawn = now
        share = None if fraction is None else _known(fraction)
        self._display.draw(share, now - self._began)

    def clear(self) -> None:
        """Remove it."""
        if self._display is not None:
            self._display.clear()


NOWHERE = Bar()
_NOW: ContextVar[Bar] = ContextVar("lapwing_progress", default=NOWHERE)


def shown_now() -> Bar:
    """The bar of the question that is under way here."""
    return _NOW.get()


@contextmanager
def shown(what: str, wanted: bool = True) -> Iterator[None]:
    """Show how far the engine is meanwhile."""
    place = place_to_show() if wanted else None
    bar = Bar(what, place) if place is not None else NOWHERE
    token = _NOW.set(bar)
    try:
        yield
    finally:
        _NOW.reset(token)
        bar.clear()


def place_to_show() -> Callable[[str], Display] | None:
    """A terminal or a notebook in which somebody waits, if there is one."""
    if os.environ.get("LAPWING_PROGRESS", "").strip().lower() in OFF:
        return None
    if threading.current_thread() is not threading.main_thread():
        return None
    if _in_notebook():
        return Notebook
    is_terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Terminal if is_terminal else None


class Terminal:
    """A bar on standard error."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"))
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(what, total=None, told="")
        self._progress.start()

    def draw(self, share: float | None, seconds: float) -> None:
        total = None if share is None else 1.0
        self._progress.update(self._task, completed=share or 0.0, total=total, told=told(share, seconds))

    def clear(self) -> None:
        self._progress.stop()


class Notebook:
    """A bar below the cell, as HTML that loads nothing."""

    def __init__(self, what: str) -> None:
        page: Any = import_module("IPython.display")  # is there, for it runs us
        self._what, self._html = what, page.HTML
        self._handle = page.display(page.HTML(""), display_id=True)

    def draw(self, share: float | None, seconds: float) -> None:
        from lapwing.curator.show.notebook import framed

        value = "" if share is None else f' value="{share:.3f}"'
        line = f'{self._what} <progress max="1"{value}></progress> <span class="quiet">{told(share, seconds)}</span>'
        self._handle.update(self._html(framed(f"<p>{line}</p>")))

    def clear(self) -> None:
        self._handle.update(self._html(""))


def told(share: float | None, seconds: float) -> str:
    """How far it is, in words.

    >>> told(0.428, 75), told(None, 3.2)
    ('43 % · 1:15', '0:03')
    """
    time_taken = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    return time_taken if share is None else f"{share:.0%} · {time_taken}".replace("%", " %")


def _known(fraction: Fraction) -> float | None:
    try:
        share = fraction()
    except Exception:  # an engine that cannot say how far it is may still answer
        return None
    return None if share is None or not 0 < share <= 1 else share


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return type(shell).__name__ == "ZMQInteractiveShell"
