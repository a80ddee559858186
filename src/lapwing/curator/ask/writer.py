"""Questions as plain data, for YAML and JSON: the steps of the plan, the keys, the aggregates, what is done afterwards.

Tables are saved by name. When a question is read back, the name stands for the table that is opened then, with its
columns and whatever is publicly known about them by then. Everything is built with the constructors that a question in
Python or SQL passes through: nothing in a file is trusted. With the same tables the digest is the same.

    {table: visits}            a private table, to begin with       {where: …}   {select: {name: …}}
    {join: {table: zips, …}}   with a public table, on columns      {join_unit: {rows: […], …}}   {exists: {rows: […]}}
    {combine: {setting: union, with: [[…]]}}                        {per_unit: {unit: …, keys: {…}, totals: {…}}}

Expressions: {column: age}, {">=": [{column: age}, 18]}, {date: "2026-11-15"}, {constant: null}. What a question
itself says about a column goes with it: {column: {name: total, bounds: [0, 5]}}.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.curator.aggregates.base import exactly
from lapwing.curator.aggregates.own_rows import Alone
from lapwing.curator.plan.expressions import Column, Constant, Expression
from lapwing.curator.plan.groups import Key, key_for
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
)
from lapwing.curator.plan.rollups import Rollup
from lapwing.errors import UnsupportedQuery

if TYPE_CHECKING:
    from lapwing.curator.ask.question import Post, Question

VERSION = 1
Data = Any
"""What JSON can hold."""


def written(query: Question) -> dict[str, Data]:
    """A question as data."""
    record: dict[str, Data] = {"lapwing_query": VERSION, "rows": _rows(query.plan)}
    if query.grouping.keys and not isinstance(query.asked[0], Alone):  # what makes its own rows groups them, too
        record["group_by"] = [_key(key, query.plan.by_name) for key in query.grouping.keys]
    if query.rollup is not None:
        record["rollup"] = _rollup(query.rollup)
    record |= query.saved_parts()
    record["ask"] = [aggregate.saved(lambda value: expression(value, query.plan.by_name)) for aggregate in query.asked]
    bounding = query.bounding
    if bounding.max_rows_per_unit is not None:
        record["bounding"] = {"max_rows_per_unit": bounding.max_rows_per_unit}
    else:
        names = ("max_groups_per_unit", "max_rows_per_group")
        record["bounding"] = {name: getattr(bounding, name) for name in names}
    return record | _post(query.post)


def _rows(plan: Plan) -> list[Data]:
    """The steps of a plan, the table first."""
    steps: list[Data] = []
    while not isinstance(plan, Scan):
        if isinstance(plan, Public):
            raise UnsupportedQuery(plan.table, "a question begins with a private table", "Join the public one to it.")
        name, step = _step(plan)
        steps.append({name: step})
        plan = plan.parents()[0]
    return [{"table": plan.table}, *reversed(steps)]


def _step(plan: Where | Select | JoinPublic | JoinUnit | Exists | Combine | PerUnit) -> tuple[str, Data]:
    """One step, without its first parent."""
    below = plan.parents()[0].by_name
    if isinstance(plan, Where):
        return "where", expression(plan.condition, below)
    if isinstance(plan, Select):
        return "select", _named(plan.outputs, below)
    if isinstance(plan, JoinPublic):
        columns = [field.name for field in plan.public.fields]
        on = [[expression(mine, below), theirs] for mine, theirs in plan.on]
        return "join", {"table": plan.public.table, "columns": columns, "on": on, "how": plan.how}
    if isinstance(plan, JoinUnit):
        more = {} if plan.condition is None else {"condition": expression(plan.condition, plan.by_name)}
        return "join_unit", {"rows": _rows(plan.right), "how": plan.how, **more}
    if isinstance(plan, Exists):
        return "exists", {"rows": _rows(plan.other), "negated": plan.negated}
    if isinstance(plan, Combine):
        return "combine", {"setting": plan.setting, "with": [_rows(side) for side in plan.sides[1:]]}
    totals = {
        name: {total: None if argument is None else expression(argument, below)}
        for name, total, argument in plan.totals
    }
    return "per_unit", {"unit": plan.unit_name, "keys": _named(plan.keys, below), "totals": totals}


Columns = Mapping[str, Column]
"""The columns that an expression is about, with what is known about them there."""


def expression(value: Expression, columns: Columns) -> Data:
    """An expression as data. What the constructors add by themselves (clamps) is left out."""
    if isinstance(value, Column):
        return {"column": _column(value, columns.get(value.name, value))}
    if isinstance(value, Constant):
        return constant(value)
    if value.operator == "clamp":
        return expression(value.arguments[0], columns)
    return {value.operator: [expression(argument, columns) for argument in value.arguments]}


def _column(column: Column, known: Column) -> Data:
    """A column by its name, and with what the question declares about it: bounds and keys that SQL came with."""
    declared: dict[str, Data] = {}
    if column.bounds is not None and column.bounds != known.bounds:
        declared["bounds"] = [exactly(end) for end in column.bounds]
    if column.keys is not None and column.keys != known.keys:
        declared["keys"] = [plain(value) for value in column.keys]
    return {"name": column.name, **declared} if declared else column.name


_NATURAL = {"boolean": bool, "integer": int, "number": float, "text": str}


def constant(value: Constant) -> Data:
    """A constant; its kind is said where the value alone does not tell."""
    if value.kind is None:
        return {"constant": None}
    return value.value if type(value.value) is _NATURAL.get(value.kind) else {value.kind: plain(value.value)}


def plain(value: Any) -> Data:
    """A value as JSON has it: dates as text, for their kind is known."""
    return value.isoformat() if isinstance(value, dt.date) else value


def _named(outputs: Iterable[tuple[str, Expression]], columns: Columns) -> dict[str, Data]:
    return {name: expression(value, columns) for name, value in outputs}


def _key(key: Key, columns: Columns) -> Data:
    record: dict[str, Data] = {"name": key.name, "by": expression(key.expression, columns)}
    if key.everything_else:
        record["everything_else"] = True
    if key.values is not None and (key.labels or key.values != _usual(key)):
        record["values"] = [plain(value) for value in key.values]
    if key.labels:
        record["labels"] = list(key.labels)
    return record


def _rollup(rollup: Rollup) -> Data:
    """How groups are put together into levels."""
    record: dict[str, Data] = {"names": list(rollup.names)}
    if rollup.given:
        record["given"] = rollup.given
    if rollup.paths is not None:
        record["paths"] = [[plain(label) for label in path] for path in rollup.paths]
    if rollup.weights != "levels":
        numbers = rollup.weights
        record["weights"] = numbers if isinstance(numbers, str) else [exactly(Fraction(n)) for n in numbers]
    if not rollup.integers:
        record["integers"] = False
    if rollup.level_column is not None:
        record["level_column"] = rollup.level_column
    if rollup.invariants:
        record["invariants"] = [[[plain(label) for label in path], value] for path, value in rollup.invariants]
    return record


def _usual(key: Key) -> tuple[Any, ...] | None:
    """The values that a key has without any being named."""
    try:
        return key_for(key.name, key.expression).values
    except UnsupportedQuery:
        return None


def _post(post: Post) -> dict[str, Data]:
    record: dict[str, Data] = {}
    if post.outputs is not None:
        record["outputs"] = _named(post.outputs, {})
    if post.having is not None:
        record["having"] = expression(post.having, {})
    if post.order:
        record["order_by"] = [[expression(by, {}), "desc" if falls else "asc"] for by, falls in post.order]
    if post.limit is not None:
        record["limit"] = post.limit
    if post.offset:
        record["offset"] = post.offset
    return record
