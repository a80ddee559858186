"""Counts without an end, private for any w consecutive steps (w-event privacy; Kellaris et al. 2014).

A stream without an end cannot protect a whole life at a fixed price. It can protect whatever one unit does within any
`window` consecutive steps. The plain way gives every step ε/w. The two adaptive ways repeat their last answer while
little changes, which is free, and save what they did not spend for the steps at which much changes.

    open() → state      observe(state, counts) → next state      estimate(state) → the counts of that step

The state is what was released, and when. Nothing in it is secret, and its length never changes.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up
from lapwing.mechanisms.additive import ONE_PER_STEP, wrong_length
from lapwing.mechanisms.grid import element_steps, is_array, saturated
from lapwing.mechanisms.laplace import SMALLEST_SCALE
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.records import as_records
from lapwing.mechanisms.tails import drawable, laplace_half_width, laplace_one_sided, laplace_variance
from lapwing.noise import SYSTEM, Entropy, discrete_laplace
from lapwing.privacy import PureDP

SHARES = 1 << 20
"""Into so many parts `BudgetDistribution` divides what it may spend on releases: it can halve that 20 times."""
LONGEST_WINDOW, WIDEST = 1 << 16, 1 << 20
_HEAD = struct.Struct(">4s8sQQII")
_MAGIC, _CHECK = b"LWE1", 8
_GRID = Fraction(1)


@dataclass(frozen=True, slots=True)
class WEventState:
    """Where a stream stands after `step` steps. All of it follows from what was released, so it is public.

    >>> mechanism = UniformBudget(epsilon=1, window=7)
    >>> state = mechanism.observe(mechanism.open(), 120)
    >>> state.step, state.released, mechanism.state_from_bytes(state.to_bytes()) == state
    (1, True, True)
    """

    parameters: bytes
    """A fingerprint of the mechanism that it belongs to."""
    step: int
    """How many steps were observed."""
    values: tuple[int, ...]
    """The counts that were last released; zeros before that."""
    since: int = 0
    """Steps since the last release: 0 if this step was released."""
    shares: int = 0
    """What that release spent."""
    allowed: int = 0
    """What a release at this step was allowed to spend."""
    spent: tuple[int, ...] = ()
    """What the releases of recent steps spent, oldest first, where the mechanism has to remember it."""

    @property
    def released(self) -> bool:
        """Whether the counts of this very step were released; otherwise it repeats an earlier answer."""
        return self.step > 0 and self.since == 0

    def to_bytes(self) -> bytes:
        """The state as bytes, to store. Their number is the same at every step.

        Returns:
            The bytes, for `state_from_bytes` of the same mechanism.

        >>> mechanism = UniformBudget(epsilon=1, window=7)
        >>> state = mechanism.observe(mechanism.open(), 120)
        >>> mechanism.state_from_bytes(state.to_bytes()) == state
        True
        """
        head = _HEAD.pack(_MAGIC, self.parameters, self.step, self.since, self.shares, self.allowed)
        body = head + struct.pack(f">{len(self.values)}q{len(self.spent)}I", *self.values, *self.spent)
        return body + hashlib.sha256(body).digest()[:_CHECK]


@dataclass(frozen=True, slots=True, kw_only=True)
class WEvent(Mechanism):
    """What the three mechanisms share: a vector of counts at every step, and one price for any `window` steps.

    Args:
        epsilon: The pure ε for what one unit does in any `window` consecutive steps. A longer activity costs more.
        window: For how many consecutive steps the price holds, at most 65,536.
        sensitivity: How far one unit moves the counts of *one* step, in l1: a whole number.
        width: How many counts each step brings.
        steps: The declared length of the stream; None for a stream without an end.
    """

    epsilon: Number
    window: int
    sensitivity: int = 1
    width: int = 1
    steps: int | None = None
    _epsilon: Fraction = field(init=False, repr=False, compare=False)
    _unit_scale: Fraction = field(init=False, repr=False, compare=False)
    _parameters: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        epsilon, window = checks.positive(epsilon=self.epsilon), checks.whole(window=self.window)
        sensitivity, width = checks.whole(sensitivity=self.sensitivity), checks.whole(width=self.width)
        if self.steps is not None:
            checks.whole(steps=self.steps)
        if window > LONGEST_WINDOW:
            raise InvalidParameter("window", window, f"is above {LONGEST_WINDOW:,} steps", "Use longer steps.")
        if width > WIDEST:
            raise InvalidParameter("width", width, f"is above {WIDEST:,} counts", "Use fewer groups.")
        stated = [type(self).__name__, str(epsilon), window, sensitivity, width, self.steps, *self._stated()]
        self._set(_epsilon=epsilon, _parameters=hashlib.sha256(json.dumps(stated).encode()).digest()[:8])
        scale = Fraction(sensitivity * self._all_shares()) / (epsilon * self._release_part())
        self._set(_unit_scale=drawable(max(scale, SMALLEST_SCALE), epsilon=self.epsilon))

    @abstractmethod
    def _all_shares(self) -> int:
        """Into how many shares the part of ε for releases is divided; any `window` steps spend at most so many."""

    @abstractmethod
    def _allowed(self, state: WEventState) -> int:
        """How many of them a release at the next step may spend."""

    @abstractmethod
    def _is_due(self, counts: list[int], last: tuple[int, ...], allowed: int, entropy: Entropy) -> bool:
        """Whether these counts are released, or the last answer repeated."""

    def _release_part(self) -> Fraction:
        """The part of ε for releases; the rest is for the decisions whether to release."""
        return Fraction(1)

    def _stated(self) -> tuple[object, ...]:
        return ()

    def _memory(self) -> int:
        """How many steps back the mechanism has to know what was spent."""
        return 0

    def _loss(self, decisions: Fraction) -> PureDP:
        releases = self.sensitivity * self._all_shares() / self._unit_scale
        words = "in any single step" if self.window == 1 else f"in any {self.window} consecutive steps"
        return PureDP(releases + decisions, relation=self.relation, unit=f"{self.unit} {words}")

    def privacy_loss(self) -> PureDP:
        """Pure ε for what one unit does in any `window` consecutive steps. A longer activity adds up.

        >>> print(UniformBudget(epsilon=1, window=7).privacy_loss())
        ε = 1 (add_remove, per person in any 7 consecutive steps)
        """
        return self._loss(Fraction(0))

    def open(self, entropy: Entropy = SYSTEM) -> WEventState:
        """The state before the first step. No noise is drawn yet.

        >>> UniformBudget(epsilon=1, window=7).open().step
        0
        """
        return WEventState(self._parameters, 0, (0,) * self.width, shares=1, spent=(0,) * self._memory())

    def observe(self, state: WEventState, values: Any, entropy: Entropy = SYSTEM) -> WEventState:
        """Close one step. Use every state once.

        Args:
            state: What `open` or the last `observe` gave.
            values: The `width` counts of this step; one number if the width is 1.
            entropy: Source of randomness; the secure one by default.

        Returns:
            The next state.

        Raises:
            InvalidParameter: If the declared `steps` are over.

        >>> mechanism = UniformBudget(epsilon=1, window=7)
        >>> mechanism.observe(mechanism.open(), 120).step
        1
        """
        self._check(state)
        if state.step == self.steps:
            raise InvalidParameter("step", state.step + 1, "comes after the last step", "Open a new stream.")
        counts, allowed = self._counts(values), self._allowed(state)
        due = allowed > 0 and self._is_due(counts, state.values, allowed, entropy)
        if not due:
            return _following(state, allowed)
        noise = self._noise(self._scale(allowed), entropy)
        noisy = saturated(count + draw for count, draw in zip(counts, noise, strict=True))
        return _released(_following(state, allowed, spent=allowed), tuple(noisy))

    def observe_many(
        self, state: WEventState, values: Iterable[Any], entropy: Entropy = SYSTEM
    ) -> tuple[WEventState, list[list[int]]]:
        """Close several steps: the last state, and the answer after each of them.

        >>> mechanism = UniformBudget(epsilon=1, window=7, width=2)
        >>> state, answers = mechanism.observe_many(mechanism.open(), [[500, 20], [501, 22]])
        >>> state.step, len(answers), len(answers[0])
        (2, 2, 2)
        """
        answers = []
        for counts in values.tolist() if hasattr(values, "tolist") else values:
            state = self.observe(state, counts, entropy)
            answers.append(self.estimate(state))
        return state, answers

    def estimate(self, state: WEventState) -> list[int]:
        """The counts that were last released, `width` of them. They may be negative.

        >>> mechanism = UniformBudget(epsilon=10, window=7)
        >>> [count] = mechanism.estimate(mechanism.observe(mechanism.open(), 1200))
        >>> 1150 < count < 1250
        True
        """
        self._check(state)
        return list(state.values)

    def error_bound(self, state: WEventState, confidence: float = 0.95) -> float:
        """How far each count of this answer may be off, exceeded with probability at most 1 − confidence.

        It is infinite where nothing is known: before the first step, and where there was nothing left to spend.

        Args:
            state: The state of the answer.
            confidence: Probability that the error stays within the bound.

        Returns:
            The bound on the error.

        >>> mechanism = UniformBudget(epsilon=1, window=7)
        >>> mechanism.error_bound(mechanism.observe(mechanism.open(), 1200))
        26.0
        """
        self._check(state)
        failure = (1 - checks.probability(confidence=confidence)) / 2
        if state.released:
            return self._released_error(state.shares, failure)
        return self._repeated_error(state.allowed, failure) if state.allowed else math.inf

    def variance(self, state: WEventState) -> float:
        """The variance of the noise in each count that was last released; infinite before the first release.

        >>> mechanism = UniformBudget(epsilon=1, window=7)
        >>> mechanism.variance(mechanism.open()), round(mechanism.variance(mechanism.observe(mechanism.open(), 1200)))
        (inf, 98)
        """
        self._check(state)
        never = state.since == state.step
        return math.inf if never else laplace_variance(self._scale(state.shares), _GRID)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> list[Any]:
        """The whole stream at once: the answer after every step.

        Args:
            data: The counts of all steps: numbers if the width is 1, else a row of `width` counts for each step.

        Returns:
            An answer for each step, a number if the width is 1.

        >>> len(UniformBudget(epsilon=1, window=7).release([1200, 1300, 1100]))
        3
        """
        listed = as_records(data)
        rows = listed if isinstance(listed, list) else listed.tolist()
        if self.steps is not None and len(rows) != self.steps:
            raise wrong_length(self.steps, ONE_PER_STEP)
        _, answers = self.observe_many(self.open(entropy), rows, entropy)
        return [answer for [answer] in answers] if self.width == 1 else answers

    @property
    def state_bytes(self) -> int:
        """The length of every stored state."""
        return _HEAD.size + 8 * self.width + 4 * self._memory() + _CHECK

    def state_from_bytes(self, data: bytes) -> WEventState:
        """The state that `WEventState.to_bytes` wrote. Anything else is refused.

        Args:
            data: What `to_bytes` wrote.

        Returns:
            The state.

        Raises:
            InvalidParameter: If these bytes are not a state of this mechanism.

        >>> mechanism = UniformBudget(epsilon=1, window=7)
        >>> state = mechanism.observe(mechanism.open(), 120)
        >>> mechanism.state_from_bytes(state.to_bytes()) == state
        True
        """
        hint = "Read the bytes that to_bytes wrote, with the parameters of then."
        if not isinstance(data, bytes) or len(data) != self.state_bytes:
            raise InvalidParameter("data", "<bytes>", f"is not a state of {self.state_bytes} bytes", hint)
        body, check = data[:-_CHECK], data[-_CHECK:]
        magic, parameters, step, since, shares, allowed = _HEAD.unpack_from(body)
        if magic != _MAGIC or check != hashlib.sha256(body).digest()[:_CHECK]:
            raise InvalidParameter("data", "<bytes>", "is damaged", hint)
        numbers = struct.unpack_from(f">{self.width}q{self._memory()}I", body, _HEAD.size)
        values, spent = numbers[: self.width], numbers[self.width :]
        state = WEventState(parameters, step, values, since, shares, allowed, spent)
        self._check(state)
        if since > step or max(shares, allowed, sum(spent)) > self._all_shares() or shares == 0:
            raise InvalidParameter("data", "<bytes>", "is a state that cannot come about", hint)
        return state

    def _check(self, state: object) -> None:
        checks.of_kind(WEventState, "is not a state", "Write state = mechanism.open() first.", state=state)
        if getattr(state, "parameters", None) != self._parameters:
            why = "belongs to a mechanism with other parameters"
            raise InvalidParameter("state", "<state>", why, "Use the mechanism that opened it.")

    def _counts(self, values: Any) -> list[int]:
        """The counts of a step as whole numbers; what is no number counts as 0."""
        if not is_array(values) and self.width == 1:
            values = [values]
        listed = as_records(values)
        if not isinstance(listed, list):
            listed = listed.tolist()
        if len(listed) != self.width:
            raise wrong_length(self.width, "Pass a row with one count for each, as wide as was declared.")
        return saturated(element_steps(value, _GRID) for value in listed)

    def _scale(self, shares: int) -> Fraction:
        return max(self._unit_scale / shares, SMALLEST_SCALE)

    def _noise(self, scale: Fraction, entropy: Entropy) -> list[int]:
        if self.width <= 64:
            return [discrete_laplace(scale, entropy=entropy) for _ in range(self.width)]
        drawn: list[int] = discrete_laplace(scale, self.width, entropy).tolist()
        return drawn

    def _released_error(self, shares: int, failure: Fraction) -> float:
        return float_up(Fraction(laplace_half_width(self._scale(shares), failure / self.width)))

    def _repeated_error(self, allowed: int, failure: Fraction) -> float:
        """Of an answer that was repeated although a release could have spent `allowed`."""
        return math.inf


def _following(state: WEventState, allowed: int, spent: int = 0) -> WEventState:
    """The state one step later, which still has the last answer; a release may spend `allowed` there."""
    memory = (*state.spent, spent)[1:] if state.spent else ()
    return replace(state, step=state.step + 1, since=state.since + 1, allowed=allowed, spent=memory)


def _released(state: WEventState, values: tuple[int, ...]) -> WEventState:
    """The state with an answer of its own, for which all that is allowed is spent."""
    return replace(state, values=values, since=0, shares=state.allowed)


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformBudget(WEvent):
    """Every step is released with ε/w and fresh noise: the baseline.

    Privacy: pure ε for what one unit does in any `window` consecutive steps.
    Proof: w_event.md

    Raises:
        InvalidParameter: If epsilon is not positive, if window, sensitivity, width or steps is not a whole number from
            1 on, or if window or width is too large.

    >>> mechanism = UniformBudget(epsilon=1, window=7)
    >>> print(mechanism.privacy_loss())
    ε = 1 (add_remove, per person in any 7 consecutive steps)
    >>> mechanism.accuracy()
    21.0
    """

    def _all_shares(self) -> int:
        return self.window

    def _allowed(self, state: WEventState) -> int:
        return 1

    def _is_due(self, counts: list[int], last: tuple[int, ...], allowed: int, entropy: Entropy) -> bool:
        return True

    def accuracy(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """How far one count of one step may be off.

        Args:
            simultaneous: Bound the errors of all `width` counts of a step together instead of each one alone.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.
        """
        failure = 1 - checks.probability(confidence=confidence)
        return float_up(Fraction(laplace_half_width(self._scale(1), failure / (self.width if simultaneous else 1))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Adaptive(WEvent):
    """Release a step only if it differs from the last answer by more than the noise of a release would.

    How much it differs is the sum of the absolute differences, a whole number, with noise of its own.

    Args:
        decision_share: Part of ε that pays for the decisions whether to release a step, above 0 and below 1. The rest
            pays for the releases.
    """

    decision_share: Number = Fraction(1, 2)
    _decision_scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        part = checks.probability(decision_share=self.decision_share)
        WEvent.__post_init__(self)
        scale = Fraction(self.sensitivity * self.window) / (self._epsilon * part)
        self._set(_decision_scale=drawable(max(scale, SMALLEST_SCALE), epsilon=self.epsilon))

    def privacy_loss(self) -> PureDP:
        """Pure ε for what one unit does in any `window` consecutive steps: decisions and releases together.

        >>> print(BudgetAbsorption(epsilon=1, window=7).privacy_loss())
        ε = 1 (add_remove, per person in any 7 consecutive steps)
        """
        return self._loss(self.window * self.sensitivity / self._decision_scale)

    def accuracy(self, confidence: float = 0.95, *, releases: int = 0) -> float:
        """How far a count may be off at a step before which nothing was released for `window` steps.

        With absorption, for twice as many: the steps after a release may have given up their share.
        With `releases`, so many steps came in between, and each was released as far as something was left to spend.
        Infinite if nothing is left for the step itself. `error_bound` tells it for each answer of a stream.

        >>> mechanism = BudgetAbsorption(epsilon=1, window=7)
        >>> mechanism.accuracy(), mechanism.accuracy(releases=1)
        (45.0, inf)
        """
        failure = (1 - checks.probability(confidence=confidence)) / 2
        state = replace(self.open(), step=self.window, since=self.window)
        for _ in range(checks.whole(minimum=0, releases=releases)):
            allowed = self._allowed(state)
            following = _following(state, allowed, spent=allowed)
            state = _released(following, state.values) if allowed else following
        left = self._allowed(state)
        return max(self._released_error(left, failure), self._repeated_error(left, failure)) if left else math.inf

    def _release_part(self) -> Fraction:
        return 1 - checks.probability(decision_share=self.decision_share)

    def _stated(self) -> tuple[object, ...]:
        return (str(checks.exact(decision_share=self.decision_share)),)

    def _is_due(self, counts: list[int], last: tuple[int, ...], allowed: int, entropy: Entropy) -> bool:
        distance = sum(abs(count - value) for count, value in zip(counts, last, strict=True))
        noisy = distance + discrete_laplace(self._decision_scale, entropy=entropy)
        return noisy > self.width * self._scale(allowed)

    def _repeated_error(self, allowed: int, failure: Fraction) -> float:
        return float_up(self.width * self._scale(allowed) + laplace_one_sided(self._decision_scale, failure))


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDistribution(_Adaptive):
    """Each release spends half of what the last w − 1 steps have left: best where changes are few or come in bursts.

    Privacy: pure ε for what one unit does in any `window` consecutive steps.
    Accuracy: depends on how the stream moves; `error_bound` tells it for each answer.
    Proof: w_event.md

    Raises:
        InvalidParameter: If epsilon is not positive, if window, sensitivity, width or steps is not a whole number from
            1 on, or if window or width is too large. Also if decision_share is not above 0 and below 1.

    >>> mechanism = BudgetDistribution(epsilon=1, window=7)
    >>> state = mechanism.open()
    >>> for visits in (1000, 1002, 999):
    ...     state = mechanism.observe(state, visits)
    >>> state.step, len(state.to_bytes()) == mechanism.state_bytes
    (3, True)
    >>> [visits] = mechanism.estimate(state)
    >>> print(mechanism.privacy_loss())
    ε = 1 (add_remove, per person in any 7 consecutive steps)
    """

    def _all_shares(self) -> int:
        return SHARES

    def _memory(self) -> int:
        return self.window - 1

    def _allowed(self, state: WEventState) -> int:
        return (SHARES - sum(state.spent)) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAbsorption(_Adaptive):
    """Each release uses the shares of the steps skipped before it too, and as many steps after it give up theirs.

    Privacy: pure ε for what one unit does in any `window` consecutive steps.
    Accuracy: depends on how the stream moves; `error_bound` tells it for each answer, and is infinite for the steps
    that gave up their share.
    Proof: w_event.md

    Raises:
        InvalidParameter: If epsilon is not positive, if window, sensitivity, width or steps is not a whole number from
            1 on, or if window or width is too large. Also if decision_share is not above 0 and below 1.

    >>> mechanism = BudgetAbsorption(epsilon=1, window=7, width=2)
    >>> state, answers = mechanism.observe_many(mechanism.open(), [[500, 20], [501, 22]])
    >>> len(answers), len(answers[0])
    (2, 2)
    """

    def _all_shares(self) -> int:
        return self.window

    def _allowed(self, state: WEventState) -> int:
        absorbed = state.since + 2 - state.shares
        return min(max(absorbed, 0), self.window)
