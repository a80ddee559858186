"""Counts strings at the aggregator: which strings open, and how many devices sent them.

    part     "LWS1" ‖ epoch (4 bytes) ‖ messages, one after another     what one handover of the thresholder brought
    counts   "LWT1" ‖ fingerprint (16) ‖ JSON                           the open strings of a batch, for the analyzer

Every crowd that the thresholder passed on is whole within its handover and has t messages or more, so a string opens
there or never: messages that stay closed (only false ones do) end with their batch. None waits for messages of a later
batch, because then one device of that batch would decide whether a string of an earlier one is seen.
Proof: string_protocol.md
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.collect.crowds import Crowd
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd.estimates import Estimates, Question
from lapwing.crowd.reports import HEADER_BYTES
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.crowd_threshold import drop_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.uint8]

_PART, _COUNTS = b"LWS1", b"LWT1"
_PART_HEAD, _COUNTS_HEAD = 8, 20
LARGEST = 1 << 28
"""Bytes of the open strings of one batch."""
CONFIDENCE = 0.95


def valid_messages(protocol: StringProtocol, rows: Rows) -> tuple[Rows, NDArray[np.bool_]]:
    """The messages in reports, and which rows were a report of this protocol."""
    import numpy as np

    head = np.frombuffer(protocol.header, dtype=np.uint8)
    valid: NDArray[np.bool_] = (rows[:, :HEADER_BYTES] == head).all(axis=1)
    return rows[valid, HEADER_BYTES:], valid


def part_bytes(epoch: int, messages: Rows) -> bytes:
    """The file of one handover."""
    return _PART + epoch.to_bytes(4, "little") + messages.tobytes()


@dataclass(frozen=True, slots=True)
class StringCounts:
    """The strings that opened, and for each how many messages every handover brought in which it did."""

    protocol: StringProtocol
    sizes: Mapping[bytes, tuple[int, ...]]

    @property
    def n(self) -> int:
        """How many messages were of strings that opened."""
        return sum(map(sum, self.sizes.values()))

    def merge(self, other: StringCounts) -> StringCounts:
        """Those of both."""
        both = defaultdict(tuple[int, ...], self.sizes)
        for text, sizes in other.sizes.items():
            both[text] += sizes
        return StringCounts(self.protocol, dict(both))

    def to_bytes(self) -> bytes:
        """As it is sent to the analyzer. Sizes are sorted, so that no order of handovers is seen."""
        strings = {text.decode(): sorted(sizes) for text, sizes in self.sizes.items()}
        return _COUNTS + self.protocol.fingerprint + json.dumps(strings, sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, protocol: StringProtocol, data: bytes) -> StringCounts:
        """What was sent; anything else is refused."""
        try:
            if data[:_COUNTS_HEAD] != _COUNTS + protocol.fingerprint:
                raise ValueError
            strings = {text.encode(): tuple(sizes) for text, sizes in json.loads(data[_COUNTS_HEAD:]).items()}
            numbers = [size for sizes in strings.values() for size in sizes]
            whole = all(type(size) is int and protocol.threshold <= size < 1 << 53 for size in numbers)
            if not whole or not all(map(protocol.is_text, strings)) or not all(strings.values()):
                raise ValueError
        except (ValueError, TypeError, AttributeError):
            why = "are not open strings of this protocol"
            raise InvalidParameter("data", "<bytes>", why, "Pass the bytes as they were sent.") from None
        return cls(protocol, strings)


def counted_strings(protocol: StringProtocol, digest: bytes, paths: Iterable[Path]) -> StringCounts:
    """The strings that open in each of these files."""
    counts = StringCounts(protocol, {})
    for path in paths:
        counts = counts.merge(_opened_in(protocol, digest, path.read_bytes()))
    return counts


def _opened_in(protocol: StringProtocol, digest: bytes, part: bytes) -> StringCounts:
    import numpy as np

    if part[:4] != _PART or (len(part) - _PART_HEAD) % protocol.message_bytes:
        raise InvalidParameter(
            "part", "<bytes>", "is not a file of messages", "Do not change the files of an aggregator."
        )
    epoch = int.from_bytes(part[4:_PART_HEAD], "little")
    rows = np.frombuffer(part, dtype=np.uint8, offset=_PART_HEAD).reshape(-1, protocol.message_bytes)
    sizes = Counter[bytes]()
    for string in protocol.in_epoch(digest, epoch).opened_rows(rows):
        if protocol.is_text(string.text):
            sizes[string.text] += string.devices  # a second ciphertext of one string is no second crowd
    return StringCounts(protocol, {text: (size,) for text, size in sizes.items()})


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class StringEstimates(Estimates):
    """How many devices sent each string that opened, from what the threshold has left of them."""

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]

    def interval(
        self, about: Question = "respondents", *, simultaneous: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Ends about the people who took part, each string by itself."""
        return self.lows, self.highs

    def _shown_intervals(self) -> tuple[str, ...]:
        return (
            f"{100 * self.confidence:g} % intervals: for the {self.n:,} people who took part, each string by itself.",
        )


