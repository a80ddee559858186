"""What must hold for every question about every table, on every engine; a law that is broken raises `Broken`.

answered     no engine fails, and the integers and the rows that count are those of the oracle
neighbours   without one unit, no integer moves further than its sensitivity, and nobody else's rows change
kept         a question that was saved and read back is the same question
spoken       the same question in SQL has the same integers
refused      a question with a mistake is refused, or all of the above holds for it
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from oracle import integers, survivors
from places import Place
from questions import by_group
from unparse import Unwritten, written
from worlds import Rows, World

import lapwing as lw
from lapwing.curator.ask.columns import statement_of
from lapwing.curator.ask.query import Query
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan.nodes import JoinPublic, Plan, is_each_row
from lapwing.curator.show.trees import Node, roots_of
from lapwing.curator.tables.table import PublicTable
from lapwing.errors import EngineFailed, LapwingError
from lapwing.noise import Reproducible

Integers = Mapping[Any, tuple[int, ...]]


class Broken(AssertionError):
    """A law that does not hold: which, and how that shows."""

    def __init__(self, law: str, shown: str = "") -> None:
        super().__init__(f"{law}: {shown}" if shown else law)
        self.law = law


@dataclass(frozen=True)
class Found:
    """What an engine returned: the integers of each group (if any are asked for), and the rows that count."""

    integers: Integers
    rows: Counter[tuple[Any, ...]]
    names: tuple[str, ...]
    """What the rows consist of."""
    asker: Any = None


@dataclass(frozen=True)
class Said:
    """A statement that is text already; it stands where engines expect a tree."""

    text: str

    def sql(self, dialect: str) -> str:
        return self.text


class Asker:
    """The statements of one question, written once and asked as often as one likes."""

    def __init__(self, query: Query, salt: Salt) -> None:
        from sqlglot import exp

        context = query.context
        dialect = context.engine.dialect
        statement = statement_of(query, Compiler(dialect, context.relations), salt)
        rows, here = statement.rows(), exp.to_table("rows_here", alias="b")
        self.names = [name for name in rows.named_selects if name not in ("first", "one")]
        listed = exp.select(*(self.names or ["1"])).from_(here.copy())
        wanted = [listed, *([statement.totals(here, query.statistics)] if query.statistics else [])]
        if dialect.name == "spark":  # it gives the tables names of its own in every session
            below = rows.subquery("b")
            self.statements: list[Any] = [
                one.transform(lambda node: below if node.name == "rows_here" and isinstance(node, exp.Table) else node)
                for one in wanted
            ]
            return
        text = dialect.sql(rows)
        self.statements = [Said(dialect.sql(one).replace("rows_here AS b", f"({text}) AS b")) for one in wanted]

    def ask(self, query: Query) -> Found:
        """What the engine returns."""
        context = query.context
        with context.engine.session(context.relations.values()) as session:
            listed, *others = (session.fetch(statement) for statement in self.statements)
        if "g" in self.names:  # rows of none of the public groups
            listed = [row for row in listed if row[self.names.index("g")] is not None]
        rows = Counter(tuple(row) if self.names else () for row in listed)
        return Found(by_group(query, others[0] if others else []), rows, tuple(self.names))


def answered(query: Query, world: World, place: Place, salt: Salt, tables: Rows) -> Found:
    """No failure, and what the oracle says."""
    asked = place.ask(query, world, tables)
    asker = Asker(asked, salt)
    try:
        found = asker.ask(asked)
    except EngineFailed:
        raise Broken(f"{place.name} fails") from None
    rows = survivors(query, tables, salt.seed)
    if found.rows != rows:
        shown = f"{list((found.rows - rows).items())[:3]} instead of {list((rows - found.rows).items())[:3]}"
        raise Broken(f"{place.name} keeps other rows", shown)
    expected = integers(query, tables, salt.seed) if query.statistics else {}
    if found.integers != expected:
        raise Broken(f"{place.name} has other integers", f"{found.integers} instead of {expected}")
    return replace(found, asker=asker)


def neighbours(
    query: Query, world: World, place: Place, salt: Salt, tables: Rows, found: Found, chosen: Callable[[list[Any]], Any]
) -> None:
    """Whoever is left out, the integers move by what was promised, and the others' rows stay."""
    for number, fewer in enumerate(chosen(list(smaller(query, world, tables)))):
        try:
            asked = place.ask(query, world, fewer[1])
            without = (found.asker if place.is_steady else Asker(asked, salt)).ask(asked)
        except EngineFailed:
            raise Broken(f"{place.name} fails without one unit", repr(fewer[0])) from None
        within(query, found.integers, without.integers, f"{place.name}, without {fewer[0]!r} ({number})")
        if not is_each_row(query.plan):
            mine = found.names.index("u")
            others = Counter({row: n for row, n in found.rows.items() if row[mine] != fewer[0]})
            if others != Counter({row: n for row, n in without.rows.items() if row[mine] != fewer[0]}):
                raise Broken(f"rows of others change on {place.name}", f"without {fewer[0]!r}")


