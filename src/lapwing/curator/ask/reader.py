"""Questions from plain data, written by `writer.written` or by hand, and built with the usual constructors.

Nothing in a file is trusted: names must be those of the tables at hand, operators and aggregates those of the language,
with the right number of arguments. What the constructors refuse in Python or SQL they refuse here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lapwing import checks
from lapwing.curator.aggregates import AGGREGATES, Aggregate, Cdf
from lapwing.curator.ask.context import OpenedTable, PublicTable, context_of, known_tables
from lapwing.curator.ask.distribution import distribution
from lapwing.curator.ask.fields import HINT, entries, exact_number, lookup, mapping, one_of, single, text
from lapwing.curator.ask.marginals import MarginalsQuestion, weights_of
from lapwing.curator.ask.query import Query, ask
from lapwing.curator.ask.question import Post, bounding_of
from lapwing.curator.ask.writer import VERSION
from lapwing.curator.plan.declarations import fitting
from lapwing.curator.plan.evaluation import released
from lapwing.curator.plan.expressions import KINDS, NUMERIC, Column, Constant, Expression, Kind
from lapwing.curator.plan.groups import Grouping, Key, key_for
from lapwing.curator.plan.language import PLACES, call, time_constant
from lapwing.curator.plan.nodes import (
    Combine,
    Exists,
    JoinPublic,
    JoinUnit,
    Outer,
    PerUnit,
    Plan,
    Public,
    Select,
    Setting,
    Total,
    Where,
    scans,
)
from lapwing.curator.plan.rollups import Rollup
from lapwing.curator.plan.values import storable
from lapwing.errors import InvalidParameter, LapwingError, UnsupportedQuery

DEEPEST = 100
_FIELDS = (
    "lapwing_query",
    "rows",
    "group_by",
    "rollup",
    "marginals",
    "ask",
    "bounding",
    "outputs",
    "having",
    "order_by",
    "limit",
    "offset",
)
Columns = Mapping[str, Column]


@dataclass(frozen=True)
class _Tables:
    """The tables at hand, by their own names."""

    private: Mapping[str, OpenedTable]
    public: Mapping[str, Public]


class _Answer(dict[str, Column]):
    """The columns of an answer, which is public: arithmetic on them needs no bounds."""


def read(data: Any, table: OpenedTable, tables: Iterable[Any] | Mapping[str, Any] = ()) -> Query:
    """The question that data stands for, about these tables; its answer is one table."""
    question = read_any(data, table, tables)
    if isinstance(question, MarginalsQuestion):
        why, hint = "its answer is several tables", "Read it in Python: lw.Query.from_yaml(text, table)."
        raise UnsupportedQuery("marginals", why, hint)
    return question


def read_any(
    data: Any, table: OpenedTable, tables: Iterable[Any] | Mapping[str, Any] = ()
) -> Query | MarginalsQuestion:
    """The question that data stands for, about these tables."""
    try:
        return _question(mapping(data, "question", _FIELDS), table, known_tables(table, tables))
    except LapwingError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        pass  # of a constructor that nobody meant to be called so
    raise InvalidParameter("question", "", "is not a question that can be asked", HINT)


def _question(
    data: Mapping[str, Any], table: OpenedTable, known: Mapping[str, OpenedTable | PublicTable]
) -> Query | MarginalsQuestion:
    if data.get("lapwing_query") != VERSION or type(data["lapwing_query"]) is not int:
        why = "is not a question, or is one of a later version of Lapwing"
        raise InvalidParameter("lapwing_query", data.get("lapwing_query"), why, f"Write lapwing_query: {VERSION}.")
    plan = _rows(data.get("rows"), _by_name(known.values()), 0)
    bounding = bounding_of(mapping(data["bounding"], "bounding")) if "bounding" in data else table.bounding
    keys = tuple(_key(entry, plan.by_name) for entry in entries(data.get("group_by", []), "group_by"))
    written = (_aggregate(entry, plan.by_name) for entry in entries(data.get("ask"), "ask"))
    aggregates = tuple(each.within(plan.by_name) if isinstance(each, Cdf) else each for each in written)
    context = context_of(plan, table, known)
    if "marginals" in data:
        _refuse(data, "marginals", "rollup", *_AFTERWARDS)
        return MarginalsQuestion(context, plan, Grouping(keys), aggregates, bounding, **_marginals(data["marginals"]))
    rollup = _rollup(data["rollup"], keys) if "rollup" in data else None
    query = ask(context, plan, Grouping(keys), aggregates, bounding, rollup)
    if isinstance(aggregates[0], Cdf):
        _refuse(data, "cdf", *_AFTERWARDS)
        return distribution(query, aggregates[0])
    return replace(query, post=_post(data, _Answer(query.output_columns())))


_AFTERWARDS = ("outputs", "having", "order_by", "limit", "offset")


def _refuse(data: Mapping[str, Any], what: str, *names: str) -> None:
    for name in names:
        if name in data:
            raise InvalidParameter(name, data[name], f"is not for {what}, whose rows belong together", "Leave it out.")


def _marginals(data: Any) -> dict[str, Any]:
    """The columns of each table, and what the tables are asked with."""
    parts = mapping(data, "marginals", ("sets", "weights", "integers"))
    sets = tuple(
        tuple(text(name, "sets") for name in entries(names, "sets")) for names in entries(parts["sets"], "sets")
    )
    weights = [exact_number(weight, "weights") for weight in entries(parts.get("weights", [1] * len(sets)), "weights")]
    integers = checks.true_or_false(integers=parts.get("integers", False))
    return {"sets": sets, "weights": weights_of(sets, weights), "integers": integers}


def _by_name(tables: Iterable[OpenedTable | PublicTable]) -> _Tables:
    private: dict[str, OpenedTable] = {}
    public: dict[str, Public] = {}
    for table in tables:
        if isinstance(table, OpenedTable):
            name = next(scans(table.plan)).table
            clash = private.setdefault(name, table) is not table
        else:
            name = table.name
            clash = public.setdefault(name, table.plan) is not table.plan
        if clash:
            raise InvalidParameter("tables", name, "two tables have this name", "Open one with another name=.")
    return _Tables(private, public)


def _rows(data: Any, tables: _Tables, depth: int) -> Plan:
    """The plan of a list of steps."""
    if depth > DEEPEST:
        raise InvalidParameter("rows", "…", "are nested too deeply", "Write less.")
    first, *steps = entries(data, "rows")
    name = mapping(first, "rows", ("table",)).get("table")
    plan = lookup(name, tables.private, "there is no private table of this name at hand").plan
    for step in steps:
        name, content = single(step, "rows")
        plan = lookup(name, _STEPS, "there is no such step")(plan, content, tables, depth + 1)
    return plan


def _where(plan: Plan, content: Any, tables: _Tables, depth: int) -> Plan:
    return Where(plan, _expression(content, plan.by_name))


def _select(plan: Plan, content: Any, tables: _Tables, depth: int) -> Plan:
    return Select(plan, _named(content, plan.by_name))


def _join(plan: Plan, content: Any, tables: _Tables, depth: int) -> Plan:
    parts = mapping(content, "join", ("table", "columns", "on", "how"))
    public = lookup(parts.get("table"), tables.public, "there is no public table of this name at hand")
    names = [text(name, "columns") for name in entries(parts.get("columns"), "columns")]
    if len(names) != len(public.fields):
        why = f"{public.table} has {len(public.fields)} columns"
        raise InvalidParameter("columns", names, why, "Name each of them as it is called after the join.")
    fields = tuple(replace(field, name=name) for field, name in zip(public.fields, names, strict=True))
    on = []
    for pair in entries(parts.get("on"), "on"):
        mine, theirs = entries(pair, "on")
        on.append((_expression(mine, plan.by_name), lookup(theirs, {n: n for n in names}, "there is no such column")))
    return JoinPublic(plan, replace(public, fields=fields), tuple(on), one_of(Outer, parts, "how"))


def _join_unit(plan: Plan, content: Any, tables: _Tables, depth: int) -> Plan:
    parts = mapping(content, "join_unit", ("rows", "how", "condition"))
    other, how = _rows(parts.get("rows"), tables, depth), one_of(Outer, parts, "how")
    condition, both = parts.get("condition"), {**plan.by_name, **other.by_name}
    return JoinUnit(plan, other, how, None if condition is None else _expression(condition, both))


def _exists(plan: Plan, content: Any, tables: _Tables, depth: int) -> Plan:
    parts = mapping(content, "exists", ("rows", "negated"))
    negated = checks.true_or_false(negated=parts.get("negated", False))
    return Exists(plan, _rows(parts.get("rows"), tables, depth), negated)


def _combine(plan: Plan, content: Any, tables: _Tables, depth: int) -> Plan:
    parts = mapping(content, "combine", ("setting", "with"))
    others = [_rows(side, tables, depth) for side in entries(parts.get("with"), "with")]
    setting = one_of(Setting, parts, "setting")
    if not others and setting != "union":
        raise InvalidParameter("combine", setting, "needs another side", "Write setting: union for distinct rows.")
    return Combine(setting, (plan, *others))


def _per_unit(plan: Plan, content: Any, tables: _Tables, depth: int) -> Plan:
    parts = mapping(content, "per_unit", ("unit", "keys", "totals"))
    totals = []
    for name, entry in mapping(parts.get("totals", {}), "totals").items():
        total, of = single(entry, "totals")
        argument = None if of is None else _expression(of, plan.by_name)
        if argument is None and total != "count":
            raise InvalidParameter("totals", total, "needs an expression", "Write {sum: {column: cost}}.")
        totals.append((name, one_of(Total, {"total": total}, "total"), argument))
    keys = _named(parts.get("keys", {}), plan.by_name)
    return PerUnit(plan, text(parts.get("unit"), "unit"), keys, tuple(totals))


_STEPS: dict[str, Callable[[Plan, Any, _Tables, int], Plan]] = {
    "where": _where,
    "select": _select,
    "join": _join,
    "join_unit": _join_unit,
    "exists": _exists,
    "combine": _combine,
    "per_unit": _per_unit,
}


def _expression(data: Any, columns: Columns, depth: int = 0) -> Expression:
    if depth > DEEPEST:
        raise InvalidParameter("expression", "…", "is nested too deeply", "Write a flatter one.")
    if not isinstance(data, dict):
        return _constant(data, None)
    name, content = single(data, "expression")
    if name == "column":
        return _column(content, columns)
    if name == "constant" and content is None:
        return Constant(None, None)
    if name in KINDS:
        return _constant(content, name)
    fewest, most = lookup(name, PLACES, "there is no such operator")
    arguments = [_expression(argument, columns, depth + 1) for argument in entries(content, name)]
    if not fewest <= len(arguments) <= most or (name == "case" and len(arguments) % 2 == 0):
        raise InvalidParameter(name, len(arguments), "takes another number of arguments", HINT)
    first = arguments[0]
    if name == "coalesce" and len(arguments) == 1 and isinstance(first, Column) and isinstance(columns, _Answer):
        return released(first.name, first.kind)
    return call(name, *arguments)


def _column(data: Any, columns: Columns) -> Column:
    """A column by its name, perhaps with bounds and keys that are public knowledge: as bounds= and keys= beside SQL."""
    if not isinstance(data, dict):
        return lookup(data, columns, "there is no such column")
    parts = mapping(data, "column", ("name", "bounds", "keys"))
    column = lookup(parts.get("name"), columns, "there is no such column")
    if "bounds" in parts:
        if column.kind not in NUMERIC:
            raise InvalidParameter("bounds", column.name, f"is of kind {column.kind}, which has no bounds", HINT)
        ends = [exact_number(end, "bounds") for end in entries(parts["bounds"], "bounds")]
        column = replace(column, bounds=checks.interval(bounds=ends))
    if "keys" in parts:
        values = tuple(_value(value, column.kind) for value in entries(parts["keys"], "keys"))
        fitting(column.name, column.kind, values)
        column = replace(column, keys=tuple(dict.fromkeys(values)))
    return column


_NATURAL: dict[type, Kind] = {bool: "boolean", int: "integer", float: "number", str: "text"}


def _constant(value: Any, kind: Kind | None) -> Constant:
    """A constant as the parser would make it: text that engines can hold, numbers that doubles can."""
    known = kind or _NATURAL.get(type(value))
    if known in ("date", "timestamp") and isinstance(value, str):
        return time_constant(value, known)
    if known is None:
        raise InvalidParameter("constant", type(value), "is not a value of a column", HINT)
    fitting("constant", known, (value,))
    if value is None or (isinstance(value, str) and not storable(value)):
        raise InvalidParameter("constant", known, "engines cannot represent this value", HINT)
    if known == "integer" and not -(1 << 63) <= value < 1 << 63:
        raise InvalidParameter("constant", value, "is beyond 64 bits", "Write it as a number: 1.0e+20.")
    if known == "number" and not (value == 0 or 1e-250 <= abs(value) <= 1e300):
        why = "is too large or too small for the arithmetic of doubles"
        raise InvalidParameter("constant", value, why, "Use another scale.")
    return Constant(float(value) if known == "number" else value, known)


def _named(data: Any, columns: Columns) -> tuple[tuple[str, Expression], ...]:
    return tuple((name, _expression(entry, columns)) for name, entry in mapping(data, "columns").items())


def _key(data: Any, columns: Columns) -> Key:
    parts = mapping(data, "group_by", ("name", "by", "everything_else", "values", "labels"))
    name, by = text(parts.get("name"), "name"), _expression(parts.get("by"), columns)
    if by.kind is None:
        raise InvalidParameter("group_by", name, "NULL has no kind", "Group by a column.")
    rest = checks.true_or_false(everything_else=parts.get("everything_else", False))
    if parts.get("values") is None:
        return key_for(name, by, everything_else=rest)
    values = tuple(_value(value, by.kind) for value in entries(parts["values"], "values"))
    if len(set(values)) < len(values):
        raise InvalidParameter("values", name, "one of them is there twice", "Leave one out.")
    fitting(name, by.kind, values)
    key = key_for(name, by, everything_else=rest, values=values)
    if parts.get("labels") is None:
        return key
    labels = tuple(text(label, "labels") for label in entries(parts["labels"], "labels"))
    if len(labels) != len(values):
        raise InvalidParameter("labels", name, "must be as many as values", "Write one for each, or none.")
    return replace(key, labels=labels)


def _rollup(data: Any, keys: tuple[Key, ...]) -> Rollup:
    """Labels of paths are those of the keys or texts; a question about others would ask for nothing."""
    fields = ("names", "given", "paths", "weights", "integers", "level_column", "invariants")
    parts = mapping(data, "rollup", fields)
    names = tuple(text(name, "names") for name in entries(parts.get("names"), "names"))
    given = checks.whole(given=parts.get("given", 0), minimum=0)
    paths = None
    if "paths" in parts:
        paths = tuple(_path(path) for path in entries(parts["paths"], "paths"))
        if len(paths) != Grouping(keys).size or any(path and len(path) != len(names) for path in paths):
            raise InvalidParameter("paths", len(paths), "must be one for each group, with a label a level", HINT)
    elif names != tuple(key.name for key in keys):
        raise InvalidParameter("names", list(names), "must be those of the keys", HINT)
    weights: Any = parts.get("weights", "levels")
    if not isinstance(weights, str):
        weights = tuple(exact_number(number, "weights") for number in entries(weights, "weights"))
    invariants = []
    for entry in entries(parts.get("invariants", []), "invariants"):
        path, value = entries(entry, "invariants")
        invariants.append((_path(path), checks.whole(invariants=value, minimum=0)))
    column = parts.get("level_column")
    return Rollup(
        names,
        given,
        paths,
        weights,
        checks.true_or_false(integers=parts.get("integers", True)),
        None if column is None else text(column, "level_column"),
        tuple(invariants),
    )


def _path(data: Any) -> tuple[Any, ...]:
    path = tuple(entries(data, "paths"))
    if any(not isinstance(label, bool | int | float | str) for label in path):
        raise InvalidParameter("paths", len(path), "must hold texts and numbers", HINT)
    return path


def _value(value: Any, kind: Kind | None) -> Any:
    if isinstance(value, str) and kind == "date":
        return dt.date.fromisoformat(value)
    return dt.datetime.fromisoformat(value) if isinstance(value, str) and kind == "timestamp" else value


_ASK: dict[str, type[Aggregate]] = {
    **{aggregate.kind: aggregate for aggregate in AGGREGATES if aggregate.options is not None},
    Cdf.kind: Cdf,
}


def _aggregate(data: Any, columns: Columns) -> Aggregate:
    parts = mapping(data, "ask")
    kind = next((name for name in parts if name in _ASK), next(iter(parts), ""))
    aggregate = lookup(kind, _ASK, "there is no such aggregate")
    of = [part if isinstance(part, str) else _expression(part, columns) for part in entries(parts[kind], kind)]
    if len(of) not in aggregate.places:
        raise InvalidParameter(kind, len(of), "takes another number of columns", HINT)
    given = mapping({name: value for name, value in parts.items() if name != kind}, kind, aggregate.options)
    for name in ("q", "weight"):
        if name in given:
            given[name] = exact_number(given[name], name)
    if "bounds" in given:
        given["bounds"] = tuple(exact_number(end, "bounds") for end in entries(given["bounds"], "bounds"))
    if "name" in given:
        text(given["name"], "name")
    return aggregate.reread(*of, **given)


def _post(data: Mapping[str, Any], columns: Columns) -> Post:
    order = []
    for pair in entries(data.get("order_by", []), "order_by"):
        by, way = entries(pair, "order_by")
        order.append((_expression(by, columns), checks.one_of(("asc", "desc"), order_by=way) == "desc"))
    outputs, having, limit = data.get("outputs"), data.get("having"), data.get("limit")
    if outputs == {}:
        raise InvalidParameter("outputs", outputs, "an answer needs columns", "Name one, or leave it out.")
    condition = None if having is None else _expression(having, columns)
    if condition is not None and condition.kind != "boolean":
        raise InvalidParameter("having", condition.kind, "is not a truth value", "Write a comparison.")
    return Post(
        None if outputs is None else _named(outputs, columns),
        condition,
        tuple(order),
        None if limit is None else checks.whole(minimum=0, limit=limit),
        checks.whole(minimum=0, offset=data.get("offset", 0)),
    )
