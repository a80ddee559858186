"""Hadamard count mean sketch (Apple 2017): one randomised bit of the transformed sketch row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd import hashing
from lapwing.crowd.count_mean_sketch import (
    check_size,
    collision_errors,
    squares_from_pairs,
    sums_at,
)
from lapwing.crowd.counts import Counts
from lapwing.crowd.domains import candidate_list
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ByEpsilon, OpenProtocol
from lapwing.crowd.reports import Column
from lapwing.crowd.threads import parts
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms.probabilities import as_written, flip_probability
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW, MANY = 1 << 15, 1 << 17
"""Reports made, and counted, at a time: what they are computed from stays in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardCountMeanSketch(ByEpsilon, OpenProtocol):
    """Report a random hash function, a random coordinate, and one randomised bit.

    The row of an answer has a one in its cell and zeros elsewhere. It is multiplied by the Hadamard matrix. The sign of
    the coordinate is sent, and flipped with a small probability. Reports are short however wide the sketch is. A count
    mean sketch of the same epsilon has about the same error if epsilon is small, and e^(ε/4) times less if it is large.
    The counts hold, for every function and coordinate, pluses minus minuses.

    Privacy: the bit is flipped with f, about 1/(1 + e^ε), so a report costs ln((1 − f)/f).
    Accuracy: see `estimate`.
    Proof: hadamard_sketch.md

    Args:
        functions: How many hash functions there are, at most 2^24. More of them make collisions of frequent answers
            matter less.
        width: How many cells each function has: a power of two, at most 2^20. More cells make fewer collisions.
        salt: Public text of at most 16 bytes that chooses the hash functions. Take another one for every collection.

    Raises:
        InvalidParameter: If epsilon is not positive, if functions or width is too small or too large, or if width is
            not a power of two.

    >>> print(HadamardCountMeanSketch(epsilon=4, functions=1024, width=32768).privacy_loss())
    ε = 3.99892 (replace, per person)
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
        if width & (width - 1):
            near = 1 << width.bit_length()
            raise InvalidParameter("width", width, "must be a power of two", f"Write width={near}.")
        epsilon = checks.positive(epsilon=self.epsilon)
        self._set(epsilon=as_written(epsilon), _flip=flip_probability(self.epsilon))
        self._set(functions=functions, width=width, _salt=hashing.check_salt(self.salt))

    @property
    def flip(self) -> Fraction:
        """The probability that the bit is flipped."""
        return self._flip

    @property
    def layout(self) -> tuple[Column, ...]:
        """The numbers of the hash function and of the coordinate, and the bit."""
        return (
            Column.number("function", self.functions),
            Column.number("coordinate", self.width),
            Column.bit("minus"),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """A row for each function: pluses minus minuses of each coordinate."""
        return self.functions, self.width

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln((1 − f)/f), rounded up."""
        return self._loss(ln_up((1 - self._flip) / self._flip))

    def estimate(self, state: Counts, candidates: Any, *, confidence: float = 0.95) -> Estimates:
        """How many people gave each of these answers.

        Accuracy: with c = 1/(1 − 2f) and s = ±1 the sign a report sends, times the sign its coordinate has for the
        candidate, m/(m−1)·(Σ c·s − n/m) is unbiased over coins, choice of functions and coordinates, and hash
        functions. The *population* error is of all these: its square is (m/(m−1))²·{n·c² − n_d − Σn_j/m +
        (1/m)(1−1/m)·[(1−1/k)·Σn_j + Σn_j²/k]}, sums over the other answers (Apple 2017, rearranged; Σn_j² is estimated
        from the sketch itself). Drawing the people at random adds n_d(1 − n_d/n): the *sample* error.

        Raises:
            InvalidParameter: If candidates is not a list of answers, or if the counts belong to another protocol.

        >>> sketch = HadamardCountMeanSketch(epsilon=4, functions=64, width=256)
        >>> counts = sketch.absorb(None, sketch.randomize(["cat"] * 7000 + ["dog"] * 3000))
        >>> 6000 < sketch.estimate(counts, ["cat", "owl"])["cat"] < 8000
        True
        """
        import numpy as np

        from lapwing.crowd.hadamard import walsh_hadamard

        self.check_own(state.protocol)
        labels, n, m, c = candidate_list(candidates), state.n, self.width, float(1 / (1 - 2 * self._flip))
        items = hashing.hashed_items(labels, self._salt)
        [cells] = sums_at(walsh_hadamard(state.table)[None], items, hashing.rows(self.functions, self._salt), m)
        counts = (m * c * cells - n) / (m - 1)
        inside = np.clip(counts, 0, n)
        coins = n * c**2 - inside - (n - inside) / m
        squares = squares_from_pairs(self._pairs(state.table, n), n, self.functions, m)
        error, sampling = collision_errors(counts, n, coins, squares, self.functions, m)
        gain = (m * c + 1) / (m - 1)
        return Estimates(labels, n, counts, np.sqrt(error), np.sqrt(error + sampling), gain, confidence)

    def _pairs(self, table: NDArray[np.integer], n: int) -> float:
        """How many ordered pairs of reports of one function share a cell: unbiased, and no transform is needed."""
        import numpy as np

        squares = float(np.einsum("ij,ij->", table, table, dtype=np.float64))
        return self.width * float(1 / (1 - 2 * self._flip)) ** 2 * (squares - n)

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        given = answers.trimmed()
        items = hashing.hashed_items(given.labels, self._salt)
        some = list(parts(len(answers), FEW)) or [slice(0, 0)]
        blocks = [self._reported(items.take(given.places[part]), entropy) for part in some]
        return tuple(np.concatenate(column) for column in zip(*blocks, strict=True))

    def _reported(self, items: hashing.HashInput, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        """A report about each of these items."""
        import numpy as np

        from lapwing.crowd.bits import pack
        from lapwing.crowd.hadamard import signs
        from lapwing.noise import bernoulli_bits, uniform_below

        n = len(items)
        function = uniform_below(self.functions, n, entropy)
        coordinate = uniform_below(self.width, n, entropy)
        places = hashing.cells(items, hashing.rows(self.functions, self._salt)[:, function], self.width)
        minus = pack(signs(coordinate.astype(np.uint64), places.astype(np.uint64)).view(np.bool_))
        minus ^= bernoulli_bits(self._flip, n, entropy)
        first, second, _ = self.layout
        return function.astype(first.dtype), coordinate.astype(second.dtype), minus

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        from lapwing.noise.arrays import unpack

        function, coordinate, minus = columns
        bits = unpack(minus, n)
        table = np.zeros(self.functions * self.width, dtype=np.int64)
        for part in parts(n, MANY):
            places = function[part].astype(np.intp)
            places *= self.width
            places += coordinate[part]
            np.add.at(table, places, 1 - 2 * bits[part].astype(np.int64))
        return table.reshape(self.shape)
