"""A progress bar while an engine works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

PATIENCE = 1.0
"""Seconds before anything is shown."""


@contextmanager
def waiting(what: str, screen: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar that moves, and the time, on a terminal and only if it takes longer; it leaves nothing behind.

    What it yields may be told how much is done, of how much.
    Privacy: the bar does not say how far an engine is, for that would tell how many rows it has read.
    """
    if not screen.is_terminal:
        yield lambda done, total: None
        return
    columns = (TextColumn(what), BarColumn(pulse_style="private"), TimeElapsedColumn())
    progress = Progress(*columns, console=screen, transient=True)
    task = progress.add_task(what, total=None)
    timer = Timer(PATIENCE, progress.start)
    timer.start()
    try:
        yield lambda done, total: progress.update(task, completed=done, total=total)
    finally:
        timer.cancel()
        timer.join()
        progress.stop()
