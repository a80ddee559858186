"""Fragments: an answer leaves the device in pieces. Each is a complete envelope and takes its own way.

    by: report      several independent reports of the answer, each weak (`ReportBundle`)
    by: attribute   one report of a bit for every answer, and each of its bits by itself (`PositionedBit`)

Each fragment has an id, a token and layers of its own, a shuffler that coins choose, and a time of its own. Which
fragments belong together is written nowhere but on the device. Some get lost on the way, so nobody counts on as many
of each kind: estimates need only how many came.

Privacy: what a fragment costs, and what all of them cost towards whom, is in `fragment_promises.py`.
Proof: answer_fragments.md
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

from lapwing import checks
from lapwing.crowd import (
    BinaryResponse,
    CategoryResponse,
    CountMeanSketch,
    Counts,
    Estimates,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    UnaryEncoding,
)
from lapwing.crowd.fragmentation import AttributeFragments
from lapwing.crowd.intervals import ExactEstimates, Support, share_ends
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ClosedProtocol, Protocol
from lapwing.crowd.reports import HEADER_BYTES, Column, header
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

By = Literal["report", "attribute"]
MOST_FRAGMENTS = 64
"""Of one answer: each costs a token, a request and two layers of encryption."""
COUNTED = (
    BinaryResponse,
    CategoryResponse,
    CountMeanSketch,
    HadamardCountMeanSketch,
    HadamardResponse,
    LocalHashing,
    UnaryEncoding,
)
"""Protocols that estimate how many people gave an answer, with both errors: what several reports of one person need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportBundle(Protocol):
    """Several independent reports of one answer, as a device draws and pays for them: together.

    Privacy: the sum of their losses.
    """

    base: Protocol
    count: int

    @property
    def layout(self) -> tuple[Column, ...]:
        return self.base.layout * self.count

    @property
    def shape(self) -> tuple[int, ...]:
        return self.base.shape

    def privacy_loss(self) -> PureDP:
        """What all reports together cost."""
        return self.count * self.base.privacy_loss()

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        return tuple(column for _ in range(self.count) for column in self.base._randomized(answers, entropy))

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        each = len(self.base.layout)
        parts = [self.base._tally(columns[start : start + each], n) for start in range(0, len(columns), each)]
        return np.asarray(np.sum(parts, axis=0), dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionedBit(ClosedProtocol):
    """One bit of a unary report, and at which position it stood.

    Counted are, for every position, the messages and the ones among them. `randomize` draws a whole report for each
    answer and passes on its bit at a uniform position.

    Privacy: the position says nothing; of two answers one bit tells at most ln max(p/q, (1−q)/(1−p)).
    Accuracy: at each position the ones are binomial, whatever came at the others.
    """

    base: UnaryEncoding

    @property
    def layout(self) -> tuple[Column, ...]:
        return (Column.number("position", self.base.shape[0]), Column.bit("bit"))

    @property
    def shape(self) -> tuple[int, ...]:
        return (2, self.base.shape[0])

    def privacy_loss(self) -> PureDP:
        """What one message costs, wherever it stood."""
        return self._loss(AttributeFragments(self.base).local_removal().epsilon)

    def messages(self, report: bytes) -> list[bytes]:
        """All bits of one report of the protocol, each as the bytes of a report of its own."""
        positions, body, start = self.base.shape[0], report[HEADER_BYTES:], header(self, 1)
        wide = -(-self.layout[0].bits // 8)
        return [
            start + place.to_bytes(wide, "little") + bytes([body[place // 8] >> place % 8 & 1])
            for place in range(positions)
        ]

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """The count of every answer, of as many people as sent their bit at the position where most did.

        An answer at whose position nothing came is left out: nothing is known about it.
        """
        import numpy as np

        self.check_own(state.protocol)
        here = np.flatnonzero(state.table[0])
        came, ones = state.table[0][here].astype(np.float64), state.table[1][here].astype(np.float64)
        labels = list(self.base.domain) if not isinstance(self.base.domain, int) else range(self.shape[1])
        true, other = (checks.exact(odds=odds) for odds in (self.base.one_if_true, self.base.one_if_other))
        p, q, spread = float(true), float(other), float(true - other)
        people = int(came.max(initial=0))
        shares = (ones / came - q) / spread
        inside = np.clip(shares, 0, 1)
        coins = (inside * p * (1 - p) + (1 - inside) * q * (1 - q)) / spread**2 / came
        drawing = inside * (1 - inside) / came
        misses = float(1 - checks.probability(confidence=confidence))
        lows, highs = shares, shares
        if len(here):
            support = Support(ones.astype(int).tolist(), true, other)
            lows, highs = share_ends((support.hits, support.hits), support, came.astype(int).tolist(), misses)
        return ExactEstimates(
            labels=[labels[place] for place in here.tolist()],
            n=people,
            counts=people * shares,
            population_standard_error=people * np.sqrt(coins),
            sample_standard_error=people * np.sqrt(coins + drawing),
            gain_per_fake=float((people / came).max(initial=1)) * max(1 - q, q) / spread,
            confidence=confidence,
            remark="unbiased, from fragments",
            lows=people * lows,
            highs=people * highs,
        )

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.crowd.bits import bits_at, pack
        from lapwing.noise import uniform_below

        [rows] = self.base._randomized(answers, entropy)
        places = np.asarray(uniform_below(self.shape[1], len(answers), entropy=entropy), dtype=np.int64)
        return places.astype(self.layout[0].dtype), pack(bits_at(rows, places).astype(np.bool_))

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        positions = columns[0].astype(np.int64)
        ones = self.layout[1].to_bits(columns[1], n).ravel().astype(np.bool_)
        counted = [np.bincount(some, minlength=self.shape[1]) for some in (positions, positions[ones])]
        return np.asarray(counted, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Fragments:
    """Into what the answer of a slot is divided. `count` follows from the protocol where bits are sent."""

    by: By
    protocol: Protocol
    count: int = 0
    whole: Protocol = field(init=False, compare=False, repr=False)
    """What a device draws, pays for and keeps for a slot."""
    message: Protocol = field(init=False, compare=False, repr=False)
    """Of which each fragment is a report."""

    def __post_init__(self) -> None:
        if self.by == "attribute":
            kind = AttributeFragments(self.protocol)  # type: ignore[arg-type]
            parts: dict[str, Any] = {"count": kind.protocol.shape[0], "whole": kind.protocol}
            parts["message"] = PositionedBit(base=kind.protocol, unit=kind.protocol.unit)
        else:
            parts = {"count": self.count, "message": self.protocol}
            parts["whole"] = ReportBundle(base=self.protocol, count=self.count, unit=self.protocol.unit)
            if not isinstance(self.protocol, COUNTED):
                why = "does not estimate counts of answers, so the error of several reports of one person is unknown"
                hint = f"Use one of {', '.join(kind.__name__ for kind in COUNTED)}."
                raise InvalidParameter("protocol", type(self.protocol).__name__, why, hint)
        if not 2 <= parts["count"] <= MOST_FRAGMENTS:
            why = f"must be 2 to {MOST_FRAGMENTS} fragments of an answer"
            raise InvalidParameter("count", parts["count"], why, "Write count: 3, or shorten the domain.")
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    def split(self, report: bytes) -> list[bytes]:
        """The fragments of one report of `whole`, each as the bytes of one report of `message`."""
        if isinstance(self.message, PositionedBit):
            return self.message.messages(report)
        body, size = report[HEADER_BYTES:], (len(report) - HEADER_BYTES) // self.count
        return [header(self.message, 1) + body[size * place : size * (place + 1)] for place in range(self.count)]

    @property
    def reports_each(self) -> int:
        """How many reports of the protocol one person sends at most. Bits are pieces of a single one."""
        return self.count if self.by == "report" else 1


def score_ends(
    hits: tuple[Iterable[float], Iterable[float]], support: Support, n: int, each: int, misses: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends for the share of people, if so many of n reports supported an answer, at least and at most, `each` a person.

    All shares f with (f̂ − f)² ≤ z²·(f·a + (1−f)·b + each·f(1−f))/n: Wilson's interval with the variance of several
    reports of one person. Unlike f̂ ± z·(its error) it has a width also where f̂ is 0 and next to nothing is noise.
    """
    import numpy as np

    p, q, spread = float(support.if_true), float(support.if_other), float(support.if_true - support.if_other)
    a, b = p * (1 - p) / spread**2, q * (1 - q) / spread**2
    z = NormalDist().inv_cdf(1 - misses / 2)
    noise = z * z / n
    lead = 1 + noise * each

    def end(numbers: Iterable[float], sign: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        estimate = (np.array(list(numbers), dtype=np.float64) / n - q) / spread
        share = np.clip(estimate, 0, 1)
        half = share + noise * (a - b + each) / 2
        root = np.sqrt(np.maximum(half**2 - lead * (share**2 - noise * b), 0))
        return (half + sign * root) / lead, estimate

    # An estimate beyond 0 or 1 counts as that, and is still between the ends.
    return np.minimum(*end(hits[0], -1)), np.maximum(*end(hits[1], 1))
