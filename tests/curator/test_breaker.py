"""A failure is told apart by when it happens, and says nothing but that it happened."""

from __future__ import annotations

import gzip
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest

import lapwing as lw
from lapwing.curator.ask import central as releasing
from lapwing.curator.ask.breaker import read
from lapwing.curator.ask.columns import Reading
from lapwing.errors import DatasetClosed, EngineFailed, EngineUnreachable


@pytest.fixture
def visits(tmp_path: Path) -> lw.PrivateTable:
    (tmp_path / "visits.csv").write_text("who,age\n" + "".join(f"{i},{i % 90}\n" for i in range(50)))
    return lw.open(tmp_path / "visits.csv", unit="who", bounds={"age": (0, 120)})


def ask(table: lw.PrivateTable, **options: Any) -> lw.Answer:
    return table.agg(lw.count(), lw.mean("age")).release(**{"epsilon": 1.0, **options})


def stumble(reading: Reading) -> None:
    """An engine that fails at a record, and quotes it."""
    from sqlglot import exp

    reading.fetch(exp.select(exp.cast(exp.Literal.string("a secret record"), "INT")))


def wrong(reading: Reading) -> None:
    """A mistake of ours that only a strange record reveals."""
    reading.begin()
    raise TypeError("a secret record")


@pytest.mark.parametrize("failing", [stumble, wrong])
def test_a_failure_after_reading_began_says_nothing_about_it(
    visits: lw.PrivateTable, failing: Callable[[Reading], None]
) -> None:
    with pytest.raises(EngineFailed) as caught:
        read(visits.context, failing)
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    shown = [repr(list(frame.f_locals.values())) for frame in frames if "lapwing" in frame.f_globals["__name__"]]
    assert not any("a secret record" in variables for variables in shown)
    assert str(caught.value) == str(EngineFailed("DuckDB"))


