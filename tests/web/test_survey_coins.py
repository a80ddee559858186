"""The coins of surveys: the browser's are those of the library, bit for bit, and exactly as private as stated.

The vectors are in survey_vectors.json. After a deliberate change write them anew:

    PYTHONPATH=tests/support python tests/web/test_survey_coins.py --write
"""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import answers_of
from cases import together
from chance import assert_follows

from lapwing.crowd import Counts, Reports, StochasticRounding
from lapwing.crowd.numeric import LEVELS
from lapwing.mechanisms import KaryResponse
from lapwing.mechanisms.probabilities import flip_probability
from lapwing.noise import Entropy, Reproducible, bernoulli, uniform_below
from lapwing.web.survey.parameters import CHOICE, NUMBER, YES_NO, Design
from lapwing.web.survey.routes.survey import expected_error

VECTORS = Path(__file__).parent / "survey_vectors.json"
EPSILONS = ("0.01", "0.6931471805599453", "1", "1.0986122886681098", "4", "10")
NUMBERS = ("-1.5", "-2", "0", "1e3", "0.1", "24", "7,25", "1000000", "999999.999999", ".5", "12")


class Words(Entropy):
    """Given bytes as words of eight, of which the highest bits are taken: as the system's source does it."""

    private = False

    def __init__(self, given: bytes) -> None:
        self.given, self.used = given, 0

    def bits(self, count: int) -> int:
        size = 8 * -(-count // 64)
        taken = self.given[self.used : self.used + size]
        assert len(taken) == size, "too few bytes"
        self.used += size
        return int.from_bytes(taken, "big") >> (8 * size - count)

    def fill(self, target: memoryview) -> None:
        raise NotImplementedError


def design(kind: str, epsilon: str, answers: int = 2, bounds: tuple[str, str] = ("0", "24")) -> Design:
    flip = flip_probability(Fraction(epsilon), others=answers - 1 if kind == CHOICE else 1)
    names = {YES_NO: ("Yes", "No"), NUMBER: (), CHOICE: tuple(f"answer {place}" for place in range(answers))}[kind]
    low, high = bounds if kind == NUMBER else ("", "")
    return Design(kind=kind, question="?", answers=names, low=low, high=high, flip=flip)


def designs() -> dict[str, Design]:
    made = {}
    for epsilon in EPSILONS:
        made[f"yes-no at {epsilon}"] = design(YES_NO, epsilon)
        for answers in (2, 3, 5, 20):
            made[f"choice of {answers} at {epsilon}"] = design(CHOICE, epsilon, answers)
        for bounds in (("0", "24"), ("-1.5", "1000000")):
            made[f"number from {bounds[0]} to {bounds[1]} at {epsilon}"] = design(NUMBER, epsilon, bounds=bounds)
    return made


def level(text: str, low: str, high: str) -> int:
    share = (Fraction(text.replace(",", ".")) - Fraction(low)) / (Fraction(high) - Fraction(low))
    return math.floor(min(max(share, Fraction(0)), Fraction(1)) * LEVELS + Fraction(1, 2))


def randomised(asked: Design, truth: Any, entropy: Entropy) -> int:
    """What the library makes of one answer, with its own scalar code."""
    if asked.kind == YES_NO:
        return int(asked.protocol.coins.release(truth == 0, entropy))  # type: ignore[union-attr]
    if asked.kind == CHOICE:
        return int(KaryResponse(categories=len(asked.answers), keep=asked.keep).release(truth, entropy))
    up = uniform_below(LEVELS, entropy=entropy) < level(truth, asked.low, asked.high)
    return int(up != bernoulli(asked.flip, entropy=entropy))


def vectors() -> dict[str, Any]:
    """For every kind and parameter: random bytes, a true answer, and what is sent."""
    told: dict[str, Any] = {}
    for number, (name, asked) in enumerate(designs().items()):
        truths = NUMBERS if asked.kind == NUMBER else range(len(asked.answers))
        edge = math.floor(asked.flip * (1 << 64))  # words at the edges of the coin, which may not decide it
        edges = [0, edge - 1, edge, edge + 1, (1 << 64) - 1 - edge, (1 << 64) - 1]
        cases = []
        for place, truth in enumerate(truths):
            random = Reproducible(1000 * number + place).bits(8 * 160).to_bytes(160, "big")
            for start in (random, edges[place % len(edges)].to_bytes(8, "big") + random):
                entropy = Words(start)
                value = randomised(asked, truth, entropy)
                cases.append([truth, start[: entropy.used].hex(), value, entropy.used])
        told[name] = {"plan": asked.for_browsers(), "cases": cases}
    return told


def golden() -> dict[str, Any]:
    return dict(json.loads(VECTORS.read_text(encoding="utf-8")))


def written(told: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(one)}" for name, one in told.items()) + "\n}\n"


def test_the_library_gives_the_written_reports() -> None:
    assert json.loads(written(vectors())) == golden(), "python tests/web/test_survey_coins.py --write"


def test_the_browser_gives_the_written_reports_and_uses_the_same_bytes() -> None:
    calls, expected = [], []
    for one in golden().values():
        for truth, given, value, used in one["cases"]:
            calls.append(("survey", "fromBytes", [one["plan"], truth, given], None))
            expected.append([value, f"{one['plan']['head']}{value:02x}", used])
    assert answers_of(calls) == expected
    assert len(calls) > 400


def test_written_reports_are_what_the_library_reads() -> None:
    for name, one in golden().items():
        asked = designs()[name]
        assert {asked.read(f"{one['plan']['head']}{value:02x}") for *_, value, _ in one["cases"]} == {
            value for *_, value, _ in one["cases"]
        }
        [value] = Reports.from_bytes(asked.protocol, bytes.fromhex(f"{one['plan']['head']}01")).columns[0]
        assert value == 1


