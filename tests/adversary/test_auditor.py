"""The auditor itself: sound on honest mechanisms, able to see every way an output can differ, clear in what it says."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_seldom

from lapwing import noise
from lapwing.adversary import Pair, audit
from lapwing.errors import InvalidCall, InvalidParameter, UnsupportedConversion
from lapwing.mechanisms import Gaussian, Laplace
from lapwing.privacy import ApproxDP, PureDP

SURE = 1 - FALSE_ALARM


def test_the_bound_lies_below_the_truth_and_not_far() -> None:
    for epsilon in (0.5, 1, 2):
        found = audit(Laplace(epsilon=epsilon, sensitivity=1), (0, 1), samples=100_000, confidence=SURE)
        assert 0.7 * epsilon < found.epsilon_lower_bound <= epsilon
        assert found.verdict == "not caught"


def test_an_honest_mechanism_is_caught_no_more_often_than_confidence_permits() -> None:
    runs, risk = 150, 0.2
    honest = Laplace(epsilon=0.5, sensitivity=1)
    alarms = sum(audit(honest, (0, 1), samples=60, confidence=1 - risk).caught for _ in range(runs))
    assert_seldom(alarms, runs, risk)


def test_outputs_that_fit_a_rich_family_of_events_by_chance_prove_nothing() -> None:
    found = audit(lambda data, entropy: entropy.bits(64), (0, 1), samples=2000, claimed=0, confidence=SURE)
    assert not found.caught
    found = audit(
        lambda data, entropy: [entropy.bits(8) for _ in range(20)], (0, 1), samples=800, claimed=0, confidence=SURE
    )
    assert not found.caught


def warn(text: str) -> int:
    warnings.warn(text, stacklevel=2)
    return 0


TELLTALES: dict[str, Callable[[int], Any]] = {
    "a value": lambda data: data,
    "a word": lambda data: ("no", "yes")[data],
    "the type": lambda data: (1, 1.0)[data],
    "the dtype": lambda data: np.zeros(2, dtype=(np.int64, np.int32)[data]),
    "the shape": lambda data: np.zeros((2, 3) if data else (3, 2)),
    "the length": lambda data: [0] * (3 + data),
    "NaN": lambda data: math.nan if data else 0.0,
    "an infinity": lambda data: math.inf if data else 0.0,
    "a negative zero": lambda data: -0.0 if data else 0.0,
    "None": lambda data: None if data else 0,
    "the keys of a mapping": lambda data: {"a": 1} if data else {"b": 1},
    "the order of keys": lambda data: {"a": 1, "b": 1} if data else {"b": 1, "a": 1},
    "the members of a set": lambda data: {1, 2} if data else {1, 3},
    "a nested value": lambda data: [(1, 2), (3, 4 + data)],
    "an exact fraction": lambda data: Fraction(1, 3 + data),
    "a decimal": lambda data: Decimal(f"0.{data}1"),
    "bytes": lambda data: bytes([data]),
    "an integer beyond any float": lambda data: 10**400 + data,
    "an exception": lambda data: 1 // data,
    "the text of an exception": lambda data: int(f"x{data}"),
    "a warning": lambda data: warn("odd data") if data else 0,
    "the text of a warning": lambda data: warn(f"{data} is odd"),
    "an object's fields": lambda data: Pair(data, 0),
}


@pytest.mark.parametrize("release", TELLTALES.values(), ids=TELLTALES)
def test_what_differs_is_seen(release: Callable[[int], Any]) -> None:
    found = audit(release, (0, 1), samples=400, claimed=1)
    assert found.caught
    assert found.epsilon_lower_bound == pytest.approx(found.ceiling)
    assert found.hits in ((200, 0), (0, 200))


def test_the_value_is_seen_beside_a_warning_that_always_comes() -> None:
    assert audit(lambda data: data + warn("always"), (0, 1), samples=400, claimed=1).caught


def test_the_lowest_bits_of_floats_are_read() -> None:
    rng = np.random.default_rng(7)
    found = audit(lambda data: data + rng.laplace(), (0.0, 1.0), claimed=1)
    assert "lowest bit" in str(found.event)
    assert found.caught
    found = audit(lambda data: data + rng.normal(scale=4), (0.0, 1.0), claimed=1, delta=1e-5)
    assert found.caught


def test_independent_coordinates_are_added_up() -> None:
    vector = Laplace(epsilon=10, sensitivity=10, dimensions=10, on_grid=True)
    found = audit(vector, ([0] * 10, [1] * 10), samples=4000, claimed=1.2)
    assert found.caught, "one coordinate alone shows no more than 1"


def test_noise_shared_between_coordinates_is_subtracted() -> None:
    def shared(data: tuple[int, ...], entropy: noise.Entropy) -> list[int]:
        wobble = noise.discrete_laplace(10**6, entropy=entropy)
        return [value + wobble for value in data]

    assert audit(shared, ((1, 5), (1, 6)), samples=1000, claimed=1).caught


def test_noise_of_another_width_is_seen_in_both_tails() -> None:
    def wider(scale: int, entropy: noise.Entropy) -> int:
        return noise.discrete_laplace(scale, entropy=entropy)

    found = audit(wider, (50, 100), claimed=0.5, entropy=noise.Reproducible(1))
    assert found.caught
    assert "distance" in str(found.event)


def test_delta_forgives_what_happens_more_rarely() -> None:
    def leak(data: int, entropy: noise.Entropy) -> int | None:
        return data if noise.bernoulli(Fraction(1, 20), entropy=entropy) else None

    assert audit(leak, (0, 1), claimed=1).caught
    assert audit(leak, (0, 1), claimed=1, delta=0.02).caught
    forgiven = audit(leak, (0, 1), claimed=1, delta=0.05, confidence=SURE)
    assert not forgiven.caught
    assert forgiven.claimed == 1


def test_a_claim_is_read_at_its_own_delta_or_at_the_one_asked_for() -> None:
    mechanism = Gaussian(sigma=2, sensitivity=1)
    assert audit(mechanism, (0, 1), samples=100).delta == 1e-6
    found = audit(mechanism, (0, 1), samples=100, delta=0.01)
    assert found.claimed == mechanism.privacy_loss().epsilon_at(0.01)
    assert audit(mechanism, (0, 1), samples=100, claimed=ApproxDP(1, Fraction(1, 3))).claimed == 1
    assert audit(mechanism, (0, 1), samples=100, claimed=ApproxDP(1, 0.1), delta=0.01).claimed == math.inf


def test_a_claim_for_add_remove_is_doubled_for_a_pair_under_replace() -> None:
    mechanism = Laplace(epsilon=1, sensitivity=1)
    found = audit(mechanism, Pair(0, 2, "replace"), confidence=SURE)
    assert found.claimed == 2
    assert 1 < found.epsilon_lower_bound <= 2
    assert audit(mechanism, (0, 2), relation="replace", samples=100).claimed == 2
    assert audit(Laplace(epsilon=1, sensitivity=1, relation="replace"), (0, 1), samples=100).pair.relation == "replace"


def test_a_claim_for_replace_says_nothing_about_adding_and_removing() -> None:
    with pytest.raises(UnsupportedConversion):
        audit(lambda data: data, Pair(0, 1, "add_remove"), claimed=PureDP(1, relation="replace"))


def test_a_function_may_take_entropy_or_not() -> None:
    release = Laplace(epsilon=1, sensitivity=1).release
    runs = [audit(release, (0, 1), samples=500, entropy=noise.Reproducible(3)) for _ in range(2)]
    assert runs[0].hits == runs[1].hits
    assert runs[0].verdict == "no claim"
    counter = itertools.count()
    assert audit(lambda data: next(counter) % 2, (0, 1), samples=400, claimed=0.1).verdict == "not caught"
    assert audit(abs, (-1, 2), samples=400, claimed=1).caught


def test_the_event_found_can_be_asked_about_any_output() -> None:
    found = audit(Laplace(epsilon=2, sensitivity=5), (0, 5), samples=4000)
    extreme = 100 if found.direction == "second" else -100
    assert found.event.contains(extreme)
    assert found.event.contains(np.int64(extreme))
    assert not found.event.contains(-extreme)


def test_the_finding_is_explained_with_what_it_does_not_prove() -> None:
    caught = audit(lambda data: data, (0, 1), samples=1000, claimed=1).explain()
    assert "500 of 500" in caught
    assert "is false" in caught
    passed = audit(Laplace(epsilon=8, sensitivity=1), (0, 1), samples=1000)
    assert "no audit can show more than 4.1 (always less than ln of their number)" in passed.explain()
    assert "passing at epsilon = 8 proves little" in passed.explain()
    assert passed.ceiling < 8
    assert "at delta = 0.01" in audit(Gaussian(sigma=1, sensitivity=1), (0, 1), samples=400, delta=0.01).explain()


def test_a_finding_is_printed_as_a_verdict_and_never_with_the_data() -> None:
    ages = [*range(1000, 1400)]
    caught = audit(sum, (ages, ages[:-1]), samples=1000, claimed=1, confidence=0.999999)
    assert repr(caught) == f"<Audit: caught, ε is at least {caught.epsilon_lower_bound - 0.005:.2f}: print it>"
    said = str(caught)
    assert said.startswith(f"Caught: claimed ε = 1, but {repr(caught)[16:-11]} (confidence 99.9999 %). The event: ")
    assert "It happened in 500 of 500 runs with the first data set, and in 0 of 500 with the second." in said or (
        "It happened in 0 of 500 runs with the first data set, and in 500 of 500 with the second." in said
    )
    assert len(said) < 300
    assert len(str(caught.pair)) < 900
    passed = audit(Laplace(epsilon=8, sensitivity=1), (0, 1), samples=1000)
    assert str(passed).startswith("Not caught: claimed ε = 8, and this audit shows that ε is at least ")
    assert str(passed).endswith("That is not a proof. With this many runs, no audit can show more than ε = 4.1.")
    assert "at δ = 0.01, and" in str(audit(Gaussian(sigma=1, sensitivity=1), (0, 1), samples=400, delta=0.01))
    assert "claimed ε = ∞" in str(audit(Gaussian(sigma=1, sensitivity=1), (0, 1), samples=400, delta=0))
    assert str(audit(sum, ([1], [2]), samples=400)).startswith("No claim to compare with: ε is at least ")
    nothing = audit(lambda data: 0, (0, 1), samples=400, claimed=1)
    assert str(nothing).endswith("ε is at least 0 (confidence 99.9 %). That is not a proof.")


def test_a_bound_is_printed_with_the_digits_that_tell_it_from_the_claim() -> None:
    caught = audit(lambda data: data, (0, 1), samples=1000, claimed=1)
    close = replace(caught, epsilon_lower_bound=1.00047)
    assert "claimed ε = 1, but ε is at least 1.0004 (" in str(close)
    assert "ε is at least 0.999 (" in str(replace(caught, epsilon_lower_bound=0.99999))


def test_without_a_claim_nothing_can_be_caught_and_it_says_so() -> None:
    found = audit(lambda data: data, (0, 1), samples=400)
    assert found.verdict == "no claim"
    with pytest.raises(InvalidParameter, match="claimed=1"):
        _ = found.caught


def test_a_function_that_only_fails_is_not_taken_for_a_private_one() -> None:
    with pytest.raises(InvalidParameter, match="every release raises TypeError"):
        audit(lambda: 3, (0, 1), samples=400, claimed=1)
    with pytest.raises(InvalidParameter, match="Pass an instance"):
        audit(Laplace, (0, 1))
    with pytest.raises(InvalidCall, match=r"audit\(lw.Laplace"):
        audit(abs, 0, 1)


def test_progress_is_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(lambda data: data, (0, 1), samples=1000, claimed=1, progress=True).caught
    assert "auditing" in capsys.readouterr().out


@together(
    ("options", "name"),
    [
        ({"samples": 3}, "samples"),
        ({"confidence": 1}, "confidence"),
        ({"delta": -1}, "delta"),
        ({"relation": "near"}, "relation"),
        ({"claimed": -1}, "epsilon"),
        ({"pair": [0, 1]}, "pair"),
        ({"mechanism": 5}, "mechanism"),
    ],
)
def test_what_cannot_be_audited_is_said(options: dict[str, Any], name: str) -> None:
    options = {"mechanism": abs, "pair": (0, 1), "samples": 100, **options}
    with pytest.raises(InvalidParameter, match=name):
        audit(options.pop("mechanism"), options.pop("pair"), **options)


def test_too_few_samples_are_called_too_few_and_no_bound_is_negative() -> None:
    finding = audit(Laplace(epsilon=1, sensitivity=1), (0, 1), samples=8)
    assert finding.ceiling == 0
    assert str(finding).endswith("That is not a proof. There were too few runs to show anything.")
    assert finding.explain().endswith("There were too few samples to show anything.")


def test_what_an_audit_can_show_depends_on_its_confidence() -> None:
    most = [audit(len, ([], [1]), samples=20_000, confidence=sure).ceiling for sure in (0.95, 0.999, 0.999999)]
    assert [round(one, 1) for one in most] == [7.7, 7.1, 6.5]
