"""Crowds: which reports must be together before a shuffler passes any of them on.

    from: report      what the device sends, already randomised: nothing more is told than the report tells
    from: attribute   something public about the person, such as a region, that the file lists
    from: position    the answer that a bit is about, where every bit travels by itself (`answer_fragments.py`)
    from: answer      the true answer, or its first letters: only blinded, and what crowds tell is paid for in addition

A crowd has a name. With one shuffler its hash travels with the report; with two, an encryption of it that neither of
them can read (`blinding.py`).
Proof: shuffler.md
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from lapwing.crowd.reports import HEADER_BYTES
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.crowd_threshold import CrowdThreshold
from lapwing.mechanisms.dummies import DummyCrowds, DummyReports
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    from lapwing.collect.collection import Collection

Source = Literal["report", "attribute", "answer", "position"]
MOST_VALUES = 10_000
CROWD_BYTES = 32
NO_ANSWER = b"no answer\n"
_TAG = b"lapwing crowd 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """What a crowd is made of, and when it is large enough."""

    source: Source
    threshold: int
    mean_drop: int
    sigma: Fraction
    delta: Fraction
    values: tuple[str, ...] = ()
    """Of the attribute; with dummies, the answers that there are."""
    dummies: DummyReports | DummyCrowds | None = None
    """What the blinder adds: reports to every crowd of a listed answer, or crowds where nobody can list answers."""
    prefix: int | None = None
    """So many letters of the answer; all of them, if left out."""
    unit: str = "person"
    mechanism: CrowdThreshold = field(init=False, repr=False, compare=False)
    """How many reports of each crowd are passed on; its loss is under replace."""

    def __post_init__(self) -> None:
        if self.prefix is not None and self.source != "answer":
            why = "is only for crowds of answers"
            raise InvalidParameter("prefix", self.prefix, why, "Write from: answer, or delete it.")
        if self.threshold <= self.most_dummies:
            why = f"must be above {self.most_dummies}: dummies alone could fill a crowd"
            raise InvalidParameter("threshold", self.threshold, why, f"Write {self.most_dummies + 1} or more.")
        mechanism = _mechanism(self.threshold, self.mean_drop, self.sigma, self.delta, self.unit)
        object.__setattr__(self, "mechanism", mechanism)

    @property
    def most_dummies(self) -> int:
        """How many dummies can be in one crowd."""
        if isinstance(self.dummies, DummyCrowds):
            return self.dummies.largest
        return 0 if self.dummies is None else self.dummies.most

    @property
    def dummies_in_all(self) -> int:
        """How many dummies the blinder can add to a batch."""
        if isinstance(self.dummies, DummyCrowds):
            return 2 * self.dummies.reports
        return self.most_dummies * len(self.public_names()) if self.dummies is not None else 0

    def name(self, report: bytes, *, answer: Any = None, attribute: str | None = None) -> bytes:
        """The crowd of a report. Without an answer, or with one that is no text or number, it is that of no answer."""
        if self.source == "report":
            return b"report\n" + report[HEADER_BYTES:]
        if self.source == "position":  # all of a fragment but its last byte, which holds the bit
            return b"position\n" + report[HEADER_BYTES:-1]
        if self.source == "attribute":
            if attribute not in self.values:
                why = f"is none of the {len(self.values)} that the collection lists"
                raise InvalidParameter("attribute", "<text>", why, "Pass one of collection.crowd.values.")
            return b"attribute\n" + attribute.encode()
        # Where every crowd gets dummies, every crowd must be one of the list.
        known = not isinstance(self.dummies, DummyReports) or str(answer) in self.values
        if not isinstance(answer, str | int | float) or not known:
            return NO_ANSWER
        return self._of_answer(str(answer))

    def _of_answer(self, answer: str) -> bytes:
        return b"answer\n" + answer[: self.prefix].encode(errors="replace")

    def public_names(self) -> list[bytes]:
        """All crowds that there are, in an order of their own: those that get dummies."""
        return sorted({NO_ANSWER, *map(self._of_answer, self.values)})


def invented_name(entropy: Entropy = SYSTEM) -> bytes:
    """The name of a crowd that is nobody's: no other crowd has it."""
    return b"dummy\n" + entropy.bits(256).to_bytes(32, "little")


@lru_cache(maxsize=64)
def _mechanism(threshold: int, mean_drop: int, sigma: Fraction, delta: Fraction, unit: str) -> CrowdThreshold:
    """Its epsilon takes a while to find, and a device reads its file in every tick (cached)."""
    return CrowdThreshold(
        threshold=threshold, mean_drop=mean_drop, sigma=sigma, delta=delta, relation="replace", unit=unit
    )


def crowd_id(collection: Collection, name: bytes) -> bytes:
    """What one shuffler sees of a crowd: whoever knows a name can compute it."""
    return hashlib.sha256(_TAG + collection.digest + name).digest()
