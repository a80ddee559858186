"""A private table and what can be asked of it. Nothing is read before a release is paid for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import closest, helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, Cdf, count
from lapwing.curator.ask import reader
from lapwing.curator.ask.context import OpenedTable, PublicTable, together
from lapwing.curator.ask.distribution import distribution
from lapwing.curator.ask.marginals import MarginalsQuestion, columns_of_sets, marginals
from lapwing.curator.ask.query import Query, ask, named
from lapwing.curator.ask.question import bounding_of
from lapwing.curator.ask.release import release
from lapwing.curator.plan.declarations import EACH_ROW, declared_keys
from lapwing.curator.plan.expressions import Column, Kind
from lapwing.curator.plan.groups import Grouping, key_for
from lapwing.curator.plan.joins import apart, join_public
from lapwing.curator.plan.ladders import Ladder
from lapwing.curator.plan.nodes import Exists, JoinUnit, Outer, Plan, Select, Where, is_each_row
from lapwing.curator.plan.parser import expression
from lapwing.curator.sql.select import read
from lapwing.curator.streams.definition import check_aggregates, keys_of
from lapwing.curator.streams.schedule import NO_TIME, Every, Late, Schedule
from lapwing.curator.tables.levels import levels_of, published
from lapwing.curator.tables.streams import streamed
from lapwing.errors import InvalidCall, InvalidParameter, UnsupportedQuery
from lapwing.privacy import Loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.curator.show.answer import Answer
    from lapwing.curator.streams.opening import StreamQuestion
    from lapwing.curator.tables.check import Check
    from lapwing.curator.tables.proposals import Proposal


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
            raise InvalidParameter("other", type(other), "is not a table", "Open it with lw.open or lw.public.")
        return self._with(join_public(self.plan, other.plan, on, how))

    def having_rows_in(self, other: PrivateTable, *, negated: bool = False) -> PrivateTable:
        """The rows whose unit has (or has not) a row in another private table."""
        if not isinstance(other, PrivateTable):
            raise InvalidParameter("other", type(other), "is not a private table", "Open it with lw.open.")
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
        group_keys = [key_for(name, by, values=values) for name, by, values in declared_keys(parsed, keys)]
        if everything_else:
            group_keys = [replace(key, everything_else=key.values is not None) for key in group_keys]
        return Grouped(self, Grouping(tuple(group_keys)))

    @helpful
    def hierarchy(
        self,
        levels: Sequence[str | Ladder] | Ladder,
        *aggregates: Aggregate,
        tree: Any = None,
        keys: Mapping[str, Iterable[Any]] | None = None,
        weights: Any = "levels",
        integers: bool = True,
        invariants: Mapping[Any, int] | None = None,
    ) -> Query:
        """Ask about groups of groups whose numbers add up: `hierarchy(["country", "region", "town"], lw.count())`.

        Levels are columns from the top, or ladders (`lw.dates`, `lw.bins`). Which values there are is public where keys
        are declared, all combinations of them or only those of a `tree`, {"France": {"Bretagne": ["Brest"]}}; otherwise
        it is a secret, and keys are tested level by level. `weights` is what will be read ("levels", "leaves",
        "nodes", "ranges"), or a number for each level, the total first. `invariants` are counts that were published
        exactly, {(): 1000} for the total, ("France",) for a node: these are not protected.
        """
        grouping, rollup = levels_of(self.plan.by_name, levels, tree=tree, keys=keys)
        numbers = tuple(weights) if isinstance(weights, list | tuple) else weights
        rollup = replace(rollup, weights=numbers, integers=integers, invariants=published(invariants))
        return ask(self.context, self.plan, grouping, named(aggregates), self.bounding, rollup)

    @helpful
    def release_hierarchy(
        self,
        levels: Sequence[str | Ladder] | Ladder,
        *aggregates: Aggregate,
        epsilon: Number | None = None,
        rho: Number | None = None,
        **options: Any,
    ) -> Answer:
        """The private answer to `hierarchy(…)`; other options are those of it and of `Query.release`.

        `release_hierarchy(["country", "region", "town"], lw.count(), epsilon=1).tree()` shows it as a tree.
        """
        asking = {name: options.pop(name) for name in (*_RELEASE, "progress") if name in options}
        question = self.hierarchy(levels, *aggregates, **options)
        return release(question, epsilon=epsilon, rho=rho, **asking)

    def agg(self, *aggregates: Aggregate, **called: Aggregate) -> Query:
        """Ask about all rows together: `agg(lw.count(), lw.mean("age"))`, or `agg(age=lw.mean("age"))` to name it.

        >>> 30 < patients.agg(lw.mean("age")).release(epsilon=1).value < 70
        True
        """
        return Grouped(self, Grouping()).agg(*aggregates, **called)

    @helpful
    def marginals(
        self,
        sets: Sequence[Sequence[str] | str],
        *aggregates: Aggregate,
        keys: Mapping[str, Iterable[Any]] | None = None,
        everything_else: bool = False,
        weights: Sequence[Number] | None = None,
        integers: bool = False,
        **computed: str,
    ) -> MarginalsQuestion:
        """Ask for several tables of counts that agree: `marginals([["sex", "age_group"], ["age_group", "region"]])`.

        Counts of rows, or the `aggregates` (counts and sums), by each set of columns; `[]` is the total. As in
        `group_by`, an expression may have a name (`adult="age >= 18"`), and values must be public. A row with another
        value in any of the columns is left out of all tables, or counted as `everything_else`. Marginals share the loss
        equally, or by `weights`. `integers=True` asks for whole numbers that are not negative and still agree.
        """
        columns = columns_of_sets(sets, computed)
        grouping = self.group_by(*columns, keys=keys, everything_else=everything_else, **computed).grouping
        outputs = named(aggregates) or (count(),)
        return marginals(self, sets, outputs, grouping, weights=weights, integers=integers)

    @helpful
    def stream(
        self,
        *aggregates: Aggregate,
        by: str | Sequence[str] | Mapping[str, Iterable[Any]] | None = None,
        every: Every = "day",
        steps: int,
        start: Any = None,
        time: str | None = None,
        late: Late = "drop",
        grace: dt.timedelta = NO_TIME,
        watermark: str | None = None,
        active_steps: int | None = None,
        separation: int | None = None,
        consecutive_steps: int | None = None,
        everything_else: bool = False,
    ) -> StreamQuestion:
        """Answers that go on: `stream(lw.count(), by="region", every="day", steps=365, start="2026-01-01", …)`.

        The question is asked again after each of so many `steps`, for one price. Keys are public (`by=`). Rows are
        brought later, with `observe`; with `time`, a column, each goes to its own step, and what comes `late` is
        dropped or counts next. A `watermark` is a column by which a database is read on: a time, or a number that the
        database gives each row when it is inserted (never people: one far ahead hides all that come later). Say in how
        many steps one unit counts at most (`active_steps`, at least `separation` apart), or that any
        `consecutive_steps` are protected; where every row is a unit, single events are.
        """
        names, keys = keys_of(by)
        query = self.group_by(*names, keys=keys, everything_else=everything_else).agg(*check_aggregates(aggregates))
        schedule = Schedule(
            every=every, steps=steps, start=start, time=time, late=late, grace=grace, watermark=watermark
        )
        return streamed(
            query, schedule, active_steps=active_steps, separation=separation, consecutive_steps=consecutive_steps
        )

    @helpful
    def query(self, sql: str, **options: Any) -> Query:
        """The question that a SELECT stands for; `options` are bounds=, keys=, tables= and the bounds on one unit.

        >>> print(patients.query("SELECT AVG(age) FROM patients").quote(epsilon=1, count=3000).loss)
        ε = 1 (add_remove, per patient)
        """
        return _question(self, sql, options)

    def reread(self, data: Any, tables: Any = ()) -> Query | MarginalsQuestion:
        """The question that plain data stands for: what `Query.from_yaml` has read."""
        return reader.read_any(data, self, tables)

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
        query = ask(table.context, table.plan, self.grouping, named(aggregates, called), table.bounding)
        first = next(iter((*aggregates, *called.values())))
        return distribution(query, first) if isinstance(first, Cdf) else query


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


__all__ = ["EACH_ROW", "Grouped", "PrivateTable", "PublicTable", "is_each_row"]
