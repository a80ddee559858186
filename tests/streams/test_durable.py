"""A step that was shown is never drawn again: not after kill −9 at any statement, not by two processes, not from an
older copy. Negative controls draw again, and the same tests find them."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import shutil
import signal
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streaming import long_after, opened, recorded_sums, table
from sweeps import few

import lapwing as lw
from lapwing.curator.streams import state
from lapwing.curator.streams.stream import Stream
from lapwing.errors import InvalidCall, InvalidParameter, LapwingError, StreamDamaged
from lapwing.privacy import Ledger, PureDP, store

ROWS = [{"patient": person, "region": "N", "cost": 5.0, "at": None} for person in (1, 1, 2, 3)]
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def by_hand(unit: Any = "patient", **options: Any) -> lw.StreamQuestion:
    """Steps that the caller ends."""
    asks = (lw.count(), lw.units())
    return table(unit, **options).stream(*asks, by="region", every="step", steps=400, active_steps=3)


def values(answer: lw.Answer) -> list[Any]:
    return [(column.values, column.noise) for column in answer.columns]


# ------------------------------------------------------------------------------------------------------ kill at once


def kill_before(steps: int) -> None:
    """Count the statements, flushes and renames of this process, which is killed amid them."""

    def count(*_: object) -> None:
        nonlocal steps
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    connect, fsync, replace = sqlite3.connect, os.fsync, os.replace

    def counted_connect(*args: Any, **options: Any) -> sqlite3.Connection:
        database = connect(*args, **options)
        database.set_trace_callback(count)
        return database

    def counted_fsync(handle: int) -> None:
        count()
        fsync(handle)

    def counted_replace(*args: Any, **options: Any) -> None:
        count()
        replace(*args, **options)

    sqlite3.connect, os.fsync, os.replace = counted_connect, counted_fsync, counted_replace  # type: ignore[assignment]


def shown_by_a_process_killed_before(steps: int, work: Callable[[], bytes]) -> bytes | None:
    """What a child process showed, or None if it was killed before."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            kill_before(steps)
            os.write(theirs, work())
            os._exit(0)
        os._exit(1)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        shown = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return shown or None


def faults_of_kills(folder: Path, observe: Callable[[Stream], lw.Answer], stride: int) -> list[str]:
    """One step for each kill: what a killed process left must be a closed step or an untouched one."""
    stream = opened(folder, by_hand(), rho=1)
    faults = []
    for place, steps in enumerate(range(0, 400, stride)):
        before = stream.closed

        def work() -> bytes:
            return observe(stream).to_json().encode()

        shown = shown_by_a_process_killed_before(steps, work)
        closed = stream.closed
        if closed not in (before, before + 1):
            faults.append(f"{steps}: {closed - before} steps were closed")
        stored = stream.at(closed).to_json() if closed > before else None
        again = stream.observe(list(ROWS), step=before + 1).to_json()
        if stored is not None and again != stored:
            faults.append(f"{steps}: a closed step was drawn again")
        if shown is not None and again != shown.decode():
            faults.append(f"{steps}: what was shown is not what is stored")
        if shown is not None:
            assert place > 3, "steps were not seen"
            break
    else:
        raise AssertionError("no process ever came to its end")
    lw.open_stream(stream.file.path, clock=long_after)  # the whole chain is as it should be
    return faults


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("stride", few([9, 1]))
def test_killed_at_any_statement_a_step_is_closed_once_or_not_at_all(tmp_path: Path, stride: int) -> None:
    assert faults_of_kills(tmp_path, lambda stream: stream.observe(list(ROWS)), stride) == []


@forks
@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_stream_that_shows_before_it_commits_is_found_out(tmp_path: Path) -> None:
    """The negative control: estimates are computed and shown, and only then written down."""

    def hasty(stream: Stream) -> lw.Answer:
        copy = stream.file.path.with_name("copy.db")
        for name in ("", "-anchor"):
            shutil.copy(f"{stream.file.path}{name}", f"{copy}{name}")
        rehearsal = Stream(state.StateFile(copy, f"{copy}-anchor"), stream.definition, stream.find, stream.notation)
        answer = rehearsal.observe(list(ROWS))
        stream.observe(list(ROWS))
        return answer

    assert faults_of_kills(tmp_path, hasty, 25)


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("stride", few([13, 1]))
def test_killed_while_opening_a_stream_is_charged_once(tmp_path: Path, stride: int) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.open("visits", PureDP(100, unit="patient"))
    question = by_hand(ledger=book, dataset="visits")
    for count, steps in enumerate(range(0, 600, stride), start=1):
        place = tmp_path / f"{steps}.db"

        def work(place: Path = place) -> bytes:
            question.open(place, epsilon=0.5)
            return b"open"

        shown = shown_by_a_process_killed_before(steps, work)
        stream = question.open(place, epsilon=0.5)
        assert stream.closed == 0
        assert book.spent("visits") == PureDP(count / 2, unit="patient")
        if shown:
            break
    else:
        raise AssertionError("no process ever came to its end")