def test_a_file_that_is_gone_is_found_before_anything_is_read(visits: lw.PrivateTable, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").unlink()
    with pytest.raises(EngineUnreachable):
        ask(visits)


def test_a_file_that_breaks_off_while_it_is_copied_is_a_failure_on_record(tmp_path: Path) -> None:
    rows = "who,age\n" + "".join(f"{i},{i % 90}\n" for i in range(5000))
    packed = gzip.compress(rows.encode("latin-1"))
    (tmp_path / "visits.csv").write_bytes(packed[: len(packed) // 2])
    table = opened(tmp_path, encoding="latin-1")
    with pytest.raises(EngineFailed):
        ask(table)
    assert len(lw.Ledger(tmp_path / "ledger.db").failures("visits")) == 1
    with pytest.raises(DatasetClosed):
        ask(table)


def test_a_table_whose_types_have_changed_is_not_read() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS who, range % 90 AS age FROM range(50)")
    table = lw.open(connection, table="t", unit="who", bounds={"age": (0, 120)})
    ask(table)
    connection.execute("ALTER TABLE t ALTER age TYPE VARCHAR")
    with pytest.raises(EngineUnreachable):
        ask(table)


def test_an_interrupt_passes_as_it_is(visits: lw.PrivateTable, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **named: Any) -> None:
        arguments[3].begin()
        raise KeyboardInterrupt

    monkeypatch.setattr(releasing, "look", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask(visits)


def opened(folder: Path, name: str = "visits", **options: Any) -> lw.PrivateTable:
    facts: dict[str, Any] = {"unit": "who", "bounds": {"age": (0, 120)}, "allowance": lw.PureDP(8)}
    return lw.open(folder / "visits.csv", **{**facts, "name": name, "ledger": folder / "ledger.db", **options})


def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **named: Any) -> None:
        arguments[3].begin()
        raise MemoryError("a secret record")

    monkeypatch.setattr(releasing, "look", fail)


def test_a_failure_is_in_the_ledger_before_it_is_shown_and_stops_the_analyst(
    visits: lw.PrivateTable, tmp_path: Path
) -> None:
    table = opened(tmp_path, analyst="ada")
    ask(table)
    with pytest.MonkeyPatch.context() as patch:
        failing(patch)
        with pytest.raises(EngineFailed) as caught:
            ask(table, key="q")
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    ledger = lw.Ledger(tmp_path / "ledger.db")
    [failure] = ledger.failures("visits")
    assert failure.analyst == "ada"
    assert "a secret record" in str(failure.said)
    for key in (None, "q"):
        with pytest.raises(DatasetClosed, match="for 'ada'"):
            ask(table, key=key)
    assert ledger.spent("visits") == lw.PureDP(2, unit="who")  # the failure was charged for, the refusals were not
    ask(opened(tmp_path, analyst="bob"))
    ledger.reopen("visits")
    ask(table, key="q")
    assert ledger.spent("visits") == lw.PureDP(3, unit="who")


def test_a_join_that_fails_stops_the_analyst_in_both_data_sets(
    visits: lw.PrivateTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = opened(tmp_path), opened(tmp_path, "drugs")
    failing(monkeypatch)
    with pytest.raises(EngineFailed):
        ask(one.join(other))
    for table in (one, other):
        with pytest.raises(DatasetClosed):
            ask(table)


def test_an_interrupt_and_what_fails_before_reading_are_charged_and_trip_nothing(
    visits: lw.PrivateTable, tmp_path: Path
) -> None:
    table = opened(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        test_an_interrupt_passes_as_it_is(table, patch)
    moved = (tmp_path / "visits.csv").rename(tmp_path / "away.csv")
    with pytest.raises(EngineUnreachable):
        ask(table)
    moved.rename(tmp_path / "visits.csv")
    ask(table)
    assert lw.Ledger(tmp_path / "ledger.db").spent("visits") == lw.PureDP(3, unit="who")


def test_without_a_ledger_a_failure_closes_what_was_opened(
    visits: lw.PrivateTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = lw.open(tmp_path / "visits.csv", unit="who", bounds={"age": (0, 120)})
    with pytest.MonkeyPatch.context() as patch:
        failing(patch)
        with pytest.raises(EngineFailed):
            ask(visits.where("age > 3"))
    with pytest.raises(DatasetClosed, match=r"open the table again with lw\.open"):
        ask(visits)
    ask(again)


def ended_in_order(table: lw.PrivateTable, fails: list[bool], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What questions show that all began to read before the first of them ended; they end one after the other."""
    began, turns, look = threading.Barrier(len(fails)), [threading.Event() for _ in fails], releasing.look

    def one_of_them(query: Any, items: Any, confidence: float, reading: Reading, entropy: Any) -> Any:
        number = int(1000 * confidence) - 900
        found = look(query, items, confidence, reading, entropy)
        began.wait(60)
        turns[number].wait(60)
        if fails[number]:
            raise MemoryError("a secret record")
        return found

    def shown(number: int) -> str:
        try:
            return type(ask(table, epsilon=0.5, confidence=(900 + number) / 1000)).__name__
        except (EngineFailed, DatasetClosed) as error:
            return str(error)

    monkeypatch.setattr(releasing, "look", one_of_them)
    with ThreadPoolExecutor(len(fails)) as pool:
        asked = [pool.submit(shown, number) for number in range(len(fails))]
        found = []
        for turn, question in zip(turns, asked, strict=True):
            turn.set()
            found.append(question.result(60))
    return found


@pytest.mark.parametrize("kept", [True, False], ids=["with a ledger", "without one"])
def test_of_questions_under_way_together_one_failure_is_seen_and_nothing_after_it(
    visits: lw.PrivateTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    table = opened(tmp_path, analyst="eve") if kept else visits
    found = ended_in_order(table, [False, True, False, True, True, True, False], monkeypatch)
    assert found[0] == "Answer"
    assert found[1] == str(EngineFailed("DuckDB"))
    assert len(set(found[2:])) == 1, "what was under way tells whether it failed"
    assert "is closed" in found[2]
    if kept:
        ledger = lw.Ledger(tmp_path / "ledger.db")
        assert len(ledger.failures("visits")) == 4  # the owner sees them all
        monkeypatch.undo()
        ask(opened(tmp_path, analyst="bob"))  # one analyst does not close the data set
        ledger.verify()
