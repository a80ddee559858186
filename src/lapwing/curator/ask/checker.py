"""One checker for every question, however it was made: in Python, in SQL, from a saved file, in the lab.

Nodes of a plan state which kinds they take (`Node.inputs`). The checker builds each of these inputs anew, from its
columns and constants upwards, with the constructors of the language. The result must equal the input, so a kind, a span
or bounds that somebody merely claims are not believed. An engine that got another kind than its node states would cast
it row by row and fail at some rows only, which is an exact answer about a person. Proof: curator.md, point 1

The nesting of expressions, and how often they read text, is limited once the columns they read are written out. Engines
merge the steps of a plan, so a column of a column of a column is one deep expression to them. Spark hands it to its
workers by a recursion that exceeded their stack between 180 and 225 nested CASEs, after rows had been read; and whether
a worker gets to such a step at all may depend on the rows. PostgreSQL, and DuckDB where it must check that text is
UTF-8, hold a copy of a cell for each time an expression reads it: 1,000 times 1 MB for one cell of one person. Both are
refused for everybody, before rows are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lapwing.curator.aggregates import argument
from lapwing.curator.ask import room
from lapwing.curator.ask.question import Question
from lapwing.curator.plan.evaluation import released
from lapwing.curator.plan.expressions import KINDS, NUMERIC, TRUTH, Call, Column, Constant, Expression, Input, clamp
from lapwing.curator.plan.groups import Key
from lapwing.curator.plan.language import call
from lapwing.curator.plan.nodes import Combine, JoinPublic, JoinUnit, PerUnit, Plan, Public, Scan, Select, Where
from lapwing.curator.plan.text_forms import PLAIN, meaning, missing_key
from lapwing.curator.plan.values import LONGEST, is_short, value_of
from lapwing.errors import UnsupportedQuery

DEEPEST = 100
"""Operators inside one another, half of what Spark was seen to take."""
TEXTS = 256
"""How often one expression may read text, of at most 1 MB each time."""
_HINT = "Make questions with lw.open(…), table.query(…) or Query.from_yaml(…)."


class _CheckedExpressions:
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
            raise _refused(expression, "is not an expression of the language")
        self._found[id(expression)] = expression  # kept, so that no other gets its number

    def _column(self, column: Column) -> None:
        if type(column) is not Column or self.columns.get(column.name) != column:
            raise _refused(column, "is not the column of that name in the rows below")

    def _call(self, expression: Call) -> None:
        first = expression.arguments[0] if expression.arguments else None
        if self.answer and isinstance(first, Column) and expression == released(first.name, first.kind):
            self._column(first)
            return
        for operand in expression.arguments:
            self.check(operand)
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
        raise _refused(constant, f"is not a value of kind {constant.kind}")
    _short(constant.value)


def _short(value: Any) -> None:
    if not is_short(value):
        why = f"the question contains a text of {len(value):,} characters, and at most {LONGEST:,} are allowed"
        raise UnsupportedQuery(repr(value[:40] + "…"), why, "Join a public table (lw.public) if rows need long texts.")


def _fits(value: Any, kind: Any, *, exactly: bool = False) -> bool:
    try:
        plain = value_of(value, kind)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return False
    return plain == value and (type(plain) is type(value) or not exactly)


def check(query: Question) -> None:
    """Refuse a question unless all its parts are of the kinds that whatever takes them states."""
    checked: set[int] = set()
    _plan(query.plan, query, checked)
    depths = _depths(query.plan)
    rows = _CheckedExpressions(query.plan.by_name)
    for key in query.grouping.keys:
        _key(key, rows)
        _has_rows(key, query)
        _nested(key.expression, depths)
    for aggregate in query.aggregates:
        for text in aggregate.of:
            value = argument(text, rows.columns)
            _taken(str(aggregate), value, aggregate.takes, rows)
            _nested(value, depths)
    for grid in query.contents[0]:  # what an aggregate itself computes from its columns
        _nested(grid.expression, depths)
    shown, post = _CheckedExpressions(query.output_columns(), answer=True), query.post
    for _, output in post.outputs or ():
        _taken("a column of the answer", output, (*KINDS, None), shown)
    for by, _ in post.order:
        _taken("ORDER BY", by, KINDS, shown)
    if post.having is not None:
        _taken("HAVING", post.having, TRUTH, shown)
    room.check(query)


def _plan(plan: Plan, query: Question, checked: set[int]) -> None:
    """A plan, from its tables upwards."""
    if id(plan) in checked:
        return
    for parent in plan.parents():
        _plan(parent, query, checked)
    if isinstance(plan, Scan):
        relation = query.context.relations.get(plan.table)
        if relation is None or any(field.name not in relation.types for field in plan.fields):
            raise UnsupportedQuery(plan.table, "no such table was opened", _HINT)
    if not isinstance(plan, Public):  # whose values were compared with their kinds, and cannot change
        plan.__post_init__()
    seen: dict[int, _CheckedExpressions] = {}
    for entry in plan.inputs():
        columns = seen.setdefault(id(entry.columns), _CheckedExpressions(entry.columns))
        if entry.declares and isinstance(entry.expression, Column):
            _declared(entry.expression, columns)
        else:
            columns.check(entry.expression)
        entry.check()
    checked.add(id(plan))


def _declared(column: Column, below: _CheckedExpressions) -> None:
    """A column under a name: here, and only here, bounds and keys may be declared; all uses clamp to these bounds."""
    known = below.columns.get(column.name)
    if known is None or replace(column, bounds=known.bounds, keys=known.keys) != known:
        raise _refused(column, "is not the column of that name in the rows below")
    low, high = column.bounds or (0, 1)
    is_declared = column.bounds != known.bounds  # those below may be equal, of a constant
    if is_declared and column.bounds and (column.kind not in NUMERIC or not low < high):
        raise _refused(column, "has bounds that no number has")
    _values(column.name, column.keys or (), column.kind)


def _key(key: Key, rows: _CheckedExpressions) -> None:
    _taken(f"the key {key.name}", key.expression, KINDS, rows)
    _values(key.name, key.values or (), key.expression.kind)
    if key.labels is not None and len(key.labels) != len(key.values or ()):
        raise UnsupportedQuery(key.name, "there must be a label for each value", _HINT)


def _has_rows(key: Key, query: Question) -> None:
    """Refuse a public key that stands for no value where the column is read: its group would always be empty."""
    source = _scan_of(key.expression, query.plan)
    notation = PLAIN if source is None else query.context.relations[source.table].notation
    for value in key.values or () if key.expression.kind == "text" else ():
        if isinstance(value, str) and meaning(value, "text", notation) is None:
            raise missing_key(key.name, value)


def _scan_of(expression: Expression, plan: Plan) -> Scan | None:
    """The table of which an expression is a column as it is, whatever it is called meanwhile."""
    if not isinstance(expression, Column):
        return None
    match plan:
        case Scan():
            return plan
        case Where():
            return _scan_of(expression, plan.parent)
        case Select():
            return _scan_of(dict(plan.outputs)[expression.name], plan.parent)
        case JoinPublic() if expression.name in plan.parent.by_name:
            return _scan_of(expression, plan.parent)
    return None


def _values(name: str, values: tuple[Any, ...], kind: Any) -> None:
    """Public values, which are compared with every row."""
    for value in values:
        if not _fits(value, kind):
            why = f"{name} is of kind {kind}, and its keys are compared with every row"
            raise UnsupportedQuery(repr(value), why, "Write keys of that kind.")
        _short(value)


def _taken(role: str, expression: Expression, kinds: tuple[Any, ...], columns: _CheckedExpressions) -> None:
    columns.check(expression)
    Input(role, expression, kinds, columns.columns).check()


def _refused(expression: Any, why: str) -> UnsupportedQuery:
    return UnsupportedQuery(str(expression), why, _HINT)


@dataclass(frozen=True, slots=True)
class Depth:
    """How many operators are inside one another, and how often text is read."""

    operators: int = 0
    texts: int = 0


Depths = Mapping[str, Depth]
"""Of each column."""


def _nested(expression: Expression, below: Depths) -> Depth:
    """The depth of an expression over columns of these depths, or `UnsupportedQuery`."""
    depth = _depth(expression, below, {})
    for number, most, what in ((depth.operators, DEEPEST, "nests"), (depth.texts, TEXTS, "reads text")):
        if number > most:
            counted = f"{number:,} operators" if what == "nests" else f"{number:,} times"
            why = f"it {what} {counted}, with what its columns are computed from, and at most {most} are allowed"
            hint = "Write a flatter expression, fewer steps of CASE, or x IN ('a', 'b', …)."
            raise UnsupportedQuery(str(expression)[:80] + "…", why, hint)
    return depth


def _depth(expression: Expression, below: Depths, known: dict[int, Depth]) -> Depth:
    if isinstance(expression, Column):
        return below.get(expression.name, Depth(0, int(expression.kind == "text")))
    if not isinstance(expression, Call):
        return Depth()
    if id(expression) not in known:  # what stands in two places is looked at once
        parts = [_depth(operand, below, known) for operand in expression.arguments]
        deepest = max((part.operators for part in parts), default=0)
        known[id(expression)] = Depth(1 + deepest, sum(part.texts for part in parts))
    return known[id(expression)]


def _depths(plan: Plan, seen: dict[int, Depths] | None = None) -> Depths:
    """The depths of the columns of a plan, whose expressions are all checked."""
    seen = {} if seen is None else seen
    if id(plan) not in seen:
        seen[id(plan)] = _columns(plan, [_depths(parent, seen) for parent in plan.parents()])
    return seen[id(plan)]


def _columns(plan: Plan, parents: list[Depths]) -> Depths:
    below = {name: depth for parent in parents for name, depth in parent.items()}
    for entry in plan.inputs():
        _nested(entry.expression, below)
    match plan:
        case Select():
            return {name: _nested(expression, below) for name, expression in plan.outputs}
        case Scan():
            return {column.name: Depth(0, int(column.kind == "text")) for column in plan.columns}
        case PerUnit():  # a total is a new beginning: no engine merges what comes after it with what comes before
            return {name: _nested(expression, below) for name, expression in plan.keys}
        case Combine():
            names = [[column.name for column in side.columns] for side in plan.sides]
            sides = [[depths.get(name, Depth()) for name in some] for some, depths in zip(names, parents, strict=True)]
            return dict(zip(names[0], map(_larger, zip(*sides, strict=True)), strict=True))
        case Where() | JoinPublic() | JoinUnit():
            return below
        case _:
            return parents[0] if parents else {}


def _larger(depths: tuple[Depth, ...]) -> Depth:
    return Depth(max(depth.operators for depth in depths), max(depth.texts for depth in depths))
