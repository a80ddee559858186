"""Counts over public keys or public bin edges, each with discrete Laplace noise, for one epsilon in all."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.grid import quotient
from lapwing.mechanisms.laplace import Laplace
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import LARGEST_STEPS, as_column, column_values, place_of, places_of, ratio_of, values_of
from lapwing.mechanisms.solve import Solvable
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram(Solvable, Mechanism):
    """How many records have each key, or fall into each bin. Every key and bin is public and always answered.

    Give either `keys` or `edges`. A record elsewhere (unknown, out of range, missing, not a number) is dropped, or
    counted
    under an extra label. Labels of bins are pairs (low, high).

    Privacy: pure ε. One record changes one count by 1; under replace it may lower one and raise another.
    Proof: histogram.md

    Args:
        keys: The labels to count: any hashable values, fixed without looking at the data.
        edges: Increasing numbers. Bin i holds edges[i] ≤ x < edges[i+1], the last bin also its upper edge.
        everything_else: Count all other records under the extra label `Histogram.ELSE`.
        max_rows_per_unit: How many records one unit owns at most. Enforce it before: the mechanism does not check it.

    Raises:
        InvalidParameter: If neither or both of keys and edges are given, if keys repeat or edges do not rise, if
            epsilon is not positive, or if max_rows_per_unit is not a whole number from 1 on.

    >>> counts = Histogram(epsilon=1, keys=["yes", "no"]).release(["yes", "no", "yes"])
    >>> list(counts)
    ['yes', 'no']
    >>> Histogram(epsilon=1, keys=range(10_000)).accuracy(0.95, simultaneous=True)
    12.0
    """

    ELSE: ClassVar[str] = "everything else"

    epsilon: Number
    keys: Sequence[Hashable] | None = None
    edges: Sequence[Number] | None = None
    everything_else: bool = False
    max_rows_per_unit: int = 1
    _labels: tuple[Hashable, ...] = field(init=False, repr=False, compare=False)
    _places: dict[Any, int] = field(init=False, repr=False, compare=False)
    _edges: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _noise: Laplace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        rows = checks.whole(max_rows_per_unit=self.max_rows_per_unit)
        bins, edges = self._bins()
        labels = (*bins, self.ELSE) if checks.true_or_false(everything_else=self.everything_else) else bins
        places_of(labels, keys=self.keys)
        noise = Laplace(
            epsilon=self.epsilon,
            sensitivity=rows if self.relation == "add_remove" else 2 * rows,
            dimensions=len(labels),
            on_grid=True,
            relation=self.relation,
            unit=self.unit,
        )
        self._set(_labels=labels, _places=places_of(bins, keys=self.keys), _edges=edges, _noise=noise)

    def _bins(self) -> tuple[tuple[Hashable, ...], tuple[float, ...]]:
        if (self.keys is None) == (self.edges is None):
            raise InvalidParameter(
                "keys", self.keys, "give either keys or edges", "Write keys=['a', 'b'] or edges=[0, 10, 20]."
            )
        if self.edges is not None:
            given = self.edges
            exact = checks.numbers(_sequence(edges=given), edges=given)
            edges = tuple(quotient(edge.numerator, edge.denominator) for edge in exact)
            self._set(edges=edges)
            if len(edges) < 2 or not all(
                -math.inf < left < right < math.inf for left, right in itertools.pairwise(edges)
            ):
                raise InvalidParameter(
                    "edges", given, "must be two or more increasing floats", "Write edges=[0, 10, 20]."
                )
            return tuple(itertools.pairwise(edges)), edges
        keys = _sequence(keys=self.keys)
        self._set(keys=keys)
        if not keys:
            raise InvalidParameter("keys", "<keys>", "there is no key", "Write keys=['a', 'b'].")
        return keys, ()

    def privacy_loss(self) -> PureDP:
        """Pure ε, for all counts together.

        >>> print(Histogram(epsilon=1, keys=["yes", "no"]).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        return self._noise.privacy_loss()

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> dict[Any, int]:
        """The noisy counts by label.

        Args:
            data: The records: a list, an array or a column.

        Returns:
            A count for every label, in the declared order. Counts may be negative.

        >>> list(Histogram(epsilon=1, keys=["yes", "no"]).release(["yes", "no", "yes"]))
        ['yes', 'no']
        """
        return dict(zip(self._labels, self._noise.release(self._counts(data), entropy), strict=True))

    def accuracy(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """How far a count may be off.

        Args:
            simultaneous: Bound the errors of all counts together (a union bound) instead of each one alone.

        >>> Histogram(epsilon=1, keys=["yes", "no"]).accuracy()
        3.0
        """
        return self._noise.accuracy(confidence, simultaneous=simultaneous)

    @property
    def variance(self) -> float:
        """The variance of each count."""
        return self._noise.variance

    def _counts(self, records: Any) -> list[int]:
        listed = as_column(records)
        if self._edges:
            counts = self._by_edges(listed)
        else:
            tally = self._tally(listed if isinstance(listed, list) else column_values(listed.ravel()))
            counts = [tally[place] for place in range(len(self._places))]
        size = len(listed) if isinstance(listed, list) else listed.size
        return [*counts, size - sum(counts)] if self.everything_else else counts

    def _tally(self, records: list[Any]) -> Counter[int | None]:
        """How often each key occurs. A record is compared with keys, never with other records."""
        try:
            return Counter(map(self._places.get, records))
        except Exception:  # one of them cannot be hashed or compared
            return Counter(place_of(record, self._places) for record in records)

    def _by_edges(self, records: list[Any] | NDArray[Any]) -> list[int]:
        bins = len(self._edges) - 1
        if not isinstance(records, list) and self._fits_doubles(records.dtype):
            import numpy as np

            flat = records.ravel().astype(np.float64)
            places = np.searchsorted(np.array(self._edges), flat, side="right")
            places[flat == self._edges[-1]] = bins
            return np.bincount(places, minlength=bins + 2)[1 : bins + 1].tolist()  # type: ignore[no-any-return]
        counts = [0] * (bins + 2)
        for value in records if isinstance(records, list) else column_values(records.ravel()):
            counts[self._place(value)] += 1
        return counts[1:-1]

    def _fits_doubles(self, dtype: Any) -> bool:
        """Whether doubles tell on which side of every edge such a value lies; large whole numbers may be rounded."""
        if dtype.kind in "iu":
            return max(-self._edges[0], self._edges[-1]) < LARGEST_STEPS
        return dtype.kind in "bf" and dtype.itemsize <= 8

    def _place(self, value: Any) -> int:
        """The bin, counted from 1; 0 and the number after the last bin lie outside."""
        try:
            if not isinstance(value, (int, float, Decimal)):
                value = Fraction(*ratio_of(value))  # type: ignore[misc]
            return len(self._edges) - 1 if value == self._edges[-1] else bisect_right(self._edges, value)
        except Exception:  # not a number: outside, and not an error, which would tell
            return 0


def _sequence(**named: object) -> tuple[Any, ...]:
    """Labels or edges as a tuple."""
    [(name, value)] = named.items()
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidParameter(name, value, "must be a list", f"Write {name}=[…], fixed without looking at the data.")
    return tuple(values_of(value))
