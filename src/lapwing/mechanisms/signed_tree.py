"""A tree of noisy sums that are added and subtracted: the counter for ledgers of pure epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.counter import Counter, CounterState, whole_sensitivity, wrapped
from lapwing.mechanisms.laplace import SMALLEST_SCALE
from lapwing.mechanisms.laplace_sums import sum_half_width
from lapwing.mechanisms.tails import drawable, laplace_variance
from lapwing.noise import Entropy
from lapwing.noise.laplace import LARGEST_INT64_SCALE, DigitSampler, discrete_laplace_sampler
from lapwing.privacy import PureDP

LARGEST_ARITY = 255
"""Of the trees that are tried; a state grows with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedTree(Counter):
    """Noisy sums after every step under pure ε, from a tree whose nodes are added and subtracted.

    The number of steps so far is written with digits from −(k−1)/2 to (k−1)/2, k = `arity`, odd; a digit d of level i
    stands for |d| nodes of k^i steps each. Every node has discrete Laplace noise of its own, drawn before the first sum
    that uses it.

    Privacy: pure ε for the whole stream, whatever the next numbers depend on.
    Proof: signed_tree.md

    Args:
        sensitivity: How far one unit moves the `width` numbers of one step, in l1.
        epsilon: What the whole stream may cost, as pure ε.
        arity: How many nodes make one of the next level, an odd number from 3 on; None for the best one.

    Raises:
        InvalidParameter: If a number is not positive, if sensitivity is less than 1, if there are too many steps, if
            arity is not an odd number from 3 on, or if epsilon makes noise too wide to draw.

    >>> tree = SignedTree(epsilon=1, steps=1024, sensitivity=1)
    >>> int(tree.privacy_loss().epsilon), tree.branches, round(tree.rms(), 1)
    (1, 13, 13.0)
    """

    _instead: ClassVar[dict[str, str]] = {"rho": "Write SignedTree.for_rho(0.5, steps=365, sensitivity=1)."}

    epsilon: Number
    arity: int | None = None
    _half: int = field(init=False, repr=False, compare=False)
    _levels: int = field(init=False, repr=False, compare=False)
    _shift: int = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Counter.__post_init__(self)
        epsilon, branches = checks.positive(epsilon=self.epsilon), best_arity(self.steps)
        if self.arity is not None:
            branches = checks.whole(minimum=3, arity=self.arity)
            if branches % 2 == 0:
                raise InvalidParameter("arity", self.arity, "must be odd", f"Write arity={branches + 1}.")
        levels = len(list(digits(self.steps, branches)))
        shift = whole_sensitivity(self.sensitivity) * levels * self._active()
        scale = drawable(max(shift / epsilon, SMALLEST_SCALE), epsilon=self.epsilon)
        if scale > LARGEST_INT64_SCALE:
            raise InvalidParameter("epsilon", self.epsilon, "makes noise too wide to draw", "Count in larger units.")
        self._set(_half=branches // 2, _levels=levels, _shift=shift, _scale=scale)

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, steps: int, sensitivity: Number, **parameters: Any) -> Self:
        """The tree of this ε, for the whole stream.

        Args:
            epsilon: What the whole stream may cost, as pure ε.
            steps: How many steps the stream has at most.
            sensitivity: How far one unit moves the numbers of one step, in l1.
            **parameters: Of the constructor: width, active_steps, separation, arity, relation, unit.

        Returns:
            The counter.

        >>> SignedTree.for_epsilon(1, steps=365, sensitivity=1) == SignedTree(epsilon=1, steps=365, sensitivity=1)
        True
        """
        return cls(epsilon=epsilon, steps=steps, sensitivity=sensitivity, **parameters)

    @classmethod
    def for_rho(cls, rho: Number, *, steps: int, sensitivity: Number, **parameters: Any) -> Self:
        """The tree of ε = √(2ρ), since pure ε is ε²/2 zero-concentrated.

        Args:
            rho: What the whole stream may cost, as ρ of zero-concentrated privacy.
            steps: How many steps the stream has at most.
            sensitivity: How far one unit moves the numbers of one step, in l1.
            **parameters: Of the constructor: width, active_steps, separation, arity, relation, unit.

        Returns:
            The counter.

        Raises:
            InvalidParameter: If rho is not positive, or if the constructor refuses another parameter.

        >>> SignedTree.for_rho(0.5, steps=365, sensitivity=1).epsilon
        Fraction(1, 1)
        """
        size = Fraction(math.isqrt(math.floor(2 * checks.positive(rho=rho) * (1 << 80))), 1 << 40)
        return cls(epsilon=size, steps=steps, sensitivity=sensitivity, **parameters)

    @property
    def branches(self) -> int:
        """How many nodes make one of the next level."""
        return 2 * self._half + 1

    def privacy_loss(self) -> PureDP:
        """Pure ε for the whole stream: how much one unit changes all nodes together, over the scale of the noise.

        >>> print(SignedTree(epsilon=1, steps=365, sensitivity=1).privacy_loss())
        ε = 1 (add_remove, per event)
        """
        return PureDP(self._shift / self._scale, relation=self.relation, unit=self.unit)

    def estimate(self, state: CounterState) -> list[float]:
        """The noisy sums of everything up to now. Reading them again costs nothing.

        >>> tree = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> state = tree.observe(tree.observe(tree.open(), 1200), 1300)
        >>> 2200 < tree.estimate(state)[0] < 2800
        True
        """
        self._check(state, 0)
        total = state.secret[0]
        for level, digit in enumerate(digits(state.step, self.branches)):
            start = 1 + level * self._half
            noise = sum(state.secret[start : start + abs(digit)])
            total = total + noise if digit > 0 else total - noise
        return [float(wrapped(total))] if self.width == 1 else total.astype(float).tolist()

    def variance(self, step: int) -> float:
        """The variance of each sum after so many steps: that of one node, times the number of nodes in the sum.

        >>> tree = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> tree.variance(3) == 3 * tree.variance(1)  # three nodes, and one
        True
        """
        return self._nodes(self._step(step)) * self._node_variance()

    def window_variance(self, start: int, stop: int) -> float:
        """The variance of each sum over the steps start + 1 … stop, as the difference of two estimates.

        >>> tree = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> tree.window_variance(0, 3) == tree.variance(3)
        True
        """
        return self._window_nodes(*self._window(start, stop)) * self._node_variance()

    def rms(self) -> float:
        """The root of the mean variance over all steps.

        Returns:
            The error to expect of a typical sum, in the units of the numbers.
        """
        return math.sqrt(total_nodes(self.steps, self.branches) / self.steps * self._node_variance())

    def accuracy(self, confidence: float = 0.95, *, step: int | None = None, simultaneous: bool = False) -> float:
        """The half-width of the noise on a sum, after one step or after the worst.

        >>> tree = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> round(tree.accuracy(step=1), 1), round(tree.accuracy(), 1)
        (6.0, 29.0)
        """
        failure = self._failures(confidence, simultaneous=simultaneous)
        nodes = self._most_nodes() if step is None else self._nodes(self._step(step))
        return sum_half_width(self._scale, nodes, failure)

    def window_accuracy(self, start: int, stop: int, confidence: float = 0.95) -> float:
        """The half-width of the noise on the sum over the steps start + 1 … stop.

        >>> round(SignedTree(epsilon=1, steps=365, sensitivity=1).window_accuracy(30, 37), 1)
        15.0
        """
        failure = self._failures(confidence, simultaneous=False)
        return sum_half_width(self._scale, self._window_nodes(*self._window(start, stop)), failure)

    def _active(self) -> int:
        return min(self.active_steps, (self.steps - 1) // self.separation + 1)

    def _rows(self) -> tuple[int, int]:
        return 1 + self._levels * self._half, 0

    def _advance(self, state: CounterState, row: Any, entropy: Entropy) -> CounterState:
        secret, half = list(state.secret), self._half
        secret[0] = self._modular(secret[0] + row)
        for level, digit in enumerate([*digits(state.step, self.branches), 0]):
            start = 1 + level * half
            if digit == half:  # this digit becomes −half and the next one grows
                secret[start : start + half] = [self._noise(entropy) for _ in range(half)]
                continue
            secret[start + (digit if digit >= 0 else -digit - 1)] = (
                self._noise(entropy) if digit >= 0 else self._zero(int)
            )
            break
        return CounterState(state.step + 1, self._fingerprint, tuple(secret), ())

    def _noise(self, entropy: Entropy) -> Any:
        sampler = self._sampler()
        return self._modular(sampler.draw(entropy)) if self.width == 1 else sampler.draws(self.width, entropy)

    def _modular(self, value: Any) -> Any:
        return wrapped(value) if self.width == 1 else value

    def _sampler(self) -> DigitSampler:
        return discrete_laplace_sampler(self._scale.numerator, self._scale.denominator)

    def _node_variance(self) -> float:
        return laplace_variance(self._scale, Fraction(1))

    def _nodes(self, step: int) -> int:
        return sum(map(abs, digits(step, self.branches)))

    def _window_nodes(self, start: int, stop: int) -> int:
        """Nodes that both sums use, with the same sign, cancel: those of a level whose higher digits agree."""
        pairs = [*_aligned(start, stop, self.branches)]
        nodes, agree = 0, True
        for early, late in reversed(pairs):
            nodes += abs(early - late) if agree else abs(early) + abs(late)
            agree = agree and early == late
        return nodes

    def _most_nodes(self) -> int:
        """The largest number of nodes of any step: for every digit of the last step, stay below it and then be free."""
        top = list(digits(self.steps, self.branches))
        most, fixed = sum(map(abs, top)), 0
        for level in reversed(range(len(top))):
            lower = max(range(-self._half if fixed or level < len(top) - 1 else 0, top[level]), key=abs, default=None)
            if lower is not None:
                most = max(most, fixed + abs(lower) + level * self._half)
            fixed += abs(top[level])
        return most


def digits(number: int, base: int) -> Iterator[int]:
    """The digits from −(base−1)/2 to (base−1)/2 of a number that is not negative, lowest first; none for 0.

    >>> list(digits(5, 3))
    [-1, -1, 1]
    """
    half = base // 2
    while number:
        digit = (number + half) % base - half
        yield digit
        number = (number - digit) // base


def _aligned(start: int, stop: int, base: int) -> Iterator[tuple[int, int]]:
    early, late = list(digits(start, base)), list(digits(stop, base))
    size = max(len(early), len(late))
    return zip(early + [0] * (size - len(early)), late + [0] * (size - len(late)), strict=True)


def total_nodes(steps: int, base: int) -> int:
    """How many nodes the sums after 1, 2, …, `steps` steps use together: Σ |digits|."""
    half, unit, total = base // 2, 1, 0
    while unit <= 2 * steps:
        # The digit of this unit is that of ⌊(t + (unit − 1)/2)/unit⌋, which stays the same for `unit` steps.
        last, rest = divmod(steps + unit // 2, unit)
        periods, more = divmod(last, base)
        before = periods * half * (half + 1) + sum(min(digit, base - digit) for digit in range(more))
        total += unit * before + (rest + 1) * min(more, base - more)
        unit *= base
    return total


@lru_cache(maxsize=256)
def best_arity(steps: int) -> int:
    """The odd number of branches with the least mean variance: noise grows with the levels, sums with the digits."""

    def cost(base: int) -> int:
        return len(list(digits(steps, base))) ** 2 * total_nodes(steps, base)

    return min(range(3, min(2 * steps + 1, LARGEST_ARITY) + 1, 2), key=cost)
