"""FROM, JOIN, WHERE and sub-queries of a SELECT, as a plan whose rows belong to units.

Nothing here decides whether a plan is sound: the nodes of `plan` do. A unit is recognised by where its column comes
from. Names of columns are only for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from sqlglot import exp

from lapwing.calls import closest
from lapwing.curator.aggregates.base import SqlAggregate
from lapwing.curator.ask.room import check_reads
from lapwing.curator.plan.expressions import Column, Constant, Expression
from lapwing.curator.plan.nodes import (
    Combine,
    Exists,
    PerUnit,
    Plan,
    Public,
    Select,
    Setting,
    Total,
    Where,
)
from lapwing.curator.plan.parser import refused, shown
from lapwing.curator.sql.groups import Groups, Item, has_aggregates, items
from lapwing.curator.sql.joins import all_of, conditions, how_of, join_public, join_unit, member
from lapwing.curator.sql.names import Declarations, NamedTable, Scope, named
from lapwing.curator.sql.syntax import clauses, conjuncts, inner_query, part, unique, unwrapped
from lapwing.errors import UnsupportedQuery

_INNER = ("expressions", "from", "joins", "where", "with")


@dataclass(frozen=True)
class Reader:
    """Reads queries about rows, given the tables that may be named."""

    tables: Mapping[str, Plan]
    declared: Declarations
    common: Mapping[str, Plan] = field(default_factory=dict)
    """What WITH gave names to."""

    def within(self, query: exp.Expr) -> Reader:
        """The same with the names that the query's WITH gives."""
        clause, reader = part(query, "with"), self
        if clause is None:
            return self
        clauses(clause, "expressions")
        for cte in clause.expressions:
            clauses(cte, "this", "alias", "materialized")
            clauses(cte.args["alias"], "this")
            reader = replace(reader, common={**reader.common, cte.alias: reader.rows(cte.this)})
        return reader

    def rows(self, query: exp.Expr) -> Plan:
        """A sub-query: its columns are called as it says."""
        query = inner_query(query)
        reader = self.within(query)
        if isinstance(query, exp.SetOperation):
            return self.declared.over(reader._combined(query))
        if not isinstance(query, exp.Select):
            raise UnsupportedQuery(shown(query), "it is not a SELECT about a table", "Write (SELECT … FROM table).")
        clauses(query, *_INNER, "group", "having", "distinct")
        scope = reader.scope(query)
        if part(query, "group") or part(query, "having") or any(map(has_aggregates, query.expressions)):
            plan = reader._per_unit(scope, query)
        else:
            plan = _selected(scope, query)
        if part(query, "distinct") is not None:
            clauses(query.args["distinct"])
            plan = Combine("union", (plan,))
        return self.declared.over(plan)

    def scope(self, query: exp.Expr) -> Scope:
        """FROM, the joins and WHERE."""
        source = part(query, "from")
        if source is None:
            raise UnsupportedQuery(shown(query), "no table is named", "Write SELECT … FROM table.")
        clauses(source, "this")
        scope, joins = self._table(source.this), part(query, "joins") or []
        if joins:
            scope = self._qualified(scope)
        for join in joins:
            scope = self._join(scope, join)
        if isinstance(scope.plan, Public):
            why = "all of it is public"
            raise UnsupportedQuery(shown(source), why, "Read it directly, or join it with a private table.")
        where = part(query, "where")
        return scope if where is None else self._where(scope, conjuncts(where.this))

    def _table(self, node: exp.Expr) -> Scope:
        """One table of FROM: a table, what WITH gave a name to, or a sub-query."""
        if isinstance(node, exp.Subquery):
            clauses(node, "this", "alias")
            if isinstance(node.this, exp.Table):
                scope = self._table(node.this)
                return _named(scope.plan, _alias(node) or scope.tables[0].alias)
            return _named(self.rows(node.this), _alias(node) or "sub-query")
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            known = ", ".join(self.tables)
            raise UnsupportedQuery(shown(node), "only tables that were opened can be read", f"There are: {known}.")
        clauses(node, "this", "alias", "db", "catalog")
        name = ".".join(piece.name for piece in node.parts)
        plan = named(name, self.common) or named(name, self.tables)
        if plan is None:
            meant = closest(name, [*self.common, *self.tables])
            hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join([*self.common, *self.tables])}."
            if node.name.isidentifier():
                elsewhere = (
                    f"on the command line: --public {node.name}.csv, or --with {node.name}.yaml if it is private"
                )
                hint += f" Open another table first and pass it: sql(…, tables=[{node.name}]); {elsewhere}."
            raise UnsupportedQuery(shown(node), "no table of that name was opened for this query", hint)
        return _named(self.declared.over(plan), _alias(node) or node.name)

    def _qualified(self, scope: Scope) -> Scope:
        """A table whose columns bear its name, to stand beside others."""
        [table] = scope.tables
        plan, names = scope.plan, {column.name: f"{table.alias}.{name}" for name, column in table.columns.items()}
        if isinstance(plan, Public):
            plan = replace(plan, fields=tuple(replace(field, name=names[field.name]) for field in plan.fields))
        else:
            plan = Select(plan, tuple((names[column.name], column) for column in plan.columns))
        plan = self.declared.over(plan)
        columns = {name: plan.by_name[names[column.name]] for name, column in table.columns.items()}
        return Scope(plan, (replace(table, columns=columns),))

    def _join(self, left: Scope, node: exp.Expr) -> Scope:
        clauses(node, "this", "side", "kind", "on", "using")
        how, right = how_of(node), self._qualified(self._table(node.this))
        [new] = right.tables
        if new.alias.lower() in {table.alias.lower() for table in left.tables}:
            raise UnsupportedQuery(shown(node), f"two tables are called {new.alias}", f"Write {new.alias} AS other.")
        terms = conditions(left, right, node)
        using = frozenset(identifier.name.lower() for identifier in node.args.get("using") or [])
        tables = (*left.tables, replace(new, repeated=using))
        publics = [isinstance(side.plan, Public) for side in (left, right)]
        if all(publics):
            why = "both tables are public"
            raise UnsupportedQuery(shown(node), why, "Join them beforehand, or name the private table first.")
        if publics[0] and how == "left":
            why = "it keeps public rows without a match, which would reveal who is missing"
            raise UnsupportedQuery(shown(node), why, "Name the private table first: FROM private LEFT JOIN public.")
        if publics[0]:
            swapped = replace(terms, pairs=[(theirs, mine) for mine, theirs in terms.pairs])
            plan = join_public(right.plan, cast(Public, left.plan), swapped, how)
        elif publics[1]:
            plan = join_public(left.plan, cast(Public, right.plan), terms, how)
        else:
            plan = join_unit(left.plan, right.plan, terms, how)
        return left.over(plan, tables)

    def _where(self, scope: Scope, conditions: Sequence[exp.Expr]) -> Scope:
        """Conditions about single rows, and about whether the unit has rows elsewhere."""
        plain: list[Expression] = []
        members: list[tuple[exp.Expr, bool]] = []
        for condition in conditions:
            membership = member(condition)
            if membership is None:
                plain.append(scope.translate(condition))
            else:
                members.append(membership)
        plan = Where(scope.plan, all_of(plain)) if plain else scope.plan
        for node, negated in members:
            other = self._existing(node, scope) if isinstance(node, exp.Exists) else self._listed(node, scope)
            check_reads(plan, other)
            plan = Exists(plan, other, negated)
        return scope.over(plan)

    def _existing(self, node: exp.Expr, outer: Scope) -> Plan:
        """EXISTS (SELECT … FROM other WHERE other.unit = this.unit AND …): the rows of `other`."""
        query = inner_query(node.this)
        if not isinstance(query, exp.Select):
            raise refused(node)
        clauses(query, *_INNER)
        where, links, own = part(query, "where"), 0, []
        reader = self.within(query)
        bare = query.copy()
        bare.set("where", None)
        inner = reader.scope(bare)
        for condition in [] if where is None else conjuncts(where.this):
            if _is_link(condition, inner, outer):
                links += 1
                continue
            foreign = [column for column in condition.find_all(exp.Column) if _is_foreign(column, inner, outer)]
            if foreign and member(condition) is None:
                why = "only the unit may link it to the outer query"
                instead = "Write conditions about one table only, or join the two on the unit."
                raise UnsupportedQuery(shown(condition), why, instead)
            own.append(condition)
        if not links:
            unit = next(
                (name for table in outer.tables for name, column in table.columns.items() if column.unit), "unit"
            )
            why = "it must say whose rows it is about"
            raise UnsupportedQuery(shown(node), why, f"Add WHERE other.{unit} = {outer.tables[0].alias}.{unit}.")
        if any(map(has_aggregates, query.expressions)):
            raise UnsupportedQuery(shown(node), "an aggregate always exists", "Write EXISTS (SELECT 1 FROM …).")
        if not any(isinstance(item, exp.Star) for item in query.expressions):
            _selected(inner, query)
        return reader._where(inner, own).plan

    def _listed(self, node: exp.Expr, outer: Scope) -> Plan:
        """unit IN (SELECT unit FROM other): the rows of the sub-query."""
        plan = self.rows(node.args["query"])
        value = unwrapped(node.this)
        mine = outer.find(value)
        if mine is None or not mine.unit or len(plan.columns) != 1 or not plan.columns[0].unit:
            why = "IN over a query is about the unit of both"
            instead = "Write unit IN (SELECT unit FROM other), a list of values, or a join with a public table."
            raise UnsupportedQuery(shown(node), why, instead)
        return plan

    def _combined(self, query: exp.Expr) -> Plan:
        """UNION, INTERSECT, EXCEPT."""
        clauses(query, "this", "expression", "distinct", "with")
        word = {"Union": "union", "Intersect": "intersect", "Except": "except"}[type(query).__name__]
        if query.args.get("distinct") is False:
            if word != "union":
                why = "engines disagree on how often a row is removed"
                raise UnsupportedQuery(f"{word.upper()} ALL", why, f"Write {word.upper()}.")
            word = "union all"
        if isinstance(query, exp.Intersect) and type(query.this) in (exp.Union, exp.Except):
            why = "engines disagree on which of them comes first"
            raise UnsupportedQuery(shown(query), why, "Put one of them into parentheses.")
        left, right = self.rows(query.this), self.rows(query.expression)
        check_reads(left, right)
        return Combine(cast(Setting, word), (left, right))

    def _per_unit(self, scope: Scope, query: exp.Expr) -> Plan:
        """A sub-query grouped by the unit."""
        groups = Groups(scope, query)
        units = [(key, name) for key, name in groups.keys.items() if isinstance(key, Column) and key.unit]
        if not units:
            why = "it would mix rows of different units before contributions are bounded"
            raise UnsupportedQuery(shown(query), why, "Add the unit to its GROUP BY, or aggregate at the top only.")
        unit_name = units[0][1]
        others = {key: name for key, name in groups.keys.items() if key not in dict(units)}
        keys = tuple((name, key) for key, name in others.items() if not isinstance(key, Constant))
        known = self.declared.over(PerUnit(scope.plan, unit_name, keys, ())).by_name
        columns: dict[str, Expression] = {}
        for key, name in groups.keys.items():
            columns[name] = key if isinstance(key, Constant) else known[name if key in others else unit_name]
        totals = tuple(_total(name, request) for request, name in groups.asked.items())
        for total in totals:
            column = PerUnit(scope.plan, unit_name, (), (total,)).by_name[total[0]]
            columns[total[0]] = self.declared.about(column)
        outputs = groups.outputs(columns)
        having = part(query, "having")
        condition = None if having is None else groups.translate(having.this, columns, aliases=True)
        plan = self.declared.over(PerUnit(scope.plan, unit_name, keys, totals))
        if condition is not None:
            plan = Where(plan, condition)
        return Select(plan, tuple(outputs))


