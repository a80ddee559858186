"""Unary encoding: one bit for every possible answer, each randomised independently."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.domains import Domain, domain_of
from lapwing.crowd.estimates import Estimates, from_support
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ClosedProtocol
from lapwing.crowd.reports import Column
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms.probabilities import flip_probability
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class UnaryEncoding(ClosedProtocol):
    """Report one bit for every possible answer, each randomised independently.

    `from_epsilon` makes the optimised unary encoding, which has the least error for many answers. With `symmetric=True`
    it makes the symmetric one (basic one-time RAPPOR). A person whose answer is not in the domain sends randomised
    zeros.

    Privacy: two answers differ in two bits, so a report costs ln(p(1−q)/((1−p)q)).
    Accuracy: see `estimates.from_support`.
    Proof: unary.md

    Args:
        domain: The public list of possible answers, or a number k for the answers 0 … k − 1.
        one_if_true: Probability p that the bit of the true answer is one.
        one_if_other: Probability q that the bit of any other answer is one: less than `one_if_true`.

    Raises:
        InvalidParameter: If a probability is not above 0 and below 1, if one_if_other is not less than one_if_true, or
            if the domain has fewer than two answers or names one twice.

    >>> print(UnaryEncoding.from_epsilon(epsilon=1, domain=100).privacy_loss())
    ε = 0.999484 (replace, per person)
    """

    _instead: ClassVar[dict[str, str]] = {"epsilon": "Write UnaryEncoding.from_epsilon(1, domain=['a', 'b'])."}

    domain: Domain
    one_if_true: Number
    one_if_other: Number
    _true: Fraction = field(init=False, repr=False, compare=False)
    _other: Fraction = field(init=False, repr=False, compare=False)
    _labels: Sequence[Any] = field(init=False, repr=False, compare=False)
    _index: Mapping[Any, int] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        true, other = (
            checks.probability(one_if_true=self.one_if_true),
            checks.probability(one_if_other=self.one_if_other),
        )
        if not other < true:
            why = "must be less than one_if_true, or reports say nothing"
            raise InvalidParameter("one_if_other", self.one_if_other, why, "Write one_if_other=0.25, one_if_true=0.75.")
        labels, index = domain_of(self.domain)
        self._set(domain=len(labels) if index is None else labels, one_if_true=true, one_if_other=other)
        self._set(_true=true, _other=other, _labels=labels, _index=index)

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, domain: Domain, symmetric: bool = False, unit: str = "person") -> Self:
        """The encoding that has the least error for rare answers at this epsilon (Wang, Blocki, Li and Jha 2017).

        The bit of the true answer is one with probability ½, every other bit with about 1/(1 + e^ε).

        Args:
            epsilon: What one report costs at most. Probabilities are exact fractions of few binary digits, rounded so
                that `privacy_loss()` never exceeds epsilon. It is usually less by under 0.1 %.
            domain: The public list of possible answers, or a number k for the answers 0 … k − 1.
            symmetric: Whether to flip every bit with the same probability instead, about 1/(1 + e^(ε/2)).
            unit: Whom one report is about.

        Returns:
            The protocol.

        Raises:
            InvalidParameter: If epsilon is not positive, or if the domain has fewer than two answers or names one
                twice.

        >>> print(UnaryEncoding.from_epsilon(epsilon=1, domain=["yes", "no"]).privacy_loss())
        ε = 0.999484 (replace, per person)
        """
        if not checks.true_or_false(symmetric=symmetric):
            return cls(domain=domain, one_if_true=Fraction(1, 2), one_if_other=flip_probability(epsilon), unit=unit)
        flip = flip_probability(checks.positive(epsilon=epsilon) / 2)
        return cls(domain=domain, one_if_true=1 - flip, one_if_other=flip, unit=unit)

    @classmethod
    def optimized(cls, epsilon: Number, *, domain: Domain, unit: str = "person") -> Self:
        """Deprecated: the earlier name of `from_epsilon`.

        Args:
            epsilon: What one report costs at most.
            domain: The public list of possible answers, or a number of them.
            unit: Whom one report is about.

        Returns:
            The protocol.
        """
        _renamed("optimized(epsilon, …)", "from_epsilon(epsilon, …)")
        return cls.from_epsilon(epsilon, domain=domain, unit=unit)

    @classmethod
    def symmetric(cls, epsilon: Number, *, domain: Domain, unit: str = "person") -> Self:
        """Deprecated: the earlier name of `from_epsilon(…, symmetric=True)`.

        Args:
            epsilon: What one report costs at most.
            domain: The public list of possible answers, or a number of them.
            unit: Whom one report is about.

        Returns:
            The protocol.
        """
        _renamed("symmetric(epsilon, …)", "from_epsilon(epsilon, …, symmetric=True)")
        return cls.from_epsilon(epsilon, domain=domain, symmetric=True, unit=unit)

    @property
    def layout(self) -> tuple[Column, ...]:
        """One row of bits: a bit for each answer of the domain."""
        return (Column.row("bits", len(self._labels)),)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many reports have a one, for each answer."""
        return (len(self._labels),)

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln(p(1−q)/((1−p)q)), rounded up."""
        ratio = self._true * (1 - self._other) / ((1 - self._true) * self._other)
        return self._loss(ln_up(ratio))

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """The estimated count of every answer of the domain.

        >>> poll = UnaryEncoding.from_epsilon(epsilon=2, domain=["bus", "bike", "car"])
        >>> counts = poll.absorb(None, poll.randomize(["bus"] * 7000 + ["bike"] * 3000))
        >>> 6000 < poll.estimate(counts)["bus"] < 8000
        True
        """
        self.check_own(state.protocol)
        return from_support(
            self._labels, state.table, state.n, if_true=self._true, if_other=self._other, confidence=confidence
        )

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.crowd.bits import noise_rows, put
        from lapwing.noise import bernoulli

        rows = noise_rows(len(answers), len(self._labels), self._other, entropy)
        places = answers.within(self._labels, self._index)
        known = np.flatnonzero(places >= 0)
        put(rows, known, places[known], bernoulli(self._true, len(known), entropy))
        return (rows,)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        from lapwing.crowd.bits import column_counts

        return column_counts(columns[0], len(self._labels))


def _renamed(old: str, new: str) -> None:
    """Tell whoever wrote an earlier name what to write now; the wrappers of `calls` stand in between."""
    message = f"lapwing.crowd.UnaryEncoding.{old} has another name. Write UnaryEncoding.{new}."
    warnings.warn(message, DeprecationWarning, stacklevel=4)
