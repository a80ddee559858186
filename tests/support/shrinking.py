"""A case that breaks a law is made small, and shown."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import laws
from fuzzing import Case, at, joins_of, obey, paths, put, reread
from laws import Broken
from places import Place
from worlds import Rows

from lapwing.curator.ask.query import Query
from lapwing.errors import LapwingError

TRIES = 150
"""How often a case is asked again to make it smaller."""


def shrunk(case: Case, place: Place, broken: Broken) -> tuple[Query, Rows]:
    """A smaller question about fewer rows that breaks the same law."""
    tries = iter(range(TRIES))
    query: Query = getattr(broken, "query", case.query)
    tables: Rows = case.world.tables

    def breaks(asked: Query, shown: Rows) -> bool:
        if next(tries, None) is None:
            return False
        try:
            if broken.law.startswith("a saved"):
                laws.kept(asked, case.world)
            obey(asked, case, place, shown, random.Random(0), Counter())
        except Broken as error:
            return error.law == broken.law
        except LapwingError:
            return False
        return False

    tables = fewer_rows(query, tables, breaks)
    query = fewer_words(case, query, tables, breaks)
    return query, fewer_rows(query, tables, breaks)


def fewer_rows(query: Query, tables: Rows, breaks: Callable[[Query, Rows], bool]) -> Rows:
    """Leave out rows, half of them first, while the law stays broken."""
    flat = [(name, row) for name, rows in tables.items() for row in rows]
    size = max(1, len(flat) // 2)
    while flat:
        for start in range(0, len(flat), size):
            left = flat[:start] + flat[start + size :]
            some = {name: [row for whose, row in left if whose == name] for name in tables}
            if breaks(query, some):
                flat = left
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return {name: [row for whose, row in flat if whose == name] for name in tables}


def fewer_words(case: Case, query: Query, tables: Rows, breaks: Callable[[Query, Rows], bool]) -> Query:
    """Leave out steps, columns, keys and parts of expressions while the law stays broken."""
    smaller = True
    while smaller:
        smaller = False
        for data in simpler(laws.document(query)):
            try:
                asked = reread(case, data)
            except LapwingError:
                continue
            if breaks(asked, tables):
                query, smaller = asked, True
                break
    return query


def simpler(data: Any) -> Iterator[Any]:
    """Documents with one thing less, the largest things first."""
    for path in sorted(paths(data), key=len):
        old = at(data, path)
        options: list[Any] = []
        if isinstance(old, list) and len(path) > 1 and isinstance(path[-1], str) and len(old) == 1:
            continue
        if isinstance(path[-1], int):  # one item of a list less
            new = copy.deepcopy(data)
            del at(new, path[:-1])[path[-1]]
            yield new
        if isinstance(old, dict) and len(old) == 1:
            [inner] = old.values()
            options = inner if isinstance(inner, list) else []
        if isinstance(old, dict) and len(old) > 1:
            for key in old:
                new = copy.deepcopy(data)
                del at(new, path)[key]
                yield new
        for option in options:
            new = copy.deepcopy(data)
            put(new, path, copy.deepcopy(option))
            yield new


def place_of(broken: Broken, places: Sequence[Place]) -> Place:
    """Where a law was broken."""
    named = [place for place in places if f" {place.name} " in f" {broken.law} "]
    return max(named, key=lambda place: len(place.name), default=places[0])


def report(case: Case, place: Place, broken: Broken, again: str) -> str:
    """What to look at: the law, the rows, the question."""
    with joins_of(case.seed):
        query, tables = shrunk(case, place, broken)
    lines = [f"seed {case.seed}: {broken}", f"again: {again}", ""]
    for name, rows in tables.items():
        used = case.world.schema[name]
        lines += [f"{name}: {', '.join(f'{c} {s.duckdb} as {s.kind}' for c, s in used.items())}"]
        lines += [f"  {row}" for row in rows]
    bounds = {c.name: tuple(map(float, c.bounds)) for c in case.world.visits.plan.columns if c.bounds}
    lines += [f"bounds: {bounds}", f"salt: {case.salt.seed!r}", ""]
    try:
        lines.append(query.to_yaml())
    except (LapwingError, AssertionError, TypeError, AttributeError, ValueError):
        lines.append(repr(query.plan))
    return "\n".join(lines)


__all__ = ["place_of", "report"]