def test_levels_of_numbers_are_those_of_the_library_but_for_rounding() -> None:
    protocol = design(NUMBER, "1", bounds=("-1.5", "1000000")).protocol
    assert isinstance(protocol, StochasticRounding)
    mine = [level(text, "-1.5", "1000000") for text in NUMBERS]
    theirs = protocol._levels([float(text.replace(",", ".")) for text in NUMBERS])
    assert np.abs(np.array(mine) - theirs).max() <= 1
    assert (mine[0], mine[1], mine[7]) == (0, 0, LEVELS), "cut to the bounds"
    calls = [("survey", "level", [text, "-1.5", "1000000"], None) for text in NUMBERS]
    assert answers_of(calls) == [str(one) for one in mine]


@together(
    ("asked", "truths", "digits"),
    [
        (design(YES_NO, "1"), [0, 1], 11),
        (design(YES_NO, "1.0986122886681098"), [0, 1], 2),
        (design(YES_NO, "4"), [0, 1], 14),
        (design(CHOICE, "1", 3), [0, 1, 2], 13),
        (design(CHOICE, "4", 5), [0, 2, 4], 14),
        (design(NUMBER, "1.0986122886681098"), ["0", "7.5", "12", "24"], 2),
    ],
)
def test_over_all_random_words_the_browser_loses_exactly_what_is_stated(
    asked: Design, truths: list[Any], digits: int
) -> None:
    """Every probability is a whole number of words over all words: no sampling, no rounding."""
    assert (asked.keep * (1 << digits)).denominator == 1, "more binary digits than words are tried"
    laws = answers_of([("survey", "law", [asked.for_browsers(), truth, digits], None) for truth in truths])
    words = sum(laws[0])
    for truth, law in zip(truths, laws, strict=True):
        for value, count in enumerate(law):
            if asked.kind == NUMBER:
                share = Fraction(truth) / 24
                up = asked.flip + (1 - 2 * asked.flip) * share
                expected = up if value else 1 - up
            else:
                meant = truth if asked.kind == CHOICE else 1 - truth
                expected = asked.keep if value == meant else asked.flip
            assert Fraction(count, words) == expected
    worst = max(Fraction(a, b) for one, other in permutations(laws, 2) for a, b in zip(one, other, strict=True))
    assert worst == asked.keep / asked.flip
    assert math.log(worst) <= float(asked.epsilon) * (1 + 1e-12)
    assert math.log(worst) == pytest.approx(float(asked.epsilon))


def test_with_the_generator_for_secrets_reports_fall_as_stated() -> None:
    asked, count = design(CHOICE, "1", 4), 20_000
    [found] = answers_of([("survey", "sample", [asked.for_browsers(), 2, count], None)])
    draws = [value for value, times in enumerate(found) for _ in range(times)]
    assert_follows(draws, lambda value: float(asked.keep if value == 2 else asked.flip), range(4))


def test_the_error_is_told_before_as_it_is_found_afterwards() -> None:
    cases = [design(YES_NO, "1"), design(CHOICE, "0.6931471805599453", 5), design(CHOICE, "4", 3), design(NUMBER, "1")]
    for asked in cases:
        n, width = 1000, 24.0 if asked.kind == NUMBER else 100.0
        told = expected_error(asked, n)
        calls = [("survey", "expectedError", [asked.kind, len(asked.answers), float(asked.epsilon), n], None)]
        assert answers_of(calls)[0] * width == pytest.approx(told, rel=2e-3)
        worst = 0.0
        for ones in range(0, n + 1, 10):
            tally = [n - ones, ones] if asked.kind != CHOICE else [ones, n - ones, *[0] * (len(asked.answers) - 2)]
            found = asked.protocol.estimate(asked.counts(tally))
            error = np.max(np.atleast_1d(found.sample_standard_error)) / (1 if asked.kind == NUMBER else n / 100)
            worst = max(worst, 1.96 * float(error))
        assert told == pytest.approx(worst, rel=2e-3)


@together(("kind", "answers"), [(YES_NO, 2), (CHOICE, 8), (NUMBER, 0)])
def test_the_error_wished_for_gives_the_epsilon_it_needs(kind: str, answers: int) -> None:
    wished = 0.08
    [epsilon] = answers_of([("survey", "epsilonFor", [kind, answers, wished, 2000], None)])
    [error] = answers_of([("survey", "expectedError", [kind, answers, epsilon, 2000], None)])
    assert error == pytest.approx(wished, rel=1e-6)
    assert answers_of([("survey", "epsilonFor", [kind, answers, wished, 20], None)]) == [None]


def test_counts_of_reports_are_those_an_aggregator_keeps() -> None:
    for asked in (design(YES_NO, "1"), design(CHOICE, "1", 3), design(NUMBER, "1")):
        people: list[Any] = {YES_NO: [True, False], CHOICE: [0, 1], NUMBER: [3.0, 20.0]}[asked.kind]
        reports = asked.protocol.randomize(people * 50, Reproducible(1))
        tally = [0] * asked.values
        for place in range(reports.n):
            value = asked.read(reports[place : place + 1].to_bytes().hex())
            assert value is not None
            tally[value] += 1
        assert asked.counts(tally) == asked.protocol.absorb(None, reports)
        assert isinstance(asked.counts(tally), Counts)


if __name__ == "__main__" and "--write" in sys.argv:
    VECTORS.write_text(written(vectors()), encoding="utf-8")
