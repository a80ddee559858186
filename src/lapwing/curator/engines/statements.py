"""The last steps before numbers leave the engine: grid, group, bound each unit, and total up.

    rows of the plan → u, group, v₀, v₁, … (whole numbers) → at most G groups of u, R rows in each → one row per group

A group survives if the dense rank of its hash is at most G; the rows in it are sampled fairly (`sample`). Rows that
agree in group and contents are interchangeable: they agree in everything that is totalled up. The hash and the number
of a public group are packed into one whole number, because engines sort few narrow columns faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from lapwing.curator.engines.compiler import Compiler, Names, constant
from lapwing.curator.engines.dialects import attempt, cast, double, inline, when, whole
from lapwing.curator.engines.sample import Order, Sample
from lapwing.curator.engines.selection import Salt, Word, packing, stages, word
from lapwing.curator.engines.steps import LONG, in_steps
from lapwing.curator.plan.expressions import Call, Column, Constant, Expression, Kind, columns_of, never_null
from lapwing.curator.plan.grids import GridExpression
from lapwing.curator.plan.groups import Grouping, Key
from lapwing.curator.plan.nodes import Plan, Scan, Where, is_each_row, unit_kind
from lapwing.curator.plan.statistics import Bounding, Statistic
from lapwing.curator.plan.text_forms import LONGEST_KEY

FEW = 16
"""Up to so many public values are told apart by CASE, more by a join."""


@dataclass(frozen=True, slots=True)
class BoundedStatements:
    """The statements of one release over one plan."""

    compiler: Compiler
    plan: Plan
    grouping: Grouping
    bounding: Bounding
    values: tuple[GridExpression, ...]
    """Numbers that are needed, on their grids."""
    others: tuple[Expression, ...]
    """Expressions whose different values are counted."""
    salt: Salt

    @property
    def groups(self) -> list[str]:
        """The columns that say which group a row belongs to."""
        if self.grouping.secret:
            return [f"k{i}" for i in range(len(self.grouping.keys))]
        return ["g"] if self.grouping.keys else []

    @property
    def contents(self) -> list[str]:
        """The columns with what is totalled up."""
        return [*(f"v{i}" for i in range(len(self.values))), *(f"d{i}" for i in range(len(self.others)))]

    @property
    def marked(self) -> bool:
        """Whether the first row kept of each unit in each group is marked, so that units can be counted by it."""
        return self.bounding.max_rows_per_unit is None and not is_each_row(self.plan)

    def rows(self) -> exp.Query:
        """The rows that count: `u` (unless every row is a unit), the group, the contents, and `first` if marked."""
        flat = self._flat()
        return flat if is_each_row(self.plan) else self._survivors(flat)

    def totals(self, rows: exp.Table | exp.Subquery, statistics: Sequence[Statistic]) -> exp.Query:
        """One row for each group that occurs: its key or number, then the statistics."""
        columns = [exp.column(name) for name in self.groups]
        numbers = [self._statistic(statistic).as_(f"n{i}") for i, statistic in enumerate(statistics)]
        query = exp.select(*columns, *numbers).from_(rows)
        return query.group_by(*(column.copy() for column in columns), copy=False) if columns else query

    def _flat(self) -> exp.Query:
        """Every row of the plan with its group and contents; rows of no public group do not compete with others."""
        compiler = replace(self.compiler, untested=self._only_gridded())
        below, names = compiler.from_(self.plan, "r")
        expressions = [value.expression for value in self.values]
        levels: Sequence[Sequence[tuple[str, Expression]]] = ()
        if any(isinstance(what, Call) and what.length > LONG for what in expressions):
            expressions, levels = in_steps(expressions)
        for level in levels:
            below, names = self._computed(below, names, level)
        query = exp.select().from_(below, copy=False)
        places: list[exp.Expr] = []
        for i, key in enumerate(self.grouping.keys):
            value = self.compiler.expression(key.expression, names)
            if self.grouping.secret:
                if key.expression.kind == "text":
                    value = self.compiler.dialect.short(value, LONGEST_KEY)
                signless = key.expression.kind == "number"  # the sign of a zero is none of the public values
                places.append(exp.Paren(this=value.copy()) + double(0.0) if signless else value)
                if key.values is None:
                    continue
            place, table = _place(value, key, f"p{i}")
            if table is not None:
                # Constants have no NULL for a join to find, so a public NULL is told apart by CASE beside it.
                query = query.join(
                    table, on=exp.EQ(this=value.copy(), expression=exp.column("value", table=f"p{i}")), join_type="left"
                )
            if self.grouping.secret:
                query = query.where(exp.not_(exp.Is(this=exp.Paren(this=place), expression=exp.null())), copy=False)
            else:
                places.append(place)
        if self.grouping.keys and not self.grouping.secret:
            number: exp.Expr = cast(_number(places, self.grouping), "INT")
            if not is_each_row(self.plan):  # there nothing is bounded, and a group NULL is dropped at the end
                query = query.where(*(_is_known(place.copy()) for place in places), copy=False)
                number = _plain_column(places) or number
            places = [number]
        selected = [place.as_(name) for place, name in zip(places, self.groups, strict=True)]
        if not is_each_row(self.plan):
            selected.insert(0, exp.column("u", table="r").as_("u"))
        for i, (grid, expression) in enumerate(zip(self.values, expressions, strict=True)):
            selected.append(compiler.steps(replace(grid, expression=expression), names).as_(f"v{i}"))
        selected += [self._different(other, names).as_(f"d{i}") for i, other in enumerate(self.others)]
        return query.select(*(selected or [whole(1).as_("one")]), copy=False)

    def _computed(
        self, below: exp.Subquery, names: Names, level: Sequence[tuple[str, Expression]]
    ) -> tuple[exp.Subquery, dict[str, exp.Expr]]:
        """The same rows with further columns."""
        kept = [*([] if is_each_row(self.plan) else ["u"]), *(column.name for column in names.values())]
        fresh = {name: exp.column(f"e{len(names) + i}", table="r") for i, (name, _) in enumerate(level)}
        computed = [self.compiler.expression(what, names).as_(fresh[name].name) for name, what in level]
        rows = exp.select(*(exp.column(name, table="r") for name in kept), *computed).from_(below, copy=False)
        return self.compiler.dialect.fenced(rows).subquery("r", copy=False), {**names, **fresh}

    def _different(self, other: Expression, names: Names) -> exp.Expr:
        """What stands for a value where different ones are counted: of a public width, whatever the row has."""
        value = self.compiler.expression(other, names)
        return self.compiler.dialect.different(value) if other.kind == "text" else value

    def _only_gridded(self) -> frozenset[str]:
        """The columns of a table that nothing reads but a grid."""
        plan, read = self.plan, [*(key.expression for key in self.grouping.keys), *self.others]
        while isinstance(plan, Where):
            read.append(plan.condition)
            plan = plan.parent
        if not isinstance(plan, Scan):
            return frozenset()
        alone = [(value.filled() or (value, 0))[0].expression for value in self.values]
        read += [expression for expression in alone if not isinstance(expression, Column)]
        numbers = {field.name for field in plan.fields if field.kind == "number" and not field.unit}
        gridded = {expression.name for expression in alone if isinstance(expression, Column)}
        return frozenset(numbers & gridded - set().union(*map(columns_of, read)))

    def _survivors(self, flat: exp.Query) -> exp.Query:
        """The rows that the bounding keeps."""
        unit = word(self.compiler.dialect, "u", unit_kind(self.plan), nullable=False)
        group = self._group_words()
        content = (
            *(Order(f"v{i}") for i in range(len(self.values))),
            *(Order(f"d{i}", other.kind) for i, other in enumerate(self.others)),
        )
        sample = Sample(self.compiler.dialect, self.salt, self.bounding.rows, (unit, *group), content)
        kept = ["u", *self.groups, *self.contents]
        if not self.groups or self.bounding.max_rows_per_unit is not None:  # all rows of a unit are sampled together
            order = (*self._group_order(), *content)
            sample = replace(sample, words=(unit,), content=order)
            return sample.of(flat, kept, [exp.column(name) for name in kept], marked=self.marked)
        if unit_kind(self.plan) == "text":  # MD5 is computed once
            flat = exp.select(*map(exp.column, kept), unit.sql.copy().as_("c")).from_(flat.subquery("f", copy=False))
            kept, unit = [*kept, "c"], replace(unit, sql=exp.column("c"))
        hashed = self._hashed(flat, kept, [unit, *group])
        if self.grouping.secret:
            by_group = (Order("group_hash"), *self._group_order())
            shown: list[exp.Expr] = [exp.column(name) for name in kept if name != "c"]
            sample = replace(sample, words=(unit, *group), by_group=by_group)
            kept = [*kept, "group_hash"]
        else:
            packed, number = packing(self.grouping.size)
            kept = [name for name in kept if name != "g"]
            hashed = exp.select(*map(exp.column, kept), packed.as_("place")).from_(hashed.subquery("f", copy=False))
            shown = [exp.column("u"), number.as_("g"), *map(exp.column, self.contents)]
            words = (unit, Word(number.copy(), 0, self.grouping.size))
            kept, sample = [*kept, "place"], replace(sample, words=words, by_group=(Order("place"),))
        return replace(sample, groups=self.bounding.max_groups_per_unit).of(hashed, kept, shown, marked=self.marked)

    def _hashed(self, rows: exp.Query, kept: list[str], words: list[Word]) -> exp.Query:
        """The rows with the hash that groups are chosen by."""
        dialect = self.compiler.dialect
        *first, last = stages(words, self.salt, "group")
        for stage in first:
            rows = dialect.fenced(rows)
            rows = exp.select(*map(exp.column, kept), stage.as_("h")).from_(rows.subquery("f", copy=False), copy=False)
        rows = dialect.fenced(rows)
        hashed = last.as_("group_hash")
        return exp.select(*map(exp.column, kept), hashed).from_(rows.subquery("f", copy=False), copy=False)

    def _group_order(self) -> tuple[Order, ...]:
        """Groups in the order of their numbers, or secret ones in that of their keys."""
        if self.grouping.secret:
            return tuple(Order(f"k{i}", key.expression.kind) for i, key in enumerate(self.grouping.keys))
        return tuple(Order(name) for name in self.groups)

    def _group_words(self) -> list[Word]:
        """The group as numbers to be hashed."""
        if self.grouping.secret:
            dialect = self.compiler.dialect
            return [word(dialect, f"k{i}", key.expression.kind) for i, key in enumerate(self.grouping.keys)]
        return [Word(exp.column("g"), 0, self.grouping.size)] if self.grouping.keys else []

    def _statistic(self, statistic: Statistic) -> exp.Expr:
        """One whole number of a group."""
        if statistic.kind == "rows" or (statistic.kind == "units" and is_each_row(self.plan)):
            return exp.Count(this=exp.Star())
        if statistic.kind == "units" and self.marked:
            return exp.Count(this=when(exp.column("first"), whole(1)))
        if statistic.kind == "units":
            return exp.Count(this=exp.Distinct(expressions=[exp.column("u")]))
        if statistic.kind == "distinct":
            assert statistic.of is not None
            place = exp.column(f"d{self.others.index(statistic.of)}")
            return exp.Count(this=exp.Distinct(expressions=[place]))
        columns = [exp.column(f"v{self.values.index(value)}") for value in statistic.arguments]
        if statistic.kind == "sum":
            return self._sum(columns[0])
        if not any(statistic.powers) and len(columns) == 1:
            return exp.Count(this=columns[0])
        if statistic.powers == (1,):  # Σ(v − m) = Σv − m·n, without a subtraction for each row
            value = statistic.arguments[0]
            counted = exp.Star() if never_null(value.expression) else columns[0].copy()
            count = exp.Paren(this=exp.Count(this=counted) * whole(value.middle))
            return exp.Paren(this=self._sum(columns[0])) - count
        factors: list[exp.Expr] = []
        for column, value, power in zip(columns, statistic.arguments, statistic.powers, strict=True):
            factors += [exp.Paren(this=cast(column, "BIGINT") - whole(value.middle))] * power
        product: exp.Expr = factors[0].copy() if factors else whole(1)
        for factor in factors[1:]:
            product = exp.Mul(this=product, expression=factor.copy())
        present = [exp.not_(exp.Is(this=column.copy(), expression=exp.null())) for column in columns]
        return self._sum(product if len(columns) == 1 else when(exp.and_(*present), product))

    def _sum(self, value: exp.Expr) -> exp.Expr:
        return exp.Coalesce(this=self.compiler.dialect.wide_sum(value), expressions=[whole(0)])


def constant_of(kind: Kind | None, value: object) -> exp.Expr:
    """A value of a key."""
    return constant(Constant(value, "number" if isinstance(value, float) and kind == "integer" else kind))


def _is(sql: exp.Expr, key: Key, value: object) -> exp.Expr:
    if value is None:
        return exp.Is(this=exp.Paren(this=sql.copy()), expression=exp.null())
    return exp.EQ(this=sql.copy(), expression=constant_of(key.expression.kind, value))


def _place(sql: exp.Expr, key: Key, alias: str) -> tuple[exp.Expr, exp.Expr | None]:
    """The number of a value among the public ones (NULL for others), and the table to join for it, if any."""
    values = key.values or ()
    plain = [value for value in values if value is not None]
    table = None
    if key.expression.kind == "integer" and plain and _consecutive(plain) and len(plain) == len(values):
        inside = exp.and_(sql.copy() >= whole(plain[0]), sql.copy() <= whole(plain[-1]))
        place: exp.Expr = when(inside, sql.copy() - whole(plain[0]) if plain[0] else sql.copy())
    elif len(values) <= FEW:
        place = exp.Case()
        for i, value in enumerate(values):
            place = place.when(_is(sql, key, value), whole(i))
    else:
        rows = [
            [constant_of(key.expression.kind, value), whole(i)] for i, value in enumerate(values) if value is not None
        ]
        table = _told_apart(inline(rows, "p", ["value", "place"]), key).subquery(alias, copy=False)
        place = exp.column("place", table=alias)
        if None in values:
            place = when(_is(sql, key, None), whole(values.index(None)), place)
    if key.everything_else:
        place = exp.Coalesce(this=place, expressions=[whole(len(values))])
    return place, table


def _told_apart(values: exp.Expr, key: Key) -> exp.Query:
    """Public values and their places, each once: 2^53 and 2^53 + 1 are one double, and no row is in two groups."""
    value: exp.Expr = exp.column("value", table="p")
    if key.expression.kind == "number":
        value = cast(value, "DOUBLE")
    first = exp.Min(this=exp.column("place", table="p"))
    return (
        exp.select(value.as_("value"), first.as_("place")).from_(values, copy=False).group_by(value.copy(), copy=False)
    )


def _is_known(place: exp.Expr) -> exp.Expr:
    """Whether a value is one of the public ones: where only one condition tells, by that condition."""
    if isinstance(place, exp.Case) and len(place.args["ifs"]) == 1 and place.args.get("default") is None:
        return place.args["ifs"][0].this.copy()  # type: ignore[no-any-return]
    return exp.not_(exp.Is(this=exp.Paren(this=place.copy()), expression=exp.null()))


def _plain_column(places: Sequence[exp.Expr]) -> exp.Expr | None:
    """The number of a group that is a column as it is, once other rows are gone; the cast fails for no row at all."""
    if len(places) != 1 or not isinstance(places[0], exp.Case) or len(places[0].args["ifs"]) != 1:
        return None
    column = places[0].args["ifs"][0].args["true"]
    return attempt(column, "INT") if isinstance(column, exp.Column) else None


def _consecutive(values: Sequence[Any]) -> bool:
    if not all(type(value) is int for value in values):
        return False
    return list(values) == list(range(values[0], values[0] + len(values)))


def _number(places: Sequence[exp.Expr], grouping: Grouping) -> exp.Expr:
    """The number of a combination of keys, in the order of `Grouping.labels`."""
    number = places[0]
    for place, key in zip(places[1:], grouping.keys[1:], strict=True):
        number = exp.Paren(this=exp.Paren(this=number) * whole(key.size)) + exp.Paren(this=place)
    return number
