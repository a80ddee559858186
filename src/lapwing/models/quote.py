"""What a fit would cost, line by line, before anything is spent or read."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from lapwing.privacy import Loss
from lapwing.privacy.written import written_up

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Line:
    """One release of a fit."""

    what: str
    loss: Loss
    off_by: float | None = None
    """How far one of its numbers may be off, 95 times of 100; None where that depends on the rows."""
    of: str = ""
    """What `off_by` is measured in."""


@dataclass(frozen=True, slots=True, repr=False)
class Quote:
    """The price of a fit."""

    estimator: str
    loss: Loss
    lines: tuple[Line, ...]
    remaining: Loss | None = None

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=100, no_color=True, highlight=False)
        with console.capture() as shown:
            console.print(self)
        return shown.get().rstrip()

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> Table:
        from rich.table import Table

        table = Table(*_HEADINGS, title=f"{self.estimator}: what a fit costs", title_justify="left", box=None)
        for row in self._rows():
            table.add_row(*row)
        table.caption, table.caption_justify = self._below(), "left"
        return table

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(word)}</th>" for word in _HEADINGS)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{escape(self._below())}</p>"

    def _rows(self) -> list[tuple[str, str, str]]:
        rows = []
        for line in self.lines:
            off = "depends on the rows" if line.off_by is None else f"{line.off_by:.3g} {line.of}".rstrip()
            rows.append((line.what, _short(line.loss), off))
        return rows

    def _below(self) -> str:
        left = "" if self.remaining is None else f"; {self.remaining} remains"
        return f"together at most {self.loss}{left}"


_HEADINGS = ("what is released", "costs", "off by at most (95 %)")


def _short(loss: Loss) -> str:
    signs = [(name, sign) for name, sign in (("epsilon", "ε"), ("delta", "δ"), ("rho", "ρ")) if hasattr(loss, name)]
    return ", ".join(f"{sign} = {written_up(getattr(loss, name), digits=3)}" for name, sign in signs) or str(loss)
