"""From text to expressions: sqlglot reads the words, and only what the closed language knows comes through."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lapwing.calls import closest
from lapwing.curator.expressions import NULL, Column, Constant, Expression, call, time_constant
from lapwing.errors import InvalidParameter, UnsupportedQuery

if TYPE_CHECKING:
    from sqlglot import exp

Resolve = Callable[["exp.Expr"], Expression | None]
"""Gives a meaning to nodes that the language itself has none for (columns, aggregates), or None."""

_OPERATORS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Mod": "%",
    "EQ": "=",
    "NEQ": "<>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "And": "and",
    "Or": "or",
    "Like": "like",
    "Not": "not",
    "Neg": "negate",
    "Abs": "abs",
    "Floor": "floor",
    "Ceil": "ceil",
    "Length": "length",
    "Year": "year",
    "Month": "month",
    "Day": "day",
    "Hour": "hour",
    "Minute": "minute",
}
_TOO_DEEP = 100
"""Nested nodes: beyond that, engines give up before we do."""


def parse_one(text: str, *, name: str) -> exp.Expr:
    """The syntax tree of a text in (nearly) standard SQL."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(name, text, "must be a text in SQL", f"Write {name}='age >= 18', for example.")
    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except (SqlglotError, RecursionError) as error:
        lines = str(error).splitlines()
        raise UnsupportedQuery(
            text, f"cannot be read: {lines[0] if lines else 'it is nested too deeply'}", _HELP
        ) from None
    if len(trees) != 1:
        raise UnsupportedQuery(text, "one expression or statement at a time", _HELP)
    return trees[0]


_HELP = "Write, for example, age >= 18 AND region IN ('North', 'South')."


def expression(text: str, columns: Mapping[str, Column], *, name: str = "expression") -> Expression:
    """The expression that a text stands for, over these columns."""
    return translate(parse_one(text, name=name), lambda node: resolve_column(node, columns))


def resolve_column(node: exp.Expr, columns: Mapping[str, Column]) -> Expression | None:
    """A column by its name; upper and lower case only matter where two names differ in nothing else."""
    from sqlglot import exp

    if not isinstance(node, exp.Column):
        return None
    name = node.name
    found = columns.get(name) or (columns.get(f"{node.table}.{name}") if node.table else None)
    if found is None:
        alike = [column for key, column in columns.items() if key.lower() == name.lower()]
        found = alike[0] if len(alike) == 1 else None
    if found is None:
        meant = closest(name, columns)
        hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(columns)}."
        raise UnsupportedQuery(name, "there is no such column", hint)
    return found


def translate(node: exp.Expr, resolve: Resolve, depth: int = 0) -> Expression:
    """One node of sqlglot's tree as ours."""
    if depth > _TOO_DEEP:
        raise UnsupportedQuery("…", "the expression is nested too deeply", "Write a flatter one.")
    known = resolve(node)
    if known is not None:
        return known

    def inner(child: Any) -> Expression:
        return translate(child, resolve, depth + 1)

    kind = type(node).__name__
    if kind in _OPERATORS:
        arguments = [node.this] if node.args.get("expression") is None else [node.this, node.expression]
        return call(_OPERATORS[kind], *map(inner, arguments))
    special = _SPECIAL.get(kind)
    if special is None:
        raise refused(node)
    return special(node, inner)


def refused(node: exp.Expr) -> UnsupportedQuery:
    """The error for a part of the language of SQL that is not a part of ours, with what to write instead."""
    reasons = {
        "Rand": ("random numbers make rows depend on the engine", "Noise is added by Lapwing."),
        "CurrentTimestamp": ("the answer would depend on the clock", "Write the time as a constant."),
        "CurrentDate": ("the answer would depend on the clock", "Write DATE '2026-11-15'."),
        "Window": ("rows of other people decide about this one", "Group by the unit in a sub-query instead."),
        "Subquery": (
            "a sub-query among expressions may read other people's rows",
            "Use EXISTS on the unit, or a join.",
        ),
        "Column": ("there is no such column", "Check its name."),
    }
    fallback = (
        "it is not in the closed list of functions that are total and equal on every engine",
        "Use + - * / %, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, COALESCE, ABS, FLOOR, CEIL, "
        "LENGTH, EXTRACT or CAST(x AS number); anything else belongs into a column of the source.",
    )
    kind = type(node).__name__
    if kind == "Anonymous" and node.name.lower() in ("random", "rand", "uuid", "now"):
        return UnsupportedQuery(node.sql(), *reasons["Rand"])
    return UnsupportedQuery(node.sql(), *reasons.get(kind, fallback))


