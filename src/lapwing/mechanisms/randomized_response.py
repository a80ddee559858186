"""Randomized response: people answer yes or no with the help of coins, and need to trust nobody."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_neg, ln_up, rational
from lapwing.mechanisms.grid import SMALL, is_array
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import as_records, column_values, values_of
from lapwing.mechanisms.share_estimate import ShareEstimate, estimate_share
from lapwing.mechanisms.solve import epsilon_for
from lapwing.noise import SYSTEM, Entropy, bernoulli_bits
from lapwing.noise.inversion import LazyUniform
from lapwing.privacy import PureDP, Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PROBABILITY_BITS = 64
"""Probabilities that come from an epsilon are rounded to this many binary digits, towards more privacy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomizedResponse(Mechanism):
    """Say yes with one probability if the truth is yes, and with a smaller one if it is no.

    There are three other ways to make it:
    `from_coins(alpha, beta)`: with probability α tell the truth, otherwise say yes with probability β.
    `from_gamma(gamma)`: tell the truth with probability γ, otherwise lie.
    `from_epsilon(epsilon)`: the same, with the largest γ that ε allows.

    An answer counts as yes if it equals 1 (or True); everything else, missing answers included, is no.

    Privacy: pure ε for the owner of an answer, with no curator to trust.
    Proof: randomized_response.md

    Args:
        yes_if_yes: Probability to say yes if the truth is yes.
        yes_if_no: Probability to say yes if the truth is no; less than `yes_if_yes`.
        relation: Only "replace": that somebody answered is not hidden.

    Raises:
        InvalidParameter: If a probability is not above 0 and below 1, if yes_if_no is not less than yes_if_yes, or if
            the relation is not "replace".

    >>> survey = RandomizedResponse.from_coins(0.5, 0.5)
    >>> print(survey.privacy_loss())
    ε = 1.09862 (replace, per person)
    >>> survey.estimate(450, n=1000).share
    0.4
    """

    _instead: ClassVar[dict[str, str]] = {
        "epsilon": "Write RandomizedResponse.from_epsilon(1).",
        "gamma": "Write RandomizedResponse.from_gamma(0.75).",
        "alpha": "Write RandomizedResponse.from_coins(0.5, 0.5).",
    }

    yes_if_yes: Number
    yes_if_no: Number
    relation: Relation = "replace"
    _if_yes: Fraction = field(init=False, repr=False, compare=False)
    _if_no: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if_yes, if_no = checks.probability(yes_if_yes=self.yes_if_yes), checks.probability(yes_if_no=self.yes_if_no)
        if not if_no < if_yes:
            raise InvalidParameter(
                "yes_if_no",
                self.yes_if_no,
                "must be less than yes_if_yes, or the answers say nothing",
                "Write 0.25 and 0.75.",
            )
        check_replace(self.relation)
        self._set(_if_yes=if_yes, _if_no=if_no)

    @classmethod
    def from_coins(cls, alpha: Number, beta: Number = Fraction(1, 2), *, unit: str = "person") -> Self:
        """Tell the truth with probability α, otherwise say yes with probability β (Warner's coins: ½, ½).

        Args:
            alpha: Probability to tell the truth.
            beta: Probability to say yes otherwise.
            unit: The word for who is protected.

        Returns:
            The survey.

        Raises:
            InvalidParameter: If alpha or beta is not above 0 and below 1.

        >>> RandomizedResponse.from_coins(0.5).yes_if_yes
        Fraction(3, 4)
        """
        truth, yes = checks.probability(alpha=alpha), checks.probability(beta=beta)
        return cls(yes_if_yes=truth + (1 - truth) * yes, yes_if_no=(1 - truth) * yes, unit=unit)

    @classmethod
    def from_gamma(cls, gamma: Number, *, unit: str = "person") -> Self:
        """Tell the truth with probability γ > ½, otherwise lie.

        Args:
            gamma: Probability of the truth, above 1/2 and below 1.
            unit: The word for who is protected.

        Returns:
            The survey.

        Raises:
            InvalidParameter: If gamma is 1/2 or less.

        >>> print(RandomizedResponse.from_gamma(0.75).privacy_loss())
        ε = 1.09862 (replace, per person)
        """
        truth = checks.probability(gamma=gamma)
        if not truth > Fraction(1, 2):
            raise InvalidParameter(
                "gamma", gamma, "must be greater than 1/2, or the answers say nothing", "Write gamma=0.75."
            )
        return cls(yes_if_yes=truth, yes_if_no=1 - truth, unit=unit)

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, unit: str = "person") -> Self:
        """Tell the truth with probability e^ε/(1 + e^ε), rounded down to 64 binary digits; otherwise lie.

        Args:
            epsilon: What one answer may cost its owner, as pure ε.
            unit: The word for who is protected.

        Returns:
            The survey.

        Raises:
            InvalidParameter: If epsilon is not positive.

        >>> print(RandomizedResponse.from_epsilon(1).privacy_loss())
        ε = 1 (replace, per person)
        """
        return cls.from_gamma(keep_probability(epsilon, others=1), unit=unit)

    @classmethod
    def solve(cls, *, within: Number, n: int, confidence: float = 0.95, unit: str = "person") -> Self:
        """The survey with the smallest ε (four digits) that estimates the share of yes within `within`.

        Args:
            within: The largest error of the share you accept, such as 0.05.
            n: How many people answer.
            confidence: Probability that the error stays within this.
            unit: The word for who is protected.

        Returns:
            The survey.

        Raises:
            InvalidParameter: If n is not a whole number from 1 on, or if no epsilon reaches this accuracy.

        >>> print(RandomizedResponse.solve(within=0.05, n=1000).privacy_loss())
        ε = 2.579 (replace, per person)
        """
        checks.whole(n=n)
        return cls.from_epsilon(epsilon_for(cls.from_epsilon, within=within, confidence=confidence, n=n), unit=unit)

    @property
    def alpha(self) -> Fraction:
        """The probability of telling the truth, in the form with two coins."""
        return self._if_yes - self._if_no

    @property
    def beta(self) -> Fraction:
        """The probability of yes when the first coin says not to tell the truth."""
        return self._if_no / (1 - self.alpha)

    @property
    def gamma(self) -> Fraction:
        """The probability of the truth, if yes and no are treated alike. Otherwise it does not exist."""
        if self._if_yes + self._if_no != 1:
            raise InvalidParameter(
                "beta",
                self.beta,
                "yes and no are not treated alike, so no single gamma describes it",
                "Use alpha and beta.",
            )
        return self._if_yes

    def privacy_loss(self) -> PureDP:
        """Pure ε: the logarithm of the larger of the two ratios of probabilities, rounded up.

        >>> print(RandomizedResponse(yes_if_yes=0.75, yes_if_no=0.25).privacy_loss())
        ε = 1.09862 (replace, per person)
        """
        ratio = max(self._if_yes / self._if_no, (1 - self._if_no) / (1 - self._if_yes))
        return PureDP(ln_up(ratio), relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The randomized answer, or answers.

        Args:
            data: A true answer (True or 1 for yes), or a list or an array of them.

        Returns:
            A bool for one answer, a list for a list, an array for an array.

        Raises:
            InvalidParameter: If data is text, which would count as no, or a table.

        >>> coins = RandomizedResponse.from_epsilon(1)
        >>> coins.release(True) in (True, False), len(coins.release([True, False, True]))
        (True, 3)
        """
        if self._if_yes + self._if_no == 1:
            return flip_answers(data, self._if_no, entropy)
        if not is_array(data):
            refuse_text(data)
            return self._one(data, entropy)
        if isinstance(data, (list, tuple)) and len(data) <= SMALL:
            return [self._one(answer, entropy) for answer in data]
        return _through_bits(data, lambda words, size: self.release_bits(words, size, entropy))

    def release_bits(self, words: NDArray[np.uint64], size: int, entropy: Entropy = SYSTEM) -> NDArray[np.uint64]:
        """Randomized answers, packed 64 to a word.

        Args:
            words: The true answers as bits, 64 to a word, the first answer lowest.
            size: How many answers there are.
            entropy: Source of randomness; the secure one by default.

        Returns:
            As many words. Spare bits are 0.

        Raises:
            InvalidParameter: If words is not an array of as many 64-bit words as `size` answers take.

        >>> import numpy as np
        >>> RandomizedResponse.from_epsilon(1).release_bits(np.array([0b101], np.uint64), size=3).shape
        (1,)
        """
        _check_words(words, size)
        if self._if_yes + self._if_no == 1:
            return _flip_bits(words, size, self._if_no, entropy)
        answers, truthful = bernoulli_bits(self.beta, size, entropy), bernoulli_bits(self.alpha, size, entropy)
        answers ^= (answers ^ words) & truthful
        return answers

    def estimate(
        self, answers: Any, n: int | None = None, *, confidence: float = 0.95, clip: bool = False
    ) -> ShareEstimate:
        """The share of yes among the true answers, from the randomized ones.

        Accuracy: unbiased and, unless it leaves [0, 1], of maximum likelihood.

        Args:
            answers: The randomized answers, or how many of them are yes.
            n: How many people answered, if `answers` is a number.
            confidence: Of the intervals.
            clip: Cut the share and the intervals to [0, 1]. That makes them biased.

        Returns:
            The share, with standard errors and intervals.

        Raises:
            InvalidParameter: If a number of yes comes without `n`.

        >>> coins = RandomizedResponse.from_coins(0.5)
        >>> coins.estimate(450, n=1000).share
        0.4
        """
        if n is None and not is_array(answers):
            raise InvalidParameter("n", n, "a number of yes needs a number of answers", "Write estimate(450, n=1000).")
        if n is None:
            flat = answers.ravel() if getattr(answers, "ndim", 1) > 1 else answers
            said_yes = [_is_yes(answer) for answer in values_of(flat)]
            answers, n = sum(said_yes), len(said_yes)
        return estimate_share(answers, n, if_yes=self._if_yes, if_no=self._if_no, confidence=confidence, clip=clip)

    def accuracy(self, confidence: float = 0.95, *, n: int = 1) -> float:
        """How far the estimated share of yes may be off because of the coins.

        Accuracy: Hoeffding's bound, true for every n and every truth: √(ln(2/failure)/(2n))/α. Above 1 it promises
        nothing.

        Args:
            n: How many people answer.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1, or if n is not a whole number from 1 on.

        >>> round(RandomizedResponse.from_epsilon(1).accuracy(n=1000), 3)
        0.093
        """
        failure = 1 - checks.probability(confidence=confidence)
        return math.sqrt(ln_up(2 / failure) / (2 * checks.whole(n=n))) / float(self.alpha)

    @property
    def variance(self) -> float:
        """The variance of the estimate from one answer (the coins alone), for the worse of the two truths."""
        yes, no = self._if_yes * (1 - self._if_yes), self._if_no * (1 - self._if_no)
        return float(max(yes, no) / self.alpha**2)

    def _one(self, answer: object, entropy: Entropy) -> bool:
        return LazyUniform(entropy).below(rational(self._if_yes if _is_yes(answer) else self._if_no))


def check_replace(relation: str) -> None:
    """Local mechanisms hide what an answer is, not that it was given."""
    if relation != "replace":
        raise InvalidParameter(
            "relation",
            relation,
            "randomized response hides the answer, not that somebody answered",
            "Write relation='replace'.",
        )


def keep_probability(epsilon: Number, *, others: int) -> Fraction:
    """The largest multiple of 2^-64 whose odds against each of `others` equally likely alternatives are at most e^ε.

    The truth is kept with probability p ≤ e^ε/(e^ε + others), so that p/((1−p)/others) ≤ e^ε; the loss stated from p,
    rounded upwards, does not exceed ε either.
    """
    exact, one = checks.positive(epsilon=epsilon), 1 << PROBABILITY_BITS
    _, high = exp_neg(min(exact, Fraction(100)))(PROBABILITY_BITS + 96)
    units = min(math.floor(one / (1 + others * Fraction(high, one << 96))), one - 1)
    while units * (others + 1) > one and ln_up(Fraction(units * others, one - units)) > exact:
        units -= 1
    if units * (others + 1) <= one:
        raise InvalidParameter("epsilon", epsilon, "is so small that the answers would say nothing", "Write epsilon=1.")
    return Fraction(units, one)


def refuse_text(answer: object) -> None:
    """Refuse one answer that is text. It would count as no: a mistake of the questionnaire, not of the data."""
    if isinstance(answer, (str, bytes)):
        raise InvalidParameter("data", "<text>", "is text, not True or False", "Write release(answer == 'yes').")


def flip_answers(data: Any, probability: Fraction, entropy: Entropy) -> Any:
    """Each answer, turned round with exactly this probability: a bool for one, a list or an array for many."""
    flipped = rational(probability)
    if not is_array(data):
        refuse_text(data)
        return LazyUniform(entropy).below(flipped) is not _is_yes(data)
    if isinstance(data, (list, tuple)) and len(data) <= SMALL:
        return [LazyUniform(entropy).below(flipped) is not _is_yes(answer) for answer in data]
    return _through_bits(data, lambda words, size: _flip_bits(words, size, probability, entropy))


def _flip_bits(words: NDArray[np.uint64], size: int, probability: Fraction, entropy: Entropy) -> NDArray[np.uint64]:
    answers = bernoulli_bits(probability, size, entropy)
    answers ^= words
    if size % 64:
        answers[-1] &= (1 << size % 64) - 1
    return answers


def _through_bits(data: Any, randomize: Any) -> Any:
    """Pack truth values, randomize the words, unpack to the shape that came in."""
    import numpy as np

    from lapwing.noise.arrays import unpack

    listed = as_records(data)
    if not isinstance(listed, list) and listed.dtype.kind in "biuf":
        truths = listed == 1
    else:
        flat = listed if isinstance(listed, list) else column_values(listed.ravel())
        truths = np.array([_is_yes(answer) for answer in flat], dtype=bool)
        truths = truths if isinstance(listed, list) else truths.reshape(listed.shape)
    packed = np.packbits(truths.ravel(), bitorder="little")
    words = np.zeros(-(-truths.size // 64), dtype="<u8")
    words.view(np.uint8)[: len(packed)] = packed
    answers = unpack(randomize(words.astype(np.uint64, copy=False), truths.size), truths.size).reshape(truths.shape)
    return answers.tolist() if isinstance(data, (list, tuple)) else answers


def _is_yes(answer: object) -> bool:
    try:
        return answer is True or bool(answer == 1)
    except Exception:  # a missing value, an array: not 1, and not an error, which would tell
        return False


def _check_words(words: Any, size: int) -> None:
    expected = -(-checks.whole(minimum=0, size=size) // 64)
    if getattr(getattr(words, "dtype", None), "name", None) != "uint64" or words.shape != (expected,):
        raise InvalidParameter(
            "words", f"<{type(words).__name__}>", f"must be {expected} uint64 words", "Pack 64 answers to a word."
        )