# -------------------------------------------------------------------------------------- what a power cut may leave


Event = tuple[str, bytes]


def recorded(folder: Path, patch: pytest.MonkeyPatch) -> list[Event]:
    """Three steps: every commit, every anchor, and every answer that somebody has seen, in their order.

    SQLite is taken at its word: a transaction is there after its commit, and was not there before. An anchor is synced,
    then renamed, then its folder is synced: at any time it is the old one or the new one.
    """
    stream = opened(folder, by_hand(), rho=1)
    events: list[Event] = [("commit", stream.file.path.read_bytes())]
    events.append(("anchor", (folder / "state.db-anchor").read_bytes()))
    commit, anchored = state.StateFile.transaction, store._replace

    @contextlib.contextmanager
    def watched(self: Any, **named: Any) -> Any:
        with commit(self, **named) as database:
            yield database
        if named.get("write", True):
            events.append(("commit", self.path.read_bytes()))

    def replaced(anchor: Path, *head: Any) -> None:
        anchored(anchor, *head)
        events.append(("anchor", anchor.read_bytes()))

    with patch.context() as during:
        during.setattr(state.StateFile, "transaction", watched)
        during.setattr(store, "_replace", replaced)
        for _ in range(3):
            events.append(("seen", stream.observe(list(ROWS)).to_json().encode()))
    return events


def faults_of_power_cuts(events: list[Event], folder: Path) -> list[str]:
    """After a cut at any moment, whatever was seen must be what is stored."""
    faults = []
    for cut in range(2, len(events) + 1):
        past = events[:cut]
        anchors = [data for kind, data in past if kind == "anchor"]
        possible = anchors[-1:] if past[-1][0] != "anchor" else anchors[-2:]
        for number, anchor in enumerate(possible):
            here = folder / f"{cut}-{number}"
            here.mkdir(parents=True)
            (here / "state.db").touch(0o600)
            (here / "state.db").write_bytes([data for kind, data in past if kind == "commit"][-1])
            (here / "state.db-anchor").write_bytes(anchor)
            stream = reopened_at(here)
            for step, seen in enumerate((data for kind, data in past if kind == "seen"), start=1):
                if stream.observe(list(ROWS), step=step).to_json() != seen.decode():
                    faults.append(f"{cut}: step {step} was drawn again")
    return faults


def test_no_power_cut_lets_a_step_be_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = recorded(tmp_path / "a", monkeypatch)
    assert [kind for kind, _ in events].count("seen") == 3
    assert faults_of_power_cuts(events, tmp_path / "b") == []


