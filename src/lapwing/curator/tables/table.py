"""`lw.open`: a private table, whom it is about, and what is publicly known about its columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import closest, helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate
from lapwing.curator.ask import reader
from lapwing.curator.ask.breaker import Fuse
from lapwing.curator.ask.central import CENTRAL
from lapwing.curator.ask.context import Context, OpenedTable, PublicTable, together
from lapwing.curator.ask.query import Query, ask, named
from lapwing.curator.ask.question import bounding_of
from lapwing.curator.ask.release import release
from lapwing.curator.plan.declarations import EACH_ROW, EachRow, completed, declared_fields, different, fitting
from lapwing.curator.plan.expressions import Column, Expression, Kind
from lapwing.curator.plan.groups import Grouping, key_for
from lapwing.curator.plan.joins import apart, join_public
from lapwing.curator.plan.nodes import Exists, JoinUnit, Outer, Plan, Public, Scan, Select, Where, is_each_row
from lapwing.curator.plan.parser import expression
from lapwing.curator.plan.text_forms import notation
from lapwing.curator.sql.select import read
from lapwing.curator.tables.promises import group_sizes, promised
from lapwing.curator.tables.sources import find_source, rows_of
from lapwing.errors import InvalidCall, InvalidParameter, UnsupportedQuery
from lapwing.privacy import Ledger, Loss, Rules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.curator.show.answer import Answer
    from lapwing.curator.tables.check import Check
    from lapwing.curator.tables.proposals import Proposal


LONGEST_PUBLIC = 100_000
"""Rows of a public table, which is written into the statement."""


@dataclass(frozen=True, repr=False)
class PrivateTable(OpenedTable):
    """Rows about units of protection. Nothing is read before a release is paid for.

    The examples of its methods ask this table, a bundled file about 3,000 patients:

    >>> from lapwing.datasets import clinic_csv
    >>> patients = lw.open(
    ...     clinic_csv(), name="patients", unit="patient",
    ...     bounds={"age": (0, 100), "cost": (0, 2000), "visits": (0, 20)},
    ...     keys={"region": ["North", "South", "East", "West", "Coast", "Islands"]},
    ...     types={"smoker": "boolean"},
    ... )
    """

    def __repr__(self) -> str:
        columns = ", ".join(map(_described, self.plan.columns))
        limits = self.bounding.by_rows().explain(self.context.unit, grouped=True)
        return f"<PrivateTable {self.plan.explain()}: {columns}; {limits}>"

    def _repr_html_(self) -> str:
        from lapwing.curator.show import notebook

        return notebook.private_table(self)

    @property
    def columns(self) -> dict[str, Kind]:
        """The columns and their kinds."""
        return {column.name: column.kind for column in self.plan.columns}

    def where(self, condition: str) -> PrivateTable:
        """The rows for which a condition holds: `where("smoker AND age >= 18")`.

        >>> 400 < patients.where("smoker AND age >= 18").agg(lw.count()).release(epsilon=1).value < 1500
        True
        """
        return self._with(Where(self.plan, expression(condition, self.plan.by_name, name="condition")))

    def select(self, *names: str, **computed: str) -> PrivateTable:
        """Columns by name, and new ones from expressions: `select("region", bmi="weight / (height * height)")`."""
        outputs = {name: expression(name, self.plan.by_name, name="column") for name in names}
        outputs |= {name: expression(text, self.plan.by_name, name=name) for name, text in computed.items()}
        return self._with(Select(self.plan, tuple(outputs.items())))

    def join(
        self,
        other: PublicTable | PrivateTable,
        on: str | Sequence[str] | Mapping[str, str] | None = None,
        *,
        how: Outer = "inner",
    ) -> PrivateTable:
        """Join a public table on columns, or a private one on the unit (then `on` names the unit, or is left out).

        `on` names columns of both, or maps columns of this table to those of the other. `how="left"` keeps rows of this
        table that have no partner. Of columns that both have, those of the other are called `other.column`.
        """
        checks.one_of(("inner", "left"), how=how)
        if isinstance(other, PrivateTable):
            if on is not None and not _is_unit(on, self.plan, other.plan):
                why, hint = (
                    "private tables are joined on the unit, and on nothing else",
                    "Leave out on=, and filter afterwards with where().",
                )
                raise UnsupportedQuery(f"on={on!r}", why, hint)
            context = together(self.context, other.context)
            return replace(self, plan=JoinUnit(self.plan, apart(self.plan, other.plan), how), context=context)
        if not isinstance(other, PublicTable):
            raise InvalidParameter("other", type(other), "is no table", "Open it with lw.open or lw.public.")
        return self._with(join_public(self.plan, other.plan, on, how))

    def having_rows_in(self, other: PrivateTable, *, negated: bool = False) -> PrivateTable:
        """The rows whose unit has (or has not) a row in another private table."""
        if not isinstance(other, PrivateTable):
            raise InvalidParameter("other", type(other), "is no private table", "Open it with lw.open.")
        context = together(self.context, other.context)
        return replace(self, plan=Exists(self.plan, other.plan, negated), context=context)

    def bounded(self, **bounds: int) -> PrivateTable:
        """Say how much of one unit counts: max_groups_per_unit and max_rows_per_group, or max_rows_per_unit.

        >>> 2900 < patients.bounded(max_rows_per_unit=2).agg(lw.count()).release(epsilon=1).value < 3100
        True
        """
        return replace(self, bounding=bounding_of(bounds))

    def group_by(
        self,
        *names: str,
        keys: Mapping[str, Iterable[Any]] | None = None,
        everything_else: bool = False,
        **computed: str,
    ) -> Grouped:
        """Group by columns, or by expressions with a name: `group_by("region", adult="age >= 18")`.

        Keys are public where they are known (declared with `keys=`, here or when the table was opened; truth values;
        constants of a CASE): then every group is in the answer, and others are left out, or counted as
        `everything_else`. Otherwise they are secret: shown only if enough units have them, which needs a delta.

        >>> patients.group_by("region").agg(lw.count()).release(epsilon=1)["region"]
        ('North', 'South', 'East', 'West', 'Coast', 'Islands')
        """
        checks.true_or_false(everything_else=everything_else)
        parsed = {name: expression(name, self.plan.by_name, name="key") for name in names}
        parsed |= {name: expression(text, self.plan.by_name, name=name) for name, text in computed.items()}
        group_keys = [key_for(name, by, values=values) for name, by, values in _declared(parsed, keys)]
        if everything_else:
            group_keys = [replace(key, everything_else=key.values is not None) for key in group_keys]
        return Grouped(self, Grouping(tuple(group_keys)))

    def agg(self, *aggregates: Aggregate, **called: Aggregate) -> Query:
        """Ask about all rows together: `agg(lw.count(), lw.mean("age"))`, or `agg(age=lw.mean("age"))` to name it.

        >>> 30 < patients.agg(lw.mean("age")).release(epsilon=1).value < 70
        True
        """
        return Grouped(self, Grouping()).agg(*aggregates, **called)

    @helpful
    def query(self, sql: str, **options: Any) -> Query:
        """The question that a SELECT stands for; `options` are bounds=, keys=, tables= and the bounds on one unit.

        >>> print(patients.query("SELECT AVG(age) FROM patients").quote(epsilon=1, count=3000).loss)
        ε = 1 (add_remove, per patient)
        """
        return _question(self, sql, options)

    def reread(self, data: Any, tables: Any = ()) -> Query:
        """The question that plain data stands for: what `Query.from_yaml` has read."""
        return reader.read(data, self, tables)

    @helpful
    def sql(self, sql: str, *, epsilon: Number | None = None, **options: Any) -> Answer:
        """The private answer to a SELECT: `sql("SELECT region, COUNT(*) FROM visits GROUP BY region", epsilon=0.5)`.

        Other options are those of `query` and of `Query.release`.

        >>> 2900 < patients.sql("SELECT COUNT(*) AS n FROM patients", epsilon=1)["n"][0] < 3100
        True
        """
        asking = {name: options.pop(name) for name in _RELEASE if name in options}
        return release(_question(self, sql, options), epsilon=epsilon, **asking)

    def bounds(self, column: str, **options: Any) -> Proposal:
        """Propose bounds for a column by a private step: `low, high = visits.bounds("cost", epsilon=0.1)`.

        >>> low, high = patients.bounds("cost", epsilon=1)
        >>> low < high
        True
        """
        from lapwing.curator.tables.proposals import bounds

        return bounds(self, column, **options)

    def check(self, *, epsilon: Number = 1) -> Check:
        """Compare the table with what was declared about it. Not private: for its owner only, never for an analyst.

        How many cells fit, are absent, are beyond the bounds; examples of what could not be read; rows and groups of
        one unit, and limits on them that suit an `epsilon`. Nothing is spent or written.

        >>> patients.check().rows
        3000
        """
        from lapwing.curator.tables.check import check

        return check(self, epsilon=epsilon)

    def raw_rows(
        self,
        columns: Sequence[str],
        *,
        text: Sequence[str] = (),
        per_unit: int | None = 1,
        most: int | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Columns as arrays, to fit a model of `lapwing.models`. Not private: for the owner, who holds the file anyway.

        Cells are read as in every question. Numbers are doubles, NaN where there is none; other values are None there.
        The columns in `text` are given as text, as classes are written. One row of each unit, drawn anew each time, as
        a model's guarantee needs it; `per_unit=None` reads all rows. Of more than `most` rows a random part is taken.
        """
        from lapwing.curator.tables.raw import raw_rows

        return raw_rows(self, columns, text=text, per_unit=per_unit, most=most)

    @property
    def connection(self) -> Any:
        """The DuckDB connection that was given to read it, if any."""
        return self.context.connection

    def remaining(self) -> Loss | None:
        """What may still be spent.

        >>> print(patients.remaining())  # no ledger counts
        None
        """
        return self.context.remaining(self.context.analyst)

    def _with(self, plan: Plan) -> PrivateTable:
        return replace(self, plan=plan)