def smaller(query: Query, world: World, tables: Rows) -> list[tuple[Any, Rows]]:
    """The tables without each of the units."""
    if is_each_row(query.plan):
        seen = tables["visits"]
        return [(i, {**tables, "visits": [row for row in seen if row is not one]}) for i, one in enumerate(seen)]
    there = {id(row) for rows in tables.values() for row in rows}
    found = []
    for unit in world.units():
        fewer = {name: [r for r in rows if id(r) in there] for name, rows in world.without(unit).items()}
        if sum(map(len, fewer.values())) < sum(map(len, tables.values())):
            found.append((unit, fewer))
    return found


def within(query: Query, everybody: Integers, fewer: Integers, where: str) -> None:
    """No statistic moves further than its sensitivity: summed over all groups, and the sum of squares."""
    nothing = (0,) * len(query.statistics)
    groups = everybody.keys() | fewer.keys()
    changed = [group for group in groups if everybody.get(group) != fewer.get(group)]
    if query.grouping.keys and len(changed) > query.effective.touched:
        raise Broken("more groups change than promised", f"{len(changed)} on {where}")
    for i, statistic in enumerate(query.statistics):
        moves = [abs(everybody.get(g, nothing)[i] - fewer.get(g, nothing)[i]) for g in changed]
        most, squared = statistic.sensitivity(query.effective)
        if sum(moves) > most or sum(move * move for move in moves) > squared:
            raise Broken("an integer moves beyond its bound", f"{statistic}: {moves}, at most {most}, on {where}")


def publics(plan: Plan) -> dict[str, PublicTable]:
    """The public tables below a plan, as they were opened."""
    found = {}
    if isinstance(plan, JoinPublic):
        public = plan.public
        fields = tuple(replace(f, name=f.name.removeprefix(f"{public.table}.")) for f in public.fields)
        found[public.table] = PublicTable(replace(public, fields=fields))
    for parent in plan.parents():
        found |= publics(parent)
    return found


def kept(query: Query, world: World) -> None:
    """Saved and read back, a question is the same."""
    tables = [world.drugs, *publics(query.plan).values()]
    for read, text in ((Query.from_yaml, query.to_yaml()), (Query.from_json, query.to_json())):
        try:
            again = read(text, world.visits, tables)
        except LapwingError as error:
            raise Broken("a saved question is refused", str(error)) from None
        if again.digest() != query.digest():
            raise Broken("a saved question is another one", difference(query, again))


def difference(one: Query, other: Query) -> str:
    """Where two questions part."""
    for part in ("plan", "grouping", "aggregates", "effective", "post", "rollup"):
        a, b = repr(getattr(one, part)), repr(getattr(other, part))
        if a != b:
            place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
            return f"{part}: …{a[max(0, place - 60) : place + 60]}… and …{b[max(0, place - 60) : place + 60]}…"
    return "nowhere"


def spoken(query: Query, world: World, place: Place, salt: Salt, tables: Rows, found: Found) -> bool:
    """The question in SQL, where SQL has words for it: whether it has."""
    try:
        text = written(query)
    except Unwritten:
        return False
    known = [world.drugs, *(PublicTable(public) for public in text.publics.values())]
    try:
        again = world.visits.query(text.sql, tables=known, **text.options)
    except LapwingError as error:
        if "bounds" in text.options:  # of a column they may be narrower only than those of an aggregate
            return False
        raise Broken("SQL is refused", f"{error} {text.sql}") from None
    there = answered(again, world, place, salt, tables)
    same = [str(statistic) for statistic in query.statistics] == [str(statistic) for statistic in again.statistics]
    same &= query.grouping.secret == again.grouping.secret  # to SQL, the value of a constant is public
    if same and there.integers != found.integers:
        raise Broken("SQL has other integers", f"{there.integers} instead of {found.integers} {text.sql}")
    return True


def released(query: Query, seed: int) -> None:
    """A whole release, up to what is printed."""
    delta = {"delta": 1e-6} if query.grouping.secret and query.top is None else {}
    try:
        answer = query.release(epsilon=3, entropy=Reproducible(seed), **delta)
    except EngineFailed:
        raise Broken("a release fails") from None
    except LapwingError:  # the noise would be too wide, say: known before anything is read
        return
    str(answer)
    if query.rollup is not None:
        add_up(answer, query)
    if lw.curator.Answer.from_json(answer.to_json()).to_json() != answer.to_json():
        raise Broken("an answer does not survive JSON")


def add_up(answer: lw.Answer, query: Query) -> None:
    """Counts of every node are the sums of those below it, and none is below 0."""
    assert query.rollup is not None
    counts = [aggregate.output for aggregate in query.aggregates if aggregate.counts]

    def walk(node: Node) -> None:
        for name in counts:
            values = answer[name]
            parts = [values[child.row] for child in node.children]
            if values[node.row] < 0 or (parts and sum(parts) != values[node.row]):
                raise Broken("levels do not add up", f"{name}: {values[node.row]} and {parts}")
        for child in node.children:
            walk(child)

    for root in roots_of(answer):
        walk(root)


def document(query: Query) -> Any:
    """A question as data."""
    return json.loads(query.to_json())
