"""Tables that were opened, and several of them in one question: which may be named, and who is charged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from lapwing.curator.ask.context import Context, together
from lapwing.curator.plan.nodes import Plan, Public, scans
from lapwing.curator.plan.statistics import Bounding
from lapwing.errors import InvalidParameter


@dataclass(frozen=True)
class PublicTable:
    """A table that anybody may know, to be joined with private ones.

    Its owner states that it was not derived from private data, except from a release.
    """

    plan: Public

    @property
    def name(self) -> str:
        """What SQL calls it."""
        return self.plan.table


@dataclass(frozen=True)
class Opened:
    """Rows about units of protection, where they live, and how much of one unit counts."""

    plan: Plan
    context: Context = field(repr=False, compare=False)
    bounding: Bounding = field(default_factory=Bounding)


Tables = Mapping[str, Opened | PublicTable]


def known_tables(table: Opened, tables: Iterable[Opened | PublicTable] | Tables) -> dict[str, Any]:
    """The tables that may be named, by name."""
    known: dict[str, Any] = {_name(table): table}
    if isinstance(tables, Opened | PublicTable):
        tables = [tables]
    if not isinstance(tables, Iterable):
        raise InvalidParameter("tables", tables, "must be a list of tables", "Write tables=[visits, regions].")
    named = tables.items() if isinstance(tables, Mapping) else ((None, one) for one in tables)
    for name, one in named:
        if not isinstance(one, Opened | PublicTable):
            raise InvalidParameter("tables", type(one), "is no table", "Open it with lw.open or lw.public.")
        called = _name(one) if name is None else name
        if not isinstance(called, str):
            raise InvalidParameter("tables", called, "is no name", "Write tables={'other_name': table}.")
        if known.get(called, one) is not one:
            why = "two tables have this name"
            raise InvalidParameter("tables", called, why, "Write tables={'other_name': table}.")
        known[called] = one
    return known


def _name(table: Opened | PublicTable) -> str:
    return table.name if isinstance(table, PublicTable) else next(scans(table.plan)).table


def context_of(plan: Plan, table: Opened, known: Tables) -> Context:
    """Everybody who is asked about is charged, to whoever opened any of the tables.

    These are the contexts of all private tables that are read; of `table` itself, if it is not, only who opened it.
    """
    read = {scan.table for scan in scans(plan)}
    contexts = [
        one.context
        for one in known.values()
        if isinstance(one, Opened) and read & {scan.table for scan in scans(one.plan)}
    ]
    found, asking = reduce(together, contexts), table.context.analyst
    return together(found, replace(found, analyst=asking)) if asking else found
