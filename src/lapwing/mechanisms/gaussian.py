"""Discrete Gaussian noise on a public grid, calibrated on the discrete distribution itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, ClassVar, Self

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import float_up, ln_up, sqrt_up
from lapwing.mechanisms.additive import add_noise
from lapwing.mechanisms.gaussian_delta import delta_up
from lapwing.mechanisms.grid import grid_for
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.mechanisms.solve import epsilon_for
from lapwing.noise import LARGEST_SCALE, SYSTEM, Entropy
from lapwing.noise.gaussian import RejectionGaussian, TableGaussian, discrete_gaussian_sampler
from lapwing.privacy import ZCDP

SMALLEST_VARIANCE = Fraction(1, 1024)
"""In squared steps. Below it the noise would be 0 except with probability e^-500: no use, and slow to draw."""

_PRECISION = 16  # bits of a sigma or rho that is searched, after the first
_LARGE_SIGMA = 64.0  # in steps: above it the normal law bounds the tail well enough
_SMALLEST_FAILURE = Fraction(1, 10**250)  # below it the doubles of a tail would underflow
_LARGEST_EPSILON = Fraction(10**9)  # for the continuous guess where the search begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(Mechanism):
    """Discrete Gaussian noise of standard deviation `sigma`, in whole steps of `granularity`.

    Rounding to the grid costs ⌈Δ/g⌉ steps for one number and Δ/g + √d for d numbers. `for_rho` and `for_epsilon` choose
    sigma.

    Privacy: ρ = Δ²/(2σ²) zero-concentrated, with Δ as it is after rounding. For one number `delta_at` and `epsilon_at`
    are those of the discrete distribution itself. For vectors they follow from ρ: discrete noise looks different in
    different directions, and which shift is the worst is not known.
    Proof: gaussian.md

    Args:
        sigma: Standard deviation of the noise, in the units of the answer.
        sensitivity: How far one unit can move the answer, in l2. A coordinate that is not a finite number counts as 0.
        granularity: Distance between two possible answers. By default 1 for a whole sensitivity and for `on_grid`;
            otherwise, and for vectors that are rounded, a power of two of at most Δ/(1000·d).
        dimensions: Length of the vector that is released; None for one number.
        on_grid: Promise that every answer is a multiple of the granularity already, as counts are. Then rounding costs
            nothing.

    Raises:
        InvalidParameter: If sigma, sensitivity or granularity is not positive, if dimensions is not a whole number from
            1 on, if `on_grid` is promised for a grid coarser than the sensitivity, or if the grid is too fine for
            sigma.

    >>> print(Gaussian(sigma=10, sensitivity=1).privacy_loss())
    ρ = 0.005 (add_remove, per person)
    >>> Gaussian.for_epsilon(1, 1e-6, sensitivity=1).delta_at(1) <= 1e-6
    True
    """

    _instead: ClassVar[dict[str, str]] = {
        "epsilon": "Write Gaussian.for_epsilon(1, 1e-6, sensitivity=1), or Gaussian.for_rho(0.5, sensitivity=1).",
        "rho": "Write Gaussian.for_rho(0.5, sensitivity=1).",
    }

    _synonyms: ClassVar[dict[str, str]] = {"scale": "sigma", "std": "sigma", "stddev": "sigma"}

    sigma: Number
    sensitivity: Number
    granularity: Number | None = None
    dimensions: int | None = None
    on_grid: bool = False
    _granularity: Fraction = field(init=False, repr=False, compare=False)
    _squared_steps: int = field(init=False, repr=False, compare=False)
    _variance: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        sigma = checks.positive(sigma=self.sigma)
        grid, squared = _squared_steps(self.sensitivity, self.granularity, self.dimensions, on_grid=self.on_grid)
        if sigma / grid > LARGEST_SCALE // 2:
            raise InvalidParameter("granularity", self.granularity, "is too fine for this sigma", "Use a coarser grid.")
        variance = max((sigma / grid) ** 2, SMALLEST_VARIANCE)
        self._set(_granularity=grid, _squared_steps=squared, _variance=variance)

    @classmethod
    def for_rho(cls, rho: Number, *, sensitivity: Number, **parameters: Any) -> Self:
        """The smallest sigma (a double) whose loss is at most ρ.

        Args:
            rho: What one release may cost, as ρ of zero-concentrated privacy.
            sensitivity: How far one unit can move the answer, in l2.
            **parameters: Of the constructor: granularity, dimensions, on_grid, relation, unit.

        Returns:
            The mechanism.

        Raises:
            InvalidParameter: If rho is not positive, or if the constructor refuses another parameter.

        >>> Gaussian.for_rho(0.5, sensitivity=1).sigma
        1.0
        """
        grid, squared = _squared_steps(sensitivity, **_grid_parameters(parameters))
        sigma = float_up(grid * sqrt_up(squared / (2 * checks.positive(rho=rho))))
        return cls(sigma=sigma, sensitivity=sensitivity, **parameters)

    @classmethod
    def for_epsilon(cls, epsilon: Number, delta: Number, *, sensitivity: Number, **parameters: Any) -> Self:
        """A sigma as small as it gets (to about 2^-16) that is (ε,δ)-private.

        One number: by the exact δ of the discrete distribution. Vectors: by way of ρ.

        Args:
            epsilon: What one release may cost, as the ε of (ε,δ).
            delta: The δ of (ε,δ), above 0 and below 1.
            sensitivity: How far one unit can move the answer, in l2.
            **parameters: Of the constructor: granularity, dimensions, on_grid, relation, unit.

        Returns:
            The mechanism.

        Raises:
            InvalidParameter: If epsilon is not positive, if delta is not above 0 and below 1, or if the constructor
                refuses another parameter.

        >>> round(Gaussian.for_epsilon(1, 1e-6, sensitivity=1).sigma, 2)
        4.23
        """
        target = (checks.positive(epsilon=epsilon), checks.probability(delta=delta))
        grid, squared = _squared_steps(sensitivity, **_grid_parameters(parameters))
        if parameters.get("dimensions") in (None, 1) or squared == 1:
            sigma = grid * _scalar_sigma(*target, math.isqrt(squared))
        else:
            sigma = grid * sqrt_up(squared / (2 * largest_rho(*target)), 64)
        return cls(
            sigma=float(sigma) if Fraction(float(sigma)) == sigma else sigma, sensitivity=sensitivity, **parameters
        )

    @classmethod
    def solve(cls, *, within: Number, confidence: float = 0.95, simultaneous: bool = False, **parameters: Any) -> Self:
        """The largest sigma (four digits of 1/sigma) that is off by at most `within`, at this confidence.

        Args:
            within: The largest error you accept, in the units of the answer.
            confidence: Probability that the error stays within this.
            simultaneous: Bound the error of all coordinates together instead of each one alone.
            **parameters: Of the constructor: sensitivity, granularity, dimensions, on_grid, relation, unit.

        Returns:
            The mechanism.

        Raises:
            InvalidParameter: If no sigma reaches this accuracy.

        >>> round(Gaussian.solve(within=10, sensitivity=1).sigma, 2)
        5.36
        """
        inverse = epsilon_for(
            lambda inverse: cls(sigma=1 / inverse, **parameters),
            within=within,
            confidence=confidence,
            simultaneous=simultaneous,
        )
        return cls(sigma=1 / inverse, **parameters)

    def privacy_loss(self) -> ZCDP:
        """ρ = (l2 steps)²/(2·variance in steps²), exactly.

        >>> print(Gaussian(sigma=10, sensitivity=1).privacy_loss())
        ρ = 0.005 (add_remove, per person)
        """
        return ZCDP(self._squared_steps / (2 * self._variance), relation=self.relation, unit=self.unit)

    def delta_at(self, epsilon: Number) -> float:
        """The δ of (ε,δ)-privacy, rounded up.

        Args:
            epsilon: The ε of (ε,δ), 0 or more.

        Returns:
            The smallest δ that is known to hold.

        Raises:
            InvalidParameter: If epsilon is negative.

        >>> Gaussian(sigma=10, sensitivity=1).delta_at(0.5) < 1e-6
        True
        """
        if self._shift is None:
            return self.privacy_loss().delta_at(epsilon)
        return float_up(delta_up(self._variance, self._shift, checks.not_negative(epsilon=epsilon)))

    def epsilon_at(self, delta: Number) -> float:
        """The smallest ε (to about 2^-30 of it) of (ε,δ)-privacy, rounded up.

        Args:
            delta: The δ of (ε,δ), below 1. At 0 the answer is infinite.

        Returns:
            The smallest ε that is known to hold.

        Raises:
            InvalidParameter: If delta is negative, or 1 or more.

        >>> round(Gaussian(sigma=10, sensitivity=1).epsilon_at(1e-6), 3)
        0.397
        """
        bound, shift = self.privacy_loss().epsilon_at(delta), self._shift
        if shift is None or not 0 < bound < math.inf:
            return bound
        target = checks.probability(delta=delta)
        return _least(lambda epsilon: delta_up(self._variance, shift, Fraction(epsilon)) / target, bound)

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The answer plus noise, on the grid.

        Args:
            data: The exact answer: a number, or a vector of the declared length.

        Returns:
            A number for a number, a list for a list, an array for an array.

        Raises:
            InvalidParameter: If data is not one number without `dimensions`, or not a vector of that length with it.

        >>> noisy = Gaussian(sigma=10, sensitivity=1).release(1000)
        >>> 850 < noisy < 1150
        True
        """
        return add_noise(data, self._granularity, self.dimensions, self._sampler(), entropy)

    def accuracy(self, confidence: float = 0.95, *, simultaneous: bool = False) -> float:
        """The half-width of the noise on one coordinate, or on all of them at once (by a union bound).

        Accuracy: of the answer on the grid; what the mechanism rounds itself is off by half a granularity more.

        Args:
            simultaneous: Bound the error of all coordinates together instead of each one alone.

        Raises:
            InvalidParameter: If confidence is not above 0 and below 1.

        >>> Gaussian(sigma=10, sensitivity=1).accuracy()
        20.0
        """
        failure = 1 - checks.probability(confidence=confidence)
        if simultaneous:
            failure /= self.dimensions or 1
        return float_up(_half_width(self._variance, failure) * self._granularity)

    @property
    def variance(self) -> float:
        """The variance of the noise on one coordinate: sigma², or a little less for a sigma of few steps."""
        return float_up(Fraction(_discrete_variance(float(self._variance))) * self._granularity**2)

    @property
    def _shift(self) -> int | None:
        """The largest shift in steps if it is along one coordinate, where δ is known exactly."""
        return math.isqrt(self._squared_steps) if self.dimensions in (None, 1) or self._squared_steps == 1 else None

    def _sampler(self) -> TableGaussian | RejectionGaussian:
        return discrete_gaussian_sampler(self._variance.numerator, self._variance.denominator)


