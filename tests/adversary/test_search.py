"""The search for counter-examples: mistakes are found from the function alone, honest functions are not accused."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_seldom
from sweeps import few

from lapwing import noise
from lapwing.adversary import CONTROLS, Control, Pair, auditor, observations
from lapwing.adversary import search as search_module
from lapwing.adversary.domains import domain_of
from lapwing.adversary.search import Search, find_violation
from lapwing.errors import InvalidCall, InvalidParameter
from lapwing.mechanisms import Laplace, NoisyMax

SURE = 1 - FALSE_ALARM
FEW = 4000
Data = list[float]


def laplace(scale: float) -> float:
    return random.expovariate(1 / scale) - random.expovariate(1 / scale)


def whole(scale: float) -> int:
    """Discrete Laplace noise as a learner would draw it."""
    return sum(sign * math.floor(random.expovariate(1 / scale)) for sign in (1, -1))


def search(function: Callable[..., Any], **options: Any) -> Search:
    return find_violation(function, **{"epsilon": 1, "samples": FEW, "seed": 7, "seconds": None, **options})


# Mistakes of learners: the function, and how it is called.


def noise_of_scale_epsilon(data: Data, epsilon: float) -> float:
    return sum(data) + laplace(epsilon)


def sensitivity_forgotten(data: Data) -> float:
    return sum(data) + laplace(1)


def noise_added_once(data: Data) -> list[float]:
    shared = laplace(2)
    return [sum(data) + shared, len(data) + shared]


def divided_by_the_true_number(data: Data) -> float:
    return (sum(data) + laplace(1)) / max(len(data), 1)


def clipping_forgotten(data: Data) -> float:
    return sum(data) / 10 + laplace(1)


def clipped_after_the_sum(data: Data) -> float:
    return min(max(sum(data), 0), 10) + laplace(1)


def noisy_max_that_returns_the_value(answers: Data) -> float:
    return max(answer + laplace(1) for answer in answers)


def exponential_mechanism_with_the_wrong_factor(votes: Data) -> int:
    weights = [math.exp(2 * vote) for vote in votes]
    return random.choices(range(len(votes)), weights)[0]


def sparse_vector_that_never_stops(answers: Data) -> list[bool]:
    threshold = 5 + laplace(2)
    return [answer + laplace(2) >= threshold for answer in answers]


def sparse_vector_without_noise_on_answers(answers: Data) -> int | None:
    threshold = 5 + laplace(1)
    return next((place for place, answer in enumerate(answers) if answer >= threshold), None)


def sparse_vector_that_returns_the_answer(answers: Data) -> float | None:
    threshold = 5 + laplace(2)
    return next((answer for answer in answers if answer + laplace(4) >= threshold), None)


def noise_of_bounded_support(data: Data) -> float:
    return sum(data) + random.uniform(-10, 10)


def error_for_nobody(data: Data) -> float:
    if not data:
        raise ValueError("no data")
    return len(data) + laplace(1)


def keys_from_the_data(data: list[str]) -> dict[str, float]:
    return {key: data.count(key) + laplace(1) for key in sorted(set(data))}


def seed_fixed_inside(data: Data) -> float:
    return sum(data) + random.Random(42).expovariate(1)


def whole_noise_on_a_sum_that_is_not(data: Data) -> float:
    return sum(data) + whole(1)


def first_person_without_noise(data: list[int]) -> list[int]:
    return [bit ^ (place > 0 and random.random() < 0.2) for place, bit in enumerate(data)]


def variance_of_noise_for_its_scale(data: Data) -> float:
    return sum(data) + random.gauss(0, 0.3)


def maximum_of_the_data(data: Data) -> float:
    return max(data, default=0.0) + laplace(0.2)


def randomized_response_that_lies_too_rarely(answer: int) -> int:
    return answer if random.random() < 0.9 else 1 - answer


def sorts_what_it_was_given(data: Data) -> float:
    data.sort()
    return data.pop() if data else laplace(1)


def rows_of_smokers(rows: list[dict[str, Any]]) -> float:
    return sum(row["age"] for row in rows if row["smoker"]) / 100 + laplace(0.5)


MISTAKES: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (noise_of_scale_epsilon, {"epsilon": 0.5}),
    (sensitivity_forgotten, {"domain": "numbers 0..5"}),
    (noise_added_once, {}),
    (divided_by_the_true_number, {}),
    (clipping_forgotten, {"domain": "numbers 0..1000"}),
    (clipped_after_the_sum, {"domain": "numbers -10..10"}),
    (noisy_max_that_returns_the_value, {"domain": "answers 5 of 0..10"}),
    (exponential_mechanism_with_the_wrong_factor, {"domain": "answers 3 of 0..10"}),
    (sparse_vector_that_never_stops, {"domain": "answers 20 of 0..10"}),
    (sparse_vector_without_noise_on_answers, {"domain": "answers 5 of 0..10"}),
    (sparse_vector_that_returns_the_answer, {"domain": "answers 5 of 0..10"}),
    (noise_of_bounded_support, {}),
    (error_for_nobody, {}),
    (keys_from_the_data, {"domain": "labels red,green,blue", "delta": 1e-6}),
    (seed_fixed_inside, {}),
    (whole_noise_on_a_sum_that_is_not, {}),
    (first_person_without_noise, {"domain": "bits", "relation": "replace"}),
    (variance_of_noise_for_its_scale, {"delta": 1e-5}),
    (maximum_of_the_data, {}),
    (randomized_response_that_lies_too_rarely, {"domain": "one bits"}),
    (sorts_what_it_was_given, {}),
    (rows_of_smokers, {"domain": "rows age:0..120,smoker:bool"}),
]


@pytest.mark.parametrize(
    ("function", "options"), few(MISTAKES, stays=8), ids=lambda value: getattr(value, "__name__", "")
)
def test_a_typical_mistake_is_found_from_the_function_alone(
    function: Callable[..., Any], options: dict[str, Any]
) -> None:
    found = search(function, **options)
    assert found.caught, found.explain()
    assert not found.bits, "the mistake is one of mathematics"
    assert "not private" in found.explain()
    assert str(found).startswith(f"Caught: {found.function} claims ε = ")


# Honest functions of many kinds of output.


def honest_sum(data: Data) -> float:
    return sum(data) + laplace(1)


def honest_grid(data: Data, epsilon: float) -> int:
    return sum(round(100 * value) for value in data) + whole(100 / epsilon)


def honest_mean(data: Data) -> float:
    return (sum(data) + laplace(2)) / max(len(data) + laplace(2), 1)


def honest_vector(data: Data) -> np.ndarray[Any, Any]:
    return np.array([sum(data), len(data)]) + np.array([laplace(2), laplace(2)])


def honest_label(data: list[str]) -> str:
    return max(("red", "green"), key=lambda label: data.count(label) + laplace(2))


def honest_index(answers: Data) -> int:
    return max(range(len(answers)), key=lambda place: answers[place] + laplace(2))


def honest_sparse_vector(answers: Data) -> int | None:
    threshold = 5 + laplace(2)
    return next((place for place, answer in enumerate(answers) if answer + laplace(4) >= threshold), None)


def honest_histogram(counts: list[int]) -> list[float]:
    return [count + laplace(1) for count in counts]


def honest_survey(data: list[int]) -> list[int]:
    return [bit ^ (random.random() < 1 / (1 + math.e)) for bit in data]


def honest_failure(data: Data) -> float:
    if random.random() < 0.3:
        raise ValueError("bad luck")
    return len(data) + laplace(1)


def constant(data: Data) -> str:
    print("this must not be seen")
    return "nothing"


HONEST: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (honest_sum, {"bits": False}),
    (honest_grid, {}),
    (honest_mean, {"bits": False}),
    (honest_vector, {"bits": False}),
    (honest_label, {"domain": "labels red,green,blue"}),
    (honest_index, {"domain": "answers 4 of 0..10"}),
    (honest_sparse_vector, {"domain": "answers 5 of 0..10"}),
    (honest_histogram, {"domain": "counts 3 of 0..10", "bits": False}),
    (honest_survey, {"domain": "bits", "relation": "replace"}),
    (honest_failure, {"bits": False}),
    (constant, {}),
]


@pytest.mark.parametrize(
    ("function", "options"), few(HONEST, stays=4), ids=lambda value: getattr(value, "__name__", "")
)
def test_an_honest_function_is_not_accused(
    function: Callable[..., Any], options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found = search(function, confidence=SURE, **options)
    assert not found.caught, found.explain()
    assert "No violation found up to epsilon = 1" in found.explain()
    assert "never prove" in found.explain()
    assert str(found).startswith(f"Not caught: {found.function} claims ε = ")
    assert "That is not a proof." in str(found)
    assert repr(found).startswith(f"<Search of {found.function}: not caught, ")
    assert capsys.readouterr().out == ""


BLIND: dict[str, dict[str, Any]] = {
    "sparse vector without query noise": {"domain": "answers 2 of -1000..1000 by 1000"},
    "noisy max that returns the value": {"domain": "answers 4 of 0..10"},
    "histogram with sensitivity one under replace": {"domain": "counts 2 of 0..10", "relation": "replace"},
    "unclamped sum": {"domain": "integers 0..1000"},
    "bounds from data": {"domain": "integers 0..1000"},
    "mean with the true number of people": {"domain": "bits"},
    "count with a reused seed": {"domain": "bits"},
    "keys from the data": {"domain": "labels a,b,z"},
    "daily sums with fresh noise": {"domain": "counts 8 of 0..10"},
    "tree that pays for one level": {"domain": "counts 8 of 0..10"},
    "tree whose levels are paid once": {"domain": "counts 3 of 0..10"},
    "w event without a memory": {"domain": "answers 8 of 0..1000", "samples": 10_000},
    "laplace in floats": {"domain": "answer 0.0..10.0"},
    "gaussian in floats": {"domain": "answer 0.0..10.0"},
    "sum in floats": {"domain": f"numbers {2**52}..{2**52 + 1}", "relation": "replace", "length": 64},
    "sum that wraps": {"domain": "bits", "length": 128},
    "sum that raises": {"domain": "bits", "length": 128},
    "sum with one nan": {"domain": "numbers 0..1 or nan"},
    "sensitivity from the lower bound": {"domain": "bits"},
    "exponential mechanism that underflows": {"domain": "answers 2 of -1491..0"},
    "noisy max that charges a quarter": {"domain": "answers 2 of 0..10"},
    "unary encoding at full epsilon": {"domain": "one integers 0..3"},
    "bit vector with an off by one": {"domain": "bits", "relation": "replace"},
    "rappor that never clears a bit": {"domain": "one integers 0..3"},
    "noise repeated in forked children": {"domain": "counts 2 of 0..10"},
    "error that prints data": {"domain": "numbers -1..2"},
}


@pytest.mark.parametrize("control", few((control for control in CONTROLS if control.name in BLIND), stays=4), ids=str)
def test_a_broken_control_is_found_without_its_pair(control: Control) -> None:
    found = search(control.release, delta=control.delta, **BLIND[control.name])
    assert found.caught, found.explain()


def test_the_control_whose_mistake_needs_many_answers_is_found_too() -> None:
    [control] = [control for control in CONTROLS if control.name not in BLIND]
    assert control.name == "sparse vector without cutoff"
    assert search(control.release, domain="answers 20 of 0..1").caught


def test_noise_in_floats_is_caught_by_its_bits_and_only_by_them() -> None:
    found = search(honest_sum, samples=10_000)
    assert found.caught
    assert found.bits
    assert "lowest bit" in str(found.audit.event)
    assert "As mathematics" in found.explain()


def test_our_own_mechanisms_pass() -> None:
    assert not search(Laplace(epsilon=1, sensitivity=1), domain="answer 0..10", confidence=SURE).caught
    assert not search(
        NoisyMax(epsilon=1, sensitivity=1, candidates=3), domain="answers 3 of 0..10", confidence=SURE
    ).caught
    assert search(Laplace(epsilon=2, sensitivity=1), domain="answer 0..10").caught


def test_an_honest_function_is_accused_no_more_often_than_confidence_permits() -> None:
    runs, risk = 60, 0.2
    alarms = sum(
        search(honest_grid, samples=100, confidence=1 - risk, domain="bits", length=2, seed=run).caught
        for run in range(runs)
    )
    assert_seldom(alarms, runs, risk)


def test_a_seed_repeats_a_search_and_leaves_the_generators_alone() -> None:
    random.seed(1)
    np.random.seed(1)
    expected = random.random(), float(np.random.random())
    random.seed(1)
    np.random.seed(1)
    runs = [search(honest_vector, bits=False, samples=400).data for _ in "ab"]
    assert runs[0] == runs[1]
    assert runs[0] != search(honest_vector, bits=False, samples=400, seed=8).data
    assert (random.random(), float(np.random.random())) == expected
    with_entropy = [
        search(lambda data, entropy: len(data) + noise.discrete_laplace(2, entropy=entropy), samples=400).audit.hits
        for _ in "ab"
    ]
    assert with_entropy[0] == with_entropy[1]


def test_the_finding_is_data_that_json_knows() -> None:
    found = search(lambda data: [math.nan, *data], domain="numbers 0..1 or nan")
    data = json.loads(json.dumps(found.data, allow_nan=False))
    assert data["caught"] is True
    assert data["claimed"] == 1
    assert data["epsilon_lower_bound"] > 1
    assert found.tried[0].pair == found.pair or found.bits
    assert sum(entry.releases for entry in found.tried) < found.releases == data["releases"]
    assert len(found.tried) == data["pairs_tried"]


def test_the_seconds_end_a_slow_search_in_the_middle_of_a_pair() -> None:
    calls = []

    def slow(data: Data) -> int:
        calls.append(1)
        time.sleep(0.002)
        return len(data)

    found = search(slow, seconds=0.5, samples=10**6)
    assert found.hurried
    assert len(calls) < 2000
    assert found.releases == len(calls)
    assert (
        "no time for the whole search"
        in search(lambda data: time.sleep(0.002) or 0, seconds=0.3, samples=10**6).explain()
    )


def test_a_search_that_made_fewer_releases_says_that_it_was_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the clock runs out in the last pair that is compared, or in a half of the audit."""

    def with_clock(jump: float) -> tuple[Search, int]:
        """The clock stands still, and after so many looks at it more than half of the time is gone."""
        looks = count()
        clock = SimpleNamespace(monotonic=lambda: 0.0 if next(looks) < jump else 6.0)
        for module in (auditor, observations, search_module):
            monkeypatch.setattr(module, "time", clock)
        found = search(lambda data: sum(data) + laplace(1), domain="bits", samples=200, seconds=10, bits=False)
        return found, next(looks)

    full, looks = with_clock(math.inf)
    assert not full.hurried
    for jump in range(looks - 700, looks, 60):
        found, _ = with_clock(jump)
        assert found.hurried or found.releases >= full.releases


