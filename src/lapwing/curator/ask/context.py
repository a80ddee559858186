"""Opened tables: where they are stored, whom they are about, which ledger is charged; and several in one question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from lapwing.curator.plan.nodes import Plan, Public, scans
from lapwing.curator.plan.statistics import Bounding
from lapwing.curator.plan.text_forms import PLAIN
from lapwing.errors import InvalidParameter, UnsupportedQuery

if TYPE_CHECKING:
    from lapwing.curator.ask.breaker import Fuse
    from lapwing.curator.ask.releaser import Releaser
    from lapwing.curator.engines.compiler import Relation
    from lapwing.curator.engines.engine import Engine
    from lapwing.privacy import Ledger, Loss


@dataclass(frozen=True, eq=False)
class Context:
    """Where the tables of a plan live, whom they are about, and who keeps count."""

    engine: Engine
    relations: Mapping[str, Relation]
    unit: str
    """The unit of protection, in a word."""
    datasets: tuple[str, ...]
    ledger: Ledger | None = None
    analyst: str | None = None
    population: int | None = None
    """How many units there are at least, as far as the public knows."""
    max_units_per: Mapping[str, int] = field(default_factory=dict)
    """How many units a household has at most, or whatever else was promised something, as far as the public knows."""
    fuses: tuple[Fuse, ...] = ()
    """What a failure blows where no ledger remembers it."""
    releaser: Releaser = field(kw_only=True)
    """Who answers: `CENTRAL`, where the rows are in `engine`."""

    @property
    def connection(self) -> Any:
        """The connection that was given to the engine, if any."""
        return getattr(self.engine, "given", None)

    def remaining(self, analyst: str | None = None) -> Loss | None:
        """What this analyst may still spend."""
        return self.releaser.remaining(self, analyst)

    def losses(self, loss: Loss) -> list[Loss]:
        """What a release costs everybody who was promised something: a unit, and a group of so many units.

        Privacy: a household of at most k units is k steps from a table to its neighbour, whatever the release is.
        """
        assert self.ledger is not None
        promised = dict.fromkeys(unit for dataset in self.datasets for unit in self.ledger.units(dataset))
        for unit in promised:
            if unit != self.unit and unit not in self.max_units_per:
                why = f"the ledger has an allowance per {unit}, but how many {self.unit}s a {unit} has is not known"
                hint = f"Open the table with max_units_per={{{unit!r}: 4}} if 4 is the most by public knowledge."
                raise InvalidParameter("max_units_per", dict(self.max_units_per), why, hint)
        groups = {unit: size for unit, size in self.max_units_per.items() if unit in promised}
        return [loss, *(replace(loss.for_group(size), unit=unit) for unit, size in groups.items())]


def ways_of_reading(context: Context) -> dict[str, Any]:
    """How its tables are read, where an owner said so: the same question about cells read in another way differs.

    Nothing for tables of which nobody said anything: their keys are bound as they always were.
    """
    written = {name: relation.notation.written() for name, relation in context.relations.items()}
    notations = {name: way for name, way in written.items() if way != PLAIN.written()}
    files = {name: dict(relation.file) for name, relation in context.relations.items() if relation.file}
    return {what: ways for what, ways in (("notation", notations), ("file", files)) if ways}


def together(first: Context, second: Context) -> Context:
    """Two tables in one question: the same engine, the same unit, and every data set is charged."""
    if first.releaser != second.releaser:
        why, hint = "the two tables use different ways to release answers", "Open both in the same way."
        raise UnsupportedQuery("join", why, hint)
    if first.engine != second.engine:
        why, hint = "the two tables live in different databases", "Open both from the same engine."
        raise UnsupportedQuery("join", why, hint)
    if first.unit != second.unit:
        why = f"one table is about {first.unit}, the other about {second.unit}"
        raise UnsupportedQuery("join", why, "Open both with the same unit: allowance=lw.PureDP(3, unit='patient').")
    clash = [name for name, relation in second.relations.items() if first.relations.get(name, relation) is not relation]
    if clash:
        raise UnsupportedQuery(clash[0], "two tables have this name", "Open one of them with another name=.")
    if first.ledger is not None and second.ledger is not None and first.ledger != second.ledger:
        raise UnsupportedQuery("join", "the two tables use different ledgers", "Open both with the same ledger=.")
    if first.analyst and second.analyst and first.analyst != second.analyst:
        why = f"one table was opened by {first.analyst}, the other by {second.analyst}"
        raise UnsupportedQuery("join", why, "Open both with the same analyst=.")
    sizes = {**first.max_units_per, **second.max_units_per}
    return replace(
        first,
        relations={**first.relations, **second.relations},
        datasets=tuple(dict.fromkeys((*first.datasets, *second.datasets))),
        ledger=first.ledger or second.ledger,
        analyst=first.analyst or second.analyst,
        population=max(first.population or 0, second.population or 0) or None,
        max_units_per={unit: max(size, first.max_units_per.get(unit, 0)) for unit, size in sizes.items()},
        fuses=(*first.fuses, *(fuse for fuse in second.fuses if not any(fuse is known for known in first.fuses))),
    )


@dataclass(frozen=True, repr=False)
class PublicTable:
    """A table that anybody may know, to be joined with private ones.

    Its owner states that it was not derived from private data, except from a release.

    Attributes:
        plan: Its name, its columns and all of its rows.

    >>> regions = lw.public([{"region": "North", "coast": False}], name="regions")
    >>> print(regions)
    <PublicTable regions: region, coast; 1 row>
    """

    plan: Public

    def __repr__(self) -> str:
        names = [column.name for column in self.plan.columns]
        listed, rows = ", ".join([*names[:_NAMES_SHOWN], *(["…"] if names[_NAMES_SHOWN:] else [])]), len(self.plan.rows)
        return f"<PublicTable {self.name}: {listed}; {rows:,} row{'s' if rows != 1 else ''}>"

    @property
    def name(self) -> str:
        """What SQL calls it."""
        return self.plan.table


@dataclass(frozen=True)
class OpenedTable:
    """Rows about units of protection, where they live, and how much of one unit counts.

    Attributes:
        plan: Which rows and columns it has: the steps from the source to them.
        context: Where the rows are, whom they are about, and which ledger is charged.
        bounding: How many groups and rows of one unit count.
    """

    plan: Plan
    context: Context = field(repr=False, compare=False)
    bounding: Bounding = field(default_factory=Bounding)


Tables = Mapping[str, OpenedTable | PublicTable]
_NAMES_SHOWN = 8
"""Columns of a public table that are named where it is shown."""


def known_tables(table: OpenedTable, tables: Iterable[OpenedTable | PublicTable] | Tables) -> dict[str, Any]:
    """The tables that may be named, by name."""
    known: dict[str, Any] = {_name(table): table}
    if isinstance(tables, OpenedTable | PublicTable):
        tables = [tables]
    if not isinstance(tables, Iterable):
        raise InvalidParameter("tables", tables, "must be a list of tables", "Write tables=[visits, regions].")
    named = tables.items() if isinstance(tables, Mapping) else ((None, other) for other in tables)
    for name, other in named:
        if not isinstance(other, OpenedTable | PublicTable):
            raise InvalidParameter("tables", type(other), "is not a table", "Open it with lw.open or lw.public.")
        called = _name(other) if name is None else name
        if not isinstance(called, str):
            raise InvalidParameter("tables", called, "is not a name", "Write tables={'other_name': table}.")
        if known.get(called, other) is not other:
            why = "two tables have this name"
            raise InvalidParameter("tables", called, why, "Write tables={'other_name': table}.")
        known[called] = other
    return known


def _name(table: OpenedTable | PublicTable) -> str:
    return table.name if isinstance(table, PublicTable) else next(scans(table.plan)).table


def context_of(plan: Plan, table: OpenedTable, known: Tables) -> Context:
    """Everybody who is asked about is charged, to whoever opened any of the tables.

    These are the contexts of all private tables that are read; of `table` itself, if it is not, only who opened it.
    """
    read = {scan.table for scan in scans(plan)}
    contexts = [
        other.context
        for other in known.values()
        if isinstance(other, OpenedTable) and read & {scan.table for scan in scans(other.plan)}
    ]
    context, asking = reduce(together, contexts), table.context.analyst
    return together(context, replace(context, analyst=asking)) if asking else context
