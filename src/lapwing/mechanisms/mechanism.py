"""What every mechanism is: a frozen value of public parameters with a loss, a release and an accuracy.

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
    """The contract. `relation` and `unit` say between which data sets the stated sensitivity was counted."""

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
        """What one release costs at most, computed from the integers the sampler uses."""

    @abstractmethod
    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The private answer."""

    @abstractmethod
    def accuracy(self, confidence: float = 0.95) -> float:
        """How far an answer may be off, exceeded with probability at most 1 − confidence."""

    def _set(self, **derived: object) -> None:
        """Store exact quantities derived from the public fields (only while the value is being made)."""
        for name, value in derived.items():
            object.__setattr__(self, name, value)
