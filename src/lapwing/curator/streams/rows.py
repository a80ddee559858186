"""The rows of a step, in whatever form somebody brings them, as a table that the question can be asked of.

They are read by the declarations of the table that was opened, cell by cell, as in any question: which columns there
are and of which types is public, and nothing else about them can be a reason to refuse them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lapwing.calls import closest
from lapwing.curator.engines.objects import column_of
from lapwing.curator.plan.declarations import is_readable
from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.hints import which_column
from lapwing.curator.plan.nodes import Scan
from lapwing.curator.plan.text_forms import Notation
from lapwing.curator.streams.reading import Cells
from lapwing.errors import InvalidCall, InvalidParameter

if TYPE_CHECKING:
    from lapwing.curator.engines.engine import Source

Find = Callable[..., "Source"]
"""How a file, a frame or a database becomes a source: `tables.sources.find_source`."""
Fetch = Callable[[Callable[[], list[Cells]]], list[Cells]]
"""Runs what reads rows, behind the breaker (`Reader.fetched`)."""
_HINT = "Pass what lw.open takes, or a list of dictionaries."


def source_of(
    rows: Any, scan: Scan, notation: Notation, find: Find, *, fetch: Fetch | None = None, **options: Any
) -> Source | None:
    """The table that rows are, with every column that the stream reads; None if there are none.

    `fetch` reads the result of a query: whatever fails then may be about a record.
    """
    if rows is None:
        return None
    if hasattr(rows, "fetchall") and "table" not in options:
        if fetch is None:
            raise InvalidParameter("rows", type(rows), "is the result of a query", "Pass a file or a frame.")
        rows = _fetched(rows, scan, fetch)
    if isinstance(rows, list | tuple):
        return find(_arrays(rows, scan.fields, notation), table=scan.table, notation=notation) if rows else None
    table = scan.table if _is_frame(rows) else None
    kinds = {field.name: field.kind for field in scan.fields}
    origin = find(rows, **{"table": table, "notation": notation, "kinds": kinds} | options)
    return _declared(origin, scan)


def check_options(call: str, options: Mapping[str, Any]) -> None:
    """Refuse a keyword that says nothing about how rows are read."""
    for name in options:
        if name not in _OPTIONS:
            meant = closest(name, _OPTIONS)
            instead = f"Did you mean {meant}=?" if meant else f"There are: {', '.join(_OPTIONS)}."
            raise InvalidCall(call, f"it has no keyword {name}", instead)


_OPTIONS = ("table", "delimiter", "encoding", "names", "memory", "threads", "connection")
"""How rows are read, of `lw.open`."""


def _is_frame(rows: Any) -> bool:
    return not isinstance(rows, str | os.PathLike)


def _declared(origin: Source, scan: Scan) -> Source:
    """The source, if its columns can be read as what they were declared to be. Their types alone decide that."""
    _must_be_there(origin.kinds, scan)
    for name, kind in ((field.name, field.kind) for field in scan.fields):
        if name in origin.opaque:
            why = f"{name} is of a type whose cells are not checked, so that one of them could stop the engine"
            raise InvalidParameter("rows", name, why, "Convert the column in the source.")
        if not is_readable(kind, origin.kinds[name]):
            why = f"has the type {origin.relation.types[name]}, and the table was opened with a column of kind {kind}"
            raise InvalidParameter("rows", name, why, "Convert the column, for example: frame[…].astype(…).")
    return origin


def _must_be_there(names: Collection[str], scan: Scan) -> None:
    for field in scan.fields:
        if field.name not in names:
            hint = which_column(field.name, names)
            raise InvalidParameter("rows", field.name, "is missing, and the stream reads this column", hint)


def _fetched(cursor: Any, scan: Scan, fetch: Fetch) -> list[Cells]:
    """The result of a query: a relation of DuckDB, or a cursor of any database that was asked."""
    names = getattr(cursor, "columns", None)
    if names is None:
        names = [column[0] for column in getattr(cursor, "description", None) or ()]
    if not names:
        raise InvalidParameter("rows", type(cursor), "is not the result of a query", _HINT)
    _must_be_there(names, scan)
    return fetch(lambda: [dict(zip(names, row, strict=True)) for row in cursor.fetchall()])


def _arrays(rows: Sequence[Any], fields: Sequence[Column], notation: Notation) -> dict[str, Any]:
    """A list of dictionaries as columns, by one rule for each cell: what is no dictionary, or not there, is missing."""
    return {field.name: column_of([_cell(row, field.name) for row in rows], field.kind, notation) for field in fields}


def _cell(row: Any, name: str) -> Any:
    """What a row has in a column; a mapping of somebody's may do anything, too."""
    try:
        return row.get(name) if isinstance(row, Mapping) else None
    except Exception:
        return None