def test_releases_without_time_count_against_the_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, now = [], [0.0]
    for module in (auditor, observations, search_module):  # a clock of our own: a busy machine would plan fewer
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def slower(data: Data) -> int:
        calls.append(1)
        now[0] += 0 if len(calls) < 400 else 0.01
        return len(data)

    found = search(slower, seconds=1, samples=400, domain=[([0], [0, 1])])
    assert found.audit.missing > 0
    assert found.audit.hits == (found.audit.trials - found.audit.missing, 0) or found.audit.hits[0] == 0
    assert found.audit.epsilon_lower_bound < found.audit.ceiling


def test_pairs_of_ones_own_are_tried() -> None:
    def pairs() -> list[Any]:
        return [({"n": 1}, {"n": 1}), Pair({"n": 1}, {"n": 2}, "replace")]

    found = search(lambda data: data["n"], domain=pairs)
    assert found.caught
    assert found.pair.relation == "replace"
    assert found.domain == "pairs of your own"


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    search(honest_grid, progress=lambda done, total: told.append((done, total)))
    assert len(told) > 10
    assert all(0 < done <= total for done, total in told)
    assert told[-1][0] > 0.9 * told[-1][1] / 2


def neighbours(text: str, relation: Any = "add_remove", length: int = 10) -> list[tuple[Any, Any]]:
    return [(pair.first, pair.second) for pair in domain_of(text).pairs(relation, length, noise.Reproducible(1))]


