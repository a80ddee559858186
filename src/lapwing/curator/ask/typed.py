"""One checker for every question, however it was made: in Python, in SQL, from a saved file, in the lab.

Nodes of a plan state of which kinds they take what (`Node.inputs`). Here each of these inputs is made anew, from its
columns and constants upwards, by the constructors of the language, and must be what they make: a kind, a span or bounds
that somebody merely claims are not believed. An engine that got another kind than its node states would cast it row by
row and fail at some rows only, which is an exact answer about a person. Proof: curator.md, point 1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lapwing.curator.aggregates import Aggregate, argument
from lapwing.curator.plan import nesting, room
from lapwing.curator.plan.evaluate import released
from lapwing.curator.plan.expressions import (
    KINDS,
    NUMERIC,
    Call,
    Column,
    Constant,
    Expression,
    call,
    clamp,
)
from lapwing.curator.plan.groups import Key
from lapwing.curator.plan.inputs import TRUTH, Input
from lapwing.curator.plan.nodes import Plan, Public, Scan
from lapwing.curator.plan.values import LONGEST, is_short, value_of
from lapwing.errors import UnsupportedQuery

if TYPE_CHECKING:
    from lapwing.curator.ask.query import Query

_HINT = "Make questions with lw.open(…), table.query(…) or Query.from_yaml(…)."


class _Seen:
    """Expressions that were found to be in order: what stands in two places is looked at once."""

    def __init__(self, columns: Mapping[str, Column], *, answer: bool = False) -> None:
        self.columns = columns
        self.answer = answer
        """Whether these are the columns of an answer, which is public: they have no bounds and need none."""
        self._found: dict[int, Expression] = {}

    def check(self, expression: Expression) -> None:
        """Refuse an expression that is not what the language makes of its parts."""
        if id(expression) in self._found:
            return
        if isinstance(expression, Column):
            self._column(expression)
        elif isinstance(expression, Constant):
            _constant(expression)
        elif type(expression) is Call:
            self._call(expression)
        else:
            raise _refused(expression, "is no expression of the language")
        self._found[id(expression)] = expression  # kept, so that no other gets its number

    def _column(self, column: Column) -> None:
        if type(column) is not Column or self.columns.get(column.name) != column:
            raise _refused(column, "is not the column of that name in the rows below")

    def _call(self, expression: Call) -> None:
        first = expression.arguments[0] if expression.arguments else None
        if self.answer and isinstance(first, Column) and expression == released(first.name, first.kind):
            self._column(first)
            return
        for one in expression.arguments:
            self.check(one)
        try:
            known = clamp(first) if expression.operator == "clamp" and first else _made(expression)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            known = None  # of a constructor that nobody meant to be called so
        if known != expression:
            raise _refused(expression, "is not what its parts make")


def _made(expression: Call) -> Expression:
    return call(expression.operator, *expression.arguments)


def _constant(constant: Constant) -> None:
    if constant.value is None and constant.kind in (None, *KINDS):
        return
    if constant.kind not in KINDS or not _fits(constant.value, constant.kind, exactly=True):
        raise _refused(constant, f"is no value of kind {constant.kind}")
    _short(constant.value)


def _short(value: Any) -> None:
    if not is_short(value):
        why = f"a text of {len(value):,} characters stands in the question, and at most {LONGEST:,} are allowed"
        raise UnsupportedQuery(repr(value[:40] + "…"), why, "Join a public table (lw.public) if rows need long texts.")


def _fits(value: Any, kind: Any, *, exactly: bool = False) -> bool:
    try:
        plain = value_of(value, kind)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return False
    return plain == value and (type(plain) is type(value) or not exactly)


def check(query: Query) -> None:
    """Refuse a question unless all its parts are of the kinds that whatever takes them states."""
    checked: set[int] = set()
    _plan(query.plan, query, checked)
    depths = nesting.check_plan(query.plan)
    rows = _Seen(query.plan.by_name)
    for key in query.grouping.keys:
        _key(key, rows)
        nesting.check(key.expression, depths)
    for asked in query.aggregates:
        _aggregate(asked, rows)
        for text in asked.of:
            nesting.check(argument(text, rows.columns), depths)
    for grid in query.contents[0]:  # what an aggregate itself computes from its columns
        nesting.check(grid.expression, depths)
    shown, post = _Seen(query.output_columns(), answer=True), query.post
    for _, output in post.outputs or ():
        _taken("a column of the answer", output, (*KINDS, None), shown)
    for by, _ in post.order:
        _taken("ORDER BY", by, KINDS, shown)
    if post.having is not None:
        _taken("HAVING", post.having, TRUTH, shown)
    room.check(query)


def _plan(plan: Plan, query: Query, checked: set[int]) -> None:
    """A plan, from its tables upwards."""
    if id(plan) in checked:
        return
    for parent in plan.parents():
        _plan(parent, query, checked)
    if isinstance(plan, Scan):
        _scan(plan, query)
    if not isinstance(plan, Public):  # whose values were compared with their kinds, and cannot change
        plan.__post_init__()
    seen: dict[int, _Seen] = {}
    for one in plan.inputs():
        columns = seen.setdefault(id(one.columns), _Seen(one.columns))
        if one.declares and isinstance(one.expression, Column):
            _declared(one.expression, columns)
        else:
            columns.check(one.expression)
        one.check()
    checked.add(id(plan))


def _scan(plan: Scan, query: Query) -> None:
    relation = query.context.relations.get(plan.table)
    if relation is None or any(field.name not in relation.types for field in plan.fields):
        raise UnsupportedQuery(plan.table, "no such table was opened", _HINT)


def _declared(column: Column, below: _Seen) -> None:
    """A column under a name: here, and only here, bounds and keys may be declared; all uses clamp to these bounds."""
    known = below.columns.get(column.name)
    if known is None or replace(column, bounds=known.bounds, keys=known.keys) != known:
        raise _refused(column, "is not the column of that name in the rows below")
    low, high = column.bounds or (0, 1)
    is_declared = column.bounds != known.bounds  # those below may be equal, of a constant
    if is_declared and column.bounds and (column.kind not in NUMERIC or not low < high):
        raise _refused(column, "has bounds that no number has")
    _values(column.name, column.keys or (), column.kind)


def _key(key: Key, rows: _Seen) -> None:
    _taken(f"the key {key.name}", key.expression, KINDS, rows)
    _values(key.name, key.values or (), key.expression.kind)
    if key.labels is not None and len(key.labels) != len(key.values or ()):
        raise UnsupportedQuery(key.name, "there must be a label for each value", _HINT)


def _values(name: str, values: tuple[Any, ...], kind: Any) -> None:
    """Public values, which are compared with every row."""
    for value in values:
        if not _fits(value, kind):
            why = f"{name} is of kind {kind}, and its keys are compared with every row"
            raise UnsupportedQuery(repr(value), why, "Write keys of that kind.")
        _short(value)


def _aggregate(asked: Aggregate, rows: _Seen) -> None:
    for text in asked.of:
        _taken(str(asked), argument(text, rows.columns), asked.takes, rows)


def _taken(role: str, expression: Expression, kinds: tuple[Any, ...], columns: _Seen) -> None:
    columns.check(expression)
    Input(role, expression, kinds, columns.columns).check()


def _refused(expression: Any, why: str) -> UnsupportedQuery:
    return UnsupportedQuery(str(expression), why, _HINT)
