"""A question as the SQL that somebody could have written for it. Read back, it must have the same integers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from phrases import literal

from lapwing.curator.ask.query import Query
from lapwing.curator.plan.expressions import Column, Constant, Expression
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
from lapwing.errors import LapwingError


class Unwritten(Exception):
    """SQL has no words for this question."""


@dataclass
class Text:
    """A statement, and what is passed beside it."""

    sql: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    publics: dict[str, Public] = field(default_factory=dict)


def written(query: Query) -> Text:
    """The statement that stands for a question, or `Unwritten`."""
    text = Text()
    text.options = bounding(query)
    if query.top is not None or not all(isinstance(of, str) for one in query.aggregates for of in one.of):
        raise Unwritten
    keys = []
    if len({key.expression for key in query.grouping.keys}) < len(query.grouping.keys):
        raise Unwritten  # GROUP BY x, x is one key
    for key in query.grouping.keys:
        if key.labels:
            raise Unwritten
        if key.values is not None and key.values != usual(key.expression):
            text.options.setdefault("keys", {})[key.name] = key.values
        keys.append(f"{said(key.expression)} AS {name(key.name)}")
    rests = {key.everything_else for key in query.grouping.keys}
    if len(rests) > 1:
        raise Unwritten
    text.options["everything_else"] = rests == {True}
    below = rows(query.plan, text)
    unit = unit_of(query.plan) if any(one.kind == "units" for one in query.aggregates) else ""
    asked = []
    for one in query.aggregates:
        if getattr(one, "bounds", None) is not None:  # SQL knows bounds of columns only
            column = f"{one.output}_of"
            below = f"SELECT *, {one.of[0]} AS {name(column)} FROM ({below}) AS b"
            text.options.setdefault("bounds", {})[column] = one.bounds
            one = replace(one, of=(name(column),), bounds=None)
        asked.append(f"{aggregate(one, unit)} AS {name(one.output)}")
    places = [str(i + 1) for i in range(len(keys))]
    if query.rollup is not None:
        given = query.rollup.given
        places = [*places[:given], f"ROLLUP ({', '.join(places[given:])})"]
    grouped = f" GROUP BY {', '.join(places)}" if keys else ""
    text.sql = f"SELECT {', '.join([*keys, *asked])} FROM ({below}) AS q{grouped}"
    return text


def usual(expression: Expression) -> Any:
    """The public values that need not be named."""
    from lapwing.curator.plan.groups import key_for

    try:
        return key_for("k", expression).values
    except LapwingError:
        return None


def bounding(query: Query) -> dict[str, Any]:
    """How much of one unit counts."""
    limits = query.bounding
    if limits.max_rows_per_unit is not None:
        return {"max_rows_per_unit": limits.max_rows_per_unit}
    return {"max_groups_per_unit": limits.max_groups_per_unit, "max_rows_per_group": limits.max_rows_per_group}


AGGREGATES = {
    "sum": "SUM({})",
    "mean": "AVG({})",
    "variance": "VAR_POP({})",
    "std": "STDDEV_POP({})",
    "covariance": "COVAR_POP({}, {})",
    "correlation": "CORR({}, {})",
    "count distinct": "COUNT(DISTINCT {})",
}


def aggregate(one: Any, unit: str) -> str:
    """One aggregate; bounds of its own have no place in SQL."""
    if getattr(one, "bounds", None) is not None or one.weight != 1:
        raise Unwritten
    if one.kind == "units":
        return f"COUNT(DISTINCT {name(unit)})"
    if one.kind == "count":
        return f"COUNT({one.of[0] if one.of else '*'})"
    if one.kind == "quantile":
        return f"QUANTILE_CONT({one.of[0]}, {float(one.q)})"
    if one.kind not in AGGREGATES:
        raise Unwritten
    return AGGREGATES[one.kind].format(*one.of)


def name(text: str) -> str:
    """A name in quotes."""
    return '"' + text.replace('"', '""') + '"'


def unit_of(plan: Plan) -> str:
    """The column with the unit, if the plan still has it."""
    for column in plan.columns:
        if column.unit:
            return column.name
    raise Unwritten


def rows(plan: Plan, text: Text) -> str:
    """The rows of a plan as a query."""
    if isinstance(plan, Scan):
        return f"SELECT {listed(plan)} FROM {name(plan.table)}"
    if isinstance(plan, Where):
        return f"SELECT {listed(plan)} FROM ({rows(plan.parent, text)}) AS r WHERE {said(plan.condition)}"
    if isinstance(plan, Select):
        outputs = []
        for output, value in plan.outputs:
            if isinstance(value, Column) and value != plan.parent.by_name[value.name]:
                raise Unwritten  # with bounds of its own
            outputs.append(f"{said(value)} AS {name(output)}")
        return f"SELECT {', '.join(outputs)} FROM ({rows(plan.parent, text)}) AS r"
    if isinstance(plan, PerUnit):
        return per_unit(plan, text)
    if isinstance(plan, Combine):
        return combined(plan, text)
    if isinstance(plan, Exists):
        link = f"r.{name(unit_of(plan.other))} = l.{name(unit_of(plan.parent))}"
        inner = f"SELECT 1 FROM ({rows(plan.other, text)}) AS r WHERE {link}"
        word = "NOT EXISTS" if plan.negated else "EXISTS"
        return f"SELECT {listed(plan)} FROM ({rows(plan.parent, text)}) AS l WHERE {word} ({inner})"
    assert isinstance(plan, JoinPublic | JoinUnit)
    return joined(plan, text)


def listed(plan: Plan) -> str:
    """The columns of a plan."""
    return ", ".join(name(column.name) for column in plan.columns)


def per_unit(plan: PerUnit, text: Text) -> str:
    """GROUP BY the unit."""
    items = [f"{name(unit_of(plan.parent))} AS {name(plan.unit_name)}"]
    items += [f"{said(value)} AS {name(key)}" for key, value in plan.keys]
    if any(isinstance(value, Column) and value.unit for _, value in plan.keys):
        raise Unwritten
    words = {"count": "COUNT({})", "count distinct": "COUNT(DISTINCT {})"}
    totals = [
        f"{words.get(total, total.upper() + '({})').format('*' if of is None else said(of))} AS {name(called)}"
        for called, total, of in plan.totals
    ]
    grouped = ", ".join(str(i + 1) for i in range(len(items)))
    return f"SELECT {', '.join(items + totals)} FROM ({rows(plan.parent, text)}) AS r GROUP BY {grouped}"


def combined(plan: Combine, text: Text) -> str:
    """UNION and its kin, one after another."""
    first, *others = (rows(side, text) for side in plan.sides)
    if not others:
        return f"SELECT DISTINCT {listed(plan)} FROM ({first}) AS r"
    for other in others:
        first = f"({first}) {plan.setting.upper()} ({other})"
    return first


def joined(plan: JoinPublic | JoinUnit, text: Text) -> str:
    """A join; columns of both sides have different names already, but for those of a public table as it was opened."""
    word = "LEFT JOIN" if plan.how == "left" else "JOIN"
    if isinstance(plan, JoinUnit):
        left, right = rows(plan.left, text), rows(plan.right, text)
        on = [f"l.{name(unit_of(plan.left))} = r.{name(unit_of(plan.right))}"]
        on += [] if plan.condition is None else [said(plan.condition)]
        return f"SELECT {listed(plan)} FROM ({left}) AS l {word} ({right}) AS r ON {' AND '.join(on)}"
    public = plan.public
    own = {field.name: field.name.removeprefix(f"{public.table}.") for field in public.fields}
    opened = replace(public, fields=tuple(replace(field, name=own[field.name]) for field in public.fields))
    if text.publics.setdefault(public.table, opened) != opened:
        raise Unwritten
    mine = {column.name: f"l.{name(column.name)}" for column in plan.parent.columns}
    on = [f"{said(value, mine)} = r.{name(own[theirs])}" for value, theirs in plan.on]
    items = [f"{mine[c.name]} AS {name(c.name)}" for c in plan.parent.columns]
    items += [f"r.{name(old)} AS {name(new)}" for new, old in own.items()]
    left = rows(plan.parent, text)
    return f"SELECT {', '.join(items)} FROM ({left}) AS l {word} {name(public.table)} AS r ON {' AND '.join(on)}"


def said(expression: Expression, names: Mapping[str, str] | None = None) -> str:
    """An expression as text."""
    if isinstance(expression, Column):
        return name(expression.name) if names is None else names[expression.name]
    if isinstance(expression, Constant):
        return constant(expression)
    arguments = [said(argument, names) for argument in expression.arguments]
    word = expression.operator
    if word == "clamp":  # implied by the bounds of the column
        return arguments[0]
    if word in ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "and", "or", "like"):
        return f"({f' {word.upper()} '.join(arguments)})" if len(arguments) > 1 else f"({arguments[0]} {word} TRUE)"
    if word == "case":
        pairs = zip(expression.arguments[:-1:2], arguments[1:-1:2], strict=True)
        cases = " ".join(f"WHEN {said(bare(test), names)} THEN {value}" for test, value in pairs)
        return f"(CASE {cases} ELSE {arguments[-1]} END)"
    if word in WORDS:
        return WORDS[word].format(*arguments, rest=", ".join(arguments[1:]), all=", ".join(arguments))
    raise Unwritten


def bare(test: Any) -> Any:
    """A condition of CASE without what its constructor puts around it."""
    is_wrapped = getattr(test, "operator", "") == "and" and len(test.arguments) == 1
    return test.arguments[0] if is_wrapped else test


WORDS: Mapping[str, str] = {
    "not": "(NOT {0})",
    "is null": "({0} IS NULL)",
    "in": "({0} IN ({rest}))",
    "coalesce": "COALESCE({all})",
    "to number": "CAST({0} AS number)",
    **{word: word.upper() + "({0})" for word in ("abs", "floor", "ceil", "length")},
    **{part: f"EXTRACT({part} FROM {{0}})" for part in ("year", "month", "day", "hour", "minute")},
}


def constant(value: Constant) -> str:
    """A constant."""
    if isinstance(value.value, float):
        return f"({value.value!r})"
    if isinstance(value.value, dt.date):
        return str(value)
    return literal(value.value).strip()
