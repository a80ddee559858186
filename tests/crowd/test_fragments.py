"""The sequence fragment puzzle: strings that nobody listed are found, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from cases import together
from chance import FALSE_ALARM, assert_follows, assert_seldom
from scipy import stats

from lapwing.crowd.count_mean_sketch import CountMeanSketch
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.items import Answers
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

SMALL = SequenceFragmentPuzzle(
    epsilon_fragments=4, epsilon_strings=4, functions=64, width=64, length=6, alphabet="abcdef", pieces=16, salt="sfp"
)


def words(count: int, length: int, alphabet: str, seed: int = 3) -> list[str]:
    letters = np.random.default_rng(seed).integers(0, len(alphabet), (count, length))
    return list(dict.fromkeys("".join(alphabet[place] for place in row) for row in letters.tolist()))


def found_in(puzzle: SequenceFragmentPuzzle, people: Any, seed: int = 1, **options: Any) -> Any:
    return puzzle.estimate(puzzle.absorb(None, puzzle.randomize(people, Reproducible(seed))), **options)


def test_frequent_strings_are_found_and_no_others() -> None:
    puzzle = SequenceFragmentPuzzle(
        epsilon_fragments=4, epsilon_strings=4, functions=256, width=256, length=8, alphabet="abcdefghij", salt="sfp"
    )
    strings = words(200, 8, "abcdefghij")
    people = Answers.counted({string: int(40_000 / rank**1.3) for rank, string in enumerate(strings, 1)})
    truth, n = people.counts(), len(people)
    found = found_in(puzzle, people)
    assert {string for string in strings if truth[string] > 0.02 * n} <= set(found.labels)
    assert set(found.labels) <= set(strings)
    assert found.counts.tolist() == sorted(found.counts, reverse=True)
    off = (found.counts - [truth[string] for string in found.labels]) / found.population_standard_error
    assert abs(off).max() < stats.norm.isf(FALSE_ALARM / 2 / len(off))


def test_shorter_strings_are_filled_and_longer_ones_cut() -> None:
    people = Answers.counted({"abc": 4000, "fedcba": 4000, "abcdefabcdef": 4000})
    assert set(found_in(SMALL, people).labels) == {"abc", "fedcba", "abcdef"}


@together(("length", "fragment"), [(6, 1), (6, 3), (3, 3), (4, 2)])
def test_fragments_and_strings_of_any_length(length: int, fragment: int) -> None:
    puzzle = SequenceFragmentPuzzle(
        epsilon_fragments=5,
        epsilon_strings=5,
        functions=32,
        width=64,
        length=length,
        fragment=fragment,
        alphabet="xyz",
        padding="_",
        pieces=8,
    )
    strings = {"xyzzyx"[:length]: 6000, "zzyyxx"[:length]: 6000}
    assert set(found_in(puzzle, Answers.counted(strings)).labels) == set(strings)


def test_what_is_not_of_the_alphabet_is_counted_and_never_found() -> None:
    strange = [None, float("nan"), "\ud800", b"\xff", ["a"], 17, object(), "ÄÖÜ", ""]
    reports = SMALL.randomize(strange * 500, Reproducible(1))
    counts = SMALL.absorb(None, reports)
    assert counts.n == 500 * len(strange)
    assert set(SMALL.estimate(counts).labels) <= {""}


def test_a_report_is_a_position_and_two_independent_sketch_reports() -> None:
    answer, n = "fade", 20_000
    reports = SMALL.randomize([answer] * n, Reproducible(4))
    position, fragment_function, fragment_rows, string_function, string_rows = reports.columns
    assert_follows(position, lambda place: 1 / 3, range(3))
    string, piece = "fade  ", SMALL._piece("fade  ")
    sketches = {
        "strings": (SMALL._strings, string_function, string_rows, [string] * n),
        "fragments": (
            SMALL._fragments,
            fragment_function,
            fragment_rows,
            [f"{piece}\0{string[2 * place : 2 * place + 2]}" for place in position.tolist()],
        ),
    }
    for sketch, function, rows, items in sketches.values():
        law = cell_ones(sketch, function, rows, items)
        assert stats.binomtest(law, n, float(1 - sketch.flip)).pvalue > FALSE_ALARM
    pairs = np.bincount(fragment_function.astype(int) % 4 * 4 + string_function % 4, minlength=16)
    assert stats.chisquare(pairs).pvalue > FALSE_ALARM


def cell_ones(sketch: CountMeanSketch, function: Any, rows: Any, items: list[str]) -> int:
    """How many reports have a one in the cell of their item."""
    from lapwing.crowd import hashing
    from lapwing.crowd.bits import bits_at

    hashed = hashing.hashed_items(items, sketch.salt.encode())
    places = hashing.cells(hashed, hashing.rows(sketch.functions, sketch.salt.encode())[:, function], sketch.width)
    return int(bits_at(rows, places).sum())


def test_the_loss_is_the_sum_of_both_sketches() -> None:
    puzzle = SequenceFragmentPuzzle(epsilon_fragments=2, epsilon_strings=6)
    parts = [CountMeanSketch(epsilon=epsilon, functions=1024, width=1024).privacy_loss() for epsilon in (2, 6)]
    assert puzzle.privacy_loss() == parts[0] + parts[1]
    assert puzzle.privacy_loss().epsilon <= 8


def test_every_position_has_its_own_table_and_strings_the_last() -> None:
    reports = SMALL.randomize(["abcdef"] * 3000, Reproducible(2))
    table = SMALL.absorb(None, reports).table
    assert table.shape == (4, 64, 65)
    assert table[:3, :, 64].sum(axis=1).tolist() == np.bincount(reports.columns[0]).tolist()
    assert table[3, :, 64].sum() == 3000
    parts = [SMALL.absorb(None, reports[part]) for part in (slice(0, 1000), slice(1000, 3000))]
    assert ((parts[0] + parts[1]).table == table).all()


@together("expected", [0.5, 2.0, 4.0])
def test_as_many_false_fragments_pass_as_the_threshold_promises(expected: float) -> None:
    puzzle = SequenceFragmentPuzzle(
        epsilon_fragments=2, epsilon_strings=1, functions=64, width=256, length=6, alphabet="abcdefghijklm", pieces=64
    )
    people = Answers(words(2000, 6, "nopqrstuvw"), np.arange(40_000) % 1900)
    apart = puzzle._standing_out(puzzle.absorb(None, puzzle.randomize(people, Reproducible(8))))
    share = expected / 14**2
    passed, everything = int((apart > NormalDist().inv_cdf(1 - share)).sum()), apart.size
    assert everything == 3 * 64 * 14**2
    assert stats.binomtest(passed, everything, share).pvalue > FALSE_ALARM


def test_a_threshold_that_leaves_too_many_strings_rises() -> None:
    counts = SMALL.absorb(None, SMALL.randomize(["abcdef"] * 3000, Reproducible(2)))
    low = SMALL.estimate(counts, false_fragments=8)
    high = SMALL.estimate(counts, false_fragments=8, most_strings=50)
    looked_up = [int(one.remark.split()[2].replace(",", "")) for one in (low, high)]
    assert looked_up[1] <= 50 < looked_up[0]
    assert high.labels == ["abcdef"]


def test_a_string_that_everybody_has_makes_no_false_ones() -> None:
    """Its collisions are far from normal: 64 functions of 64 cells."""
    named = 0
    for run in range(20):
        puzzle = replace(SMALL, salt=f"run {run}")
        found = found_in(puzzle, ["abcdef"] * 3000, seed=run, false_fragments=8)
        assert "abcdef" in found.labels
        named += len(found) > 1
    assert_seldom(named, 20, 0.05)


@together("options", [{"false_fragments": 1e-20}, {"confidence": 1 - 2**-53}, {"confidence": 1e-9}])
def test_thresholds_may_be_extreme(options: dict[str, float]) -> None:
    counts = SMALL.absorb(None, SMALL.randomize(["abcdef"] * 3000, Reproducible(2)))
    assert "abcdef" in SMALL.estimate(counts, **options).labels


def test_a_threshold_that_every_fragment_passes_is_refused() -> None:
    with pytest.raises(InvalidParameter) as caught:
        SMALL.estimate(SMALL.empty(), false_fragments=49)
    assert caught.value.name == "false_fragments"


def test_nothing_stands_out_at_a_position_that_nobody_reported() -> None:
    reports = SMALL.randomize(["abcdef"] * 50, Reproducible(1))
    first = reports[np.flatnonzero(reports.column("position") == 0)]
    np.full(SMALL.positions * SMALL.pieces * 49, np.inf)  # what memory may have held before
    apart = SMALL._standing_out(SMALL.absorb(None, first))
    assert apart[0].any()
    assert not apart[1:].any()


def test_strings_are_joined_only_from_fragments_of_their_own_piece() -> None:
    texts = SMALL._texts()
    string = "cafe  "
    kept = np.zeros((3, 16, len(texts)), dtype=bool)
    for position in range(3):
        kept[position, :, texts.index(string[2 * position : 2 * position + 2])] = True
        kept[position, :, texts.index("dd")] = True
    pieces = {
        other: SMALL._piece(other) for other in map("".join, product(*([("ca", "dd"), ("fe", "dd"), ("  ", "dd")])))
    }
    assert sorted(SMALL._joined(kept)) == sorted(pieces)
    kept[:, pieces[string]] = False
    assert sorted(SMALL._joined(kept)) == sorted(other for other in pieces if pieces[other] != pieces[string])


def test_no_reports_find_nothing() -> None:
    nothing = SMALL.estimate(SMALL.empty())
    assert list(nothing.labels) == []
    assert nothing.interval()[0].shape == (0,)


@together(
    ("name", "value"),
    [
        ("epsilon_fragments", 0),
        ("epsilon_strings", float("nan")),
        ("length", 9),
        ("fragment", 0),
        ("alphabet", "aa"),
        ("alphabet", ["a", "b"]),
        ("padding", ""),
        ("pieces", 0),
        ("fragment", 5),
        ("salt", "\0"),
        ("epsilon_fragments", 100),
        ("epsilon_strings", 1e-20),
        ("alphabet", "ab\ufffd"),
    ],
)
def test_wrong_parameters_are_named(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameter) as caught:
        SequenceFragmentPuzzle(**{"epsilon_fragments": 1, "epsilon_strings": 1, name: value})
    assert caught.value.name == name


def test_sizes_without_end_are_refused_at_once() -> None:
    for sizes in ({"length": 10**9}, {"length": 10**9, "fragment": 10**9}, {"functions": 1 << 24, "width": 1 << 20}):
        with pytest.raises(InvalidParameter, match="more than"):
            SequenceFragmentPuzzle(epsilon_fragments=1, epsilon_strings=1, **sizes)


def test_pieces_never_change() -> None:
    assert [SMALL._piece(string) for string in ("abcdef", "", "ü")] == [15, 0, 11]  # checked with sha256sum
