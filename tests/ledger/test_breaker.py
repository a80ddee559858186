"""A failure is on record before it is shown; it stops its analyst, then everybody, until the owner has looked."""

from __future__ import annotations

import sqlite3
import stat
from fractions import Fraction
from pathlib import Path

import pytest

from lapwing.errors import ChargeTooSmall, DatasetClosed, InvalidParameter, LedgerDamaged, TooManyQuestions
from lapwing.privacy import Ledger, PureDP, Rules

EIGHTH = PureDP(Fraction(1, 8))


def test_a_failure_stops_its_analyst_and_the_third_closes_the_data_set(ledger: Ledger, place: str) -> None:
    ledger.trip(["people"], "row 17 is secret", analyst="ada", charge=1)
    with pytest.raises(DatasetClosed, match="'people' is closed for 'ada'") as caught:
        ledger.charge("people", EIGHTH, analyst="ada")
    assert (caught.value.dataset, caught.value.analyst) == ("people", "ada")
    assert "secret" not in str(caught.value)
    Ledger(place).charge("people", EIGHTH, analyst="bob")
    ledger.trip(["people"], "", analyst="bob")
    ledger.charge("people", EIGHTH)
    ledger.trip(["people"], "")
    for who in ("", "ada", "carol"):
        with pytest.raises(DatasetClosed, match="'people' is closed: "):
            Ledger(place).charge("people", EIGHTH, analyst=who)
    assert ledger.remaining("people") == PureDP(Fraction(3, 4))
    assert [one.analyst for one in ledger.failures("people")] == ["ada", "bob", ""]
    ledger.reopen("people")
    Ledger(place).charge("people", EIGHTH, analyst="ada")
    assert ledger.failures("people") == []
    ledger.verify()


def test_what_was_under_way_when_its_analyst_was_stopped_is_neither_answered_nor_counted(ledger: Ledger) -> None:
    ledger.open("drugs", PureDP(1))
    one, other, late = (ledger.charge(["people", "drugs"], EIGHTH, analyst="eve") for _ in range(3))
    assert ledger.trip(["people"], "first", analyst="eve", charge=one.number) is None
    withheld = ledger.trip(["people", "drugs"], "second", analyst="eve", charge=other.number)
    with pytest.raises(DatasetClosed) as refused:
        ledger.record(late, b"an answer", datasets=["people", "drugs"], analyst="eve")
    assert str(withheld) == str(refused.value)
    ledger.charge("drugs", EIGHTH, analyst="eve")  # that would tell that the second one failed
    assert [failed.charge for failed in ledger.failures("people")] == [one.number, other.number]
    assert [failed.charge for failed in ledger.failures("drugs")] == [other.number]
    ledger.verify()
    ledger.reopen("people")
    assert ledger.record(late, b"an answer", datasets=["people", "drugs"], analyst="eve") == b"an answer"


def test_a_join_stops_the_analyst_in_every_data_set_it_touches(ledger: Ledger) -> None:
    for name in ("drugs", "other"):
        ledger.open(name, PureDP(1))
    ledger.trip(["people", "drugs"], "", analyst="ada")
    for name in ("people", "drugs", ["drugs", "other"]):
        with pytest.raises(DatasetClosed):
            ledger.charge(name, EIGHTH, analyst="ada")
    ledger.charge("other", EIGHTH, analyst="ada")
    ledger.reopen("drugs")
    ledger.charge("drugs", EIGHTH, analyst="ada")
    with pytest.raises(DatasetClosed):
        ledger.charge("people", EIGHTH, analyst="ada")


def test_a_stored_answer_is_given_also_when_the_data_set_is_closed(ledger: Ledger) -> None:
    done = ledger.charge("people", EIGHTH, analyst="ada", key="done")
    ledger.record(done, b"42")
    ledger.charge("people", EIGHTH, analyst="ada", key="open")
    ledger.trip(["people"], "", analyst="ada")
    assert ledger.charge("people", EIGHTH, analyst="ada", key="done").stored == b"42"
    with pytest.raises(DatasetClosed):  # paid for, but it would read again
        ledger.charge("people", EIGHTH, analyst="ada", key="open")


