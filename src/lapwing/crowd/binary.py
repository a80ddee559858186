"""Randomised response to a yes-or-no question: one bit per person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Estimates, from_support
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ClosedProtocol
from lapwing.crowd.reports import Column
from lapwing.crowd.threads import parts
from lapwing.mechanisms import RandomizedResponse
from lapwing.noise import Entropy
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AT_A_TIME = 1 << 14
"""Words, so that their bits stay in the cache."""
_YES = {True: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryResponse(ClosedProtocol):
    """Answer a yes-or-no question with randomised response: one bit per person.

    The coins are those of `lapwing.mechanisms.RandomizedResponse`, in the same three forms: `from_coins(alpha, beta)`,
    `from_gamma(gamma)` and `from_epsilon(epsilon)`. An answer counts as yes if it equals 1 (or True). Everything else,
    missing answers included, is no.

    Privacy: one report costs ln max(u/v, (1−v)/(1−u)), u and v being the two probabilities of yes.
    Accuracy: see `estimates.from_support`; with α = β = ½ the coins have the variance 0.75·n, whatever the truth.
    Proof: binary.md

    Args:
        yes_if_yes: Probability of reporting yes if the truth is yes.
        yes_if_no: Probability of reporting yes if the truth is no: less than `yes_if_yes`.

    Raises:
        InvalidParameter: If a probability is not above 0 and below 1, or if yes_if_no is not less than yes_if_yes.

    >>> print(BinaryResponse.from_coins(0.5, 0.5).privacy_loss())
    ε = 1.09862 (replace, per person)
    """

    _instead: ClassVar[dict[str, str]] = {
        "epsilon": "Write BinaryResponse.from_epsilon(1).",
        "gamma": "Write BinaryResponse.from_gamma(0.75).",
        "alpha": "Write BinaryResponse.from_coins(0.5, 0.5).",
    }

    yes_if_yes: Number
    yes_if_no: Number
    _coins: RandomizedResponse = field(init=False, repr=False, compare=False)
    _if_yes: Fraction = field(init=False, repr=False, compare=False)
    _if_no: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        coins = RandomizedResponse(yes_if_yes=self.yes_if_yes, yes_if_no=self.yes_if_no, unit=self.unit)
        if_yes, if_no = checks.exact(yes_if_yes=self.yes_if_yes), checks.exact(yes_if_no=self.yes_if_no)
        self._set(yes_if_yes=if_yes, yes_if_no=if_no, _coins=coins, _if_yes=if_yes, _if_no=if_no)

    @classmethod
    def from_coins(cls, alpha: Number, beta: Number = Fraction(1, 2), *, unit: str = "person") -> Self:
        """Tell the truth with probability α, otherwise say yes with probability β (Warner's coins: ½, ½).

        Args:
            alpha: Probability of telling the truth.
            beta: Probability of saying yes if the first coin does not ask for the truth; one half by default.
            unit: Whom one report is about.

        Returns:
            The protocol.
        """
        return cls._of(RandomizedResponse.from_coins(alpha, beta, unit=unit))

    @classmethod
    def from_gamma(cls, gamma: Number, *, unit: str = "person") -> Self:
        """Tell the truth with probability γ > ½, otherwise lie.

        Args:
            gamma: Probability of telling the truth: more than one half.
            unit: Whom one report is about.

        Returns:
            The protocol.

        >>> print(BinaryResponse.from_gamma(0.75).privacy_loss())
        ε = 1.09862 (replace, per person)
        """
        return cls._of(RandomizedResponse.from_gamma(gamma, unit=unit))

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, unit: str = "person") -> Self:
        """Tell the truth with probability e^ε/(1 + e^ε), rounded down to 64 binary digits; otherwise lie.

        Args:
            epsilon: What one report costs at most.
            unit: Whom one report is about.

        Returns:
            The protocol.

        >>> print(BinaryResponse.from_epsilon(1).privacy_loss())
        ε = 1 (replace, per person)
        """
        return cls._of(RandomizedResponse.from_epsilon(epsilon, unit=unit))

    @classmethod
    def _of(cls, coins: RandomizedResponse) -> Self:
        return cls(yes_if_yes=coins.yes_if_yes, yes_if_no=coins.yes_if_no, unit=coins.unit)

    @property
    def coins(self) -> RandomizedResponse:
        """The mechanism for one answer, with its `alpha`, `beta` and `gamma`."""
        return self._coins

    @property
    def layout(self) -> tuple[Column, ...]:
        """One bit: yes or no."""
        return (Column.bit("yes"),)

    @property
    def block(self) -> int:
        """How many reports are drawn at a time."""
        return 1 << 18

    @property
    def shape(self) -> tuple[int, ...]:
        """One number: how many reports say yes."""
        return (1,)

    def privacy_loss(self) -> PureDP:
        """What one report costs: ln of the larger of the two ratios of probabilities, rounded up."""
        return self._coins.privacy_loss()

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """How many people's true answer is yes, and how many people's is no.

        Accuracy: the two counts add up to n and have the same errors.

        >>> poll = BinaryResponse.from_epsilon(2)
        >>> counts = poll.absorb(None, poll.randomize([True] * 7000 + [False] * 3000))
        >>> 6500 < poll.estimate(counts)[True] < 7500
        True
        """
        import numpy as np

        self.check_own(state.protocol)
        u, v = self._if_yes, self._if_no
        yes = from_support((True,), state.table, state.n, if_true=u, if_other=v, confidence=confidence)
        return replace(
            yes,
            labels=(True, False),
            counts=np.concatenate([yes.counts, state.n - yes.counts]),
            population_standard_error=np.repeat(yes.population_standard_error, 2),
            sample_standard_error=np.repeat(yes.sample_standard_error, 2),
            gain_per_fake=float(max(1 - v, u) / (u - v)),
        )

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        from lapwing.crowd.bits import pack

        truths = pack(answers.within((True,), _YES) == 0)
        return (self._coins.release_bits(truths, len(answers), entropy),)

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        return count_ones(columns[0])


def count_ones(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """How many of many bits are one, a few words at a time."""
    import numpy as np

    from lapwing.crowd.bits import ones

    return np.array([sum(ones(words[part]) for part in parts(len(words), AT_A_TIME))], dtype=np.int64)
