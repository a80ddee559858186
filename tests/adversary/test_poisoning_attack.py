"""A fake is loud in front of coins and counts once in front of a curator."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import together
from scipy import stats

from lapwing.adversary.attacks.attack import repeatable
from lapwing.adversary.attacks.poisoning import (
    COUNTED,
    FAKES,
    HONEST,
    ONCE,
    POISONING,
    encoding,
    poison,
    poisoned_share,
)
from lapwing.errors import InvalidParameter

FALSE_ALARM = 1e-6
TABLE = {(0.5, True): 0.2636, (1, True): 0.1677, (4, True): 0.1114, (0.5, False): 0.2355, (1, False): 0.1366}


@together(("epsilon", "optimized"), TABLE)
def test_theory_gives_the_known_shares(epsilon: float, optimized: bool) -> None:
    made = encoding(epsilon, optimized=optimized)
    found = poisoned_share(0.01, 0.05, if_true=made.one_if_true, if_other=made.one_if_other)
    assert found == pytest.approx(TABLE[epsilon, optimized], abs=5e-5)


def test_fakes_move_the_estimate_as_far_as_theory_says() -> None:
    contest = POISONING.run(rounds=12, epsilons=[0.1, 1])
    for score, (epsilon, optimized) in zip(
        contest.weak, ((e, kind) for kind in (True, False) for e in (0.5, 1.0, 4.0)), strict=True
    ):
        made = encoding(epsilon, optimized=optimized)
        p, q = float(made.one_if_true), float(made.one_if_other)
        spread = math.sqrt(max(p * (1 - p), q * (1 - q)) / (HONEST + FAKES) / 12) / (p - q)
        expected = poisoned_share(0.01, 0.05, if_true=made.one_if_true, if_other=made.one_if_other)
        assert abs(score.success - expected) < stats.norm.isf(FALSE_ALARM / 12) * spread
        assert score.success > ONCE  # louder than one answer
    for score in contest.private:
        assert score.bound == pytest.approx(ONCE, rel=1e-3)
        assert abs(score.success - ONCE) < 20 * 20 / score.epsilon / (HONEST + FAKES)
    assert contest.holds


def test_the_bound_counts_what_cutting_at_zero_adds() -> None:
    """The exact mean of the count with noise, cut at 0 and 1, against the bound; tight where noise is large."""
    for epsilon in (0.0005, 0.003, 0.1):
        noise = np.arange(-400_000, 400_001)
        law = stats.dlaplace(epsilon / 2).pmf(noise)
        mean = float(np.clip((COUNTED + noise) / (HONEST + FAKES), 0, 1) @ law)
        assert mean <= POISONING.bound(epsilon) * (1 + 1e-9)
    assert POISONING.bound(0.003) > 1.04 * ONCE
    assert mean == pytest.approx(POISONING.bound(0.1))


def test_strange_input_is_explained() -> None:
    with pytest.raises(InvalidParameter, match="less than if_true"):
        poisoned_share(0.1, 0.1, if_true=0.5, if_other=0.5)
    with pytest.raises(InvalidParameter, match="nobody"):
        poison(encoding(1, optimized=True), [], 3, 5, repeatable("nobody"))


def test_the_less_a_report_says_the_more_a_fake_can() -> None:
    shares = [
        poisoned_share(0.01, 0.05, if_true=made.one_if_true, if_other=made.one_if_other)
        for made in (encoding(epsilon, optimized=False) for epsilon in (0.25, 0.5, 1, 2, 4, 8))
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] == pytest.approx(ONCE, rel=0.02)


def test_one_poisoning_is_told() -> None:
    learned = poison(encoding(1, optimized=True), [i % 100 for i in range(9500)], 3, 500, repeatable("told"))
    assert learned.truth == "1.0%"
    share, around = (float(part.strip().rstrip("%")) for part in learned.guess.split("±"))
    assert abs(share - 16.77) < 5 * around / 1.96
    assert learned.sure == 0.95
    none = [poison(encoding(4, optimized=True), [0, 1] * 500, 0, 0, repeatable(i)).guess for i in range(3)]
    assert np.mean([float(one.split("%")[0]) for one in none]) == pytest.approx(50, abs=15)
