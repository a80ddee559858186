"""What a fit would cost, line by line, before anything is spent or read."""

from __future__ import annotations

import io
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from lapwing.charts import PALETTE
from lapwing.privacy.notation import written_up
from lapwing.privacy.quotes import Line, Quote, amount, risk

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class FitQuote(Quote):
    """The price of a fit.

    Attributes:
        estimator: The name of the estimator.

    >>> from lapwing.models import LinearRegression
    >>> quote = LinearRegression(epsilon=1, bounds=(0, 10), target_bounds=(0, 100)).quote(1)
    >>> print(quote.estimator, "costs", quote.loss)
    LinearRegression costs ε = 1 (add_remove, per person)
    """

    estimator: str

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
        table.add_row("together", amount(self.loss), "", style="bold")
        notes = [Text(f"· {note}", style="dim") for note in self._notes()]
        below = (Text(self.spending(), style=_BUDGET), Text(risk(self.loss)), *notes)
        return Padding(Group(Text(f"a fit of {self.estimator}"), Text(), table, Text(), *below), (0, 1))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{heading}</th>" for heading in _HEADINGS)
        rows = [*map(_cells, self.lines), ("together", amount(self.loss), "")]
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        notes = "<br>".join(f"· {escape(note)}" for note in self._notes())
        return (
            f'<div class="lapwing-fit"><style>{_STYLE}</style><p class="quiet">a fit of {escape(self.estimator)}</p>'
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f'<p class="budget">{escape(self.spending())}</p><p>{escape(risk(self.loss))}</p>'
            f'<p class="quiet">{notes}</p></div>'
        )

    def _notes(self) -> list[str]:
        known = any(line.off_by is not None for line in self.lines)
        often = ["“off by at most” holds with 95 % confidence, for each number"] if known else []
        if any("half width" in line.of for line in self.lines):
            often.append("a half width is half the distance between the bounds of a column")
        return [
            *often,
            "using the fitted model costs nothing more",
            "nothing was spent, and no row was read",
        ]


_HEADINGS = ("what is released", "costs", "off by at most")
_BUDGET, _NOISE = PALETTE["budget"], PALETTE["noise"]
_STYLE = """
.lapwing-fit { font: 13px/1.5 system-ui, sans-serif; padding: .7em 1em; border: 1px solid #8884; border-radius: 8px;
  display: inline-block; max-width: 100%; box-sizing: border-box; overflow-x: auto; }
.lapwing-fit table { border-collapse: collapse; margin: 0 0 .6em; font-variant-numeric: tabular-nums; }
.lapwing-fit th, .lapwing-fit td { padding: .15em 1em .15em 0; text-align: left; border: 0; background: none; }
.lapwing-fit thead th { border-bottom: 1px solid #8886; }
.lapwing-fit td:nth-child(2), .lapwing-fit .budget { color: #b58100; font-weight: 600; }
.lapwing-fit td:nth-child(3) { color: NOISE; }
.lapwing-fit tr:last-child td { font-weight: 600; }
.lapwing-fit p { margin: .1em 0; max-width: 52em; }
.lapwing-fit .quiet { opacity: .7; }
""".replace("NOISE", _NOISE)


def _cells(line: Line) -> tuple[str, str, str]:
    off = "depends on the rows"
    if line.off_by is not None:
        number = f"{line.off_by:,.3g}"
        off = line.of.format(number) if "{}" in line.of else f"{number} {line.of}".rstrip()
    return line.what, amount(line.loss, lambda size: written_up(size, digits=3)), off
