"""ToPS: totals of bounded numbers that go on, when the bound is far above most numbers (Wang et al. 2021).

    threshold    the first steps are spent on a rank: most numbers lie below it
    perturber    from then on numbers are cut off there and counted by a tree over blocks of steps
    smoother     within a block the total goes on as it went before, without noise of its own

Noise in proportion to the declared bound would drown everything; noise in proportion to the threshold does not. What is
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
from lapwing.mechanisms.additive import wrong_length
from lapwing.mechanisms.counter import CounterState
from lapwing.mechanisms.exponential import exponential_gap
from lapwing.mechanisms.grid import is_array, quotient
from lapwing.mechanisms.ladder import Ladder
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.quantile import Quantile
from lapwing.mechanisms.signed_tree import SignedTree
from lapwing.mechanisms.smoothing import GAINS, Levels, never_falling
from lapwing.mechanisms.tails import drawable
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP

PER_OCTAVE = 16
"""Thresholds to choose from, between a number and twice that number."""
_HEAD = struct.Struct("<4s8sQIqQ")
_MAGIC, _MARK, _LARGEST_SUM = b"LWT1", 8, 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class TopsState:
    """Where a stream stands after `step` steps. **Secret**: it holds exact counts, sums and noise yet to be used.

    A state is observed once. Observing it again, with other data, would release the same step twice.
    """

    step: int
    fingerprint: bytes = field(repr=False)
    rung: int | None = None
    """Which threshold was chosen; None while the first steps last. Public."""
    counts: tuple[int, ...] = field(default=(), repr=False)
    """How many of the first values lie below each threshold and above the one before; all zero afterwards."""
    block: int = field(default=0, repr=False)
    """The sum of the block that is not closed yet, in grid steps."""
    counter: CounterState | None = field(default=None, repr=False)
    levels: Levels = field(default_factory=Levels, repr=False)
    """Of what a step brings, smoothed. Public."""


@dataclass(frozen=True, slots=True)
class TopsQuote:
    """What a stream costs and how accurate it will be, before anything is read."""

    loss: PureDP
    steps: int
    first: int
    rank: float
    """The share of the first numbers that should lie below the threshold."""
    block: int
    half_width: float
    """Of a total after the worst block, in thresholds."""
    confidence: float
    state_bytes: int
    granularity: float
    """Numbers are rounded to multiples of this before anything else, and intervals are about the rounded ones."""

    def __str__(self) -> str:
        return (
            f"{self.loss}, once for {self.steps:,} steps. The first {self.first:,} choose a threshold above "
            f"{self.rank:.2%} of the numbers and are not answered. Then a total is within {self.half_width:,.1f} "
            f"thresholds of the sum of what is not cut off, at {100 * self.confidence:g} % confidence, after each "
            f"block of {self.block:,} steps. Numbers are rounded to multiples of {self.granularity:g} first. "
            f"State: {self.state_bytes:,} bytes."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tops(Mechanism):
    """Totals of numbers between 0 and `bound`, step after step, each number of a step being one event.

    The `first` steps choose the threshold and are not part of any total. `typical_range` is the number of steps that
    most questions are about (by default a third of all), `values_per_step` about how many numbers a step brings; both
    only weigh what is cut off against the noise. `block` steps share one noise (by default so many that what happens
    within a block matters less than the noise). Numbers are rounded to multiples of `granularity` first: by default 1
    for a whole bound of 100 or more, otherwise a few thousandths of the bound. Write `granularity=0.01` where most
    numbers are not far above 1: intervals are about the rounded numbers.

    Privacy: pure ε for one event, once for the whole stream. An event is one number at one step; somebody with several
    of them loses ε for each.
    Accuracy: in units of the threshold, which is known after the first steps: `half_width`.
    Proof: tops.md

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
        """An event is either among the first steps or later: the larger of the two losses, not their sum."""
        return max(
            self._quantile.privacy_loss(), self._counter(1).privacy_loss(), key=lambda loss: Fraction(loss.epsilon)
        )

    def quote(self, confidence: float = 0.95) -> TopsQuote:
        """The price and the error in units of the threshold; nothing is read."""
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
        """The state before the first step."""
        return TopsState(0, self._fingerprint, counts=(0,) * len(self._rungs))

    def observe(self, state: TopsState, values: Any, entropy: Entropy = SYSTEM) -> TopsState:
        """Close one step that brought these numbers (a list, an array, or one number)."""
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
        """Several steps: the state after them, and the total after each; NaN while the first steps last."""
        totals = []
        for step in values.tolist() if hasattr(values, "tolist") else values:
            state = self.observe(state, step, entropy)
            totals.append(self.estimate(state) if state.step > self.first else math.nan)
        return state, totals

    def threshold(self, state: TopsState) -> float | None:
        """Where numbers are cut off; None while the first steps last."""
        self._check(state)
        return None if state.rung is None else self._number(self._rungs[state.rung])

    def estimate(self, state: TopsState) -> float:
        """The total since the first steps: at the end of the last block, and on from there as it went before."""
        self._check(state)
        return self._known(state) + self._open_steps(state) * max(state.levels.forecast, 0.0)

    def half_width(self, state: TopsState, confidence: float = 0.95) -> float:
        """Of the noise on the total at the end of the last block; what was cut off is not in it."""
        self._check(state)
        if state.rung is None or state.counter is None or state.counter.step == 0:
            return 0.0 if state.rung is not None else math.inf
        counter = self._counter(self._rungs[state.rung])
        return float_up(Fraction(counter.accuracy(confidence, step=state.counter.step)) * self._ladder.granularity)

    def ends_block(self, step: int) -> bool:
        """Whether a block ends with so many steps after the first ones: there the error is known."""
        return step % self._block == 0 or step == self.steps - self.first

    def range_half_width(self, threshold: Number, start: int, stop: int, confidence: float = 0.95) -> float:
        """Of the noise on the sum over steps start + 1 … stop after the first ones, cut to whole blocks."""
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
        """The whole stream at once: the total after every step but the first ones."""
        rows = data.tolist() if hasattr(data, "tolist") else list(data)
        if len(rows) != self.steps:
            raise wrong_length(self.steps)
        return self.observe_many(self.open(entropy), rows, entropy)[1][self.first :]

    def accuracy(self, confidence: float = 0.95) -> float:
        """How far a total of numbers cut off at the threshold may be off at the end of a block, at worst.

        The worst is a threshold at the bound; `half_width` tells it for the one that was chosen.
        """
        counter = self._counter(self._rungs[-1])
        return float_up(Fraction(counter.accuracy(confidence)) * self._ladder.granularity)

    @staticmethod
    def looking_back(totals: Sequence[float]) -> list[float]:
        """Totals of numbers that are not negative never fall: the nearest such series, when all steps are over."""
        return never_falling([max(float(total), 0.0) for total in totals])

    @property
    def state_bytes(self) -> int:
        """The length of every stored state."""
        levels = 8 * (2 + 2 * len(GAINS))
        return _HEAD.size + 8 * len(self._rungs) + self._counter(1).state_bytes + levels + _MARK

    def state_to_bytes(self, state: TopsState) -> bytes:
        """The state to store: the same number of bytes at every step."""
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
        """What `state_to_bytes` wrote; anything else is refused."""
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


def thresholds(top: int) -> tuple[int, ...]:
    """Whole numbers up to `top`: all small ones, then sixteen between each number and its double.

    >>> thresholds(40)[-6:]
    (31, 32, 34, 36, 38, 40)
    """
    rungs, octave = list(range(1, min(2 * PER_OCTAVE, top) + 1)), 2 * PER_OCTAVE
    while octave < top:
        part = octave // PER_OCTAVE
        rungs += [octave + place * part for place in range(1, PER_OCTAVE + 1) if octave + place * part < top]
        octave *= 2
    return (*rungs, top) if rungs[-1] < top else tuple(rungs)


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
