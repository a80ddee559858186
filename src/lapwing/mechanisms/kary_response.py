"""Randomized response with k possible answers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up, rational
from lapwing.mechanisms.grid import SMALL, is_array
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.probabilities import LARGEST_EPSILON, MOST_DIGITS, fewest_digits
from lapwing.mechanisms.randomized_response import check_replace
from lapwing.mechanisms.records import as_records, column_values, place_of, places_of, ratio_of, values_of
from lapwing.mechanisms.share_estimate import ShareEstimate, estimate_share
from lapwing.mechanisms.solve import epsilon_for
from lapwing.noise import SYSTEM, Entropy, bernoulli, uniform_below
from lapwing.noise.inversion import LazyUniform
from lapwing.privacy import PureDP, Relation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_COUNT = 1 << 61
"""The most categories, so that sums of two places stay within int64."""

_HINT = "Pass released answers, or a mapping from label to count."


@dataclass(frozen=True, slots=True, kw_only=True)
class KaryResponse(Mechanism):
    """Tell the truth with probability `keep`, otherwise name one of the other categories at random.

    An answer outside the categories is replaced by a uniformly random one. `from_epsilon` chooses `keep`.

    Privacy: pure ε for the owner of an answer, with no curator to trust.
    Proof: kary_response.md

    Args:
        categories: The labels, or a number k for the answers 0 … k − 1; at least two.
        keep: Probability of the truth, above 1/k.
        relation: Only "replace": that somebody answered is not hidden.

    Raises:
        InvalidParameter: If there are fewer than two categories, if two of them are the same, if keep is not above 1/k
            and below 1, or if the relation is not "replace".

    >>> poll = KaryResponse.from_epsilon(2, categories=["bus", "bike", "car"])
    >>> poll.release("bike") in ("bus", "bike", "car")
    True
    """

    categories: int | Sequence[Hashable]
    keep: Number
    relation: Relation = "replace"
    _keep: Fraction = field(init=False, repr=False, compare=False)
    _labels: Sequence[Any] = field(init=False, repr=False, compare=False)
    _index: Mapping[Any, int] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        check_replace(self.relation)
        labels = _labels(self.categories)
        keep = check_keep(self.keep, len(labels))
        index = None if isinstance(labels, range) else places_of(labels, categories=labels)
        if index is not None:
            self._set(categories=labels)
        self._set(_keep=keep, _labels=labels, _index=index)

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, categories: int | Sequence[Hashable], unit: str = "person") -> Self:
        """The poll with about the largest `keep` that ε allows.

        `keep` is about e^ε/(e^ε + k − 1): never more, and with few binary digits. An ε at which lies have practically
        no chance left (40 + ln k) stands for every larger one.

        Args:
            epsilon: What one answer may cost its owner, as pure ε.
            categories: The labels, or how many there are.
            unit: The word for who is protected.

        Returns:
            The poll.

        Raises:
            InvalidParameter: If epsilon is not positive, or if there are fewer than two categories.

        >>> round(float(KaryResponse.from_epsilon(1, categories=3).keep), 4)
        0.5759
        """
        k = len(_labels(categories))
        size = min(checks.positive(epsilon=epsilon), LARGEST_EPSILON + Fraction(7, 10) * k.bit_length())
        return cls(categories=categories, keep=keep_of(size, k), unit=unit)

    @classmethod
    def solve(
        cls,
        *,
        within: Number,
        n: int,
        categories: int | Sequence[Hashable],
        confidence: float = 0.95,
        simultaneous: bool = False,
        unit: str = "person",
    ) -> Self:
        """The poll with the smallest ε (four digits) that estimates a category's share within `within`.

        Args:
            within: The largest error of a share you accept, such as 0.05.
            n: How many people answer.
            categories: The labels, or how many there are.
            confidence: Probability that the error stays within this.
            simultaneous: Bound the errors of all categories together instead of each one alone.
            unit: The word for who is protected.

        Returns:
            The poll.

        Raises:
            InvalidParameter: If n is not a whole number from 1 on, or if no epsilon reaches this accuracy.

        >>> print(KaryResponse.solve(within=0.05, n=2000, categories=3).privacy_loss())
        ε = 1.73021 (replace, per person)
        """
        checks.whole(n=n)
        epsilon = epsilon_for(
            lambda epsilon: cls.from_epsilon(epsilon, categories=categories),
            within=within,
            confidence=confidence,
            n=n,
            simultaneous=simultaneous,
        )
        return cls.from_epsilon(epsilon, categories=categories, unit=unit)

    @property
    def switch(self) -> Fraction:
        """The probability of each category that is not the truth."""
        return (1 - self._keep) / (len(self._labels) - 1)

    def privacy_loss(self) -> PureDP:
        """Pure ε = ln(keep/switch), rounded up.

        >>> print(KaryResponse(categories=3, keep=0.5).privacy_loss())
        ε = 0.693148 (replace, per person)
        """
        return PureDP(ln_up(self._keep / self.switch), relation=self.relation, unit=self.unit)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The randomized answer, or answers.

        Args:
            data: A true answer, or a list or an array of them.

        Returns:
            A label for one answer, a list for a list, an array for an array.

        Raises:
            InvalidParameter: If data is a table instead of one answer or a list of them.

        >>> KaryResponse(categories=["a", "b", "c"], keep=0.5).release("a") in ("a", "b", "c")
        True
        """
        if not is_array(data):
            return self._labels[self._one(self._place(data), entropy)]
        is_list = isinstance(data, (list, tuple, range))
        if is_list and len(data) <= SMALL:
            return [self._labels[self._one(self._place(answer), entropy)] for answer in data]
        places = self._many(self._places(as_records(data)), entropy)
        if is_list:
            return [self._labels[place] for place in places.tolist()]
        return places if self._index is None else _label_array(self._labels)[places]

    def estimate(self, answers: Any, *, confidence: float = 0.95, clip: bool = False) -> dict[Any, ShareEstimate]:
        """The share of every category among the true answers, from the randomized ones.

        Accuracy: each unbiased; the errors of one category, as in `estimate_share`.

        Args:
            answers: Randomized answers, or a mapping from label to how many gave it.
            confidence: Of the intervals.
            clip: Cut shares and intervals to [0, 1]. That makes them biased.

        Returns:
            An estimate for each label.

        Raises:
            InvalidParameter: If an answer is not among the categories.

        >>> poll = KaryResponse(categories=["a", "b"], keep=0.75)
        >>> poll.estimate({"a": 450, "b": 550})["a"].share
        0.4
        """
        if isinstance(answers, Mapping):
            counts = [answers.get(label, 0) for label in self._labels]
        else:
            counts = [0] * len(self._labels)
            for answer in values_of(answers.ravel() if getattr(answers, "ndim", 1) > 1 else answers):
                place = self._place(answer)
                if place < 0:
                    raise InvalidParameter("answers", "<answers>", "one is not among the categories", _HINT)
                counts[place] += 1
        total = sum(counts)
        return {
            label: estimate_share(count, total, if_yes=self._keep, if_no=self.switch, confidence=confidence, clip=clip)
            for label, count in zip(self._labels, counts, strict=True)
        }

    def accuracy(self, confidence: float = 0.95, *, n: int = 1, simultaneous: bool = False) -> float:
        """How far a category's estimated share may be off because of the coins (Hoeffding).

        Args:
            n: How many people answer.
            simultaneous: Bound the errors of all categories together (a union bound) instead of each one alone.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1, or if n is not a whole number from 1 on.

        >>> round(KaryResponse(categories=3, keep=0.5).accuracy(n=1000), 3)
        0.172
        """
        failure = 1 - checks.probability(confidence=confidence)
        if simultaneous:
            failure /= len(self._labels)
        return math.sqrt(ln_up(2 / failure) / (2 * checks.whole(n=n))) / float(self._keep - self.switch)

    @property
    def variance(self) -> float:
        """The variance of a category's estimate from one answer (the coins alone), for the worse truth."""
        keep, switch = self._keep, self.switch
        return float(max(keep * (1 - keep), switch * (1 - switch)) / (keep - switch) ** 2)

    def _place(self, answer: object) -> int:
        """The index of an answer, −1 if it is none of the categories."""
        if self._index is None:
            value, bottom = ratio_of(answer) or (-1, 1)
            return value if bottom == 1 and 0 <= value < len(self._labels) else -1
        place = place_of(answer, self._index)
        return -1 if place is None else place

    def _places(self, answers: list[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """`_place` for many."""
        import numpy as np

        if isinstance(answers, list):
            return np.array([self._place(answer) for answer in answers], dtype=np.int64)
        if self._index is None and answers.dtype.kind in "iu":
            places = answers.astype(np.int64)
            places[(answers < 0) | (answers >= len(self._labels))] = -1
            return places
        return self._places(column_values(answers.ravel())).reshape(answers.shape)

    def _one(self, place: int, entropy: Entropy) -> int:
        """As browsers draw it, word by word (math/survey.ts)."""
        kept, k = LazyUniform(entropy).below(rational(self._keep)), len(self._labels)
        if place < 0:
            return uniform_below(k, entropy=entropy)
        return place if kept else (place + 1 + uniform_below(k - 1, entropy=entropy)) % k

    def _many(self, places: Any, entropy: Entropy) -> Any:
        """`_one` for an array of indices."""
        import numpy as np

        true = np.asarray(places, dtype=np.int64)
        return self.release_places(true.ravel(), entropy).reshape(true.shape)

    def release_places(self, places: NDArray[np.int64], entropy: Entropy = SYSTEM) -> NDArray[np.int64]:
        """Randomized answers as positions in the list of categories.

        With probability k·switch, and for strangers always, a uniform category takes the place of the true one.

        Args:
            places: The position of each true answer, −1 for one that is not among the categories; one dimension.
            entropy: Source of randomness; the secure one by default.

        Returns:
            The position of each randomized answer.

        >>> import numpy as np
        >>> KaryResponse(categories=3, keep=0.5).release_places(np.array([0, 2, -1])).shape
        (3,)
        """
        import numpy as np

        k = len(self._labels)
        replaced = bernoulli(k * self.switch, len(places), entropy)
        replaced |= places < 0
        return np.where(replaced, uniform_below(k, len(places), entropy), places)


def keep_of(epsilon: Fraction, k: int) -> Fraction:
    """The probability of the truth among k answers that an epsilon allows: about e^ε/(e^ε + k − 1), never more."""
    switch = fewest_digits(epsilon, others=k - 1, most=MOST_DIGITS + 2 * k.bit_length())
    if switch is None:
        why = "is so small that the answers would say nothing"
        raise InvalidParameter("epsilon", epsilon, why, "Write epsilon=1.")
    return 1 - (k - 1) * switch


def check_keep(keep: Number, k: int) -> Fraction:
    """The same number, exactly, if the truth is then likelier than each other answer."""
    exact = checks.probability(keep=keep)
    if not exact * k > 1:
        raise InvalidParameter("keep", keep, "must exceed one in k, or the answers say nothing", "Write keep=0.9.")
    return exact


def _labels(categories: object) -> Sequence[Any]:
    """The labels, or the range of a number of categories; at least two."""
    if isinstance(categories, Integral):
        if checks.whole(minimum=2, categories=categories) > LARGEST_COUNT:
            raise InvalidParameter("categories", categories, "are too many to draw from", "Group them.")
        return range(int(categories))
    if isinstance(categories, (str, bytes)) or not hasattr(categories, "__iter__"):
        raise InvalidParameter(
            "categories", categories, "must be a list of labels or a number", "Write categories=['a', 'b']."
        )
    labels = tuple(values_of(categories))
    if len(labels) < 2:
        raise InvalidParameter(
            "categories", categories, "must be two or more different labels", "Write categories=['a', 'b']."
        )
    return labels


def _label_array(labels: Sequence[Any]) -> Any:
    """Labels as an array of one plain type, or of objects."""
    import numpy as np

    if len({type(label) for label in labels}) == 1 and isinstance(labels[0], (str, int, float)):
        return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array
