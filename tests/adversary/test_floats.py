from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from cases import together

from lapwing.adversary.attacks import floats
from lapwing.adversary.attacks.bounds import best_guess, limits
from lapwing.adversary.attacks.float_sums import FLOAT_SUM, float_sum, rounded_rows, running_sum
from lapwing.adversary.attacks.floats import (
    FLOAT_GAUSSIAN,
    FLOAT_LAPLACE,
    float_gaussian,
    float_laplace,
    gaussian_ways,
    laplace_ways,
    naive_gaussian_pair,
    naive_laplace,
    numpys,
    textbook,
)
from lapwing.errors import InvalidParameter
from lapwing.noise import Recorded, Reproducible

FALSE_ALARM = 1e-6
ATTACKS = (FLOAT_LAPLACE, FLOAT_GAUSSIAN, FLOAT_SUM)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_naive_noise_falls_and_exact_noise_stays_within_the_bound(attack):
    contest = attack.run(rounds=1000, epsilons=[0.1, 1, 4])
    assert contest.weak[0].success >= 0.87
    assert contest.weak[-1].success >= 0.95
    for score in contest.private:
        low, high = limits(score.success, score.rounds, FALSE_ALARM / 2)
        assert low <= score.bound
        if attack is not FLOAT_SUM:  # these two attackers are the best there can be
            assert score.bound <= high


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_every_attack_can_be_told(attack):
    told = attack.tell(Reproducible(1))
    assert all(0.5 <= one.sure <= 1 and str(one) for one in told)
    assert all(one.guess == one.truth for one in told if one.sure == 1)
    assert told[0].sure > told[-1].sure


@pytest.mark.parametrize("formula", [textbook, numpys])
@together("scale", [0.3, 1.0, 10.0, 1e6])
@together("value", [0.0, 1.0, -3.7])
def test_what_the_sampler_made_is_never_ruled_out(formula, scale, value):
    entropy = Reproducible(1)
    for _ in range(60):
        output = naive_laplace(value, scale=scale, formula=formula, entropy=entropy)
        assert laplace_ways(output, value, scale=scale, formula=formula) >= 1


@together("sigma", [0.3, 1.0, 10.0])
def test_what_the_gaussian_sampler_made_is_never_ruled_out(sigma):
    entropy = Reproducible(2)
    for value in (0.0, 1.0) * 50:
        outputs = naive_gaussian_pair((value, 2.5), sigma=sigma, entropy=entropy)
        assert gaussian_ways(outputs, (value, 2.5), sigma=sigma) >= 1


def test_the_ways_to_an_output_are_counted_exactly():
    """Around one value, every uniform number in a window is tried; so each output in it is counted fully."""
    value, scale, start = 8.0, 1.0, 2**52 + 2**50
    made = Counter(textbook(value, scale, start + place) for place in range(4000))
    inner = sorted(made)[5:-5]
    assert max(made.values()) > 1  # noise is finer than the sum here
    assert all(laplace_ways(output, value, scale=scale) == made[output] for output in inner)


def test_noise_from_numpy_gives_itself_away():
    mine, theirs, rounds = np.random.default_rng(1), np.random.default_rng(1), 1000
    bits = [float(place % 2) for place in range(rounds)]
    outputs = [theirs.laplace(bit, 10.0) for bit in bits]
    if outputs != [numpys(bit, 10.0, int(mine.random() * 2**53)) for bit in bits]:
        pytest.skip("this NumPy was compiled to multiply and add in one step")
    told = [float_laplace([output], scale=10.0, formula=numpys) for output in outputs]
    assert all(one.sure < 1 or one.guess == bit for one, bit in zip(told, bits, strict=True))
    assert sum(one.guess == bit for one, bit in zip(told, bits, strict=True)) > 0.87 * rounds


def test_noise_from_python_gives_itself_away():
    source, rounds = random.Random(3), 400
    bits = [float(place % 2) for place in range(rounds)]
    outputs = [(source.gauss(bit, 10.0), source.gauss(0.0, 10.0)) for bit in bits]
    assert all(gaussian_ways(pair, (bit, 0.0), sigma=10.0) for pair, bit in zip(outputs, bits, strict=True))
    told = [float_gaussian(pair, sigma=10.0).guess[0] for pair in outputs]
    assert sum(guess == bit for guess, bit in zip(told, bits, strict=True)) > 0.94 * rounds


