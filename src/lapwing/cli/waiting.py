"""A sign of life while an engine works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

PATIENCE = 1.0
"""Seconds before anything is shown."""


@contextmanager
def waiting(what: str, screen: Console) -> Iterator[None]:
    """A bar that moves, and the time, on a terminal and only if it takes longer; it leaves nothing behind.

    Privacy: the bar does not say how far the engine is, for that would tell how many rows it has read.
    """
    if not screen.is_terminal:
        yield
        return
    columns = (TextColumn(what), BarColumn(pulse_style="private"), TimeElapsedColumn())
    progress = Progress(*columns, console=screen, transient=True)
    progress.add_task(what, total=None)
    timer = Timer(PATIENCE, progress.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