_READ = (
    "tables", "bounds", "keys", "max_groups_per_unit", "max_rows_per_group", "max_rows_per_unit", "everything_else"
)  # fmt: skip
_RELEASE = ("delta", "rho", "within", "confidence", "count", "analyst", "key", "entropy")


def _question(table: PrivateTable, sql: str, options: Mapping[str, Any]) -> Query:
    for word in options:
        if word not in _READ:
            meant = closest(word, _READ) or closest(word, _RELEASE)
            hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(_READ)}, and those of release."
            raise InvalidCall("sql", f"there is no {word}", hint)
    return read(sql, table, **options)


@dataclass(frozen=True)
class Grouped:
    """A private table with keys to group by."""

    table: PrivateTable
    grouping: Grouping

    def agg(self, *aggregates: Aggregate, **called: Aggregate) -> Query:
        """Ask about each group."""
        table = self.table
        return ask(table.context, table.plan, self.grouping, named(aggregates, called), table.bounding)


@helpful
def open(
    source: Any,
    *,
    unit: str | EachRow,
    bounds: Mapping[str, tuple[Number, Number]] | None = None,
    keys: Mapping[str, Iterable[Any]] | None = None,
    types: Mapping[str, Kind] | None = None,
    complete: Sequence[str] = (),
    allowance: Loss | None = None,
    rules: Rules | None = None,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    dataset: str | None = None,
    name: str | None = None,
    names: Sequence[str] | None = None,
    table: str | None = None,
    analyst: str | None = None,
    population: int | None = None,
    max_units_per: Mapping[str, int] | None = None,
    max_groups_per_unit: int | None = None,
    max_rows_per_group: int | None = None,
    max_rows_per_unit: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    true: str | Sequence[str] | None = None,
    false: str | Sequence[str] | None = None,
    memory: str | None = None,
    threads: int | None = None,
    connection: Any = None,
) -> PrivateTable:
    """A private table: a CSV or Parquet file, a frame, or a table of a database.

    `unit` is the column that says whose row it is (or EACH_ROW); `bounds`, `keys`, `types` and `complete` (columns with
    a value in every row; one that is missing counts as the middle of the bounds) are public knowledge
    about columns, never read from the data. `allowance` is what may be spent in all, kept in a `ledger`, with `rules`
    about how to spend it; tables about the same people share a `dataset` name there. Where the ledger also promises
    something to households, say how many units one may have by public knowledge: `max_units_per={"household": 4}`.
    `decimal=","` is for text with numbers like 1.234,50 and dates like 31.12.2026, `thousands=","` for numbers like
    1,234.50, `true="J"` and `false="N"` for other truth values than yes and no (docs/curator.md lists what is read
    anyway). `names` renames the columns of a file, all of them in its order: for names that are missing or doubled.
    Files and frames are read by a DuckDB of our own, with so much `memory` and so many `threads`, or by yours if you
    give a `connection`, with the limits that you set there.

    Returns:
        The private table. Nothing of it is read before a question is asked.

    Raises:
        InvalidParameter: If something is declared that cannot be, or the source is not there.

    >>> from lapwing.datasets import clinic_csv
    >>> clinic = lw.open(clinic_csv(), unit="patient", bounds={"age": (0, 120)})
    >>> 40 < clinic.agg(lw.mean("age")).release(epsilon=1).value < 60
    True
    """
    for what, facts in (("bounds", bounds), ("keys", keys), ("types", types)):
        if facts is not None and not isinstance(facts, Mapping):
            raise InvalidParameter(what, facts, "must be a mapping", f"Write {what}={{'column': …}}.")
    way = notation(decimal, thousands, true, false)
    origin = find_source(
        source,
        table=table,
        delimiter=delimiter,
        encoding=encoding,
        notation=way,
        memory=memory,
        threads=threads,
        names=names,
        connection=connection,
    )
    for column in origin.opaque & set(types or ()):
        why = f"{column} is of a type whose cells are not checked, so that one of them could stop DuckDB"
        raise InvalidParameter("types", (types or {})[column], why, "Convert the column in the source.")
    called = name or origin.name
    fields = completed(declared_fields(origin.kinds, unit, bounds or {}, keys or {}, types or {}), complete)
    scan = Scan(called, fields, each_row=isinstance(unit, EachRow))
    book = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    about = dataset or called
    word = promised(book, about, unit, allowance, rules)
    sizes = group_sizes({} if max_units_per is None else max_units_per, book, about, word)
    if population is not None:
        checks.whole(population=population)
    context = Context(
        origin.engine,
        {called: origin.relation},
        word,
        (about,),
        book,
        analyst,
        population,
        sizes,
        (Fuse(about),),
        releaser=CENTRAL,
    )
    given = {"max_groups_per_unit": max_groups_per_unit, "max_rows_per_group": max_rows_per_group}
    return PrivateTable(scan, context, bounding_of({**given, "max_rows_per_unit": max_rows_per_unit}))


