"""From the rows of a step to exact integers, by the same statements as in any question. All of it is secret.

What one unit adds to a step is bounded by the limits of the question, as in a release. For streams that protect units,
every unit's part is fetched by itself, because only the state knows which units still count (`activity`).
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lapwing.curator.ask.breaker import admit, fetch, read
from lapwing.curator.ask.columns import Reading, statement_of
from lapwing.curator.ask.query import Query
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan.expressions import Constant, Expression
from lapwing.curator.plan.language import call
from lapwing.curator.plan.nodes import JoinPublic, Plan, Scan, Select, Where, is_each_row, scans
from lapwing.curator.plan.statistics import Statistic
from lapwing.curator.plan.text_forms import Notation
from lapwing.errors import UnsupportedQuery

if TYPE_CHECKING:
    from lapwing.curator.ask.context import Context
    from lapwing.curator.engines.engine import Source

Cells = Mapping[str, Any]
"""One row by the names of its columns."""

APPEARING = ("units", "distinct")
"""Statistics that count what was never there before."""


@dataclass(slots=True)
class StepRows:
    """What a step adds, exactly."""

    totals: dict[int, list[int]] = field(default_factory=dict)
    """By group, where every row is a unit: one number for each statistic."""
    by_unit: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    """The same for each unit."""
    values: list[tuple[int, int, str]] = field(default_factory=list)
    """Different values: the place of the statistic, the group, and the value."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Asks the question of a stream about the rows of a step."""

    query: Query
    notation: Notation
    analyst: str | None
    charge: int | None

    @property
    def scan(self) -> Scan:
        """The table, with the columns that are read."""
        return next(scans(self.query.plan))

    def step(self, source: Source | None, within: Expression | None, salt: Salt) -> StepRows:
        """The integers of the rows for which a condition holds."""
        if source is None:
            return StepRows()
        query = self._about(source, within)
        counted: StepRows = self._read(query, partial(_counted, query, salt))
        return counted

    def cells(self, source: Source, within: Expression | None = None) -> list[tuple[Any, ...]]:
        """The rows themselves, as what they were declared to be; those without a unit are left out."""
        plan: Plan = self.scan if within is None else Where(self.scan, within)
        query = self._about(source, None)

        def look(session: Reading) -> list[tuple[Any, ...]]:
            statement = Compiler(query.context.engine.dialect, query.context.relations).rows(plan)
            skipped = 0 if is_each_row(plan) else 1
            return [tuple(row[skipped:]) for row in session.fetch(statement)]

        rows: list[tuple[Any, ...]] = self._read(query, look)
        return rows

    def largest(self, source: Source, column: str, after: Any) -> Any:
        """The largest number of a column beyond one that was seen before, or that one: where the source stands.

        Numbers above what was declared for the column are not looked at.
        """
        scan, query = self.scan, self._about(source, None)
        place = [field.name for field in scan.fields].index(column)
        plan: Plan = scan if after is None else Where(scan, later(scan, column, after))
        bounds = scan.by_name[column].bounds
        if bounds is not None:
            plan = Where(plan, not_beyond(scan, column, math.floor(bounds[1])))

        def look(session: Reading) -> list[tuple[Any, ...]]:
            rows = Compiler(query.context.engine.dialect, query.context.relations).rows(plan)
            most = exp.Max(this=exp.column(f"c{place}"))
            return session.fetch(exp.select(most.as_("most")).from_(rows.subquery("m", copy=False)))

        [(most,)] = self._read(query, look)
        return after if most is None else most

    def _about(self, source: Source, within: Expression | None) -> Query:
        context = replace(self.query.context, engine=source.engine, relations={self.scan.table: source.relation})
        plan = self.query.plan if within is None else under(self.query.plan, within)
        return replace(self.query, context=context, plan=plan)

    def fetched(self, rows: Callable[[], list[Cells]]) -> list[Cells]:
        """Rows that a cursor of somebody's brings, behind the breaker as well."""
        context = self.query.context
        self._admit(context)
        return fetch(context, rows, analyst=self.analyst, charge=self.charge)

    def _admit(self, context: Context) -> None:
        admit(context)
        if context.ledger is not None:
            who = {} if self.analyst is None else {"analyst": self.analyst}
            context.ledger.admit(context.datasets, **who)

    def _read(self, query: Query, look: Any) -> Any:
        """Behind the breaker: a failure that may depend on a row is one fixed text, and an alarm."""
        context = query.context
        self._admit(context)
        return read(context, partial(_begun, look), analyst=self.analyst, charge=self.charge)


