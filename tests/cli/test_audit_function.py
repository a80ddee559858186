"""What people see when they audit a function of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import together
from typer.testing import CliRunner

from lapwing.cli.commands import app

EXERCISE = """
import random

def noise(scale):
    return random.expovariate(1 / scale) - random.expovariate(1 / scale)

def wrong(data, epsilon):
    print("noise!")
    return sum(data) + noise(epsilon / 3)

def textbook(data, epsilon):
    return sum(data) + noise(1 / epsilon)

def steps(data, epsilon):
    return sum(map(bool, data)) + sum(s * int(random.expovariate(epsilon)) for s in (1, -1))

def fails(data):
    raise RuntimeError("not done yet")

def two(data, other):
    return 1

def pairs():
    yield [0.0], [0.0, 1.0]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "exercise_of_a_learner.py").write_text(EXERCISE, encoding="utf-8")
    (tmp_path / "unfinished.py").write_text("def noisy(:\n", encoding="utf-8")
    (tmp_path / "lonely.py").write_text("import no_such_friend\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, code: int) -> str:
    result = CliRunner().invoke(app, ["audit", *words], env={"COLUMNS": "100"})
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result.output


QUICK = ("--epsilon", "1", "--samples", "2000", "--seed", "5", "--seconds", "3600")


def test_a_mistake_is_shown_with_its_counter_example(folder: Path) -> None:
    shown = run("exercise_of_a_learner:wrong", *QUICK, code=1)
    for words in ("✗", "is not private with ε = 1", "input A", "input B", "event", "of 1,000", "ε ≥", "99.9 %", "odds"):
        assert words in shown
    assert "noise!" not in shown
    assert shown == run("exercise_of_a_learner:wrong", *QUICK, code=1)


def test_a_file_may_be_named_by_its_path(folder: Path) -> None:
    assert "not private" in run(str(folder / "exercise_of_a_learner.py") + ":wrong", *QUICK, code=1)


def test_an_honest_function_is_not_refuted_and_the_text_says_what_that_means(folder: Path) -> None:
    shown = " ".join(run("exercise_of_a_learner:steps", *QUICK, code=0).split())
    assert "No violation of ε = 1 found" in shown
    assert "not a proof of privacy" in shown
    assert "neighbours" in shown


def test_a_claim_beyond_what_samples_can_show_says_little(folder: Path) -> None:
    words = ("--epsilon", "9", "--samples", "400", "--seed", "5")
    assert "passing at ε = 9 says little" in " ".join(run("exercise_of_a_learner:steps", *words, code=0).split())


def test_the_bits_of_floats_are_looked_at_unless_told_otherwise(folder: Path) -> None:
    shown = run("exercise_of_a_learner:textbook", "--epsilon", "1", "--samples", "8000", "--seed", "5", code=1)
    assert "As mathematics the function was not refuted" in " ".join(shown.split())
    run("exercise_of_a_learner:textbook", *QUICK, "--no-bits", code=0)


def test_the_finding_as_data(folder: Path) -> None:
    data = json.loads(run("exercise_of_a_learner:wrong", *QUICK, "--json", code=1))
    assert data["caught"] is True
    assert data["function"] == "exercise_of_a_learner:wrong"
    assert data["second"] != data["first"]
    assert json.loads(run("exercise_of_a_learner:steps", *QUICK, "--json", code=0))["caught"] is False


def test_a_function_may_yield_the_pairs(folder: Path) -> None:
    words = ("exercise_of_a_learner:wrong", *QUICK, "--domain", "exercise_of_a_learner:pairs", "--json")
    assert json.loads(run(*words, code=1))["second"] == [0.0, 1.0]


@together(
    ("words", "hint"),
    [
        (("exercise_of_a_learner:wrong",), "Write epsilon=1"),
        (("no_such_module:wrong", *QUICK), "there is no module no_such_module here"),
        (("nowhere/file.py:wrong", *QUICK), "there is no file nowhere/file.py"),
        (("wrong", *QUICK), "module and the function"),
        (("exercise_of_a_learner:right", *QUICK), "It has: noise, wrong"),
        (("unfinished:noisy", *QUICK), "cannot be imported: SyntaxError"),
        (("lonely:noisy", *QUICK), "No module named 'no_such_friend'"),
        (("exercise_of_a_learner:fails", *QUICK), "every release raises RuntimeError: not done yet"),
        (("exercise_of_a_learner:two", *QUICK), "missing 1 required positional argument: 'other'"),
        (("exercise_of_a_learner:wrong", *QUICK, "--domain", "pears"), "numbers 0..100"),
        (("exercise_of_a_learner:wrong", *QUICK, "--relation", "friends"), "add_remove, replace"),
        (("exercise_of_a_learner:wrong", *QUICK, "--confidence", "1"), "between 0 and 1"),
    ],
)
def test_wrong_usage_is_answered_with_what_to_write(words: tuple[str, ...], hint: str, folder: Path) -> None:
    assert hint in " ".join(run(*words, code=2).split())
