"""The two handles in the browser solve each other as the curator's quote does."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from browser import answers_of, close

import lapwing as lw
from lapwing.web.lab.analyses import ANALYSES
from lapwing.web.lab.analyses.curated import blank
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.bundled import EXAMPLES
from lapwing.web.lab.result import EPSILONS, Value

CLINIC = EXAMPLES["clinic"].statement
ODD = (0.0123, 0.0777, 0.321, 0.95, 1.234, 5.55)
"""Epsilons between the places of the slider."""


def mean() -> Analysis:
    return ANALYSES["mean"].of(CLINIC, {"column": "age"})


def errors() -> list[float | None]:
    return list(mean().preview(CLINIC).bands[0].errors)


def quoted(epsilon: float) -> float:
    """What the library itself says about the same question."""
    query = blank(CLINIC).agg(lw.mean("age", name="mean of age"))
    found = query.quote(epsilon=epsilon, count=CLINIC.people).expected[0].error
    assert found is not None
    return float(found)


def test_at_every_place_of_the_slider_the_error_is_the_quote_itself() -> None:
    told = errors()
    found = answers_of([("lab", "errorAt", [EPSILONS, told, epsilon], None) for epsilon in EPSILONS])
    assert found == told
    for place in range(0, len(EPSILONS), 6):
        assert close(found[place], quoted(EPSILONS[place]))


def test_between_two_places_the_error_is_nearly_the_quote() -> None:  # whose noise comes in whole steps
    told = errors()
    found = answers_of([("lab", "errorAt", [EPSILONS, told, epsilon], None) for epsilon in ODD])
    assert found == [pytest.approx(quoted(epsilon), rel=0.05) for epsilon in ODD]


def test_the_epsilon_for_an_accuracy_is_nearly_the_one_that_the_library_solves() -> None:
    told = errors()
    wanted = [quoted(epsilon) for epsilon in ODD]
    found = answers_of([("lab", "epsilonFor", [EPSILONS, told, error], None) for error in wanted])
    assert found == [pytest.approx(epsilon, rel=0.05) for epsilon in ODD]


def test_each_handle_takes_back_what_the_other_did() -> None:
    told = errors()
    there = answers_of([("lab", "errorAt", [EPSILONS, told, epsilon], None) for epsilon in ODD])
    back = answers_of([("lab", "epsilonFor", [EPSILONS, told, error], None) for error in there])
    assert back == [pytest.approx(epsilon, rel=1e-9) for epsilon in ODD]


def test_an_error_has_the_same_digits_on_the_page_as_in_its_label_and_files() -> None:
    rng = random.Random(11)
    errors = [
        0.0,
        0.05,
        0.0995,
        0.1,
        0.1234,
        0.96,
        0.999,
        1.0,
        1.04,
        2.5,
        9.95,
        9.99,
        10.0,
        10.04,
        70.1,
        999.5,
        12345.6,
    ]
    errors += [10 ** rng.uniform(-4, 5) for _ in range(200)]
    middles = [0.0, 7.0, -3.0, 4201.7, 48.829345, -0.123456, 1234567.891]
    values = [Value("", middle, middle - e, middle + e) for e in errors for middle in middles]
    calls = [("lab", "offBy", [value.error, 2, value.value], None) for value in values]
    assert answers_of(calls) == [value.off_by for value in values]


def test_labels_beside_the_ends_of_lines_keep_their_order_and_never_touch() -> None:
    cases = [[10, 100, 200], [100, 104, 109], [100, 104, 130], [50, 50, 50, 52], []]
    for heights, found in zip(
        cases, answers_of([("lab", "spread", [heights, 15], None) for heights in cases]), strict=True
    ):
        assert len(found) == len(heights)
        assert all(b - a >= 15 - 1e-9 for a, b in pairwise(found))
        assert sum(found) == pytest.approx(sum(heights))
        if heights and min(b - a for a, b in pairwise(heights)) >= 15:
            assert found == heights


def test_how_people_change_an_error_is_told_from_all_lines() -> None:
    """ "With more people, the error is smaller" was said of 252 for 400 people, 300 for 4,000 and 294 for 40,000."""
    few, some, many = (
        {"people": 400 * 10**i, "points": [[0.01, error], [1, 9 - i]]} for i, error in enumerate((252, 300, 294))
    )
    mixed = "smaller at some ε and larger at others"
    sizes = [{**one, "points": one["points"][1:]} for one in (few, some, many)]
    cases = [([few, some, many], mixed), ([many, few, some], mixed), ([some, many], "smaller"), (sizes, "smaller")]
    found = answers_of([("lab", "compared", [lines], None) for lines, _ in cases])
    assert found == [said for _, said in cases]
