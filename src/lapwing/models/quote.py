"""What a fit would cost, line by line, before anything is spent or read."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from lapwing.privacy import Loss
from lapwing.privacy.written import written_down, written_up

if TYPE_CHECKING:
    from rich.console import RenderableType


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

        console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False)
        with console.capture() as shown:
            console.print(self)
        return "\n".join(line.rstrip() for line in shown.get().splitlines())

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> RenderableType:
        from rich import box
        from rich.console import Group
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
        for heading, style in zip(_HEADINGS, ("", _BUDGET, _NOISE), strict=True):
            table.add_column(heading, style=style, overflow="fold", no_wrap=heading == "costs")
        for line in self.lines:
            what, costs, off = _cells(line)
            table.add_row(Text(what), Text(costs), Text(off, style="dim" if line.off_by is None else ""))
        table.add_row("in all", _amount(self.loss), "", style="bold")
        notes = [Text(f"· {note}", style="dim") for note in self._notes()]
        below = (Text(self._spending(), style=_BUDGET), Text(self._risk()), *notes)
        return Padding(Group(Text(f"a fit of {self.estimator}"), Text(), table, Text(), *below), (0, 1))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
        rows = [*map(_cells, self.lines), ("in all", _amount(self.loss), "")]
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        notes = "<br>".join(f"· {escape(note)}" for note in self._notes())
        return (
            f'<div class="lapwing-fit"><style>{_STYLE}</style><p class="quiet">a fit of {escape(self.estimator)}</p>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f'<p class="budget">{escape(self._spending())}</p><p>{escape(self._risk())}</p><p class="quiet">{notes}</p>'
            "</div>"
        )

    def _spending(self) -> str:
        left = "" if self.remaining is None else f" · {_amount(self.remaining, written_down)} remains before the fit"
        return f"costs {self.loss}{left}"

    def _risk(self) -> str:
        told = self.loss.explain().data
        differs = f"which differs with probability at most {written_up(told['delta'], 3)}"
        stand_in = f", taken for a stand-in's, {differs}" if told["delta"] else ""
        return (
            f"Whoever knows everybody else and gives 50 out of 100 that one {self.loss.unit} takes part "
            f"gives at most {told['out_of_100_after']} out of 100 after this fit{stand_in}."
        )

    def _notes(self) -> list[str]:
        known = any(line.off_by is not None for line in self.lines)
        often = ["noise moves each number by at most this, 95 times out of 100"] if known else []
        if any("half width" in line.of for line in self.lines):
            often.append("a half width is half of the distance between the bounds of a column")
        return [
            *often,
            "what is done with the fitted model costs nothing more",
            "nothing was spent, and no row was read",
        ]


_HEADINGS = ("what is released", "costs", "off by at most")
_BUDGET, _NOISE = "#d99a00", "#b5651d"
_SIGNS = (("epsilon", "ε"), ("rho", "ρ"), ("delta", "δ"))
_STYLE = """
.lapwing-fit { font: 13px/1.5 system-ui, sans-serif; padding: .7em 1em; border: 1px solid #8884; border-radius: 8px;
  display: inline-block; max-width: 100%; box-sizing: border-box; overflow-x: auto; }
.lapwing-fit table { border-collapse: collapse; margin: 0 0 .6em; font-variant-numeric: tabular-nums; }
.lapwing-fit th, .lapwing-fit td { padding: .15em 1em .15em 0; text-align: left; border: 0; background: none; }
.lapwing-fit thead th { border-bottom: 1px solid #8886; }
.lapwing-fit td:nth-child(2), .lapwing-fit .budget { color: #b58100; font-weight: 600; }
.lapwing-fit td:nth-child(3) { color: #b5651d; }
.lapwing-fit tr:last-child td { font-weight: 600; }
.lapwing-fit p { margin: .1em 0; max-width: 52em; }
.lapwing-fit .quiet { opacity: .7; }
"""


def _cells(line: Line) -> tuple[str, str, str]:
    off = "depends on the rows" if line.off_by is None else f"{line.off_by:,.3g} {line.of}".rstrip()
    return line.what, _amount(line.loss, lambda size: written_up(size, digits=3)), off


def _amount(loss: Loss, written: Callable[[Fraction], str] = written_up) -> str:
    sizes = [(sign, getattr(loss, name)) for name, sign in _SIGNS if hasattr(loss, name)]
    return ", ".join(f"{sign} = {written(size)}" for sign, size in sizes) or "a Rényi curve"
