"""Public domains of columns, and how a row becomes bits, which its owner splits into two shares.

    Listed   one bit for each value that a column can have, and one more for any other value or none
    Numbers  the same for whole numbers between bounds; one beyond a bound counts as the bound
    Digits   a whole number between bounds: whether there is one, and its digits
    Layout   where the bits of all columns are in a row, and those of the products that come with it

Nothing is read from data: whoever runs the two servers writes domains down. Proof: uploads.md
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from lapwing import checks
from lapwing.curator.plan.expressions import Column, Kind
from lapwing.curator.plan.values import value_of
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.pair.transfers import Bits, random_bits
from lapwing.privacy import Relation

MOST_LISTED = 1024
"""A column with more values is one of digits, or has bins."""
WIDEST = 40
"""Digits of a number."""
MOST_BITS = 24_000
"""Of a row with its products, for one server: three kilobytes."""


@dataclass(frozen=True, slots=True)
class Domain(ABC):
    """What is publicly known about a column."""

    name: str
    kind: Kind

    @property
    @abstractmethod
    def size(self) -> int:
        """How many bits it has."""

    @abstractmethod
    def encoded(self, cells: Sequence[Any]) -> Bits:
        """One column of bits for each cell."""

    @abstractmethod
    def column(self) -> Column:
        """As questions see it."""

    def read(self, cell: Any) -> Any:
        """The value that a cell stands for, or None: a cell of another kind is none, as everywhere."""
        try:
            if isinstance(cell, float) and self.kind == "integer" and cell.is_integer():
                cell = int(cell)
            return value_of(cell, self.kind)
        except (ValueError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Listed(Domain):
    """A column of which every value is named: exactly one of its bits is set."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.values) <= MOST_LISTED or len(set(self.values)) < len(self.values):
            why = f"must have between 1 and {MOST_LISTED:,} different values"
            raise InvalidParameter("values", self.name, why, "Name them, or give a number its bounds instead.")
        if any(value is None or self.read(value) != value for value in self.values):
            raise InvalidParameter(
                "values", self.name, f"has a value that is not of type {self.kind}", "Write type: text."
            )

    @property
    def size(self) -> int:
        return len(self.values) + 1

    @property
    def contents(self) -> tuple[Any, ...]:
        """What each bit stands for; the last for any other value or none."""
        return (*self.values, None)

    def encoded(self, cells: Sequence[Any]) -> Bits:
        places, none = {value: place for place, value in enumerate(self.values)}, len(self.values)
        bits = np.zeros((self.size, len(cells)), dtype=np.bool_)
        bits[[places.get(self._listed(self.read(cell)), none) for cell in cells], np.arange(len(cells))] = True
        return bits

    def _listed(self, value: Any) -> Any:
        """What a value counts as."""
        return value

    def column(self) -> Column:
        bounds = None
        if self.kind in ("integer", "number"):
            bounds = checks.interval(bounds=(min(self.values), max(self.values))) if len(self.values) > 1 else None
        return Column(self.name, self.kind, bounds=bounds, keys=self.values)