def test_showing_before_the_commit_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: the same recording, with every answer seen before its step was committed."""
    events = recorded(tmp_path / "a", monkeypatch)
    seen = next(place for place, (kind, _) in enumerate(events) if kind == "seen")
    hasty = [*events[:2], events[seen], *events[2:seen]]
    assert faults_of_power_cuts(hasty, tmp_path / "b")


def reopened_at(folder: Path) -> Stream:
    """The stream of a copy: its anchor lies beside it."""
    return lw.open_stream(folder / "state.db", anchor=folder / "state.db-anchor", clock=long_after)


# ------------------------------------------------------------------------------------------- copies, forks, damages


def test_an_older_copy_that_is_put_back_is_noticed(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    stream.observe(list(ROWS))
    place = stream.file.path
    shutil.copy(place, tmp_path / "old.db")
    stream.observe(list(ROWS))
    newest = place.read_bytes()
    shutil.copy(tmp_path / "old.db", place)
    for act in (lambda: stream.observe(list(ROWS)), stream.estimate, lambda: lw.open_stream(place)):
        with pytest.raises(StreamDamaged, match="the anchor knows a step"):
            act()
    place.write_bytes(newest)
    assert lw.open_stream(place).closed == 2


def test_a_second_copy_cannot_go_its_own_way(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    stream.observe(list(ROWS))
    shutil.copy(stream.file.path, tmp_path / "copy.db")
    stream.observe(list(ROWS))
    with pytest.raises(StreamDamaged):
        lw.open_stream(tmp_path / "copy.db")  # it knows where its anchor is


def test_without_its_anchor_a_stream_does_not_go_on(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    stream.observe(list(ROWS))
    (tmp_path / "state.db-anchor").unlink()
    with pytest.raises(StreamDamaged, match="anchor"):
        stream.observe(list(ROWS))


@forks
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_of_processes_that_observe_at_once_exactly_one_closes_the_step(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand(), rho=1)
    closed = stream.closed
    pipes = []
    for _ in range(4):
        ours, theirs = os.pipe()
        if (child := os.fork()) == 0:
            with contextlib.suppress(BaseException):
                os.write(theirs, stream.observe(list(ROWS), step=closed + 1).to_json().encode())
                os._exit(0)
            os._exit(1)
        os.close(theirs)
        pipes.append((ours, child))
    shown = []
    for ours, child in pipes:
        with open(ours, "rb") as pipe:
            shown.append(pipe.read())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(set(shown)) == 1
    assert stream.closed == closed + 1


def test_a_retry_returns_what_is_stored_whatever_rows_it_brings(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    first = stream.observe(list(ROWS))
    harmful: list[Any] = [None, [], [{}], [{"patient": object()}], ROWS * 100, "no such file.csv", 7]
    for rows in harmful:  # nothing of them is even looked at
        assert stream.observe(rows, step=1).to_json() == first.to_json()
    assert stream.closed == 1


def test_strange_rows_are_no_reason_to_fail(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    strange: list[Any] = [
        {},
        {"patient": "x" * 500},
        {"patient": 10**30},
        {"patient": 1.5},
        {"patient": 2, "cost": "?"},
    ]
    strange += [{"patient": True, "region": b"\xff"}, None, 7, {"patient": 3, "region": "\ud800", "cost": 10**400}]
    assert stream.observe(strange).provenance["step"] == 1


@pytest.mark.parametrize("kept", [False, True])
def test_a_row_without_a_time_is_left_out_whatever_stands_for_it(tmp_path: Path, kept: bool) -> None:
    """`frame.to_dict("records")` has pandas' own missing moment, which is a moment by its class."""
    import pandas as pd

    class Stubborn(dict[str, Any]):
        def get(self, *_: Any) -> Any:
            raise ValueError("patient 7")

    row = {"patient": 1, "region": "N", "cost": 1.0, "at": dt.datetime(2026, 2, 26, 12)}
    rows = [row, {**row, "at": pd.NaT}, {**row, "at": np.datetime64("NaT")}, {**row, "at": None}, Stubborn(row)]
    question = table().stream(lw.count(), by="region", every="day", steps=2, start="2026-02-26", time="at")
    stream = opened(tmp_path, question)
    with recorded_sums() as sums:
        if kept:
            stream.add(rows)
        stream.observe(None if kept else rows, step=1)
    assert sums == [[[1, 0]]]


