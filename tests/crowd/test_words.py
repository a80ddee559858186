"""What people read: tables, short forms, and errors that say what to write."""

from __future__ import annotations

import math
import re
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together

from lapwing.crowd import (
    BinaryResponse,
    CategoryResponse,
    CountMeanSketch,
    Counts,
    Estimates,
    HadamardCountMeanSketch,
    HadamardResponse,
    Hybrid,
    LocalHashing,
    MeanEstimate,
    Monitoring,
    Piecewise,
    PrefixExtension,
    Rappor,
    Reports,
    Shuffled,
    SquareWave,
    StochasticRounding,
    TreeHist,
    UnaryEncoding,
    gain,
    simulate,
    suspicious,
)
from lapwing.crowd.fakes import maximal_gain
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.noise import Reproducible

POLL: Any = UnaryEncoding.from_epsilon(epsilon=2, domain=["bus", "bike", "car"])
UNARY: Any = UnaryEncoding
PIECEWISE: Any = Piecewise
GAIN: Any = gain
SKETCH: Any = CountMeanSketch(epsilon=4, functions=16, width=16)
REPORTS = POLL.randomize(["bus"] * 300 + ["bike"] * 200, Reproducible(1))
COUNTS: Any = POLL.absorb(None, REPORTS)


def test_one_of_a_thing_is_not_written_as_several() -> None:
    one = BinaryResponse.from_coins(0.5, 0.5)
    assert repr(one.randomize([True])) == "<1 report of BinaryResponse, 1 bit each>"
    assert repr(one.absorb(None, one.randomize([True]))) == "<counts of 1 report of BinaryResponse, 1 number>"
    assert repr(simulate(one, [True])).startswith("<1 report of BinaryResponse, 1 bit each, ")
    assert repr(COUNTS) == "<counts of 500 reports of UnaryEncoding, 3 numbers>"


def test_estimates_are_short_in_a_prompt_and_a_table_in_print() -> None:
    estimates = POLL.estimate(COUNTS)
    assert repr(estimates) == "<Estimates of 3 answers from 500 reports: print it>"
    last = str(estimates).splitlines()[-2:]
    assert last == [
        "95 % intervals: for a larger population of which these 500 respondents are a random sample (as counts out of "
        "500).",
        'For these respondents themselves: estimates.interval("respondents"), which is narrower.',
    ]


