"""`lapwing stream …`: a question that is answered again after every day, for one price."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
import tempfile
import time as clock_time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing import charts, checks
from lapwing.cli import stream_numbers as numbers
from lapwing.cli.question import ENCODING, Question, asks
from lapwing.cli.theme import console, readable_errors
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lapwing.curator.show.answer import Column
    from lapwing.curator.streams.answers import History
    from lapwing.curator.streams.stream import Stream

app = typer.Typer(no_args_is_help=True, help="Publish answers over time, for one price.")

State = Annotated[
    Path, typer.Argument(metavar="STATE", help="The file of the stream, which only you can read.", show_default=False)
]
LedgerPlace = Annotated[
    str | None, typer.Option(help="The ledger, if it is on a server (postgresql://…).", show_default=False)
]
Anchor = Annotated[str | None, typer.Option(help="The anchor of the stream, if it was moved.", show_default=False)]
_STEPS = "Steps"


def _option(help: str, *names: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=_STEPS, metavar=metavar, show_default=False)


def _open(
    question: Question,
    state: Annotated[Path, typer.Option(help="A new file for the stream, which only you can read.")],
    steps: Annotated[int, _option("How many steps the stream has.")],
    every: Annotated[str, typer.Option(help="minute, hour, day, week, month or step.", rich_help_panel=_STEPS)] = "day",
    start: Annotated[str | None, _option("When the first step begins: 2026-01-01.")] = None,
    time: Annotated[str | None, _option("The column that says when a row happened.")] = None,
    late: Annotated[
        str, typer.Option(help="Rows that come late: drop, or next (count in the next step).", rich_help_panel=_STEPS)
    ] = "drop",
    grace: Annotated[float, _option("Minutes that a step stays open after its end.", metavar="MINUTES")] = 0.0,
    watermark: Annotated[
        str | None,
        _option(
            "Column of times or numbers that the database gives each row. Each step reads only the rows with larger "
            "values than before."
        ),
    ] = None,
    active_steps: Annotated[int | None, _option("Largest number of steps in which one unit counts.")] = None,
    separation: Annotated[int | None, _option("Smallest distance between these steps.")] = None,
    consecutive_steps: Annotated[
        int | None, _option("Instead of --active-steps, a weaker promise: protect any N consecutive steps of a unit.")
    ] = None,
    allocation: Annotated[
        str | None,
        _option("How the budget is spread over consecutive steps: distribution (the default) or absorption."),
    ] = None,
    quote: Annotated[bool, typer.Option("--quote", help="Print what the stream would cost. Nothing is spent.")] = False,
) -> None:
    """Pay for a stream, once for all its steps. The question is a SELECT as for lapwing query; no record is read."""
    from lapwing.curator.streams.schedule import Schedule
    from lapwing.curator.tables.streams import streamed

    with readable_errors():
        options: Any = {"every": every, "late": late}
        schedule = Schedule(steps=steps, start=start, time=time, grace=_minutes(grace), watermark=watermark, **options)
        stream = streamed(
            question.query(), schedule, active_steps=active_steps, separation=separation,
            consecutive_steps=consecutive_steps, allocation=allocation,
        )  # fmt: skip
        spending = {name: getattr(question, name) for name in ("epsilon", "delta", "rho", "confidence")}
        screen = console()
        screen.print(stream.quote(**spending))
        if quote:
            return
        opened = stream.open(state, **spending)
        recorded = opened.definition.query.context.ledger is not None
        screen.print(numbers.opening(state, opened.loss, recorded=recorded), soft_wrap=True)
        kept = " --keep --batch NAME:1" if schedule.takes_kept_rows_only else ""
        screen.print(f"  next: lapwing stream observe {state} ROWS.csv{kept}", soft_wrap=True)
        if kept:
            screen.print(f"  and when a step is over: lapwing stream observe {state}", soft_wrap=True)


_open.__name__ = "open"
open_stream = app.command("open")(asks(_open, leaving=("save", "within", "count")))
app.command("open-numbers")(numbers.open_numbers)


@app.command()
def observe(
    state: State,
    rows: Annotated[
        str | None,
        typer.Argument(
            metavar="ROWS",
            help="A CSV, Parquet or DuckDB file, the URL of a database, or - for CSV on standard input.",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(help="The table or view of a database.", show_default="the table of the question"),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Which column has the numbers of a stream of numbers.", show_default=False)
    ] = None,
    step: Annotated[
        str | None, typer.Option(help="The step to close, and all before it: a number or a date.", show_default="next")
    ] = None,
    clock: Annotated[bool, typer.Option("--clock", help="Close every step that is over by the clock.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Close nothing: keep the rows for the open step.")] = False,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:NUMBER",
            help="With --keep: which batch these rows are. Each is kept once.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Character that separates the columns of a CSV.")] = None,
    encoding: Annotated[str | None, typer.Option(help=ENCODING)] = None,
    ledger: LedgerPlace = None,
    anchor: Anchor = None,
) -> None:
    """Close a step: give its rows, or none if nothing happened. If it was closed before, its stored answer is shown."""
    from lapwing.curator.tables.sources import is_database

    with readable_errors("table", "step", "column", "delimiter", "encoding", "ledger", "anchor", "batch", "keep"):
        if clock + keep + (step is not None) > 1:
            raise InvalidParameter("step", step, "one of --step, --clock and --keep is enough", "Leave the others out.")
        options: dict[str, Any] = {"table": table, "delimiter": delimiter, "encoding": encoding}
        options = {name: given for name, given in options.items() if given is not None}
        if _has_numbers(state):
            numbers.refused({"clock": clock, "keep": keep, "batch": batch}, "you say when a step of numbers ends")
            with _source(rows) as source:
                numbers.observe(numbers.reopened(state, ledger, anchor), source, column, _step(step), options)
            return
        stream = _stream(state, ledger, anchor)
        if column is not None:
            why = "is for a stream of numbers, and the question of this one says which columns it reads"
            raise InvalidParameter("column", column, why, "Leave --column out.")
        screen = console()
        named = _batch(batch, keep)
        if rows is not None and is_database(rows):
            options.setdefault("table", stream.definition.scan.table)
        if keep and rows is None:
            raise InvalidParameter("keep", keep, "there are no rows to keep", "Name them: observe STATE ROWS --keep.")
        if not keep:
            _must_be_kept(stream, state, rows, step)
        with _source(rows) as source:
            if keep:
                taken = stream.add(source, batch=named, **options)
                kept = "kept for the open step" if taken else f"batch {batch} was kept before: nothing is added"
                screen.print(f"[private]✓[/] {kept}")
                return
            before = stream.closed
            if clock:
                stream.catch_up(source, **options)
            else:
                stream.observe(source, step=_step(step), **options)
        closed = stream.closed - before
        word = stream.definition.schedule.words(closed)
        shown = stream.closed if closed or step is None else _step(step)
        if closed:
            screen.print(f"[private]✓[/] {word} closed, {stream.left:,} left")
        elif step is not None:
            screen.print(f"{step} was closed before: this is its stored answer", markup=False)
        else:
            screen.print("nothing to close yet")
        if stream.closed:
            screen.print(stream.at(shown))


@app.command()
def show(
    state: State,
    window: Annotated[int | None, typer.Option(help="Show sums over this many steps instead of totals.")] = None,
    top: Annotated[int | None, typer.Option(help="Show only this many groups, the largest first.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every closed step as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every closed step as CSV.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw lines with their bands into this file.")] = None,
    watch: Annotated[float | None, typer.Option(help="Refresh every so many seconds, until Ctrl-C.")] = None,
    ledger: LedgerPlace = None,
    anchor: Anchor = None,
) -> None:
    """Show the latest answer, the answers of all earlier steps, the price, and how many steps are left."""
    with readable_errors("window", "top", "plot", "watch", "ledger", "anchor"):
        if top is not None:
            checks.whole(top=top)
        if watch is not None:
            checks.positive(watch=watch)
        if plot is not None:
            charts.drawable(plot, name="plot")
        if _has_numbers(state):
            numbers.refused(
                {"top": top, "plot": None if plot is None else str(plot)},
                "is for groups and lines of a question, and these are numbers",
            )
            totals = numbers.reopened(state, ledger, anchor)
            if as_json or as_csv:
                numbers.refused({"window": window}, "is for the page, and these files have all totals")
                typer.echo(numbers.printed(totals, as_json=as_json), nl=as_json)
            else:
                _watched(lambda: numbers.page(totals, window), watch)
            return
        stream = _stream(state, ledger, anchor)
        if as_json or as_csv:
            history = stream.history(window)
            typer.echo(history.to_json() if as_json else history.to_csv(), nl=as_json)
        else:
            _watched(lambda: _page(stream, window, top), watch)
        if plot is not None:
            stream.history(window).plot(plot)
            console(stderr=True).print(f"[private]✓[/] drawn: {plot}", soft_wrap=True)


@app.command()
def close(state: State, ledger: LedgerPlace = None, anchor: Anchor = None) -> None:
    """End a stream for good. Exact counts are deleted, published answers stay, and nothing is paid back."""
    with readable_errors("ledger", "anchor"):
        opened = _stream if not _has_numbers(state) else numbers.reopened
        stream = opened(state, ledger, anchor)
        stream.end()
        console().print(
            f"[private]✓[/] ended after {stream.closed:,} of {stream.steps:,} steps; its secrets are deleted"
        )


def _watched(page: Callable[[], RenderableType], seconds: float | None) -> None:
    """Print a page, and again after so many seconds, until Ctrl-C."""
    screen = console()
    screen.print(page())
    while seconds is not None:
        try:
            clock_time.sleep(seconds)
        except KeyboardInterrupt:
            break
        screen.clear()
        screen.print(page())


def _has_numbers(state: Path) -> bool:
    """Whether the stream in a file is one of numbers; a file that is not there has none."""
    from lapwing.curator.streams.numeric_stream import holds_numbers

    return holds_numbers(state)


def _stream(state: Path, ledger: str | None, anchor: str | None) -> Stream:
    from lapwing.curator.tables.streams import open_stream

    return open_stream(state, ledger=ledger, anchor=anchor)


def _minutes(grace: float) -> dt.timedelta:
    try:
        return dt.timedelta(minutes=grace)
    except (OverflowError, ValueError):
        raise InvalidParameter("grace", grace, "is not a number of minutes", "Write --grace 120.") from None


def _step(text: str | None) -> Any:
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _batch(text: str | None, keep: bool) -> tuple[str, int] | None:
    """A batch as it is written on the command line: visits:17."""
    if text is None:
        return None
    name, _, number = text.rpartition(":")
    if not name or not (number.isascii() and number.isdigit()):
        raise InvalidParameter("batch", text, "must be a name, a colon and a number", "Write --batch visits:17.")
    if not keep:
        raise InvalidParameter("batch", text, "is about rows that are kept", "Write --keep as well.")
    return name, int(number)


def _must_be_kept(stream: Stream, state: Path, rows: str | None, step: str | None) -> None:
    """Say what to write where `observe` may not bring rows, and nothing about a step that is closed already."""
    schedule = stream.definition.schedule
    if rows is None or not schedule.takes_kept_rows_only or not stream.left:
        return
    if step is None or schedule.step_of(_step(step)) > stream.closed:
        why = "with --late next, it is not known which of these rows have already counted"
        keep = f"lapwing stream observe {state} {rows} --keep --batch NAME:1"
        raise InvalidParameter("ROWS", rows, why, f"Keep each row once: {keep}. Then: lapwing stream observe {state}.")


@contextmanager
def _source(rows: str | None) -> Iterator[str | None]:
    """What to read: standard input goes through a file of ours, so that it is read like any other CSV."""
    if rows != "-":
        yield rows
        return
    with tempfile.TemporaryDirectory() as folder:  # which only its owner can enter
        place = Path(folder) / "rows.csv"
        with place.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield str(place)
        except InvalidParameter as error:
            if error.value != str(place):
                raise
        else:
            return
    why = "standard input needs a first line with one distinct name for each column, also if no rows follow"
    raise InvalidParameter("ROWS", rows, why, "Send that line first, or leave ROWS out if nothing happened.")


def _page(stream: Stream, window: int | None, top: int | None) -> RenderableType:
    """The standing of a stream on a terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from lapwing.curator.show.digits import visible

    schedule, closed = stream.definition.schedule, stream.closed
    progress = f"{closed:,} of {schedule.words(stream.steps)} closed, {stream.left:,} left"
    if stream.over > closed and stream.left:
        waiting = stream.over - closed
        progress += f"; by the clock {waiting:,} of them {'is' if waiting == 1 else 'are'} over"
    head: list[RenderableType] = [
        Text(visible(stream.definition.explain()), style="bold"),
        Text(f"{progress} · cost {stream.loss}, paid once"),
    ]
    if not closed:
        return Padding(Group(*head, Text("no step is closed yet: lapwing stream observe …")), (0, 1))
    history = stream.history(window if window is not None or not stream.adds_up else 1)
    answer = stream.estimate() if window is None else stream.window(window)
    if top is not None:
        answer = stream.top(top, window=window)
    return Group(Padding(Group(*head), (0, 1)), _lines(history, stream, window), answer)


