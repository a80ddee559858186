"""Streams of a table: the rows of a step come from the same sources as tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lapwing.calls import helpful
from lapwing.curator.ask.query import Query
from lapwing.curator.plan.hints import which_column
from lapwing.curator.plan.nodes import scans
from lapwing.curator.plan.text_forms import PLAIN
from lapwing.curator.streams.schedule import Schedule, now
from lapwing.curator.tables.sources import find_source
from lapwing.errors import InvalidParameter
from lapwing.privacy import Ledger

if TYPE_CHECKING:
    from lapwing.curator.streams.opening import StreamQuestion
    from lapwing.curator.streams.stream import Clock, Stream


def streamed(query: Query, schedule: Schedule, **protection: Any) -> StreamQuestion:
    """The stream of answers to a question, which `SELECT` may have written: nothing is read or spent yet."""
    from lapwing.curator.streams.definition import define
    from lapwing.curator.streams.opening import StreamQuestion

    relation = query.context.relations.get(next(scans(query.plan)).table)
    notation = PLAIN if relation is None else relation.notation
    return StreamQuestion(define(query, schedule, **protection), find_source, notation)


def numbers_of(rows: Any, column: str | None = None, **options: Any) -> list[float]:
    """The numbers in a column of a file, a frame or a table; cells that are none are left out, one by one.

    A table of one column need not name it. `options` are those of `Stream.observe`.
    """
    from lapwing.curator.engines.compiler import Compiler
    from lapwing.curator.plan.expressions import Column
    from lapwing.curator.plan.nodes import Scan
    from lapwing.curator.streams.rows import source_of

    named = column
    if named is None:
        known = find_source(rows, **options).kinds
        if len(known) != 1:
            hint = f"Name it. {which_column(None, known)}"
            raise InvalidParameter("column", None, "says which column has the numbers", hint)
        [named] = known
    scan = Scan("numbers", (Column(named, "number"),), each_row=True)
    source = source_of(rows, scan, PLAIN, find_source, **options)
    if source is None:
        return []
    with source.engine.session([source.relation]) as session:
        cells = session.fetch(Compiler(source.engine.dialect, {scan.table: source.relation}).rows(scan))
    return [cell for (cell,) in cells if cell is not None]


@helpful
def open_stream(
    state: str | os.PathLike[str],
    *,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    anchor: str | os.PathLike[str] | None = None,
    clock: Clock = now,
) -> Stream:
    """Go on with the stream in a file: `open_stream("visits.stream").observe("visits-0412.csv")`. It costs nothing.

    Args:
        state: The file of the stream. It knows its question and its ledger.
        ledger: The ledger that the stream was charged to. It must be named if it is on a server, or was moved.
        anchor: The anchor of the state, if it was moved.
        clock: A function that tells the time in UTC; by default the clock of this machine.

    Returns:
        The stream, as it was left.

    Raises:
        InvalidParameter: If the file is not there, or holds no stream of a table that was paid for.
        StreamDamaged: If the file was changed, or an older copy was put back.

    >>> import tempfile
    >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
    >>> file = tempfile.mkdtemp() + "/patients.stream"
    >>> january = question.open(file, epsilon=1).observe([{"patient": 1}, {"patient": 2}])
    >>> lw.open_stream(file).estimate() == january  # after a restart
    True
    """
    from lapwing.curator.streams.opening import reopened

    book: Any = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger, create=False)
    return reopened(state, find_source, ledger=book, anchor=anchor, clock=clock)
