"""Restricted divergences: formulas beside integrals, and the reasons why they are no price."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from lapwing.experiments import capacity
from lapwing.experiments.capacity import GAUSSIAN, LAPLACE
from lapwing.experiments.experiment import Row, column, select


@cache
def rows() -> list[Row]:
    return capacity.compute(epsilons=(Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2)), degrees=(1, 2, 3, 5))


def test_formulas_agree_with_integrals() -> None:
    for row in rows():
        assert row["integrated"] == pytest.approx(row["restricted"], rel=1e-5), row
        assert 0 < row["restricted"] <= row["full"] * (1 + 1e-12)


def test_linear_adversaries_see_a_part_of_laplace_noise_and_all_of_gaussian_noise() -> None:
    laplace, gaussian = (select(rows(), part="linear", mechanism=mechanism) for mechanism in (LAPLACE, GAUSSIAN))
    shares = [row["restricted"] / row["full"] for row in laplace]
    assert shares == pytest.approx([0.516, 0.570, 0.614, 0.665], abs=5e-4)
    assert all(row["restricted"] == row["full"] for row in gaussian)


def test_clipping_an_answer_gives_a_linear_adversary_everything() -> None:
    """So the restricted divergence grows by post-processing: it cannot be a price."""
    for row in select(rows(), part="linear", mechanism=LAPLACE):
        assert row["clipped"] == pytest.approx(row["full"], rel=1e-4)
        assert row["clipped"] > 1.4 * row["restricted"]


def test_higher_degrees_see_more_and_never_all() -> None:
    for mechanism in (LAPLACE, GAUSSIAN):
        for epsilon in capacity.SHOWN:
            chosen = select(rows(), part="degree", mechanism=mechanism, epsilon=float(epsilon))
            assert all(before["restricted"] < after["restricted"] for before, after in pairwise(chosen))
            assert chosen[-1]["restricted"] < chosen[-1]["full"]
    at_one = select(rows(), part="degree", mechanism=LAPLACE, epsilon=1.0)
    assert column(at_one, "restricted") == pytest.approx([0.405, 0.438, 0.475, 0.503], abs=5e-4)
    assert at_one[0]["full"] == pytest.approx(0.619, abs=5e-4)


def test_polynomials_on_gaussian_noise_sum_an_exponential_series() -> None:
    for epsilon in capacity.SHOWN:
        for degree in (1, 2, 4, 7):
            series = sum(Fraction(epsilon ** (2 * k), math.factorial(k)) for k in range(degree + 1))
            assert capacity.projected(GAUSSIAN, epsilon, degree) == series


def test_moments_are_those_of_the_noise() -> None:
    assert capacity.moments(LAPLACE, Fraction(1), 7) == [1, 0, 2, 0, 24, 0, 720]
    assert capacity.moments(GAUSSIAN, Fraction(1), 7) == [1, 0, 1, 0, 3, 0, 15]
    assert capacity.moments(GAUSSIAN, Fraction(2), 3) == [1, 0, Fraction(1, 4)]


def test_the_full_divergences_are_right() -> None:
    for epsilon in (0.5, 1.0, 2.0):
        for mechanism, kl, renyi in (
            (LAPLACE, capacity.laplace_kl(epsilon), capacity.laplace_renyi(epsilon)),
            (GAUSSIAN, epsilon**2 / 2, epsilon**2),
        ):
            _, p, q = capacity.grid(mechanism, epsilon)
            inside = (p > 0) & (q > 1e-290)
            p, q = p[inside], q[inside]
            assert float(p @ np.log(p / q)) == pytest.approx(kl, rel=1e-4)
            assert math.log(float((p * (p / q)).sum())) == pytest.approx(renyi, rel=1e-4)


def test_a_linear_adversary_cannot_tell_what_one_look_tells() -> None:
    """0 against −1 or 1 with equal odds: E_P a·x − ln E_Q e^(a·x) is 0 for every a, and no outcome is common."""
    outcomes, p, q = np.array([-1.0, 0.0, 1.0]), np.array([0.5, 0.0, 0.5]), np.array([0.0, 1.0, 0.0])
    for slope in np.linspace(-50, 50, 101):
        assert float(p @ (slope * outcomes)) - math.log(float(q @ np.exp(slope * outcomes))) == 0
    assert not (p * q).any()


def test_the_page_says_that_no_ledger_charges_it() -> None:
    text = capacity.tell(rows())
    assert "No ledger ever charges a capacity-bounded divergence." in text
    assert "Post-processing raises it" in text