@dataclass(frozen=True, slots=True)
class Numbers(Listed):
    """Whole numbers between bounds, few enough to list them. One beyond a bound counts as the bound, as everywhere."""

    @classmethod
    def of(cls, name: str, low: int, high: int) -> Numbers:
        """With these bounds."""
        return cls(name, "integer", tuple(range(low, high + 1)))

    @property
    def low(self) -> int:
        """The lower bound."""
        return int(self.values[0])

    @property
    def high(self) -> int:
        """The upper bound."""
        return int(self.values[-1])

    def _listed(self, value: Any) -> Any:
        return None if value is None else min(max(value, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Binned(Listed):
    """Ranges of a number, each a value of its own: from an edge up to the next one, the last range closed."""

    edges: tuple[float, ...] = ()

    @classmethod
    def of(cls, name: str, edges: Sequence[Any]) -> Binned:
        """With these edges."""
        ends = tuple(float(edge) for edge in edges)
        if len(ends) < 2 or any(not low < high for low, high in pairwise(ends)):
            raise InvalidParameter("bins", name, "must be at least two rising numbers", "Write bins: [0, 10, 20].")
        return cls(name, "text", tuple(f"{low:g} – {high:g}" for low, high in pairwise(ends)), ends)

    def read(self, cell: Any) -> Any:
        """The range of a number; a range stands for itself."""
        if cell in self.values:
            return cell
        if isinstance(cell, bool) or not isinstance(cell, int | float) or not self.edges[0] <= cell <= self.edges[-1]:
            return None
        return self.values[min(bisect_right(self.edges, cell), len(self.values)) - 1]


@dataclass(frozen=True, slots=True)
class Digits(Domain):
    """A whole number with too many values to list them.

    The digits count 1, 2, 4 … and the last one what is left, so that all of them together are the distance of the
    bounds: no choice of bits is beyond a bound.
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 < self.high - self.low < 1 << WIDEST:
            why = f"must be two whole numbers, less than 2^{WIDEST} apart"
            raise InvalidParameter("bounds", (self.low, self.high), why, "Write bounds: [0, 100000].")

    @property
    def weights(self) -> tuple[int, ...]:
        """What each digit counts."""
        reach = self.high - self.low
        weights = [1 << place for place in range(reach.bit_length() - 1)]
        return (*weights, reach - sum(weights))

    @property
    def size(self) -> int:
        return 1 + len(self.weights)

    def encoded(self, cells: Sequence[Any]) -> Bits:
        bits = np.zeros((self.size, len(cells)), dtype=np.bool_)
        for place, cell in enumerate(cells):
            value = self.read(cell)
            if value is not None:
                bits[:, place] = self._bits(min(max(value, self.low), self.high) - self.low)
        return bits

    def _bits(self, distance: int) -> list[bool]:
        *lower, last = self.weights
        top = distance >= last
        rest = distance - last if top else distance
        if not top and rest > sum(lower):  # cannot be: the last digit is at most one more than the others together
            raise AssertionError(distance)
        return [True, *(bool(rest & weight) for weight in lower), top]

    def column(self) -> Column:
        return Column(self.name, self.kind, bounds=checks.interval(bounds=(self.low, self.high)))


@dataclass(frozen=True)
class Layout:
    """Where the bits of a row are. `products` says how often each column can be multiplied with a secret bit in all.

    A *product* is a random bit a with a ∧ h for every bit h of a column: it turns one secret bit into the column's bits
    where that bit is set, by opening one masked bit. Each is used once.
    """

    domains: tuple[Domain, ...]
    relation: Relation = "replace"
    products: int = 16

    def __post_init__(self) -> None:
        names = [domain.name for domain in self.domains]
        if not names or len(set(names)) < len(names):
            raise InvalidParameter("columns", names, "must have different names", "Name every column once.")
        checks.one_of(("replace", "add_remove"), relation=self.relation)
        checks.whole(minimum=0, products=self.products)
        if self.bits > MOST_BITS:
            why = f"a row would have {self.bits:,} bits with its products, and {MOST_BITS:,} is the most"
            raise InvalidParameter("products", self.products, why, "List fewer values, or write fewer products.")

    @cached_property
    def by_name(self) -> Mapping[str, Domain]:
        """The domains by their names."""
        return {domain.name: domain for domain in self.domains}

    @property
    def presence(self) -> int:
        """How many bits say whether there is a person at all: none where everybody who uploads counts."""
        return int(self.relation == "add_remove")

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Of each column in a row."""
        return dict(self._places(self.presence, 0))

    def _places(self, start: int, before: int) -> Iterator[tuple[str, slice]]:
        for domain in self.domains:
            start += before
            yield domain.name, slice(start, start + domain.size)
            start += domain.size

    @cached_property
    def row_bits(self) -> int:
        """Of a row without its products."""
        return self.presence + sum(domain.size for domain in self.domains)

    @cached_property
    def product_bits(self) -> int:
        """Of one product of every column."""
        return sum(1 + domain.size for domain in self.domains)

    @property
    def bits(self) -> int:
        """Of a row with its products."""
        return self.row_bits + self.products * self.product_bits

    @property
    def bytes(self) -> int:
        """Of what one server gets of one owner."""
        return -(-self.bits // 8)

    def product(self, column: str, number: int) -> tuple[int, slice]:
        """Where the random bit of a product is, and where its bits are."""
        if not 0 <= number < self.products:
            raise IndexError(number)
        place = dict(self._places(self.row_bits + number * self.product_bits, 1))[column]
        return place.start - 1, place

    def encoded(self, table: Mapping[str, Sequence[Any]]) -> Bits:
        """Rows as bits, one column each, without products. A row of an absent person is all zeros: give it as None."""
        bits = [domain.encoded(table[domain.name]) for domain in self.domains]
        if self.presence:
            bits.insert(0, np.ones((1, bits[0].shape[1]), dtype=np.bool_))
        return np.concatenate(bits)

    def absent(self, count: int = 1) -> Bits:
        """Rows of people who are not there."""
        if not self.presence:
            why = "everybody who uploads is counted here"
            raise InvalidParameter("relation", self.relation, why, "Write relation: add_remove in the file.")
        return np.zeros((self.row_bits, count), dtype=np.bool_)

    def with_products(self, rows: Bits, entropy: Entropy = SYSTEM) -> Bits:
        """The same rows with fresh products."""
        count = rows.shape[1]
        parts = [rows]
        for _ in range(self.products):
            for domain in self.domains:
                mask = random_bits(count, entropy)
                parts += [mask[None], mask & rows[self.places[domain.name]]]
        return np.concatenate(parts)


def split(bits: Bits, entropy: Entropy = SYSTEM) -> tuple[list[bytes], list[bytes]]:
    """What each server gets of every row: random bits, and the rows XORed with them."""
    count = bits.shape[1]
    size = -(-len(bits) // 8)
    packed = np.packbits(bits.T, axis=1, bitorder="little")
    words = entropy.words(-(-size * count // 8), np.uint64)
    pad = words.view(np.uint8)[: size * count].reshape(count, size)
    return [row.tobytes() for row in pad], [row.tobytes() for row in packed ^ pad]


def joined(shares: Sequence[bytes], bits: int) -> Bits:
    """The bits of many rows, one row each, that came as bytes."""
    data = np.frombuffer(b"".join(shares), dtype=np.uint8).reshape(len(shares), -1)
    return np.unpackbits(data, axis=1, count=bits, bitorder="little").T.astype(np.bool_)
