"""What all mechanisms share: a frozen value of public parameters with a loss, a release and an accuracy.

Public fields hold what the user wrote, checked once; exact quantities derived from them sit in private fields. Data and
entropy are arguments of `release`, never state.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from lapwing.calls import Helpful
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Loss, Relation
from lapwing.privacy.neighbours import as_relation, as_unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism(metaclass=Helpful):
    """What every mechanism has: a privacy loss, a release and an accuracy.

    Args:
        relation: Which data sets are neighbours. With "add_remove" one of them lacks one unit; with "replace" one
            unit's data differs, and the number of units is public. Where a mechanism takes a sensitivity, state it for
            this relation.
        unit: The word for who or what is protected, such as "person" or "visit". Every stated loss repeats it.
    """

    relation: Relation = "add_remove"
    unit: str = "person"

    def __post_init__(self) -> None:
        as_relation(self.relation)
        as_unit(self.unit)
        for name in (field.name for field in fields(self) if field.init):
            value = getattr(self, name)
            if not isinstance(value, int) and isinstance(value, Integral):
                self._set(**{name: int(value)})  # a numpy integer wraps round where a loss is computed from it

    @abstractmethod
    def privacy_loss(self) -> Loss:
        """The most that one release can cost, computed from the integers that the sampler uses.

        Returns:
            The loss: an upper bound, which a ledger can charge.
        """

    @abstractmethod
    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The private answer.

        Args:
            data: The data of one release; each mechanism says what it takes.
            entropy: Source of randomness; the secure one by default. Others are for tests and are not private.

        Returns:
            What may be shown.
        """

    @abstractmethod
    def accuracy(self, confidence: float = 0.95) -> float:
        """How far an answer may be off. No data is read.

        Args:
            confidence: Probability that the error stays within the bound, above 0 and below 1.

        Returns:
            The bound on the error, in the units of the answer.
        """

    def _set(self, **derived: object) -> None:
        """Store exact quantities derived from the public fields (only while the value is being made)."""
        for name, value in derived.items():
            object.__setattr__(self, name, value)
