"""Tests of many lines: all are tried, and all that fail are told at once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
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


def numbered(decorator: ast.expr) -> bool:
    """Whether a decorator makes a test of every number of a range or a list."""
    if not (isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.parametrize"):
        return False
    values, ids = decorator.args[1], [word.value for word in decorator.keywords if word.arg == "ids"]
    if isinstance(values, ast.Call) and ast.unparse(values.func) == "few":
        values = values.args[0]
    if any(ast.unparse(given).startswith("range(") for given in (values, *ids)):
        return True
    if ids or not isinstance(values, ast.List | ast.Tuple) or len(values.elts) < 3:
        return False
    numbers = (int, float, complex)
    return all(
        isinstance(node, ast.Constant) and isinstance(node.value, numbers) and not isinstance(node.value, bool)
        for each in values.elts
        for node in [each.operand if isinstance(each, ast.UnaryOp) else each]
    )


def test_no_test_is_counted_by_numbers() -> None:
    """A test that takes fixtures may be: those are made anew for each number."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(test, ast.FunctionDef) and any(map(numbered, test.decorator_list)) and not fixtures(test):
                found.append(f"{path.relative_to(TESTS)}: {test.name}")
    assert not found, "write @together instead of @pytest.mark.parametrize:\n" + "\n".join(found)


def test_no_test_opens_an_event_loop_where_a_browser_may_have_one() -> None:
    """It would fail only in a whole run, after a test that drives a browser in the same process."""
    call = "asyncio" + ".run("
    found = [str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py") if call in path.read_text("utf-8")]
    assert not found, "write loops.in_a_loop(…) instead: " + ", ".join(found)


def fixtures(test: ast.FunctionDef) -> set[str]:
    """What a test takes that no decorator gives it."""
    given: set[str] = set()
    for decorator in test.decorator_list:
        first = decorator.args[0] if isinstance(decorator, ast.Call) and decorator.args else None
        if isinstance(first, ast.Constant | ast.Tuple):
            names = ast.literal_eval(first)
            given |= {name.strip() for name in (names.split(",") if isinstance(names, str) else names)}
    return {argument.arg for argument in test.args.args} - given
