"""`lapwing stream open-numbers`: running totals of numbers (ToPS). Other commands recognise such a stream's file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing import checks
from lapwing.cli.stream_page import Shown, progress, watched
from lapwing.cli.theme import console, readable_errors
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lapwing.curator.streams.numeric_stream import NumericStream, NumericTotal
    from lapwing.privacy import Loss

_NUMBERS, _BOOK = "Numbers", "Ledger"


def _option(help: str, panel: str = _NUMBERS) -> Any:
    return typer.Option(help=help, rich_help_panel=panel, show_default=False)


def open_numbers(
    state: Annotated[Path, typer.Option(help="A new file for the stream, which only you may read.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss of one number, paid once for all steps.")],
    bound: Annotated[
        float, _option("Largest value a number can have (public). Larger numbers count as this, negative ones as 0.")
    ],
    steps: Annotated[int, _option("How many steps the stream has.")],
    first: Annotated[int, _option("How many first steps are used to choose the threshold. They give no totals.")],
    values_per_step: Annotated[int, _option("About how many numbers a step has.")] = 1,
    typical_range: Annotated[int | None, _option("How many steps a typical question is about.")] = None,
    block: Annotated[int | None, _option("How many steps share one draw of noise.")] = None,
    unit: Annotated[str, typer.Option(help="What one number is about.", rich_help_panel=_NUMBERS)] = "event",
    ledger: Annotated[str | None, _option("File that records how much privacy budget has been spent.", _BOOK)] = None,
    dataset: Annotated[str | None, _option("Name of the data set in the ledger.", _BOOK)] = None,
    allowance: Annotated[float | None, _option("Epsilon that may be spent in all, for a new data set.", _BOOK)] = None,
    analyst: Annotated[str | None, _option("Name of the analyst whose budget is charged.", _BOOK)] = None,
    quote: Annotated[bool, typer.Option("--quote", help="Print what the stream would cost. Nothing is spent.")] = False,
) -> None:
    """Open a stream that publishes running totals of numbers, for one price.

    Numbers above a privately chosen threshold count as the threshold, and numbers below 0 count as 0.
    """
    with readable_errors():
        from lapwing.curator.ask.quote import NO_LEDGER
        from lapwing.curator.streams.numeric_stream import open_numeric_stream
        from lapwing.mechanisms import Tops

        mechanism = Tops(
            epsilon=epsilon, bound=bound, steps=steps, first=first, values_per_step=values_per_step,
            typical_range=typical_range, block=block, unit=unit,
        )  # fmt: skip
        screen = console()
        book = None if quote else _ledger(ledger, dataset, allowance, analyst, unit)
        screen.print(str(mechanism.quote()), markup=False)
        if ledger is None:
            screen.print(f"· {NO_LEDGER}")
        if quote:
            return
        opened = open_numeric_stream(state, mechanism, ledger=book, dataset=dataset, analyst=analyst)
        screen.print(opening(state, opened.loss, recorded=book is not None), soft_wrap=True)
        screen.print(f"  next: lapwing stream observe {state} NUMBERS.csv --column COLUMN", soft_wrap=True)


def opening(state: Path, loss: Loss, *, recorded: bool) -> str:
    """That a stream is open; without a ledger nobody keeps count of what it costs."""
    return f"[private]✓[/] {state} is open{' and paid for' if recorded else ', but recorded in no ledger'}: {loss}"


def _ledger(place: str | None, dataset: str | None, allowance: float | None, analyst: str | None, unit: str) -> Any:
    """The ledger with its data set; without one, nothing is recorded, and nothing about one may be said."""
    from lapwing.privacy import Ledger, PureDP

    if place is None:
        for name, given in (("dataset", dataset), ("allowance", allowance), ("analyst", analyst)):
            if given is not None:
                raise InvalidParameter(name, given, "is for a ledger", "Write --ledger ledger.db as well.")
        return None
    if dataset is None:
        raise InvalidParameter("dataset", None, "says which allowance is spent", "Write --dataset delays, for example.")
    book = Ledger(place)
    if allowance is not None:
        book.open(dataset, PureDP(checks.exact(allowance=allowance), unit=unit))
    return book


def reopened(state: Path, ledger: str | None, anchor: str | None) -> NumericStream:
    """The stream of numbers in a file."""
    from lapwing.curator.streams.numeric_stream import open_numeric_stream

    refused({"ledger": ledger}, "a stream of numbers was charged when it was opened, and needs none any more")
    return open_numeric_stream(state, anchor=anchor)


def refused(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that mean nothing for numbers."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise InvalidParameter(name, value, why, f"Leave --{name} out.")


def observe(stream: NumericStream, rows: str | None, column: str | None, step: Any, options: Mapping[str, Any]) -> None:
    """Close the next step with the numbers of a column; a step that is closed already is shown again."""
    from lapwing.curator.tables.streams import numbers_of

    if step is not None and not isinstance(step, int):
        raise InvalidParameter(
            "step", step, "must be a number: you say when a step of numbers ends", "Write --step 12."
        )
    screen = console()
    if step is not None and checks.whole(step=step) <= stream.closed:
        screen.print(f"{step} was closed before: this is its stored answer")
        screen.print(str(stream.at(step)), markup=False)
        return
    numbers = [] if rows is None else numbers_of(rows, column, **options)
    total = stream.observe(numbers, step=step)
    screen.print(f"[private]✓[/] step {total.step:,} closed, {stream.left:,} left")
    screen.print(str(total), markup=False)


def printed(stream: NumericStream, *, as_json: bool) -> str:
    """Every closed step, for other programs."""
    rows = [_fields(stream.at(step)) for step in range(1, stream.closed + 1)]
    if as_json:
        return json.dumps({"loss": str(stream.loss), "steps": rows})
    text = io.StringIO()
    writer = csv.DictWriter(text, ["step", "total", "half_width", "threshold"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _fields(shown: NumericTotal) -> dict[str, Any]:
    return {name: getattr(shown, name) for name in ("step", "total", "half_width", "threshold")}


def show(
    stream: NumericStream, wanted: Shown, plot: Path | None, as_json: bool, as_csv: bool, watch: float | None
) -> None:
    """Print a stream of numbers, for people or for other programs."""
    drawn = None if plot is None else str(plot)
    refused({"top": wanted.top, "plot": drawn}, "is for groups and lines of a question, and these are numbers")
    if not (as_json or as_csv):
        watched(lambda: page(stream, wanted), watch)
        return
    others = {"window": wanted.window, "from": wanted.first, "to": wanted.last, "step": wanted.step}
    refused(others, "is for the page, and these files have all totals")
    typer.echo(printed(stream, as_json=as_json), nl=as_json)


def page(stream: NumericStream, wanted: Shown) -> RenderableType:
    """The standing of a stream of numbers on a terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from lapwing.curator.show.lines import sparkline

    mechanism, closed, left, window = stream.mechanism, stream.closed, stream.left, wanted.window
    far = progress(closed, f"{mechanism.steps:,} steps", left, ended=not left and closed < mechanism.steps)
    lines = [
        Text(f"totals of numbers from 0 to {float(mechanism.bound):,.6g}", style="bold"),
        Text(f"{far} · cost {stream.loss}, paid once"),
    ]
    if not closed:
        lines.append(Text("no step is closed yet: lapwing stream observe …"))
    elif wanted.is_one:
        lines.append(Text(str(wanted.total(stream))))
    elif window is not None and closed > mechanism.first:
        first = max(mechanism.first + 1, closed - checks.whole(window=window) + 1)
        lines.append(Text(f"from step {first:,}: {stream.between(first, closed)}"))
    else:
        lines += [Text(sparkline(stream.history()), style="private"), Text(str(stream.estimate()))]
    return Padding(Group(*lines), (0, 1))
