"""How a column may be made coarser: numbers to ranges, words up a taxonomy, postcodes digit by digit.

>>> work = Taxonomy({"employed": ["Private", "Federal-gov"], "not employed": ["Never-worked"]})
>>> [work.label("Private", level) for level in range(work.ladder(["Private"]).height + 1)]
['Private', 'employed', '*']
>>> Ranges((5, 10, 20)).label(37, 2), Digits(5).label("02138", 1)
('30–39', '0213*')

`Numbers` and `Sets` name a class of rows by what is in it (Mondrian); the others have levels (both algorithms). A
missing value (None, NaN) is a value of its own, called "missing", right below "*".
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from numbers import Real
from typing import Any, Protocol

import numpy as np

from lapwing import checks
from lapwing.anonymity.ladders import EVERYTHING, Ladder, Scale, text
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

_LARGE = 1e300
"""Beyond it differences are computed exactly: they might not be floats."""


class Hierarchy(Protocol):
    """How the kinds of value of a column become coarser."""

    def ladder(self, kinds: Sequence[Any]) -> Ladder:
        """The levels over these kinds, which are distinct and sorted, None last."""


class Order(Protocol):
    """An order in which the kinds of value of a column may be cut anywhere."""

    def scale(self, kinds: Sequence[Any]) -> Scale:
        """The order of these kinds, which are distinct and sorted, None last."""


class Levels(ABC):
    """What all hierarchies can do."""

    __slots__ = ()

    @abstractmethod
    def ladder(self, kinds: Sequence[Any]) -> Ladder:
        """The levels over some values.

        Args:
            kinds: The different values of the column, sorted, None last.

        Returns:
            The group of each value at each level, and what the groups are called.
        """

    def label(self, value: Any, level: int) -> str:
        """What a value is called at a level.

        Args:
            value: A value of the column.
            level: How far to generalise it: 0 leaves it as it is.

        Returns:
            The label of its group.

        Raises:
            InvalidParameter: If there is no such level.

        >>> from lapwing.anonymity import Digits
        >>> Digits(5).label("02138", 2)
        '021**'
        """
        ladder = self.ladder([value])
        if not 0 <= level <= ladder.height:
            raise InvalidParameter("level", level, "there is no such level", f"Write 0 to {ladder.height}.")
        return str(ladder.labels[level, 0])


@dataclass(frozen=True, slots=True)
class Flat(Levels):
    """Two levels: a value, or "*".

    >>> from lapwing.anonymity import FullDomain
    >>> FullDomain(k=2, quasi_identifiers={"sex": Flat()}).anonymise({"sex": ["f", "m"]}).to_dict()["sex"]
    ['*', '*']
    """

    def ladder(self, kinds: Sequence[Any]) -> Ladder:
        """Two levels.

        >>> Flat().ladder(["f", "m"]).labels.tolist()
        [['f', 'm'], ['*', '*']]
        """
        return Ladder.of([(text(kind), EVERYTHING) for kind in kinds], range(len(kinds)), lambda *_: 1.0)


@dataclass(frozen=True, slots=True)
class Digits(Levels):
    """Postcodes and similar codes: each level hides one more character, from the right.

    Args:
        length: How many characters each code has. Whole numbers are filled up with zeros on the left.

    Raises:
        InvalidParameter: If length is not a whole number from 1 on.

    >>> from lapwing.anonymity import FullDomain
    >>> method = FullDomain(k=2, quasi_identifiers={"zip": Digits(5)})
    >>> method.anonymise({"zip": ["02138", "02139"]}).to_dict()["zip"]
    ['0213*', '0213*']
    """

    length: int

    def __post_init__(self) -> None:
        checks.whole(length=self.length)

    def ladder(self, kinds: Sequence[Any]) -> Ladder:
        """One level per character; a group covers as much as it has of the kinds that occur.

        Raises:
            InvalidParameter: If a value has another number of characters.

        >>> Digits(5).ladder(["02138", "02139"]).labels.tolist()[:2]
        [['02138', '02139'], ['0213*', '0213*']]
        """
        paths = [self._path(kind) for kind in kinds]
        order = sorted(range(len(kinds)), key=lambda i: (kinds[i] is None, paths[i][0]))
        return Ladder.of(paths, order, lambda level, kind, size: size / len(kinds))

    def _path(self, kind: Any) -> tuple[str, ...]:
        if kind is None:
            return (text(kind),) * self.length + (EVERYTHING,)
        code = f"{kind:0{self.length}d}" if isinstance(kind, int) else str(kind)
        if len(code) != self.length:
            why = "a value of the column has another number of characters"
            raise InvalidParameter("length", self.length, why, "Fill the values up to one length, or write Flat().")
        return (*(code[: self.length - gone] + "*" * gone for gone in range(self.length)), EVERYTHING)


@dataclass(frozen=True, slots=True)
class Ranges(Levels):
    """Numbers in ranges of fixed widths, and at last "*".

    Args:
        widths: The width of the ranges at each level, each a multiple of the one before.

    Raises:
        InvalidParameter: If there is no width, if a width is not positive or not a multiple of the one before, or if
            origin is not a finite number.

    >>> from lapwing.anonymity import FullDomain
    >>> FullDomain(k=2, quasi_identifiers={"age": Ranges((10, 20))}).anonymise({"age": [41, 47]}).to_dict()["age"]
    ['40–49', '40–49']
    """

    widths: Sequence[Number]
    origin: Number = 0
    """Where a range begins."""

    def __post_init__(self) -> None:
        checks.exact(origin=self.origin)
        checks.of_kind(
            Sequence, "must be a list of widths", "Write widths=(5, 10, 20), for example.", widths=self.widths
        )
        exact = [as_written(checks.positive(widths=width) and width) for width in self.widths]
        if not exact or any(wide % narrow or wide == narrow for narrow, wide in itertools.pairwise(exact)):
            why = "every width must be a multiple of the one before, or ranges would cut through one another"
            raise InvalidParameter("widths", self.widths, why, "Write widths=(5, 10, 20), for example.")

    def ladder(self, kinds: Sequence[Any]) -> Ladder:
        """The numbers, one level for each width, and "*". A range covers its width divided by that of the column.

        Raises:
            InvalidParameter: If the column holds dates or values that are not numbers.

        >>> Ranges((10, 20)).ladder([41, 47, 52]).labels.tolist()[:2]
        [['41', '47', '52'], ['40–49', '40–49', '50–59']]
        """
        numbers = _numbers(kinds)
        if numbers and isinstance(numbers[0], date):
            raise InvalidParameter(
                "quasi_identifiers", "Ranges", "the column holds dates", "Pass years, or a Taxonomy."
            )
        whole = all(isinstance(number, int) for number in (*numbers, *self.widths, self.origin))
        exact = [as_written(number) for number in numbers]
        spread = exact[-1] - exact[0] if exact else Fraction(0)
        covered = [min(1.0, float((as_written(width) - whole) / spread)) if spread else 1.0 for width in self.widths]
        paths: list[Sequence[str]] = [
            (text(number), *(self._range(value, as_written(width), whole) for width in self.widths), EVERYTHING)
            for number, value in zip(numbers, exact, strict=True)
        ]
        if len(numbers) < len(kinds):
            paths.append((text(None),) * (len(self.widths) + 1) + (EVERYTHING,))
        return Ladder.of(paths, range(len(kinds)), lambda level, kind, size: [0.0, *covered, 1.0][level])

    def _range(self, value: Fraction, width: Fraction, whole: bool) -> str:
        low = (value - as_written(self.origin)) // width * width + as_written(self.origin)
        return range_label(int(low), int(low + width - 1)) if whole else f"[{_shown(low)}, {_shown(low + width)})"


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy(Levels):
    """A tree of words. Values near the root stay as they are until their parent's level.

    Args:
        tree: Either nested, {"employed": ["Private", …], …}, or the parent of each word, {"Private": "employed", …}.
            The root is "*" and need not be written.

    Raises:
        InvalidParameter: If a group has the same name as a value, or as "*".

    >>> from lapwing.anonymity import FullDomain
    >>> tree = Taxonomy({"employed": ["Private", "State"], "other": ["None"]})
    >>> FullDomain(k=2, quasi_identifiers={"work": tree}).anonymise({"work": ["Private", "State"]}).to_dict()["work"]
    ['employed', 'employed']
    """

    tree: Mapping[Any, Any] | Sequence[Any]

    def __post_init__(self) -> None:
        groups = {name for path in self._paths().values() for name in path[1:]}
        if both := groups & {EVERYTHING, *map(text, self.leaves)}:
            raise InvalidParameter(
                "tree", min(both), "is the name of a group and of something else", "Give the group another name."
            )

    @property
    def leaves(self) -> tuple[Any, ...]:
        """The values, in the order of the tree."""
        return tuple(self._paths())

    def ladder(self, kinds: Sequence[Any]) -> Ladder:
        """The levels of the tree, counted from the root. A group covers its leaves divided by all leaves.

        Raises:
            InvalidParameter: If a value is not in the tree.

        >>> tree = Taxonomy({"employed": ["Private", "State"], "other": ["None"]})
        >>> tree.ladder(["None", "Private", "State"]).labels.tolist()[1]
        ['employed', 'employed', 'other']
        """
        ways = self._paths()
        unknown = [kind for kind in kinds if kind is not None and kind not in ways]
        if unknown:
            why = f"{len(unknown)} kinds of value in the column are not in the taxonomy"
            raise InvalidParameter("tree", "Taxonomy(…)", why, "Compare set(column) with taxonomy.leaves.")
        if None in kinds:
            ways.setdefault(None, (text(None),))
        levels = max(map(len, ways.values()))
        padded = {leaf: (way[0],) * (levels - len(way)) + way + (EVERYTHING,) for leaf, way in ways.items()}
        leaves = [
            {name: sum(path[level] == name for path in padded.values()) for name in {p[level] for p in padded.values()}}
            for level in range(levels + 1)
        ]
        rank = {leaf: i for i, leaf in enumerate(ways)}
        paths = [padded[kind] for kind in kinds]
        order = sorted(range(len(kinds)), key=lambda i: rank[kinds[i]])
        return Ladder.of(paths, order, lambda level, kind, size: leaves[level][paths[kind][level]] / len(ways))

    def _paths(self) -> dict[Any, tuple[str, ...]]:
        """From each leaf up to just below the root."""
        paths: dict[Any, tuple[str, ...]] = {}
        last: dict[str, tuple[int, tuple[str, ...]]] = {}
        for leaf, above in self._climb():
            for height, group in enumerate(above):
                place = (len(paths), above[height:])
                if last.get(group, place) not in (place, (place[0] - 1, place[1])):
                    raise InvalidParameter("tree", group, "this group is in two places", "Write every group once.")
                last[group] = place
            if leaf in paths:
                raise InvalidParameter("tree", leaf, "this value is in two places", "Write every value once.")
            paths[leaf] = (text(leaf), *above)
        if not paths:
            raise InvalidParameter("tree", self.tree, "is empty", "Write Taxonomy({'employed': ['Private', …], …}).")
        return paths

    def _climb(self) -> Iterator[tuple[Any, tuple[str, ...]]]:
        if isinstance(self.tree, Mapping) and all(isinstance(above, str) for above in self.tree.values()):
            return _from_parents(self.tree)
        tree = self.tree
        while isinstance(tree, Mapping) and list(tree) == [EVERYTHING]:
            tree = tree[EVERYTHING]
        return _from_nested(tree, ())


def _from_nested(tree: Any, above: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            yield from _from_nested(below, (str(name), *above))
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for item in tree:
            yield from _from_nested(item, above)
    else:
        yield tree, above


def _from_parents(parents: Mapping[Any, str]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    inner = set(parents.values())
    ways: list[tuple[Any, tuple[str, ...]]] = []
    for leaf in parents:
        if leaf in inner:
            continue
        way: list[str] = []
        node = leaf
        while node in parents and parents[node] != EVERYTHING:
            node = parents[node]
            if node in way:
                raise InvalidParameter("tree", parents, f"{node!r} lies above itself", "Let every way up end at '*'.")
            way.append(node)
        ways.append((leaf, tuple(way)))
    return iter(sorted(ways, key=lambda item: item[1][::-1]))  # what has a common parent side by side


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers or dates; a class is called by its exact range. A class that also lacks some of them is called "*"."""

    def scale(self, kinds: Sequence[Any]) -> Scale:
        """By size."""
        numbers = _numbers(kinds)
        if any(type(end) in (int, float) and abs(end) > _LARGE for end in (*numbers[:1], *numbers[-1:])):
            numbers = [Fraction(number) for number in numbers]
        spread = numbers[-1] - numbers[0] if len(numbers) > 1 else None
        positions = [float((number - numbers[0]) / spread) if spread else 0.0 for number in numbers]
        positions += [2.0] * (len(kinds) - len(numbers))
        return Scale(np.arange(len(kinds)), np.array(positions), kinds, sets=False, show=range_label)


