"""How much one core does in a second: what is measured of the servers of a collection, and how it is shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Rate:
    """How much one core does in a second, and what we demand; `floor` is what the library below does."""

    what: str
    rate: float
    bar: float | None = None
    floor: float | None = None
    share: float | None = None
    """Of the floor that we demand."""

    @property
    def met(self) -> bool:
        enough = self.bar is None or self.rate >= self.bar
        return enough and (self.floor is None or self.share is None or self.rate >= self.share * self.floor)


def per_second(work: int, do: Callable[[], object]) -> float:
    """Of one core."""
    start = time.process_time()
    do()
    return work / (time.process_time() - start)


def workspace_in(folder: Path, admission: str) -> Any:
    """A signed collection with three answers."""
    from lapwing.collect.workspace import Workspace

    workspace = Workspace(folder)
    workspace.create(question="How do you travel?", answers=["bus", "bike", "car"], admission=admission)
    workspace.open()
    return workspace


def show(rates: Sequence[Rate]) -> None:
    """One line for each."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("what", "a second of one core", "bar", "the library below", "of it (bar)"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for rate in rates:
        bar = "" if rate.bar is None else f"{rate.bar:,.0f}"
        floor = "" if rate.floor is None else f"{rate.floor:,.0f}"
        share = "" if rate.floor is None else f"{rate.rate / rate.floor:.2f} ({rate.share})"
        table.add_row(rate.what, f"{rate.rate:,.0f}", bar, floor, share, style=None if rate.met else "red")
    Console().print(table)
