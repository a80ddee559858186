"""Orders the values of a column so that each group to which they can be generalised is one range of that order.

Two kinds. A `Ladder` has levels: a taxonomy, or ranges of fixed widths. A `Scale` has none: what a class of rows is
called is read from the rows in it, the range of their numbers or the set of their words. A missing value is a kind of
its own at the end; only "*" holds it together with other values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.intp]
Floats = NDArray[np.float64]
Texts = NDArray[np.object_]

Cut = tuple[Integers, Integers]
"""The piece of its part into which each row falls, and how many pieces a part has; some may be empty."""

EVERYTHING = "*"
MISSING = "missing"


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Parts of a table whose rows stand one after the other: how many rows each has."""

    sizes: Integers

    @property
    def starts(self) -> Integers:
        """Where each part begins."""
        offsets: Integers = np.cumsum(self.sizes) - self.sizes
        return offsets

    @property
    def member(self) -> Integers:
        """To which part each row belongs."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def rows(self, chosen: Integers) -> Integers:
        """The places of the rows of some parts, part by part."""
        some = Parts(self.sizes[chosen])
        places: Integers = np.repeat(self.starts[chosen] - some.starts, some.sizes) + np.arange(some.sizes.sum())
        return places


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """A hierarchy over the values of a column: level 0 are the values, the highest level is "*"."""

    place: Integers
    """Where each kind of the column stands in the order of the ladder."""
    groups: Integers
    """Levels × kinds: the group of each kind at each level, numbered along the order."""
    labels: Texts
    """Levels × kinds: what the group is called."""
    shares: Floats
    """Levels × kinds: the share of the domain that the group covers, 0 for a single value and 1 for "*"."""

    @classmethod
    def of(
        cls, paths: Sequence[Sequence[str]], order: Sequence[int], share: Callable[[int, int, int], float]
    ) -> Ladder:
        """From the labels of each kind, level by level, and the order of the kinds.

        `share(level, kind, size)` is the share of the domain that a group of so many kinds covers.
        """
        levels, place = len(paths[0]), np.empty(len(order), np.intp)
        place[list(order)] = np.arange(len(order))
        climbs = [tuple(paths[kind]) for kind in order]
        groups = np.zeros((levels, len(order)), np.intp)
        shares = np.zeros((levels, len(order)))
        for level in range(levels):
            fresh = [climb[level:] != before[level:] for before, climb in itertools.pairwise(climbs)]
            groups[level] = np.cumsum([False, *fresh])
            sizes = np.bincount(groups[level])[groups[level]]
            known = [climb[level] == climb[0] != EVERYTHING for climb in climbs]
            shares[level] = [
                0.0 if same else share(level, kind, size) for same, kind, size in zip(known, order, sizes, strict=True)
            ]
        labels = np.array(climbs, dtype=object).T
        shares[0], shares[-1] = 0.0, 1.0
        return cls(place, groups, labels, shares)

    @property
    def height(self) -> int:
        """How many steps lead from a value to "*"."""
        return len(self.groups) - 1

    def meeting(self, low: Integers, high: Integers) -> Integers:
        """The lowest level at which two kinds are in one group."""
        levels: Integers = np.count_nonzero(self.groups[:, low] != self.groups[:, high], axis=0)
        return levels

    def widths(self, low: Integers, high: Integers) -> Floats:
        """How much of the domain each part covers."""
        return self.shares[self.meeting(low, high), low]

    def cut(self, codes: Integers, parts: Parts, low: Integers, high: Integers, *, least: int = 0) -> Cut:
        """The children of the node where the ends of a part meet; those with fewer than `least` rows stay together."""
        below = self.meeting(low, high) - 1
        first, last = self.groups[below, low], self.groups[below, high]
        member, number = parts.member, last - first + 1
        piece = self.groups[below[member], codes] - first[member]
        if least:
            offsets = np.cumsum(number) - number
            slots = offsets[member] + piece
            small = np.bincount(slots, minlength=number.sum()) < least
            rest = np.repeat(number, number)
            piece, number = np.where(small[slots], rest[slots], piece), number + 1
        return piece, number

    def describe(self, codes: Integers, parts: Parts, low: Integers, high: Integers) -> tuple[Texts, Floats]:
        """What each part is called, and the share of the domain that it covers."""
        level = self.meeting(low, high)
        return self.labels[level, low], self.shares[level, low]


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """Values in an order that may be cut anywhere."""

    place: Integers
    positions: Floats
    """Where each kind stands between 0, the least, and 1, the greatest; 2 if it is missing."""
    kinds: Sequence[Any]
    sets: bool
    """Whether a class is called by the set of its values; otherwise by their range."""
    show: Callable[[Any, Any], str]
    """The label of a range."""

    def widths(self, low: Integers, high: Integers) -> Floats:
        """How far apart the ends of each part are."""
        widths: Floats = self.positions[high] - self.positions[low]
        return widths

    def cut(self, codes: Integers, parts: Parts, low: Integers, high: Integers, *, least: int = 0) -> Cut:
        """Two halves.

        Equal values stay together, and the cut is beside the median where the halves are most even: if it leaves one
        half too small, every other cut does so too. With `least` rows with the median fill up the lower half.
        """
        member, starts, sizes = parts.member, parts.starts, parts.sizes
        keys = member * len(self.positions) + codes
        ordered = np.sort(keys)
        median = ordered[starts + (sizes - 1) // 2]
        below = np.searchsorted(ordered, median, "left") - starts
        upto = np.searchsorted(ordered, median, "right") - starts
        if not least:
            with_median = np.minimum(upto, sizes - upto) >= np.minimum(below, sizes - below)
            piece = keys > np.where(with_median, median, median - 1)[member]
        else:
            tied = keys == median[member]
            seen = np.cumsum(tied)
            turn = seen - (seen[starts] - tied[starts])[member]
            piece = (keys > median[member]) | (tied & (turn > (sizes // 2 - below)[member]))
        return piece.astype(np.intp), np.full(len(sizes), 2)

    def describe(self, codes: Integers, parts: Parts, low: Integers, high: Integers) -> tuple[Texts, Floats]:
        """What each part is called, and the share of the domain that it covers."""
        return self._sets(codes, parts) if self.sets else self._ranges(low, high)

    def _ranges(self, low: Integers, high: Integers) -> tuple[Texts, Floats]:
        ends, back = np.unique(low.astype(np.intp) * len(self.kinds) + high, return_inverse=True)
        labels = np.empty(len(ends), object)
        for i, (first, last) in enumerate(
            zip(*(end.tolist() for end in np.divmod(ends, len(self.kinds))), strict=True)
        ):
            mixed = first < last and self.kinds[last] is None
            labels[i] = EVERYTHING if mixed else self.show(self.kinds[first], self.kinds[last])
        return labels[back], np.minimum(self.widths(low, high), 1.0)

    def _sets(self, codes: Integers, parts: Parts) -> tuple[Texts, Floats]:
        pairs = np.unique(parts.member * len(self.kinds) + codes)
        owner, code = np.divmod(pairs, len(self.kinds))
        sizes = np.bincount(owner)
        labels, known = np.empty(len(sizes), object), {}
        ends = np.cumsum(sizes)
        for i, (start, end) in enumerate(zip((ends - sizes).tolist(), ends.tolist(), strict=True)):
            key = code[start:end].tobytes()
            if key not in known:
                words = [text(self.kinds[place]) for place in code[start:end]]
                known[key] = words[0] if len(words) == 1 else f"{{{', '.join(words)}}}"
            labels[i] = known[key]
        return labels, np.where(sizes > 1, sizes / len(self.kinds), 0.0)


def text(value: Any) -> str:
    """How a value is written."""
    return MISSING if value is None else str(value)
