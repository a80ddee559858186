"""The explorer of sketches hashes, estimates and errs as the library does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from browser import FRONTEND, Call, answers_of, close

from lapwing.crowd import hashing
from lapwing.crowd.bits import unpack_rows
from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.hadamard_sketch import HadamardCountMeanSketch
from lapwing.experiments import populations
from lapwing.experiments.discovery import compute
from lapwing.experiments.experiment import entropy
from lapwing.experiments.sketches import theory
from lapwing.noise.arrays import unpack

SALT = "school"
TEXTS = (
    "",
    "lapwing",
    "😂",
    "❤️",
    "a much longer text, so long that SHA-256 needs more than one block of 64 bytes for it",
)
ANSWERS = ["😂"] * 90 + ["❤️"] * 60 + ["🔥"] * 30 + ["👍"] * 20
CANDIDATES = ["😂", "❤️", "🔥", "👍", "👀"]
DATA = json.loads((FRONTEND / "src" / "data" / "sketches.json").read_text(encoding="utf-8"))


def hashes() -> Iterator[Call]:
    for text in TEXTS:
        items = hashing.hashed_items([text], SALT.encode())
        for function, width in ((0, 16), (7, 256), (1023, 1024)):
            [cell] = hashing.cells(items, hashing.rows(1024, SALT.encode())[:, function], width)
            yield "hashing", "cellOf", [text, SALT, function, width], int(cell)


def puzzles() -> Iterator[Call]:
    protocol = SequenceFragmentPuzzle(epsilon_fragments=4, epsilon_strings=4, salt=SALT)
    for text in ("lapwing", "a", "differential"):
        word = protocol._filled(text)
        fragments = [word[i : i + 2] for i in range(0, 10, 2)]
        expected = {"word": word, "piece": protocol._piece(word), "fragments": fragments}
        yield "sketches", "puzzle", [text, SALT], expected


def estimates() -> Iterator[Call]:
    cms = CountMeanSketch(epsilon=4, functions=8, width=16, salt=SALT)
    reports = cms.randomize(ANSWERS, entropy("school", "CMS"))
    expected = cms.estimate(cms.absorb(None, reports), CANDIDATES).counts.tolist()
    function, rows = reports.columns
    ones = [np.flatnonzero(row).tolist() for row in unpack_rows(rows, 16)]
    given = list(zip(function.tolist(), ones, strict=True))
    yield "sketches", "estimateBits", [given, CANDIDATES, SALT, 16, float(cms.flip)], expected
    hadamard = HadamardCountMeanSketch(epsilon=4, functions=8, width=16, salt=SALT)
    reports = hadamard.randomize(ANSWERS, entropy("school", "HCMS"))
    expected = hadamard.estimate(hadamard.absorb(None, reports), CANDIDATES).counts.tolist()
    function, coordinate, minus = reports.columns
    signs = unpack(minus, len(ANSWERS)).astype(bool).tolist()
    lines = list(zip(function.tolist(), coordinate.tolist(), signs, strict=True))
    yield "sketches", "estimateSigns", [lines, CANDIDATES, SALT, 16, float(hadamard.flip)], expected


def errors() -> Iterator[Call]:
    population = populations.emoji(20_000, different=50)
    counts = list(population.values())
    for kind in ("CMS", "HCMS"):
        for epsilon, width, functions in ((0.5, 16, 1), (4, 256, 256), (8, 1024, 1024)):
            expected = theory(kind, population, epsilon=epsilon, width=width, functions=functions)
            yield "sketches", "theory", [kind, counts, epsilon, width, functions], expected


CALLS = [*hashes(), *puzzles(), *estimates(), *errors()]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    return answers_of(CALLS)


@pytest.mark.parametrize("place", range(len(CALLS)), ids=lambda i: f"{CALLS[i][0]}.{CALLS[i][1]}-{i}")
def test_the_browser_agrees_with_the_library(place: int, answers: list[Any]) -> None:
    assert close(answers[place], CALLS[place][3])


def test_the_browser_flips_as_often_as_the_library_but_for_the_digits_of_its_fractions() -> None:
    sketches = {"CMS": CountMeanSketch, "HCMS": HadamardCountMeanSketch}
    calls: list[Call] = [
        ("sketches", "flip", [kind, epsilon], float(sketch(epsilon=epsilon, functions=4, width=4).flip))
        for kind, sketch in sketches.items()
        for epsilon in (0.1, 1, 4, 8)
    ]
    for found, (*_, expected) in zip(answers_of(calls), calls, strict=True):
        assert close(found, expected, relative=0.01)


def test_reports_are_as_long_as_those_of_the_library() -> None:
    sketches = {"CMS": CountMeanSketch, "HCMS": HadamardCountMeanSketch}
    calls: list[Call] = [
        (
            "sketches",
            "bits",
            [kind, 1024, 256],
            sum(c.bits for c in sketch(epsilon=4, functions=1024, width=256).layout),
        )
        for kind, sketch in sketches.items()
    ]
    assert answers_of(calls) == [expected for *_, expected in calls]


def test_a_simulated_crowd_is_estimated_without_bias_and_as_far_off_as_theory_says() -> None:
    """Twenty crowds with fixed coins: mean and mean square of their standardised errors, within six standard errors."""
    weights = [count for _, count in DATA["emoji"]]
    names = [name for name, _ in DATA["emoji"]]
    n, shown, functions, width, epsilon = 2000, 10, 64, 64, 4
    coins = np.random.default_rng(5)
    [asked, cells, *flips] = answers_of(
        [
            ("sketches", "people", [weights, n], None),
            ("sketches", "places", [names, functions, width, SALT], None),
            ("sketches", "flip", ["CMS", epsilon], None),
            ("sketches", "flip", ["HCMS", epsilon], None),
        ]
    )
    people, where = list(asked.values()), list(cells.values())
    counts = np.bincount(people, minlength=len(weights))
    calls: list[Call] = [
        (
            "sketches",
            "crowd",
            [
                kind,
                people,
                where,
                len(names),
                shown,
                functions,
                width,
                flipped,
                coins.integers(0, 2**32, n * (2 + shown)).tolist(),
            ],
            None,
        )
        for kind, flipped in zip(("CMS", "HCMS"), flips, strict=True)
        for _ in range(20)
    ]
    runs = np.array(answers_of(calls)) - counts[:shown]
    for part, kind in ((runs[:20], "CMS"), (runs[20:], "HCMS")):
        scale = theory(
            kind, dict(zip(names, counts.tolist(), strict=True)), epsilon=epsilon, width=width, functions=functions
        )
        standard = part / scale
        assert abs(float((standard**2).mean()) - 1) < 6 * (2 / 20) ** 0.5
        assert abs(float(standard.mean())) < 6 / 20**0.5


def test_the_words_that_are_shown_are_those_the_library_finds() -> None:
    rows = compute((50_000,), SequenceFragmentPuzzle(epsilon_fragments=4, epsilon_strings=4))
    stored = DATA["found"]["50000 8"]
    assert stored["estimates"] == {row["word"]: round(row["estimate"], 6) for row in rows if row["found"]}
    assert stored["false"] == [row["word"] for row in rows if row["found"] and row["rank"] is None]


def test_the_emoji_that_are_shown_are_as_frequent_as_the_library_has_them() -> None:
    assert [tuple(one) for one in DATA["emoji"]] == list(populations.emoji(100_000, different=150).items())
