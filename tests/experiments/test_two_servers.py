"""The numbers of the experiment about two servers."""

from __future__ import annotations

import math
from functools import cache

from scipy.stats import chi2

from lapwing.experiments import two_servers
from lapwing.experiments.experiment import Row, column, select

FALSE_ALARM = 1e-6
REPEATS = 12


@cache
def rows() -> list[Row]:
    return two_servers.compute(sizes=(300, 600), repeats=REPEATS)


def test_joint_noise_has_the_error_of_a_curator() -> None:
    errors = {model: column(select(rows(), trusted=model), "theory") for model in two_servers.MODELS}
    joint, each, curator = (errors[model] for model in (two_servers.MODELS[3], two_servers.MODELS[2], "a curator"))
    assert all(abs(a / b - 1) < 1e-6 for a, b in zip(joint, curator, strict=True))
    assert all(math.isclose(a / b, math.sqrt(2)) for a, b in zip(each, joint, strict=True))


def test_what_servers_open_is_as_far_off_as_theory_says() -> None:
    """Squares of Laplace noise have a variance of 5 times their mean squared: a normal law is wide enough."""
    cells = REPEATS * len(two_servers.AGES)
    for model in two_servers.MODELS[2:]:
        for row in select(rows(), trusted=model):
            off = (row["error"] / row["theory"]) ** 2 - 1
            assert abs(off) < math.sqrt(5 / cells) * math.sqrt(chi2.isf(FALSE_ALARM, 1)), row


def test_without_anybody_who_is_trusted_the_error_grows_with_the_number_of_people() -> None:
    few, many = column(select(rows(), trusted="nobody is trusted"), "theory")
    assert math.isclose(many / few, math.sqrt(2), rel_tol=0.02)
    assert few > 10 * column(select(rows(), trusted="a curator"), "theory")[0]
