"""The membership attack: what it gains, what nobody can gain, and how it is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lapwing.adversary.attacks import best_advantage as bound
from lapwing.adversary.attacks.membership import advantage
from lapwing.experiments.experiment import select
from lapwing.experiments.membership import FALSE_ALARMS, MEMBERSHIP


def test_the_bound_is_that_of_randomized_response() -> None:
    for epsilon in (0.1, 1.0, 5.0):
        truth = math.exp(epsilon) / (1 + math.exp(epsilon))
        assert bound(epsilon, 0) == pytest.approx(2 * truth - 1)
        assert bound(epsilon, 0.01) > bound(epsilon, 0)
    assert bound(0, 0.25) == 0.25


def test_a_threshold_is_judged_on_models_it_was_not_chosen_on() -> None:
    rng = np.random.default_rng(0)
    inside = [rng.random(400) < 0.5 for _ in range(20)]
    blind, error = advantage([rng.random(400) for _ in inside], inside)
    assert abs(blind) < 6 * error
    assert advantage([member + 0.5 * rng.random(400) for member in inside], inside)[0] == pytest.approx(1, abs=0.01)
    half = [np.where(rng.random(400) < 0.5, member, 0.0) for member in inside]
    assert advantage(half, inside)[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.sweep
def test_private_training_takes_the_gain_from_the_attacker() -> None:
    rows = MEMBERSHIP.rows(epsilons=(1.0,), models=4, rounds=40)
    plain, private = select(rows, what="advantage")
    assert (plain["epsilon"], private["epsilon"]) == (None, 1.0)
    assert plain["advantage"] > 0.3
    assert private["advantage"] < bound(1)
    assert private["advantage"] < plain["advantage"] / 2
    assert plain["shadows"] > 0.3
    assert private["shadows"] < plain["shadows"] / 2
    for strong in select(rows, what="strong", epsilon=1.0):
        assert strong["low"] < bound(1)
        assert strong["advantage"] < strong["high"]
    for epsilon in (None, 1.0):
        curve = select(rows, what="curve", epsilon=epsilon)
        assert [point["false_alarms"] for point in curve] == list(FALSE_ALARMS)
        hits = [point["hits"] for point in curve]
        assert hits == sorted(hits)
        assert hits[-1] == 1