def _named(plan: Plan, alias: str) -> Scope:
    return Scope(plan, (NamedTable(alias, {column.name: column for column in plan.columns}),))


def _alias(node: exp.Expr) -> str | None:
    alias = node.args.get("alias")
    if alias is None:
        return None
    clauses(alias, "this")
    return str(node.alias)


def _is_foreign(node: exp.Expr, inner: Scope, outer: Scope) -> bool:
    return inner.find(node) is None and outer.find(node) is not None


def _is_link(condition: exp.Expr, inner: Scope, outer: Scope) -> bool:
    """Whether a condition says that the unit of the inner rows is the unit of the outer row."""
    if not isinstance(condition, exp.EQ):
        return False
    a, b = unwrapped(condition.this), unwrapped(condition.expression)
    for mine, theirs in ((a, b), (b, a)):
        own = inner.find(mine)
        if own is not None and own.unit and _is_foreign(theirs, inner, outer):
            other = outer.find(theirs)
            return other is not None and other.unit
    return False


def _selected(scope: Scope, query: exp.Expr) -> Plan:
    """The list after SELECT of a sub-query without groups."""
    outputs: list[tuple[str, Expression]] = []
    for item in items(query):
        star = _starred(item, scope)
        if star is None:
            value = scope.translate(item.node)
            name = scope.visible(value) if isinstance(value, Column) else shown(item.node)
            outputs.append((item.alias or unique(name, [name for name, _ in outputs]), value))
        else:
            outputs += star
    return Select(scope.plan, tuple(outputs))


def _starred(item: Item, scope: Scope) -> list[tuple[str, Expression]] | None:
    """The columns that * or table.* stands for."""
    node = item.node
    star = node.this if isinstance(node, exp.Column) else node
    if not isinstance(star, exp.Star):
        return None
    if any(star.args.values()):
        raise UnsupportedQuery(shown(node), "* cannot have exceptions", "Name the columns.")
    whose = node.table if isinstance(node, exp.Column) else ""
    tables = scope.tables
    if whose:
        table = named(whose, {table.alias: table for table in tables})
        if table is None:
            raise UnsupportedQuery(shown(node), "there is no such table", "Name the columns.")
        tables = (table,)
    return [
        (name, column)
        for table in tables
        for name, column in table.columns.items()
        if whose or name.lower() not in table.repeated
    ]


def _total(name: str, request: SqlAggregate) -> tuple[str, Total, Expression | None]:
    """A total per unit."""
    total = request.aggregate.total
    if total is None:
        why = "totals per unit must not depend on order or rounding"
        hint = "Use COUNT, SUM, AVG, MIN or MAX in the sub-query."
        raise UnsupportedQuery(f"{request.aggregate.kind} per unit", why, hint)
    return name, total, request.of[0] if request.of else None
