"""Translates a question of the curator into what two servers count.

Every column of a row has a public domain, so an expression over *one* column is a table: its value for each bit of the
column. Conditions on several columns are and, or, not of such tables. Whatever needs more is refused, with its reason.
Proof: measures.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from lapwing.curator.ask.question import Question
from lapwing.curator.plan.evaluation import evaluate
from lapwing.curator.plan.expressions import Call, Constant, Expression, columns_of
from lapwing.curator.plan.expressions import Column as Name
from lapwing.curator.plan.grids import GridExpression
from lapwing.curator.plan.groups import Key
from lapwing.curator.plan.nodes import JoinPublic, Plan, Scan, Select, Where
from lapwing.curator.plan.statistics import Statistic
from lapwing.errors import UnsupportedQuery
from lapwing.pair.domains import Digits, Layout, Listed
from lapwing.pair.tallies import ALWAYS, NEVER, Among, Condition, Dimension, Measure, Tally, both, either

Value = Any


@dataclass(frozen=True, slots=True)
class Table:
    """A value for each bit of a listed column; None stands for NULL."""

    column: str
    contents: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A column of digits, as it is."""

    column: str


@dataclass(frozen=True)
class Frame:
    """Rows of a plan: what each of their columns is made of, and which of them count."""

    layout: Layout
    columns: Mapping[str, Table | Number]
    where: Condition = ALWAYS

    def table(self, expression: Expression) -> Table | Number | Constant:
        """What an expression over one column is for each of its bits."""
        if isinstance(expression, Constant):
            return expression
        sources = {name: self.columns[name] for name in sorted(columns_of(expression))}
        if not sources:
            return Constant(evaluate(expression, {}), expression.kind)
        digits = [source for source in sources.values() if isinstance(source, Number)]
        if digits:
            return self._number(expression, digits)
        bases = {source.column for source in sources.values()}
        if len(bases) > 1:
            raise UnsupportedQuery(
                str(expression),
                f"it compares or computes with several columns of a row: {', '.join(sorted(bases))}",
                "Join conditions on single columns with AND, OR and NOT, or have owners upload the result.",
            )
        [base] = bases
        places = range(self.layout.by_name[base].size)
        rows = ({name: _content(source, place) for name, source in sources.items()} for place in places)
        return Table(base, tuple(evaluate(expression, row) for row in rows))

    def _number(self, expression: Expression, digits: Sequence[Number]) -> Number:
        inner = expression
        if isinstance(inner, Call) and inner.operator == "clamp":
            inner = inner.arguments[0]
        if isinstance(inner, Name) and isinstance(self.columns[inner.name], Number):
            return digits[0]
        raise UnsupportedQuery(
            str(expression),
            f"owners upload {digits[0].column} as digits, which can only be added up",
            "Have it uploaded by ranges (bins: in the file) to filter, group or compare.",
        )

    def condition(self, expression: Expression, wanted: bool = True) -> Condition:
        """Where an expression is true, or false: NULL is neither."""
        several = len({self.columns[name].column for name in columns_of(expression)}) > 1
        if several and isinstance(expression, Call) and expression.operator in ("and", "or", "not"):
            return self._joined(expression, wanted)
        table = self.table(expression)
        if isinstance(table, Constant):
            return ALWAYS if table.value is wanted else NEVER
        if isinstance(table, Number):
            raise AssertionError(expression)  # a number is no condition
        return both(Among(table.column, tuple(i for i, value in enumerate(table.contents) if value is wanted)))

    def _joined(self, expression: Call, wanted: bool) -> Condition:
        if expression.operator == "not":
            return self.condition(expression.arguments[0], not wanted)
        join = both if (expression.operator == "and") == wanted else either
        return join(*(self.condition(part, wanted) for part in expression.arguments))


def _content(source: Table | Number, place: int) -> Value:
    assert isinstance(source, Table)
    return source.contents[place]


def frame_of(plan: Plan, layout: Layout) -> Frame:
    """What the rows of a plan are made of."""
    if isinstance(plan, Scan):
        columns = {
            domain.name: Table(domain.name, domain.contents) if isinstance(domain, Listed) else Number(domain.name)
            for domain in layout.domains
        }
        return Frame(layout, columns)
    if isinstance(plan, Where):
        below = frame_of(plan.parent, layout)
        return replace(below, where=both(below.where, below.condition(plan.condition)))
    if isinstance(plan, Select):
        below = frame_of(plan.parent, layout)
        return replace(below, columns={name: _column(below, what) for name, what in plan.outputs})
    if isinstance(plan, JoinPublic):
        return _with_public(plan, layout)
    what = type(plan).__name__
    why = "two servers hold one row of each person, and neither sees it: rows cannot be matched, merged or sorted"
    raise UnsupportedQuery(what, why, "Ask about the columns of one row.")


def _column(frame: Frame, expression: Expression) -> Table | Number:
    table = frame.table(expression)
    if isinstance(table, Constant):
        listed = [domain for domain in frame.layout.domains if isinstance(domain, Listed)]
        if not listed:
            why = "it has the same value in all rows, and counting them needs a listed column"
            raise UnsupportedQuery(str(expression), why, "Write COUNT(*).")
        return Table(listed[0].name, (table.value,) * listed[0].size)
    return table