@dataclass(frozen=True, slots=True)
class Sets:
    """Values without a taxonomy, cut in sorted order; a class is called by the set of its values."""

    def scale(self, kinds: Sequence[Any]) -> Scale:
        """As they are sorted."""
        positions = np.arange(len(kinds)) / max(len(kinds) - 1, 1)
        return Scale(np.arange(len(kinds)), positions, kinds, sets=True, show=range_label)


def are_numbers(kinds: Sequence[Any]) -> bool:
    """Whether a column holds numbers or dates only, apart from missing values."""
    types = {type(kind) for kind in kinds} - {type(None)}
    if types and all(issubclass(kind, date) for kind in types):
        with suppress(TypeError):  # days beside instants, or instants of which some have a time zone
            return bool(sorted(kind for kind in kinds if kind is not None))
        return False
    return bool not in types and all(issubclass(kind, Real) for kind in types)


def _numbers(kinds: Sequence[Any]) -> list[Any]:
    if not are_numbers(kinds):
        why = "the column holds values that are not numbers"
        raise InvalidParameter("quasi_identifiers", "Numbers or Ranges", why, "Write Sets(), Flat() or a Taxonomy.")
    numbers = [kind for kind in kinds if kind is not None]
    if numbers and not isinstance(numbers[0], date) and not (-math.inf < numbers[0] and numbers[-1] < math.inf):
        raise InvalidParameter("quasi_identifiers", "Numbers or Ranges", "a number is infinite", "Make it missing.")
    return numbers


def range_label(low: Any, high: Any) -> str:
    """The label of a range that includes both ends.

    >>> range_label(30, 39), range_label(-5, 5), range_label(7, 7)
    ('30–39', '-5 to 5', '7')
    """
    if low == high:
        return text(low)
    return f"{low} to {high}" if isinstance(low, date) or low < 0 else f"{low}–{high}"


def as_written(number: Any) -> Fraction:
    """The number as it is written: 0.1 is a tenth."""
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


def _shown(number: Fraction) -> str:
    return str(int(number) if number.denominator == 1 else float(number))