@together("text", ["numbers -2..5", "integers 0..3", "bits", "labels a,b,c", "rows x:0..1,y:bool,z:p|q"])
def test_neighbours_differ_in_one_person(text: str) -> None:
    for first, second in neighbours(text):
        assert len(second) == len(first) + 1 <= 10
        assert any(second[:place] + second[place + 1 :] == first for place in range(len(second)))
    for first, second in neighbours(text, "replace"):
        assert len(first) == len(second) <= 10
        assert sum(one != other for one, other in zip(first, second, strict=True)) == 1
    assert max(len(second) for _, second in neighbours(text, length=30)) == 30
    assert ([], [neighbours(text)[0][1][0]]) in neighbours(text)


def test_values_stay_in_their_domain() -> None:
    for first, second in neighbours("numbers -2..5"):
        assert all(isinstance(value, float) and -2 <= value <= 5 for value in (*first, *second))
    assert {value for first, second in neighbours("integers 0..3") for value in (*first, *second)} == {0, 1, 2, 3}
    assert {row["y"] for first, second in neighbours("rows x:0..1,y:bool") for row in (*first, *second)} == {
        True,
        False,
    }
    assert any(value is None for _, second in neighbours("integers 0..3 or none") for value in second)


@together("text", ["answers 5 of 0..10", "answers 1 of 0..1", "answers 4 of 0.5..2.5 by 0.25"])
def test_answers_move_by_at_most_a_step(text: str) -> None:
    step = 0.25 if "by" in text else 1
    pairs = neighbours(text)
    for first, second in pairs:
        assert max(abs(one - other) for one, other in zip(first, second, strict=True)) <= step
        low, high = (0.5, 2.5) if "by" in text else (0, 10)
        assert all(low <= value <= high for value in (*first, *second))
    if "5" in text:
        assert ([5] * 5, [6, 4, 4, 4, 4]) in pairs or "by" in text


