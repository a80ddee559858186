"""A private table and what can be asked of it. Nothing is read before a release is paid for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import closest, helpful, instead_of
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, Cdf, count
from lapwing.curator.ask import reader
from lapwing.curator.ask.context import OpenedTable, PublicTable, together
from lapwing.curator.ask.distribution import distribution
from lapwing.curator.ask.marginals import MarginalsQuestion, columns_of_sets, marginals
from lapwing.curator.ask.query import Query, ask, named
from lapwing.curator.ask.question import bounding_of
from lapwing.curator.ask.release import SMALL_GROUPS, release
from lapwing.curator.plan.declarations import EACH_ROW, declared_keys
from lapwing.curator.plan.expressions import Column, Kind
from lapwing.curator.plan.groups import Grouping, key_for
from lapwing.curator.plan.hints import unseen
from lapwing.curator.plan.joins import apart, join_public
from lapwing.curator.plan.ladders import Ladder
from lapwing.curator.plan.nodes import Exists, JoinUnit, Outer, Plan, Select, Where, is_each_row
from lapwing.curator.plan.parser import expression
from lapwing.curator.show import words
from lapwing.curator.sql.select import read
from lapwing.curator.streams.definition import check_aggregates, keys_of
from lapwing.curator.streams.protection import Allocation
from lapwing.curator.streams.schedule import NO_TIME, Every, Late, Schedule
from lapwing.curator.tables.levels import levels_of, published
from lapwing.curator.tables.streams import streamed
from lapwing.errors import InvalidCall, InvalidParameter, UnsupportedQuery, shown
from lapwing.privacy import Loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.curator.show.answer import Answer
    from lapwing.curator.streams.opening import StreamQuestion
    from lapwing.curator.tables.check import Check
    from lapwing.curator.tables.proposals import Proposal

_LIMITS = dict.fromkeys(
    ("max_rows_per_unit", "max_rows_per_group", "max_groups_per_unit"),
    "Limits belong to the table. Write lw.open(…, max_rows_per_unit=20), or table.bounded(max_rows_per_unit=20).",
)
"""What to write instead where somebody limits the rows of one question."""


@dataclass(frozen=True, repr=False)
class PrivateTable(OpenedTable):
    """Rows about units of protection. Nothing is read before a release is paid for.

    `lw.open` makes one. The examples of its methods ask the table that this example opens: a bundled file about 3,000
    patients.

    >>> from lapwing.datasets import clinic_csv
    >>> regions = ["North", "South", "East", "West", "Coast", "Islands"]
    >>> patients = lw.open(
    ...     clinic_csv(), name="patients", unit="patient",
    ...     bounds={"age": (0, 100), "cost": (0, 2000), "visits": (0, 20)},
    ...     keys={"region": regions},
    ...     types={"smoker": "boolean"},
    ... )
    """

    def __repr__(self) -> str:
        columns = ", ".join(map(_described, self.plan.columns))
        limits = words.limits(self.plan, self.bounding, self.context.unit)
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

        Args:
            condition: An expression in SQL over the columns. Rows for which it is false or NULL are left out.

        Returns:
            The table with these rows. Nothing is read yet.

        Raises:
            UnsupportedQuery: If the condition cannot be read, or names a column that is not there.

        >>> 400 < patients.where("smoker AND age >= 18").agg(lw.count()).release(epsilon=1).value < 1500
        True
        """
        return self._with(Where(self.plan, expression(condition, self.plan.by_name, name="condition")))

    def select(self, *names: str, **computed: str) -> PrivateTable:
        """Columns by name, and new ones from expressions: `select("region", bmi="weight / (height * height)")`.

        Args:
            names: Columns to keep.
            computed: New columns, each an expression in SQL.

        Returns:
            The table with these columns. It still knows whose row each is. Nothing is read yet.

        Raises:
            UnsupportedQuery: If a column does not exist, or an expression cannot be read.

        >>> costs = patients.select("region", per_visit="cost / (visits + 1)")
        >>> 0 < costs.agg(lw.mean("per_visit", bounds=(0, 500))).release(epsilon=1).value < 500
        True
        """
        with unseen(self.columns, columns=list(names)):
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
        """Join a public table on columns, or a private table on the unit.

        Of columns that both have, those of the other table get its name in front: `regions.name`.

        Args:
            other: The other table.
            on: A column or columns of both, or a mapping from columns of this table to those of the other. For a
                private table it names the unit, or is left out.
            how: "inner" keeps rows with a partner, "left" keeps all rows of this table.

        Returns:
            The joined table. Nothing is read yet.

        Raises:
            InvalidParameter: If `other` is not a table.
            UnsupportedQuery: If private tables are to be joined on anything but the unit.

        >>> sea = lw.public([{"region": "Coast", "sea": True}, {"region": "Islands", "sea": True}], name="sea")
        >>> 300 < patients.join(sea, on="region").agg(lw.count()).release(epsilon=1).value < 800
        True
        """
        checks.one_of(("inner", "left"), how=how)
        if isinstance(other, PrivateTable):
            if on is not None and not _is_unit(on, self.plan, other.plan):
                why, hint = (
                    "private tables are joined on the unit, and on nothing else",
                    "Leave out on=, and filter afterwards with where().",
                )
                raise UnsupportedQuery(f"on={shown(on)}", why, hint)
            context = together(self.context, other.context)
            return replace(self, plan=JoinUnit(self.plan, apart(self.plan, other.plan), how), context=context)
        if not isinstance(other, PublicTable):
            raise InvalidParameter("other", type(other), "is not a table", "Open it with lw.open or lw.public.")
        return self._with(join_public(self.plan, other.plan, on, how))

    def having_rows_in(self, other: PrivateTable, *, negated: bool = False) -> PrivateTable:
        """The rows whose unit has (or has not) a row in another private table.

        Args:
            other: A private table about the same units.
            negated: Whether to keep the rows whose unit has no row there.

        Returns:
            The table with these rows. Nothing is read yet.

        Raises:
            InvalidParameter: If `other` is not a private table.

        >>> smokers = patients.where("smoker")
        >>> 400 < patients.having_rows_in(smokers).agg(lw.count()).release(epsilon=1).value < 1500
        True
        """
        if not isinstance(other, PrivateTable):
            raise InvalidParameter("other", type(other), "is not a private table", "Open it with lw.open.")
        context = together(self.context, other.context)
        return replace(self, plan=Exists(self.plan, other.plan, negated), context=context)

    def bounded(self, **bounds: int) -> PrivateTable:
        """Say how much of one unit counts (contribution bounding). Larger bounds need more noise.

        Args:
            bounds: `max_groups_per_unit` and `max_rows_per_group` (1 each, unless you say otherwise), or
                `max_rows_per_unit` for all groups together.

        Returns:
            The table with these bounds.

        Raises:
            InvalidParameter: If there is no such limit, or it is not a whole number of at least 1.

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

        Keys are public where they are declared, are truth values, or are constants of a CASE: then every group is in
        the answer. Otherwise they are secret: shown only if enough units have them, which needs a delta.

        Args:
            names: Columns to group by.
            keys: Public values of these columns, besides those that were declared when the table was opened.
            everything_else: Whether to count other values than the public ones in a group of their own. By default they
                are left out.
            computed: Expressions in SQL to group by, each with its name.

        Returns:
            The groups, to be asked with `.agg(…)`.

        Raises:
            UnsupportedQuery: If a column is not there, or an expression cannot be read.
            InvalidParameter: If a name is not a text.

        >>> patients.group_by("region").agg(lw.count()).release(epsilon=1)["region"]
        ('North', 'South', 'East', 'West', 'Coast', 'Islands')
        """
        checks.true_or_false(everything_else=everything_else)
        with unseen(self.columns, names=list(names)):
            for name in names:
                if isinstance(name, list | tuple | Ladder):
                    raise _no_key(name)
            parsed = {name: expression(name, self.plan.by_name, name="key") for name in names}
        parsed |= {name: expression(text, self.plan.by_name, name=name) for name, text in computed.items()}
        group_keys = [key_for(name, by, values=values) for name, by, values in declared_keys(parsed, keys)]
        if everything_else:
            group_keys = [replace(key, everything_else=key.values is not None) for key in group_keys]
        return Grouped(self, Grouping(tuple(group_keys)))

    @instead_of(**_LIMITS, **SMALL_GROUPS)
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

        Which values there are is public where keys or a tree are declared. Otherwise it is a secret, and keys are
        tested level by level, which needs a delta.

        Args:
            levels: Columns from the top, or ladders (`lw.dates`, `lw.bins`).
            aggregates: What to ask about every group: counts, sums, means, spreads.
            tree: The public groups as a tree, `{"France": {"Bretagne": ["Brest"]}}`. None means all combinations of
                keys.
            keys: Public values of the columns, besides those that were declared when the table was opened.
            weights: What will be read and should be accurate: "levels", "leaves", "nodes", "ranges"; or a number for
                each level, the total first.
            integers: Whether to make counts whole numbers of at least 0 that add up.
            invariants: Counts that were published exactly, `{(): 1000}` for the total, `("France",)` for a node. These
                are not protected.

        Returns:
            The question, to be quoted and released.

        Raises:
            InvalidParameter: If there is no level.
            UnsupportedQuery: If a column does not exist, an aggregate is no sum over parts, or a level is a
                number without declared values.
            MissingBounds: If a column that is summed has no bounds.

        >>> question = patients.hierarchy(["region", "smoker"], lw.count())
        >>> [expected.output for expected in question.quote(epsilon=1).expected]
        ['count (level total)', 'count (level region)', 'count (level smoker)']
        """
        with unseen(self.columns, levels=_in_a_row(levels, aggregates)):
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
        """The private answer to `hierarchy(…)`, charged before any data is read.

        Args:
            levels: As in `hierarchy`.
            aggregates: As in `hierarchy`.
            epsilon: What to spend, as ε.
            rho: What to spend instead, in zero-concentrated differential privacy.
            options: Further options of `hierarchy` and of `Query.release`.

        Returns:
            An answer with a row for each node. `answer.tree()` shows it as a tree.

        Raises:
            InvalidParameter: If there is no level, or the price is not a number above 0.
            InvalidCall: If no price is given or several are, or an option does not exist.
            UnsupportedQuery: If a column does not exist, an aggregate is no sum over parts, or a level is a
                number without declared values.
            MissingBounds: If a column that is summed has no bounds.
            BudgetExceeded: If the ledger has less left than it costs.

        >>> answer = patients.release_hierarchy(["region", "smoker"], lw.count(), epsilon=1)
        >>> by_level = list(zip(answer["level"], answer["count"], strict=True))
        >>> sum(count for level, count in by_level if level == "region") == answer["count"][0]
        True
        """
        asking = {name: options.pop(name) for name in (*_RELEASE, "progress") if name in options}
        question = self.hierarchy(levels, *aggregates, **options)
        return release(question, epsilon=epsilon, rho=rho, **asking)

    def agg(self, *aggregates: Aggregate, **called: Aggregate) -> Query:
        """Ask about all rows together: `agg(lw.count(), lw.mean("age"))`, or `agg(age=lw.mean("age"))` to name it.

        Args:
            aggregates: What to ask.
            called: What to ask, each with the name of its column in the answer.

        Returns:
            The question, to be quoted and released.

        Raises:
            UnsupportedQuery: If nothing is asked, or a column is not there or of the wrong kind.
            InvalidParameter: If something else than an aggregate is asked.

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

        Values must be public. A row with another value in any of the columns is left out of all tables.

        Args:
            sets: The columns of each table. `[]` is the total.
            aggregates: Counts and sums to ask for. Without any, rows are counted.
            keys: Public values of the columns, besides those that were declared when the table was opened.
            everything_else: Whether to count rows with other values in groups of their own.
            weights: How the tables share the loss, a number for each. None means equally.
            integers: Whether to ask for whole numbers that are not negative and still agree.
            computed: Expressions in SQL to group by, each with its name: `adult="age >= 18"`.

        Returns:
            The question, to be quoted and released. Its answer holds a table for each set.

        Raises:
            InvalidParameter: If no table is named, or the weights are not as many as the tables.
            UnsupportedQuery: If a column does not exist, an aggregate is no sum over parts, or a column has no declared
                values.
            MissingBounds: If a column that is summed has no bounds.

        >>> tables = patients.marginals([["smoker", "region"], ["region"]]).release(epsilon=1)
        >>> sum(tables["smoker", "region"]["count"]) == sum(tables["region"]["count"])
        True
        """
        with unseen(self.columns, sets=_in_a_row(sets, aggregates)):
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
        allocation: Allocation | None = None,
        everything_else: bool = False,
    ) -> StreamQuestion:
        """Answers over time: `stream(lw.count(), by="region", every="day", steps=365, start="2026-01-01", …)`.

        The question is asked again after each of so many `steps`, for one price. Rows are brought later, with
        `observe`.

        Args:
            aggregates: What to count after every step.
            by: Columns to group by, or columns with their public values: `{"region": ["North", "South"]}`.
            every: How long a step is: "minute", "hour", "day", "week", "month"; or "step", if you say when one ends.
            steps: How many steps there will be. More steps need more noise.
            start: When the first step begins, such as "2026-01-01". It is public. With "step" it is left out.
            time: The column that says when a row happened: each row goes to its own step. None means that all rows are
                of the step that is closed with them.
            late: What becomes of rows whose step is closed: "drop" leaves them out, "next" counts them in the next
                step.
            grace: How long after its end a step stays open.
            watermark: The column by which a database is read on: a time, or a number that the database gives each row
                when it is inserted. People must not choose it: a number far ahead hides all rows that come later.
            active_steps: In how many steps one unit counts at most. Of more, the first ones count.
            separation: At least so many steps from one active step of a unit to the next. None means 1.
            consecutive_steps: Protect what a unit does in any so many consecutive steps (w-event privacy), and no more.
            allocation: How the budget is spread over consecutive steps: "distribution" (None means this one) or
                "absorption". The quote compares them.
            everything_else: Whether to count other values than the public ones in a group of their own.

        Returns:
            The stream, to be quoted and opened. Nothing is read or spent yet.

        Raises:
            InvalidParameter: If nothing is asked, `every` is unknown, or nothing says in how many steps a unit counts.
            UnsupportedQuery: If a column does not exist, an aggregate cannot be added up over steps, or a column to
                group by has no declared values.
            MissingBounds: If a column that is summed has no bounds.

        >>> days = patients.stream(lw.count(), by="region", every="day", steps=90, start="2024-01-01", active_steps=1)
        >>> print(days.quote(epsilon=1).loss)
        ε = 1 (add_remove, per patient)
        """
        names, keys = keys_of(by)
        with unseen(self.columns, by=list(names)):
            grouped = self.group_by(*names, keys=keys, everything_else=everything_else)
        query = grouped.agg(*check_aggregates(aggregates))
        schedule = Schedule(
            every=every, steps=steps, start=start, time=time, late=late, grace=grace, watermark=watermark
        )
        return streamed(
            query, schedule, active_steps=active_steps, separation=separation, consecutive_steps=consecutive_steps,
            allocation=allocation,
        )  # fmt: skip

    @helpful
    def query(self, sql: str, **options: Any) -> Query:
        """The question that a SELECT stands for.

        Args:
            sql: The SELECT. It calls this table by its `name`.
            options: Public knowledge (`bounds=`, `keys=`), further tables (`tables=`), `everything_else=`, and how much
                of one unit counts (`max_rows_per_unit=`, …).

        Returns:
            The question, to be quoted and released.

        Raises:
            UnsupportedQuery: If the SELECT cannot be read, or asks what cannot be answered privately.
            InvalidCall: If an option does not exist.

        >>> print(patients.query("SELECT AVG(age) FROM patients").quote(epsilon=1, count=3000).loss)
        ε = 1 (add_remove, per patient)
        """
        return _question(self, sql, options)

    def reread(self, data: Any, tables: Any = ()) -> Query | MarginalsQuestion:
        """The question that plain data stands for, as `Query.from_yaml` reads it.

        Args:
            data: The saved question as dictionaries and lists.
            tables: Further tables that the question names.

        Returns:
            The question, to be quoted and released.

        >>> import json
        >>> question = patients.agg(lw.count())
        >>> patients.reread(json.loads(question.to_json())) == question
        True
        """
        return reader.read_any(data, self, tables)

    @helpful
    def sql(self, sql: str, *, epsilon: Number | None = None, **options: Any) -> Answer:
        """The private answer to a SELECT: `sql("SELECT region, COUNT(*) FROM visits GROUP BY region", epsilon=0.5)`.

        Args:
            sql: The SELECT. It calls this table by its `name`.
            epsilon: What to spend, as ε.
            options: Further options of `query` and of `Query.release`.

        Returns:
            Values with intervals, what they cost, and what remains.

        Raises:
            UnsupportedQuery: If the SELECT cannot be read, or asks what cannot be answered privately.
            InvalidParameter: If the price is not a number above 0.
            BudgetExceeded: If the ledger has less left than it costs.
            InvalidCall: If an option does not exist.

        >>> 2900 < patients.sql("SELECT COUNT(*) AS n FROM patients", epsilon=1)["n"][0] < 3100
        True
        """
        asking = {name: options.pop(name) for name in _RELEASE if name in options}
        return release(_question(self, sql, options), epsilon=epsilon, **asking)

    def bounds(self, column: str, **options: Any) -> Proposal:
        """Propose bounds for a column by a private step: `low, high = visits.bounds("cost", epsilon=0.1)`.

        Args:
            column: A column of numbers.
            options: The options of `lw.bounds`: `epsilon=`, `delta=`, `rho=`, `confidence=` and those of
                `Query.release`.

        Returns:
            The bounds, and the private histogram that they were read from.

        Raises:
            InvalidParameter: If the column does not exist or holds no numbers, or the price is not a number above 0.
            InvalidCall: If no price is given, or several are.
            BudgetExceeded: If the ledger has less left than it costs.

        >>> low, high = patients.bounds("cost", epsilon=1)
        >>> low < high
        True
        """
        from lapwing.curator.tables.proposals import bounds

        return bounds(self, column, **options)

    def check(self, *, epsilon: Number = 1) -> Check:
        """Compare the table with what was declared about it. Not private: for its owner only, never for an analyst.

        It says how many cells fit, are absent or are beyond the bounds, shows examples of what could not be read, and
        counts rows and groups of one unit. Nothing is spent or written.

        Args:
            epsilon: What a question would spend. The recommended limits per unit balance lost rows against its noise.

        Returns:
            The report.

        Raises:
            InvalidParameter: If `epsilon` is not positive.

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

        Args:
            columns: The columns to read.
            text: Columns to give as text, as classes are written.
            per_unit: How many rows of each unit to read, drawn anew each time; a model's guarantee needs 1. None means
                all.
            most: Of more rows than this, a random part is taken. None means all rows.

        Returns:
            An array for each column, all of the same length.

        >>> rows = patients.raw_rows(["age", "region"])
        >>> len(rows["age"]), rows["age"].dtype.name
        (3000, 'float64')
        """
        from lapwing.curator.tables.raw import raw_rows

        return raw_rows(self, columns, text=text, per_unit=per_unit, most=most)

    @property
    def connection(self) -> Any:
        """The DuckDB connection that was given to read it, if any."""
        return self.context.connection

    def remaining(self) -> Loss | None:
        """What may still be spent.

        Returns:
            The rest of the allowance. If the analyst has an allowance of their own, what both cover. None without a
                ledger.

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


