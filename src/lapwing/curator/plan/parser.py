"""From text to expressions: sqlglot reads the words, and only what the closed language knows comes through."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from lapwing.calls import closest
from lapwing.curator.plan.expressions import NULL, Column, Constant, Expression, span_of
from lapwing.curator.plan.hints import which_column, without_quotes
from lapwing.curator.plan.language import call, time_constant
from lapwing.curator.plan.values import storable
from lapwing.errors import InvalidParameter, LapwingError, UnsupportedQuery

if TYPE_CHECKING:
    from sqlglot import exp

Meanings = Mapping[int, Expression | LapwingError]
"""By its id, what a node stands for that the language itself has no meaning for (columns, aggregates), or why it stands
for nothing: which is only told where it is read."""

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
LONGEST_SHOWN = 200
"""Characters of a query in a message."""


def parse_one(text: str, *, name: str, columns: Iterable[str] = ()) -> exp.Expr:
    """The syntax tree of a text in (nearly) standard SQL; `columns` are names that it may have meant to contain."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    example = f"Write, for example, {_STATEMENT if name == 'sql' else _CONDITION}."
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(name, text, "must be a text in SQL", example)
    try:
        with _quiet():
            trees = [tree for tree in sqlglot.parse(text, dialect="duckdb") if tree is not None]
    except SqlglotError as error:
        why = (str(error).splitlines() or ["it is not SQL"])[0].rstrip(".")
        if "<class" in why:  # the parser's own words
            why = "something is missing or too much"
    except RecursionError:
        why = "it is nested too deeply"
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        why = "it is not SQL"  # slips of the parser on odd input
    else:
        if len(trees) == 1:
            return trees[0]
        raise UnsupportedQuery(cut(text), "only one expression or statement is allowed", example)
    raise UnsupportedQuery(cut(text), f"cannot be read: {why}", without_quotes(text, list(columns)) or example)


_reading: ContextVar[bool] = ContextVar("reading", default=False)


@contextmanager
def _quiet() -> Iterator[None]:
    """What cannot be read is told by our own errors; sqlglot would log the text as well."""
    logging.getLogger("sqlglot").addFilter(_is_others)  # once: it is the same filter every time
    before = _reading.set(True)
    try:
        yield
    finally:
        _reading.reset(before)


def _is_others(record: logging.LogRecord) -> bool:
    return not _reading.get()


_STATEMENT = "SELECT region, COUNT(*) FROM visits GROUP BY region"
_CONDITION = "age >= 18 AND region IN ('North', 'South')"


def cut(text: str) -> str:
    """A text short enough for a message."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


def shown(node: exp.Expr) -> str:
    """A part of the syntax tree as it would be written, to be shown in a message."""
    from sqlglot.errors import ErrorLevel, SqlglotError

    try:
        text = node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE)
    except (SqlglotError, RecursionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        text = ""
    return cut(text.strip(" ,")) or type(node).__name__.upper()


def only(node: exp.Expr, *known: str) -> None:
    """Refuse a node with parts that would go unnoticed."""
    for name, value in node.args.items():
        if value and name.rstrip("_") not in known and name not in _SAID:
            raise refused(node)


_SAID = ("_type", "big_int", "typed", "safe", "_comments")
"""What the parser notes down for itself."""


def expression(text: str, columns: Mapping[str, Column], *, name: str = "expression") -> Expression:
    """The expression that a text stands for, over these columns."""
    from sqlglot import exp

    tree = parse_one(text, name=name, columns=columns)
    meanings = {id(node): _column_named(node, columns) for node in tree.find_all(exp.Column)}
    meant = without_quotes(text, columns)
    if meant is not None and any(isinstance(meaning, LapwingError) for meaning in meanings.values()):
        raise UnsupportedQuery(cut(text), "it cannot be read as it is meant", meant)
    return translate(tree, meanings)


def _column_named(node: exp.Column, columns: Mapping[str, Column]) -> Expression | LapwingError:
    """A column by its name; upper and lower case only matter where two names differ in nothing else."""
    name = node.name
    column = (columns.get(f"{node.table}.{name}") if node.table else None) or columns.get(name)
    if column is None:
        alike = [column for key, column in columns.items() if key.lower() == name.lower()]
        column = alike[0] if len(alike) == 1 else None
    return column or UnsupportedQuery(name, "there is no such column", column_hint(node, columns))


def column_hint(node: exp.Expr, known: Iterable[str]) -> str:
    """Which column was probably meant, or that text has other quotes."""
    names = list(known)
    if closest(node.name, names) is None and node.this.args.get("quoted"):
        text = node.name.replace("'", "''")
        return f"Double quotes are for names; text is written '{text}'."
    return which_column(node.name, names, quoted=False)


def translate(node: exp.Expr, meanings: Meanings, depth: int = 0) -> Expression:
    """One node of sqlglot's tree as ours."""
    if depth > _TOO_DEEP:
        raise UnsupportedQuery("…", "the expression is nested too deeply", "Write a flatter one.")
    known = meanings.get(id(node))
    if isinstance(known, LapwingError):
        raise known
    if known is not None:
        return known
    inner = partial(translate, meanings=meanings, depth=depth + 1)
    kind = type(node).__name__
    if kind in ("And", "Or"):
        return call(_OPERATORS[kind], *map(inner, chain(node)))
    if kind == "Like" and node.args.get("negate"):  # NOT LIKE
        only(node, "this", "expression", "negate")
        return call("not", call("like", inner(node.this), inner(node.expression)))
    if kind in _OPERATORS:
        only(node, "this", "expression")
        arguments = [node.this] if node.args.get("expression") is None else [node.this, node.expression]
        return call(_OPERATORS[kind], *map(inner, arguments))
    special = _SPECIAL.get(kind)
    if special is None:
        raise refused(node)
    parts, meaning = special
    only(node, *parts)
    return meaning(node, inner)


