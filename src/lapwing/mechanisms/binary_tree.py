"""The classical binary tree of noisy sums, and Honaker's refinement: for teaching and comparison."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up, sqrt_up
from lapwing.mechanisms.counter import Counter, CounterState, squared_sensitivity, whole_sensitivity, wrapped
from lapwing.mechanisms.gaussian import SMALLEST_VARIANCE
from lapwing.mechanisms.gaussian_sums import weighted_half_width
from lapwing.mechanisms.laplace import SMALLEST_SCALE
from lapwing.mechanisms.laplace_sums import sum_half_width
from lapwing.mechanisms.tails import laplace_variance
from lapwing.noise import Entropy
from lapwing.noise.gaussian import RejectionGaussian, TableGaussian, discrete_gaussian_sampler
from lapwing.noise.laplace import LARGEST_INT64_SCALE, DigitSampler, discrete_laplace_sampler
from lapwing.privacy import ZCDP, PureDP

Noise = Literal["gaussian", "laplace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryTree(Counter):
    """Noisy sums after every step, from noisy sums of 1, 2, 4, … steps: one for every binary digit of the step.

    For teaching and comparison: `SquareRootCounter` and `SignedTree` have less noise at the same price. `for_rho` and
    `for_epsilon` choose the scale.

    Privacy: ρ, or pure ε, for the whole stream.
    Proof: binary_tree.md

    Args:
        sensitivity: How far one unit moves the numbers of one step, in l2 for Gaussian and in l1 for Laplace noise.
        scale: Of the noise on every node: its standard deviation if it is Gaussian, its scale if it is Laplace.
        noise: "gaussian" for zero-concentrated or "laplace" for pure privacy; both discrete.
        refined: Combine every node with the two below it (Honaker 2015). Less error at the same price, for Gaussian
            noise.

    Raises:
        InvalidParameter: If a number is not positive, if sensitivity is less than 1, if there are too many steps, if
            noise is neither "gaussian" nor "laplace", if refined is asked for with Laplace noise, or if scale makes
            noise too wide to draw.

    >>> tree = BinaryTree.for_rho(0.5, steps=1024, sensitivity=1)
    >>> better = BinaryTree.for_rho(0.5, steps=1024, sensitivity=1, refined=True)
    >>> round(tree.rms(), 2), round(better.rms(), 2)
    (7.42, 5.65)
    """

    _instead: ClassVar[dict[str, str]] = {
        "epsilon": "Write BinaryTree.for_epsilon(1, steps=365, sensitivity=1).",
        "rho": "Write BinaryTree.for_rho(0.5, steps=365, sensitivity=1).",
    }

    scale: Number
    noise: Noise = "gaussian"
    refined: bool = False
    _shift: int = field(init=False, repr=False, compare=False)
    _scale: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Counter.__post_init__(self)
        scale = checks.positive(scale=self.scale)
        gaussian = checks.one_of(("gaussian", "laplace"), noise=self.noise) == "gaussian"
        if checks.true_or_false(refined=self.refined) and not gaussian:
            raise InvalidParameter("refined", True, "is for Gaussian noise", 'Write noise="gaussian".')
        if scale > LARGEST_INT64_SCALE:
            raise InvalidParameter("scale", self.scale, "makes noise too wide to draw", "Count in larger units.")
        active = min(self.active_steps, (self.steps - 1) // self.separation + 1)
        if gaussian:
            shift = squared_sensitivity(self.sensitivity, self.width) * self.levels * active**2
            scale = max(scale, sqrt_up(SMALLEST_VARIANCE))
        else:
            shift = whole_sensitivity(self.sensitivity) * self.levels * active
            scale = max(scale, SMALLEST_SCALE)
        self._set(_shift=shift, _scale=scale)

    @classmethod
    def for_rho(cls, rho: Number, *, steps: int, sensitivity: Number, **parameters: Any) -> Self:
        """The tree with the least Gaussian noise that ρ for the whole stream allows.

        Args:
            rho: What the whole stream may cost, as ρ of zero-concentrated privacy.
            steps: How many steps the stream has at most.
            sensitivity: How far one unit moves the numbers of one step, in l2.
            **parameters: Of the constructor: width, active_steps, separation, refined, relation, unit.

        Returns:
            The counter.

        Raises:
            InvalidParameter: If rho is not positive, or if the constructor refuses another parameter.

        >>> BinaryTree.for_rho(0.5, steps=1024, sensitivity=1).noise
        'gaussian'
        """
        probe = cls(scale=1, noise="gaussian", steps=steps, sensitivity=sensitivity, **parameters)
        scale = float_up(sqrt_up(probe._shift / (2 * checks.positive(rho=rho))))
        return cls(scale=scale, noise="gaussian", steps=steps, sensitivity=sensitivity, **parameters)

    @classmethod
    def for_epsilon(cls, epsilon: Number, *, steps: int, sensitivity: Number, **parameters: Any) -> Self:
        """The tree with the least Laplace noise that pure ε for the whole stream allows.

        Args:
            epsilon: What the whole stream may cost, as pure ε.
            steps: How many steps the stream has at most.
            sensitivity: How far one unit moves the numbers of one step, in l1.
            **parameters: Of the constructor: width, active_steps, separation, relation, unit.

        Returns:
            The counter.

        Raises:
            InvalidParameter: If epsilon is not positive, or if the constructor refuses another parameter.

        >>> print(BinaryTree.for_epsilon(1, steps=1024, sensitivity=1).privacy_loss())
        ε = 1 (add_remove, per event)
        """
        probe = cls(scale=1, noise="laplace", steps=steps, sensitivity=sensitivity, **parameters)
        scale = probe._shift / checks.positive(epsilon=epsilon)
        return cls(scale=scale, noise="laplace", steps=steps, sensitivity=sensitivity, **parameters)

    @property
    def levels(self) -> int:
        """How many nodes a step belongs to at most."""
        return self.steps.bit_length()

    def privacy_loss(self) -> ZCDP | PureDP:
        """ρ or pure ε for the whole stream, from the nodes that one unit changes and the noise on each.

        >>> print(BinaryTree.for_rho(0.5, steps=365, sensitivity=1).privacy_loss())
        ρ = 0.5 (add_remove, per event)
        """
        if self.noise == "gaussian":
            return ZCDP(self._shift / (2 * self._scale**2), relation=self.relation, unit=self.unit)
        return PureDP(self._shift / self._scale, relation=self.relation, unit=self.unit)

    def estimate(self, state: CounterState) -> list[float]:
        """The noisy sums of everything up to now. Reading them again costs nothing.

        >>> tree = BinaryTree.for_epsilon(1, steps=365, sensitivity=1)
        >>> state = tree.observe(tree.observe(tree.open(), 1200), 1300)
        >>> 2200 < tree.estimate(state)[0] < 2800
        True
        """
        self._check(state, 0)
        nodes = [value for level, value in enumerate(state.public) if state.step >> level & 1]
        total = sum(nodes) if nodes else self._zero(float)
        return [float(total)] if self.width == 1 else total.tolist()

    def variance(self, step: int) -> float:
        """The variance of each sum after so many steps.

        >>> tree = BinaryTree.for_rho(0.5, steps=1024, sensitivity=1)
        >>> round(tree.variance(1)), round(tree.variance(7))  # one node, and three
        (11, 33)
        """
        return self._sum_of_variances(self._step(step))

    def window_variance(self, start: int, stop: int) -> float:
        """The variance of each sum over the steps start + 1 … stop, as the difference of two estimates.

        >>> tree = BinaryTree.for_rho(0.5, steps=1024, sensitivity=1)
        >>> tree.window_variance(4, 6) < tree.variance(6) + tree.variance(4)  # both sums use one node
        True
        """
        start, stop = self._window(start, stop)
        level = (start ^ stop).bit_length() - 1  # above it both sums use the same nodes
        early, late = start & (1 << level) - 1, stop & (2 << level) - 1
        shared = 0.0
        if self.refined:  # what is left of the earlier sum lies inside the node of this level of the later one
            variances, share = self._node_variances(), 1.0
            for below in range(level - 1, -1, -1):
                share *= variances[below + 1] / (2 * variances[below])
                shared += share * variances[below] * (early >> below & 1)
        return self._sum_of_variances(late) + self._sum_of_variances(early) - 2 * shared

    def rms(self) -> float:
        """The root of the mean variance over all steps.

        Returns:
            The error to expect of a typical sum, in the units of the numbers.
        """
        total = 0.0
        for level, variance in enumerate(self._node_variances()):
            periods, rest = divmod(self.steps + 1, 2 << level)
            total += variance * ((periods << level) + max(0, rest - (1 << level)))
        return math.sqrt(total / self.steps)

    def accuracy(self, confidence: float = 0.95, *, step: int | None = None, simultaneous: bool = False) -> float:
        """The half-width of the noise on a sum, after one step or after the worst.

        >>> tree = BinaryTree.for_rho(0.5, steps=1024, sensitivity=1)
        >>> round(tree.accuracy(step=1), 1), round(tree.accuracy(), 1)
        (9.0, 28.5)
        """
        failure = self._failures(confidence, simultaneous=simultaneous)
        worst = max(self.steps, (1 << self.levels - 1) - 1, key=self._sum_of_variances)
        for level in range(self.levels):  # as the last step above a digit that is 1, ones below it
            if self.steps >> level & 1:
                worst = max(worst, self.steps - (1 << level) | (1 << level) - 1, key=self._sum_of_variances)
        chosen = worst if step is None else self._step(step)
        return self._half_width(self._sum_of_variances(chosen), chosen.bit_count(), chosen, failure)

    def window_accuracy(self, start: int, stop: int, confidence: float = 0.95) -> float:
        """The half-width of the noise on the sum over the steps start + 1 … stop.

        >>> tree = BinaryTree.for_rho(0.5, steps=1024, sensitivity=1)
        >>> round(tree.window_accuracy(16, 32), 1)
        12.7
        """
        variance, failure = self.window_variance(start, stop), self._failures(confidence, simultaneous=False)
        level = (start ^ stop).bit_length() - 1
        nodes = (start & (1 << level) - 1).bit_count() + (stop & (2 << level) - 1).bit_count()
        return self._half_width(variance, nodes, stop, failure)

    def _half_width(self, variance: float, nodes: int, step: int, failure: Fraction) -> float:
        if self.noise == "laplace":
            return sum_half_width(self._scale, nodes, failure)
        draws = 2 * step if self.refined else nodes
        return weighted_half_width(variance, draws, float(self._scale), failure)

    def _rows(self) -> tuple[int, int]:
        return self.levels, self.levels

    def _advance(self, state: CounterState, row: Any, entropy: Entropy) -> CounterState:
        step, sums, nodes = state.step + 1, list(state.secret), list(state.public)
        top = (step & -step).bit_length() - 1
        variances = self._node_variances()
        total, estimate = row, self._noisy(row, entropy)
        for level in range(top):
            total = self._modular(total + sums[level])
            sums[level] = self._zero(int)
            noisy = self._noisy(total, entropy)
            if self.refined:
                above = variances[level + 1]
                below = (nodes[level] + estimate) / (2 * variances[level])
                noisy = above * (noisy / variances[0] + below)
            estimate = noisy
            nodes[level] = self._zero(float)
        sums[top], nodes[top] = total, estimate
        return CounterState(step, self._fingerprint, tuple(sums), tuple(nodes))

    def _noisy(self, total: Any, entropy: Entropy) -> Any:
        sampler = self._sampler()
        if self.width == 1:
            return float(wrapped(total + sampler.draw(entropy)))
        return (total + sampler.draws(self.width, entropy)).astype(float)

    def _modular(self, value: Any) -> Any:
        return wrapped(value) if self.width == 1 else value

    def _sampler(self) -> TableGaussian | RejectionGaussian | DigitSampler:
        if self.noise == "laplace":
            return discrete_laplace_sampler(self._scale.numerator, self._scale.denominator)
        variance = self._scale**2
        return discrete_gaussian_sampler(variance.numerator, variance.denominator)

    def _sum_of_variances(self, step: int) -> float:
        return math.fsum(variance for level, variance in enumerate(self._node_variances()) if step >> level & 1)

    def _node_variances(self) -> tuple[float, ...]:
        gaussian = self.noise == "gaussian"
        first = float_up(self._scale**2) if gaussian else laplace_variance(self._scale, Fraction(1))
        return _node_variances(first, self.levels, self.refined)


@lru_cache(maxsize=256)
def _node_variances(first: float, levels: int, refined: bool) -> tuple[float, ...]:
    """The variance of a node of every level: the same, or less with the two below it."""
    variances = [first]
    for _ in range(1, levels):
        variances.append(1 / (1 / first + 1 / (2 * variances[-1])) if refined else first)
    return tuple(variances)
