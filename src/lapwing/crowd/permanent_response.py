"""The permanent response, which all forms of RAPPOR share: noise on every bit that stays for ever."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.protocol import Protocol
from lapwing.exact import ln_up
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class PermanentResponse(Protocol):
    """What the four forms of RAPPOR share: the permanent response.

    Args:
        permanent_noise: Probability f that a bit is replaced by a fair coin, once and for ever. More noise, less loss.
    """

    permanent_noise: Number

    def __post_init__(self) -> None:
        Protocol.__post_init__(self)
        # 1/2, 0.5 and Decimal("0.5") must be one parameter: a memo would keep a response for each (rappor.md).
        self._set(permanent_noise=checks.probability(permanent_noise=self.permanent_noise))

    @property
    @abstractmethod
    def width(self) -> int:
        """How many bits a report has."""

    @property
    @abstractmethod
    def most_set(self) -> int:
        """How many bits one answer sets, at most."""

    def permanent_probability(self, set: bool) -> Fraction:
        """The probability that a bit is one in the permanent response: f/2, or 1 − f/2 if the answer sets it.

        Args:
            set: Whether the answer sets the bit.

        Returns:
            The exact probability.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.5)
        >>> float(rappor.permanent_probability(True)), float(rappor.permanent_probability(False))
        (0.75, 0.25)
        """
        half = Fraction(self.permanent_noise) / 2
        return 1 - half if set else half

    def instantaneous_probability(self, set: bool) -> Fraction:
        """The probability that a bit is one in a report. In one-time forms the report is the permanent response.

        Args:
            set: Whether the bit is one in the permanent response.

        Returns:
            The exact probability.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.5)
        >>> rappor.instantaneous_probability(True), rappor.instantaneous_probability(False)
        (Fraction(1, 1), Fraction(0, 1))
        """
        return Fraction(int(set))

    def one_probability(self, set: bool) -> Fraction:
        """The probability that a bit is one in a report: q* if the answer sets it, p* if not.

        Args:
            set: Whether the answer sets the bit.

        Returns:
            The exact probability.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.5)
        >>> float(rappor.one_probability(True)), float(rappor.one_probability(False))
        (0.75, 0.25)
        """
        permanent = self.permanent_probability(set)
        return permanent * self.instantaneous_probability(True) + (1 - permanent) * self.instantaneous_probability(
            False
        )

    def privacy_loss(self) -> PureDP:
        """What one report costs by itself: ε₁ = h·ln(q*(1−p*)/(p*(1−q*))), rounded up. `lifetime_loss` includes it.

        >>> from lapwing.crowd import Rappor
        >>> print(Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75).privacy_loss())
        ε = 1.07429 (replace, per person)
        """
        return self._loss(self.most_set * ln_up(_odds_ratio(self.one_probability)))

    def lifetime_loss(self) -> PureDP:
        """What any number of reports about one answer of a `Memo` cost together: 2h·ln((1−f/2)/(f/2)), rounded up.

        Returns:
            The loss of all reports about one answer, however many there are.

        >>> from lapwing.crowd import Rappor
        >>> print(Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75).lifetime_loss())
        ε = 4.39445 (replace, per person)
        """
        return self._loss(self.most_set * ln_up(_odds_ratio(self.permanent_probability)))

    @abstractmethod
    def set_places(self, cohort: int, value: Any) -> list[int]:
        """Which bits an answer sets, for a `Memo`.

        Args:
            cohort: The cohort of the device.
            value: The true answer.

        Returns:
            The places of the bits. A place may occur twice.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.5, bits=128, hashes=2)
        >>> len(rappor.set_places(0, "any text")) <= 2
        True
        """

    @abstractmethod
    def decided_by(self, cohort: int, value: Any) -> tuple[object, ...]:
        """Everything that decides which bits an answer sets: where this is equal, so are they.

        Whether it is equal for two sets of parameters must be the same for all answers. Otherwise an observer could
        tell answers apart by whether two reports share their permanent response.

        Args:
            cohort: The cohort of the device.
            value: The true answer.

        Returns:
            The inputs, from which a `Memo` derives the permanent response.

        >>> from lapwing.crowd import OneTimeRappor
        >>> rappor = OneTimeRappor(permanent_noise=0.5)
        >>> rappor.decided_by(0, "cat") == rappor.decided_by(0, "dog")
        False
        """

    def drawn_cohort(self, entropy: Entropy) -> int:
        """A cohort for one device; the basic forms have one for all.

        Args:
            entropy: Source of random bits.

        Returns:
            The number of the cohort.

        >>> from lapwing.crowd import OneTimeRappor
        >>> from lapwing.noise import SYSTEM
        >>> OneTimeRappor(permanent_noise=0.5, cohorts=8).drawn_cohort(SYSTEM) in range(8)
        True
        """
        return 0

    def reported(self, cohort: int, rows: NDArray[np.uint64]) -> tuple[NDArray[Any], ...]:
        """Rows of bits as the columns of reports.

        Args:
            cohort: The cohort that they all belong to.
            rows: One row of packed bits for each report.

        Returns:
            The columns, as `layout` names them.
        """
        return (rows,)

    def instantaneous(self, rows: NDArray[np.uint64], entropy: Entropy) -> NDArray[np.uint64]:
        """Reports from permanent responses: fresh noise on every bit; the same bits in the one-time forms."""
        from lapwing.crowd.bits import noise_rows

        if_set, if_unset = self.instantaneous_probability(True), self.instantaneous_probability(False)
        ones, others = (noise_rows(len(rows), self.width, probability, entropy) for probability in (if_set, if_unset))
        return rows & ones | ~rows & others


def _odds_ratio(probability: Callable[[bool], Fraction]) -> Fraction:
    """By how much a bit that differs and one that differs the other way are more likely together, at most."""
    if_set, if_unset = probability(True), probability(False)
    return if_set * (1 - if_unset) / (if_unset * (1 - if_set))
