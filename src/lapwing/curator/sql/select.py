"""SQL: a SELECT with groups becomes a `Query`; what is not provably private is refused, with an alternative.

    WITH …  SELECT keys, aggregates  FROM … JOIN … WHERE …  GROUP BY …   → plan, grouping, aggregates: priced
    HAVING …  ORDER BY …  LIMIT …  and arithmetic on aggregates          → `Post`: free, from what is released

Every clause, every part of a clause and every function is on a list of what is understood; nothing is passed on to an
engine as it was written. VARIANCE and STDDEV are divided by n, like VAR_POP and STDDEV_POP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from lapwing import checks
from lapwing.curator.aggregates.base import Aggregate
from lapwing.curator.ask.context import OpenedTable, PublicTable, Tables, context_of, known_tables
from lapwing.curator.ask.query import Query
from lapwing.curator.ask.question import Post, bounding_of
from lapwing.curator.plan.evaluation import released
from lapwing.curator.plan.expressions import Column, Constant, Expression
from lapwing.curator.plan.groups import Grouping, Key, key_for
from lapwing.curator.plan.language import call
from lapwing.curator.plan.nodes import Plan
from lapwing.curator.plan.parser import cut, parse_one, refused, shown
from lapwing.curator.plan.rollups import Rollup
from lapwing.curator.sql.groups import Groups
from lapwing.curator.sql.names import Declarations
from lapwing.curator.sql.rows import Reader
from lapwing.curator.sql.syntax import clauses, inner_query, part, unwrapped
from lapwing.errors import UnsupportedQuery


def read(
    sql: str,
    table: OpenedTable,
    *,
    tables: Iterable[OpenedTable | PublicTable] | Tables = (),
    bounds: Mapping[str, Any] | None = None,
    keys: Mapping[str, Iterable[Any]] | None = None,
    max_groups_per_unit: int | None = None,
    max_rows_per_group: int | None = None,
    max_rows_per_unit: int | None = None,
    everything_else: bool = False,
) -> Query:
    """The question that a SELECT stands for.

    `tables` are further tables that it may name; `bounds` and `keys` are public knowledge about columns by name, also
    about those that a sub-query makes. Privacy: as `Query`; nothing is read here.
    """
    checks.true_or_false(everything_else=everything_else)
    known = known_tables(table, tables)
    declared = Declarations(bounds or {}, keys or {})
    given = {
        "max_groups_per_unit": max_groups_per_unit,
        "max_rows_per_group": max_rows_per_group,
        "max_rows_per_unit": max_rows_per_unit,
    }
    bounding = table.bounding if all(bound is None for bound in given.values()) else bounding_of(given)
    try:
        plans = {name: other.plan for name, other in known.items()}
        columns = dict.fromkeys(column.name for plan in plans.values() for column in plan.columns)
        select = _select(parse_one(sql, name="sql", columns=columns))
        reader = Reader(plans, declared).within(select)
        plan, grouping, aggregates, post, rollup = _grouped(reader, select, everything_else)
        declared.check()
        return Query(context_of(plan, table, known), plan, grouping, aggregates, bounding, post, sql, rollup)
    except RecursionError:
        raise UnsupportedQuery(cut(sql), "it is nested too deeply", "Write a flatter one.") from None


def _select(tree: exp.Expr) -> exp.Select:
    """The one SELECT of a text."""
    query = inner_query(tree)
    if isinstance(query, exp.SetOperation):
        why = "a UNION of answers is two questions"
        raise UnsupportedQuery(shown(query), why, "Ask one after the other, or put the UNION into FROM.")
    if not isinstance(query, exp.Select):
        why = "only SELECT is supported, and nothing is ever written"
        raise UnsupportedQuery(shown(query), why, "Write SELECT key, COUNT(*) FROM table GROUP BY key.")
    window = query.find(exp.Window)
    if window is not None:
        raise refused(window)
    clauses(query, "expressions", "from", "joins", "where", "group", "having", "order", "limit", "offset", "with")
    return query


def _grouped(
    reader: Reader, select: exp.Select, everything_else: bool
) -> tuple[Plan, Grouping, tuple[Aggregate, ...], Post, Rollup | None]:
    """The parts of a query."""
    _refuse_star(select)
    scope = reader.scope(select)
    groups = Groups(scope, select)
    keys = {name: _key(name, key, reader.declared, everything_else) for key, name in groups.keys.items()}
    aggregates = tuple(request.named(name) for request, name in groups.asked.items())
    columns: dict[str, Expression] = {}
    for name, key in keys.items():
        columns[name] = released(name, "text" if key.everything_else else key.expression.kind or "text")
    columns |= {
        aggregate.output: released(aggregate.output, "integer" if aggregate.whole else "number")
        for aggregate in aggregates
    }
    outputs = groups.outputs(columns)
    having, order = part(select, "having"), part(select, "order")
    post = Post(
        outputs=tuple(outputs),
        having=None if having is None else groups.translate(having.this, columns, aliases=True),
        order=() if order is None else _order(order, groups, columns),
        limit=_number(part(select, "limit")),
        offset=_number(part(select, "offset")) or 0,
    )
    if not groups.asked:
        why = "nothing is counted or totalled, and single rows are never shown"
        raise UnsupportedQuery(shown(select), why, "Write SELECT key, COUNT(*) FROM table GROUP BY key.")
    plain = [*keys, *(aggregate.output for aggregate in aggregates)]
    if [(name, getattr(value, "name", None)) for name, value in outputs] == [(name, name) for name in plain]:
        post = replace(post, outputs=None)
    if post.having is not None and post.having.kind not in ("boolean", None):
        why = f"it is of kind {post.having.kind}, not a truth value"
        raise UnsupportedQuery(shown(having), why, "Write a comparison: HAVING COUNT(*) > 50.")
    rollup = None if groups.rolled is None else Rollup(tuple(keys), given=groups.rolled)
    return scope.plan, Grouping(tuple(keys.values())), aggregates, post, rollup


def _refuse_star(select: exp.Select) -> None:
    for item in select.expressions:
        inner = item.this if isinstance(item, exp.Column) else item
        if isinstance(inner, exp.Star):
            why = "single rows are never shown"
            raise UnsupportedQuery(shown(item), why, "Write SELECT key, COUNT(*) FROM table GROUP BY key.")


def _key(name: str, key: Expression, declared: Declarations, everything_else: bool) -> Key:
    values: Sequence[Any] | None = declared.values(name, key.kind)
    if values is None and isinstance(key, Constant):
        values = [key.value]
    group_key = key_for(name, key, values=values)
    return replace(group_key, everything_else=everything_else and group_key.values is not None)


def _order(order: exp.Expr, groups: Groups, columns: Mapping[str, Expression]) -> tuple[tuple[Expression, bool], ...]:
    """What to sort by; NULLs come last unless NULLS FIRST says otherwise."""
    clauses(order, "expressions")
    terms: list[tuple[Expression, bool]] = []
    for term in order.expressions:
        clauses(term, "this", "desc", "nulls_first")
        node = unwrapped(term.this)
        if isinstance(node, exp.Var):
            raise UnsupportedQuery(f"ORDER BY {node.name}", "the column to sort by is not clear", "Name the columns.")
        item = groups.at(node, "ORDER BY")
        value = groups.translate(node if item is None else item.node, columns, aliases=item is None)
        if value.kind is None:
            raise UnsupportedQuery(shown(term), "NULL has no order", "Name a column of the answer.")
        if not (isinstance(value, Column) and value.name in groups.asked.values()):
            terms.append((call("is null", value), bool(term.args.get("nulls_first"))))
        terms.append((value, bool(term.args.get("desc"))))
    return tuple(terms)


def _number(clause: exp.Expr | None) -> int | None:
    """The number of LIMIT or OFFSET."""
    if clause is None:
        return None
    node = None if clause.args.get("limit_options") else clause.args.get("expression")
    text = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    if not isinstance(clause, exp.Limit | exp.Offset) or not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise UnsupportedQuery(shown(clause), "it takes a whole number", "Write LIMIT 10 or OFFSET 10.")
    clauses(clause, "expression")
    return int(text)