def estimated_strings(counts: StringCounts, crowd: Crowd, taken: int) -> StringEstimates:
    """Estimates for strings that opened; `taken` reports came before the threshold.

    Accuracy: the threshold drops d reports of a crowd of n and shows k = n − d, if at least T are left. The interval of
    one k holds every n for which k is between the 2.5 % points of what is seen of such a crowd *when something is
    seen*: so it is right also for crowds that hardly came through. Ends of several handovers are added, each at a
    level at which all of them hold together. The estimate k + mean_drop is too large close to the threshold.
    """
    import numpy as np

    texts = sorted(counts.sizes, key=lambda text: (-sum(counts.sizes[text]), text))
    sizes = [counts.sizes[text] for text in texts]
    ends = [[count_interval(crowd, size, (1 - CONFIDENCE) / len(kept)) for size in kept] for kept in sizes]
    handovers = np.array([len(kept) for kept in sizes], dtype=np.float64)
    people = np.array([sum(kept) for kept in sizes], dtype=np.float64) + crowd.mean_drop * handovers
    dropping = float(crowd.sigma) ** 2 * handovers
    drawing = people * np.maximum(0.0, 1 - people / max(taken, 1))
    return StringEstimates(
        labels=[text.decode() for text in texts],
        n=taken,
        counts=people,
        population_standard_error=np.sqrt(dropping),
        sample_standard_error=np.sqrt(dropping + drawing),
        gain_per_fake=1.0,
        remark="of strings that enough people sent; others are missing",
        lows=np.array([sum(low for low, _ in kept) for kept in ends], dtype=np.float64),
        highs=np.array([sum(high for _, high in kept) for kept in ends], dtype=np.float64),
    )


def count_interval(crowd: Crowd, kept: int, failure: float = 1 - CONFIDENCE) -> tuple[int, int]:
    """The smallest and the largest crowd of which so many messages are kept, unless with that probability."""
    law = _cumulated(crowd)
    likely = [
        drop
        for drop, below in enumerate(law)
        for seen in [law[min(kept - crowd.threshold + drop, len(law) - 1)]]  # that anything of such a crowd is seen
        if 2 * below >= failure * seen and 2 * (seen - (law[drop - 1] if drop else 0.0)) >= failure * seen
    ]
    return kept + min(likely), kept + max(likely)


@lru_cache(maxsize=64)
def _cumulated(crowd: Crowd) -> list[float]:
    """P(at most so many are dropped)."""
    law = drop_of(crowd.mean_drop, crowd.sigma**2)
    return [float(law.at_most(drop)) for drop in range(len(law.low))]


def words_about_missing(protocol: StringProtocol, crowd: Crowd, removed: int) -> str:
    """What the threshold took away, and what that does to counts."""
    smallest, dropped = crowd.mechanism.accuracy(), crowd.mean_drop
    return (
        f"Shufflers removed {removed:,} reports: those without a string, and strings of fewer than about "
        f"{smallest:,.0f} people. Of every string that is shown they removed about {dropped:,} reports in each of "
        f"their batches. The counts here add these again. Close to the threshold ({crowd.threshold:,}) this adds too "
        f"many; the interval allows for it. A false device can add one to a count, and {protocol.threshold:,} or more "
        "can make a string appear."
    )