def chain(node: exp.Expr) -> list[exp.Expr]:
    """What a chain of ANDs (or of ORs) connects, however long it is."""
    parts: list[exp.Expr] = []
    todo = [node]
    while todo:
        link = todo.pop()
        if type(link) is type(node):
            todo += [link.expression, link.this]
        else:
            parts.append(link)
    return parts


def refused(node: exp.Expr) -> UnsupportedQuery:
    """The error for a part of the language of SQL that is not a part of ours, with what to write instead."""
    from sqlglot import exp

    kind = type(node).__name__
    if kind == "Anonymous" and node.name.lower() in ("rand", "gen_random_uuid", "nextval"):
        kind = "Rand"
    if kind == "Anonymous" and node.name.lower() in ("now", "clock_timestamp", "get_current_timestamp"):
        kind = "CurrentTimestamp"
    if isinstance(node, exp.AggFunc) and kind not in _REASONS:
        return UnsupportedQuery(shown(node), *_about_groups(node))
    return UnsupportedQuery(shown(node), *_REASONS.get(kind, _FALLBACK))


def _about_groups(node: exp.AggFunc) -> tuple[str, str]:
    """Why an aggregate cannot stand in an expression about single rows, and where it can."""
    from sqlglot import exp

    condition: exp.Expr = node  # as much of it as HAVING can take
    while isinstance(condition.parent, exp.Condition) and not isinstance(condition.parent, exp.And):
        condition = condition.parent
    where = node.find_ancestor(exp.Where, exp.Filter)
    in_where = where is not None and isinstance(where.parent, exp.Select)
    why = "WHERE is about single rows" if in_where else "an expression is about single rows, and this about many"
    if any(column.find_ancestor(exp.AggFunc) is None for column in condition.find_all(exp.Column)):
        return why, "Write conditions on rows after WHERE, and conditions on groups after HAVING."
    if in_where:
        return why, f"Write HAVING {shown(condition.unnest())} after GROUP BY."
    if isinstance(condition.unnest(), exp.Predicate | exp.Connector | exp.Not):
        return why, f"Write it in SQL: SELECT … GROUP BY … HAVING {shown(condition.unnest())}."
    return why, "Ask for it with agg(), as in .agg(lw.count())."


_LISTED = (
    "Use + - * / %, comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, COALESCE, ABS, FLOOR, CEIL, ROUND, "
    "LENGTH, EXTRACT or CAST(x AS number); compute anything else in a column of the source."
)
_FALLBACK = ("it is not one of the functions that give the same result on every engine, without errors", _LISTED)
_RANDOM = ("random numbers would differ between engines", "Noise is added by Lapwing; leave it out.")
_CLOCK = ("the answer would depend on the clock", "Write the time as a constant: DATE '2026-11-15'.")
_ON_UNIT = "Write EXISTS (SELECT 1 FROM other WHERE other.unit = this.unit AND …), with AND to other conditions."
_REASONS = {
    **dict.fromkeys(("Rand", "Randn", "Uuid"), _RANDOM),
    **dict.fromkeys(("CurrentTimestamp", "CurrentDate", "CurrentTime", "CurrentDatetime", "Localtime"), _CLOCK),
    "Localtimestamp": _CLOCK,
    "Window": ("the value of a row would depend on rows of other people", "Group by the unit in a sub-query instead."),
    "Subquery": ("a sub-query among expressions may read other people's rows", _ON_UNIT + " Or write a join."),
    "Exists": ("EXISTS stands alone or after AND, in WHERE", _ON_UNIT),
    **dict.fromkeys(("Any", "All"), ("it may read other people's rows", _ON_UNIT)),
    "In": ("IN takes a list of values, or for the unit a query about the unit", _ON_UNIT),
    "Column": ("there is no such column", "Check its name."),
    "Star": ("* stands for all columns", "Name the columns."),
    "Distinct": ("it is not clear which of several equal rows counts", "Write COUNT(DISTINCT x)."),
    **dict.fromkeys(
        ("Placeholder", "Parameter"),
        ("placeholders are not supported", "Write the value itself into the text of the query."),
    ),
}
"""Why some well-known parts of SQL are refused, and what to write instead."""


