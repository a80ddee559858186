"""Finds the smallest epsilon whose answers are as accurate as asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter

_PER_DECADE = 9000  # numbers of four significant digits
_DECADES = range(-9, 4)


class HasAccuracy(Protocol):
    """Anything that states its own accuracy."""

    @property
    def accuracy(self) -> Callable[..., float]:
        """The half-width at a confidence."""


def epsilon_for(
    mechanism: Callable[[float], HasAccuracy], *, within: Number, confidence: float = 0.95, **options: Any
) -> float:
    """The smallest epsilon (four significant digits) for which `mechanism(epsilon)` is off by at most `within`.

    It bisects on the accuracy that the mechanism itself states. An epsilon too small to build the mechanism counts as
    too
    small. Only public parameters are used, so nothing is spent.

    Args:
        mechanism: Makes the mechanism from an epsilon.
        within: The largest error you accept, in the units of the answer.
        confidence: Probability that the error stays within this.
        **options: Passed on to `accuracy`, such as `count` or `simultaneous`.

    Returns:
        The epsilon, between 1e-9 and 9999.

    Raises:
        InvalidParameter: If no epsilon reaches this accuracy, or if the mechanism refuses another parameter.

    >>> from lapwing.mechanisms import Laplace
    >>> epsilon_for(lambda epsilon: Laplace(epsilon=epsilon, sensitivity=1), within=5)
    0.5382
    """
    target = checks.not_negative(within=within)
    checks.probability(confidence=confidence)

    def enough(index: int) -> bool:
        try:
            candidate = mechanism(_epsilon(index))
        except InvalidParameter as error:
            if index == last or error.name not in ("epsilon", "granularity", "scale", "sigma"):
                raise
            return False
        return candidate.accuracy(confidence, **options) <= target

    low, last = -1, _PER_DECADE * len(_DECADES) - 1
    high = last
    if not enough(high):
        parameters = inspect.signature(mechanism(_epsilon(last)).accuracy).parameters
        untold = [name for name in ("count", "n") if name in parameters and name not in options]
        hint = f"Say how many people there are at least: {untold[0]}=1000." if untold else "Allow a larger error."
        raise InvalidParameter("within", within, f"is out of reach even at epsilon = {_epsilon(last):g}", hint)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return _epsilon(high)


def _epsilon(index: int) -> float:
    """The numbers 1.000e-9, 1.001e-9, …, 9.999e3 in order."""
    decade, place = divmod(index, _PER_DECADE)
    return float(f"{1000 + place}e{_DECADES[decade] - 3}")


class Solvable:
    """Mechanisms that are made from an epsilon: `solve` finds the epsilon that is accurate enough.

    Args:
        epsilon: What one release may cost, as ε above 0. A smaller ε protects more and adds more noise.
    """

    __slots__ = ()

    @classmethod
    def solve(cls, *, within: Number, confidence: float = 0.95, **parameters: Any) -> Self:
        """The mechanism with the smallest epsilon (four digits) that is off by at most `within`, at this confidence.

        Args:
            within: The largest error you accept, in the units of `accuracy`.
            confidence: Probability that the error stays within this.
            **parameters: Those that `accuracy` takes (such as `simultaneous`) go there, the others to the constructor.

        Returns:
            The mechanism.

        Raises:
            InvalidParameter: If no epsilon reaches this accuracy.

        >>> from lapwing.mechanisms import Laplace
        >>> print(Laplace.solve(within=10, sensitivity=1).privacy_loss())
        ε = 0.2844 (add_remove, per person)
        """
        accuracy: Any = cls.accuracy  # type: ignore[attr-defined]
        options = {name: parameters.pop(name) for name in inspect.signature(accuracy).parameters if name in parameters}

        def make(epsilon: float) -> Any:
            return cls(epsilon=epsilon, **parameters)  # type: ignore[call-arg]

        solved: Self = make(epsilon_for(make, within=within, confidence=confidence, **options))
        return solved
