"""JOIN: what ON and USING ask for, and the joins that keep every row with one unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from lapwing.curator.ask.room import check_reads
from lapwing.curator.plan.expressions import Column, Expression, columns_of
from lapwing.curator.plan.language import call
from lapwing.curator.plan.nodes import JoinPublic, JoinUnit, Outer, Plan, Public, Where
from lapwing.curator.plan.parser import shown
from lapwing.curator.sql.names import Scope
from lapwing.curator.sql.syntax import clauses, conjuncts, part, unwrapped
from lapwing.errors import UnsupportedQuery


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a join asks for: pairs that must be equal, left and right, and everything else."""

    text: str
    pairs: Sequence[tuple[Expression, Expression]]
    others: Sequence[Expression]


def how_of(node: exp.Expr) -> Outer:
    """Which rows a join keeps."""
    words = " ".join(str(node.args.get(name) or "").upper() for name in ("side", "kind")).split()
    if words in ([], ["INNER"]) and (part(node, "on") or part(node, "using")):
        return "inner"
    if words in (["LEFT"], ["LEFT", "OUTER"]) and (part(node, "on") or part(node, "using")):
        return "left"
    if words and words[0] in ("RIGHT", "FULL"):
        why, instead = "it would keep rows of the table on its right", "Write LEFT JOIN with the private table first."
    elif words and words[-1] in ("SEMI", "ANTI"):
        word = "NOT EXISTS" if words[-1] == "ANTI" else "EXISTS"
        why, instead = "it is not read", f"Write WHERE {word} (SELECT 1 FROM other WHERE other.unit = this.unit)."
    else:
        why, instead = "a join without a condition pairs rows of different units", "Write JOIN … ON a.unit = b.unit."
    raise UnsupportedQuery(shown(node), why, instead)


def conditions(left: Scope, right: Scope, node: exp.Expr) -> Conditions:
    """What ON or USING asks for."""
    pairs: list[tuple[Expression, Expression]] = []
    others: list[Expression] = []
    for identifier in node.args.get("using") or []:
        name = exp.column(identifier.copy())
        pairs.append((left.column(name), right.column(name)))
    both = Scope(left.plan, (*left.tables, *right.tables))
    for condition in [] if part(node, "on") is None else conjuncts(node.args["on"]):
        if member(condition) is not None:
            raise UnsupportedQuery(shown(condition), "it is not read in ON", "Write it after WHERE.")
        if not isinstance(condition, exp.EQ):
            others.append(both.translate(condition))
            continue
        a, b = both.translate(condition.this), both.translate(condition.expression)
        if _is_about(a, left) and _is_about(b, right):
            pairs.append((a, b))
        elif _is_about(b, left) and _is_about(a, right):
            pairs.append((b, a))
        else:
            others.append(call("=", a, b))
    return Conditions(shown(node), pairs, others)


def _is_about(expression: Expression, scope: Scope) -> bool:
    return columns_of(expression) <= scope.plan.by_name.keys()


def join_public(plan: Plan, public: Public, terms: Conditions, how: Outer) -> Plan:
    """Every private row with the public rows that agree with it."""
    on = [(mine, theirs.name) for mine, theirs in terms.pairs if isinstance(theirs, Column)]
    others = [call("=", *pair) for pair in terms.pairs if not isinstance(pair[1], Column)] + list(terms.others)
    if not on:
        why = "a public table must be joined where one of its columns equals a value of the private row"
        raise UnsupportedQuery(terms.text, why, f"Write ON private.x = {public.table}.x.")
    if others and how == "left":
        why = "an outer join with a public table takes equalities only"
        raise UnsupportedQuery(terms.text, why, "Filter the public table beforehand, or write the condition as CASE.")
    joined = JoinPublic(plan, public, tuple(on), how)
    return Where(joined, all_of(others)) if others else joined


def join_unit(left: Plan, right: Plan, terms: Conditions, how: Outer) -> Plan:
    """Rows of two private tables that belong to the same unit."""
    links = [pair for pair in terms.pairs if all(isinstance(column, Column) and column.unit for column in pair)]
    if not links:
        units = [next((column.name for column in side.columns if column.unit), "") for side in (left, right)]
        why = "private tables can be joined on their units only, so that no row is about two units"
        hint = "Each row is protected by itself here, so no other row belongs to it. Ask without the join."
        if any(units):
            hint = f"Write ON {units[0] or 'unit'} = {units[1] or 'unit'}, and other conditions after AND."
        raise UnsupportedQuery(terms.text, why, hint)
    rest = [call("=", *pair) for pair in terms.pairs if pair not in links] + list(terms.others)
    check_reads(left, right)
    return JoinUnit(left, right, how, all_of(rest) if rest else None)


def all_of(conditions: Sequence[Expression]) -> Expression:
    """All conditions as one."""
    return conditions[0] if len(conditions) == 1 else call("and", *conditions)


def member(node: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """EXISTS or IN over a query, and whether NOT stands before it."""
    negated, node = False, unwrapped(node)
    while isinstance(node, exp.Not):
        negated, node = not negated, unwrapped(node.this)
    is_query = isinstance(node, exp.In) and node.args.get("query") is not None
    if is_query:
        clauses(node, "this", "query")
    return (node, negated) if is_query or isinstance(node, exp.Exists) else None
