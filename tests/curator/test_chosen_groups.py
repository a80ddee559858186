"""What HAVING, LIMIT and the limits of units leave of an answer, and what a reader is told of it."""

from __future__ import annotations

import pandas as pd
import pytest
from cases import together

import lapwing as lw

TOWNS = [f"t{i:02}" for i in range(50)]


@pytest.fixture(scope="module")
def equal() -> lw.PrivateTable:
    """Every town has 100 people."""
    rows = {"id": range(5000), "town": [TOWNS[i % 50] for i in range(5000)], "age": [i % 90 for i in range(5000)]}
    return lw.open(pd.DataFrame(rows), name="d", unit="id", keys={"town": TOWNS}, bounds={"age": (0, 100)})


@pytest.fixture(scope="module")
def flights() -> lw.PrivateTable:
    """Every plane flies from all three airports."""
    rows = {"plane": [i % 40 for i in range(120)], "origin": [("EWR", "JFK", "LGA")[i // 40] for i in range(120)]}
    return lw.open(pd.DataFrame(rows), unit="plane", keys={"origin": ["EWR", "JFK", "LGA"]})


CHOSEN = "the groups shown were chosen by the noisy"


@together(
    "sql, chosen",
    [
        ("SELECT town, COUNT(*) AS n FROM d GROUP BY town ORDER BY n DESC LIMIT 5", "n"),
        ("SELECT town, COUNT(*) AS n FROM d GROUP BY town HAVING n > 105", "n"),
        ("SELECT town, COUNT(*) AS n, AVG(age) AS a FROM d GROUP BY town HAVING n > 105 AND a > 20", "n and a"),
        ("SELECT town, COUNT(*) AS n FROM d GROUP BY town ORDER BY n DESC", ""),
        ("SELECT town, COUNT(*) AS n FROM d GROUP BY town ORDER BY town LIMIT 5", ""),
        ("SELECT town, COUNT(*) AS n FROM d GROUP BY town HAVING town <> 't01'", ""),
        ("SELECT town, COUNT(*) AS n FROM d GROUP BY town LIMIT 5", ""),
    ],
)
def test_groups_that_were_chosen_by_noisy_numbers_say_so(equal: lw.PrivateTable, sql: str, chosen: str) -> None:
    for notes in (equal.query(sql).quote(epsilon=0.5).notes, equal.sql(sql, epsilon=0.5).notes):
        assert [note for note in notes if CHOSEN in note] == (
            [note for note in notes if note.startswith(f"{CHOSEN} {chosen}. ")] if chosen else []
        )
        assert any(CHOSEN in note for note in notes) == bool(chosen)


def test_a_number_that_chooses_but_is_not_shown_has_no_interval_to_warn_of(equal: lw.PrivateTable) -> None:
    for sql in (
        "SELECT town FROM d GROUP BY town HAVING COUNT(*) > 95",
        "SELECT town, COUNT(*) / 2 AS half FROM d GROUP BY town ORDER BY half DESC LIMIT 2",
    ):
        [note] = [note for note in equal.query(sql).quote(epsilon=1).notes if CHOSEN in note]
        assert note == f"{CHOSEN} count. A group that was left out may belong here"


def test_intervals_of_chosen_groups_hold_less_often_and_others_as_often_as_stated(equal: lw.PrivateTable) -> None:
    """Why the note is there: the largest of equal groups are those whose noise was largest."""
    every, largest = "SELECT town, COUNT(*) AS n FROM d GROUP BY town", " ORDER BY n DESC LIMIT 1"
    held = {}
    for sql in (every, every + largest):
        spans = [span for _ in range(60) for span in equal.sql(sql, epsilon=0.5).columns[1].noise or ()]
        held[sql] = sum(low <= 100 <= high for low, high in spans) / len(spans)
    assert held[every] > 0.9  # 96.7 %, of 3,000
    assert held[every + largest] < 0.76  # 43 %, of 60: more than so many with a probability below 10^-6


def test_the_most_frequent_secret_keys_say_that_noise_chose_them(equal: lw.PrivateTable) -> None:
    rows = {"id": range(5000), "town": [TOWNS[i % 50] for i in range(5000)]}
    answer = lw.open(pd.DataFrame(rows), unit="id").agg(lw.top_k("town", 3)).release(epsilon=3, delta=1e-6)
    assert any(note.startswith(f"{CHOSEN} units") for note in answer.notes)
    assert "limit 3" in answer.provenance["question"]


def test_a_rank_is_said_to_be_noisy(equal: lw.PrivateTable) -> None:
    answer = equal.agg(lw.top_k("town", 3)).release(epsilon=3)
    assert "top(town, 3)" in answer.provenance["question"]
    assert "rank: 1 is the key with the most ids; it comes from noisy numbers" in answer.explain().text


def test_units_that_count_in_some_groups_only_say_so(flights: lw.PrivateTable) -> None:
    """1,480 planes from EWR was explained as "the number of different planes", which was 3,040."""
    asked = flights.group_by("origin").agg(lw.units())
    answer = asked.release(epsilon=20)
    assert sum(answer["units"]) < 60
    assert "units: the number of different planes among the rows used." in answer.explain().text
    note = "units: each plane counts in one group at most, even if it has rows in more. To count it in all of them, "
    assert f"{note}raise max_groups_per_unit" in answer.notes
    wide = asked.bounded(max_groups_per_unit=3).release(epsilon=20)
    assert min(wide["units"]) > 35
    assert not any("in more" in note for note in wide.notes)
    assert "units: the number of different planes." in flights.agg(lw.units()).release(epsilon=20).explain().text


def test_a_histogram_says_its_bins_in_the_question(equal: lw.PrivateTable) -> None:
    asked = equal.agg(lw.histogram("age", edges=[0, 25.5, 60, 90]))
    assert asked.quote(epsilon=1).question == "d → group by age in 3 bins from 0 to 90 → count(*) as count"


def test_what_everything_else_holds_is_said(equal: lw.PrivateTable) -> None:
    rows = pd.DataFrame({"id": range(30), "sex": ["f", "m", None] * 10})
    table = lw.open(rows, unit="id", keys={"sex": ["f"]})
    answer = table.group_by("sex", everything_else=True).agg(lw.count()).release(epsilon=20)
    assert answer["count"][1] >= 15  # the missing ones, too
    assert "everything else: rows whose sex is missing, or is not a declared key" in answer.notes