def test_most_doubles_near_an_output_cannot_be_reached():
    near = [3.0 + place * math.ulp(3.0) for place in range(1000)]
    reached = sum(laplace_ways(output, 0.0, scale=1.0) > 0 for output in near)
    # numbers are 2^-51 apart, noise 2^-52·e^3: one in ten
    assert 60 < reached < 140


def test_certainty_is_never_wrong():
    entropy = Reproducible(3)
    certain = 0
    for bit in (0.0, 1.0) * 200:
        learned = float_laplace([naive_laplace(bit, scale=10.0, entropy=entropy)], scale=10.0)
        certain += learned.sure == 1
        assert learned.sure < 1 or learned.guess == bit
    assert certain > 250


def test_certainty_about_gaussian_noise_is_never_wrong():
    entropy = Reproducible(4)
    for bit in (0.0, 1.0) * 100:
        outputs = naive_gaussian_pair((bit, 0.0), sigma=3.0, entropy=entropy)
        learned = float_gaussian(outputs, sigma=3.0)
        assert learned.sure < 1 or learned.guess == (bit, 0.0)


def test_rounding_to_three_decimals_hides_the_last_bits():
    """No proof of privacy, but this attacker is back to what the size of the noise allows."""
    entropy, rounds = Reproducible(5), 2000
    bits = [place % 2 for place in range(rounds)]
    outputs = [round(naive_laplace(float(bit), scale=1.0, entropy=entropy), 3) for bit in bits]
    ruled_out = sum(not laplace_ways(output, float(bit), scale=1.0) for output, bit in zip(outputs, bits, strict=True))
    assert ruled_out > rounds / 4  # the truth itself: the count of ways no longer means anything
    hits = sum((output > 0.5) == bool(bit) for output, bit in zip(outputs, bits, strict=True)) / rounds
    assert limits(hits, rounds, FALSE_ALARM)[0] <= best_guess(1)


def test_where_sums_are_coarse_the_ways_are_estimated():
    noise, scale = 3.25, 1000.0
    expected = 2**53 * math.ulp(1e9) * math.exp(-noise / scale) / (2 * scale)
    assert expected > floats.WINDOW
    assert 0.9 < laplace_ways(1e9 + noise, 1e9, scale=scale) / expected < 1.1


def test_the_textbook_sampler_draws_again_instead_of_taking_the_logarithm_of_zero():
    assert naive_laplace(5.0, scale=1.0, entropy=Recorded([0, 2**52], 53)) == 5.0


def test_one_record_moves_a_running_sum_by_nine_times_its_size():
    without, present = (rounded_rows(target) for target in (None, 1.0))
    assert len(present) == len(without) + 1
    assert np.abs(present).max() <= 1
    assert math.fsum(present) - math.fsum(without) == 1
    assert running_sum(present) - running_sum(without) == 9


def test_the_running_sum_is_that_of_a_loop_and_of_numpy_over_rows():
    rows = rounded_rows(1.0, power=5, falls=2000).astype(np.float32)
    total = np.float32(0)
    for row in rows:
        total += row
    assert running_sum(rows) == float(total) == float(np.stack([rows, rows], axis=1).sum(axis=0)[0])


def test_the_demonstration_adds_up_exactly_on_its_grid():
    rows = rounded_rows(1.0)
    steps = [Fraction(row) * 2**24 for row in set(rows.tolist())]
    assert all(step.denominator == 1 for step in steps)
    assert math.fsum(rows) == sum(map(Fraction, rows.tolist()))


def test_a_sum_is_attributed_to_the_nearer_of_two():
    assert float_sum(4096.9, sums=(4088.0, 4097.0), scale=1.0).guess is True
    assert float_sum(4080.0, sums=(4088.0, 4097.0), scale=1.0).guess is False


def test_strange_outputs_are_explained():
    for outputs in ([], [math.nan], [math.inf]):
        with pytest.raises(InvalidParameter, match="finite numbers"):
            float_laplace(outputs, scale=1.0)
    with pytest.raises(InvalidParameter, match="2 finite numbers"):
        float_gaussian((1.0,), sigma=1.0)
    assert running_sum([]) == 0
