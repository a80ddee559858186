"""From plans to statements: every node a SELECT with the unit as `u` and its columns as `c0`, `c1`, … by position.

Names of the source appear only where a table is read, so no name of a user can clash, be folded to another case or
break out of its quotes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

from sqlglot import exp

from lapwing.curator.engines.dialects import SQL_TYPES, Dialect, cast, clamped_if_finite, double, inline, whole
from lapwing.curator.engines.operators import EXACT, OPERATORS, clamped, is_tiny, truth
from lapwing.curator.engines.sample import Order, Sample
from lapwing.curator.engines.selection import Salt, word
from lapwing.curator.plan import patterns
from lapwing.curator.plan.expressions import Column, Constant, Expression, Kind, span_of
from lapwing.curator.plan.grids import GridExpression, gridded
from lapwing.curator.plan.multiplicity import AtMost
from lapwing.curator.plan.narrowing import CarriedColumns, is_simple
from lapwing.curator.plan.nodes import (
    Combine,
    Exists,
    JoinPublic,
    JoinUnit,
    PerUnit,
    Plan,
    Public,
    Scan,
    Select,
    Where,
    is_each_row,
    scans,
    unit_kind,
)
from lapwing.curator.plan.text_forms import LONGEST_CARRIED, LONGEST_TEXT, LONGEST_UNIT, PLAIN, Notation

Names = Mapping[str, exp.Expr]
"""What stands for each column."""
UNSALTED = Salt(b"")


@dataclass(frozen=True, slots=True)
class Relation:
    """A table of the engine: what to write after FROM, and the engine's type of each column."""

    table: exp.Expr
    types: Mapping[str, str]
    frame: Any = None
    """A table of this process, under whose name `table` stands, for the engine to take in when a session begins."""
    notation: Notation = PLAIN
    """How values are written where the engine has text, by the owner's word."""
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    """What columns of a frame were declared to be: Python objects are read as that when the engine takes them in."""
    file: Mapping[str, str] = field(default_factory=dict)
    """How a file is read, where its owner says other than usual and the names of the columns do not tell it."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """Turns plans into statements of one dialect over known tables."""

    dialect: Dialect
    relations: Mapping[str, Relation]
    untested: frozenset[str] = frozenset()
    """Doubles that scans hand on as they are, because only `steps` reads them: it tests and clamps in one go."""
    salt: Salt = UNSALTED
    """What rows are drawn by where a join takes only some of a unit's."""

    def rows(self, plan: Plan) -> exp.Query:
        """A query with `u` (unless every row is a unit) and one column per column of the plan."""
        return _rows(plan, self)

    def from_(self, plan: Plan, alias: str) -> tuple[exp.Subquery, dict[str, exp.Expr]]:
        """A plan to select from, and what its columns are called there."""
        names = {column.name: exp.column(f"c{i}", table=alias) for i, column in enumerate(plan.columns)}
        return self.rows(plan).subquery(alias, copy=False), dict(names)

    def expression(self, expression: Expression, names: Names) -> exp.Expr:
        """An expression over what stands for its columns."""
        if isinstance(expression, Column):
            return names[expression.name].copy()
        if isinstance(expression, Constant):
            return constant(expression)
        arguments = [self.expression(argument, names) for argument in expression.arguments]
        if expression.operator == "to number" and expression.arguments[0].kind == "text":
            return self.dialect.number_from(arguments[0])
        if expression.operator == "like" and isinstance(pattern := expression.arguments[1], Constant):
            return exp.Paren(this=self.dialect.like(arguments[0], patterns.joined(pattern.value)))
        return OPERATORS[expression.operator](expression, arguments)

    def cell(self, table: Scan, field: Column) -> exp.Expr:
        """A cell of a table, which is called `s`, as what its owner declared it to be."""
        relation = self.relations[table.table]
        column = exp.column(exp.to_identifier(field.name, quoted=True), table="s")
        tested = field.name not in self.untested
        declared = relation.types[field.name]
        longest = LONGEST_UNIT if field.unit else LONGEST_TEXT
        return self.dialect.read(
            column, declared, field.kind, tested=tested, notation=relation.notation, longest=longest
        )

    def steps(self, value: GridExpression, names: Names) -> exp.Expr:
        """A value on its grid, as a whole number, or NULL."""
        filled = value.filled()
        if filled is not None:  # one COALESCE of whole numbers is less work than another CASE of doubles
            column, missing = filled
            return exp.Coalesce(this=self.steps(column, names), expressions=[whole(missing)])
        raw = self.expression(value.expression, names)
        if value.expression.kind == "integer":
            inside: exp.Expr = clamped(raw, whole(int(value.low)), whole(int(value.high)))
            if value.is_whole:
                return inside
            inside = cast(inside, "DOUBLE")
        else:
            low, high = double(value.low), double(value.high)
            is_untested = isinstance(value.expression, Column) and value.expression.name in self.untested
            inside = clamped_if_finite(raw, low, high) if is_untested else clamped(raw, low, high)
            if value.exponent < 0:  # PostgreSQL raises where a product is too small; on this grid both are 0
                inside = exp.Case().when(is_tiny(inside), double(0.0)).else_(inside)
        scaled = inside * double(2.0**value.exponent) + double(0.5)
        return cast(exp.func("FLOOR", scaled), "INT" if max(map(abs, value.steps)) < 1 << 31 else "BIGINT")


