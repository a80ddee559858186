"""Optimised local hashing: a random hash function, and randomised response between its few cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd import hashing
from lapwing.crowd.count_mean_sketch import sums_at
from lapwing.crowd.counts import Counts
from lapwing.crowd.domains import Domain, candidate_list, domain_of
from lapwing.crowd.estimates import Estimates, from_support
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ByEpsilon, OpenProtocol
from lapwing.crowd.reports import Column
from lapwing.crowd.threads import parts
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_down, ln_up
from lapwing.mechanisms.probabilities import as_written, flip_probability
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_FUNCTIONS = 1 << 24
LARGEST_TABLE = 1 << 27
"""Numbers that an aggregator keeps, at most: 1 GB."""
MOST_CELLS = 1 << 16
CHUNK = 1 << 14
"""People, or functions, handled at a time: a few arrays of them stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalHashing(ByEpsilon, OpenProtocol):
    """Report a random public hash function, and the randomised cell that it puts the answer into.

    Any text or whole number can be an answer. The analyst names candidates afterwards, or estimates the `domain`.
    People share a limited number of functions, so the time to estimate does not depend on the number of reports
    (Cormode, Maddock and Maple 2021). This adds a little to the error.

    Privacy: the function does not depend on the answer; the cell costs ln(p/q), p for the true cell, q for any other.
    Accuracy: see `estimate`.
    Proof: local_hashing.md

    Args:
        domain: The public list of possible answers, or a number k for the answers 0 … k − 1. None if candidates are
            named in `estimate`.
        functions: How many hash functions there are: a power of two. More make a smaller error and larger counts.
        cells: How many cells each function has. None takes the number with the least error, about e^ε + 1 (Wang,
            Blocki, Li and Jha 2017).
        salt: Public text of at most 16 bytes that chooses the hash functions. Take another one for every collection.

    Raises:
        InvalidParameter: If epsilon is not positive, if functions is not a power of two up to the limit, if cells is
            too large, or if the domain has fewer than two answers or names one twice.

    >>> print(LocalHashing(epsilon=2).privacy_loss())
    ε = 1.99939 (replace, per person)
    """

    epsilon: Number
    domain: Domain | None = None
    functions: int = 1 << 16
    cells: int | None = None
    salt: str = ""
    _labels: Sequence[Any] | None = field(init=False, repr=False, compare=False)
    _salt: bytes = field(init=False, repr=False, compare=False)
    _width: int = field(init=False, repr=False, compare=False)
    _other: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        OpenProtocol.__post_init__(self)
        epsilon, functions = checks.positive(epsilon=self.epsilon), checks.whole(functions=self.functions)
        if functions & (functions - 1) or functions > MOST_FUNCTIONS:
            why = f"must be a power of two, at most {MOST_FUNCTIONS:,}"
            raise InvalidParameter("functions", functions, why, "Write functions=65536.")
        most = min(LARGEST_TABLE // functions, MOST_CELLS)
        width = best_cells(epsilon, most) if self.cells is None else checks.whole(minimum=2, cells=self.cells)
        if width > most:
            why = f"must be at most {most:,} with {functions:,} functions"
            raise InvalidParameter("cells", width, why, "Write cells=None for the least error.")
        labels, index = (None, None) if self.domain is None else domain_of(self.domain)
        if index is not None:
            hashing.different_items(labels or (), domain=self.domain)
        domain = len(labels) if labels is not None and index is None else labels
        self._set(epsilon=as_written(epsilon), functions=functions, cells=width, domain=domain)
        other = flip_probability(epsilon, others=width - 1)
        self._set(_labels=labels, _salt=hashing.check_salt(self.salt), _width=width, _other=other)

    @property
    def layout(self) -> tuple[Column, ...]:
        """The numbers of the hash function and of the cell."""
        return Column.number("function", self.functions), Column.number("cell", self._width)

    @property
    def shape(self) -> tuple[int, ...]:
        """A row for each function: how many reports name each cell."""
        return self.functions, self._width

    @property
    def block(self) -> int:
        """How many reports are drawn at a time."""
        return 1 << 18

    @property
    def _true(self) -> Fraction:
        return 1 - (self._width - 1) * self._other

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln(p/q), rounded up, with p = 1 − (cells − 1)·q."""
        return self._loss(ln_up(self._true / self._other))

    def estimate(self, state: Counts, candidates: Any = None, *, confidence: float = 0.95) -> Estimates:
        """How many people gave each of these answers.

        Accuracy: a report supports the answers in its cell. `from_support` with 1/cells for others is unbiased over
        coins, choice of functions and hash functions, and so are its errors, plus Σ c(c−1)/(functions·(cells−1)) over
        the other answers and their counts c: people with the same answer collide together. Both errors contain it.
        Several collections with one salt have the same collisions: this part of the error does not average out.

        Args:
            candidates: The answers to count: texts or whole numbers. None takes the whole domain.

        Raises:
            InvalidParameter: If there are neither candidates nor a domain.

        >>> poll = LocalHashing(epsilon=2)
        >>> counts = poll.absorb(None, poll.randomize(["cat"] * 7000 + ["dog"] * 3000))
        >>> 6000 < poll.estimate(counts, ["cat", "owl"])["cat"] < 8000
        True
        """
        import numpy as np

        self.check_own(state.protocol)
        labels = self._labels if candidates is None else candidate_list(candidates)
        if labels is None:
            raise InvalidParameter("candidates", None, "are not known without a domain", "Write candidates=['a', 'b'].")
        estimates = from_support(
            labels,
            self._support(state.table, labels),
            state.n,
            if_true=self._true,
            if_other=Fraction(1, self._width),
            confidence=confidence,
        )
        inside = np.clip(estimates.counts, 0, state.n)
        pairs = np.maximum(self.equal_pairs(state) - inside * (inside - 1), 0)
        shared = pairs / (self.functions * (self._width - 1))
        return replace(
            estimates,
            population_standard_error=np.sqrt(estimates.population_standard_error**2 + shared),
            sample_standard_error=np.sqrt(estimates.sample_standard_error**2 + shared),
        )

    def equal_pairs(self, state: Counts) -> float:
        """An unbiased estimate of Σ c(c−1), the ordered pairs of people with the same answer, cut to 0 … n(n−1).

        Accuracy: two reports with one function fall into the same cell with a probability larger by
        (p−q)²(1−1/cells) if the answers are the same, and a pair shares the function once in `functions` times.

        Args:
            state: Counts of this protocol.

        Returns:
            The estimated number of ordered pairs.

        >>> poll = LocalHashing(epsilon=4, functions=16)
        >>> counts = poll.absorb(None, poll.randomize(["cat"] * 7000 + ["dog"] * 3000))
        >>> 0.4 < poll.equal_pairs(counts) / 10_000**2 < 0.8  # 0.7 times 0.7 and 0.3 times 0.3
        True
        """
        import numpy as np

        table = state.table.astype(np.float64)
        each = table.sum(axis=1)
        same = float((table * (table - 1)).sum()) - float((each * (each - 1)).sum()) / self._width
        more = float((self._true - self._other) ** 2) * (1 - 1 / self._width)
        return float(min(max(self.functions * same / more, 0.0), state.n * (state.n - 1.0)))

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        given = np.bincount(answers.places, minlength=len(answers.labels)) > 0
        items = hashing.hashed_items([answers.labels[i] for i in np.flatnonzero(given).tolist()], self._salt)
        place = np.cumsum(given) - 1  # among the labels that somebody gives
        together = np.ascontiguousarray(hashing.rows(self.functions, self._salt).T)
        function_type, cell_type = (np.dtype(column.dtype).type for column in self.layout)
        function = entropy.words(len(answers), function_type)
        function &= function_type(self.functions - 1)
        cell = np.empty(len(answers), dtype=cell_type)
        for part in parts(len(answers), CHUNK):
            mine = together.take(function[part], axis=0).T
            cell[part] = hashing.cells(items.take(place.take(answers.places[part])), mine, self._width)
            randomize_cells(cell[part], self._width, self._other, entropy)
        return function, cell

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        places = columns[0].astype(np.intp)
        places *= self._width
        places += columns[1]
        return np.bincount(places, minlength=self.functions * self._width).reshape(self.shape)

    def _support(self, table: NDArray[np.integer], labels: Sequence[Any]) -> NDArray[np.int64]:
        """How many reports name the cell of each label: the sum over the functions that occur."""
        import numpy as np

        occur = np.flatnonzero(table.any(axis=1))
        if not len(occur):
            return np.zeros(len(labels), dtype=np.int64)
        coefficients = hashing.rows(self.functions, self._salt)
        some = len(occur) < self.functions
        support: NDArray[np.int64] = sums_at(
            (table[occur] if some else table)[None],
            hashing.hashed_items(labels, self._salt),
            coefficients[:, occur] if some else coefficients,
            self._width,
        )[0]
        return support


def randomize_cells(cell: NDArray[Any], count: int, other: Fraction, entropy: Entropy) -> None:
    """Randomized response between `count` cells, in place: every wrong cell gets exactly the probability `other`.

    With probability count·other a uniform cell takes the place of the true one.
    """
    from lapwing.noise import bernoulli, uniform_below

    change = uniform_below(count, len(cell), entropy).astype(cell.dtype)
    change ^= cell
    change *= bernoulli(count * other, len(cell), entropy)
    cell ^= change


def best_cells(epsilon: Fraction, most: int) -> int:
    """The number of cells with the least variance of a rare answer: next to e^ε + 1."""
    near = min(int(exp_down(min(epsilon, Fraction(64)))) + 2, most)
    return min(range(max(2, near - 2), near + 1), key=lambda count: relative_variance(epsilon, count))


def relative_variance(epsilon: Fraction, count: int) -> Fraction:
    """(1/g)(1 − 1/g)/(p − 1/g)² with g cells, of which the true one has p = e^ε/(e^ε + g − 1)."""
    odds = exp_down(min(epsilon, Fraction(64)))
    return (odds + count - 1) ** 2 / ((count - 1) * (odds - 1) ** 2)
