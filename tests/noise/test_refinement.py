"""Undecided draws: words so short that the lazy uniform must draw on, and words chosen to hit a threshold."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from cases import together
from chance import assert_follows, assert_share, gaussian_pmf, laplace_pmf

from lapwing.errors import InvalidParameter
from lapwing.exact import exp_neg, rational
from lapwing.noise import SYSTEM, Recorded, Reproducible
from lapwing.noise.arrays import Guide, _one_word, bernoulli_exp_steps, decide_exp, draw_digits, packed_bits, unpack
from lapwing.noise.gaussian import RejectionGaussian, TableGaussian
from lapwing.noise.inversion import Inversion, LazyUniform
from lapwing.noise.laplace import DigitSampler
from lapwing.noise.laws import Gaussian, SignedGeometric, TruncatedGeometric


@pytest.mark.parametrize(
    ("law", "pmf"),
    [
        (SignedGeometric(Fraction(1, 3), Fraction(1, 3)), laplace_pmf(3)),
        (Gaussian(Fraction(4)), gaussian_pmf(2)),
        (
            TruncatedGeometric(Fraction(1, 9), 16),
            lambda k: math.exp(-k / 9) * (1 - math.exp(-1 / 9)) / (1 - math.exp(-16 / 9)),
        ),
    ],
    ids=["laplace", "gaussian", "digit"],
)
def test_all_pairs_of_eight_bit_words_give_every_outcome_its_probability(law: object, pmf: object) -> None:
    """No randomness: enumerate both words; what two words leave undecided is all the doubt there is."""
    inversion, mass, undecided = Inversion(law, word_bits=8), Counter[int](), 0
    for words in itertools.product(range(256), repeat=2):
        try:
            mass[inversion.draw(Recorded(list(words), 8))] += 1
        except InvalidParameter:  # would draw a third word
            undecided += 1
    assert 0 < undecided <= 2 * len(inversion.thresholds) + 2
    for outcome, count in mass.items():
        assert count / 65536 <= pmf(outcome) + 1e-12
        assert pmf(outcome) <= (count + undecided) / 65536 + 1e-12


@pytest.mark.parametrize("word_bits", [8, 12])
@together("scale", [Fraction(1, 2), Fraction(3), Fraction(100), Fraction(70000)])
def test_short_words_draw_the_same_laplace(word_bits: int, scale: Fraction) -> None:
    sampler = DigitSampler(scale, signed=True, word_bits=word_bits)
    bucket = max(1, int(scale) // 4)
    draws = [sampler.draw(SYSTEM) // bucket for _ in range(20_000)]
    pmf = laplace_pmf(float(scale))
    assert_follows(draws, lambda k: math.fsum(pmf(x) for x in range(k * bucket, k * bucket + bucket)), range(-60, 60))


@together(("word_bits", "guide_bits"), [(8, 4), (12, 6), (12, 12), (17, 16)])
def test_short_words_draw_the_same_arrays(word_bits: int, guide_bits: int) -> None:
    laplace = Guide(Inversion(SignedGeometric(Fraction(1, 5), Fraction(1, 5)), word_bits), guide_bits=guide_bits)
    assert_follows(draw_digits((laplace,), 30_000, SYSTEM), laplace_pmf(5), range(-80, 80))
    gaussian = Guide(Inversion(Gaussian(Fraction(9)), word_bits), guide_bits=guide_bits)
    assert_follows(draw_digits((gaussian,), 30_000, SYSTEM), gaussian_pmf(3), range(-30, 30))


@pytest.mark.parametrize("word_bits", [8, 12])
def test_short_words_draw_the_same_bits(word_bits: int) -> None:
    for real, p in [
        (rational(Fraction(1, 3)), 1 / 3),
        (exp_neg(Fraction(1)), math.exp(-1)),
        (rational(Fraction(0.1)), 0.1),
    ]:
        bits = unpack(packed_bits(real, 60_000, SYSTEM, word_bits), 60_000)
        assert_share(bits.sum(), 60_000, p)


def test_a_word_of_all_ones_is_extended_into_the_tail() -> None:
    law = SignedGeometric(Fraction(1), Fraction(1))
    inversion, ones = Inversion(law), 2**64 - 1
    first = inversion.draw(Recorded([ones, 0], 64))
    assert abs(first) >= 43  # P(|X| ≥ 44) is about 2^-63
    farther = inversion.draw(Recorded([ones, ones, ones, 0], 64))
    assert abs(farther) > 120
    guide = Guide(inversion)
    # the array path: 16 ones, then 48 more, then two extensions
    drawn = draw_digits((guide,), 1, Recorded([ones >> 48] + [2**16 - 1] * 4 + [2**16 - 1] * 4 + [0] * 4, 16))
    assert abs(int(drawn[0])) >= 86


def test_a_draw_beyond_int64_becomes_a_python_integer_not_a_wrapped_one() -> None:
    sampler = DigitSampler(Fraction(2**55), signed=True)
    sampler.draws(1, SYSTEM)
    top = sampler._guides[-1]
    answers = top.decide(np.array([2**16 - 1], dtype=np.uint16), Recorded([2**64 - 1] * 40 + [0], 64))
    assert answers.dtype == object
    assert abs(answers[0]) >= 2**63


def test_an_exactly_dyadic_threshold_is_decided_at_once() -> None:
    three_quarters = rational(Fraction(3, 4))
    assert LazyUniform(Recorded([3 << 62], 64)).below(three_quarters) is False
    assert LazyUniform(Recorded([(3 << 62) - 1], 64)).below(three_quarters) is True
    assert LazyUniform(Recorded([0], 64)).below(rational(Fraction(0))) is False
    assert LazyUniform(Recorded([2**64 - 1], 64)).below(rational(Fraction(1))) is True


@pytest.mark.parametrize("margin", [2.0**-40, 2.0])
def test_the_float_filter_and_the_exact_fallback_draw_the_same(margin: float) -> None:
    for k in (0, 1, 5, 20):
        answers = bernoulli_exp_steps(np.full(4000, k), Fraction(1, 10), SYSTEM, margin)
        assert_share(answers.sum(), 4000, math.exp(-k / 10))


def test_the_float_filter_sends_what_it_cannot_know_to_the_exact_fallback() -> None:
    asked = []
    words = Recorded([0, 2**63, int.from_bytes((round(math.exp(-1) * 2**64)).to_bytes(8, "big"), "little")], 64)

    def exactly(index: int) -> Fraction:
        asked.append(index)
        return Fraction(1) if index else Fraction(900)

    with pytest.raises(InvalidParameter):  # the recording ends where the fallback draws on
        decide_exp(np.array([900.0, 1.0, 1.0]), exactly, words)
    assert asked[0] == 0


def test_rejection_and_table_draw_the_same_gaussian() -> None:
    rejection, table = RejectionGaussian(Fraction(25, 4)), TableGaussian(Fraction(25, 4))
    pmf = gaussian_pmf(2.5)
    assert_follows([rejection.draw(SYSTEM) for _ in range(4000)], pmf, range(-30, 30))
    assert_follows(rejection.draws(100_000, SYSTEM), pmf, range(-30, 30))
    assert_follows(table.draws(100_000, SYSTEM), pmf, range(-30, 30))
    assert_follows([table.draw(SYSTEM) for _ in range(20_000)], pmf, range(-30, 30))


def test_no_floating_point_error_is_raised_for_far_steps() -> None:
    with np.errstate(all="raise"):
        answers = bernoulli_exp_steps(np.array([0, 700, 745, 2**62]), Fraction(1), SYSTEM)
    assert answers.tolist() == [True, False, False, False]


@together("digits", [0, 1, 0x5A, 0x80, 0xFF])
def test_one_word_of_bits_compares_every_lane_with_the_digits(digits: int) -> None:
    """Each of 64 lanes is a uniform number of eight digits: one if it is less, undecided if it is equal."""
    words = Reproducible(11).words(8, np.uint64).tolist()
    ones, still = _one_word(digits, 8, 8, Reproducible(11))
    for lane in range(64):
        number = sum((word >> lane & 1) << 7 - place for place, word in enumerate(words))
        assert (ones >> lane & 1, still >> lane & 1) == (number < digits, number == digits)