def _lines(history: History, stream: Stream, window: int | None) -> RenderableType:
    """A small line for each group and output: what every step brought. The last bar is the newest step."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from lapwing.curator.show import digits
    from lapwing.curator.show.lines import groups_of

    steps, *keys = [column for column in history.columns if column.is_key]
    outputs = [column for column in history.columns if not column.is_key and column.is_number]
    every = stream.definition.schedule.every
    each = f"each {every}" if window is None else f"over {stream.definition.schedule.words(window)}"
    groups = groups_of(keys, len(steps.values))
    if not groups:
        return Padding(Text(f"no lines: no group is in an answer {each}"), (1, 1))
    names = [max(map(len, (digits.visible(key.name), *map(digits.key, set(key.values))))) for key in keys]
    widths = [min(width, _LONGEST_KEY) for width in names]
    room = console().width - 2 - sum(width + _GAP for width in widths)
    beside = max(1, min(len(outputs), room // (_FEWEST_BARS + _GAP)))
    bars = max(1, min(_MOST_BARS, room // beside - _GAP))
    tables = [
        _table_of_lines(dict(zip(keys, widths, strict=True)), outputs[first : first + beside], groups, each, bars)
        for first in range(0, len(outputs), beside)
    ]
    return Padding(Group(*tables), (1, 1))


_LONGEST_KEY, _FEWEST_BARS, _MOST_BARS, _GAP = 24, 12, 40, 2


def _table_of_lines(
    keys: Mapping[Column, int],
    outputs: Sequence[Column],
    groups: Mapping[tuple[Any, ...], list[int]],
    each: str,
    bars: int,
) -> RenderableType:
    """The lines of some outputs, beside one another."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from lapwing.curator.show import digits
    from lapwing.curator.show.lines import sparkline

    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP, 0, 0))
    for key, width in keys.items():
        grid.add_column(digits.visible(key.name), width=width)
    for output in outputs:
        grid.add_column(f"{digits.visible(output.name)}, {each}", width=bars)
    for group, rows in groups.items():
        drawn = [sparkline([float(output.values[row] or 0) for row in rows], bars) for output in outputs]
        grid.add_row(*(Text(digits.key(value)) for value in group), *(Text(line, style="private") for line in drawn))
    return grid
