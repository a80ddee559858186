"""A continual counter with an error near the lower bound: the square-root factorisation in whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up, sqrt_up
from lapwing.mechanisms.counter import Counter, CounterState, squared_sensitivity
from lapwing.mechanisms.dyadic_layout import Layout, layout_of
from lapwing.mechanisms.gaussian import SMALLEST_VARIANCE, largest_rho
from lapwing.mechanisms.gaussian_sums import weighted_half_width
from lapwing.mechanisms.square_root_variance import mean_variance, variances, window_variance
from lapwing.noise import LARGEST_SCALE, SYSTEM, Entropy
from lapwing.noise.gaussian import RejectionGaussian, TableGaussian, discrete_gaussian_sampler
from lapwing.privacy import ZCDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class SquareRootCounter(Counter):
    """Noisy sums after every step, with an error that grows only like the logarithm of the number of steps.

    It releases y = Ĉx + z. Ĉ[t, j] is a whole number near 2^bits·binom(2d, d)/4^d, d = t − j, and the same for all j in
    one block of the past. z is discrete Gaussian of standard deviation `sigma`·2^bits. The estimates solve Ĉx̂ = y.
    `for_rho` and `for_epsilon` choose sigma.

    Privacy: ρ for the whole stream, whatever the next numbers depend on.
    Proof: square_root_counter.md

    Args:
        sensitivity: How far one unit moves the `width` numbers of one step, in l2.
        sigma: Standard deviation of the noise on every released number, before the scaling by 2^bits.
        bins: How fine the blocks of the past are: an even number up to 4096. More of them lower the error a little and
            enlarge the state.

    Raises:
        InvalidParameter: If a number is not positive, if sensitivity is less than 1, if there are too many steps, if
            bins is not an even number up to 4096, or if sigma makes noise too wide to draw.

    >>> counter = SquareRootCounter.for_rho(0.5, steps=1000, sensitivity=1)
    >>> print(counter.privacy_loss())
    ρ = 0.5 (add_remove, per event)
    >>> state = counter.observe(counter.open(), 17)
    >>> len(counter.estimate(state))
    1
    """

    _instead: ClassVar[dict[str, str]] = {
        "epsilon": "Write SquareRootCounter.for_epsilon(1, 1e-6, steps=365, sensitivity=1).",
        "rho": "Write SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1).",
    }

    sigma: Number
    bins: int = 16
    _layout: Layout = field(init=False, repr=False, compare=False)
    _squared: int = field(init=False, repr=False, compare=False)
    _variance: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Counter.__post_init__(self)
        sigma, layout = checks.positive(sigma=self.sigma), layout_of(self.steps, self.bins)
        if sigma * (1 << layout.bits) > LARGEST_SCALE // 64:
            raise InvalidParameter("sigma", self.sigma, "is too wide to draw", "Count in larger units.")
        squared = squared_sensitivity(self.sensitivity, self.width) * layout.squared_shift(
            self.active_steps, self.separation
        )
        variance = max((sigma * (1 << layout.bits)) ** 2, SMALLEST_VARIANCE)
        self._set(_layout=layout, _squared=squared, _variance=variance)
        self._identify(self._fingerprint, layout.coefficients)

    @classmethod
    def for_rho(cls, rho: Number, *, steps: int, sensitivity: Number, **parameters: Any) -> Self:
        """The smallest sigma (a double) whose loss is at most ρ for the whole stream.

        Args:
            rho: What the whole stream may cost, as ρ of zero-concentrated privacy.
            steps: How many steps the stream has at most.
            sensitivity: How far one unit moves the numbers of one step, in l2.
            **parameters: Of the constructor: width, active_steps, separation, bins, relation, unit.

        Returns:
            The counter.

        Raises:
            InvalidParameter: If rho is not positive, or if the constructor refuses another parameter.
        """
        probe = cls(sigma=1, steps=steps, sensitivity=sensitivity, **parameters)
        sigma = float_up(sqrt_up(probe._squared / (2 * checks.positive(rho=rho))) / (1 << probe._layout.bits))
        return cls(sigma=sigma, steps=steps, sensitivity=sensitivity, **parameters)

    @classmethod
    def for_epsilon(cls, epsilon: Number, delta: Number, *, steps: int, sensitivity: Number, **parameters: Any) -> Self:
        """The smallest sigma, to five digits, that is (ε,δ)-private by way of ρ.

        Args:
            epsilon: What the whole stream may cost, as the ε of (ε,δ).
            delta: The δ of (ε,δ), above 0 and below 1.
            steps: How many steps the stream has at most.
            sensitivity: How far one unit moves the numbers of one step, in l2.
            **parameters: Of the constructor: width, active_steps, separation, bins, relation, unit.

        Returns:
            The counter.

        Raises:
            InvalidParameter: If epsilon is not positive, if delta is not above 0 and below 1, or if the constructor
                refuses another parameter.

        >>> counter = SquareRootCounter.for_epsilon(1, 1e-6, steps=365, sensitivity=1)
        >>> print(counter.privacy_loss())
        ρ = 0.0243559 (add_remove, per event)
        """
        rho = largest_rho(checks.positive(epsilon=epsilon), checks.probability(delta=delta))
        return cls.for_rho(rho, steps=steps, sensitivity=sensitivity, **parameters)

    def privacy_loss(self) -> ZCDP:
        """ρ = (largest l2 shift of the released numbers)²/(2·variance), from the whole numbers that are used."""
        return ZCDP(self._squared / (2 * self._variance), relation=self.relation, unit=self.unit)

    @property
    def largest_value(self) -> int:
        """The largest number that a step may bring. Larger ones are cut to it, so that no sum leaves 64 bits."""
        return (1 << 62 - self._layout.bits) // self.steps

    def estimate(self, state: CounterState) -> list[float]:
        """The noisy sums of everything up to now. Reading them again costs nothing.

        >>> counter = SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1)
        >>> state = counter.observe(counter.observe(counter.open(), 1200), 1300)
        >>> 2400 < counter.estimate(state)[0] < 2600
        True
        """
        self._check(state, 0)
        if self.width == 1:
            return [math.fsum(state.public)]
        total: list[float] = sum(state.public).tolist()
        return total

    def _rows(self) -> tuple[int, int]:
        size = len(self._layout.coefficients) - 1
        return size, size

    def _advance(self, state: CounterState, row: Any, entropy: Entropy) -> CounterState:
        layout, step = self._layout, state.step
        first, *others = layout.coefficients
        noisy = first * row + sum(map(mul, others, state.secret)) + self._noise(entropy)
        decoded = (noisy - sum(map(mul, others, state.public))) / first
        sums = layout.push(state.secret, step, row, self._zero(int))
        return CounterState(
            step + 1, self._fingerprint, tuple(sums), tuple(layout.push(state.public, step, decoded, self._zero(float)))
        )

    def observe_many(
        self, state: CounterState, values: Any, entropy: Entropy = SYSTEM
    ) -> tuple[CounterState, NDArray[np.float64]]:
        """Several steps at once: the state after them, and the estimates after each.

        >>> counter = SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1)
        >>> state, sums = counter.observe_many(counter.open(), [1200, 1300, 1100])
        >>> state.step, sums.shape
        (3, (3, 1))
        """
        import numpy as np

        from lapwing.mechanisms.square_root_batch import batch_of, next_batch

        array = self._table(values)
        self._check(state, len(array))
        estimates, done = np.empty(array.shape), 0
        while done < len(array):
            exponent, count = next_batch(self._layout, state.step, len(array) - done)
            if not count:
                state = self._advance(state, int(array[done, 0]) if self.width == 1 else array[done], entropy)
                estimates[done], done = self.estimate(state), done + 1
                continue
            end = done + (count << exponent)
            batch, before = batch_of(self._layout, exponent), self.estimate(state)
            noise = self._sampler().draws((end - done) * self.width, entropy).reshape(-1, self.width)
            noisy, sums = batch.encode(array[done:end], state.secret, state.step)
            decoded, blocks = batch.decode(noisy + noise, state.public, state.step)
            np.cumsum(decoded, axis=0, out=estimates[done:end])
            estimates[done:end] += before
            state, done = CounterState(state.step + end - done, self._fingerprint, sums, blocks), end
        return state, estimates

    def _noise(self, entropy: Entropy) -> Any:
        sampler = self._sampler()
        return sampler.draw(entropy) if self.width == 1 else sampler.draws(self.width, entropy)

    def _sampler(self) -> TableGaussian | RejectionGaussian:
        return discrete_gaussian_sampler(self._variance.numerator, self._variance.denominator)

    def variance(self, step: int) -> float:
        """The variance of each sum after so many steps.

        >>> counter = SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1)
        >>> round(counter.variance(1), 2), round(counter.variance(365), 2)
        (2.62, 9.17)
        """
        return float(variances(self._layout)[self._step(step) - 1]) * float_up(self._variance) if step else 0.0

    def variances(self) -> NDArray[np.float64]:
        """The variance of each sum after 1, 2, …, `steps` steps.

        Returns:
            An array with one variance for each step.

        >>> SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1).variances().shape
        (365,)
        """
        scaled: NDArray[np.float64] = variances(self._layout) * float_up(self._variance)
        return scaled

    def window_variance(self, start: int, stop: int) -> float:
        """The variance of each sum over the steps start + 1 … stop, as the difference of two estimates.

        >>> counter = SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1)
        >>> counter.window_variance(30, 37) < counter.variance(30) + counter.variance(37)
        True
        """
        return window_variance(self._layout, *self._window(start, stop)) * float_up(self._variance)

    def rms(self) -> float:
        """The root of the mean variance over all steps.

        Returns:
            The error to expect of a typical sum, in the units of the numbers.

        >>> round(SquareRootCounter.for_rho(0.5, steps=1024, sensitivity=1).rms(), 2)
        3.09
        """
        return math.sqrt(mean_variance(self._layout) * float_up(self._variance))

    def accuracy(self, confidence: float = 0.95, *, step: int | None = None, simultaneous: bool = False) -> float:
        """The half-width of the noise on a sum, after one step or after the worst.

        >>> counter = SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1)
        >>> round(counter.accuracy(step=1), 1), round(counter.accuracy(), 1)
        (3.2, 5.9)
        """
        failure = self._failures(confidence, simultaneous=simultaneous)
        variance = float(self.variances().max()) if step is None else self.variance(step)
        return self._half_width(variance, self.steps if step is None else step, failure)

    def window_accuracy(self, start: int, stop: int, confidence: float = 0.95) -> float:
        """The half-width of the noise on the sum over the steps start + 1 … stop.

        >>> round(SquareRootCounter.for_rho(0.5, steps=365, sensitivity=1).window_accuracy(30, 37), 1)
        5.0
        """
        failure = self._failures(confidence, simultaneous=False)
        return self._half_width(self.window_variance(start, stop), stop, failure)

    def _half_width(self, variance: float, draws: int, failure: Fraction) -> float:
        return weighted_half_width(variance, draws, math.sqrt(self._variance), failure)
