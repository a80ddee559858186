"""The two handles of a question, its meter, and draws of its noise: edges as they are written here."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from browser import Call


def handles() -> Iterator[Call]:
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
    yield "lab", "accuracyAt", [0, 60, [100, 1]], 100.0
    yield "lab", "accuracyAt", [60, 60, [100, 1]], 1.0
    yield "lab", "accuracyAt", [30, 60, [100, 1]], 10.0
    yield "lab", "accuracyPlace", [10, 60, [100, 1]], 30
    yield "lab", "accuracyPlace", [1000, 60, [100, 1]], 0
    yield "lab", "accuracyPlace", [1, 60, [1, 1]], 60


def meters() -> Iterator[Call]:
    for given, shares in (
        ([2, 0.5, 0.5], {"spent": 0.25, "asked": 0.25, "left": 0.5, "over": 0}),
        ([1, 1, 0], {"spent": 1, "asked": 0, "left": 0, "over": 0}),
        ([1, 0.5, 0.75], {"spent": 0.5, "asked": 0, "left": 0.5, "over": 0.25 - 1e-9}),
    ):
        yield "lab", "meter", given, pytest.approx(shares, abs=1e-12)
    for value, digits in ((0.12341, 3), (0.0099999, 2), (123456.0, 2), (0.5, 3)):
        unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
        yield "lab", "up", [value, digits], math.ceil(value / unit - 1e-9) * unit
        yield "lab", "down", [value, digits], math.floor(value / unit + 1e-9) * unit


def errors() -> Iterator[Call]:
    """No smaller than they are, also around the value as it is written beside them."""
    for error, value, written in (
        (0.25321, 48.8107, "0.26"), (0.25321, 0, "0.26"), (20.0, 5, "20"), (20.2, 5, "21"), (1.0, 7, "1"), (0, 1, "0"),
    ):  # fmt: skip
        yield "lab", "offBy", [error, 2, value], written
    yield "lab", "offBy", [0.49842, 3], "0.499"
    yield "lab", "offBy", [1234.5, 3], "1,235"


def draws() -> Iterator[Call]:
    yield "lab", "bins", [[1, 2, 2, 5], 2], [{"from": 1, "to": 3, "count": 3}, {"from": 3, "to": 5, "count": 1}]
    yield "lab", "bins", [[7, 7], 9], [{"from": 7, "to": 8, "count": 2}]
    yield "lab", "stacks", [[5, 2, 2]], [{"from": 2, "to": 2, "count": 2}, {"from": 5, "to": 5, "count": 1}]
    yield "lab", "within", [[1, 2, 2, 5], 2, 1], 3
