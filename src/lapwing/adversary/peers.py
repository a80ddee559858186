"""Privacy bugs found in released software, re-enacted: each claims epsilon = 1, each is caught.

Two more live where budgets do, not here: a budget that checks before it appends and so grants too much under threads,
and an accountant that copying an estimator copies with it. And one is no leak but a bias: estimates clipped and
renormalised (tests/adversary).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from fractions import Fraction

from lapwing.adversary.auditor import Pair
from lapwing.adversary.controls import CEILING, CLASSICS, Control, control
from lapwing.exact import exp_down
from lapwing.noise import Entropy, bernoulli, discrete_laplace

LOW, HIGH = 2.0**52, 2.0**52 + 1
TRUTH = exp_down(Fraction(1)) / (1 + exp_down(Fraction(1)))
"""e/(1+e), rounded towards privacy: the chance of a true bit at epsilon = 1."""
HALF_TRUTH = exp_down(Fraction(1, 2)) / (1 + exp_down(Fraction(1, 2)))


@control(Pair(0.0, 1.0, note="a count of 0, and of 1"), shows=5.74, spread=0.025)
def laplace_in_floats(value: float, entropy: Entropy) -> float:
    """−ln(uniform) in floating point: which doubles can come out depends on the value underneath (Mironov 2012)."""
    size = -math.log((entropy.bits(53) + 1) * 2.0**-53)
    return value + (size if entropy.bits(1) else -size)


@control(Pair(0.0, 1.0, note="a count of 0, and of 1"), shows=4.25, spread=0.05, delta=1e-5)
def gaussian_in_floats(value: float, entropy: Entropy) -> float:
    """Normal noise of deviation 4 in floating point, by Box and Muller: the lowest bits betray the value here too."""
    radius = math.sqrt(-2 * math.log((entropy.bits(53) + 1) * 2.0**-53))
    return value + 4 * radius * math.cos(2 * math.pi * entropy.bits(53) * 2.0**-53)


@control(Pair((HIGH,) * 63 + (LOW,), (HIGH,) * 64, "replace", note="all 2^52 + 1, but for one"), shows=CEILING)
def sum_in_floats(values: Sequence[float], entropy: Entropy) -> int:
    """Values in [2^52, 2^52 + 1] differ by 1, their float sums by 64: rounding adds up (Casacuberta et al. 2022)."""
    total = 0.0
    for value in values:
        total += min(max(value, LOW), HIGH)
    return int(total) + discrete_laplace(1, entropy=entropy)


@control(Pair((1,) * 127, (1,) * 128, note="as many as fit into a byte, and one more"), shows=CEILING)
def sum_that_wraps(values: Sequence[int], entropy: Entropy) -> int:
    """A sum in fixed-width integers jumps from the largest to the smallest number (here one byte wide)."""
    return (sum(values) + 128) % 256 - 128 + discrete_laplace(1, entropy=entropy)


@control(Pair((1,) * 127, (1,) * 128, note="as many as fit into a byte, and one more"), shows=CEILING)
def sum_that_raises(values: Sequence[int], entropy: Entropy) -> int:
    """An overflow that is noticed, and reported: the exception is an output too, and only one neighbour has it."""
    return array("b", [sum(values)])[0] + discrete_laplace(1, entropy=entropy)


@control(Pair((0.5, 0.5), (0.5, 0.5, math.nan), note="one value missing"), shows=CEILING)
def sum_with_one_nan(values: Sequence[float], entropy: Entropy) -> float:
    """Clamping by comparisons lets NaN through, and the whole answer becomes NaN."""
    total = sum(min(max(value, 0.0), 1.0) for value in values)
    return total + discrete_laplace(1, entropy=entropy)


@control(Pair((1, 1), (1, 1, 1), note="two people, and three"), shows=CEILING)
def sensitivity_from_the_lower_bound(values: Sequence[int], entropy: Entropy) -> int:
    """The sensitivity is taken from the lower bound alone; where that is 0, so is the noise."""
    low, high = 0, 1
    scale = abs(low)
    noise = discrete_laplace(scale, entropy=entropy) if scale else 0
    return sum(min(max(value, low), high) for value in values) + noise


@control(Pair((-1490, -1490), (-1490, -1491), note="two candidates far below 0"), shows=6.36, spread=0.015)
def exponential_mechanism_that_underflows(utilities: Sequence[int], entropy: Entropy) -> int:
    """Weights e^(u/2) as floats: the last representable one is 5e-324, a utility 1 lower is impossible."""
    weights = [math.exp(utility / 2) for utility in utilities]
    point = entropy.bits(53) * 2.0**-53 * sum(weights)
    return next((index for index, weight in enumerate(weights) if (point := point - weight) < 0), 0)


@control(Pair((1, 1), (0, 2), note="one candidate loses a vote to the other"), shows=2.84, spread=0.08)
def noisy_max_that_charges_a_quarter(scores: Sequence[int], entropy: Entropy) -> int:
    """Scores that move against each other need noise of scale 2; this has 1/2 and says epsilon = 1 all the same."""
    noisy = [score + discrete_laplace(Fraction(1, 2), entropy=entropy) for score in scores]
    return noisy.index(max(noisy))


@control(Pair(0, 1, "replace", note="answer 0, and answer 1"), shows=1.85, spread=0.05)
def unary_encoding_at_full_epsilon(answer: int, entropy: Entropy) -> tuple[bool, ...]:
    """One bit per possible answer, each randomised at epsilon = 1: two bits change, so the loss is 2."""
    return tuple((index == answer) ^ (not bernoulli(TRUTH, entropy=entropy)) for index in range(4))


@control(Pair((True, False, True), (False, False, True), "replace", note="the first bit differs"), shows=CEILING)
def bit_vector_with_an_off_by_one(bits: Sequence[bool], entropy: Entropy) -> tuple[bool, ...]:
    """The loop that flips the bits starts at the second."""
    flipped = list(bits)
    for index in range(1, len(bits)):
        flipped[index] ^= not bernoulli(TRUTH, entropy=entropy)
    return tuple(flipped)


@control(Pair(0, 1, "replace", note="answer 0, and answer 1"), shows=6.6, spread=0.015)
def rappor_that_never_clears_a_bit(answer: int, entropy: Entropy) -> tuple[bool, ...]:
    """Noise sets bits but never clears one: a 0 proves that the answer was another."""
    return tuple(index == answer or not bernoulli(HALF_TRUTH, entropy=entropy) for index in range(4))


@control(Pair((5, 5), (5, 6), note="two workers count, one person in the second's part"), shows=CEILING)
def noise_repeated_in_forked_children(parts: Sequence[int], entropy: Entropy) -> tuple[int, ...]:
    """Each worker inherits the same generator state from its parent: the difference of their answers has no noise."""
    state = discrete_laplace(1, entropy=entropy)
    return tuple(part + state for part in parts)


@control(Pair((0.5, 0.5), (0.5, 0.5, 7.0), note="one value outside the bounds"), shows=CEILING)
def error_that_prints_data(values: Sequence[float], entropy: Entropy) -> float:
    """A helpful error about a record is an output without noise."""
    for value in values:
        if not 0 <= value <= 1:
            raise ValueError(f"{value} is outside the bounds 0 and 1")
    return sum(values) + discrete_laplace(1, entropy=entropy)


PEERS: tuple[Control, ...] = (
    laplace_in_floats,
    gaussian_in_floats,
    sum_in_floats,
    sum_that_wraps,
    sum_that_raises,
    sum_with_one_nan,
    sensitivity_from_the_lower_bound,
    exponential_mechanism_that_underflows,
    noisy_max_that_charges_a_quarter,
    unary_encoding_at_full_epsilon,
    bit_vector_with_an_off_by_one,
    rappor_that_never_clears_a_bit,
    noise_repeated_in_forked_children,
    error_that_prints_data,
)

CONTROLS: tuple[Control, ...] = (*CLASSICS, *PEERS)
"""Every broken mechanism that the auditor must catch."""