def constant(value: Constant) -> exp.Expr:
    """A value that the analyst wrote."""
    if value.value is None:
        return exp.null() if value.kind is None else cast(exp.null(), SQL_TYPES[value.kind])
    if isinstance(value.value, bool):
        return exp.true() if value.value else exp.false()
    if isinstance(value.value, int):  # beyond 32 bits engines have types of their own for what is written
        return whole(value.value) if abs(value.value) < 1 << 31 else cast(whole(value.value), "BIGINT")
    if isinstance(value.value, float):
        return double(value.value)
    if isinstance(value.value, dt.datetime):
        return cast(exp.Literal.string(value.value.isoformat(sep=" ")), SQL_TYPES["timestamp"])
    if isinstance(value.value, dt.date):
        return cast(exp.Literal.string(value.value.isoformat()), "DATE")
    return exp.Literal.string(value.value)


def _listed(plan: Plan | CarriedColumns, compiler: Compiler, names: Names, unit: exp.Expr | None) -> list[exp.Expr]:
    """The columns of a plan by position, after the unit."""
    columns = [names[column.name].copy().as_(f"c{i}") for i, column in enumerate(plan.columns)]
    return columns if unit is None else [unit.as_("u"), *columns]


def _unit(plan: Plan, alias: str) -> exp.Expr | None:
    return None if is_each_row(plan) or not any(scans(plan)) else exp.column("u", table=alias)


@singledispatch
def _rows(plan: Plan | AtMost | CarriedColumns, compiler: Compiler) -> exp.Query:
    raise TypeError(type(plan))


@_rows.register
def _scan(plan: Scan, compiler: Compiler) -> exp.Query:
    relation = compiler.relations[plan.table]
    table = exp.alias_(relation.table.copy(), "s", table=True)
    names = {field.name: compiler.cell(plan, field) for field in plan.fields}
    if plan.each_row:
        return exp.select(*_listed(plan, compiler, names, None)).from_(table, copy=False)
    unit = next(field.name for field in plan.fields if field.unit)
    query = exp.select(*_listed(plan, compiler, names, names[unit].copy())).from_(table, copy=False)
    has_unit = exp.not_(exp.Is(this=exp.Paren(this=names[unit].copy()), expression=exp.null()), copy=False)
    return query.where(has_unit, copy=False)