Inner = Callable[[Any], Expression]


def _literal(node: Any, inner: Inner) -> Expression:
    text = node.this
    if node.is_string:
        if not storable(text):
            raise UnsupportedQuery(
                ascii(cut(text)), "engines cannot represent this text", "Leave out what is not Unicode."
            )
        return Constant(text, "text")
    if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 1 << 63:
        return Constant(int(text), "integer")
    try:
        number = float(text)
    except ValueError:
        raise UnsupportedQuery(cut(text), "is not a number", "Write 5, 0.5 or 5e-1.") from None
    if not abs(number) <= 1e300 or 0 < abs(number) < 1e-250:
        why = "is too large or too small for the arithmetic of doubles"
        raise UnsupportedQuery(cut(text), why, "Use another scale.")
    return Constant(number, "number")


def _between(node: Any, inner: Inner) -> Expression:
    value = inner(node.this)
    return call("and", call(">=", value, inner(node.args["low"])), call("<=", value, inner(node.args["high"])))


def _in(node: Any, inner: Inner) -> Expression:
    if not node.expressions:
        raise refused(node)
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
    subject = None if node.this is None else inner(node.this)
    for branch in node.args["ifs"]:
        condition = inner(branch.this)
        if subject is not None:
            condition = call("=", subject, condition)
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
    raise UnsupportedQuery(shown(node), "engines disagree about this cast", instead)


def _round(node: Any, inner: Inner) -> Expression:
    """Half away from zero, by FLOOR(ABS(x) + 0.5): the engines' own functions disagree about halves."""
    value, digits = inner(node.this), Constant(0, "integer")
    if node.args.get("decimals") is not None:
        digits = inner(node.args["decimals"])  # type: ignore[assignment]
    if not isinstance(digits, Constant) or digits.kind != "integer" or abs(digits.value) > _MOST_DIGITS:
        why = f"it takes a written number of digits, from -{_MOST_DIGITS} to {_MOST_DIGITS}"
        raise UnsupportedQuery(shown(node), why, "Write ROUND(x, 2).")
    if value.kind is None or (value.kind == "integer" and digits.value >= 0):
        return value
    size = call("abs", value)
    scale, half = Constant(10.0 ** abs(digits.value), "number"), Constant(0.5, "number")
    if digits.value > 0:
        size = call("/", call("floor", call("+", call("*", size, scale), half)), scale)
    elif digits.value < 0:
        size = call("*", call("floor", call("+", call("/", size, scale), half)), scale)
    else:
        size = call("floor", call("+", size, half))
    below = call("<", value, Constant(0, "integer"))
    return size if span_of(value).low >= 0 else call("case", below, call("negate", size), size)


_MOST_DIGITS = 15


def _extract(node: Any, inner: Inner) -> Expression:
    part = node.this.name.lower()
    if part not in ("year", "month", "day", "hour", "minute"):
        raise UnsupportedQuery(
            shown(node), "this part of a date is not in the language", "Use YEAR, MONTH, DAY, HOUR or MINUTE."
        )
    return call(part, inner(node.expression))


_SPECIAL: dict[str, tuple[tuple[str, ...], Callable[[Any, Inner], Expression]]] = {
    "Paren": (("this",), lambda node, inner: inner(node.this)),
    "Literal": (("this", "is_string"), _literal),
    "Boolean": (("this",), lambda node, inner: Constant(bool(node.this), "boolean")),
    "Null": ((), lambda node, inner: NULL),
    "Between": (("this", "low", "high"), _between),
    "In": (("this", "expressions"), _in),
    "Is": (("this", "expression"), _is),
    "Case": (("this", "ifs", "default"), _case),
    "If": (("this", "true", "false"), _if),
    "Cast": (("this", "to"), _cast),
    "TryCast": (("this", "to"), _cast),
    "Extract": (("this", "expression"), _extract),
    "Round": (("this", "decimals"), _round),
    "Coalesce": (
        ("this", "expressions"),
        lambda node, inner: call("coalesce", inner(node.this), *map(inner, node.expressions)),
    ),
}
"""Which parts of a node have a meaning, and which."""