def _begun(look: Any, session: Reading) -> Any:
    session.begin()
    return look(session)


def _counted(query: Query, salt: Salt, session: Reading) -> StepRows:
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, salt)
    each_row = is_each_row(query.plan)
    different = [place for place, statistic in enumerate(query.statistics) if statistic.kind == "distinct"]
    again = len(different) > 0
    rows = session.keep(statement.rows()) if again else statement.rows().subquery("b", copy=False)
    wanted = [Statistic("rows") if statistic.kind in APPEARING else statistic for statistic in query.statistics]
    totals: Any = statement.totals(rows, wanted)
    grouped = bool(query.grouping.keys)
    rows_of_step = StepRows()
    if each_row:
        for place, numbers in _placed(session.fetch(totals), grouped):
            rows_of_step.totals[place] = numbers
    else:
        totals = totals.select(exp.column("u").as_("of_unit"), copy=False).group_by(exp.column("u"), copy=False)
        for row in session.fetch(totals):
            for place, numbers in _placed([row[:-1]], grouped):
                rows_of_step.by_unit.setdefault(written(row[-1]), {})[place] = numbers
    for place in different:
        column = exp.column(f"d{query.contents[1].index(query.statistics[place].of)}")
        keys = [exp.column(name) for name in statement.groups]
        present = exp.not_(exp.Is(this=column.copy(), expression=exp.null()))
        values = exp.select(*keys, column.as_("v")).from_(rows).where(present)
        values = values.group_by(*(key.copy() for key in keys), column.copy())
        for row in session.fetch(values):
            group = row[0] if grouped else 0
            if group is not None:
                rows_of_step.values.append((place, int(group), written(row[-1])))
    return rows_of_step


def _placed(rows: Iterable[Sequence[Any]], grouped: bool) -> Iterator[tuple[int, list[int]]]:
    """Rows of totals with the number of their group; those of no public group are left out."""
    for row in rows:
        place, numbers = (row[0], row[1:]) if grouped else (0, row)
        if place is not None:
            yield int(place), [int(number) for number in numbers]


def written(value: Any) -> str:
    """A value as text, a different one for each: to be remembered."""
    if isinstance(value, dt.date):
        return f"d{value.isoformat()}"
    if isinstance(value, bool):
        return f"b{int(value)}"
    if isinstance(value, int):
        return f"i{value}"
    if isinstance(value, float):
        return f"f{(value + 0.0).hex()}"  # the sign of a zero tells nothing apart
    return f"t{value}"


def under(plan: Plan, condition: Expression) -> Plan:
    """The same steps of the rows of the table for which a condition holds."""
    if isinstance(plan, Scan):
        return Where(plan, condition)
    assert isinstance(plan, Where | Select | JoinPublic)
    return replace(plan, parent=under(plan.parent, condition))


def row_by_row(plan: Plan) -> None:
    """Refuse a plan that looks at several rows at once: a stream never has all rows of a unit together."""
    if isinstance(plan, Where | Select | JoinPublic):
        return row_by_row(plan.parent)
    if not isinstance(plan, Scan):
        why = "it looks at several rows of a unit at once, or at another table, and a stream reads them step by step"
        raise UnsupportedQuery(
            plan.explain(), why, "Ask about the rows as they are: where(), select(), a public table."
        )
    return None


def between(scan: Scan, column: str, low: dt.datetime | None, high: dt.datetime) -> Expression:
    """Whether a row happened from `low` on (or ever) and before `high`."""
    time = scan.by_name[column]
    before = call("<", time, _moment(high, time.kind))
    return before if low is None else call("and", call(">=", time, _moment(low, time.kind)), before)


def later(scan: Scan, column: str, after: Any) -> Expression:
    """Whether a row is beyond the place where a source stood."""
    return call(">", scan.by_name[column], Constant(after, scan.by_name[column].kind))


def not_beyond(scan: Scan, column: str, position: Any) -> Expression:
    """Whether a row was there when the place was looked up."""
    return call("<=", scan.by_name[column], Constant(position, scan.by_name[column].kind))


def _moment(value: dt.datetime, kind: str) -> Constant:
    if kind == "timestamp":
        return Constant(value, "timestamp")
    whole = value.date() if value.time() == dt.time() else value.date() + dt.timedelta(days=1)
    return Constant(whole, "date")
