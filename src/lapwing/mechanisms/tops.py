"""ToPS: running totals of bounded numbers, when the bound is far above most numbers (Wang et al. 2021).

    threshold    the first steps are spent on a rank: most numbers lie below it
    perturber    from then on numbers are cut off there and counted by a tree over blocks of steps
    smoother     within a block the total goes on as it went before, without noise of its own

Noise in proportion to the declared bound would hide everything; noise in proportion to the threshold does not. What is
cut off is lost, and the threshold is chosen so that this costs about as much as the noise.
"""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.mechanisms.additive import ONE_PER_STEP, wrong_length
from lapwing.mechanisms.exponential import exponential_gap
from lapwing.mechanisms.grid import is_array, quotient
from lapwing.mechanisms.ladder import Ladder, thresholds
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.quantile import Quantile
from lapwing.mechanisms.signed_tree import SignedTree
from lapwing.mechanisms.smoothing import GAINS, Levels, never_falling
from lapwing.mechanisms.tails import drawable
from lapwing.mechanisms.tops_state import TopsQuote, TopsState
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP

_HEAD = struct.Struct("<4s8sQIqQ")
_MAGIC, _MARK, _LARGEST_SUM = b"LWT1", 8, 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Tops(Mechanism):
    """Running totals of numbers between 0 and `bound`, step after step. Each number of a step is one event.

    Privacy: pure ε for one event, once for the whole stream. An event is one number at one step; a person with several
    of them loses ε for each.
    Accuracy: in units of the threshold, which is known after the first steps: `half_width`.
    Proof: tops.md

    Args:
        epsilon: What the whole stream may cost for one event, as pure ε.
        bound: The largest possible number, public. Larger ones are cut to it, and numbers below 0 count as 0.
        steps: How many steps the stream has, the first ones included.
        first: How many steps choose the threshold. They are not part of any total.
        typical_range: How many steps most questions are about; None for a third of those after the first. It only
            weighs what is cut off against the noise, and so does `values_per_step`.
        values_per_step: About how many numbers a step brings.
        block: How many steps share one noise; None for so many that what happens within a block matters less than the
            noise.
        granularity: Numbers are rounded to multiples of this; None for 1 if the bound is whole and at least 100, else
            for a power of two with one to four thousand steps up to the bound. Intervals are about the rounded
            numbers: write 0.01 if most of yours are not far above 1.

    Raises:
        InvalidParameter: If epsilon, bound or granularity is not positive, if a count is not a whole number from 1 on,
            or if first leaves no step to answer.

    >>> stream = Tops(epsilon=1, bound=10_000, steps=5_000, first=1_000)
    >>> print(stream.privacy_loss())
    ε = 1 (add_remove, per event)
    >>> totals = stream.release([20 + step % 17 for step in range(5_000)])
    >>> len(totals), abs(totals[-1] - 112_000) < 20_000
    (4000, True)
    """

    epsilon: Number
    bound: Number
    steps: int
    first: int
    typical_range: int | None = None
    values_per_step: int = 1
    block: int | None = None
    granularity: Number | None = None
    unit: str = "event"
    _ladder: Ladder = field(init=False, repr=False, compare=False)
    _rungs: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _quantile: Quantile = field(init=False, repr=False, compare=False)
    _epsilon: Fraction = field(init=False, repr=False, compare=False)
    _block: int = field(init=False, repr=False, compare=False)
    _fingerprint: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, bound = checks.positive(epsilon=self.epsilon), checks.positive(bound=self.bound)
        first, later = checks.whole(first=self.first), checks.whole(steps=self.steps) - checks.whole(first=self.first)
        if later < 1:
            raise InvalidParameter("first", first, "leave no step to answer", f"Write less than steps={self.steps}.")
        each, ranged = checks.whole(values_per_step=self.values_per_step), self.typical_range
        ladder = Ladder((0, bound), self.granularity)
        noise = math.sqrt(2) * _counter(epsilon, later, 1, self.relation, self.unit).rms()
        block = min(max(1, int(noise / each)), later) if self.block is None else checks.whole(block=self.block)
        usual = max(1, later // 3) if ranged is None else checks.whole(typical_range=ranged)
        rungs = thresholds(ladder.high)
        quantile = Quantile(
            epsilon=epsilon,
            bounds=(0, max(len(rungs) - 1, 1)),
            granularity=1,
            q=1 - _share_above(noise, usual * each, first * each, len(rungs), epsilon),
            relation=self.relation,
            unit=self.unit,
        )
        written = (epsilon, bound, self.steps, first, usual, each, block, ladder.granularity, self.relation)
        mark = sha256(" ".join(map(str, written)).encode()).digest()[:_MARK]
        self._set(_ladder=ladder, _rungs=rungs, _quantile=quantile, _epsilon=epsilon, _block=block, _fingerprint=mark)

    @property
    def rank(self) -> float:
        """The share of the first numbers that should lie below the threshold."""
        return float(self._quantile._share)

    def privacy_loss(self) -> PureDP:
        """Pure ε: the larger of the two losses, because an event is either among the first steps or later.

        >>> print(Tops(epsilon=1, bound=1000, steps=365, first=30).privacy_loss())
        ε = 1 (add_remove, per event)
        """
        return max(
            self._quantile.privacy_loss(), self._counter(1).privacy_loss(), key=lambda loss: Fraction(loss.epsilon)
        )

    def quote(self, confidence: float = 0.95) -> TopsQuote:
        """The price, and the error as a multiple of the threshold. Nothing is read.

        Args:
            confidence: Probability that the error stays within the bound.

        Returns:
            The quote; print it to read it.

        >>> quote = Tops(epsilon=1, bound=1000, steps=365, first=30).quote()
        >>> quote.first, quote.confidence
        (30, 0.95)
        """
        fine = 1 << 20  # grid steps in a threshold: so many that the grid does not matter
        width = float_up(Fraction(self._counter(fine).accuracy(confidence)) / fine)
        return TopsQuote(
            self.privacy_loss(),
            self.steps,
            self.first,
            self.rank,
            self._block,
            width,
            float(confidence),
            self.state_bytes,
            self._number(1),
        )

    def open(self, entropy: Entropy = SYSTEM) -> TopsState:
        """The state before the first step.

        Args:
            entropy: Not used: nothing is drawn yet.

        Returns:
            The first state.

        >>> Tops(epsilon=1, bound=1000, steps=365, first=30).open().step
        0
        """
        return TopsState(0, self._fingerprint, counts=(0,) * len(self._rungs))

    def observe(self, state: TopsState, values: Any, entropy: Entropy = SYSTEM) -> TopsState:
        """Close one step. Use every state once.

        Args:
            state: What `open` or the last `observe` gave.
            values: The numbers of this step: a list, an array, or one number.
            entropy: Source of randomness; the secure one by default.

        Returns:
            The next state.

        Raises:
            InvalidParameter: If all `steps` are over.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> stream.observe(stream.open(), [17, 250, 3]).step
        1
        """
        self._check(state)
        if state.step == self.steps:
            raise InvalidParameter("state", "<state>", "is at its last step", "Open a new stream, and pay again.")
        steps = self._steps(values)
        if state.rung is None:
            return self._learn(state, steps, entropy)
        limit = self._rungs[state.rung]
        total = min(state.block + sum(min(step, limit) for step in steps), _LARGEST_SUM)
        state = replace(state, step=state.step + 1, block=total)
        return state if self._open_steps(state) else self._close(state, entropy)

    def observe_many(
        self, state: TopsState, values: Iterable[Any], entropy: Entropy = SYSTEM
    ) -> tuple[TopsState, list[float]]:
        """Close several steps: the state after them, and the total after each.

        Args:
            state: What `open` or the last `observe` gave.
            values: The numbers of each step, as `observe` takes them.
            entropy: Source of randomness; the secure one by default.

        Returns:
            The next state, and a list of totals; NaN while the first steps last.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> state, totals = stream.observe_many(stream.open(), [[17, 250, 3]] * 100)
        >>> state.step, len(totals), totals[29]  # the first 30 choose the threshold
        (100, 100, nan)
        """
        totals = []
        for step in values.tolist() if hasattr(values, "tolist") else values:
            state = self.observe(state, step, entropy)
            totals.append(self.estimate(state) if state.step > self.first else math.nan)
        return state, totals

    def threshold(self, state: TopsState) -> float | None:
        """The threshold at which numbers are cut off.

        Args:
            state: What `open` or the last `observe` gave.

        Returns:
            The threshold; None while the first steps last.

        Raises:
            InvalidParameter: If state belongs to a stream with other parameters.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> state, _ = stream.observe_many(stream.open(), [[17, 250, 3]] * 100)
        >>> stream.threshold(stream.open()), 0 < stream.threshold(state) <= 1000
        (None, True)
        """
        self._check(state)
        return None if state.rung is None else self._number(self._rungs[state.rung])

    def estimate(self, state: TopsState) -> float:
        """The total since the first steps: at the end of the last block, and continued from there as it went before.

        Args:
            state: What `open` or the last `observe` gave.

        Returns:
            The total; 0 while the first steps last.

        Raises:
            InvalidParameter: If state belongs to a stream with other parameters.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> stream.estimate(stream.open())
        0.0
        """
        self._check(state)
        return self._known(state) + self._open_steps(state) * max(state.levels.forecast, 0.0)

    def half_width(self, state: TopsState, confidence: float = 0.95) -> float:
        """The half-width of the noise on the total at the end of the last block. What was cut off is not in it.

        Args:
            state: What `open` or the last `observe` gave.
            confidence: Probability that the error stays within the bound.

        Returns:
            The bound on the error; infinite while the first steps last.

        Raises:
            InvalidParameter: If state belongs to a stream with other parameters, or if confidence is not above 0 and
                below 1.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> state, _ = stream.observe_many(stream.open(), [[17, 250, 3]] * 100)
        >>> stream.half_width(stream.open()), stream.half_width(state) <= stream.accuracy()
        (inf, True)
        """
        self._check(state)
        checks.probability(confidence=confidence)
        if state.rung is None or state.counter is None or state.counter.step == 0:
            return 0.0 if state.rung is not None else math.inf
        counter = self._counter(self._rungs[state.rung])
        return float_up(Fraction(counter.accuracy(confidence, step=state.counter.step)) * self._ladder.granularity)

    def ends_block(self, step: int) -> bool:
        """Whether a block ends at this step. There the error of the total is known.

        Args:
            step: The number of steps after the first ones.

        Returns:
            True if a block ends there.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30, block=7)
        >>> [step for step in range(1, 22) if stream.ends_block(step)]
        [7, 14, 21]
        """
        return step % self._block == 0 or step == self.steps - self.first

    def range_half_width(self, threshold: Number, start: int, stop: int, confidence: float = 0.95) -> float:
        """The half-width of the noise on the sum over a range of steps, cut to whole blocks.

        Args:
            threshold: Where numbers are cut off, as `threshold` tells it.
            start: How many steps after the first ones come before the range.
            stop: The last step of the range, counted after the first ones.
            confidence: Probability that the error stays within the bound.

        Returns:
            The bound on the error.

        Raises:
            InvalidParameter: If no block ends within the range.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30, block=7)
        >>> stream.range_half_width(250, 0, 7) < stream.range_half_width(250, 7, 70)
        True
        """
        checks.whole(minimum=0, start=start)
        last = checks.whole(stop=stop) == self.steps - self.first
        blocks = self._blocks() if last else stop // self._block
        if not start // self._block < blocks <= self._blocks():
            raise InvalidParameter(
                "stop", stop, "does not end a block after start", f"Blocks have {self._block} steps."
            )
        limit = math.ceil(checks.positive(threshold=threshold) / self._ladder.granularity)
        width = self._counter(limit).window_accuracy(start // self._block, blocks, confidence)
        return float_up(Fraction(width) * self._ladder.granularity)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> list[float]:
        """The whole stream at once: the total after every step but the first ones.

        Args:
            data: The numbers of each of the `steps` steps, as `observe` takes them.

        Returns:
            A total for each step after the first ones.

        Raises:
            InvalidParameter: If data does not have `steps` entries.
        """
        rows = data.tolist() if hasattr(data, "tolist") else list(data)
        if len(rows) != self.steps:
            raise wrong_length(self.steps, ONE_PER_STEP)
        return self.observe_many(self.open(entropy), rows, entropy)[1][self.first :]

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far a total of numbers cut off at the threshold may be off at the end of a block, at worst.

        The worst is a threshold at the bound; `half_width` tells it for the one that was chosen.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> stream.accuracy() > stream.accuracy(0.5)
        True
        """
        counter = self._counter(self._rungs[-1])
        return float_up(Fraction(counter.accuracy(confidence)) * self._ladder.granularity)

    @staticmethod
    def looking_back(totals: Sequence[float]) -> list[float]:
        """The nearest series of totals that never falls, for the time when all steps are over.

        Args:
            totals: Released totals, in order.

        Returns:
            As many totals, none below 0 and none below the one before.

        >>> Tops.looking_back([120.0, 90.0, 200.0])
        [105.0, 105.0, 200.0]
        """
        return never_falling([max(float(total), 0.0) for total in totals])

    @property
    def state_bytes(self) -> int:
        """The length of every stored state."""
        levels = 8 * (2 + 2 * len(GAINS))
        return _HEAD.size + 8 * len(self._rungs) + self._counter(1).state_bytes + levels + _MARK

    def state_to_bytes(self, state: TopsState) -> bytes:
        """The state as bytes, to store in a safe place. Their number is the same at every step.

        Args:
            state: What `open` or the last `observe` gave.

        Returns:
            The `state_bytes` bytes to store.

        Raises:
            InvalidParameter: If state belongs to a stream with other parameters.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> len(stream.state_to_bytes(stream.open())) == stream.state_bytes
        True
        """
        self._check(state)
        counter = b"" if state.counter is None else state.counter.to_bytes()
        levels = (state.levels.level, float(state.levels.seen), *state.levels.memories, *state.levels.misses)
        rung, known = (0, 0) if state.rung is None else (state.rung, 1)
        body = b"".join(
            (
                _HEAD.pack(_MAGIC, state.fingerprint, state.step, rung, state.block, known),
                struct.pack(f"<{len(self._rungs)}q", *state.counts),
                counter.ljust(self._counter(1).state_bytes, b"\0"),
                struct.pack(f"<{len(levels)}d", *levels),
            )
        )
        return body + sha256(body).digest()[:_MARK]

    def state_from_bytes(self, data: bytes) -> TopsState:
        """The state that `state_to_bytes` wrote. Anything else is refused.

        Args:
            data: What `state_to_bytes` wrote.

        Returns:
            The state.

        Raises:
            InvalidParameter: If the bytes are damaged, or belong to a stream with other parameters.

        >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
        >>> state = stream.observe(stream.open(), [17, 250, 3])
        >>> stream.state_from_bytes(stream.state_to_bytes(state)).step
        1
        """
        if not isinstance(data, bytes) or len(data) != self.state_bytes or data[:4] != _MAGIC:
            raise _damaged("is not a stored state of this stream")
        if sha256(data[:-_MARK]).digest()[:_MARK] != data[-_MARK:]:
            raise _damaged("is damaged")
        _, mark, step, rung, block, known = _HEAD.unpack_from(data)
        if mark != self._fingerprint or step > self.steps or rung >= len(self._rungs) or known != (step >= self.first):
            raise _damaged("belongs to a stream with other parameters")
        counts = struct.unpack_from(f"<{len(self._rungs)}q", data, _HEAD.size)
        start, size = _HEAD.size + 8 * len(self._rungs), self._counter(1).state_bytes
        counter = self._counter(self._rungs[rung]).state_from_bytes(data[start : start + size]) if known else None
        numbers = struct.unpack_from(f"<{2 + 2 * len(GAINS)}d", data, start + size)
        memories = numbers[2 : 2 + len(GAINS)]
        levels = Levels(numbers[0], int(numbers[1]), memories, numbers[2 + len(GAINS) :])
        return TopsState(step, mark, rung if known else None, counts, block, counter, levels)

    def _learn(self, state: TopsState, steps: Sequence[int], entropy: Entropy) -> TopsState:
        """One of the first steps; the last of them draws the threshold and forgets the counts."""
        counts = list(state.counts)
        for step in steps:
            counts[bisect_left(self._rungs, step)] += 1
        state = replace(state, step=state.step + 1, counts=tuple(counts))
        if state.step < self.first:
            return state
        cells = [(place, 1, count) for place, count in enumerate(counts) if count]
        rung = min(int(self._quantile.start(cells, entropy).value), len(self._rungs) - 1)
        counter = self._counter(self._rungs[rung]).open(entropy)
        return replace(state, rung=rung, counts=(0,) * len(counts), counter=counter)

    def _close(self, state: TopsState, entropy: Entropy) -> TopsState:
        """The end of a block: its sum goes to the counter, and the smoother sees what came out."""
        assert state.rung is not None
        assert state.counter is not None
        counter, before = self._counter(self._rungs[state.rung]), self._known(state)
        following = replace(state, block=0, counter=counter.observe(state.counter, state.block, entropy))
        if self._block == 1:
            return following
        blocks = state.counter.step + 1
        rate = (self._known(following) - before) / self._block
        return replace(following, levels=state.levels.following(rate, counter.window_variance(blocks - 1, blocks)))

    def _known(self, state: TopsState) -> float:
        """The noisy total at the end of the last block."""
        if state.rung is None or state.counter is None or state.counter.step == 0:
            return 0.0
        [total] = self._counter(self._rungs[state.rung]).estimate(state.counter)
        return total * float(self._ladder.granularity)

    def _open_steps(self, state: TopsState) -> int:
        """Steps since the last block was closed; the last step closes its block, whole or not."""
        return max(state.step - self.first, 0) % self._block if state.step < self.steps else 0

    def _blocks(self) -> int:
        return -(-(self.steps - self.first) // self._block)

    def _counter(self, limit: int) -> SignedTree:
        return _counter(self._epsilon, self._blocks(), limit, self.relation, self.unit)

    def _steps(self, values: Any) -> Sequence[int]:
        """The numbers of a step in grid steps between 0 and the bound; what is no number is left out."""
        if not is_array(values):
            if isinstance(values, Iterable) and not isinstance(values, (str, bytes)) and not hasattr(values, "ndim"):
                return self._steps(list(values))  # a generator, a set
            step = self._ladder.steps(values)
            return () if step is None else (step,)
        listed: Any = self._ladder.rungs(values)
        return listed.tolist() if hasattr(listed, "tolist") else listed  # type: ignore[no-any-return]

    def _number(self, steps: int) -> float:
        exact = steps * self._ladder.granularity
        return quotient(exact.numerator, exact.denominator)

    def _check(self, state: object) -> None:
        checks.of_kind(TopsState, "is not a state of a stream", "Pass what open() or observe() gave.", state=state)
        if getattr(state, "fingerprint", None) != self._fingerprint:
            raise _damaged("belongs to a stream with other parameters")


@lru_cache(maxsize=256)
def _counter(epsilon: Fraction, blocks: int, limit: int, relation: Any, unit: str) -> SignedTree:
    return SignedTree(epsilon=epsilon, steps=blocks, sensitivity=limit, relation=relation, unit=unit)


def _share_above(noise: float, ranged: int, values: int, rungs: int, epsilon: Fraction) -> Fraction:
    """The share of numbers that a threshold cuts off if noise + what is cut off is least, or that ranks can tell.

    With noise s·θ on a range of r numbers and r·E(x − θ)₊ cut off, the sum is least where P(x > θ) = s/r.
    """
    ranks = exponential_gap(rungs, drawable(2 / epsilon, epsilon=epsilon), 0.95)
    share = max(noise / ranged, ranks / values)
    return Fraction(min(share, 0.5)).limit_denominator(10_000)


def _damaged(why: str) -> InvalidParameter:
    return InvalidParameter("state", "<state>", why, "Use the stream and the state that belong together.")