def classical_sigma(epsilon: Number, delta: Number, sensitivity: Number = 1) -> float:
    """The textbook sigma, Δ·√(2·ln(1.25/δ))/ε, proven for *continuous* noise and ε < 1 only. For teaching.

    Dwork and Roth 2014, Theorem A.1.

    Args:
        epsilon: The ε of (ε,δ), below 1.
        delta: The δ of (ε,δ).
        sensitivity: How far one unit can move the answer, in l2.

    Returns:
        The standard deviation of the noise.

    Raises:
        InvalidParameter: If epsilon is 1 or more.

    >>> round(classical_sigma(0.5, 1e-6), 3)
    10.598
    """
    size, miss = checks.positive(epsilon=epsilon), checks.probability(delta=delta)
    if size >= 1:
        raise InvalidParameter(
            "epsilon", epsilon, "the proof needs ε < 1", "Use analytic_sigma or Gaussian.for_epsilon."
        )
    return float(checks.positive(sensitivity=sensitivity)) * math.sqrt(2 * math.log(1.25 / float(miss))) / float(size)


def analytic_sigma(epsilon: Number, delta: Number, sensitivity: Number = 1) -> float:
    """The smallest sigma for *continuous* Gaussian noise (Balle and Wang 2018). For teaching.

    Discrete noise of this sigma has a delta up to three times larger: `Gaussian.for_epsilon` accounts for it.

    Args:
        epsilon: The ε of (ε,δ).
        delta: The δ of (ε,δ).
        sensitivity: How far one unit can move the answer, in l2.

    Returns:
        The standard deviation of the noise.

    Raises:
        InvalidParameter: If epsilon or sensitivity is not positive, or if delta is not above 0 and below 1.

    >>> round(analytic_sigma(1, 1e-6), 3)
    4.225
    """
    size, miss = float(checks.positive(epsilon=epsilon)), float(checks.probability(delta=delta))
    low, high = 1e-12, 1.0
    while _continuous_delta(high, size) > miss:
        low, high = high, 2 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if _continuous_delta(middle, size) <= miss else (middle, high)
    return high * float(checks.positive(sensitivity=sensitivity))


