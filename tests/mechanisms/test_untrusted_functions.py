"""Functions that users bring along: what they say is read so that the promise they were asked for is enough."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import assert_seldom

from lapwing.mechanisms import ProposeTestRelease, SampleAndAggregate


def proposed(**more: Any) -> ProposeTestRelease:
    return ProposeTestRelease(**{"epsilon": 8, "delta": 1e-3, "bound": 1, "function": len, "distance": len, **more})


@together("distance", [0.5, 0.999, Fraction(999, 1000), np.float64(0.75), -0.4])
def test_a_distance_below_one_is_no_distance(distance: Any) -> None:
    """Unstable data pass with probability δ at most; rounded up to 1 they would pass e^4 times as often."""
    mechanism = proposed(distance=lambda data: distance)
    assert mechanism._look([])[0] == 0
    passed = sum(mechanism.release([]) is not None for _ in range(4000))
    assert_seldom(passed, 4000, float(mechanism.privacy_loss().delta))


def test_distances_at_most_one_apart_stay_at_most_one_apart() -> None:
    read = [proposed(distance=lambda data, k=k: Fraction(k, 8))._look([])[0] for k in range(-20, 60)]
    assert read == sorted(read)
    assert max(after - before for before, after in zip(read, read[8:], strict=False)) == 1
    assert read[20 + 8] == 1
    assert read[20 + 7] == 0


class Leave(BaseException):
    """Not an `Exception`, as those that end a task or a generator are not."""


@pytest.mark.parametrize("kind", [Leave, GeneratorExit, SystemExit, MemoryError])
def test_no_kind_of_exception_gets_out(kind: type[BaseException]) -> None:
    def leave(data: object) -> object:
        raise kind

    assert proposed(function=leave, distance=leave)._look([]) == (0, 0)
    mechanism = SampleAndAggregate(epsilon=1, function=leave, bounds=(0, 100), blocks=3)
    assert [mechanism._output(block) for block in ([], [1])] == [50, 50]


def test_the_user_may_interrupt() -> None:
    def interrupt(data: object) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SampleAndAggregate(epsilon=1, function=interrupt, bounds=(0, 100), blocks=3).release([1])
    with pytest.raises(KeyboardInterrupt):
        proposed(function=interrupt).release([1])


@pytest.mark.parametrize("granularity", [Fraction(10**390), Fraction(10**390, 7)])
def test_answers_beyond_the_range_of_floats_raise_nothing(granularity: Fraction) -> None:
    for value in (0, 10**400, -(10**400)):
        mechanism = SampleAndAggregate(
            epsilon=1,
            function=lambda block, value=value: value,
            bounds=(-(10**400), 10**400),
            blocks=3,
            granularity=granularity,
        )
        kinds = {type(mechanism.release([1, 2, 3])) for _ in range(20)}
        assert len(kinds) == 1
        assert mechanism.variance == math.inf
