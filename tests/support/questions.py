"""Questions about tables full of difficult values: whole plans over the whole language, drawn by whatever chooses."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from oracle import Row
from phrases import Choose, Speaker, literal, quoted
from worlds import (
    AMOUNTS,
    COSTS,
    DECLARED,
    DRUGS,
    EDGES,
    KEYS,
    PLACES,
    REGIONS,
    TEXT_UNITS,
    VISITS,
    World,
    draw_rows,
    draw_world,
)

import lapwing as lw
from lapwing.curator.aggregates import Aggregate
from lapwing.curator.ask.columns import statement_of
from lapwing.curator.ask.query import Query
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan.expressions import KINDS, Column, Expression
from lapwing.curator.plan.groups import Grouping, key_for
from lapwing.curator.plan.nodes import Combine, JoinUnit, PerUnit, Plan, Select, Where
from lapwing.curator.plan.parser import expression
from lapwing.curator.plan.rollups import Rollup
from lapwing.curator.plan.statistics import Bounding
from lapwing.curator.tables.table import Grouped, PrivateTable
from lapwing.errors import LapwingError

MANY = (1, 1, 1, 2, 2, 2, 3, 3, 5, 7, 100, 2**30, 2**31 - 1)
"""Bounds on one unit: small ones, and those that narrow whole numbers do not hold."""


@dataclass
class Author:
    """Writes questions about a world. With `slips` some of them have a mistake that must be refused."""

    choose: Choose[Any]
    world: World
    slips: int = 0
    refusals: int = 0
    """How much was refused so far."""
    places: Any = field(default_factory=lambda: lw.public(PLACES, name="places"))

    def speaker(self, columns: Sequence[Column]) -> Speaker:
        return Speaker(self.choose, columns, self.slips)

    def says(self, plan: Plan, kind: str, depth: int = 2) -> Expression:
        """An expression over the rows of a plan."""
        if self.slips and self.choose(range(4)) == 0:  # what a node itself asks for is most worth a mistake
            kind = self.choose(KINDS)
        return expression(self.speaker(plan.columns).say(kind, depth), plan.by_name)

    def attempt(self, table: PrivateTable, step: Callable[[], PrivateTable]) -> PrivateTable:
        """The table after a step, said in other words where it is refused, or as it is if all of them are."""
        for _ in range(WORDINGS):
            try:
                return step()
            except LapwingError:
                self.refusals += 1
        return table

    # ------------------------------------------------------------------------------------------------- plans

    def plan(self, steps: Sequence[int] = (0, 1, 2, 3)) -> PrivateTable:
        """A private table after some random steps; those that are refused are left out."""
        table = self.world.visits
        for _ in range(self.choose(steps)):
            step = self.choose(STEPS)
            table = self.attempt(table, lambda table=table, step=step: step(self, table))
        return table

    def filtered(self, table: PrivateTable) -> PrivateTable:
        return replace(table, plan=Where(table.plan, self.says(table.plan, "boolean")))

    def computed(self, table: PrivateTable) -> PrivateTable:
        """Some columns, renamed or with narrower bounds, and new ones of any kind."""
        outputs: list[tuple[str, Expression]] = []
        for column in table.plan.columns:
            if column.unit or self.choose((True, True, False)):
                new = self.choose((column, column, column, replace(column, bounds=(Fraction(-3), Fraction(5)))))
                outputs.append((column.name, new if column.kind in ("integer", "number") else column))
        for i in range(self.choose((1, 2))):
            kind = self.choose(("number", "number", *KINDS))
            try:
                outputs.append((f"x{len(table.plan.columns)}_{i}", self.says(table.plan, kind)))
            except LapwingError:
                self.refusals += 1
        return replace(table, plan=Select(table.plan, tuple(outputs)))

    def with_public(self, table: PrivateTable) -> PrivateTable:
        choose, number = self.choose, len(table.plan.columns)
        keys = {"region": "text", "code": "integer", "weight": "number", "rich": "boolean", "since": "date"}
        wanted = choose(tuple(keys))
        mine = self.speaker(table.plan.columns).say(choose((keys[wanted], "integer")), choose((0, 1)))
        public = lw.public(PLACES, name=f"p{number}")
        on = {mine: wanted} if choose((True, True, False)) else {mine: wanted, "smoker": "rich"}
        return table.join(public, on=on, how=choose(("inner", "left")))

    def other(self, table: PrivateTable) -> PrivateTable:
        """Another table about the same units, or the same."""
        other = self.choose((self.world.drugs, table, self.world.visits))
        return self.attempt(other, lambda: self.filtered(other)) if self.choose((True, False)) else other

    def with_private(self, table: PrivateTable) -> PrivateTable:
        other, prefix = self.other(table), f"o{len(table.plan.columns)}_"
        renamed = Select(other.plan, tuple((prefix + c.name, c) for c in other.plan.columns))
        joined = table.join(replace(other, plan=renamed), how=self.choose(("inner", "left")))
        if self.choose((True, False)):
            condition = self.says(joined.plan, "boolean")
            assert isinstance(joined.plan, JoinUnit)
            joined = replace(joined, plan=replace(joined.plan, condition=condition))
        return joined

    def existing(self, table: PrivateTable) -> PrivateTable:
        return table.having_rows_in(self.other(table), negated=self.choose((True, False)))

    def set_of(self, table: PrivateTable) -> PrivateTable:
        choose = self.choose
        setting, narrow = choose(("union", "union all", "intersect", "except")), choose((True, False))
        columns = [c for c in table.plan.columns if c.unit or not narrow or choose((True, False))]
        first = replace(table, plan=Select(table.plan, tuple((c.name, c) for c in columns)))
        count = choose((0, 1, 1, 2))
        sides = [first, *(self.attempt(first, lambda: self.filtered(first)) for _ in range(count))]
        sides = sides if choose((True, False)) else sides[::-1]
        setting = setting if count else "union"
        return replace(table, plan=Combine(setting, tuple(side.plan for side in sides)))

    def per_unit(self, table: PrivateTable) -> PrivateTable:
        choose, columns, number = self.choose, table.plan.columns, len(table.plan.columns)
        own = [c for c in columns if not c.unit]
        keys: dict[str, Expression] = {}
        for i in range(choose((0, 1, 2))):
            if own and choose((True, True, False)):
                column = choose(own)
                keys[column.name] = column
            else:
                keys[f"k{number}_{i}"] = self.says(table.plan, choose(KINDS), 1)
        totals: list[Any] = []
        for i in range(choose((1, 1, 2, 3))):
            kind = choose(("count", "count distinct", "sum", "avg", "min", "max"))
            name = f"t{number}_{i}"
            if kind == "count" and choose((True, False)):
                totals.append((name, kind, None))
            elif choose((True, False)):
                wanted = (
                    choose(KINDS) if kind.startswith("count") else choose(("number", "integer", "date", "timestamp"))
                )
                totals.append((name, kind, self.says(table.plan, wanted)))
            else:
                totals.append((name, kind, choose(columns)))
        return replace(table, plan=PerUnit(table.plan, f"unit{number}", tuple(keys.items()), tuple(totals)))

    # --------------------------------------------------------------------------------------------- questions

    def aggregates(self, table: PrivateTable) -> list[Aggregate]:
        choose, columns = self.choose, table.plan.columns
        numbers = [c for c in columns if c.kind in ("integer", "number")]
        speaker, tables = self.speaker(columns), (self.world.visits, self.world.drugs)
        stored = {name for known in tables for name in known.plan.by_name}

        def one_of(some: Sequence[Column]) -> str:
            """A column, of those that a step has made more often than of those that were there."""
            made = [column for column in some if column.name not in stored and not column.unit]
            return quoted(choose(made if made and choose((True, False)) else some))

        def number() -> str:
            return one_of(numbers) if numbers and choose((True, True, False)) else speaker.say("number")

        def anything() -> str:
            return one_of(columns) if choose((True, True, False)) else speaker.say(choose(KINDS))

        kinds = ("count", "count of", "units", "distinct", "sum", "mean", "variance", "std", "cov", "corr", "quantile")
        asked = []
        for i in range(choose((1, 2, 3))):
            kind, name = choose(kinds), f"a{i}"
            bounds = choose((None, None, (0, 10), (-0.1, 0.3), (-(10**12), 10**15), (3, 4), (-7, -2), (0, 2**62)))
            if kind == "count":
                asked.append(lw.count(name=name))
            elif kind == "count of":
                asked.append(lw.count(anything(), name=name))
            elif kind == "units":
                asked.append(lw.units(name=name))
            elif kind == "distinct":
                asked.append(lw.count_distinct(anything(), name=name))
            elif kind == "quantile":
                asked.append(lw.quantile(number(), choose((0.5, 0.9)), bounds=bounds, name=name))
            elif kind in ("cov", "corr"):
                asked.append((lw.covariance if kind == "cov" else lw.correlation)(number(), number(), name=name))
            else:
                one = {"sum": lw.sum, "mean": lw.mean, "variance": lw.variance, "std": lw.std}[kind]
                asked.append(one(number(), bounds=bounds, name=name))
        return asked

    def grouping(self, table: PrivateTable) -> Grouping:
        choose, keys = self.choose, []
        for i in range(choose((0, 1, 1, 2))):
            column = choose(table.plan.columns)
            try:
                by: Expression = column if choose((True, True, False)) else self.says(table.plan, choose(KINDS), 1)
                values = choose((None, *VALUES.get(by.kind or "text", (None,))))
                if by.kind in ("number", "timestamp"):
                    values = choose(VALUES[by.kind])
                keys.append(key_for(f"k{i}", by, values=values))
            except LapwingError:
                self.refusals += 1
        if keys and all(key.values is not None for key in keys) and choose((True, True, False)):  # most rows count
            keys = [replace(key, everything_else=True) for key in keys]
        return Grouping(tuple(keys))

    def bounding(self) -> Bounding:
        if self.choose((True, False, False)):
            return Bounding(max_rows_per_unit=self.choose(MANY))
        return Bounding(self.choose(MANY), self.choose(MANY))

    def query(self, steps: Sequence[int] = (0, 1, 2, 3)) -> Query:
        """A random question."""
        table = self.plan(steps)
        grouping, bounding = self.grouping(table), self.bounding()
        alone = self.choose((*("",) * 18, "histogram", "top"))
        if alone:
            try:
                speaker, bounded = self.speaker(table.plan.columns), replace(table, bounding=bounding)
                if alone == "top":
                    return bounded.agg(lw.top_k(speaker.say(self.choose(("text", "boolean")), 1), 2, name="n"))
                counted = lw.histogram(speaker.say("number"), edges=self.choose(EDGES), name="n")
                return Grouped(bounded, grouping).agg(counted)
            except LapwingError:
                self.refusals += 1
        for _ in range(MOST_REFUSALS):
            try:
                return rolled_up(Query(table.context, table.plan, grouping, tuple(self.aggregates(table)), bounding))
            except LapwingError:
                self.refusals += 1
        return self.query(steps)  # no question can be asked of such rows, of too many joins for example


def rolled_up(query: Query) -> Query:
    """Some questions with their groups rolled up: which ones is up to them, so that no draw is needed."""
    number, keys = int(query.digest()[:4], 16), query.grouping.keys
    if not keys or number % 3:
        return query
    rollup = Rollup(tuple(key.name for key in keys), given=number // 3 % 2 * (len(keys) - 1))
    for limits in (query.bounding, Bounding()):  # secret keys and units add up if a unit is in one group
        for levels in (rollup, replace(rollup, given=0)):
            try:
                return replace(query, rollup=levels, bounding=limits)
            except LapwingError:  # medians and keys that may be NULL do not add up
                continue
    return query


WORDINGS = 4
"""How often a step is said in other words."""
MOST_REFUSALS = 40
"""After so many, another table is drawn."""
STEPS: tuple[Callable[[Author, PrivateTable], PrivateTable], ...] = (
    Author.filtered,
    Author.computed,
    Author.with_public,
    Author.with_private,
    Author.existing,
    Author.set_of,
    Author.per_unit,
)
VALUES: dict[str, tuple[Any, ...]] = {
    "number": ((0.0, 0.5, -2.5, 100.0), (0.1, 1e308)),
    "timestamp": ((dt.datetime(2026, 3, 8, 2, 30), None), (dt.datetime(1, 1, 1), dt.datetime(1970, 1, 1))),
    "integer": (
        tuple(range(16, 20)),
        tuple(range(5)),
        (2**53, 2**53 + 1, 0),
        tuple(range(-20, 0, 1)),
        (5, *range(40, 0, -2)),
        (1, 0, 64),
    ),
    "text": (("north", "", None), ("12", "x", "日本", "\\"), REGIONS),
    "date": ((dt.date(1970, 1, 1), dt.date.max), (None, dt.date(2024, 2, 29))),
    "boolean": ((True,), (None, False, True)),
}
"""Public values that a question may name for a key."""


def draw_query(choose: Choose[Any], world: World, steps: Sequence[int] = (0, 1, 2, 3)) -> Query:
    """A random question about a world."""
    return Author(choose, world).query(steps)


def salted(seed: int) -> Salt:
    return Salt(b"%032d" % seed)


# ------------------------------------------------------------------------------------------------------ engines


def fetch(query: Query, salt: Salt) -> dict[Any, tuple[int, ...]]:
    """The integers of each group, from the engine."""
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, salt)
    with query.context.engine.session(query.context.relations.values()) as session:
        fetched = session.fetch(statement.totals(statement.rows().subquery("b", copy=False), query.statistics))
    return by_group(query, fetched)


def fetch_rows(query: Query, salt: Salt) -> Counter[tuple[Any, ...]]:
    """The rows that count, from the engine."""
    from sqlglot import exp

    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    statement = statement_of(query, compiler, salt)
    rows = statement.rows()
    listed = [name for name in rows.named_selects if name not in ("first", "one")]
    asked = exp.select(*(listed or ["1"])).from_(rows.subquery("b", copy=False), copy=False)
    with query.context.engine.session(query.context.relations.values()) as session:
        fetched = session.fetch(asked)
    if "g" in listed:  # rows of none of the public groups
        fetched = [row for row in fetched if row[listed.index("g")] is not None]
    return Counter(tuple(row) if listed else () for row in fetched)


def by_group(query: Query, fetched: Sequence[tuple[Any, ...]]) -> dict[Any, tuple[int, ...]]:
    """What an engine returned, by group; every group once."""
    width = len(query.grouping.keys) if query.grouping.secret else 1 if query.grouping.keys else 0
    found: dict[Any, tuple[int, ...]] = {}
    for row in fetched:
        group = row[:width] if query.grouping.secret else row[0] if width else 0
        assert group not in found
        if group is not None:  # rows of none of the public groups
            found[group] = tuple(int(number) for number in row[width:])
    return found


__all__ = [
    "AMOUNTS", "COSTS", "DECLARED", "DRUGS", "EDGES", "KEYS", "PLACES", "REGIONS", "TEXT_UNITS", "VISITS",
    "Author", "Row", "World", "by_group", "draw_query", "draw_rows", "draw_world", "fetch", "fetch_rows", "literal",
    "salted",
]  # fmt: skip
