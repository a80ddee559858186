"""A SELECT with groups: everything in its list, in HAVING and in ORDER BY is made of keys and aggregates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from lapwing.curator.aggregates.base import Asked
from lapwing.curator.plan.expressions import Call, Column, Expression
from lapwing.curator.plan.parse import shown, translate
from lapwing.curator.sql.aggregates import asked, has_aggregates
from lapwing.curator.sql.names import Scope, named
from lapwing.curator.sql.syntax import clauses, unique, unwrapped
from lapwing.errors import MissingBounds, UnsupportedQuery


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the list after SELECT."""

    node: exp.Expr
    alias: str | None


def items(query: exp.Expr) -> list[Item]:
    """The list after SELECT."""
    found = []
    for node in query.expressions:
        if isinstance(node, exp.Alias):
            clauses(node, "this", "alias")
            found.append(Item(unwrapped(node.this), node.alias))
        else:
            found.append(Item(unwrapped(node), None))
    if not found:
        raise UnsupportedQuery(shown(query), "nothing is asked", "Write SELECT COUNT(*) FROM …, for example.")
    aliases = [item.alias for item in found if item.alias is not None]
    for alias in aliases:
        if aliases.count(alias) > 1:
            raise UnsupportedQuery(alias, "two columns have this name", f"Write AS other_{alias} for one of them.")
    return found


class Groups:
    """The keys and aggregates of one SELECT, which become columns, and whatever is computed from these."""

    def __init__(self, scope: Scope, query: exp.Expr) -> None:
        self.scope = scope
        self.items = items(query)
        self.aliases = {item.alias: item for item in self.items if item.alias is not None}
        self.keys: dict[Expression, str] = {}
        self.asked: dict[Asked, str] = {}
        self._taken = set(self.aliases)
        group = query.args.get("group")
        if group is not None:
            clauses(group, "expressions")
            for node in group.expressions:
                self._group_by(unwrapped(node))
        for item in self.items:
            found = asked(item.node, scope)
            if found is not None and found not in self.asked:
                self.asked[found] = item.alias or self._fresh(found.label)

    def outputs(self, column: Column_of) -> list[tuple[str, Expression]]:
        """The list after SELECT: names, and what they are made of."""
        made: list[tuple[str, Expression]] = []
        taken = set(self.aliases)
        for item in self.items:
            value = self.translate(item.node, column)
            name = item.alias or unique(self._name(item.node, value), taken)
            taken.add(name)
            made.append((name, value))
        return made

    def translate(self, node: exp.Expr, column: Column_of, *, aliases: bool = False) -> Expression:
        """An expression over keys and aggregates; in HAVING and ORDER BY also over what the list gives names to."""
        found = self._translate(node, column, aliases)
        is_column = isinstance(found, Call) and found.operator == "coalesce" and len(found.arguments) == 1
        return found.arguments[0] if isinstance(found, Call) and is_column else found

    def _translate(self, node: exp.Expr, column: Column_of, aliases: bool) -> Expression:
        def resolve(one: exp.Expr) -> Expression | None:
            if aliases and isinstance(one, exp.Column) and not one.table:
                item = named(one.name, self.aliases)
                if item is not None:
                    return self._translate(item.node, column, False)
            found = asked(one, self.scope)
            if found is not None:
                if found not in self.asked:
                    self.asked[found] = self._fresh(found.label)
                return column(self.asked[found], found)
            key = self._key(one)
            if key is not None:
                return column(self.keys[key], key)
            if isinstance(one, exp.Column):
                self.scope.column(one)
                why = "it is neither a key nor in an aggregate, and single rows are never shown"
                raise UnsupportedQuery(shown(one), why, f"Write AVG({one.name}), or add it to GROUP BY.")
            return None

        return translate(node, resolve)

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
            why = "a group cannot be made by what is computed from it"
            raise UnsupportedQuery(f"GROUP BY {shown(node)}", why, "Group by columns, and write HAVING.")
        if isinstance(node, exp.Cube | exp.Rollup | exp.GroupingSets | exp.Tuple):
            why = "it asks several questions at once"
            raise UnsupportedQuery(shown(node), why, "Ask for the finest groups, and add up the answer.")
        key = self.scope.translate(node)
        if key.kind is None:
            raise UnsupportedQuery("GROUP BY NULL", "NULL has no kind", "Group by a column.")
        if key not in self.keys:
            chosen = next((one.alias for one in self.items if one.alias and self._same(one.node, key)), None)
            plain = self.scope.visible(key) if isinstance(key, Column) else shown(node)
            self.keys[key] = chosen or self._fresh(plain)

    def _same(self, node: exp.Expr, key: Expression) -> bool:
        try:
            return not has_aggregates(node) and self.scope.translate(node) == key
        except (UnsupportedQuery, MissingBounds):
            return False

    def _key(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Column):
            found: Expression | None = self.scope.find(node)
            return found if found in self.keys else None
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


Column_of = Callable[[str, Expression | Asked], Expression]
"""What stands for a key or an aggregate of this name: a column, or COALESCE of nothing but that column."""