@_rows.register
def _where(plan: Where, compiler: Compiler) -> exp.Query:
    below, names = compiler.from_(plan.parent, "r")
    query = exp.select(*_listed(plan, compiler, names, _unit(plan, "r"))).from_(below, copy=False)
    return query.where(truth(plan.condition, compiler.expression(plan.condition, names)), copy=False)


@_rows.register
def _select(plan: Select, compiler: Compiler) -> exp.Query:
    below, names = compiler.from_(plan.parent, "r")
    outputs = {name: compiler.expression(expression, names) for name, expression in plan.outputs}
    return exp.select(*_listed(plan, compiler, outputs, _unit(plan, "r"))).from_(below, copy=False)


@_rows.register
def _public(plan: Public, compiler: Compiler) -> exp.Query:
    rows = [
        [constant(Constant(value, field.kind)) for value, field in zip(row, plan.fields, strict=True)]
        for row in plan.rows
    ]
    table = inline(rows, "p", [f"c{i}" for i in range(len(plan.fields))])
    columns = [
        cast(exp.column(f"c{i}", table="p"), SQL_TYPES[field.kind]).as_(f"c{i}") for i, field in enumerate(plan.fields)
    ]
    return exp.select(*columns).from_(table, copy=False)


@_rows.register
def _join_public(plan: JoinPublic, compiler: Compiler) -> exp.Query:
    left, names = compiler.from_(plan.parent, "l")
    right, publics = compiler.from_(plan.public, "r")
    on = [
        exp.EQ(this=compiler.expression(private, names), expression=publics[name].copy()) for private, name in plan.on
    ]
    query = exp.select(*_listed(plan, compiler, {**names, **publics}, _unit(plan, "l"))).from_(left, copy=False)
    return query.join(right, on=exp.and_(*on), join_type=plan.how, copy=False)


@_rows.register
def _join_unit(plan: JoinUnit, compiler: Compiler) -> exp.Query:
    left, names = compiler.from_(plan.left, "l")
    right, others = compiler.from_(plan.right, "r")
    names.update(others)
    on: list[exp.Expr] = [exp.EQ(this=exp.column("u", table="l"), expression=exp.column("u", table="r"))]
    if plan.condition is not None:
        on.append(truth(plan.condition, compiler.expression(plan.condition, names)))
    query = exp.select(*_listed(plan, compiler, names, exp.column("u", table="l"))).from_(left, copy=False)
    return query.join(right, on=exp.and_(*on), join_type=plan.how, copy=False)


@_rows.register
def _carried(plan: CarriedColumns, compiler: Compiler) -> exp.Query:
    below, names = compiler.from_(plan.parent, "r")
    kept = {column.name: names[column.name] for column in plan.kept}
    for column in plan.kept:
        if column.kind == "text" and not column.unit:  # the unit is shorter
            kept[column.name] = compiler.dialect.short(kept[column.name], LONGEST_CARRIED)
    return exp.select(*_listed(plan, compiler, kept, _unit(plan.parent, "r"))).from_(below, copy=False)


@_rows.register
def _at_most(plan: AtMost, compiler: Compiler) -> exp.Query:
    """A fair sample of each unit with more rows than that. Only these are sorted: most tables have none."""
    columns = ["u", *(f"c{i}" for i in range(len(plan.columns)))]
    listed = [exp.column(name) for name in columns]

    def rows() -> exp.Select:
        return exp.select(*(column.copy() for column in listed)).from_(compiler.from_(plan.parent, "r")[0], copy=False)

    order = tuple(Order(f"c{i}", column.kind) for i, column in enumerate(plan.columns))
    unit = word(compiler.dialect, "u", unit_kind(plan.parent), nullable=False)
    sample = Sample(compiler.dialect, compiler.salt, plan.rows, (unit,), order, purpose="join")
    if not is_simple(plan.parent):  # a statement is not written three times where it is long
        return sample.of(rows(), columns, listed, marked=False)
    unit_of = exp.column("u", table="r")
    many = exp.select(unit_of).from_(compiler.from_(plan.parent, "r")[0], copy=False).group_by(unit_of.copy())
    many = many.having(exp.Count(this=exp.Star()) > whole(plan.rows))
    same = exp.EQ(this=exp.column("u", table="m"), expression=unit_of.copy())
    has_many: exp.Expr = exp.Exists(this=exp.select("1").from_(many.subquery("m", copy=False)).where(same))
    few = rows().where(exp.not_(has_many.copy()), copy=False)
    sampled = sample.of(rows().where(has_many, copy=False), columns, listed, marked=False)
    both = exp.union(few, sampled, distinct=False)
    return exp.select(*columns).from_(both.subquery("f", copy=False), copy=False)