def _in_a_row(first: Any, others: Sequence[Any]) -> Any:
    """A list of columns; beside something else than aggregates with all of it, which may be a column of data."""
    return first if all(isinstance(other, Aggregate) for other in others) else [first, *others]


def _no_key(name: Any) -> InvalidParameter:
    """Refuse to group by a list, or by levels that only hierarchies have."""
    if not isinstance(name, Ladder):
        return InvalidParameter("names", name, "is a list", "Write group_by('region', 'sex'), or group_by(*names).")
    written = f"{'lw.bins' if name.edges else 'lw.dates'}({name.column!r}, …)"
    hint = f"Write hierarchy({written}, …), or agg(lw.histogram({name.column!r}, edges=…)) for one level."
    return InvalidParameter("names", written, "has several levels", hint)


def _question(table: PrivateTable, sql: str, options: Mapping[str, Any]) -> Query:
    for word in options:
        if word not in _READ:
            meant = closest(word, _READ) or closest(word, _RELEASE)
            hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(_READ)}, and those of release."
            raise InvalidCall("sql", f"there is no argument '{word}'", SMALL_GROUPS.get(word, hint))
    return read(sql, table, **options)


@dataclass(frozen=True)
class Grouped:
    """A private table with keys to group by, as `PrivateTable.group_by` returns it. Ask about its groups with `agg`.

    Attributes:
        table: The table.
        grouping: The keys.

    >>> groups = patients.group_by("region")
    >>> answer = groups.agg(lw.count(), lw.mean("age")).release(epsilon=1)
    >>> len(answer.table)
    6
    """

    table: PrivateTable
    grouping: Grouping

    def agg(self, *aggregates: Aggregate, **called: Aggregate) -> Query:
        """Ask about each group: `agg(lw.count(), lw.mean("age"))`, or `agg(age=lw.mean("age"))` to name it.

        Args:
            aggregates: What to ask.
            called: What to ask, each with the name of its column in the answer.

        Returns:
            The question, to be quoted and released.

        Raises:
            UnsupportedQuery: If nothing is asked, or a column is not there or of the wrong kind.
            InvalidParameter: If something else than an aggregate is asked.

        >>> answer = patients.group_by("smoker").agg(lw.count(), age=lw.mean("age")).release(epsilon=1)
        >>> answer["smoker"], len(answer["age"])
        ((False, True), 2)
        """
        table = self.table
        columns = table.plan.by_name
        outputs = tuple(each.within(columns) if isinstance(each, Cdf) else each for each in named(aggregates, called))
        query = ask(table.context, table.plan, self.grouping, outputs, table.bounding)
        return distribution(query, outputs[0]) if isinstance(outputs[0], Cdf) else query


def _is_unit(on: object, left: Plan, right: Plan) -> bool:
    """Whether `on` names the unit of both tables, in any of the ways in which columns are named."""
    units = [{column.name for column in plan.columns if column.unit} for plan in (left, right)]
    given = [(on, on)] if isinstance(on, str) else list(on.items()) if isinstance(on, Mapping) else None
    if given is None and isinstance(on, Sequence):
        given = [(name, name) for name in on]
    if given is None or len(given) != 1 or not all(isinstance(name, str) for name in given[0]):
        return False
    return given[0][0] in units[0] and given[0][1] in units[1]


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