def _continuous_delta(sigma: float, epsilon: float) -> float:
    """Φ(1/(2σ) − εσ) − e^ε·Φ(−1/(2σ) − εσ)."""
    return math.exp(_log_phi(0.5 / sigma - epsilon * sigma)) - math.exp(
        epsilon + _log_phi(-0.5 / sigma - epsilon * sigma)
    )


def _log_phi(z: float) -> float:
    """ln Φ(z), by its asymptotic series where erfc would underflow."""
    if z > -35:
        return math.log(math.erfc(-z / math.sqrt(2)) / 2)
    return -z * z / 2 - math.log(-z * math.sqrt(2 * math.pi)) + math.log1p(-1 / (z * z))


def _grid_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    defaults = {"granularity": None, "dimensions": None, "on_grid": False}
    return {name: parameters.get(name, default) for name, default in defaults.items()}


def _squared_steps(
    sensitivity: object, granularity: object, dimensions: int | None, *, on_grid: bool
) -> tuple[Fraction, int]:
    """The granularity, and the largest squared l2 distance in steps after rounding: a whole number."""
    distance = checks.positive(sensitivity=sensitivity)
    length = 1 if dimensions is None else checks.whole(dimensions=dimensions)
    grid = grid_for(granularity, distance, length, on_grid=on_grid)
    steps = distance / grid
    if on_grid:
        squared = math.floor(steps**2)
        if length == 1:
            squared = math.floor(steps) ** 2
    elif length == 1:
        squared = math.ceil(steps) ** 2
    else:
        squared = math.floor((steps + sqrt_up(Fraction(length))) ** 2)
    if squared == 0:
        raise InvalidParameter("sensitivity", sensitivity, "is less than one grid step", "Use a finer granularity.")
    return grid, squared


