"""The two handles in the browser solve each other as the curator's quote does."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from browser import Call, answers_of, close

import lapwing as lw
from lapwing.web.lab.analyses import ANALYSES
from lapwing.web.lab.analyses.curated import blank
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.bundled import EXAMPLES
from lapwing.web.lab.result import EPSILONS

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


def counts() -> Iterator[Call]:
    """Errors of counts are whole numbers, stay the same for a while, and end at nothing."""
    steps = [3.0, 2.0, 2.0, 1.0, 0.0]
    places = [0.1, 0.2, 0.4, 0.8, 1.6]
    yield "lab", "errorAt", [places, steps, 0.4], 2.0
    yield "lab", "errorAt", [places, steps, 0.3], 2.0
    yield "lab", "errorAt", [places, steps, 1.0], 1.0  # nothing has no logarithm: the larger error is safe
    yield "lab", "errorAt", [places, steps, 1.6], 0.0
    yield "lab", "errorAt", [places, steps, 0.05], None
    yield "lab", "errorAt", [places, steps, 3.2], None
    yield "lab", "epsilonFor", [places, steps, 2.0], 0.2
    yield "lab", "epsilonFor", [places, steps, 5.0], 0.1
    yield "lab", "epsilonFor", [places, steps, 0.5], 1.6
    yield "lab", "epsilonFor", [places, [3.0, 2.0, 2.0, 1.0, 1.0], 0.5], None
    yield "lab", "epsilonFor", [places, [None] * 5, 0.5], None
    yield "lab", "errorAt", [places, [None, 2.0, 1.0, None, None], 0.1], None
    yield "lab", "range", [places, steps], [3.0, 1.0]
    yield "lab", "range", [places, [None] * 5], None


def meters() -> Iterator[Call]:
    yield "lab", "meter", [2, 0.5, 0.5], {"spent": 0.25, "asked": 0.25, "left": 0.5, "over": 0}
    yield "lab", "meter", [1, 1, 0], {"spent": 1, "asked": 0, "left": 0, "over": 0}
    yield "lab", "meter", [1, 0.5, 0.75], {"spent": 0.5, "asked": 0, "left": 0.5, "over": 0.25 - 1e-9}
    for value, digits in ((0.12341, 3), (0.0099999, 2), (123456.0, 2), (0.5, 3)):
        unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
        yield "lab", "up", [value, digits], math.ceil(value / unit - 1e-9) * unit
        yield "lab", "down", [value, digits], math.floor(value / unit + 1e-9) * unit


def draws() -> Iterator[Call]:
    yield "lab", "bins", [[1, 2, 2, 5], 2], [{"from": 1, "to": 3, "count": 3}, {"from": 3, "to": 5, "count": 1}]
    yield "lab", "bins", [[7, 7], 9], [{"from": 7, "to": 8, "count": 2}]
    yield "lab", "stacks", [[5, 2, 2]], [{"from": 2, "to": 2, "count": 2}, {"from": 5, "to": 5, "count": 1}]
    yield "lab", "within", [[1, 2, 2, 5], 2, 1], 3
    yield "lab", "accuracyAt", [0, 60, [100, 1]], 100.0
    yield "lab", "accuracyAt", [60, 60, [100, 1]], 1.0
    yield "lab", "accuracyAt", [30, 60, [100, 1]], 10.0
    yield "lab", "accuracyPlace", [10, 60, [100, 1]], 30
    yield "lab", "accuracyPlace", [1000, 60, [100, 1]], 0
    yield "lab", "accuracyPlace", [1, 60, [1, 1]], 60


def test_edges_meters_and_draws_are_as_written_here() -> None:
    calls = [*counts(), *meters(), *draws()]
    for call, found in zip(calls, answers_of(calls), strict=True):
        if isinstance(call[3], dict):
            assert {name: pytest.approx(value, abs=1e-12) for name, value in call[3].items()} == found, call
        else:
            assert close(found, call[3]), (call, found)
