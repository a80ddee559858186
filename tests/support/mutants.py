"""Bugs that were found once, or might be made: put back one at a time, to show that the fuzzer finds them.

The traps of the fair sample are mutants of `test_fair.py`. One of them is out of reach here: r·R leaves 32 bits only
where a unit has more than 46,340 rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import laws
import pytest
from sqlglot import exp

from lapwing.curator.ask import columns, writer
from lapwing.curator.ask.query import Query
from lapwing.curator.engines import compiler as compiling
from lapwing.curator.engines import dialects, selection, spark
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.plan import language
from lapwing.curator.plan import nodes as plan
from lapwing.curator.plan.expressions import TRUTH, Call, Expression, Input, span_of
from lapwing.curator.plan.nodes import Combine, Exists, JoinUnit, PerUnit
from lapwing.curator.plan.statistics import Bounding, Statistic

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    """A bug, where it shows, and within how many cases it must be found."""

    inject: Callable[[Patch], None]
    engine: str = "duckdb"
    cases: int = 200
    thorough: bool = False
    """Whether the laws beyond the engines are needed to find it."""
    part: str = ""
    """What a question must contain for the bug to show (see `fuzzing.parts`): others are not asked, to save time."""


def any_condition(patch: Patch) -> None:
    """A join condition that is text becomes a truth value row by row, and fails at some rows."""
    original = Input.check
    patch.setattr(Input, "check", lambda self: None if self.kinds == TRUTH else original(self))


def unclamped_cast(patch: Patch) -> None:
    """CAST(int AS number) promises the bounds of its column and does not keep them."""

    def to_number(operator: str, value: Expression) -> Expression:
        if value.kind != "integer":
            return original(operator, value)
        return Call(operator, (value,), "number", span_of(value))

    original = language._OPERATORS["to number"]
    patch.setitem(language._OPERATORS, "to number", to_number)


def unchecked_cell(patch: Patch) -> None:
    """Text is cast to a number without a look at it."""

    def cell(self: Compiler, table: Any, field: Any) -> exp.Expr:
        declared = self.relations[table.table].types[field.name]
        if field.kind != "number" or not self.dialect.is_text(declared):
            return original(self, table, field)
        return dialects.cast(exp.column(exp.to_identifier(field.name, quoted=True), table="s"), "DOUBLE")

    original = Compiler.cell
    patch.setattr(Compiler, "cell", cell)


def one_row_more(patch: Patch) -> None:
    """The bounding keeps one row more than was priced."""
    original = laws.statement_of
    patch.setattr(laws, "statement_of", lambda query, *others: original(more(query), *others))


def more(query: Query) -> Query:
    """The question with one row more of each unit."""
    limits = query.bounding
    if limits.max_rows_per_unit is not None:
        return replace(query, bounding=Bounding(max_rows_per_unit=limits.max_rows_per_unit + 1))
    return replace(query, bounding=Bounding(limits.max_groups_per_unit, limits.max_rows_per_group + 1))


def forgotten_groups(patch: Patch) -> None:
    """Sensitivity forgets that a unit can be in several groups."""

    def sensitivity(self: Statistic, bounding: Bounding) -> tuple[int, int]:
        most, _ = original(self, replace(bounding, max_groups_per_unit=1))
        return most, most**2

    original = Statistic.sensitivity
    patch.setattr(Statistic, "sensitivity", sensitivity)


def node(kind: type, compiled: Callable[[Any, Compiler], exp.Query]) -> Callable[[Patch], None]:
    """A node of plans that is compiled in another way."""

    def inject(patch: Patch) -> None:
        inner = compiling._rows
        patch.setattr(
            compiling, "_rows", lambda one, compiler: (compiled if type(one) is kind else inner)(one, compiler)
        )

    return inject


def anybodys_rows(one: Exists, compiler: Compiler) -> exp.Query:
    """EXISTS asks whether anybody has a row."""
    query = compiling._exists(one, compiler)
    for inner in query.find_all(exp.Exists):
        inner.this.set("where", None)
    return query


def everybodys_partners(one: JoinUnit, compiler: Compiler) -> exp.Query:
    """A join pairs rows of different units."""
    query = compiling._join_unit(one, compiler)
    on = query.args["joins"][0]
    on.set("on", exp.true() if one.condition is None else on.args["on"].expression)
    return query


def shared_rows(one: Combine, compiler: Compiler) -> exp.Query:
    """DISTINCT makes one row of the rows of different units."""
    query = compiling._combine(one, compiler)
    columns = [exp.column(f"c{i}") for i in range(len(one.columns))]
    return exp.select(exp.Min(this=exp.column("u")).as_("u"), *columns).from_(query.subquery("m")).group_by(*columns)


def common_total(one: PerUnit, compiler: Compiler) -> exp.Query:
    """A total per unit is the largest of all units."""
    query = compiling._per_unit(one, compiler)
    last = f"c{len(one.columns) - 1}"
    names = [name for name in query.named_selects if name != last]
    most = exp.Window(this=exp.Max(this=exp.column(last))).as_(last)
    return exp.select(*names, most).from_(query.subquery("m"))


def careless_likeness(patch: Patch) -> None:
    """LIKE takes capital letters for small ones."""

    def like(self: dialects.Dialect, text: exp.Expr, pattern: str) -> exp.Expr:
        return exp.ILike(this=text, expression=exp.Literal.string(pattern))

    patch.setattr(dialects.Dialect, "like", like)


def lines_apart(patch: Patch) -> None:
    """LIKE as a regular expression whose point stops at a line break."""

    def like(self: dialects.Dialect, text: exp.Expr, pattern: str) -> exp.Expr:
        return self.matches(text, re.escape(pattern).replace("%", ".*").replace("_", "."))

    patch.setattr(dialects.Dialect, "like", like)


def raw_division(patch: Patch) -> None:
    """A quotient by 0 is left to the engine."""
    divided = lambda call, arguments: exp.Paren(this=exp.Div(this=arguments[0], expression=arguments[1]))  # noqa: E731
    patch.setitem(compiling.OPERATORS, "/", divided)


def forgetful_file(patch: Patch) -> None:
    """A saved question loses the bounds that came with it."""
    patch.setattr(writer, "_column", lambda column, known: column.name)


def unnamed_people(patch: Patch) -> None:
    """Rows whose unit is NULL count."""

    def scanned(one: Any, compiler: Compiler) -> exp.Query:
        query = compiling._scan(one, compiler)
        query.set("where", None)
        return query

    node(plan.Scan, scanned)(patch)


def negative_offset(patch: Patch) -> None:
    """Where the sample begins is below 0."""
    patch.setattr(selection, "MARGIN", -(1 << 25))


def endless_joins(patch: Patch) -> None:
    """A join takes all rows of a unit, however many."""
    patch.setattr(columns, "limited", lambda query: query.narrow)


def split_records(patch: Patch) -> None:
    """Spark takes a line break in quotes for the end of a record."""
    patch.setattr(spark, "CSV", {name: value for name, value in spark.CSV.items() if name != "multiLine"})


MUTANTS: dict[str, Mutant] = {
    "a join condition of any kind": Mutant(any_condition, thorough=True),
    "a cast number outside its bounds, PostgreSQL": Mutant(unclamped_cast, "postgres", cases=600, part="to number"),
    "a cell that is cast without a look": Mutant(unchecked_cell, cases=40),
    "a cell that is cast without a look, PostgreSQL": Mutant(unchecked_cell, "postgres", cases=40),
    "one row more than was priced": Mutant(one_row_more, cases=40),
    "groups that sensitivity forgets": Mutant(forgotten_groups, part="cap on groups"),
    "EXISTS that asks about anybody": Mutant(node(Exists, anybodys_rows), part="Exists"),
    "a join of different people": Mutant(node(JoinUnit, everybodys_partners), part="JoinUnit"),
    "a join without a limit": Mutant(endless_joins, cases=400, part="JoinUnit"),
    "DISTINCT over people": Mutant(node(Combine, shared_rows), part="Combine"),
    "a total of all people": Mutant(node(PerUnit, common_total), part="PerUnit"),
    "LIKE without capital letters": Mutant(careless_likeness, cases=400, part="like"),
    "LIKE line by line": Mutant(lines_apart, cases=400, part="like"),
    "division by zero, PostgreSQL": Mutant(raw_division, "postgres", part="/"),
    "a file that forgets bounds": Mutant(forgetful_file, cases=40, thorough=True),
    "people without a name": Mutant(unnamed_people, cases=40),
    "an offset below 0": Mutant(negative_offset, cases=40),
    "records that Spark splits": Mutant(split_records, "spark", cases=24),
}

__all__ = ["MUTANTS", "Mutant"]
