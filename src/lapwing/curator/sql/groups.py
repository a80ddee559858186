"""A SELECT with groups: everything in its list, in HAVING and in ORDER BY is made of keys and aggregates.

The class of an aggregate says which nodes of the syntax tree belong to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from lapwing.curator.aggregates import AGGREGATES, PER_UNIT, Aggregate
from lapwing.curator.aggregates.base import SqlAggregate
from lapwing.curator.plan.expressions import NUMERIC, Call, Column, Expression
from lapwing.curator.plan.parser import shown, translate
from lapwing.curator.sql.names import Scope, named
from lapwing.curator.sql.syntax import clauses, part, unique, unwrapped
from lapwing.errors import LapwingError, MissingBounds, UnsupportedQuery

_NODES: dict[str, type[Aggregate]] = {
    node: aggregate for aggregate in (*AGGREGATES, *PER_UNIT) for node in aggregate.nodes
}
_FUNCTIONS: dict[str, type[Aggregate]] = {name: aggregate for aggregate in AGGREGATES for name in aggregate.functions}
_REFUSED = {node: reasons for aggregate in AGGREGATES for node, reasons in aggregate.refused.items()}


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the list after SELECT."""

    node: exp.Expr
    alias: str | None


def items(query: exp.Expr) -> list[Item]:
    """The list after SELECT."""
    entries = []
    for node in query.expressions:
        if isinstance(node, exp.Alias):
            clauses(node, "this", "alias")
            entries.append(Item(unwrapped(node.this), node.alias))
        else:
            entries.append(Item(unwrapped(node), None))
    if not entries:
        raise UnsupportedQuery(shown(query), "nothing is asked", "Write SELECT COUNT(*) FROM …, for example.")
    aliases = [item.alias for item in entries if item.alias is not None]
    for alias in aliases:
        if aliases.count(alias) > 1:
            raise UnsupportedQuery(alias, "two columns have this name", f"Write AS other_{alias} for one of them.")
    return entries