@_rows.register
def _exists(plan: Exists, compiler: Compiler) -> exp.Query:
    below, names = compiler.from_(plan.parent, "l")
    other, _ = compiler.from_(plan.other, "r")
    same = exp.EQ(this=exp.column("u", table="r"), expression=exp.column("u", table="l"))
    condition: exp.Expr = exp.Exists(this=exp.select("1").from_(other, copy=False).where(same, copy=False))
    query = exp.select(*_listed(plan, compiler, names, exp.column("u", table="l"))).from_(below, copy=False)
    return query.where(exp.not_(condition, copy=False) if plan.negated else condition, copy=False)


@_rows.register
def _combine(plan: Combine, compiler: Compiler) -> exp.Query:
    columns = ["u", *(f"c{i}" for i in range(len(plan.columns)))]
    queries = [
        exp.select(*columns).from_(compiler.rows(side).subquery("r", copy=False), copy=False) for side in plan.sides
    ]
    if len(queries) == 1:
        return queries[0].distinct()
    kinds = {"union": exp.union, "union all": exp.union, "intersect": exp.intersect, "except": exp.except_}
    combined = kinds[plan.setting](*queries, distinct=plan.setting != "union all")
    return exp.select(*columns).from_(combined.subquery("r", copy=False), copy=False)


@_rows.register
def _per_unit(plan: PerUnit, compiler: Compiler) -> exp.Query:
    below, names = compiler.from_(plan.parent, "r")
    unit = exp.column("u", table="r")
    keys = [compiler.expression(expression, names) for _, expression in plan.keys]
    totals = [_total(total, argument, compiler, names) for _, total, argument in plan.totals]
    listed = {c.name: sql for c, sql in zip(plan.columns, [unit, *keys, *totals], strict=True)}
    query = exp.select(*_listed(plan, compiler, listed, unit.copy())).from_(below, copy=False)
    return query.group_by(unit.copy(), *(key.copy() for key in keys), copy=False)


def _total(total: str, argument: Expression | None, compiler: Compiler, names: Names) -> exp.Expr:
    if argument is None:
        return cast(exp.Count(this=exp.Star()), "BIGINT")
    value = compiler.expression(argument, names)
    if total in ("min", "max"):
        return exp.Min(this=value) if total == "min" else exp.Max(this=value)
    if total == "count":
        return cast(exp.Count(this=value), "BIGINT")
    if total == "count distinct":
        return cast(exp.Count(this=exp.Distinct(expressions=[value])), "BIGINT")
    if total == "sum" and argument.kind == "integer":
        return cast(clamped(compiler.dialect.wide_sum(value), whole(-EXACT), whole(EXACT)), "BIGINT")
    span = span_of(argument)
    grid = gridded(argument, (span.low, span.high))
    steps = compiler.steps(grid, names)
    summed: exp.Expr = cast(clamped(compiler.dialect.wide_sum(steps), whole(-EXACT), whole(EXACT)), "DOUBLE")
    if total == "avg":
        count = exp.Nullif(this=cast(exp.Count(this=steps.copy()), "DOUBLE"), expression=double(0.0))
        summed = exp.Paren(this=exp.Div(this=summed, expression=count))
    return summed * double(2.0**-grid.exponent)
