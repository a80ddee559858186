"""Floating-point sums: a single record moves a sum by more than its own size, because the rest is rounded differently.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, Widespread underestimation of sensitivity in differentially
private libraries and how to fix it. Exact noise does not help if the sum below it has a larger sensitivity than stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing import checks
from lapwing.adversary.attacks.attack import Attack, Conclusion, Rounds, sure_of
from lapwing.adversary.attacks.bounds import best_guess
from lapwing.mechanisms import Laplace
from lapwing.noise import Entropy, bernoulli

POWER = 12
FALLS = 1 << 15
GRID = Fraction(1, 1 << 24)
"""All records of the demonstration are multiples of it."""


def running_sum(values: Any) -> float:
    """A sum in single precision, one addition after the other, as a loop over 32-bit floats does it. Not private.

    NumPy adds in this order, too, when it sums a table of several columns over its rows.
    """
    return float(np.add.accumulate(np.append(0, values).astype(np.float32))[-1])


def rounded_rows(target: float | None = None, *, power: int = POWER, falls: int = FALLS) -> NDArray[np.float64]:
    """Records in [−1, 1], for which a target of 1 changes `running_sum` by 1 + falls·2^(power − 24).

    2^p ones come first, then the target, then many records of a little less than 0. Single precision has 24 bits.
    Below 2^p its numbers are u = 2^(p − 24) apart, above it 2u, and the small records are a little more than u/2. So
    from 2^p each of them takes u off; from 2^p + 1 each of them is rounded away.

    >>> [running_sum(rounded_rows(target, power=6, falls=10**6)) for target in (None, 1)]
    [60.18530..., 65.0]
    """
    small = -(2.0 ** (power - 25)) * (1 + 2.0**-10)
    middle = [] if target is None else [float(target)]
    return np.concatenate([np.ones(1 << checks.whole(power=power)), middle, np.full(checks.whole(falls=falls), small)])


def float_sum(output: float, *, sums: tuple[float, float], scale: float) -> Conclusion:
    """Decide from a noisy sum whether the target is in the data.

    The attacker knows both sums that are possible, and they are equally likely. Rounding moves them apart by more than
    the sensitivity for which the noise was made.

    Args:
        output: The sum that was released, with Laplace noise.
        sums: What the same code gives without the target and with it.
        scale: The scale of the noise.

    Returns:
        True if the target is more likely in the data, False otherwise, and how sure the attacker is.

    Raises:
        InvalidParameter: If `scale` is not positive.

    >>> from lapwing.adversary.attacks.float_sums import rounded_rows, running_sum
    >>> sums = tuple(running_sum(rounded_rows(target)) for target in (None, 1))  # a record of at most 1
    >>> sums
    (4088.0, 4097.0)
    >>> print(float_sum(4096.2, sums=sums, scale=1))
    the target: True (99.9% sure). The sum is 4088 without the target and 4097 with it; 4096.2 was released.
    """
    without, present = (abs(output - total) / float(checks.positive(scale=scale)) for total in sums)
    why = f"The sum is {sums[0]:g} without the target and {sums[1]:g} with it; {output:g} was released."
    return Conclusion(about="the target", guess=present < without, sure=sure_of(present - without), because=why)


@cache
def _sums(*, exactly: bool) -> tuple[float, float]:
    """Without the target and with it. Exact sums fit into a double here: multiples of 2^−24 below 2^13."""
    without, present = ((math.fsum if exactly else running_sum)(rounded_rows(target)) for target in (None, 1.0))
    return without, present


def _play(epsilon: float, rounds: int, entropy: Entropy, *, exactly: bool) -> Rounds:
    """The noise is exact either way, for records in [−1, 1]: a sum that one of them changes by 1 (add_remove)."""
    noise, sums = Laplace(epsilon=epsilon, sensitivity=1, granularity=GRID, on_grid=True), _sums(exactly=exactly)
    won: list[float] = []
    for present in bernoulli(Fraction(1, 2), rounds, entropy):
        output = noise.release(sums[int(present)], entropy)
        won.append(float(float_sum(output, sums=sums, scale=1 / epsilon).guess == bool(present)))
    return won


def _example(entropy: Entropy) -> Sequence[Conclusion]:
    noise = Laplace(epsilon=1, sensitivity=1, granularity=GRID, on_grid=True)
    present = bernoulli(Fraction(1, 2), entropy=entropy)
    pairs = (_sums(exactly=exactly) for exactly in (False, True))
    learned = [float_sum(noise.release(sums[int(present)], entropy), sums=sums, scale=1.0) for sums in pairs]
    return [replace(conclusion, truth=bool(present)) for conclusion in learned]


FLOAT_SUM = Attack(
    name="float-sum",
    title="Rounding: one record decides how all later ones are rounded",
    secret="whether a record is in the data",
    source="Casacuberta, Shoemate, Vadhan and Wagaman 2022",
    weak={
        "a sum of 32-bit floats with exact noise for epsilon = 1": (
            lambda rounds, entropy: _play(1.0, rounds, entropy, exactly=False)
        )
    },
    answer="a sum in whole steps of a grid with exact noise",
    promise="epsilon for one record in [−1, 1] (add_remove)",
    private=lambda epsilon, rounds, entropy: _play(epsilon, rounds, entropy, exactly=True),
    bound=best_guess,
    example=_example,
    lesson="The sensitivity of a sum depends on the code that adds. Whole numbers add without rounding.",
    rounds=1000,
)
