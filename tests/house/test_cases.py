"""Tests of many lines: all are tried, and all that fail are told at once."""

from __future__ import annotations

import pytest

MODULE = """
import pytest
from cases import together

TRIED = []

@pytest.fixture
def ten():
    return 10

@together("number", [1, 2, 3, 4])
@together(("low", "high"), [(0, 3), (2, 5)])
@pytest.mark.parametrize("name", ["a", "b"])
def test_numbers_lie_between(number, low, high, ten, name):
    TRIED.append(number)
    if number == 4 and name == "b":
        pytest.fail("four")
    assert low < number < ten * high or name == "a", "outside"

def test_all_were_tried():
    assert len(TRIED) == 16
"""


def test_all_cases_are_tried_and_each_that_fails_is_told(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MODULE)
    done = pytester.runpytest("-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, failed=1)
    text = done.stdout.str()
    assert "4 of 8 cases fail" in text
    for case in ("number=1, low=2, high=5", "number=2, low=2, high=5", "number=4, low=0, high=3"):
        assert case in text
    assert "line 17: outside" in text
    assert "line 16: Failed: four" in text


def test_no_cases_are_no_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("from cases import together\n@together('x', [])\ndef test_x(x): pass")
    pytester.runpytest("-p", "no:cacheprovider").assert_outcomes(errors=1)
