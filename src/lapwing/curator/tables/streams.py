"""Where a table and its streams meet: rows of a step come from wherever tables come from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from lapwing.calls import helpful
from lapwing.curator.ask.query import Query
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
            hint = f"Name one of: {', '.join(known)}."
            raise InvalidParameter("column", None, "which of them has the numbers?", hint)
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

    The file knows its question and its ledger; only a ledger on a server has to be named again.
    """
    from lapwing.curator.streams.opening import reopened

    book: Any = ledger if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger, create=False)
    return reopened(state, find_source, ledger=book, anchor=anchor, clock=clock)
