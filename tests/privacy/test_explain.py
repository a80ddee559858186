"""Explanations: every number is the bound it claims to be, and randomized response attains it."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from fractions import Fraction

import pytest
from cases import together
from hypothesis import given
from hypothesis import strategies as st

from lapwing.errors import InvalidParameter
from lapwing.privacy import PLD, ZCDP, AdditiveNoise, ApproxDP, Loss, PureDP, RenyiDP, explain
from lapwing.privacy.explanation import posterior, power
from lapwing.privacy.quotes import risk

EVERY = [
    PureDP(1),
    PureDP(0),
    ApproxDP(1, 1e-6, relation="replace", unit="household"),
    ZCDP(0.5),
    RenyiDP([2, 8, 32], [0.1, 0.4, 1.6]),
    PLD([AdditiveNoise("discrete_laplace", 2)]),
]


@pytest.mark.parametrize("loss", EVERY, ids=str)
def test_the_text_names_the_guarantee_and_the_data_is_plain_json(loss: Loss) -> None:
    explanation = loss.explain()
    assert str(explanation) == explanation.text == explain(loss).text
    assert explanation.text.startswith(str(loss))
    assert loss.unit in explanation.text
    assert "% sure" in explanation.text
    data = json.loads(json.dumps(explanation.data, allow_nan=False))
    assert data["unit"] == loss.unit
    assert 0 <= data["posterior_low"] <= data["prior"] <= data["posterior_high"] <= 1
    assert data["alpha"] <= data["power"] <= 1
    errors = [error for _, error in data["trade_off"]]
    assert errors == sorted(errors, reverse=True)
    assert all(alpha + error <= 1 + 1e-12 for alpha, error in data["trade_off"])


def test_ln_3_means_three_to_one() -> None:
    data = explain(PureDP(math.log(3)), prior=0.5, alpha=0.05).data
    assert data["odds_factor"] == pytest.approx(3)
    assert data["posterior_high"] == pytest.approx(0.75)
    assert data["posterior_low"] == pytest.approx(0.25)
    assert data["power"] == pytest.approx(0.15)
    assert data["out_of_100_before"] == 50


def test_no_epsilon_means_no_change() -> None:
    data = explain(PureDP(0), prior=0.01).data
    assert data["posterior_high"] == data["posterior_low"] == data["prior"] == 0.01
    assert data["power"] == pytest.approx(0.05)


@given(st.floats(0, 8), st.floats(0.001, 0.999))
def test_the_posterior_bound_is_attained_by_randomized_response(epsilon: float, prior: float) -> None:
    low, high = posterior(Fraction(epsilon), Fraction(prior))
    keep = 1 / (1 + math.exp(-epsilon))
    yes = prior * keep / (prior * keep + (1 - prior) * (1 - keep))
    no = prior * (1 - keep) / (prior * (1 - keep) + (1 - prior) * keep)
    assert float(high) == pytest.approx(yes, rel=1e-12)
    assert float(low) == pytest.approx(no, rel=1e-9)


@given(st.floats(0, 6), st.floats(0, 0.2), st.floats(0.001, 0.999))
def test_the_power_bound_is_attained_by_the_best_test_of_the_worst_mechanism(e: float, d: float, a: float) -> None:
    """Outcomes sorted by likelihood ratio: revealed, answer against, answer for, revealed the other way."""
    keep = 1 / (1 + math.exp(-e))
    outcomes = [(0.0, d), ((1 - d) * (1 - keep), (1 - d) * keep), ((1 - d) * keep, (1 - d) * (1 - keep)), (d, 0.0)]
    budget, found = a, 0.0
    for false_alarm, detection in outcomes:
        share = 1.0 if false_alarm <= budget else budget / false_alarm
        budget, found = max(0.0, budget - share * false_alarm), found + share * detection
    assert float(power(Fraction(e), Fraction(d), Fraction(a))) == pytest.approx(found, rel=1e-9)


def test_the_power_of_a_concentrated_loss_uses_its_whole_curve() -> None:
    gaussian = 0.5 * math.erfc((1.6448536269514722 - 1) / math.sqrt(2))  # one-sided test, shift of one sigma
    data = explain(ZCDP(0.5)).data
    assert gaussian <= data["power"] <= 0.4


@pytest.mark.parametrize("own", [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 2), Fraction(99, 100)])
def test_a_concentrated_loss_with_a_delta_of_its_own_is_explained(own: Fraction) -> None:
    data = explain(ZCDP(0.5, own)).data
    assert own < data["delta"] < 1
    assert math.isfinite(data["epsilon"])


def test_enormous_epsilons_are_explained_without_overflow() -> None:
    explanation = explain(PureDP(10**6))
    assert explanation.data["odds_factor"] is None
    assert "any number of times" in explanation.text
    json.dumps(explanation.data, allow_nan=False)


def test_a_delta_too_large_for_the_declared_population_is_refused() -> None:
    assert explain(ZCDP(0.5), delta=1e-6, population=1000).data["delta"] == 1e-6
    for loss in (ZCDP(0.5), ApproxDP(1, 1e-3)):
        with pytest.raises(InvalidParameter, match="publishing one of them"):
            explain(loss, delta=1e-3, population=1000)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (PureDP(1), "for whether a given person is in the data has a power of at most 14 %."),
        (
            PureDP(1, unit="visitor in any 7 consecutive days"),
            "for whether a given visitor is in the data of these days has a power of at most 14 %.",
        ),
        (PureDP(1, relation="replace"), "of what a given person's record says has a power of at most 14 %."),
        (
            PureDP(1, relation="replace", unit="visitor in any 7 consecutive days"),
            "of what a given visitor's record of these days says has a power of at most 14 %.",
        ),
        (PureDP(20), "for whether a given person is in the data may have a power of more than 99 %."),
    ],
)
def test_the_power_of_a_test_cannot_be_read_as_the_time_that_somebody_is_in_the_data(loss: Loss, said: str) -> None:
    assert loss.explain().text.splitlines()[3] == f"Test: with 5 % false alarms, the best test {said}"


@together("bad", [{"prior": 0}, {"prior": 1.2}, {"alpha": 0}, {"alpha": "5 %"}, {"population": 0}])
def test_questions_that_make_no_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(InvalidParameter):
        explain(PureDP(1), **bad)  # type: ignore[arg-type]


def test_losses_need_no_numerical_packages() -> None:
    script = """
