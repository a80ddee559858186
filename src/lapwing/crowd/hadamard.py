"""Hadamard response, and the fast Walsh–Hadamard transform that decodes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.domains import Domain, domain_of
from lapwing.crowd.estimates import Estimates, from_support
from lapwing.crowd.items import Answers
from lapwing.crowd.local_hashing import CHUNK, randomize_cells, relative_variance
from lapwing.crowd.protocol import ByEpsilon, ClosedProtocol
from lapwing.crowd.reports import Column
from lapwing.crowd.threads import one_by_one, parts, side_by_side
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms.probabilities import as_written, flip_probability
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = 1 << 16
"""Numbers transformed at a time: with their copy they stay in the cache."""
SHORT = 8
"""Butterflies closer together than this are taken one by one, each over the whole block."""
LARGEST_DOMAIN = 1 << 24
MOST_ROWS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class HadamardResponse(ByEpsilon, ClosedProtocol):
    """Report a few random rows of the Hadamard matrix, and the randomised signs they have in the column of the answer.

    With one row it is the one-bit Hadamard response (Bassily and Smith 2015; Acharya and Sun 2019), whose error stays
    above √n however large ε is. Several rows make 2^rows cells, between which randomised response chooses. This is as
    accurate as optimised local hashing for every ε, and still decoded by one fast transform. A person whose answer is
    not in the domain sends random signs.

    Privacy: rows do not depend on the answer; the cell costs ln(p/q), p for the true cell and q for each other.
    Accuracy: two answers share a cell with probability exactly 2^−rows; see `estimates.from_support`.
    Proof: hadamard.md

    Args:
        domain: The public list of possible answers, or a number k for the answers 0 … k − 1.
        rows: How many rows a report names, 1 to 6. None takes the number with the least error.

    Raises:
        InvalidParameter: If epsilon is not positive, if rows is not a whole number from 1 on or is too large, or if the
            domain has fewer than two answers or names one twice.

    >>> print(HadamardResponse(epsilon=2, domain=1000).privacy_loss())
    ε = 1.99939 (replace, per person)
    """

    epsilon: Number
    domain: Domain
    rows: int | None = None
    _labels: Sequence[Any] = field(init=False, repr=False, compare=False)
    _index: Mapping[Any, int] | None = field(init=False, repr=False, compare=False)
    _size: int = field(init=False, repr=False, compare=False)
    _cells: int = field(init=False, repr=False, compare=False)
    _other: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        labels, index = domain_of(self.domain, largest=LARGEST_DOMAIN)
        width = (len(labels) - 1).bit_length()
        epsilon = checks.positive(epsilon=self.epsilon)
        rows = _best_rows(epsilon, width) if self.rows is None else checks.whole(rows=self.rows)
        if rows > MOST_ROWS:
            raise InvalidParameter("rows", rows, f"must be at most {MOST_ROWS}", "Write rows=None for the least error.")
        self._set(epsilon=as_written(epsilon), domain=len(labels) if index is None else labels, rows=rows)
        other = flip_probability(epsilon, others=(1 << rows) - 1)
        self._set(_labels=labels, _index=index, _size=1 << width, _cells=1 << rows, _other=other)

    @property
    def layout(self) -> tuple[Column, ...]:
        """The numbers of the rows, and the cell: one sign for each row."""
        rows = (Column.number(f"row {i}", self._size) for i in range(self._cells.bit_length() - 1))
        return (*rows, Column.number("cell", self._cells))

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each row of the Hadamard matrix: its pluses minus its minuses."""
        return (self._size,)

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln(p/q), rounded up, with p = 1 − (cells − 1)·q."""
        return self._loss(ln_up((1 - (self._cells - 1) * self._other) / self._other))

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """The estimated count of every answer of the domain, from one transform.

        Raises:
            InvalidParameter: If the counts belong to another protocol, or if confidence is not above 0 and below 1.

        >>> poll = HadamardResponse(epsilon=2, domain=["bus", "bike", "car"])
        >>> counts = poll.absorb(None, poll.randomize(["bus"] * 7000 + ["bike"] * 3000))
        >>> 6000 < poll.estimate(counts)["bus"] < 8000
        True
        """
        self.check_own(state.protocol)
        support = walsh_hadamard(state.table)[: len(self._labels)] // self._cells
        true = 1 - (self._cells - 1) * self._other
        other = Fraction(1, self._cells)
        return from_support(self._labels, support, state.n, if_true=true, if_other=other, confidence=confidence)

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        places = answers.within(self._labels, self._index)
        blocks = [self._reported(places[part], entropy) for part in parts(len(places), CHUNK)]
        return tuple(
            np.concatenate([np.empty(0, dtype=column.dtype), *(columns[i] for columns in blocks)])
            for i, column in enumerate(self.layout)
        )

    def _reported(self, places: NDArray[np.int64], entropy: Entropy) -> list[NDArray[Any]]:
        """The columns of those whose answers are at these places of the domain."""
        import numpy as np

        from lapwing.noise import uniform_below

        *rows, last = self.layout
        cell = np.zeros(len(places), dtype=last.dtype)
        column = places.astype(rows[0].dtype)
        chosen = []
        for i, row in enumerate(rows):
            drawn = entropy.words(len(places), np.dtype(row.dtype).type)
            drawn &= drawn.dtype.type(self._size - 1)
            cell |= signs(drawn, column) << np.uint8(i)
            chosen.append(drawn)
        unknown = np.flatnonzero(places < 0)
        cell[unknown] = uniform_below(self._cells, len(unknown), entropy)
        randomize_cells(cell, self._cells, self._other, entropy)
        return [*chosen, cell]

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        *rows, cell = columns
        total = np.zeros(self._size, dtype=np.int64)
        blocks = list(parts(n, max(CHUNK, 2 * self._size)))
        for spectrum in one_by_one(lambda part: self._spectrum([row[part] for row in rows], cell[part]), blocks):
            total += spectrum
        return total

    def _spectrum(self, rows: Sequence[NDArray[Any]], cell: NDArray[Any]) -> NDArray[np.int64]:
        """Σ (−1)^(a·cell) at the place a·rows, over all reports and all a below 2^rows, in the order of a Gray code."""
        import numpy as np

        signed = [row.astype(np.intp) | (cell.astype(np.intp) >> i & 1) * self._size for i, row in enumerate(rows)]
        place = np.zeros(len(cell), dtype=np.intp)
        both = np.zeros(2 * self._size, dtype=np.int64)
        both[0] = len(cell)  # a = 0
        for a in range(1, self._cells):
            place ^= signed[(a & -a).bit_length() - 1]
            both += np.bincount(place, minlength=2 * self._size)
        return both[: self._size] - both[self._size :]


def _best_rows(epsilon: Fraction, most: int) -> int:
    """The number of rows whose cells have the least variance of a rare answer."""
    return min(range(1, min(MOST_ROWS, most) + 1), key=lambda rows: relative_variance(epsilon, 1 << rows))


def walsh_hadamard(table: NDArray[Any], *, in_place: bool = False) -> NDArray[Any]:
    """Multiply the last axis by the matrix with (−1)^popcount(i & j) in row i and column j.

    Whole numbers stay exact in int64 while the sum of magnitudes along the axis does; anything else becomes float64.
    `in_place` overwrites `table`, which must be a C-contiguous array of int64 or float64.

    >>> import numpy as np
    >>> walsh_hadamard(np.array([1, 0, 0, 2])).tolist()
    [3, -1, -1, 3]
    """
    import numpy as np

    size = table.shape[-1] if table.ndim else 0
    if size < 1 or size & (size - 1):
        why = "must have a power of two as its last length"
        raise InvalidParameter("table", f"<shape {table.shape}>", why, "Fill it up with zeros.")
    if in_place and (table.dtype not in (np.int64, np.float64) or not table.flags.c_contiguous):
        why = "must be a C-contiguous array of int64 or float64 to be overwritten"
        raise InvalidParameter("table", f"<{table.dtype}>", why, "Write in_place=False.")
    kind = np.int64 if table.dtype.kind in "iub" else np.float64
    out = table if in_place else np.array(table, dtype=kind, order="C")
    short = out.reshape(-1, min(size, BLOCK))
    side_by_side(lambda part: _butterflies(short[part]), list(parts(len(short), max(1, BLOCK // size))))
    apart = BLOCK
    while apart < size:
        _far(out.reshape(-1, 2, apart))
        apart *= 2
    return out


def signs(row: NDArray[np.unsignedinteger[Any]], column: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.uint8]:
    """1 where the Hadamard matrix holds −1 in this row and column, else 0: the parity of popcount(row & column)."""
    import numpy as np

    common = row & np.asarray(column).astype(row.dtype, copy=False)
    if hasattr(np, "bitwise_count"):  # numpy 2
        parity: NDArray[np.uint8] = np.bitwise_count(common) & np.uint8(1)
        return parity
    shift = 4 * common.dtype.itemsize
    while shift:
        common = common ^ (common >> common.dtype.type(shift))
        shift //= 2
    parity = (common & common.dtype.type(1)).astype(np.uint8)
    return parity


def _butterflies(rows: NDArray[Any]) -> None:
    """The whole transform of short rows, between two arrays in turn."""
    import numpy as np

    source, target, apart = rows, np.empty_like(rows), 1
    while apart < rows.shape[-1]:
        pairs, halves = source.reshape(-1, 2, apart), target.reshape(-1, 2, apart)
        for place in range(apart) if apart < SHORT else (slice(None),):
            np.add(pairs[:, 0, place], pairs[:, 1, place], out=halves[:, 0, place])
            np.subtract(pairs[:, 0, place], pairs[:, 1, place], out=halves[:, 1, place])
        source, target, apart = target, source, 2 * apart
    if source is not rows:
        rows[...] = source


def _far(pairs: NDArray[Any]) -> None:
    """One step of a long row, in pieces."""

    def piece(part: slice) -> None:
        first, second = pairs[:, 0, part], pairs[:, 1, part]
        difference = first - second
        first += second
        second[...] = difference

    side_by_side(piece, list(parts(pairs.shape[-1], BLOCK)))
