"""The levels of a hierarchy: columns and ladders from the top, with what is public about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from lapwing.curator.plan.declarations import among_keys, different, fitting
from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.groups import LARGEST, Grouping, Key, key_for
from lapwing.curator.plan.hints import unseen
from lapwing.curator.plan.ladders import Ladder
from lapwing.curator.plan.parser import expression
from lapwing.curator.plan.rollups import Path, Rollup, paths_of_tree
from lapwing.errors import InvalidParameter, can_be_shown, withheld

LEVEL = "level"
"""The column that says on which level a row stands."""
_HINT = 'Write ["country", "region", "town"], or lw.dates("day", "2025-01-01", "2025-12-31").'


def levels_of(
    columns: Mapping[str, Column], levels: Any, *, tree: Any = None, keys: Mapping[str, Iterable[Any]] | None = None
) -> tuple[Grouping, Rollup]:
    """The groups of the last level, and how they are put together."""
    given = [levels] if isinstance(levels, Ladder) else levels
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise InvalidParameter("levels", levels, "must be a list of columns or ladders, from the top", _HINT)
    declared = _declared(keys, given)
    with unseen(columns, levels=list(given)):
        if tree is not None:
            return _by_tree(columns, given, tree, declared)
        group_keys = [_key(entry, columns, declared) for entry in given]
    names = tuple(name for entry in given for name in (entry.names if isinstance(entry, Ladder) else (entry,)))
    paths = None
    if any(isinstance(entry, Ladder) for entry in given):
        paths = _combined(given, group_keys)
    return Grouping(tuple(group_keys)), Rollup(names, paths=paths, level_column=LEVEL)


def _declared(keys: Mapping[str, Iterable[Any]] | None, levels: Sequence[Any]) -> Mapping[str, Iterable[Any]]:
    if keys is None:
        return {}
    if not isinstance(keys, Mapping):
        raise InvalidParameter("keys", keys, "must be a mapping", "Write keys={'region': ['north', 'south']}.")
    hint = f"There are: {', '.join(map(str, levels))}." if can_be_shown(list(levels)) else "Name it in levels."
    with withheld("has an entry that is not a level", hint, keys=list(keys)):
        for name in keys:
            if name not in levels:
                raise InvalidParameter("keys", name, "is not a level", hint)
    return keys


def _key(entry: Any, columns: Mapping[str, Column], declared: Mapping[str, Iterable[Any]]) -> Key:
    if isinstance(entry, Ladder):
        return entry.key(dict(columns))
    if not isinstance(entry, str):
        raise InvalidParameter("levels", entry, "is neither a column nor a ladder", _HINT)
    by = expression(entry, columns, name="levels")
    values = different(entry, declared[entry]) if entry in declared else None
    if values is not None:
        with among_keys(entry, declared[entry]):
            fitting(entry, by.kind or "text", values)
    return key_for(entry, by, values=values)


def _combined(levels: Sequence[Any], keys: Sequence[Key]) -> tuple[Path, ...]:
    """The labels of each combination of rungs and keys."""
    for key in keys:
        if key.values is None:
            why = "beside a ladder its values must be public"
            raise InvalidParameter("keys", key.name, why, f"Write keys={{{key.name!r}: […]}}.")
    if prod(key.size for key in keys) > LARGEST:
        raise InvalidParameter("levels", len(keys), "have too many combinations", "Take fewer, or coarser ones.")
    parts = [
        entry.paths if isinstance(entry, Ladder) else [(label,) for label in key.shown()]
        for entry, key in zip(levels, keys, strict=True)
    ]
    return tuple(tuple(label for part in parts_of for label in part) for parts_of in product(*parts))


def _by_tree(
    columns: Mapping[str, Column], levels: Sequence[Any], tree: Any, declared: Mapping[str, Any]
) -> tuple[Grouping, Rollup]:
    """A public tree: its leaves are the groups. Where no two have the same name, the last column tells all of it."""
    if declared or any(not isinstance(entry, str) for entry in levels):
        raise InvalidParameter("tree", "…", "says all that is public about the levels", "Leave out keys= and ladders.")
    paths = paths_of_tree(tree, len(levels))
    expressions = [expression(entry, columns, name="levels") for entry in levels]
    values = [tuple(dict.fromkeys(path[depth] for path in paths)) for depth in range(len(levels))]
    with withheld("has a label that its column cannot have", "Write labels of its kind.", tree=tree):
        for name, by, labels in zip(levels, expressions, values, strict=True):
            fitting(name, by.kind or "text", labels)
    if len(values[-1]) == len(paths):
        key = key_for(levels[-1], expressions[-1], values=values[-1])
        by_leaf = {path[-1]: path for path in paths}
        ordered = tuple(by_leaf[leaf] for leaf in values[-1])
        return Grouping((key,)), Rollup(tuple(levels), paths=ordered, level_column=LEVEL)
    keys = tuple(key_for(name, by, values=labels) for name, by, labels in zip(levels, expressions, values, strict=True))
    grouping, real = Grouping(keys), set(paths)
    if len(real) < len(paths):
        [(twice, _)] = Counter(paths).most_common(1)
        raise InvalidParameter("tree", " / ".join(map(str, twice)), "is listed twice", "Leave one of them out.")
    every = tuple(path if path in real else () for path in grouping.labels())
    return grouping, Rollup(tuple(levels), paths=every, level_column=LEVEL)


def published(invariants: Any) -> tuple[tuple[Path, int], ...]:
    """Invariants by their paths."""
    if invariants is None:
        return ()
    if not isinstance(invariants, Mapping):
        why, hint = "must be a mapping", "Write invariants={(): 1000} for the total."
        raise InvalidParameter("invariants", invariants, why, hint)
    return tuple((tuple(path) if isinstance(path, tuple | list) else (path,), n) for path, n in invariants.items())