def test_what_the_engine_said_is_for_the_owner_alone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1))
    ledger.trip(["people"], "row 17 is secret\nand long" + "." * 10**6)
    file = tmp_path / "ledger.db-failures"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [failure] = ledger.failures("people")
    assert failure.said is not None
    assert failure.said.startswith("row 17 is secret\nand long")
    assert len(file.read_bytes()) < 10**5
    assert all("secret" not in str(entry.body) for entry in ledger.entries())


def test_a_report_that_cannot_be_written_does_not_keep_the_breaker_from_tripping(tmp_path: Path) -> None:
    (tmp_path / "ledger.db-failures").symlink_to("/nowhere/at/all")
    ledger = Ledger(tmp_path / "ledger.db", failures=None)
    ledger.open("people", PureDP(1))
    ledger.trip(["people"], "said")
    assert ledger.failures("people")[0].said is None
    with pytest.raises(DatasetClosed):
        ledger.charge("people", EIGHTH)


def test_reports_go_to_a_declared_place(place: str, tmp_path: Path) -> None:
    ledger = Ledger(place, failures=tmp_path / "owner" / ".." / "reports")
    ledger.open("people", PureDP(1))
    ledger.trip(["people"], "said")
    assert Ledger(place, failures=tmp_path / "reports").failures("people")[0].said == "said"


def test_a_question_costs_a_ten_thousandth_of_the_allowance_at_least(ledger: Ledger) -> None:
    ledger.charge("people", PureDP(Fraction(1, 10_000)))
    ledger.charge("people", PureDP(0.0001))
    with pytest.raises(ChargeTooSmall, match=r"costs at least ε = 0\.0001") as caught:
        ledger.charge("people", PureDP(1e-9))
    assert caught.value.dataset == "people"
    assert ledger.spent("people") <= PureDP(0.00021)


def test_an_analyst_asks_so_many_questions_and_replays_are_free(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("people", PureDP(1), rules=Rules(questions=2))
    for number in range(2):
        ledger.record(ledger.charge("people", EIGHTH, analyst="ada", key=str(number)), b"x")
    assert ledger.charge("people", EIGHTH, analyst="ada", key="1").stored == b"x"
    with pytest.raises(TooManyQuestions, match="'ada' has asked 2 questions of 'people'"):
        ledger.charge("people", EIGHTH, analyst="ada")
    ledger.charge("people", EIGHTH, analyst="bob")


def test_rules_become_stricter_only(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("people", PureDP(1), rules=Rules(failures=2, parts=10**6))
    ledger.open("people", PureDP(1), rules=Rules(failures=1, parts=10**6))
    assert ledger.rules("people") == Rules(failures=1, parts=10**6)
    with pytest.raises(InvalidParameter, match="only become stricter"):
        ledger.open("people", PureDP(1), rules=Rules(failures=2, parts=10**6))
    ledger.charge("people", PureDP(1e-6))
    ledger.trip(["people"], "", analyst="ada")
    with pytest.raises(DatasetClosed, match="'people' is closed: "):
        ledger.charge("people", EIGHTH, analyst="bob")
    for wrong in ({"failures": 0}, {"questions": -1}, {"parts": 2**50}):
        with pytest.raises(InvalidParameter):
            Rules(**wrong)


def test_the_first_ledgers_are_renewed_and_their_questions_counted(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1))
    ledger.charge("people", EIGHTH, analyst="ada")
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute("DROP TABLE rule")
        connection.execute("DROP TABLE standing")
    connection.close()
    again = Ledger(tmp_path / "ledger.db")
    again.charge("people", EIGHTH, analyst="ada")
    again.verify()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        assert connection.execute("SELECT * FROM standing").fetchall() == [("people", "ada", 2, 0)]
    connection.close()


@pytest.mark.parametrize(
    "forgery", ["UPDATE standing SET failures = 0", "DELETE FROM standing", "UPDATE rule SET failures = 9"]
)
def test_a_failure_that_was_wiped_away_is_found(tmp_path: Path, forgery: str) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1), rules=Rules(failures=1))
    ledger.trip(["people"], "")
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        connection.execute(forgery)
    connection.close()
    with pytest.raises(LedgerDamaged):
        Ledger(tmp_path / "ledger.db")
