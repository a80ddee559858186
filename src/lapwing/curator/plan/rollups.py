"""Levels of groups that add up: all rows, then by the first key, by the first two, and so on.

Groups of the last level are those of the question; every group above is a sum of them. Where all keys are public, so
is the tree: the product of the keys, or the paths that were declared, of places or of a ladder.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.curator.plan.groups import EVERYTHING_ELSE, Grouping
from lapwing.errors import InvalidParameter, withheld
from lapwing.mechanisms import Tree
from lapwing.mechanisms.level_weights import WORKLOADS

Path = tuple[Any, ...]
"""What leads to a node: the labels of its levels, none for the total."""
TOTAL = "total"
"""What the level of all rows is called."""


@dataclass(frozen=True)
class Rollup:
    """How the groups of a question are put together into levels, and what is asked of the numbers."""

    names: tuple[str, ...]
    """What the levels are called, from the top; the first `given` of them are in every row."""
    given: int = 0
    """How many labels every row has. 0: the first row is the total."""
    paths: tuple[Path, ...] | None = None
    """The labels of each group, in the order of the groups' numbers; None where they are the keys. An empty one says
    that a combination of keys is none of the tree."""
    weights: str | tuple[Number, ...] = "levels"
    """What will be read, or the part of the loss that each level gets."""
    integers: bool = True
    level_column: str | None = None
    """The column of the answer that says on which level a row stands, if there is one."""
    invariants: tuple[tuple[Path, int], ...] = ()
    """Numbers of nodes that were published exactly, and which are not protected."""

    def __post_init__(self) -> None:
        checks.true_or_false(integers=self.integers)
        if isinstance(self.weights, str):
            checks.one_of(WORKLOADS, weights=self.weights)
        else:
            numbers = tuple(checks.numbers(self.weights, checks.not_negative, weights=self.weights))
            object.__setattr__(self, "weights", numbers)
        if self.given >= len(self.names):
            why, hint = "there is nothing to add up", "Write at least one level, from the top."
            raise InvalidParameter("levels", self.names, why, hint)

    @property
    def levels(self) -> tuple[str, ...]:
        """What each level of nodes is called."""
        return ((TOTAL,) if self.given == 0 else (self.names[self.given - 1],)) + self.names[self.given :]

    def name_of(self, path: Path) -> str:
        """A node in words."""
        return " / ".join(map(str, path)) or TOTAL


@dataclass(frozen=True, eq=False)
class Nodes:
    """A tree with the labels of its nodes."""

    tree: Tree
    paths: tuple[tuple[Path, ...], ...]
    """The labels of every node, level by level."""

    @cached_property
    def places(self) -> dict[Path, tuple[int, int]]:
        """The level and the place of every node."""
        return {path: (level, i) for level, paths in enumerate(self.paths) for i, path in enumerate(paths)}


def public_nodes(rollup: Rollup, grouping: Grouping) -> tuple[Nodes, list[int]]:
    """The tree of public keys, and the number of the group that each leaf is, from left to right."""
    if rollup.paths is None:
        return _product(rollup, grouping), list(range(grouping.size))
    numbered = [(path, number) for number, path in enumerate(rollup.paths) if path]
    order: dict[Path, int] = {}
    for path, _ in numbered:
        for length in range(1, len(path) + 1):
            order.setdefault(path[:length], len(order))
    numbered.sort(key=lambda entry: [order[entry[0][:length]] for length in range(1, len(entry[0]) + 1)])
    return nodes_of([path for path, _ in numbered], rollup.given), [number for _, number in numbered]


def _product(rollup: Rollup, grouping: Grouping) -> Nodes:
    labels = [key.shown() for key in grouping.keys]
    sizes = [len(some) for some in labels]
    lengths = range(rollup.given, len(labels) + 1)
    children = [[sizes[length]] * prod(sizes[:length]) for length in lengths if length < len(labels)]
    return Nodes(Tree(children), tuple(tuple(product(*labels[:length])) for length in lengths))


def nodes_of(leaves: Sequence[Path], given: int = 0) -> Nodes:
    """The tree of leaves in order, each told by its labels; labels that agree at the beginning stand side by side."""
    deepest = max(map(len, leaves))
    levels: list[dict[Path, int]] = [{} for _ in range(given, deepest + 1)]
    for path in leaves:
        for length in range(given, len(path) + 1):
            level = levels[length - given]
            if path[:length] not in level:
                level[path[:length]] = 0
                if length > given:
                    levels[length - given - 1][path[: length - 1]] += 1
    children = [list(level.values()) for level in levels[:-1]]
    return Nodes(Tree(children), tuple(tuple(level) for level in levels))


def paths_of_tree(tree: object, depth: int) -> list[Path]:
    """The leaves of a tree that somebody wrote as mappings in mappings, with a list at the end of each."""
    hint = "Write tree={'France': {'Bretagne': ['Brest', 'Rennes']}}, with as many levels as you name."
    if depth == 1:
        if isinstance(tree, str | Mapping) or not isinstance(tree, Sequence) or not tree:
            raise InvalidParameter("tree", tree, "must end in lists of what is on the last level", hint)
        if not all(isinstance(label, Hashable) for label in tree):
            raise InvalidParameter("tree", tree, "has a list or a mapping among what is on the last level", hint)
        return [(label,) for label in tree]
    if not isinstance(tree, Mapping) or not tree:
        raise InvalidParameter("tree", tree, f"must be a mapping, {depth} levels from the end", hint)
    return [(label, *rest) for label, inner in tree.items() for rest in paths_of_tree(inner, depth - 1)]


def check_labels(rollup: Rollup, grouping: Grouping) -> None:
    """A missing key cannot be told from a total, and a label must lead to one node."""
    for key in grouping.keys:
        if key.values is not None and None in key.values:
            why = "in the rows of totals NULL means all of them"
            raise InvalidParameter("keys", key.name, why, "Leave NULL out, or write COALESCE(…, 'unknown').")
    if rollup.paths is not None:
        real = [path for path in rollup.paths if path]
        if len(set(real)) < len(real) or not real:
            raise InvalidParameter("tree", len(real), "must have leaves, each of them once", "Leave out doubled ones.")


def known_paths(rollup: Rollup, grouping: Grouping, *, secret: bool) -> None:
    """Invariants are about nodes that are surely in the answer."""
    if not rollup.invariants:
        return
    known = [()] if secret else list(public_nodes(rollup, grouping)[0].places)
    which = "the total alone, because which others are shown is a secret" if secret else "a node of the tree"
    total = "invariants={(): 1000} for the total" if () in known else ""
    node = f"{{{known[-1]!r}: 40}} for one group" if not secret else ""
    hint = f"Write {', or '.join(filter(None, (total, node)))}."
    with withheld(f"has an entry that is not {which}, or no whole number", hint, invariants=dict(rollup.invariants)):
        for path, value in rollup.invariants:
            if path not in known:
                raise InvalidParameter("invariants", path, f"must be {which}", hint)
            checks.whole(invariants=value, minimum=0)


REST = EVERYTHING_ELSE
"""The label of what is left of a node whose children are not all shown."""