def test_a_person_is_in_one_bin() -> None:
    for first, second in neighbours("counts 4 of 0..10"):
        assert sorted(other - one for one, other in zip(first, second, strict=True)) == [0, 0, 0, 1]
    for first, second in neighbours("counts 4 of 0..10", "replace"):
        assert sorted(other - one for one, other in zip(first, second, strict=True)) == [-1, 0, 0, 1]


@together(
    ("options", "hint"),
    [
        ({"domain": "pears"}, "numbers 0..100"),
        ({"domain": ""}, "numbers 0..100"),
        ({"domain": "numbers 1..0"}, "lower end first"),
        ({"domain": "numbers 0"}, "not a range"),
        ({"domain": "numbers 0..x"}, "not a number"),
        ({"domain": "numbers 0..inf"}, "not a number"),
        ({"domain": "integers 0..1.5"}, "whole number"),
        ({"domain": "labels red"}, "labels red,green"),
        ({"domain": "rows age"}, "region:north|south"),
        ({"domain": "answers of 0..1"}, "answers 5 of 0..10"),
        ({"domain": "one bits", "relation": "add_remove"}, "only be replaced"),
        ({"domain": [(1, 2, 3)]}, "than pairs"),
        ({"domain": 5}, "no pairs"),
        ({"length": 0}, "length"),
        ({"epsilon": -1}, "epsilon"),
        ({"relation": "near"}, "relation"),
        ({"samples": 10}, "at least 100"),
        ({"seed": -1}, "seed"),
        ({"bits": "no"}, "bits"),
    ],
)
def test_what_cannot_be_searched_is_said(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        search(sum, **options)
    assert hint in str(caught.value)


def test_a_function_that_always_fails_is_not_called_private() -> None:
    with pytest.raises(InvalidParameter, match="every release raises TypeError"):
        search(lambda data, other: 1)
    with pytest.raises(InvalidParameter, match="cannot release"):
        search(Laplace)
    with pytest.raises(InvalidCall, match="epsilon"):
        find_violation(sum)


def exact_fractions(data: Sequence[float]) -> Fraction:
    return Fraction(len(data)) / 3


def test_a_function_that_returns_nothing_is_not_called_private() -> None:
    with pytest.raises(InvalidParameter, match="returns nothing") as caught:
        search(lambda data: print(sum(data)), samples=200)
    assert "return" in caught.value.hint


def test_what_ends_programs_and_what_equals_only_itself_are_outputs_too() -> None:
    class Halt(BaseException):
        pass

    class Answer:
        def __init__(self, value: float) -> None:
            self.value = value

    def halts(data: Data) -> bool:
        if len(data) > 1:
            raise Halt
        return True

    assert search(halts, samples=1000).caught
    assert search(lambda data: Answer(sum(data)), samples=1000).caught
    assert not search(lambda data: Answer(3), samples=200).caught


def test_an_event_in_words_can_be_asked_about_an_output() -> None:
    found = search(exact_fractions)
    assert found.audit.event.contains(Fraction(0)) != found.audit.event.contains(Fraction(1, 3))
    assert "1/3" in str(found.audit.event) or "0" in str(found.audit.event)