def _with_public(plan: JoinPublic, layout: Layout) -> Frame:
    """Every column of a public table is a function of the column it is joined on."""
    below = frame_of(plan.parent, layout)
    tables = [_column(below, private) for private, _ in plan.on]
    if plan.factor > 1 or len({table.column for table in tables}) > 1 or any(isinstance(t, Number) for t in tables):
        why = "a public table can be joined on one listed column, with one partner for each value"
        raise UnsupportedQuery(f"join {plan.public.table}", why, "Leave rows of the public table out.")
    base, names = tables[0].column, [field.name for field in plan.public.fields]
    places = [names.index(name) for _, name in plan.on]
    partners = {tuple(row[place] for place in places): row for row in plan.public.rows}
    nobody = (None,) * len(names)
    keys = [tuple(_content(table, bit) for table in tables) for bit in range(layout.by_name[base].size)]
    rows = [None if None in key else partners.get(key) for key in keys]
    columns = {name: Table(base, tuple((row or nobody)[i] for row in rows)) for i, name in enumerate(names)}
    matched = Among(base, tuple(bit for bit, row in enumerate(rows) if row is not None))
    where = both(below.where, matched) if plan.how == "inner" else below.where
    return Frame(layout, {**below.columns, **columns}, where)


@dataclass(frozen=True)
class Compiled:
    """A question as measures: one for each integer that it needs."""

    question: Question
    layout: Layout

    @cached_property
    def frame(self) -> Frame:
        """Of its rows."""
        return frame_of(self.question.plan, self.layout)

    @cached_property
    def keys(self) -> tuple[tuple[str, tuple[int, ...], int], ...]:
        """For each key: its column, the group of each bit (−1 for none), and how many groups there are."""
        return tuple(self._key(key) for key in self.question.grouping.keys)

    def _key(self, key: Key) -> tuple[str, tuple[int, ...], int]:
        if key.values is None:
            why = "which keys occur would be a secret, and two servers cannot look for them"
            raise UnsupportedQuery(f"group by {key.name}", why, f"Name the groups: keys={{{key.name!r}: […]}}.")
        table = _column(self.frame, key.expression)
        if isinstance(table, Number):
            why = f"owners upload {table.column} as digits"
            raise UnsupportedQuery(f"group by {key.name}", why, "Have it uploaded by ranges (bins: in the file).")
        places = {value: place for place, value in enumerate(key.values)}
        rest = len(key.values) if key.everything_else else -1
        return table.column, tuple(places.get(value, rest) for value in table.contents), key.size

    @cached_property
    def _shared(self) -> Mapping[frozenset[str], list[Table]]:
        """Factors of all statistics about the same columns: bits that one of them tells apart are told apart for all.

        A mean needs a number of values and their sum. Counted in the same cells, they take the same products.
        """
        shared: dict[frozenset[str], list[Table]] = {}
        for statistic in self.question.statistics:
            if statistic.kind in ("sum", "moment"):
                tables = [table for table in self._factors(statistic) if isinstance(table, Table)]
                shared.setdefault(frozenset(table.column for table in tables), []).extend(tables)
        return shared

    @property
    def groups(self) -> int:
        """How many groups the answer has."""
        return prod(size for _, _, size in self.keys)

    @cached_property
    def measures(self) -> Mapping[Statistic, Measure]:
        """What is counted for each integer of the question."""
        if self.question.rollup is not None:
            why = "two servers make noise for one level of groups, and a rollup needs noise on every level"
            raise UnsupportedQuery("ROLLUP", why, "Ask for the groups of the last level, and add them up.")
        if any(bound.pick is not None for bound in self.question.bounds):
            why = "a quantile is found by looking at values, which nobody can here"
            raise UnsupportedQuery("quantile", why, "Ask for a histogram, and read the quantile from it.")
        return {statistic: self.measure(statistic) for statistic in self.question.statistics}

    def measure(self, statistic: Statistic) -> Measure:
        """What is counted for one integer."""
        if statistic.kind in ("rows", "units"):
            return self._over([])
        if statistic.kind == "distinct":
            assert statistic.of is not None
            table = _column(self.frame, statistic.of)
            if isinstance(table, Number):
                why = f"owners upload {table.column} as digits, so different values cannot be counted"
                raise UnsupportedQuery(str(statistic), why, "Have it uploaded by ranges (bins: in the file).")
            return self._over([], distinct=table)
        factors = self._factors(statistic)
        numbers = [factor for factor in factors if isinstance(factor, tuple)]
        if numbers:
            if len(factors) > 1:
                why = f"owners upload {numbers[0][0].name} as digits, which cannot be multiplied"
                raise UnsupportedQuery(str(statistic), why, "Have it listed (values: in the file) to multiply it.")
            return self._of_digits(*numbers[0])
        return self._over([factor for factor in factors if isinstance(factor, Table)])

    def _factors(self, statistic: Statistic) -> list[Table | tuple[Digits, int, bool]]:
        powers = (1,) if statistic.kind == "sum" else statistic.powers
        centred = statistic.kind == "moment"
        return [self._factor(grid, power, centred) for grid, power in zip(statistic.arguments, powers, strict=True)]

    def _factor(self, grid: GridExpression, power: int, centred: bool) -> Table | tuple[Digits, int, bool]:
        """What a value counts, in steps: for each bit of its column, or how a number of digits is added up."""
        middle = grid.middle if centred else 0
        presence = self._presence(grid.expression) if power == 0 else None
        table = presence or _column(self.frame, grid.expression)
        if isinstance(table, Table):
            return Table(table.column, tuple(_steps(grid, value, middle, power) for value in table.contents))
        domain = self.layout.by_name[table.column]
        assert isinstance(domain, Digits)
        if power > 1:
            why = f"owners upload {domain.name} as digits, which cannot be squared"
            raise UnsupportedQuery(str(grid), why, "Have it listed (values: in the file) for a variance.")
        same = grid.is_whole and (grid.low, grid.high) == (domain.low, domain.high)
        if power and not same:
            why = f"owners upload {domain.name} as digits between {domain.low:,} and {domain.high:,}"
            raise UnsupportedQuery(str(grid), why, "Leave out bounds=, or have it uploaded with those bounds.")
        return domain, middle, bool(power)

    def _presence(self, expression: Expression) -> Number | None:
        """The column of digits whose values are counted: CASE WHEN x IS NULL THEN NULL ELSE 1 END."""
        match expression:
            case Call(operator="case", arguments=(Call(operator="is null", arguments=(Name() as name,)), *_)):
                source = self.frame.columns[name.name]
                return source if isinstance(source, Number) else None
        return None

    def _of_digits(self, domain: Digits, middle: int, valued: bool) -> Measure:
        """present · (low − middle) + Σ digit · weight, or whether a value is there."""
        weights = (domain.low - middle, *domain.weights) if valued else (1,)
        dimension = Dimension(domain.name, tuple((bit,) for bit in range(len(weights))))
        outer = self._over([])
        tally = Tally((*outer.tally.dimensions, dimension), outer.tally.where)
        pairs = [(group, weight) for group in outer.groups for weight in weights]
        return self._finished(tally, [group for group, _ in pairs], [weight for _, weight in pairs])

    def _over(self, factors: Sequence[Table], *, distinct: Table | None = None) -> Measure:
        """Rows by the keys and by what is multiplied, cells being as large as they can."""
        columns = dict.fromkeys([column for column, _, _ in self.keys] + [table.column for table in factors])
        if distinct is not None:
            columns[distinct.column] = None
        apart = [] if distinct is not None else self._shared.get(frozenset(t.column for t in factors), [])
        parts = [self._classes(column, factors, distinct, apart) for column in columns]
        dimensions = tuple(
            Dimension(column, tuple(tuple(bits) for _, _, bits in classes))
            for column, classes in zip(columns, parts, strict=True)
        )
        groups, weights = [], []
        for classes in product(*parts):
            places = dict(pair for keys, _, _ in classes for pair in keys)
            groups.append(self._group([places[number] for number in range(len(self.keys))]))
            weights.append(prod(weight for _, weight, _ in classes))
        return self._finished(Tally(dimensions, self.frame.where), groups, weights, 1 if distinct else None)

    def _finished(
        self, tally: Tally, groups: Sequence[int], weights: Sequence[int], at_least: int | None = None
    ) -> Measure:
        measure = Measure(tally, tuple(groups), tuple(weights), self.groups, at_least)
        measure.check(self.layout)
        return measure

    def _group(self, places: Iterable[int]) -> int:
        number = 0
        for place, (_, _, size) in zip(places, self.keys, strict=True):
            number = number * size + place
        return number

    def _classes(
        self, column: str, factors: Sequence[Table], distinct: Table | None, apart: Sequence[Table]
    ) -> list[tuple[tuple[tuple[int, int], ...], int, list[int]]]:
        """Bits of a column that need not be told apart: their keys, their weight, and the bits."""
        classes: dict[Any, list[int]] = {}
        for bit in range(self.layout.by_name[column].size):
            keys = tuple((i, places[bit]) for i, (own, places, _) in enumerate(self.keys) if own == column)
            own = [table.contents[bit] for table in factors if table.column == column]
            value = distinct.contents[bit] if distinct is not None and distinct.column == column else ""
            if any(place < 0 for _, place in keys) or None in own or value is None:
                continue
            others = tuple(table.contents[bit] for table in apart if table.column == column)
            classes.setdefault((keys, prod(own), value, others), []).append(bit)
        return [(keys, weight, bits) for (keys, weight, _, _), bits in classes.items()]


def _steps(grid: GridExpression, value: Value, middle: int, power: int) -> int | None:
    if value is None:
        return None
    inside: int = (grid.step_of(min(max(value, grid.low), grid.high)) - middle) ** power
    return inside
