"""Reports of people who do not follow the protocol, to see what they can do: simulated attacks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.crowd import hashing
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.domains import domain_of
from lapwing.crowd.hadamard import HadamardResponse, signs
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.crowd.items import Answers
from lapwing.crowd.local_hashing import LocalHashing
from lapwing.crowd.poisoning import honest
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.rappor import BasicOneTimeRappor, OneTimeRappor
from lapwing.crowd.reports import Column, Reports
from lapwing.crowd.unary import UnaryEncoding
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRIES = 1 << 10
"""Among so many hash functions a faker looks for the one that puts most targets into one cell."""


def liars(protocol: Protocol, targets: Sequence[Any], n: int, entropy: Entropy = SYSTEM) -> Reports:
    """n people who name a target instead of the truth and follow the protocol otherwise: no check can find them."""
    named = _named(targets)
    return protocol.randomize(Answers(named, _drawn(named, n, entropy)), entropy)


def random_reports(protocol: Protocol, n: int, entropy: Entropy = SYSTEM) -> Reports:
    """n reports that are nothing but fair coins."""
    from lapwing.crowd.bits import noise_rows
    from lapwing.noise import bernoulli_bits, uniform_below

    def column(kind: Column) -> NDArray[Any]:
        if kind.kind == "row":
            return noise_rows(n, kind.bits, Fraction(1, 2), entropy)
        if kind.kind == "bit":
            return bernoulli_bits(Fraction(1, 2), n, entropy)
        return uniform_below(kind.below or 1 << kind.bits, n, entropy).astype(kind.dtype)

    return Reports(protocol, checks.whole(minimum=0, n=n), tuple(map(column, protocol.layout)))


def maximal_gain(
    protocol: Protocol, targets: Sequence[Any], n: int, entropy: Entropy = SYSTEM, *, padded: bool = True
) -> Reports:
    """n reports that together add most to the counts of the targets (Cao, Jia and Gong 2021).

    `padded`: rows of bits have as many ones as an honest report has on average, the rest of them at random.
    """
    from lapwing.noise import uniform_below

    targets, n = _named(targets), checks.whole(minimum=0, n=n)

    def drawn(column: Column) -> NDArray[Any]:
        return uniform_below(column.below or 1, n, entropy).astype(column.dtype)

    match protocol:
        case UnaryEncoding() | BasicOneTimeRappor():
            unary = protocol if isinstance(protocol, UnaryEncoding) else protocol._unary
            return Reports(
                protocol, n, (_rows(protocol, _places(unary.domain, targets)[None].repeat(n, 0), padded, entropy),)
            )
        case OneTimeRappor():
            cohort = drawn(protocol.layout[0])
            places = protocol.places(list(targets)).reshape(protocol.cohorts, -1)[cohort]
            return Reports(protocol, n, (cohort, _rows(protocol, places, padded, entropy)))
        case CountMeanSketch():
            function = drawn(protocol.layout[0])
            places = _hashed(protocol, targets, function, protocol.width)
            return Reports(protocol, n, (function, _rows(protocol, places, padded, entropy)))
        case CategoryResponse():
            places = _places(protocol.domain, targets)[_drawn(targets, n, entropy)]
            return Reports(protocol, n, (places.astype(protocol.layout[0].dtype),))
        case LocalHashing():
            return _hashing_fakes(protocol, targets, n, entropy)
        case HadamardCountMeanSketch():
            return _sign_fakes(protocol, targets, drawn(protocol.layout[0]), drawn(protocol.layout[1]))
        case HadamardResponse():
            return _hadamard_fakes(protocol, targets, list(map(drawn, protocol.layout[:-1])))
        case BinaryResponse():
            return _said(protocol, bool(targets[0]), n)
    why = "is a protocol whose worst reports Lapwing does not know"
    raise InvalidParameter("protocol", type(protocol).__name__, why, "Use liars or random_reports.")


def _rows(protocol: Protocol, places: NDArray[Any], padded: bool, entropy: Entropy) -> NDArray[np.uint64]:
    """Rows with ones at their places, filled up to the expected number of ones at random."""
    import numpy as np

    from lapwing.crowd.bits import WORD, words_for

    row = honest(protocol).row
    assert row is not None
    n, usual = len(places), max(row.true) * row.if_true + (row.bits - max(row.true)) * row.if_other
    order = entropy.words(n * row.bits, np.uint32).reshape(n, row.bits).astype(np.int64)
    np.put_along_axis(order, places.astype(np.int64), -1, axis=1)  # targets come first
    wanted = max(round(usual), 0) if padded else 0
    ranks = order.argsort(axis=1).argsort(axis=1)
    chosen = (order < 0) | (ranks < wanted)
    spare = np.zeros((n, words_for(row.bits) * WORD), dtype=np.uint8)
    spare[:, : row.bits] = chosen
    return np.packbits(spare, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _hashed(
    protocol: CountMeanSketch | HadamardCountMeanSketch | LocalHashing,
    targets: Sequence[Any],
    function: NDArray[Any],
    width: int,
) -> NDArray[np.int64]:
    """The cell of every target under each of these functions: a row for each function."""
    import numpy as np

    items = hashing.hashed_items(list(targets), protocol._salt)
    coefficients = hashing.rows(protocol.functions, protocol._salt)[:, function]
    return hashing.cells(items, coefficients[:, :, None], width).astype(np.int64)


def _hashing_fakes(protocol: LocalHashing, targets: Sequence[Any], n: int, entropy: Entropy) -> Reports:
    """With one target every function is as good as another; with several some put more of them into one cell."""
    import numpy as np

    from lapwing.noise import uniform_below

    first, second = protocol.layout
    tried = np.unique(uniform_below(protocol.functions, TRIES if len(targets) > 1 else max(n, 1), entropy))
    cells, together = _fullest(_hashed(protocol, targets, tried, protocol._width))
    best = np.flatnonzero(together == together.max())
    chosen = best[uniform_below(len(best), n, entropy)]
    return Reports(protocol, n, (tried[chosen].astype(first.dtype), cells[chosen].astype(second.dtype)))


def _hadamard_fakes(protocol: HadamardResponse, targets: Sequence[Any], rows: list[NDArray[Any]]) -> Reports:
    import numpy as np

    places = _places(protocol.domain, targets)
    cell = np.zeros((len(rows[0]), len(places)), dtype=np.int64)
    for i, row in enumerate(rows):
        cell |= signs(row[:, None].astype(np.uint64), places.astype(np.uint64)[None]).astype(np.int64) << i
    best = _fullest(cell)[0].astype(protocol.layout[-1].dtype)
    return Reports(protocol, len(best), (*rows, best))


def _sign_fakes(
    protocol: HadamardCountMeanSketch, targets: Sequence[Any], function: NDArray[Any], coordinate: NDArray[Any]
) -> Reports:
    """The sign that most targets have."""
    import numpy as np

    from lapwing.crowd.bits import pack

    cells = _hashed(protocol, targets, function, protocol.width).astype(np.uint64)
    minus = signs(coordinate[:, None].astype(np.uint64), cells).sum(axis=1, dtype=np.int64)
    return Reports(protocol, len(function), (function, coordinate, pack(2 * minus > len(targets))))


def _fullest(cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """In each row the number that occurs most often, and how often."""
    import numpy as np

    together = (cells[:, :, None] == cells[:, None, :]).sum(axis=2)
    place = together.argmax(axis=1)
    rows = np.arange(len(cells))
    return cells[rows, place], together[rows, place]


def _said(protocol: BinaryResponse, yes: bool, n: int) -> Reports:
    import numpy as np

    from lapwing.crowd.bits import pack

    return Reports(protocol, n, (pack(np.full(n, yes)),))


def _named(targets: Sequence[Any]) -> list[Any]:
    if isinstance(targets, (str, bytes)) or not hasattr(targets, "__len__") or not len(targets):
        raise InvalidParameter("targets", targets, "must be one or more answers", "Write targets=['a'].")
    return list(targets)


def _places(domain: Any, targets: Sequence[Any]) -> NDArray[np.int64]:
    places = Answers.of(targets).within(*domain_of(domain))
    if (places < 0).any():
        raise InvalidParameter("targets", list(targets), "must be answers of the domain", "Name some of them.")
    return places


def _drawn(targets: Sequence[Any], n: int, entropy: Entropy) -> NDArray[np.intp]:
    import numpy as np

    from lapwing.noise import uniform_below

    return uniform_below(len(targets), checks.whole(minimum=0, n=n), entropy).astype(np.intp)
