"""Count mean sketch (Apple 2017): a random hash function, and one randomised bit for each of its cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd import hashing
from lapwing.crowd.counts import Counts
from lapwing.crowd.domains import candidate_list
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ByEpsilon, OpenProtocol
from lapwing.crowd.reports import Column
from lapwing.crowd.threads import THREADS, parts, side_by_side
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms.probabilities import as_written, flip_probability
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_FUNCTIONS = 1 << 24
MOST_NUMBERS = 1 << 30
"""An aggregator keeps one for every cell of every function: 8 GB."""
TILE, ITEMS = 1 << 17, 1 << 11
"""Cells, and items, looked up at a time: they and what they are computed from stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountMeanSketch(ByEpsilon, OpenProtocol):
    """Report a random hash function, and one randomised bit for each of its cells.

    It takes any number of possible answers. Only the analyst needs a list of candidates, and may change it afterwards.
    The bit of the answer's cell is one and all others are zero before each bit is flipped with probability f. The
    counts hold the ones of every cell and, in a last column, how many reports each function had.

    Privacy: two answers differ in two cells at most, so a report costs 2·ln((1 − f)/f); f is about 1/(1 + e^(ε/2)).
    Accuracy: see `estimate`.
    Proof: count_mean_sketch.md

    Args:
        functions: How many hash functions there are, at most 2^24. More of them make collisions of frequent answers
            matter less.
        width: How many cells each function has, and bits a report; at most 2^20. More cells make fewer collisions and
            longer reports.
        salt: Public text of at most 16 bytes that chooses the hash functions. Take another one for every collection.

    Raises:
        InvalidParameter: If epsilon is not positive, or if functions or width is too small or too large.

    >>> print(CountMeanSketch(epsilon=4, functions=1024, width=1024).privacy_loss())
    ε = 3.99654 (replace, per person)
    """

    epsilon: Number
    functions: int
    width: int
    salt: str = ""
    _flip: Fraction = field(init=False, repr=False, compare=False)
    _salt: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        OpenProtocol.__post_init__(self)
        functions, width = check_size(self.functions, self.width)
        epsilon = checked_epsilon(epsilon=self.epsilon)
        self._set(epsilon=as_written(epsilon), _flip=flip_probability(epsilon / 2))
        self._set(functions=functions, width=width, _salt=hashing.check_salt(self.salt))

    @property
    def flip(self) -> Fraction:
        """The probability that a bit is flipped."""
        return self._flip

    @property
    def layout(self) -> tuple[Column, ...]:
        """The number of the hash function, and a bit for each of its cells."""
        return Column.number("function", self.functions), Column.row("bits", self.width)

    @property
    def shape(self) -> tuple[int, ...]:
        """A row for each function: the ones of each cell, then the number of reports."""
        return self.functions, self.width + 1

    def privacy_loss(self) -> PureDP:
        """What one report costs: 2·ln((1 − f)/f), rounded up."""
        return self._loss(2 * ln_up((1 - self._flip) / self._flip))

    def estimate(self, state: Counts, candidates: Any, *, confidence: float = 0.95) -> Estimates:
        """How many people gave each of these answers.

        Accuracy: m/(m−1)·(Σ (b − f)/(1 − 2f) − n/m), b being the bit in the candidate's cell of each report, is
        unbiased over coins, choice of functions and hash functions. The *population* error is of all three: with n_j
        people behind the other answers its square is (m/(m−1))²·{n·f(1−f)/(1−2f)² + (1/m)(1−1/m)·[(1−1/k)·Σn_j +
        Σn_j²/k]} (Apple 2017; Σn_j² is estimated from the sketch itself). Drawing the people at random adds n_d(1 −
        n_d/n): the *sample* error. Several collections with one salt have the same collisions: that part of the error
        (the square bracket) does not average out.

        Raises:
            InvalidParameter: If candidates is not a list of answers, or if the counts belong to another protocol.

        >>> sketch = CountMeanSketch(epsilon=4, functions=64, width=256)
        >>> counts = sketch.absorb(None, sketch.randomize(["cat"] * 7000 + ["dog"] * 3000))
        >>> estimates = sketch.estimate(counts, ["cat", "owl"])
        >>> 6000 < estimates["cat"] < 8000, -1000 < estimates["owl"] < 1000
        (True, True)
        """
        self.check_own(state.protocol)
        labels = candidate_list(candidates)
        items = hashing.hashed_items(labels, self._salt)
        [cells] = self.look_up(state.table[None], items)
        return self.estimates_from(labels, cells, state.table, state.n, confidence)

    def look_up(self, tables: NDArray[np.integer], items: hashing.HashInput) -> NDArray[np.int64]:
        """The ones in the cells of each item, over all functions together, in each of several tables.

        Args:
            tables: Counted tables of this shape, one after another.
            items: The hashed candidates.

        Returns:
            One row for each table, one number for each item.
        """
        return sums_at(tables, items, hashing.rows(self.functions, self._salt), self.width)

    def estimates_from(
        self, labels: Sequence[Any], cells: NDArray[np.int64], table: NDArray[np.integer], n: int, confidence: float
    ) -> Estimates:
        """Estimates from the ones in the cells of each label.

        Args:
            labels: The candidates.
            cells: For each candidate, what `look_up` found.
            table: The counted table, from which the error of collisions is estimated.
            n: How many reports were counted.
            confidence: Probability that an interval contains the true number.

        Returns:
            The estimated count of every candidate.
        """
        import numpy as np

        f, apart, m = float(self._flip), float(1 - 2 * self._flip), self.width
        counts = (m * (cells - n * f) / apart - n) / (m - 1)
        squares = squares_from_pairs(self._pairs(table, n), n, self.functions, m)
        coins = n * f * (1 - f) / apart**2
        error, sampling = collision_errors(counts, n, coins, squares, self.functions, m)
        gain = (m * (1 - f) / apart - 1) / (m - 1)
        return Estimates(labels, n, counts, np.sqrt(error), np.sqrt(error + sampling), gain, confidence)

    def values(self, table: NDArray[np.integer]) -> NDArray[np.float64]:
        """What each cell of each function adds to the estimate of an answer in it.

        Args:
            table: The counted table.

        Returns:
            One row for each function, one number for each cell.

        >>> sketch = CountMeanSketch(epsilon=4, functions=64, width=256)
        >>> sketch.values(sketch.empty().table).shape
        (64, 256)
        """
        f, apart, m = float(self._flip), float(1 - 2 * self._flip), self.width
        ones, reports = table[:, :m], table[:, m:]
        added: NDArray[np.float64] = (m * (ones - f * reports) / apart - reports) / (m - 1)
        return added

    def _pairs(self, table: NDArray[np.integer], n: int) -> float:
        """How many ordered pairs of reports of one function share a cell: unbiased."""
        import numpy as np

        f, apart, m = float(self._flip), float(1 - 2 * self._flip), self.width

        def squared(part: slice) -> float:
            ones, reports = table[part, :m], table[part, m]
            plain = np.einsum("ij,ij->i", ones, ones, dtype=np.float64)
            return float((plain - 2 * f * reports * ones.sum(axis=1) + m * (f * reports) ** 2).sum())

        shared = sum(side_by_side(squared, list(parts(len(table), max(1, (1 << 18) // m))))) / apart**2
        return float(shared) - n * (1 + m * f * (1 - f) / apart**2)

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        return self._reported(hashed_answers(answers, self._salt), entropy)

    def _reported(self, items: hashing.HashInput, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        """A report about each of these items."""
        import numpy as np

        from lapwing.crowd.bits import noise_rows, put
        from lapwing.noise import bernoulli, uniform_below

        n = len(items)
        function = uniform_below(self.functions, n, entropy)
        places = hashing.cells(items, hashing.rows(self.functions, self._salt)[:, function], self.width)
        rows = noise_rows(n, self.width, self._flip, entropy)
        put(rows, np.arange(n), places, bernoulli(1 - self._flip, n, entropy))
        return function.astype(self.layout[0].dtype), rows

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        function, rows = columns
        table = np.zeros(self.shape, dtype=np.int64)
        count_ones(rows, function, table)
        return table


def check_size(functions: object, width: object, tables: int = 1) -> tuple[int, int]:
    """Whole numbers; sketches of no use or of no end are refused."""
    k, m = checks.whole(functions=functions), checks.whole(minimum=2, width=width)
    if k > MOST_FUNCTIONS:
        raise InvalidParameter("functions", functions, f"is more than {MOST_FUNCTIONS:,}", "Write functions=1024.")
    if m > hashing.LARGEST_WIDTH:
        raise InvalidParameter("width", width, f"is more than {hashing.LARGEST_WIDTH:,}", "Write width=1024.")
    if tables * k * m > MOST_NUMBERS:
        why = f"makes more than {MOST_NUMBERS:,} numbers to keep"
        raise InvalidParameter("functions", functions, why, "Use fewer functions or fewer cells.")
    return k, m


def checked_epsilon(**named: Number) -> Fraction:
    """An epsilon of which each of two bits can take half, as an exact `Fraction`."""
    [(name, value)] = named.items()
    epsilon = checks.positive(**named)
    try:
        flip_probability(epsilon / 2)
    except InvalidParameter:
        why = "gives no protection" if epsilon > 1 else "is so small that reports would say nothing"
        raise InvalidParameter(name, value, why, f"Write {name}=4, for example.") from None
    return epsilon


def hashed_answers(answers: Answers, salt: bytes) -> hashing.HashInput:
    """Everybody's answer as hash functions need it; an answer that nobody gives here is not hashed."""
    given = answers.trimmed()
    return hashing.hashed_items(given.labels, salt).take(given.places)


def count_ones(rows: NDArray[np.uint64], groups: NDArray[np.integer], table: NDArray[np.int64]) -> None:
    """Fill a table with the ones of every column of each group of rows, and in its last column their number."""
    import numpy as np

    from lapwing.crowd.bits import grouped_column_counts

    size, width = len(table), table.shape[1] - 1
    table[:, width] = np.bincount(groups, minlength=size)
    for here, ones in grouped_column_counts(rows, groups, size, width):
        table[here, :width] = ones


def sums_at(
    tables: NDArray[np.integer], items: hashing.HashInput, coefficients: NDArray[np.float64], width: int
) -> NDArray[np.int64]:
    """In each of several tables with a row per function: the sum of an item's cells, one in every row.

    Hash functions are computed once for all tables, for as many functions and items at a time as the cache holds.
    """
    import numpy as np

    def half(part: slice) -> NDArray[np.int64]:
        out = np.zeros((len(tables), len(items)), dtype=np.int64)
        for some in parts(len(items), ITEMS):
            matrix = hashing.matrix_of(items.take(some))
            for here in parts(part.stop - part.start, max(1, TILE // matrix.shape[1])):
                chosen = slice(part.start + here.start, part.start + here.stop)
                places = hashing.all_cells(matrix, coefficients[:, chosen], width)
                places += (np.arange(len(places)) * tables.shape[2])[:, None]  # a row of the table for each function
                for table, total in zip(tables, out, strict=True):
                    total[some] += table[chosen].ravel().take(places, mode="clip").sum(axis=0)
        return out

    functions = tables.shape[1]
    halves = side_by_side(half, list(parts(functions, -(-functions // THREADS))))
    return np.asarray(sum(halves[1:], start=halves[0]))


def squares_from_pairs(pairs: float, n: int, functions: int, width: int) -> float:
    """Σ n_j², if so many ordered pairs of reports of one function share a cell: equal answers do, others by chance.

    E(pairs) = (1/k)·[Σn_j² − n + (n² − Σn_j²)/m].
    """
    return (functions * pairs + n - n * n / width) / (1 - 1 / width)


def collision_errors(
    counts: NDArray[np.float64], n: int, coins: float | NDArray[np.float64], squares: float, functions: int, width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The variance of coins and collisions, and what drawing the people adds, with estimates in the place of counts.

    An estimate squared is larger than the count squared by the variance itself, on average: the last division undoes
    it. One function of two cells tells nothing about its collisions, so that the error is infinite.
    """
    import numpy as np

    inside = np.clip(counts, 0, n)
    others = np.clip(squares - counts**2, 0.0, float(n) * n)
    shared = (1 - 1 / functions) * (n - inside) + others / functions
    error = (width / (width - 1)) ** 2 * (coins + (1 - 1 / width) / width * shared)
    known = 1 - 1 / (functions * (width - 1))
    error = error / known if known else np.full_like(inside, np.inf)
    return error, inside * (1 - inside / max(n, 1))
