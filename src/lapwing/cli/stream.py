"""`lapwing stream …`: a question that is answered again after every step, such as a day, for one price."""

from __future__ import annotations

import datetime as dt
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing import charts, checks
from lapwing.cli import stream_numbers as numbers
from lapwing.cli.question import ENCODING, NAMES, Question, asks, listed
from lapwing.cli.stream_page import Shown, page, watched
from lapwing.cli.theme import console, readable_errors
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.curator.streams.stream import Stream

app = typer.Typer(no_args_is_help=True, help="Publish answers over time, for one price.")

State = Annotated[
    Path, typer.Argument(metavar="STATE", help="The file of the stream, which only you can read.", show_default=False)
]
LedgerPlace = Annotated[
    str | None, typer.Option(help="The ledger, if it is on a server (postgresql://…) or was moved.", show_default=False)
]
Anchor = Annotated[str | None, typer.Option(help="The anchor of the stream, if it was moved.", show_default=False)]
_STEPS = "Steps"
_SQLITE = b"SQLite format 3\0"


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
    separation: Annotated[int | None, _option("Smallest distance between two of these steps, for one unit.")] = None,
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
            help="With --keep: a name and a number for these rows, such as visits:17. Each batch is kept only once.",
            show_default=False,
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Character that separates the columns of a CSV.")] = None,
    encoding: Annotated[str | None, typer.Option(help=ENCODING)] = None,
    names: Annotated[str | None, typer.Option(help=NAMES, metavar="A,B,…")] = None,
    ledger: LedgerPlace = None,
    anchor: Anchor = None,
) -> None:
    """Close a step: give its rows, or none if nothing happened. If it was closed before, its stored answer is shown."""
    from lapwing.curator.tables.sources import is_database

    known = ("table", "delimiter", "encoding", "names", "ledger", "anchor", "batch", "keep")
    with readable_errors("step", "column", *known):
        if clock + keep + (step is not None) > 1:
            raise InvalidParameter("step", step, "one of --step, --clock and --keep is enough", "Leave the others out.")
        options: dict[str, Any] = {"table": table, "delimiter": delimiter, "encoding": encoding, "names": listed(names)}
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
    step: Annotated[
        str | None, typer.Option(help="Show the answer after this step: a number or a date.", show_default="the last")
    ] = None,
    first: Annotated[
        str | None, typer.Option("--from", help="Show the sums over a range that begins with this step.")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", help="The last step of the range.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every closed step as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print every closed step as CSV.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the answers and their confidence bands into this file.")
    ] = None,
    watch: Annotated[float | None, typer.Option(help="Refresh every so many seconds, until Ctrl-C.")] = None,
    ledger: LedgerPlace = None,
    anchor: Anchor = None,
) -> None:
    """Show the latest answer, the answers of all earlier steps, the price, and how many steps are left."""
    with readable_errors("window", "top", "step", "plot", "watch", "ledger", "anchor"):
        if top is not None:
            checks.whole(top=top)
        if watch is not None:
            checks.positive(watch=watch)
        if plot is not None:
            charts.drawable(plot, name="plot")
        if as_json and as_csv:
            raise InvalidParameter("json", as_json, "is another format than --csv", "Leave one of them out.")
        wanted = Shown(window=window, top=top, first=_step(first), last=_step(last), step=_step(step))
        if _has_numbers(state):
            numbers.show(numbers.reopened(state, ledger, anchor), wanted, plot, as_json, as_csv, watch)
            return
        stream = _stream(state, ledger, anchor)
        if as_json or as_csv:
            typer.echo(wanted.printed(stream, as_json=as_json), nl=as_json)
        else:
            watched(lambda: page(stream, wanted), watch)
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


def _has_numbers(state: Path) -> bool:
    """Whether the stream in a file is one of numbers; a file that is not there has none."""
    from lapwing.curator.streams.numeric_stream import holds_numbers
    from lapwing.curator.streams.state import StateFile, anchor_beside
    from lapwing.privacy.store import FileStore

    hint = "Name the file that lapwing stream open wrote (--state)."
    if state.is_file() and state.stat().st_size:
        with state.open("rb") as file:
            is_sqlite = file.read(len(_SQLITE)) == _SQLITE
        if not is_sqlite and not anchor_beside(state).exists():  # with an anchor, it was a stream
            raise InvalidParameter("STATE", str(state), "is no file of a stream", hint)
        if is_sqlite:
            known = StateFile(state, None)
            with known.transaction(write=False) as database:
                if known.tables(database) >= FileStore.layout:
                    raise InvalidParameter("STATE", str(state), "is a ledger, and no file of a stream", hint)
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