@helpful
def public(
    source: Any,
    *,
    name: str | None = None,
    types: Mapping[str, Kind] | None = None,
    table: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    true: str | Sequence[str] | None = None,
    false: str | Sequence[str] | None = None,
) -> PublicTable:
    """A public table, to be joined with private ones: a file, a frame, or a list of dictionaries.

    You state that it was not derived from private data, except from a release. It is read now, as a whole.

    >>> regions = lw.public([{"region": "North", "sea": False}, {"region": "Islands", "sea": True}], name="regions")
    >>> 0 < patients.join(regions, on="region").where("sea").agg(lw.count()).release(epsilon=1).value < 3000
    True
    """
    way = notation(decimal, thousands, true, false)
    called, fields, rows = rows_of(
        source, table=table, types=types, most=LONGEST_PUBLIC, notation=way, encoding=encoding
    )
    return PublicTable(Public(name or called, fields, rows))


def _declared(
    parsed: Mapping[str, Expression], keys: Mapping[str, Iterable[Any]] | None
) -> Iterator[tuple[str, Expression, tuple[Any, ...] | None]]:
    """What is grouped by, with the keys that were declared beside it."""
    given = {} if keys is None else keys
    if not isinstance(given, Mapping):
        raise InvalidParameter("keys", keys, "must be a mapping", "Write keys={'year': [2025, 2026]}.")
    for name in given:
        if name not in parsed:
            raise InvalidParameter("keys", name, "is not grouped by", f"There are: {', '.join(parsed)}.")
    for name, by in parsed.items():
        values = different(name, given[name]) if name in given else None
        if values is not None:
            fitting(name, by.kind or "text", values)
        yield name, by, values


def _is_unit(on: object, left: Plan, right: Plan) -> bool:
    """Whether `on` names the unit of both tables, in any of the ways in which columns are named."""
    units = [{column.name for column in plan.columns if column.unit} for plan in (left, right)]
    given = [(on, on)] if isinstance(on, str) else list(on.items()) if isinstance(on, Mapping) else None
    if given is None and isinstance(on, Sequence):
        given = [(name, name) for name in on]
    return given is not None and len(given) == 1 and given[0][0] in units[0] and given[0][1] in units[1]


def _described(column: Column) -> str:
    """A column with what is public about it."""
    if column.unit:
        return f"{column.name} (the unit)"
    if column.keys is not None:
        return f"{column.name} ({len(column.keys)} keys)"
    if column.bounds is not None:
        low, high = map(float, column.bounds)
        return f"{column.name} ({low:g} … {high:g})"
    return f"{column.name} ({column.kind})"


__all__ = ["EACH_ROW", "Grouped", "PrivateTable", "PublicTable", "is_each_row", "open", "public"]