@lru_cache(maxsize=256)
def _scalar_sigma(epsilon: Fraction, delta: Fraction, shift: int) -> Fraction:
    """The smallest sigma in steps (17 significant bits) with δ(ε) ≤ delta, searched around the continuous answer."""
    guess = analytic_sigma(min(epsilon, _LARGEST_EPSILON), delta, shift)
    unit = Fraction(2) ** (math.floor(math.log2(guess)) - _PRECISION)
    high, stride = math.ceil(Fraction(guess) / unit), 64
    low = high - stride

    def enough(count: int) -> bool:
        return count > 0 and delta_up(max((count * unit) ** 2, SMALLEST_VARIANCE), shift, epsilon) <= delta

    while not enough(high):
        low, high, stride = high, high + stride, 2 * stride
    while low > 0 and enough(low):
        low, high, stride = low - stride, low, 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high * unit


def _least(excess: Callable[[float], Fraction], high: float) -> float:
    """The least x in [0, high], to 2^-30, with excess(x) ≤ 1, `high` being known to do; false position (Illinois).

    The result is `high` itself or a point where excess(x) ≤ 1 was evaluated.
    """
    low, above, below = 0.0, excess(0.0), excess(high)
    if above <= 1:
        return 0.0
    up, down = _log(above), _log(below)
    while high - low > high * 2.0**-30:
        middle = low + (high - low) * min(max(up / (up - down), 2.0**-20), 1 - 2.0**-20)
        value = excess(middle)
        if value <= 1:
            high, up, down = middle, up / 2, _log(value)
        else:
            low, up, down = middle, _log(value), down / 2
    return high


def _log(value: Fraction) -> float:
    return math.log(max(float(value), 1e-300))


@lru_cache(maxsize=256)
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ (17 significant bits) that implies (ε,δ)."""
    high = Fraction(1)
    while ZCDP(high).epsilon_at(delta) <= epsilon:
        high *= 2
    while ZCDP(high).epsilon_at(delta) > epsilon:
        high /= 2
    unit = high / (1 << _PRECISION)
    low, top = 1 << _PRECISION, 2 << _PRECISION
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (middle, top) if ZCDP(middle * unit).epsilon_at(delta) <= epsilon else (low, middle)
    return low * unit


def _half_width(variance: Fraction, failure: Fraction) -> int:
    """The least m, or a little more, with P(|X| > m) ≤ failure.

    Above sigma = 64 from P(X ≥ m + 1) ≤ P(N(0, σ²) ≥ m) (Canonne, Kamath and Steinke 2020, Proposition 25). For a
    failure that doubles hardly hold, from P(|X| > m) ≤ 2·e^(−m²/(2σ²)).
    """
    if failure < _SMALLEST_FAILURE:
        return math.ceil(sqrt_up(2 * variance * ln_up(2 / failure)))
    sigma = math.sqrt(variance)
    if sigma > _LARGE_SIGMA:
        return math.ceil(-sigma * NormalDist().inv_cdf(float(failure) / 2) * (1 + 1e-9))
    weights = _weights(sigma)
    total, allowed = 2 * math.fsum(weights) - 1, float(failure) * (1 - 1e-9)
    tail, m = 0.0, len(weights) - 1
    while m > 0 and 2 * (tail + weights[m]) <= allowed * total:
        tail += weights[m]
        m -= 1
    return m


def _discrete_variance(variance: float) -> float:
    """From sigma = 4 on it equals sigma² to double precision (Poisson summation)."""
    if variance >= 16:
        return variance
    weights = _weights(math.sqrt(variance))
    return 2 * math.fsum(x * x * weight for x, weight in enumerate(weights)) / (2 * math.fsum(weights) - 1)


def _weights(sigma: float) -> list[float]:
    """e^(−x²/(2σ²)) for x = 0, 1, … until it underflows."""
    last = math.ceil(38 * sigma) + 1
    return [math.exp(-((x / sigma) ** 2) / 2) for x in range(last + 1)]