import sys
for name in ("numpy", "scipy", "mpmath", "cryptography", "dp_accounting"):
    sys.modules[name] = None
from lapwing.privacy import ApproxDP, PureDP, ZCDP, compose, parallel
assert (PureDP(1) + ZCDP(0.5)).epsilon_at(1e-6) > 1
assert PureDP(1).to_renyi().for_group(2).epsilon_at(1e-6) > 1
assert PureDP(1).subsampled(0.1).epsilon_at(1e-6) < 1
assert parallel(PureDP(1), ApproxDP(2, 1e-6), disjoint_by="person").explain().text
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("loss", [PureDP(5), PureDP(20), PureDP(10_000), ZCDP(0.5), ZCDP(3), ApproxDP(12, 1e-6)])
def test_no_sentence_bounds_a_belief_by_100_percent(loss: Loss) -> None:
    said = [loss.explain().text, risk(loss), loss.explain(prior=0.999).text, loss.explain(alpha=0.5).text]
    assert loss.explain().data["out_of_100_after"] == 100
    for text in said:
        assert "100 %" not in text
        assert re.search(r"more than 99(\.9)? % sure", text)


@given(st.floats(0.01, 30), st.floats(1e-6, 1 - 1e-6), st.floats(1e-6, 1 - 1e-6))
def test_sentences_never_state_less_than_the_bounds(epsilon: float, prior: float, alpha: float) -> None:
    explained = PureDP(epsilon).explain(prior=prior, alpha=alpha)
    [sure] = re.findall(r"can become (at most|more than) ([0-9.]+) % sure", explained.text)
    [found] = re.findall(r"a power of (at most|more than) ([0-9]+) %", explained.text)
    for (word, percent), bound in ((sure, explained.data["posterior_high"]), (found, explained.data["power"])):
        assert (100 * bound <= float(percent)) == (word == "at most")
    for low in re.findall(r"stays at least (\S+) % sure", explained.text) or ["0"]:
        assert float(low) <= 100 * explained.data["posterior_low"] * (1 + 1e-11)


@given(st.floats(0, 12), st.floats(1e-6, 1 - 1e-6))
def test_both_limits_also_hold_for_the_prior_as_it_is_written(epsilon: float, prior: float) -> None:
    text = PureDP(epsilon).explain(prior=prior).text
    [(before, word, most)] = re.findall(r"was (\S+) % sure .* can become (at most|more than) (\S+) % sure", text)
    low, high = posterior(Fraction(epsilon), Fraction(before) / 100)
    assert word == "more than" or 100 * high <= Fraction(most) * (1 + Fraction(1, 10**11))
    for least in re.findall(r"stays at least (\S+) % sure", text) or ["0"]:
        assert Fraction(least) <= 100 * low * (1 + Fraction(1, 10**11))


def test_a_belief_has_one_pair_of_limits() -> None:
    """73.2 % was printed beside "at most 74 %"."""
    for said, epsilon, prior in (
        (
            "sure that a given person is in the data can become at most 74 % sure, and stays at least 26 % sure.",
            1,
            0.5,
        ),
        ("was 0.1 % sure that a given person is in the data can become at most 0.272 % sure, and stays", 1, 0.001),
        (
            "99.9 % sure that a given person is in the data can become more than 99.9 % sure, and stays at least 99.7",
            1,
            0.999,
        ),
        ("50 % sure that a given person is in the data can become more than 99 % sure, or less than 1 % sure.", 9, 0.5),
    ):
        assert said in PureDP(epsilon).explain(prior=prior).text


def test_a_small_prior_is_not_called_0_percent() -> None:
    assert "an attacker who was 0.1 % sure" in PureDP(1).explain(prior=0.001).text
