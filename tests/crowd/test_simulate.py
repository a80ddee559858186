"""A simulated collection is the real one, piece by piece."""

from __future__ import annotations

import numpy as np
import pytest
from cases import together
from scipy import stats

from lapwing.crowd import Answers, CountMeanSketch, Counts, UnaryEncoding
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.crowd.simulate import People, simulate
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Reproducible

FALSE_ALARM = 1e-6
POLL = UnaryEncoding.from_epsilon(epsilon=1, domain=["bus", "bike", "car", "train"])
WIDE = UnaryEncoding.from_epsilon(epsilon=3, symmetric=True, domain=2048)
TOWN = {"bus": 20_000, "bike": 0, "car": 70_001, "train": 9_999, "horse": 500}


def at_once(protocol: UnaryEncoding, values: object, seed: int) -> Counts:
    return protocol.absorb(None, protocol.randomize(values, Reproducible(seed)))


@pytest.mark.parametrize("protocol", [POLL, WIDE], ids=["narrow", "wide"])
def test_pieces_give_the_counts_of_all_reports_at_once(protocol: UnaryEncoding) -> None:
    people = np.arange(60_000) * 7 % 2048
    run = simulate(protocol, people, entropy=Reproducible(5))
    assert run.reports == 60_000
    assert protocol is not WIDE or len(people) > 3 * protocol.block  # there are several pieces
    assert run.counts == at_once(protocol, people, 5)


def test_a_table_of_counts_is_the_same_population_as_a_list() -> None:
    listed = Answers.counted({label: 40 * label % 97 for label in range(2048)})
    counted = {label: 40 * label % 97 for label in range(2048)}
    assert len(listed) > 3 * WIDE.block
    one = simulate(WIDE, listed, entropy=Reproducible(6))
    other = simulate(WIDE, counted, entropy=Reproducible(6))
    assert one.counts == other.counts
    assert one.truth == other.truth == counted


def test_a_piece_of_a_population_holds_the_right_people() -> None:
    people = People.of({"a": 3, "b": 0, "c": 4, "d": 1})
    everybody = list("aaaccccd")
    for start in range(8):
        for stop in range(start + 1, 9):
            piece = people[slice(start, stop)]
            assert [piece.labels[place] for place in piece.places] == everybody[start:stop]


def test_a_piece_of_a_list_forgets_labels_that_nobody_in_it_gives() -> None:
    piece = People.of(list("abcdefgh"))[slice(2, 4)]
    assert list(piece.labels) == ["c", "d"]
    assert piece.places.tolist() == [0, 1]


def test_two_threads_lose_nobody() -> None:
    run = simulate(WIDE, np.arange(100_000) % 2048, entropy=SYSTEM)
    assert run.reports == run.counts.n == 100_000
    squares = float((run.errors().standardized ** 2).sum())
    assert stats.chi2.sf(squares, 2048) > FALSE_ALARM
    assert stats.chi2.cdf(squares, 2048) > FALSE_ALARM


def test_large_tables_are_added_up_for_many_blocks_of_people_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.crowd.protocol.BLOCK_BITS", 1 << 14)
    sketch = CountMeanSketch(epsilon=4, functions=16, width=64)
    pieces: list[int] = []
    run = simulate(sketch, TOWN, progress=lambda done, total: pieces.append(done), entropy=Reproducible(8))
    assert pieces[0] % sketch.block == 0
    assert sketch.block < pieces[0] < pieces[-1] == 100_500
    assert run.counts == sketch.absorb(None, sketch.randomize(Answers.counted(TOWN), Reproducible(8)))
    assert run.estimate(["car"])["car"] > 50_000


def test_errors_compare_with_the_truth() -> None:
    run = simulate(POLL, TOWN, entropy=Reproducible(7))
    errors = run.errors()
    assert list(errors.estimates.labels) == ["bus", "bike", "car", "train"]
    assert errors.truth.tolist() == [20_000, 0, 70_001, 9_999]
    assert errors.rows()[2] == {
        "answer": "car",
        "truth": 70_001,
        "estimate": errors.estimates["car"],
        "standard_errors_off": errors.standardized[2],
    }
    squares = float((errors.standardized**2).sum())
    assert stats.chi2.sf(squares, len(errors.truth)) > FALSE_ALARM
    assert errors.root_mean_square <= errors.largest
    assert run.estimate(confidence=0.5).confidence == 0.5


def test_progress_ends_at_everybody() -> None:
    told: list[tuple[int, int]] = []
    simulate(WIDE, np.arange(50_000) % 2048, progress=lambda *now: told.append(now), entropy=Reproducible(1))
    assert told[-1] == (50_000, 50_000)
    assert len(told) > 2
    assert told == sorted(told)


def test_a_bar_is_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    simulate(POLL, TOWN, progress=True, entropy=Reproducible(1))
    assert capfd.readouterr() == ("", "")


def test_what_it_took_is_stated() -> None:
    run = simulate(WIDE, {1: 100_000}, entropy=Reproducible(2))
    assert run.bytes_per_report == 256
    assert run.held_bytes == WIDE.block * 256 + 2 * 2048 * 8
    assert "100,000 reports of UnaryEncoding, 2,048 bits each" in repr(run)
    assert run.nanoseconds_per_report == 1e9 * run.seconds / 100_000


def test_nobody_is_a_population_too() -> None:
    for nobody in ({}, [], {"bus": 0}):
        run = simulate(POLL, nobody)
        assert run.reports == 0
        assert run.counts == POLL.empty()


@pytest.mark.parametrize("strange", [[None, float("nan"), "\ud800", object(), [1]], {"bus": 2, None: 3}])
def test_strange_answers_are_people_too(strange: object) -> None:
    assert simulate(POLL, strange).reports == 5


@together("wrong", [{"bus": -1}, {"bus": 1.5}, "bus", 7])
def test_what_is_no_population_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameter):
        simulate(POLL, wrong)


def test_where_nothing_is_found_nothing_is_off() -> None:
    puzzle = SequenceFragmentPuzzle(epsilon_fragments=1, epsilon_strings=1, functions=4, width=8, length=2)
    errors = simulate(puzzle, {"ab": 3}, entropy=Reproducible(1)).errors()
    assert len(errors.estimates) == 0
    assert errors.largest == errors.root_mean_square == 0
    assert errors.rows() == []
