"""Where the error of a sample and that of noise are the same, and what parts of a budget cost together."""

from __future__ import annotations

import math

from browser import answers_of
from comparisons.perspective import EPSILONS, NAME, count
from scipy.stats import norm

from lapwing.privacy import PureDP, compose


def test_at_the_crossing_both_errors_are_the_same() -> None:
    asked = [(share, epsilon, k) for share in (0.5, 0.01) for epsilon in EPSILONS for k in (1, 10)]
    crossings = answers_of([(NAME, "crossing", list(one), None) for one in asked])
    for (share, epsilon, questions), n in zip(asked, crossings, strict=True):
        sample = float(norm.ppf(0.975)) * math.sqrt(share * (1 - share) / n)
        assert math.isclose(sample, count(epsilon, questions).accuracy() / n, rel_tol=1e-8)


def test_parts_of_a_plan_add_up_to_the_budget() -> None:
    """What `planned` calls equal parts is what the library charges for them together."""
    parts = [PureDP(count(1.0, 4).privacy_loss().epsilon)] * 4
    assert compose(*parts).best == PureDP(1)
