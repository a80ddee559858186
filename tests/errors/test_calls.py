"""Wrong calls: each error says what was wrong and what to write instead, and is one of ours."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from cases import together

import lapwing as lw
from lapwing.calls import Helpful
from lapwing.errors import InvalidCall, InvalidParameter, LapwingError


def _table() -> lw.PrivateTable:
    return lw.open({"who": np.arange(3)}, unit="who")


@together(
    ("call", "says", "instead"),
    [
        (lambda: lw.mechanisms.Mean(epsilon=1), "bounds is missing", "Mean(epsilon=1, bounds=(0, 120))"),
        (lambda: lw.mechanisms.Mean(1, (0, 120)), "only arguments with names", "Mean(epsilon=1, bounds=(0, 120))"),
        (lambda: lw.mechanisms.Mean(eps=1, bounds=(0, 1)), "there is no argument 'eps'", "Did you mean epsilon?"),
        (lambda: lw.mechanisms.Mean(epsilon=1, bound=(0, 1)), "there is no argument 'bound'", "Did you mean bounds?"),
        (lambda: lw.mechanisms.Mean(epsilon=1, lower=0), "there is no argument 'lower'", "Did you mean bounds?"),
        (
            lambda: lw.mechanisms.Quantile(epsilon=1, bounds=(0, 1), quantile=0.5),
            "no argument 'quantile'",
            "Did you mean q?",
        ),
        (lambda: lw.Gaussian(epsilon=1, sensitivity=1), "no argument 'epsilon'", "Gaussian.for_epsilon(1, 1e-6"),
        (
            lambda: lw.Laplace(scale=2),
            "no argument 'scale'",
            "sensitivity/epsilon. For a scale of 2 write Laplace(epsilon=0.5",
        ),
        (lambda: lw.Gaussian(scale=2, sensitivity=1), "no argument 'scale'", "Did you mean sigma?"),
        (lambda: lw.RandomizedResponse(epsilon=1), "no argument 'epsilon'", "RandomizedResponse.from_epsilon(1)"),
        (lambda: lw.PureDP(1, 1e-6), "at most 1", "ApproxDP(1, 1e-6)"),
        (lambda: lw.ApproxDP(1), "delta is missing", "ApproxDP(1, 1e-6)"),
        (lambda: lw.audit(abs, (0, 1), epsilon=1), "no argument 'epsilon'", "Did you mean claimed?"),
        (lambda: lw.open("visits.csv"), "unit is missing", "open('visits.csv', unit='patient_id')"),
        (lambda: lw.open(), "source and unit are missing", "open('visits.csv', unit='patient_id')"),
        (lambda: _table().agg(lw.count()).release(1), "only arguments with names", "Write release(epsilon=1)"),
        (lambda: _table().sql("SELECT 1", 1), "at most 1", "sql('SELECT COUNT(*) FROM visits', epsilon=1)"),
    ],
)
def test_a_call_that_does_not_fit_says_what_to_write(call: Callable[[], object], says: str, instead: str) -> None:
    with pytest.raises(InvalidCall) as caught:
        call()
    assert says in str(caught.value)
    assert instead in caught.value.instead
    assert isinstance(caught.value, LapwingError)
    assert isinstance(caught.value, TypeError)


@together(
    ("call", "hint"),
    [
        (lambda: lw.mechanisms.Count(epsilon="1"), "Write epsilon=1 without quotes"),
        (lambda: lw.mechanisms.Count(epsilon=None), "Write epsilon=1,"),
        (lambda: lw.mechanisms.Mean(epsilon=1, bounds=(0, None)), "Write bounds=(0, 120)"),
        (lambda: lw.mechanisms.Mean(epsilon=1, bounds=("0", "1")), "Write bounds=(0, 120)"),
        (lambda: lw.mechanisms.Count(epsilon=1).accuracy(95), "Write confidence=0.95"),
        (lambda: lw.Gaussian.for_epsilon(1, 1, sensitivity=1), "Write delta=1e-6"),
        (lambda: lw.mechanisms.Count(epsilon=1, max_rows_per_unit=2.5), "Write max_rows_per_unit=3"),
        (lambda: lw.compose([lw.PureDP(1)]), "*losses"),
        (lambda: lw.compose(lw.mechanisms.Count(epsilon=1)), "mechanism.privacy_loss()"),
        (lambda: lw.explain(1), "Write lw.PureDP(1)."),
        (lambda: lw.explain(-1), "Write lw.PureDP(1)."),
        (lambda: lw.explain(Decimal("0.5")), "Write lw.PureDP(0.5)."),
        (lambda: lw.explain("1"), "Write lw.PureDP(1)."),
        (lambda: lw.explain(10**5000), "Write lw.PureDP(1)."),
        (lambda: lw.compose(0.5), "Write lw.PureDP(0.5)."),
    ],
)
def test_a_hint_names_a_value_that_makes_sense(call: Callable[[], object], hint: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert hint in caught.value.hint


@together(
    ("name", "says"),
    [
        ("max", "Write lapwing.quantile('cost', 0.99): a maximum is the value of one person."),
        ("min", "Write lapwing.quantile('cost', 0.01): a minimum is the value of one person."),
        ("avg", "Write lapwing.mean('cost')."),
        ("stddev", "Write lapwing.std('cost')."),
        ("var", "Write lapwing.variance('cost')."),
    ],
)
def test_a_word_of_other_libraries_says_what_to_write(name: str, says: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(lw, name)
    assert str(caught.value) == f"module 'lapwing' has no attribute {name!r}. {says}"
    assert eval(says.split("Write ")[1].split(":")[0].rstrip("."), {"lapwing": lw}).output


@together(("name", "meant"), [("laplace", "Laplace"), ("Laplce", "Laplace"), ("exponental", "Exponential")])
def test_a_name_that_does_not_exist_suggests_one_that_does(name: str, meant: str) -> None:
    with pytest.raises(AttributeError, match=f"Did you mean lapwing.{meant}"):
        getattr(lw, name)


def test_no_room_changes_the_examples_of_another() -> None:
    """Each room declares what one might write for its own parameters; none may say otherwise about the same word."""
    said: dict[str, set[str]] = {}
    for place in (Path(lw.__file__).parent).glob("*/__init__.py"):
        for call in re.findall(r"add_examples\((.*?)\n\)", place.read_text(encoding="utf-8"), re.DOTALL):
            for word, example in re.findall(r"^ +(\w+)=(.*),$", call, re.MULTILINE):
                said.setdefault(word, set()).add(example)
    assert len(said) > 20
    assert [word for word, examples in said.items() if len(examples) > 1] == []


def test_a_type_error_inside_a_constructor_is_not_covered_up() -> None:
    class Careless(metaclass=Helpful):
        def __init__(self, size: int) -> None:
            self.size = size + "1"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand") as caught:
        Careless(1)
    assert not isinstance(caught.value, InvalidCall)


def test_signatures_stay_readable_for_help_and_editors() -> None:
    assert list(inspect.signature(lw.mechanisms.Count).parameters) == [
        "relation",
        "unit",
        "epsilon",
        "max_rows_per_unit",
    ]
    assert list(inspect.signature(lw.audit).parameters)[:2] == ["mechanism", "pair"]
    assert "Any" not in dir(lw)


def test_bounds_may_be_an_array() -> None:
    assert 0 <= lw.mechanisms.Mean(epsilon=1, bounds=np.array([0, 10])).release([1, 2, 3]) <= 10
