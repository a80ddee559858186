"""The primary test of the samplers, without randomness: every threshold and guide cell against mpmath intervals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
from cases import together
from mpmath import iv

from lapwing.noise.arrays import Guide
from lapwing.noise.inversion import Inversion, Law
from lapwing.noise.laws import Gaussian, Geometric, SignedGeometric, TruncatedGeometric

PRECISION = 256
RATES = [
    Fraction(1),
    Fraction(1, 10),
    Fraction(1, 32),
    Fraction(7, 3),
    Fraction(0.1),
    Fraction(100),
    Fraction(3, 2**40),
]


def _exp(x: Fraction) -> mpmath.ctx_iv.ivmpf:
    return iv.exp(-iv.mpf(x.numerator) / x.denominator)


def _geometric(law: Geometric) -> Callable[[int], mpmath.ctx_iv.ivmpf]:
    return lambda j: 1 - _exp(law.rate * (j + 1))


def _signed(law: SignedGeometric) -> Callable[[int], mpmath.ctx_iv.ivmpf]:
    """By summing the two signs, not by the closed form of the code."""
    a, b = _exp(law.tilt), _exp(law.rate)

    def cdf(j: int) -> mpmath.ctx_iv.ivmpf:
        kept, turned = j // 2 + 1, (j + 1) // 2  # how many of either sign are at most index j
        return (1 - b**kept) / (1 + a) + (1 - b**turned) * a / (1 + a)

    return cdf


def _truncated(law: TruncatedGeometric) -> Callable[[int], mpmath.ctx_iv.ivmpf]:
    return lambda j: (1 - _exp(law.rate * (j + 1))) / (1 - _exp(law.rate * law.size))


def _gaussian(law: Gaussian) -> Callable[[int], mpmath.ctx_iv.ivmpf]:
    """The total through the theta function, which knows nothing of our sums."""
    variance = law.variance
    nome = mpmath.exp(-mpmath.mpf(variance.denominator) / (2 * variance.numerator))
    total = mpmath.jtheta(3, 0, nome)
    total = iv.mpf([total * (1 - mpmath.ldexp(1, -PRECISION + 20)), total * (1 + mpmath.ldexp(1, -PRECISION + 20))])
    weights: list[mpmath.ctx_iv.ivmpf] = []

    def cdf(j: int) -> mpmath.ctx_iv.ivmpf:
        while len(weights) <= j:
            x = law.outcome(len(weights))
            weight = _exp(Fraction(x * x) / (2 * variance))
            weights.append(weight + (weights[-1] if weights else 0))
        return weights[j] / total

    return cdf


LAWS: list[tuple[Law, Callable[..., Callable[[int], mpmath.ctx_iv.ivmpf]]]] = [
    *((Geometric(rate), _geometric) for rate in RATES if rate > Fraction(1, 50)),
    *((SignedGeometric(rate, tilt), _signed) for rate in RATES[:6] for tilt in (rate, rate / 256)),
    *((TruncatedGeometric(rate, 256), _truncated) for rate in [*RATES[1:3], RATES[4], Fraction(1, 2**59), RATES[6]]),
    *(
        (Gaussian(variance), _gaussian)
        for variance in [Fraction(1, 9), Fraction(1), Fraction(100), Fraction(0.3), Fraction(90**2)]
    ),
]


@together(("law", "independent"), LAWS)
def test_every_threshold_is_the_floor_of_the_true_cdf(
    law: Law, independent: Callable[[Law], Callable[[int], object]]
) -> None:
    with mpmath.workprec(PRECISION):
        iv.prec = PRECISION
        cdf = independent(law)
        for word_bits in (8, 12, 64):
            inversion = Inversion(law, word_bits)
            for index, threshold in enumerate(inversion.thresholds):
                scaled = cdf(index) * 2**word_bits
                assert threshold <= scaled.a, (index, threshold)
                assert scaled.b < threshold + 1, (index, threshold)
            if law.size is None:
                assert inversion.thresholds[-1] == 2**word_bits - 1
            else:
                assert len(inversion.outcomes) == law.size


@together("law", [law for law, _ in LAWS])
def test_single_and_consecutive_enclosures_agree_and_contain_each_other(law: Law) -> None:
    for index, (low, high) in zip(range(40), law.enclosures(128), strict=False):
        fine_low, fine_high = law.cdf(index)(192)
        assert low <= fine_high >> 64
        assert fine_low >> 64 <= high
        assert low <= high <= low + 2**40


@together("law", [law for law, _ in LAWS])
@together("shift", [0, 8, 16])
def test_every_guide_cell_holds_the_one_answer_of_all_its_words_or_none(law: Law, shift: int) -> None:
    inversion = Inversion(law)
    guide = Guide(inversion, shift)
    thresholds = np.array(inversion.thresholds, dtype=np.uint64)
    starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    ends = starts | np.uint64((1 << 48) - 1)
    first = np.searchsorted(thresholds, starts, side="left")  # thresholds below the first word
    after = np.searchsorted(thresholds, ends, side="right")  # thresholds up to the last word
    decided = guide._cells != guide._undecided
    assert np.array_equal(decided, first == after)
    for cell in [*np.flatnonzero(decided)[:200], *np.flatnonzero(decided)[-200:]]:
        outcome = inversion.outcomes[first[cell]]
        placed = outcome * 2**shift if outcome >= 0 else outcome * 2**shift + 2**shift - 1
        assert guide._cells[cell] == placed
    indices = np.minimum(first, len(inversion.outcomes) - 1)
    outcomes = np.array(inversion.outcomes, dtype=np.int64)[indices]
    placed_all = np.where(outcomes >= 0, outcomes << shift, (outcomes << shift) + (1 << shift) - 1)
    assert np.array_equal(guide._cells[decided], placed_all[decided])