def test_the_older_name_of_the_respondents_keeps_working_without_a_warning() -> None:
    estimates, number = POLL.estimate(COUNTS), StochasticRounding.from_epsilon(2, bounds=(0, 10))
    mean = number.estimate(number.absorb(None, number.randomize([4.0] * 500, Reproducible(5))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(estimates.interval("population"), estimates.interval("respondents"))
        assert mean.interval("population") == mean.interval("respondents")
    with pytest.raises(InvalidParameter, match="Write one of: respondents, sample"):
        estimates.interval("people")


def test_a_mean_says_what_it_is_and_for_whom_to_the_digits_that_are_known() -> None:
    said = str(MeanEstimate(40.3953, 32_561, 0.5, 0.53712, 123.4))
    assert said == (
        "mean 40.4 (95 % interval 39.3 to 41.5 for a larger population; 32,561 reports); "
        "one fake report can move the mean by 0.0038"
    )
    assert "mean −40,400 (95 % interval −41,500 to −39,300 for" in str(MeanEstimate(-40395.3, 9, 1.0, 537.12, 1.0))
    assert "mean 0.0 (95 % interval −2.0 to 2.0" in str(MeanEstimate(-0.001, 9, 1.0, 1.0, 1.0))
    assert str(MeanEstimate(5.0, 0, math.inf, math.inf, 1.0)) == "no mean: 0 reports"


def test_negative_numbers_are_written_with_a_minus_sign_and_names_stay_as_they_are() -> None:
    numbers = np.array([-98.0, -0.2])
    first, second = str(Estimates(["a-b", "c"], 1000, numbers, 10 + numbers * 0, 50 + numbers * 0, 1.0)).splitlines()[
        1:3
    ]
    assert first.split() == ["a-b", "−98", "−9.80", "%", "−196", "to", "0"]
    assert second.split()[1:3] == ["0", "−0.02"]


def test_a_shuffled_batch_is_explained_for_the_unit_of_the_protocol() -> None:
    poll = UnaryEncoding.from_epsilon(1, symmetric=True, domain=2, unit="household")
    assert "If this household gave another answer" in Shuffled(poll, n=100_000, delta=1e-6).explain()


def test_emoji_stay_in_their_columns() -> None:
    numbers = np.array([1.0, 2.0])
    head, bird, plain, *_ = str(Estimates(["🐦", "plain"], 3, numbers, numbers, numbers, 1.0)).splitlines()
    assert head.index("people") == plain.index(" 2 ") - 4
    assert len(bird) - len(plain) == len("−1 to 3") - len("−2 to 6") - 1  # an emoji is one character on two columns


def test_errors_put_the_truth_beside_the_estimates() -> None:
    errors = simulate(POLL, {"bus": 300, "bike": 200}, entropy=Reproducible(2)).errors()
    head, first, *_, last = str(errors).splitlines()
    assert head.split()[:3] == ["answer", "truth", "estimate"]
    assert first.split()[:2] == ["bus", "300"]
    assert last.startswith("off by ")
    assert repr(errors).endswith("people at most: print it>")


def test_what_rappor_decodes_says_what_is_significant_and_whether_it_fits() -> None:
    survey = Rappor(permanent_noise=0.5, one_if_unset=0.5, one_if_set=0.75)
    run = simulate(survey, {"a": 15_000, "b": 5_000}, entropy=Reproducible(3))
    text = str(run.estimate(["a", "b", "c"]))
    assert "significant (bonferroni): 2 of 3: a, b" in text
    assert "the model fits (p = " in text
    assert re.search(r"not among the selected: −?[0-9.]+ % ± [0-9.]+ % \(one standard error\);", text)
    assert "does not fit: other answers matter" in str(run.estimate(["b", "c"]))


def test_suspicions_are_told_in_words() -> None:
    survey = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=100)
    honest = survey.randomize([0] * 1000, Reproducible(4))
    assert str(suspicious(honest)).endswith("but this does not prove that nobody lies")
    attacked = honest + maximal_gain(survey, [7], n=50, padded=False)
    assert str(suspicious(attacked)).endswith("suspicious: 50 reports of 1,050")


@together(
    ("mistake", "advice"),
    [
        (lambda: POLL.absorb(None, REPORTS.to_bytes()), "Reports.from_bytes(protocol, data)"),
        (lambda: POLL.absorb(None, ["bike"]), "protocol.randomize(answers)"),
        (lambda: POLL.absorb(REPORTS, REPORTS), "Write None first"),
        (lambda: POLL.absorb(COUNTS, COUNTS), "Reports.from_bytes(protocol, data)"),
        (lambda: POLL.estimate(REPORTS), "absorb(None, reports)"),
        (lambda: POLL.estimate(None), "absorb(None, reports)"),
        (lambda: POLL.estimate(COUNTS, confidence=95), "confidence=0.95"),
        (lambda: POLL.estimate(COUNTS)["train"], "'bus', 'bike', 'car'"),
        (lambda: simulate(COUNTS, POLL), "Pass a protocol first"),
        (lambda: suspicious(COUNTS), "before they are counted"),
        (lambda: Reports.from_bytes(POLL, 2 * REPORTS.to_bytes()), "one batch at a time"),
    ],
)
def test_a_mistake_is_answered_with_what_to_write(mistake: Any, advice: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        mistake()
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    "kind", [BinaryResponse, CountMeanSketch, HadamardResponse, PrefixExtension, Rappor, Shuffled, UnaryEncoding]
)
def test_the_example_of_a_call_can_be_called(kind: type[Any]) -> None:
    with pytest.raises(InvalidCall) as caught:
        kind()
    example = str(caught.value).split("Write ")[1].removesuffix(", for example.")
    assert isinstance(eval(example, {kind.__name__: kind, "poll": POLL}), kind)


@together(
    ("mistake", "advice"),
    [
        (lambda: UNARY.from_epsilon(epsilon=1), "UnaryEncoding.from_epsilon(1, domain=['yes', 'no'])"),
        (lambda: UNARY.from_epsilon(2, ["a", "b"]), "UnaryEncoding.from_epsilon(1, domain=['yes', 'no'])"),
        (lambda: UNARY.from_epsilon(eps=2, domain=["a", "b"]), "Did you mean epsilon?"),
        (lambda: PIECEWISE.from_epsilon(1), "Piecewise.from_epsilon(1, bounds=(0, 120))"),
        (lambda: POLL.estimate(COUNTS, ["bus"]), "Write estimate(counts)"),
        (lambda: POLL.absorb(REPORTS), "Write absorb(counts, reports)"),
        (lambda: GAIN(POLL.estimate(COUNTS)), "Write gain(estimates, 0.05)"),
        (lambda: SKETCH.estimate(SKETCH.empty()), "Write estimate(counts, ['red', 'green'])"),
    ],
)
def test_a_call_that_does_not_fit_is_answered_with_one_that_does(mistake: Any, advice: str) -> None:
    with pytest.raises(InvalidCall) as caught:
        mistake()
    assert advice in str(caught.value)


def test_counts_and_local_hashing_still_read_well() -> None:
    hashed = LocalHashing(epsilon=1)
    with pytest.raises(InvalidParameter, match="Write candidates="):
        hashed.estimate(hashed.empty())
    with pytest.raises(InvalidParameter, match="parameters the counts were made with"):
        Counts.from_bytes(POLL, REPORTS.to_bytes())


@pytest.mark.parametrize(
    ("made", "epsilon"),
    [
        (lambda: BinaryResponse.from_epsilon(1), 1),
        (lambda: CategoryResponse.from_epsilon(1, domain=3), 1),
        (lambda: UnaryEncoding.from_epsilon(1, domain=3), 1),
        (lambda: UnaryEncoding.from_epsilon(1, domain=3, symmetric=True), 1),
        (lambda: HadamardResponse.from_epsilon(1, domain=3), 1),
        (lambda: LocalHashing.from_epsilon(1), 1),
        (lambda: CountMeanSketch.from_epsilon(4, functions=16, width=32), 4),
        (lambda: HadamardCountMeanSketch.from_epsilon(4, functions=16, width=32), 4),
        (lambda: PrefixExtension.from_epsilon(3, alphabet="ab", length=4), 3),
        (lambda: TreeHist.from_epsilon(3, alphabet="ab", length=4), 3),
        (lambda: StochasticRounding.from_epsilon(1, bounds=(0, 1)), 1),
        (lambda: Piecewise.from_epsilon(1, bounds=(0, 1)), 1),
        (lambda: SquareWave.from_epsilon(1, bounds=(0, 1)), 1),
        (lambda: Hybrid.from_epsilon(1, bounds=(0, 1)), 1),
        (lambda: Hybrid.from_epsilon(Fraction(1, 2), bounds=(0, 1)), Fraction(1, 2)),
        (lambda: Monitoring.from_epsilon(2, steps=8, changes=2), 2),
    ],
)
def test_every_protocol_is_made_from_an_epsilon_in_the_same_way(made: Any, epsilon: Fraction) -> None:
    assert 0.99 * epsilon < made().privacy_loss().epsilon <= epsilon


@pytest.mark.parametrize(("name", "instead"), [("optimized", "from_epsilon"), ("symmetric", "symmetric=True")])
def test_earlier_ways_to_make_a_protocol_work_and_say_the_new_one(name: str, instead: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"Write UnaryEncoding.*{instead}") as told:
        made = getattr(UnaryEncoding, name)(2, domain=3)
    assert made == UnaryEncoding.from_epsilon(2, domain=3, symmetric=name == "symmetric")
    assert told[0].filename == __file__
