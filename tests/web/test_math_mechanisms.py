"""Where Laplace and Gaussian noise for many answers meet is where the library says."""

from __future__ import annotations

import math

from browser import answers_of

from lapwing.mechanisms import analytic_sigma
from lapwing.privacy import PLD
from lapwing.privacy.accountants import AdditiveNoise


def laplace_delta(deviation: float, k: int, epsilon: float) -> float:
    """The delta of k answers with Laplace noise, by the library's distribution of the privacy loss."""
    return PLD([(AdditiveNoise("laplace", deviation / math.sqrt(2)), k)]).delta_at(epsilon)


def test_laplace_noise_for_many_answers_is_as_wide_as_it_must_be() -> None:
    cases = [(10, 1, 1e-3), (20, 1, 1e-6), (100, 1, 1e-6), (30, 10, 1e-9), (30, 0.1, 1e-6)]
    found = answers_of([("gaussian", "laplace", list(case), None) for case in cases])
    for (k, epsilon, delta), deviation in zip(cases, found, strict=True):
        assert laplace_delta(1.005 * deviation, k, epsilon) < delta < laplace_delta(0.995 * deviation, k, epsilon)


def test_gaussian_noise_is_smaller_exactly_from_the_number_of_answers_that_is_marked() -> None:
    cases = [(0.3, 1e-6), (1, 1e-6), (10, 1e-3), (1, 1e-9)]
    found = answers_of([("gaussian", "crossing", list(case), None) for case in cases])
    for (epsilon, delta), few in zip(cases, found, strict=True):
        sigma = analytic_sigma(epsilon, delta)
        assert laplace_delta(math.sqrt(few - 1) * sigma, few - 1, epsilon) < delta
        assert laplace_delta(math.sqrt(few) * sigma, few, epsilon) > delta