class Groups:
    """The keys and aggregates of one SELECT, which become columns, and whatever is computed from these."""

    def __init__(self, scope: Scope, query: exp.Expr) -> None:
        self.scope = scope
        self.items = items(query)
        self.aliases = {item.alias: item for item in self.items if item.alias is not None}
        self.keys: dict[Expression, str] = {}
        self.asked: dict[SqlAggregate, str] = {}
        self._taken = set(self.aliases)
        self._aggregates: dict[int, SqlAggregate | LapwingError] = {}
        """By the id of its node, each aggregate that is written, or why it cannot be asked."""
        self.rolled: int | None = None
        """How many of the keys come before those that are rolled up; None if none are."""
        group = query.args.get("group")
        if group is not None:
            self._read_group(group)
        for item in self.items:
            request = asked(item.node, scope)
            if request is not None:
                self._aggregates[id(item.node)] = request
                if request not in self.asked:
                    self.asked[request] = item.alias or self._fresh(request.label)
        for clause in (*(item.node for item in self.items), part(query, "having"), part(query, "order")):
            if clause is not None:
                self._find_aggregates(clause)

    def _read_group(self, group: exp.Expr) -> None:
        """GROUP BY a, b; GROUP BY ROLLUP (a, b); GROUP BY a, ROLLUP (b, c); GROUP BY a, b WITH ROLLUP."""
        clauses(group, "expressions", "rollup")
        nodes = [unwrapped(node) for node in group.expressions]
        rollups = [node for node in nodes if isinstance(node, exp.Rollup)]
        if group.args.get("rollup"):
            if rollups or len(group.args["rollup"]) > 1 or group.args["rollup"][0].expressions:
                raise UnsupportedQuery(shown(group), "it rolls up twice", "Write GROUP BY ROLLUP (a, b).")
            nodes, rollups = [], [exp.Rollup(expressions=nodes)]
        if len(rollups) > 1 or (rollups and not rollups[0].expressions):
            raise UnsupportedQuery(shown(group), "one list of keys is rolled up", "Write GROUP BY ROLLUP (a, b).")
        for node in nodes:
            if node not in rollups:
                self._group_by(node)
        for rollup in rollups:
            clauses(rollup, "expressions")
            before = self.rolled = len(self.keys)
            for node in rollup.expressions:
                self._group_by(unwrapped(node))
            if len(self.keys) != before + len(rollup.expressions):
                raise UnsupportedQuery(shown(group), "a key is there twice", "Name each key once.")

    def _find_aggregates(self, clause: exp.Expr) -> None:
        """Name the aggregates in a clause, from left to right."""
        for node in clause.walk(bfs=False, prune=lambda node: id(node) in self._aggregates):
            if id(node) in self._aggregates:
                continue
            try:
                aggregate = asked(node, self.scope)
            except LapwingError as error:
                self._aggregates[id(node)] = error
                continue
            if aggregate is not None:
                self._aggregates[id(node)] = aggregate
                if aggregate not in self.asked:
                    self.asked[aggregate] = self._fresh(aggregate.label)

    def outputs(self, columns: Mapping[str, Expression]) -> list[tuple[str, Expression]]:
        """The list after SELECT: names, and what they are made of, given what stands for each key and aggregate."""
        outputs: list[tuple[str, Expression]] = []
        taken = set(self.aliases)
        for item in self.items:
            value = self.translate(item.node, columns)
            name = item.alias or unique(self._name(item.node, value), taken)
            taken.add(name)
            outputs.append((name, value))
        return outputs

    def translate(self, node: exp.Expr, columns: Mapping[str, Expression], *, aliases: bool = False) -> Expression:
        """An expression over keys and aggregates; in HAVING and ORDER BY also over what the list gives names to."""
        expression = self._translate(node, columns, aliases)
        is_column = (
            isinstance(expression, Call) and expression.operator == "coalesce" and len(expression.arguments) == 1
        )
        return expression.arguments[0] if isinstance(expression, Call) and is_column else expression

    def _translate(self, node: exp.Expr, columns: Mapping[str, Expression], aliases: bool) -> Expression:
        meanings: dict[int, Expression | LapwingError] = {}
        for inner in node.walk(bfs=False, prune=lambda inner: id(inner) in meanings):
            try:
                meaning = self._meaning(inner, columns, aliases)
            except LapwingError as error:
                meanings[id(inner)] = error
            else:
                if meaning is not None:
                    meanings[id(inner)] = meaning
        return translate(node, meanings)

    def _meaning(self, node: exp.Expr, columns: Mapping[str, Expression], aliases: bool) -> Expression | None:
        """What stands for an aggregate, a key, or a name of the list; None for whatever is made of these."""
        if aliases and isinstance(node, exp.Column) and not node.table:
            item = named(node.name, self.aliases)
            if item is not None:
                return self._translate(item.node, columns, False)
        aggregate = self._aggregates.get(id(node))
        if isinstance(aggregate, LapwingError):
            raise aggregate
        if aggregate is not None:
            return columns[self.asked[aggregate]]
        key = self._key(node)
        if key is not None:
            return columns[self.keys[key]]
        if isinstance(node, exp.Column):
            column = self.scope.column(node)
            why = "it is neither in GROUP BY nor in an aggregate, and single rows are never shown"
            hint = "Add it to GROUP BY."
            if column.kind in NUMERIC:
                hint = f"Write AVG({shown(node)}), or add it to GROUP BY."
            elif column.kind == "text" and column.keys is None:
                bounds = f"bounds={{{node.name!r}: (low, high)}}"
                hint += f" If it holds numbers, declare {bounds} when you open the table, and write AVG({shown(node)})."
            raise UnsupportedQuery(shown(node), why, hint)
        return None

    def at(self, node: exp.Expr, clause: str) -> Item | None:
        """The item of the list that a number in GROUP BY or ORDER BY stands for."""
        if not isinstance(node, exp.Literal) or node.is_string:
            return None
        text = node.this
        if text.isascii() and text.isdecimal() and len(text) < 6 and 1 <= int(text) <= len(self.items):
            return self.items[int(text) - 1]
        raise UnsupportedQuery(
            f"{clause} {text}", f"the list after SELECT has {len(self.items)} items", "Write the name instead."
        )

    def _group_by(self, node: exp.Expr) -> None:
        item = self.at(node, "GROUP BY")
        if item is None and isinstance(node, exp.Column) and not node.table and self.scope.find(node) is None:
            item = named(node.name, self.aliases)
        node = node if item is None else item.node
        if has_aggregates(node):
            why = "a group cannot depend on an aggregate of that group"
            raise UnsupportedQuery(f"GROUP BY {shown(node)}", why, "Group by columns, and write HAVING.")
        if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets | exp.Tuple):
            why = "it asks several questions at once"
            hint = "Write GROUP BY ROLLUP (a, b), whose levels add up, or table.marginals([['a'], ['b']]) in Python."
            raise UnsupportedQuery(shown(node), why, hint)
        key = self.scope.translate(node)
        if key.kind is None:
            raise UnsupportedQuery("GROUP BY NULL", "NULL has no kind", "Group by a column.")
        if key not in self.keys:
            chosen = next((other.alias for other in self.items if other.alias and self._same(other.node, key)), None)
            plain = self.scope.visible(key) if isinstance(key, Column) else shown(node)
            self.keys[key] = chosen or self._fresh(plain)

    def _same(self, node: exp.Expr, key: Expression) -> bool:
        try:
            return not has_aggregates(node) and self.scope.translate(node) == key
        except (UnsupportedQuery, MissingBounds):
            return False

    def _key(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Column):
            column: Expression | None = self.scope.find(node)
            return column if column in self.keys else None
        if all(isinstance(key, Column) for key in self.keys):
            return None
        return next((key for key in self.keys if self._same(node, key)), None)

    def _name(self, node: exp.Expr, value: Expression) -> str:
        if isinstance(value, Column) and value.name in {*self.keys.values(), *self.asked.values()}:
            return value.name
        return shown(node)

    def _fresh(self, name: str) -> str:
        fresh = unique(name, self._taken)
        self._taken.add(fresh)
        return fresh


