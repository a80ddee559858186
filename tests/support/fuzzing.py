"""Cases by number: a world, a question about it, and the laws on some engines.

A seed gives the same case on every machine. Four seeds in a row share a world, because engines take longer to fill than
to ask. In one case of three the author makes slips, and the saved form of the question is spoiled in several ways:
whatever is not refused must keep the laws as well.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

import laws
import oracle
from laws import Broken
from places import InFiles, InSpark, Place, is_readable
from questions import Author, salted
from worlds import Rows, World, draw_world

from lapwing.curator.ask.query import Query
from lapwing.curator.engines.selection import Salt
from lapwing.curator.plan import multiplicity
from lapwing.curator.plan.expressions import KINDS, Call, Column, Constant, Expression
from lapwing.errors import LapwingError

TOGETHER = 4
"""Questions about one world."""
SPOILED = 3
"""How often the saved form of one question is spoiled."""
LARGEST_JOINS = (multiplicity.LARGEST_JOIN, 64, 9)
"""How many rows joins may make of one unit: nobody here has so many that the real limit is reached often."""


@dataclass(frozen=True)
class Case:
    """A question about a world."""

    seed: int
    world: World
    query: Query
    refusals: int

    @property
    def salt(self) -> Salt:
        return salted(self.seed)


@lru_cache(maxsize=2)
def world_of(seed: int) -> World:
    """The world of some seeds."""
    rng = random.Random(f"world {seed}")
    choose = rng.choice
    shape = {"each_row": rng.random() < 0.1, "few": rng.random() < 0.5, "plain": rng.random() < 0.2}
    return draw_world(choose, (1, 3, 6, 9, 14, 25), written=rng.random() < 0.25, tied=shape["few"], **shape)


def case_of(seed: int) -> Case:
    """The case of a seed."""
    world, rng = world_of(seed // TOGETHER), random.Random(f"question {seed}")
    author = Author(rng.choice, world, slips=6 if seed % 3 == 0 else 0)
    with joins_of(seed):
        return Case(seed, world, author.query((0, 1, 1, 2, 2, 3)), author.refusals)


@contextmanager
def joins_of(seed: int) -> Iterator[None]:
    """The limit on joins in the case of a seed, for the curator and for the oracle."""
    before = multiplicity.LARGEST_JOIN, oracle.LARGEST_JOIN
    multiplicity.LARGEST_JOIN = oracle.LARGEST_JOIN = LARGEST_JOINS[seed // TOGETHER % len(LARGEST_JOINS)]
    try:
        yield
    finally:
        multiplicity.LARGEST_JOIN, oracle.LARGEST_JOIN = before


def run(case: Case, places: Sequence[Place], *, thorough: bool = True) -> Counter[str]:
    """Hold a case against the laws; what it consists of, or `Broken`. Without `thorough`, on the engines only."""
    thorough = thorough and bool(places) and not isinstance(places[0], InSpark)
    seen = Counter(parts(case.query))
    seen["refused"] += case.refusals
    rng = random.Random(f"laws {case.seed}")
    with joins_of(case.seed):
        if thorough:
            laws.kept(case.query, case.world)
        for place in places:
            if fits(place, case):
                seen[f"on {place.name}"] += 1
                obey(case.query, case, place, case.world.tables, rng, seen)
        if thorough:
            seen += mistaken(case, places[0], rng)
    return seen


def obey(query: Query, case: Case, place: Place, tables: Rows, rng: random.Random, seen: Counter[str]) -> None:
    """The laws of one question on one engine."""
    found = laws.answered(query, case.world, place, case.salt, tables)
    most = 3 if place.is_steady else 1

    def some(all_of_them: list[Any]) -> list[Any]:
        return rng.sample(all_of_them, min(most, len(all_of_them)))

    laws.neighbours(query, case.world, place, case.salt, tables, found, some)
    if place.name == "duckdb":
        seen["in SQL"] += laws.spoken(query, case.world, place, case.salt, tables, found)
        if case.seed % 3 == 0:
            laws.released(place.ask(query, case.world, tables), case.seed)


def fits(place: Place, case: Case) -> bool:
    """Whether a place can hold the world: files of text only what is text, and not every type has a file."""
    if place.name.endswith("csv"):
        columns = [storage for some in case.world.schema.values() for storage in some.values()]
        if any(storage.duckdb != "VARCHAR" or "" in storage.values for storage in columns):
            return False
    return not isinstance(place, InFiles) or is_readable(place, case.query, case.world)


def fitting(places: Sequence[Place], case: Case) -> list[Place]:
    """One of these places, in turn, of those that can hold the world; or none."""
    able = [place for place in places if fits(place, case)]
    return [able[case.seed % len(able)]] if able else []


def parts(value: Any) -> Iterator[str]:
    """The nodes, operators and aggregates that a question is made of."""
    if isinstance(value, Query):
        yield from (f"ask {one.kind}" for one in value.aggregates)
        keys = value.grouping.keys
        yield "no keys" if not keys else "secret keys" if value.grouping.secret else "public keys"
        yield from (["everything else"] if any(key.everything_else for key in keys) else [])
        yield "cap on rows" if value.bounding.max_rows_per_unit else "cap on groups"
        value = (value.plan, keys, [statistic.arguments for statistic in value.statistics])
    if isinstance(value, Call):
        yield value.operator
    elif is_dataclass(value) and not isinstance(value, Column | Constant):
        yield type(value).__name__
        for word in ("how", "setting"):
            if hasattr(value, word):
                yield f"{type(value).__name__} {getattr(value, word)}"
        yield from (f"per unit {total}" for _, total, _ in getattr(value, "totals", ()))
    inner: Sequence[Any] = value if isinstance(value, tuple | list) else ()
    if is_dataclass(value):
        inner = [getattr(value, field.name) for field in fields(value)]
    for one in inner:
        if isinstance(one, tuple | list) or is_dataclass(one):
            yield from parts(one)


# ------------------------------------------------------------------------------------------------------- mistakes


def mistaken(case: Case, place: Place, rng: random.Random) -> Counter[str]:
    """Questions that are nearly this one: refused before an engine hears of them, or as lawful as others."""
    seen: Counter[str] = Counter()
    for spoil in SPOILS:
        for _ in range(SPOILED):
            try:
                query = spoil(case, rng)
            except LapwingError:
                seen["spoiled and refused"] += 1
                continue
            if query is None or query == case.query or query.digest() == case.query.digest():
                continue
            seen["spoiled and asked"] += 1
            try:
                found = laws.answered(query, case.world, place, case.salt, case.world.tables)
                laws.neighbours(query, case.world, place, case.salt, case.world.tables, found, lambda some: some[:1])
            except Broken as error:
                error.query = query  # type: ignore[attr-defined]
                raise
    return seen


def from_file(case: Case, rng: random.Random) -> Query | None:
    """The question as it was saved, after somebody changed a word of the file."""
    data = laws.document(case.query)
    places = [path for path in paths(data) if path[0] != "lapwing_query"]
    roots = [path for path in places if is_root(path)]
    path = rng.choice(roots if roots and rng.random() < 0.5 else places)
    old = at(data, path)
    new = copy.deepcopy(rng.choice([*OTHERS, at(data, rng.choice(places))]))
    if isinstance(old, dict) and len(old) == 1 and rng.random() < 0.5:
        [content] = old.values()
        new = {rng.choice(WORDS): content}
    if isinstance(old, list) and old and rng.random() < 0.7:
        new = rng.choice((old[1:], [*old, old[0]], old[::-1], [*old, new]))
    put(data, path, new)
    return reread(case, data)


def is_root(path: Sequence[Any]) -> bool:
    """Whether a whole expression stands there: where a node says what it takes."""
    return path[-1] in ("where", "condition", "by") or path[-2:-1] in (("select",), ("keys",), ("totals",))


def reread(case: Case, data: Any) -> Query:
    """A question from data."""
    tables = [case.world.drugs, *laws.publics(case.query.plan).values()]
    return Query.from_json(json.dumps(data), case.world.visits, tables)


OTHERS: Sequence[Any] = (
    *(True, 5, 0.5, "true", "boom", -1, 2**63, None, [], {}, {"date": "2024-02-29"}, {"constant": None}),
    *({"column": "region"}, {"column": "age"}, {"column": "cost"}, {"column": "smoker"}, {"column": "at"}),
    *({"column": "huge"}, {"column": "note"}, {"column": "who"}, "left", "union all", "except", "min", "sum"),
    {"case": [{"=": [{"column": "region"}, "north"]}, "boom", "true"]},
    {"to number": [{"column": "note"}]},
)
WORDS = (
    *("+", "-", "*", "/", "%", "=", "<>", "<", ">=", "and", "or", "not", "in", "like", "is null", "coalesce", "case"),
    *("abs", "floor", "ceil", "length", "year", "hour", "to number", "negate", "clamp", "bin", "sum", "where", "count"),
)


def paths(data: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of everything in a document."""
    found: list[tuple[Any, ...]] = [before] if before else []
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += paths(value, (*before, key))
    return found


