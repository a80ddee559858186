"""The crowd that the explorer of sketches draws, and the emoji and words that it shows, are those of the library."""

from __future__ import annotations

import json

import numpy as np
from browser import FRONTEND, Call, answers_of
from comparisons.sketches import SALT

from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.experiments import populations
from lapwing.experiments.discovery import compute
from lapwing.experiments.sketches import theory

DATA = json.loads((FRONTEND / "src" / "data" / "sketches.json").read_text(encoding="utf-8"))


def test_a_simulated_crowd_is_estimated_without_bias_and_as_far_off_as_theory_says() -> None:
    """Twenty crowds with fixed coins: mean and mean square of their standardised errors, within six standard errors."""
    weights = [count for _, count in DATA["emoji"]]
    names = [name for name, _ in DATA["emoji"]]
    n, shown, functions, width, epsilon = 2000, 10, 64, 64, 4
    coins = np.random.default_rng(5)
    [people, where, *flips] = answers_of(
        [
            ("sketches", "people", [weights, n], None),
            ("sketches", "places", [names, functions, width, SALT], None),
            ("sketches", "flip", ["CMS", epsilon], None),
            ("sketches", "flip", ["HCMS", epsilon], None),
        ]
    )
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