def has_aggregates(node: exp.Expr) -> bool:
    """Whether an expression is about a group and not about one row."""
    return any(isinstance(inner, exp.AggFunc) or _name(inner) in _FUNCTIONS for inner in node.walk())


def asked(node: exp.Expr, scope: Scope) -> SqlAggregate | None:
    """The aggregate that a node stands for, or None if it is none."""
    if isinstance(node, exp.Filter):
        inner = asked(unwrapped(node.this), scope)
        if inner is None or not isinstance(node.expression, exp.Where):
            return None
        return inner.where(scope.translate(node.expression.this))
    aggregate = _NODES.get(type(node).__name__) or _FUNCTIONS.get(_name(node))
    written = None if aggregate is None else aggregate.arguments(node)
    if aggregate is not None and written is not None:
        others = [scope.translate(other) for other in written.others]
        request = aggregate.read(node, tuple(_argument(node, value, scope) for value in written.of), others)
        return replace(request, label=request.as_shown(tuple(scope.visible(expression) for expression in request.of)))
    if aggregate is not None or isinstance(node, exp.AggFunc | exp.IgnoreNulls | exp.RespectNulls):
        raise _unknown(node)
    return None


def _name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def _argument(node: exp.Expr, value: Any, scope: Scope) -> Expression:
    """An argument of an aggregate, which is about one row."""
    if isinstance(value, exp.Expr) and has_aggregates(value):
        why = "an aggregate of aggregates must group by the unit first"
        instead = "Group by the unit in a sub-query, and write the outer aggregate around it."
        raise UnsupportedQuery(shown(node), why, instead)
    if isinstance(value, exp.Distinct | exp.Order) or not isinstance(value, exp.Expr):
        why = "an aggregate takes one value per row"
        raise UnsupportedQuery(shown(node), why, "Write SUM(x), or COUNT(x).")
    expression = scope.translate(value)
    if expression.kind is None:
        raise UnsupportedQuery(shown(node), "NULL has no kind", "Name a column.")
    return expression


def _unknown(node: exp.Expr) -> UnsupportedQuery:
    """An aggregate that is not ours."""
    kind = type(node).__name__
    if kind in _REFUSED:
        return UnsupportedQuery(shown(node), *_REFUSED[kind])
    why = "it shows values of single rows, or depends on their order"
    known = ", ".join(aggregate.spelled for aggregate in AGGREGATES if aggregate.spelled)
    return UnsupportedQuery(shown(node), why, f"Use {known}.")