def at(data: Any, path: Sequence[Any]) -> Any:
    for key in path:
        data = data[key]
    return data


def put(data: Any, path: Sequence[Any], new: Any) -> None:
    at(data, path[:-1])[path[-1]] = new


def from_hand(case: Case, rng: random.Random) -> Query | None:
    """The question with one node of it made by hand, past the functions that check what fits."""
    query = case.query
    spots = [spot for spot in spots_of(query.plan) if isinstance(at_spot(query.plan, spot), Call | Column | Constant)]
    if not spots:
        return None
    spot = rng.choice(spots)
    old = at_spot(query.plan, spot)
    new = forged(old, query.plan.columns, rng)
    try:
        return replace(query, plan=put_spot(query.plan, spot, new))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, LapwingError):
            raise
        return None  # Python itself stumbles over such a node, long before an engine hears of it


def forged(old: Expression, columns: Sequence[Column], rng: random.Random) -> Expression:
    """Something else in the place of an expression: of another kind, or one that lies about its kind."""
    column = rng.choice(columns)
    options: list[Expression] = [
        column,
        Column(column.name, rng.choice(KINDS)),
        Constant(rng.choice((True, 5, 0.5, "boom", None)), rng.choice((*KINDS, None))),
        Call("=", (column, Constant(rng.choice((True, 5, "boom")), rng.choice(KINDS))), "boolean"),
        Call(rng.choice(("+", "like", "length", "year", "to number", "abs")), (column, column), rng.choice(KINDS)),
    ]
    if isinstance(old, Call):
        options += [replace(old, kind=rng.choice(KINDS)), replace(old, operator=rng.choice(WORDS[:17]), span=None)]
    if isinstance(old, Column):
        options.append(replace(old, kind=rng.choice(KINDS)))
    return rng.choice(options)


def spots_of(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of everything in a plan."""
    found: list[tuple[Any, ...]] = [before] if before else []
    if isinstance(value, tuple):
        items: Any = enumerate(value)
    elif is_dataclass(value) and not isinstance(value, Column | Constant):
        items = [(f.name, getattr(value, f.name)) for f in fields(value) if f.init and f.name not in ("fields", "span")]
    else:
        items = ()
    for key, inner in items:
        found += spots_of(inner, (*before, key))
    return found


def at_spot(value: Any, spot: Sequence[Any]) -> Any:
    for key in spot:
        value = value[key] if isinstance(key, int) else getattr(value, key)
    return value


def put_spot(value: Any, spot: Sequence[Any], new: Any) -> Any:
    """The same with something new in one place; only this node and those above it are made again."""
    if not spot:
        return new
    key, *rest = spot
    if isinstance(key, int):
        return (*value[:key], put_spot(value[key], rest, new), *value[key + 1 :])
    return replace(value, **{key: put_spot(getattr(value, key), rest, new)})


SPOILS: tuple[Callable[[Case, random.Random], Query | None], ...] = (from_file, from_hand)


__all__ = ["Broken", "Case", "case_of", "fits", "fitting", "run"]
