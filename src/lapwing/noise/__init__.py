"""Exact, secure noise: integers drawn with exactly the probabilities their names promise.

Every function takes exact parameters (ints, Fractions, floats at their exact binary value), `size=None` for one
Python integer or a number for a numpy array, and a source of entropy. Scalars need neither numpy nor cryptography.

>>> import lapwing.noise as noise
>>> isinstance(noise.discrete_laplace(10), int)
True
>>> noise.discrete_laplace(10, size=3).shape
(3,)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, overload

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.exact import exp_neg, rational
from lapwing.noise.entropy import SYSTEM, Entropy, Recorded, Reproducible, System
from lapwing.noise.gaussian import discrete_gaussian_sampler
from lapwing.noise.inversion import LazyUniform
from lapwing.noise.laplace import discrete_laplace_sampler, geometric_sampler
from lapwing.noise.pool import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "SYSTEM",
    "Entropy",
    "Pool",
    "Recorded",
    "Reproducible",
    "System",
    "bernoulli",
    "bernoulli_bits",
    "bernoulli_exp",
    "bernoulli_exp_steps",
    "choice",
    "discrete_gaussian",
    "discrete_laplace",
    "geometric",
    "permutation",
    "uniform_below",
]

LARGEST_SCALE = 1 << 60


@overload
def discrete_laplace(scale: Number, size: None = None, entropy: Entropy = SYSTEM) -> int: ...
@overload
def discrete_laplace(scale: Number, size: int, entropy: Entropy = SYSTEM) -> NDArray[Any]: ...
def discrete_laplace(scale: Number, size: int | None = None, entropy: Entropy = SYSTEM) -> int | NDArray[Any]:
    """Discrete Laplace noise: P(X = x) = (1−a)/(1+a) · a^|x| with a = e^(−1/scale).

    Args:
        scale: Any rational number above 0, up to 2^60. The standard deviation is about √2 times this.
        size: How many draws; None for one Python integer.
        entropy: Source of randomness; the secure one by default.

    Returns:
        One integer, or an array of int64 (of Python integers for scales above 2^55).

    Raises:
        InvalidParameter: If the scale is not positive or too large.

    >>> draws = discrete_laplace(3, 10_000)
    >>> bool(abs(draws.mean()) < 0.5)
    True
    """
    t = _scale(scale=scale)
    sampler = discrete_laplace_sampler(t.numerator, t.denominator)
    return sampler.draw(entropy) if size is None else sampler.draws(_size(size), entropy)


@overload
def geometric(scale: Number, size: None = None, entropy: Entropy = SYSTEM) -> int: ...
@overload
def geometric(scale: Number, size: int, entropy: Entropy = SYSTEM) -> NDArray[Any]: ...
def geometric(scale: Number, size: int | None = None, entropy: Entropy = SYSTEM) -> int | NDArray[Any]:
    """Geometric noise from 0 on: P(G ≥ g) = e^(−g/scale) for g = 0, 1, 2, …

    Args:
        scale: Any rational number above 0, up to 2^60. The mean is about scale − 1/2 for large scales.
        size: How many draws; None for one Python integer.
        entropy: Source of randomness; the secure one by default.

    Returns:
        One integer, or an array of int64 (of Python integers for scales above 2^55).

    Raises:
        InvalidParameter: If the scale is not positive or too large.

    >>> geometric(3) >= 0
    True
    """
    t = _scale(scale=scale)
    sampler = geometric_sampler(t.numerator, t.denominator)
    return sampler.draw(entropy) if size is None else sampler.draws(_size(size), entropy)


@overload
def discrete_gaussian(sigma: Number, size: None = None, entropy: Entropy = SYSTEM) -> int: ...
@overload
def discrete_gaussian(sigma: Number, size: int, entropy: Entropy = SYSTEM) -> NDArray[Any]: ...
def discrete_gaussian(sigma: Number, size: int | None = None, entropy: Entropy = SYSTEM) -> int | NDArray[Any]:
    """Discrete Gaussian noise: P(X = x) proportional to e^(−x²/(2·sigma²)).

    Args:
        sigma: Any rational number above 0, up to 2^59. The standard deviation is at most this, and about this from 1
            on.
        size: How many draws; None for one Python integer.
        entropy: Source of randomness; the secure one by default.

    Returns:
        One integer, or an array of int64 (of Python integers for the largest sigmas).

    Raises:
        InvalidParameter: If sigma is not positive or too large.

    >>> bool(9 < discrete_gaussian(10, 10_000).std() < 11)
    True
    """
    variance = _scale(limit=LARGEST_SCALE // 2, sigma=sigma) ** 2
    sampler = discrete_gaussian_sampler(variance.numerator, variance.denominator)
    return sampler.draw(entropy) if size is None else sampler.draws(_size(size), entropy)


@overload
def bernoulli(p: Number, size: None = None, entropy: Entropy = SYSTEM) -> bool: ...
@overload
def bernoulli(p: Number, size: int, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]: ...
def bernoulli(p: Number, size: int | None = None, entropy: Entropy = SYSTEM) -> bool | NDArray[np.bool_]:
    """True with probability exactly p.

    Args:
        p: Probability of True, from 0 to 1.
        size: How many draws; None for one bool.
        entropy: Source of randomness; the secure one by default.

    Returns:
        One bool, or an array of them.

    Raises:
        InvalidParameter: If p is not a share from 0 to 1, or if size is negative.

    >>> bool(0.2 < bernoulli(0.25, 10_000).mean() < 0.3)
    True
    """
    real = rational(checks.share(p=p))
    if size is None:
        return LazyUniform(entropy).below(real)
    from lapwing.noise import arrays

    return arrays.unpack(arrays.packed_bits(real, _size(size), entropy), size)


def bernoulli_bits(p: Number, size: int, entropy: Entropy = SYSTEM) -> NDArray[np.uint64]:
    """Packed random bits, each of them one with probability exactly p.

    Args:
        p: Probability of a one, from 0 to 1.
        size: How many bits.
        entropy: Source of randomness; the secure one by default.

    Returns:
        Words of 64 bits, first bit lowest. Spare bits of the last word are 0.

    Raises:
        InvalidParameter: If p is not a share from 0 to 1, or if size is negative.

    >>> bernoulli_bits(0.5, 100).shape
    (2,)
    """
    from lapwing.noise import arrays

    return arrays.packed_bits(rational(checks.share(p=p)), _size(size), entropy)


@overload
def bernoulli_exp(x: Number, size: None = None, entropy: Entropy = SYSTEM) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: int, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]: ...
def bernoulli_exp(x: Number, size: int | None = None, entropy: Entropy = SYSTEM) -> bool | NDArray[np.bool_]:
    """True with probability exactly e^−x.

    Args:
        x: Any rational number from 0 on.
        size: How many draws; None for one bool.
        entropy: Source of randomness; the secure one by default.

    Returns:
        One bool, or an array of them.

    Raises:
        InvalidParameter: If x or size is negative.

    >>> bernoulli_exp(0)
    True
    """
    real = exp_neg(checks.not_negative(x=x))
    if size is None:
        return LazyUniform(entropy).below(real)
    from lapwing.noise import arrays

    return arrays.unpack(arrays.packed_bits(real, _size(size), entropy), size)


def bernoulli_exp_steps(steps: NDArray[np.int64], unit: Number, entropy: Entropy = SYSTEM) -> NDArray[np.bool_]:
    """For each whole number k in `steps`: true with probability exactly e^(−k·unit).

    Args:
        steps: Whole numbers from 0 on.
        unit: What one step adds to the exponent: any rational number from 0 on.
        entropy: Source of randomness; the secure one by default.

    Returns:
        An array of bools, as long as `steps`.

    Raises:
        InvalidParameter: If unit is negative.

    >>> import numpy as np
    >>> bernoulli_exp_steps(np.array([0, 0]), 1).tolist()
    [True, True]
    """
    from lapwing.noise import arrays

    return arrays.bernoulli_exp_steps(steps, checks.not_negative(unit=unit), entropy)


@overload
def uniform_below(n: int, size: None = None, entropy: Entropy = SYSTEM) -> int: ...
@overload
def uniform_below(n: int, size: int, entropy: Entropy = SYSTEM) -> NDArray[Any]: ...
def uniform_below(n: int, size: int | None = None, entropy: Entropy = SYSTEM) -> int | NDArray[Any]:
    """A uniform integer from 0 to n − 1.

    Args:
        n: How many integers there are to draw from, at least 1.
        size: How many draws; None for one Python integer.
        entropy: Source of randomness; the secure one by default.

    Returns:
        One integer, or an array of them.

    Raises:
        InvalidParameter: If n is not a whole number from 1 on, or if size is negative.

    >>> uniform_below(6) in range(6)
    True
    """
    n = checks.whole(n=n)
    if size is None:
        width = (n - 1).bit_length()
        while (value := entropy.bits(width) if width else 0) >= n:
            pass
        return value
    from lapwing.noise import arrays

    return arrays.uniform_below(n, _size(size), entropy)


@overload
def choice(weights: Sequence[Number], size: None = None, entropy: Entropy = SYSTEM) -> int: ...
@overload
def choice(weights: Sequence[Number], size: int, entropy: Entropy = SYSTEM) -> NDArray[Any]: ...
def choice(weights: Sequence[Number], size: int | None = None, entropy: Entropy = SYSTEM) -> int | NDArray[Any]:
    """An index, drawn with probability exactly proportional to its weight.

    Args:
        weights: A rational number for each index. None may be negative, and one at least must be positive.
        size: How many draws, each from all indices; None for one Python integer.
        entropy: Source of randomness; the secure one by default.

    Returns:
        One index, or an array of them.

    Raises:
        InvalidParameter: If there are no weights, if all are zero, or if one is negative.

    >>> choice([0, 1, 0])
    1
    """
    fractions = [checks.not_negative(weight=weight) for weight in weights]
    common = math.lcm(*(weight.denominator for weight in fractions))
    totals = list(accumulate(int(weight * common) for weight in fractions))
    if not totals or totals[-1] == 0:
        raise InvalidParameter(
            "weights", list(weights), "there is nothing to choose from", "Give one positive weight at least."
        )
    if size is None:
        return bisect_right(totals, uniform_below(totals[-1], entropy=entropy))
    from lapwing.noise import arrays

    return arrays.positions(totals, uniform_below(totals[-1], size, entropy))


def permutation(n: int, entropy: Entropy = SYSTEM) -> NDArray[np.intp]:
    """A uniformly random order of 0 … n − 1.

    Args:
        n: How many numbers to put in order; 0 gives an empty array.
        entropy: Source of randomness; the secure one by default.

    Returns:
        An array that holds each number once.

    Raises:
        InvalidParameter: If n is not a whole number from 0 on.

    >>> sorted(permutation(4).tolist())
    [0, 1, 2, 3]
    """
    from lapwing.noise import arrays

    return arrays.permutation(checks.whole(minimum=0, n=n), entropy)


def _scale(limit: int = LARGEST_SCALE, **named: object) -> Fraction:
    scale = checks.positive(**named)
    if scale > limit:
        [(name, value)] = named.items()
        raise InvalidParameter(
            name, value, f"is larger than {limit}", "Use a coarser grid: a larger granularity, a smaller scale."
        )
    return scale


def _size(size: int) -> int:
    return checks.whole(minimum=0, size=size)