def test_a_flipped_byte_is_found_or_harmless(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    stream.observe(list(ROWS))
    content, answer = stream.file.path.read_bytes(), stream.estimate().to_json()
    found = 0
    for place in range(0, len(content), 401):
        stream.file.path.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        try:
            assert lw.open_stream(stream.file.path).at(1).to_json() == answer
        except LapwingError:
            found += 1
        except (KeyError, TypeError, ValueError):
            found += 1  # a fact that is none
    assert found > 5


def test_only_the_owner_can_read_the_state(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    place = stream.file.path
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    place.chmod(0o644)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        lw.open_stream(place)


def test_a_stream_that_was_ended_forgets_its_secrets_and_keeps_its_answers(tmp_path: Path) -> None:
    stream = opened(tmp_path, by_hand())
    answer = stream.observe([{"patient": 77_777_777, "region": "N"}])
    assert b"77777777" in stream.file.path.read_bytes()
    stream.end()
    assert b"77777777" not in stream.file.path.read_bytes()
    assert stream.left == 0
    again = lw.open_stream(stream.file.path)
    assert values(again.estimate()) == values(answer)
    for act in (lambda: again.observe(list(ROWS)), lambda: again.add(list(ROWS))):
        with pytest.raises(InvalidCall, match="ended"):
            act()


@pytest.mark.parametrize(
    "batch", [("log",), ("log", None), ("log", "1"), ("log", 1.5), ("log", -1), ("log", 1 << 70), (1, 1)]
)
def test_a_batch_is_a_name_and_a_number(tmp_path: Path, batch: Any) -> None:
    stream = opened(tmp_path, table().stream(lw.count(), every="step", steps=3))
    with pytest.raises(InvalidParameter, match="batch"):
        stream.add([{}], batch=batch)
    assert stream.add([{}], batch=("log", 1))


def test_a_file_belongs_to_one_data_set_and_ledger(tmp_path: Path) -> None:
    """Or the rows of another data set would be counted at no cost to it."""
    book, other = Ledger(tmp_path / "ledger.db"), Ledger(tmp_path / "other.db")
    named = {"allowance": PureDP(1, unit="row"), "ledger": book, "dataset": "first"}
    opened(tmp_path, table(**named).stream(lw.count(), every="step", steps=3))
    for change in ({"dataset": "second"}, {"ledger": other}):
        elsewhere = table(**{**named, **change}).stream(lw.count(), every="step", steps=3)
        with pytest.raises(InvalidParameter, match=r"another (data set|ledger)"):
            opened(tmp_path, elsewhere)
    with pytest.raises(InvalidParameter, match="another ledger"):
        opened(tmp_path, table().stream(lw.count(), every="step", steps=3))


def test_a_copy_cannot_go_its_own_way_with_an_anchor_that_is_not_there(tmp_path: Path) -> None:
    """Also not before the first step, when only the opening is known."""
    opened(tmp_path, table().stream(lw.count(), every="step", steps=3))
    shutil.copy(tmp_path / "state.db", tmp_path / "copy.db")
    with pytest.raises(InvalidParameter, match="does not exist, and the anchor"):
        lw.open_stream(tmp_path / "copy.db", anchor=tmp_path / "new-anchor")
    (tmp_path / "state.db-anchor").rename(tmp_path / "moved")
    assert lw.open_stream(tmp_path / "state.db", anchor=tmp_path / "moved").closed == 0


def test_a_stream_of_numbers_is_not_taken_for_one_of_a_table(tmp_path: Path) -> None:
    lw.open_numeric_stream(tmp_path / "state.db", lw.mechanisms.Tops(epsilon=1, bound=100, steps=50, first=10))
    with pytest.raises(InvalidParameter, match="holds no stream of a table"):
        lw.open_stream(tmp_path / "state.db")


def test_a_file_belongs_to_one_stream(tmp_path: Path) -> None:
    opened(tmp_path, by_hand())
    for other, budget in ((by_hand(), 2), (table().stream(lw.count(), every="step", steps=400), 1)):
        with pytest.raises(InvalidParameter, match="another"):
            other.open(tmp_path / "state.db", epsilon=budget)
    with pytest.raises(LapwingError):
        lw.open_stream(tmp_path / "state.db-anchor")
    with pytest.raises(InvalidParameter, match="no such file"):
        lw.open_stream(tmp_path / "nothing.db")


def test_a_row_counts_in_one_step_although_two_processes_read_it(tmp_path: Path) -> None:
    """One reads from the watermark on, another closes a step with these very rows: the first has to read again."""
    import duckdb

    log = duckdb.connect()
    log.execute("CREATE TABLE log AS SELECT i AS id FROM range(5) AS r(i)")
    source = lw.open(log, table="log", unit=lw.EACH_ROW)
    question = source.stream(lw.count(), every="step", steps=9, watermark="id")
    slow, quick = opened(tmp_path, question, rho=10_000), opened(tmp_path, question, rho=10_000)
    real = Stream._close
    calls = []

    def interrupted(self: Stream, *args: Any) -> int:
        calls.append(args[1])
        if len(calls) == 1:
            quick.observe(log, table="log", step=1)
        return real(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stream, "_close", interrupted)
        slow.observe(log, table="log", step=3)
    assert slow.history(window=1)["count"] == (5, 0, 0)
    assert calls == [0, 0, 1]