Inner = Callable[[Any], Expression]


def _literal(node: Any, inner: Inner) -> Expression:
    if node.is_string:
        return Constant(node.this, "text")
    text = node.this
    if text.isdigit():
        value = int(text)
        if value < 1 << 63:
            return Constant(value, "integer")
    number = float(text)
    if abs(number) > 1e300 or 0 < abs(number) < 1e-250:
        raise UnsupportedQuery(text, "is too large or too small for the arithmetic of doubles", "Use another scale.")
    return Constant(number, "number")


def _between(node: Any, inner: Inner) -> Expression:
    value = inner(node.this)
    return call("and", call(">=", value, inner(node.args["low"])), call("<=", value, inner(node.args["high"])))


def _in(node: Any, inner: Inner) -> Expression:
    if node.args.get("query") is not None or node.args.get("unnest") is not None or not node.expressions:
        instead = "Write EXISTS (SELECT 1 FROM other WHERE other.unit = this.unit AND …), or a list of values."
        raise UnsupportedQuery(node.sql(), "IN over a query may read other people's rows", instead)
    return call("in", inner(node.this), *map(inner, node.expressions))


def _is(node: Any, inner: Inner) -> Expression:
    what = type(node.expression).__name__
    if what == "Null":
        return call("is null", inner(node.this))
    if what == "Boolean":
        return call("coalesce", call("=", inner(node.this), inner(node.expression)), Constant(False, "boolean"))
    raise refused(node)


def _case(node: Any, inner: Inner) -> Expression:
    parts: list[Expression] = []
    for branch in node.args["ifs"]:
        condition = inner(branch.this)
        if node.this is not None:
            condition = call("=", inner(node.this), condition)
        parts += [condition, inner(branch.args["true"])]
    default = node.args.get("default")
    return call("case", *parts, NULL if default is None else inner(default))


def _if(node: Any, inner: Inner) -> Expression:
    other = node.args.get("false")
    return call("case", inner(node.this), inner(node.args["true"]), NULL if other is None else inner(other))


def _cast(node: Any, inner: Inner) -> Expression:
    value, target = inner(node.this), node.to.sql("duckdb").upper()
    if target in ("DOUBLE", "NUMBER", "FLOAT", "REAL", "DECIMAL", "NUMERIC") or target.startswith("DECIMAL("):
        return call("to number", value)
    if target in ("DATE", "TIMESTAMP") and isinstance(value, Constant) and isinstance(value.value, str):
        return time_constant(value.value, "date" if target == "DATE" else "timestamp")
    if target in ("INT", "INTEGER", "BIGINT") and value.kind in ("integer", "boolean"):
        return value if value.kind == "integer" else call("to number", value)
    instead = "CAST(x AS number) takes text and truth values, FLOOR(x) makes whole numbers, types= declares the rest."
    raise UnsupportedQuery(node.sql(), "engines disagree about this cast", instead)


def _extract(node: Any, inner: Inner) -> Expression:
    part = node.this.name.lower()
    if part not in ("year", "month", "day", "hour", "minute"):
        raise UnsupportedQuery(
            node.sql(), "this part of a date is not in the language", "Use YEAR, MONTH, DAY or HOUR."
        )
    return call(part, inner(node.expression))


_SPECIAL: dict[str, Callable[[Any, Inner], Expression]] = {
    "Paren": lambda node, inner: inner(node.this),
    "Literal": _literal,
    "Boolean": lambda node, inner: Constant(bool(node.this), "boolean"),
    "Null": lambda node, inner: NULL,
    "Between": _between,
    "In": _in,
    "Is": _is,
    "Case": _case,
    "If": _if,
    "Cast": _cast,
    "TryCast": _cast,
    "Extract": _extract,
    "Coalesce": lambda node, inner: call("coalesce", inner(node.this), *map(inner, node.expressions)),
}
