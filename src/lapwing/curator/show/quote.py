"""A quote on a terminal and in a notebook: the cost of each number, the error of each output, the remaining budget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from lapwing.curator.show import digits, notebook
from lapwing.curator.show import terminal as show
from lapwing.privacy.notation import written_up
from lapwing.privacy.quotes import amount, risk

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lapwing.curator.ask.quote import Expectation, Quote

_SPENT = ("what is released", "for", "costs")
_ERRORS = ("output", "off by at most")
_PART = partial(written_up, digits=4)
"""Rounded up, like every loss."""
_FINE = partial(written_up, digits=12)
_PART_NOTE = "the parts of the cost are rounded up to four digits, so they may add up to a little more than the total"


_GLUE = "\ue000"
"""Stands for a space at which no line may end. Rich ends lines at no-break spaces, too."""


def text(quote_: Quote) -> str:
    """As text, as wide as the terminal. No line ends within ε = 1."""
    return show.plain(quote(quote_, _GLUE)).replace(_GLUE, " ")


def quote(quote: Quote, glue: str = " ") -> RenderableType:
    """The question, the costs, the errors, what remains, and the notes."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    costs, errors = _table(_SPENT), _table(_ERRORS)
    *lines, total = _costs(quote)
    for line in lines:
        costs.add_row(*map(Text, line))
    costs.add_row(*map(Text, total), style="bold")
    for output, error, known in _errors(quote):
        errors.add_row(Text(output), Text(error, style=show.STYLES["noise" if known else "quiet"]))
    notes = Table.grid(padding=(0, 1))
    for note in _notes(quote):
        notes.add_row(Text("·", style=show.STYLES["quiet"]), Text(_glued(note, glue), style=show.STYLES["quiet"]))
    parts: list[RenderableType] = [Text(digits.visible(quote.question)), Text(), costs]
    parts += [Text(), errors] if quote.expected else []
    below: list[RenderableType] = [
        Text(_glued(quote.spending(), glue), style=show.STYLES["budget"]),
        Text(_glued(risk(quote.loss), glue)),
        notes,
    ]
    return Padding(Group(*parts, Text(), *below), (0, 1))


def _glued(text: str, glue: str) -> str:
    """A text whose equations, such as ε = 1, stay on one line."""
    return re.sub(r"(?<=[εδρ]) = (?=\S)", f"{glue}={glue}", text)


def html(quote: Quote) -> str:
    """As one piece of HTML that loads nothing and runs nothing."""
    costs = _html_table(_SPENT, [(*line[:2], f'<span class="budget">{line[2]}</span>') for line in _escaped(quote)])
    errors = [
        (escape(output), f'<span class="{"noise" if known else "quiet"}">{escape(error)}</span>')
        for output, error, known in _errors(quote)
    ]
    notes = "".join(f"<li>· {escape(note)}</li>" for note in _notes(quote))
    return notebook.framed(
        f'<p class="quiet">{escape(digits.visible(quote.question))}</p>{costs}'
        + (_html_table(_ERRORS, errors) if errors else "")
        + f'<p class="budget">{escape(quote.spending())}</p><p>{escape(risk(quote.loss))}</p><ul>{notes}</ul>'
    )


def data(quote: Quote) -> dict[str, Any]:
    """The same as plain data, for JSON."""
    then = quote.remaining_after()
    return {
        "question": quote.question,
        "loss": str(quote.loss),
        "items": [{"what": line.what, "serves": list(line.serves), "loss": str(line.loss)} for line in quote.lines],
        "expected": [
            {
                "output": expectation.output,
                "error": expectation.error,
                "measured_in": expectation.measured_in or "value",
                "note": expectation.why,
            }
            for expectation in quote.expected
        ],
        "confidence": quote.confidence,
        "remaining": None if quote.remaining is None else str(quote.remaining),
        "remaining_after": None if then is None else str(then),
        "notes": list(quote.notes),
    }


def _costs(quote: Quote) -> Iterator[tuple[str, str, str]]:
    """What, for which outputs, at what cost; the sum comes last."""
    for line in quote.lines:
        serves = ", ".join(map(digits.visible, line.serves)) or "the groups"
        yield digits.visible(line.what), serves, amount(line.loss, _PART)
    yield "together", "", amount(quote.loss)


def _errors(quote: Quote) -> Iterator[tuple[str, str, bool]]:
    """An output, its error in words, and whether it is known."""
    for expectation in quote.expected:
        yield digits.visible(expectation.output), _error(expectation, quote), expectation.error is not None


def _error(expected: Expectation, quote: Quote) -> str:
    if expected.error is None:
        return f"depends on the data. {expected.why}"
    if expected.measured_in == "units":
        least, sure = digits.number(expected.error, ROUND_CEILING), digits.percent(quote.confidence)
        who = f"{digits.visible(quote.loss.unit)}s"
        used = f" among the rows used ({digits.visible(quote.counted)})" if quote.counted else ""
        shown = f"is shown with a probability of {sure} or more; a rarer one may be, too"
        return f"a key of at least {least} {who}{used} {shown}"
    if expected.measured_in:
        return f"± {digits.number(expected.error, ROUND_CEILING)} {expected.measured_in}"
    return digits.at_most(expected.error, expected.whole, expected.bounds)


def _rounds(expected: Expectation) -> bool:
    """Whether its bound is shown larger than it is, since the answer will be rounded."""
    if expected.error is None or expected.measured_in:
        return False
    return digits.is_rounded(expected.error, expected.whole)


def _notes(quote: Quote) -> list[str]:
    known = any(expectation.error is not None for expectation in quote.expected)
    often = (
        [
            f"each error bound holds with {digits.percent(quote.confidence)} confidence for a single number of the "
            "answer, not for all of them together, unless a note says so"
        ]
        if known
        else []
    )
    printed = (
        ["error bounds include the rounding of the answer as printed"] if any(map(_rounds, quote.expected)) else []
    )
    rounded = [_PART_NOTE] if any(amount(line.loss, _PART) != amount(line.loss, _FINE) for line in quote.lines) else []
    return [*often, *printed, *rounded, *map(digits.visible, quote.notes), "a quote spends nothing and reads no record"]


def _table(names: Sequence[str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        style = show.STYLES["budget"] if name == "costs" else ""
        table.add_column(name, style=style, overflow="fold", no_wrap=name == "costs")
    return table


def _escaped(quote: Quote) -> Iterator[tuple[str, str, str]]:
    for what, serves, cost in _costs(quote):
        yield escape(what), escape(serves), escape(cost)


def _html_table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
