"""The judge of exercises never calls a wrong program right, whatever the clock says."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import NormalDist

import pytest
import wrong_formulas
import wrong_noise
from cases import together
from judging import run_at, stand_still, wanted
from school_site import nuggets

from lapwing.web.school.exercise import Exercise
from lapwing.web.school.judge import _judged
from lapwing.web.school.laws import FALSE_ALARM, LIMIT, MOST_LAWS, STAGES, Laws, Undecided

EXERCISES = {exercise.id: exercise for page in nuggets() for exercise in page.exercises if exercise.code}
WRONG = wrong_noise.WRONG | wrong_formulas.WRONG
NOISY = [name for name, exercise in EXERCISES.items() if "laws." in exercise.checks or exercise.audit]
RELEASE = 1e-4
"""Seconds of a feigned clock between two looks at it: about what a release takes in a browser."""


def wrong_programs(exercise: Exercise) -> list[tuple[str, str]]:
    table = WRONG[exercise.id]
    missing = [why for why, old, _ in table if old not in exercise.solution]
    assert not missing, f"the solution has changed: {missing}"
    return [(why, exercise.solution.replace(old, new)) for why, old, new in table]


def test_every_exercise_has_twenty_wrong_solutions() -> None:
    assert WRONG.keys() == EXERCISES.keys()
    assert {name for name, table in WRONG.items() if len({new for _, _, new in table}) < 20} == set()


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=EXERCISES)
def test_no_wrong_solution_passes(exercise: Exercise, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_still(monkeypatch)
    verdicts = {why: _judged(wanted(exercise, code), lambda text: None) for why, code in wrong_programs(exercise)}
    assert {why for why, (lines, passed) in verdicts.items() if passed or lines[-1][0] != "wrong"} == set()


@pytest.mark.parametrize("name", NOISY)
def test_no_wrong_solution_passes_on_a_machine_four_times_slower(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = EXERCISES[name]
    verdicts = {}
    for why, code in wrong_programs(exercise):
        run_at(monkeypatch, 4 * RELEASE)
        verdicts[why] = _judged(wanted(exercise, code), lambda text: None)
    assert {why for why, (lines, passed) in verdicts.items() if passed or lines[-1][0] != "wrong"} == set()


@pytest.mark.parametrize("name", NOISY)
def test_without_time_nothing_is_called_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = EXERCISES[name]
    for slowness in (30, 1000, 10_000):
        run_at(monkeypatch, slowness * RELEASE)
        lines, passed = _judged(wanted(exercise, exercise.solution), lambda text: None)
        assert not passed
        assert lines[-1][0] == "undecided"
        assert lines[-1][1].startswith("Not decided: ")
        assert "check it again" in lines[-1][1]


OTHERS = [
    (
        "laplace-count",
        wrong_noise.NOISE,
        "import math\n    u = random.random() - 0.5\n"
        "    return count - math.copysign(1, u) * math.log(1 - 2 * abs(u)) / rate",
    ),
    ("laplace-count", wrong_noise.NOISE, "return count + random.choice([-1, 1]) * random.expovariate(rate)"),
    ("most-popular", wrong_noise.WEIGHT, "math.exp(epsilon * (score - best))"),
    ("clipped-sum", "min(max(amount, 0), BOUND)", "(amount if amount < BOUND else BOUND)"),
    ("three-answers", wrong_noise.KEPT, "1 / (1 + 2 * math.exp(-epsilon))"),
]
"""Right in another way. In the third, people only ever add votes, so that twice the slope is private as well."""


@together(("name", "old", "new"), OTHERS)
def test_other_right_solutions_pass(name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_still(monkeypatch)
    assert old in EXERCISES[name].solution
    code = EXERCISES[name].solution.replace(old, new)
    lines, passed = _judged(wanted(EXERCISES[name], code), lambda text: None)
    assert passed, lines


def test_names_of_the_checks_do_not_get_in_the_way_of_the_program() -> None:
    code = "table = {1: 2}\ndef twice(x):\n    return table[x]\n"
    lines, passed = _judged({"what": "check", "code": code, "checks": "table = None\nassert twice(1) == 2"}, print)
    assert passed, lines


LAWS: list[tuple[str, Callable[[Laws, float], None]]] = [
    ("Laplace", lambda laws, b: laws.laplace(lambda: 3 + b * (exponential() - exponential()), 3, 1, "it")),
    ("normal", lambda laws, b: laws.continuous(lambda: random.gauss(0, b), NormalDist().cdf, "it")),
    ("shares", lambda laws, b: laws.shares(lambda: random.random() < b / 4, {True: 0.25, False: 0.75}, "it")),
]


def exponential() -> float:
    return random.expovariate(1)


@pytest.mark.parametrize("law", [law for _, law in LAWS], ids=[name for name, _ in LAWS])
def test_a_law_is_told_from_one_that_is_a_third_wider(law: Callable[[Laws, float], None]) -> None:
    """The seeds are fixed, so nothing is left to chance."""
    for seed in range(3):
        random.seed(seed)
        law(Laws(), 1)
        with pytest.raises(AssertionError, match="For it: "):
            law(Laws(), 1.35)


def test_the_false_alarm_is_shared_by_all_tests() -> None:
    looks, tests = MOST_LAWS * len(STAGES), 8
    assert looks * tests * math.exp(-LIMIT) == pytest.approx(FALSE_ALARM)
    laws = Laws()
    for _ in range(MOST_LAWS):
        laws.shares(lambda: 1, {1: 1.0}, "it")
    with pytest.raises(ValueError, match="more than 20"):
        laws.shares(lambda: 1, {1: 1.0}, "it")


def test_a_law_without_time_is_undecided() -> None:
    with pytest.raises(Undecided):
        Laws(until=-math.inf).shares(lambda: 1, {1: 1.0}, "it")
