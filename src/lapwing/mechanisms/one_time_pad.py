"""The one-bit one-time pad: perfect secrecy, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.randomized_response import check_replace, flip_answers
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimePad(Mechanism):
    """A bit plus a fair bit that nobody keeps: ε = 0, and nothing can be learnt from the answer.

    Differential privacy begins where this ends: an answer that is worth anything costs more than 0. Randomized
    response with truth probability α = 0 is this mechanism.

    Privacy: pure 0.
    Proof: one_time_pad.md

    Args:
        relation: Only "replace": that there is a bit is not hidden.

    Raises:
        InvalidParameter: If the relation is not "replace".

    >>> OneTimePad().release(True) in (True, False)
    True
    """

    relation: Relation = "replace"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        check_replace(self.relation)

    def privacy_loss(self) -> PureDP:
        """Nothing is lost.

        >>> print(OneTimePad().privacy_loss())
        ε = 0 (replace, per person)
        """
        return PureDP(0, relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The ciphertext. The key is used once and never stored, so nobody can decrypt it.

        Args:
            data: A bit, or a list or an array of bits. Everything but 1 and True counts as 0.

        Returns:
            A bool for one bit, a list for a list, an array for an array.
        """
        return flip_answers(data, Fraction(1, 2), entropy)

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far the bit may be off: it is wrong half of the time.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> OneTimePad().accuracy()
        1.0
        """
        return 1.0 if checks.probability(confidence=confidence) > Fraction(1, 2) else 0.0

    @property
    def variance(self) -> float:
        """The variance of the answer, a fair bit."""
        return 0.25
