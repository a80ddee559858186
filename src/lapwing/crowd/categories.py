"""k-ary randomised response: each person reports the true one of k answers, or another one at random."""

from __future__ import annotations

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
from lapwing.crowd.threads import parts, side_by_side
from lapwing.mechanisms.kary_response import KaryResponse, check_keep, keep_of
from lapwing.mechanisms.probabilities import moderate
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_DOMAIN = 1 << 24
"""An aggregator keeps a number for every answer: 128 MB."""
AT_A_TIME = 1 << 16
"""Reports, so that what is computed on the way stays in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryResponse(ClosedProtocol):
    """Tell the truth with probability `keep`, otherwise name one of the other answers of the domain at random.

    The best choice for few answers (k < 3e^ε + 2; Wang, Blocki, Li and Jha 2017), and the shortest reports. A person
    whose answer is not in the domain reports a random one, so such people are spread evenly over the estimates.

    Privacy: one report costs ln(p(k−1)/(1−p)), p being `keep`.
    Accuracy: see `estimates.from_support`; the estimates add up to n.
    Proof: categories.md; the coins are those of `lapwing.mechanisms.KaryResponse`.

    Args:
        domain: The public list of possible answers, or a number k for the answers 0 … k − 1.
        keep: Probability of reporting the true answer: more than 1/k.

    Raises:
        InvalidParameter: If keep is not above 1/k and below 1, or if the domain has fewer than two answers or names one
            twice.

    >>> print(CategoryResponse.from_epsilon(1, domain=["bus", "bike", "car"]).privacy_loss())
    ε = 0.999226 (replace, per person)
    """

    _instead: ClassVar[dict[str, str]] = {"epsilon": "Write CategoryResponse.from_epsilon(1, domain=['a', 'b'])."}

    domain: Domain
    keep: Number
    _coins: KaryResponse = field(init=False, repr=False, compare=False)
    _labels: Sequence[Any] = field(init=False, repr=False, compare=False)
    _index: Mapping[Any, int] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        labels, index = domain_of(self.domain, largest=LARGEST_DOMAIN)
        keep = check_keep(self.keep, len(labels))
        self._set(domain=len(labels) if index is None else labels, keep=keep)
        coins = KaryResponse(categories=len(labels), keep=keep, unit=self.unit)
        self._set(_coins=coins, _labels=labels, _index=index)

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, domain: Domain, unit: str = "person") -> Self:
        """The protocol that uses up epsilon: `keep` is about e^ε/(e^ε + k − 1).

        Args:
            epsilon: What one report costs at most. Probabilities are exact fractions of few binary digits, rounded so
                that `privacy_loss()` never exceeds epsilon. It is usually less by under 0.1 %.
            domain: The public list of possible answers, or a number k for the answers 0 … k − 1.
            unit: Whom one report is about.

        Returns:
            The protocol.

        Raises:
            InvalidParameter: If epsilon is not positive, or if the domain has fewer than two answers or names one
                twice.
        """
        labels, _ = domain_of(domain, largest=LARGEST_DOMAIN)
        return cls(domain=domain, keep=keep_of(moderate(epsilon), len(labels)), unit=unit)

    @property
    def switch(self) -> Fraction:
        """The probability of reporting one certain answer that is not the true one."""
        return self._coins.switch

    @property
    def layout(self) -> tuple[Column, ...]:
        """One number: the place of an answer in the domain."""
        return (Column.number("answer", len(self._labels)),)

    @property
    def block(self) -> int:
        """How many reports are drawn at a time: more for a long domain."""
        return max(1 << 18, 64 * len(self._labels))  # labels are looked up anew for every block

    @property
    def shape(self) -> tuple[int, ...]:
        """How many reports name each answer."""
        return (len(self._labels),)

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln(keep/switch), rounded up."""
        return self._coins.privacy_loss()

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """The estimated count of every answer of the domain.

        Raises:
            InvalidParameter: If the counts belong to another protocol, or if confidence is not above 0 and below 1.

        >>> poll = CategoryResponse.from_epsilon(2, domain=["bus", "bike", "car"])
        >>> counts = poll.absorb(None, poll.randomize(["bus"] * 7000 + ["bike"] * 3000))
        >>> 6500 < poll.estimate(counts)["bus"] < 7500
        True
        """
        self.check_own(state.protocol)
        keep = checks.exact(keep=self.keep)
        return from_support(
            self._labels, state.table, state.n, if_true=keep, if_other=self.switch, confidence=confidence
        )

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        [column] = self.layout
        places = answers.within(self._labels, self._index)
        reported = np.empty(len(answers), dtype=column.dtype)
        for part in parts(len(answers), AT_A_TIME):
            reported[part] = self._coins.release_places(places[part], entropy)
        return (reported,)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        return count_places(columns[0], len(self._labels))


def count_places(places: NDArray[Any], size: int) -> NDArray[np.int64]:
    """How often each of 0 … size − 1 occurs."""
    import numpy as np

    def counted(part: slice) -> NDArray[np.int64]:
        total = np.zeros(size, dtype=np.int64)
        for piece in parts(part.stop - part.start, max(AT_A_TIME, 4 * size)):
            total += np.bincount(places[part][piece], minlength=size)
        return total

    halves = list(parts(len(places), max(1 << 20, -(-len(places) // 2))))
    return sum(side_by_side(counted, halves), np.zeros(size, dtype=np.int64))
