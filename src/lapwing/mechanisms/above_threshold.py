"""Above-threshold and the sparse vector technique: ask many questions, and pay only for those answered yes.

This is the private version (Lyu, Su and Li 2017, without numeric answers). The threshold gets noise once and keeps it.
Every question gets fresh noise, which grows with the number of yeses allowed. After that many yeses it stops.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import BudgetExceeded, InvalidParameter
from lapwing.exact import float_up
from lapwing.mechanisms.grid import element_steps, grid_for, is_array, steps_of_array, to_steps
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import as_records
from lapwing.mechanisms.selection import check_monotone
from lapwing.mechanisms.solve import Solvable
from lapwing.mechanisms.tails import drawable, laplace_half_width
from lapwing.noise import SYSTEM, Entropy, discrete_laplace
from lapwing.noise.entropy import process
from lapwing.noise.laplace import discrete_laplace_sampler
from lapwing.privacy import PureDP

_FARTHEST = 1 << 61  # from 0, in steps: sums and differences of three such numbers fit int64


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseVector(Solvable, Mechanism):
    """For each answer in a stream: is it above the threshold? Stops after `cutoff` yeses.

    Noes are free. Each question may be chosen after seeing the replies so far.

    Privacy: pure ε, split between threshold and questions as 1 : (2·cutoff)^(2/3), or cutoff^(2/3) when monotone.
    Proof: above_threshold.md

    Args:
        sensitivity: How much one unit can change any answer. An answer that is not a finite number counts as 0.
        threshold: The public number that answers are compared with.
        cutoff: How many replies may be yes. More of them mean more noise on every reply.
        monotone: Promise that a new unit moves all answers in the same direction, as counts do under add_remove.
            Then less noise is needed.
        granularity: Answers and threshold are rounded to multiples of this. By default 1 for a whole sensitivity, else
            about a thousandth of it.

    Raises:
        InvalidParameter: If epsilon, sensitivity or granularity is not positive, if cutoff is not a whole number from 1
            on, if the threshold is too far from 0 for the grid, or if monotone is promised under the relation
            "replace".

    >>> SparseVector(epsilon=10, sensitivity=1, threshold=100, cutoff=2).release([0, 200, 0, 200, 200])
    [False, True, False, True]
    """

    epsilon: Number
    sensitivity: Number
    threshold: Number
    cutoff: int = 1
    monotone: bool = False
    granularity: Number | None = None
    _granularity: Fraction = field(init=False, repr=False, compare=False)
    _steps: int = field(init=False, repr=False, compare=False)
    _threshold: int = field(init=False, repr=False, compare=False)
    _threshold_scale: Fraction = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, sensitivity = checks.positive(epsilon=self.epsilon), checks.positive(sensitivity=self.sensitivity)
        cutoff = checks.whole(cutoff=self.cutoff)
        check_monotone(self.monotone, self.relation)
        grid = grid_for(self.granularity, sensitivity, None, on_grid=False)
        steps, threshold = math.ceil(sensitivity / grid), to_steps(checks.exact(threshold=self.threshold), grid)
        share = 1 / (1 + _whole_share(self._factor() * cutoff))
        if abs(threshold) >= _FARTHEST:
            raise InvalidParameter(
                "threshold", self.threshold, "is too many grid steps away from 0", "Use a coarser grid."
            )
        threshold_scale = drawable(steps / (share * epsilon), granularity=self.granularity)
        scale = drawable(self._factor() * cutoff * steps / ((1 - share) * epsilon), granularity=self.granularity)
        self._set(_granularity=grid, _steps=steps, _threshold=threshold)
        self._set(_threshold_scale=threshold_scale, _scale=scale)

    def _factor(self) -> int:
        return 1 if self.monotone else 2

    def privacy_loss(self) -> PureDP:
        """Pure ε for the whole stream, however long: the threshold's part plus the yeses' part.

        >>> print(SparseVector(epsilon=1, sensitivity=1, threshold=100).privacy_loss())
        ε = 1 (add_remove, per person)
        """
        threshold_part = self._steps / self._threshold_scale
        yes_part = self._factor() * self.cutoff * self._steps / self._scale
        return PureDP(threshold_part + yes_part, relation=self.relation, unit=self.unit)

    def start(self, entropy: Entropy = SYSTEM) -> Watch:
        """An interactive session, which costs one `privacy_loss()` in all. It is mutable, unlike the mechanism.

        Args:
            entropy: Source of randomness; the secure one by default.

        Returns:
            The session. `ask` it one answer after the other, until its `remaining` is 0.

        >>> watch = SparseVector(epsilon=10, sensitivity=1, threshold=100).start()
        >>> watch.ask(0), watch.ask(200), watch.remaining
        (False, True, 0)
        """
        return Watch(self, entropy)

    def release(self, data: Iterable[Any], entropy: Entropy = SYSTEM) -> Any:
        """Whether each answer is above the threshold, up to the last yes that is allowed.

        Args:
            data: The exact answers, in the order of the questions.

        Returns:
            A list of bools, which ends with the last yes that is allowed.

        Raises:
            InvalidParameter: If data is a table.

        >>> SparseVector(epsilon=10, sensitivity=1, threshold=100).release([0, 200, 0])
        [False, True]
        """
        if hasattr(data, "__array__") and is_array(data):
            data = as_records(data)
            if not isinstance(data, list):
                return self._release_array(data, entropy)
        if not isinstance(data, Iterable) or isinstance(data, (str, bytes)):
            why, hint = "is not a list of answers", "Pass a list, or ask one by one: start() and ask(…)."
            raise InvalidParameter("data", f"<{type(data).__name__}>", why, hint)
        watch, replies = self.start(entropy), []
        for answer in data:
            replies.append(watch.ask(answer))
            if watch.remaining == 0:
                break
        return replies

    def _release_array(self, data: Any, entropy: Entropy) -> list[bool]:
        import numpy as np

        line = discrete_laplace(self._threshold_scale, entropy=entropy)
        steps = steps_of_array(data, self._granularity).ravel()
        above = steps.clip(self._threshold - _FARTHEST, self._threshold + _FARTHEST) - self._threshold
        noise = discrete_laplace(self._scale, len(above), entropy)
        farthest = max(abs(line), int(noise.max(initial=0)), -int(noise.min(initial=0)))
        if noise.dtype == object or farthest >= _FARTHEST:
            above, noise = above.astype(object), noise.astype(object)  # int64 could wrap round
        replies = np.asarray(above + noise >= line, dtype=np.bool_)
        yeses = np.flatnonzero(replies)
        if len(yeses) >= self.cutoff:
            replies = replies[: yeses[self.cutoff - 1] + 1]
        return [bool(reply) for reply in replies]

    def accuracy(self, confidence: float = 0.95, questions: int = 1) -> float:
        """How far on the wrong side of the threshold an answer may lie.

        Args:
            questions: How many replies the bound covers at once.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1, or if questions is not a whole number from 1 on.

        >>> SparseVector(epsilon=1, sensitivity=1, threshold=100).accuracy(questions=1000)
        44.0
        """
        failure = (1 - checks.probability(confidence=confidence)) / 2
        line = laplace_half_width(self._threshold_scale, failure)
        worst = laplace_half_width(self._scale, failure / checks.whole(questions=questions))
        return float_up((line + worst) * self._granularity)


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveThreshold(SparseVector):
    """The position of the first answer above the threshold, or None: `SparseVector` with a cutoff of 1.

    Privacy: pure ε.
    Proof: above_threshold.md

    Raises:
        InvalidParameter: If epsilon, sensitivity or granularity is not positive, if the threshold is too far from 0 for
            the grid, or if monotone is promised under the relation "replace".

    >>> AboveThreshold(epsilon=10, sensitivity=1, threshold=100).release([0, 0, 200, 0])
    2
    """

    cutoff: int = field(default=1, init=False)

    def release(self, data: Iterable[Any], entropy: Entropy = SYSTEM) -> int | None:
        """The position of the first answer that is (noisily) above the threshold.

        Args:
            data: The exact answers, in the order of the questions.

        Returns:
            The position, counted from 0, or None if all replies are no.

        >>> print(AboveThreshold(epsilon=10, sensitivity=1, threshold=100).release([0, 0]))
        None
        """
        replies = SparseVector.release(self, data, entropy)
        return len(replies) - 1 if replies and replies[-1] else None


class Watch:
    """A running sparse vector. It holds secret state (the noisy threshold) and counts its yeses down.

    It belongs to one process and is neither copied nor pickled: two copies would answer with the same secret threshold
    and each with a full count.

    Args:
        mechanism: The sparse vector to run. `SparseVector.start` gives a watch as well.
        entropy: Source of randomness; the secure one by default. Others are for tests and are not private.

    >>> watch = SparseVector(epsilon=10, sensitivity=1, threshold=100, cutoff=2).start()
    >>> [watch.ask(answer) for answer in (0, 200, 0)], watch.remaining
    ([False, True, False], 1)
    """

    __slots__ = ("_entropy", "_line", "_lock", "_mechanism", "_process", "_remaining", "_sampler")

    def __init__(self, mechanism: SparseVector, entropy: Entropy = SYSTEM) -> None:
        scale = mechanism._scale
        self._mechanism, self._entropy, self._remaining = mechanism, entropy, mechanism.cutoff
        self._line = mechanism._threshold + discrete_laplace(mechanism._threshold_scale, entropy=entropy)
        self._sampler = discrete_laplace_sampler(scale.numerator, scale.denominator)
        self._lock, self._process = threading.Lock(), process()

    @property
    def remaining(self) -> int:
        """How many times the reply may still be True."""
        return self._remaining

    def ask(self, answer: object) -> bool:
        """Whether this answer is (noisily) above the threshold.

        Args:
            answer: The exact answer to the next question.

        Returns:
            The reply. After the last True it is an error to ask again.

        Raises:
            BudgetExceeded: If there were as many yeses as the cutoff allows, or if it is asked in another process.

        >>> watch = SparseVector(epsilon=10, sensitivity=1, threshold=100).start()
        >>> watch.ask(0), watch.ask(200)
        (False, True)
        """
        if self._process != process():  # before the lock, which another thread may have held at the fork
            raise BudgetExceeded("a reply in a forked process", "nothing (it stayed with its own process)")
        steps = element_steps(answer, self._mechanism._granularity)
        with self._lock:
            if self._remaining == 0:
                raise BudgetExceeded("another reply", f"0 of {self._mechanism.cutoff} yeses")
            above = steps + self._sampler.draw(self._entropy) >= self._line
            self._remaining -= above
            return above

    def __reduce__(self) -> NoReturn:
        raise TypeError("a running sparse vector cannot be copied or pickled: its secret threshold would be used twice")


def _whole_share(count: int) -> Fraction:
    """count^(2/3) to the nearest sixteenth: the best split of epsilon (Lyu, Su and Li 2017)."""
    return Fraction(round(16 * float(min(count, _FARTHEST)) ** (2 / 3)), 16)
