"""Streams of numbers in a file: charged once, each step closed once, killed at any statement, older copies noticed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sweeps import few

import lapwing as lw
from lapwing.errors import BudgetExceeded, IncompatibleLosses, InvalidCall, InvalidParameter, StreamDamaged
from lapwing.mechanisms import Tops
from lapwing.noise import Reproducible

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.NotPrivateWarning", "ignore::DeprecationWarning")
DELAYS = Tops(epsilon=1, bound=500, steps=12, first=3, block=2, values_per_step=2)


def opened(folder: Path, mechanism: Tops = DELAYS, **options: Any) -> lw.NumericStream:
    return lw.open_numeric_stream(folder / "numbers.stream", mechanism, **options)


def test_a_stream_in_a_file_shows_what_the_mechanism_alone_would(tmp_path: Path) -> None:
    stream, state = opened(tmp_path), DELAYS.open()
    for step in range(12):
        shown = stream.observe([10, step], entropy=Reproducible(100 + step))
        state = DELAYS.observe(state, [10, step], Reproducible(100 + step))
        assert shown.step == step + 1
        assert (shown.total is None) == (step < 2)
        if step >= 3:
            assert shown.total == DELAYS.estimate(state)
            assert shown.threshold == DELAYS.threshold(state)
            ends = (step - 2) % 2 == 0 or step == 11
            assert shown.half_width == (DELAYS.half_width(state) if ends else None)
    assert stream.left == 0
    assert stream.estimate() == stream.at(12)
    assert len(stream.history()) == 9
    back = stream.history(looking_back=True)
    assert back == sorted(back)


def test_a_range_is_the_difference_of_totals_with_its_own_error(tmp_path: Path) -> None:
    stream = opened(tmp_path)
    for step in range(12):
        stream.observe([step, 20])
    part, early, late = stream.between(6, 9), stream.at(5), stream.at(9)
    assert part.total == pytest.approx((late.total or 0) - (early.total or 0))
    assert part.half_width == DELAYS.range_half_width(late.threshold or 1, 2, 6)
    assert stream.between(4, 12).total == stream.at(12).total
    assert stream.between(4, 12).half_width is not None
    assert stream.between(5, 9).half_width is None, "no block ends with step 4: nothing is stated"
    for first, last in ((3, 5), (9, 8), (4, 13)):
        with pytest.raises(InvalidParameter):
            stream.between(first, last)


def test_it_is_charged_once_for_events_and_never_to_a_promise_for_people(tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    ledger.open("delays", lw.PureDP(1, unit="event"))
    ledger.open("people", lw.PureDP(9, unit="person"))
    with pytest.raises(InvalidParameter, match="dataset"):
        opened(tmp_path, ledger=ledger)
    with pytest.raises(IncompatibleLosses):
        lw.open_numeric_stream(tmp_path / "people.stream", DELAYS, ledger=ledger, dataset="people")
    for _ in range(3):
        assert opened(tmp_path, ledger=ledger, dataset="delays").closed == 0
    assert ledger.spent("delays") == lw.PureDP(1, unit="event")
    with pytest.raises(BudgetExceeded):
        lw.open_numeric_stream(tmp_path / "second.stream", DELAYS, ledger=ledger, dataset="delays")
    with pytest.raises(InvalidParameter, match="not paid for"):
        lw.open_numeric_stream(tmp_path / "second.stream")
    ledger.open("others", lw.PureDP(1, unit="event"))
    smaller = Tops(epsilon=0.5, bound=500, steps=12, first=3)  # a refusal leaves nothing behind that stands in the way
    assert lw.open_numeric_stream(tmp_path / "second.stream", smaller, ledger=ledger, dataset="others").closed == 0


def test_a_closed_step_returns_what_is_stored_and_a_file_is_enough(tmp_path: Path) -> None:
    stream = opened(tmp_path)
    shown = [stream.observe([step]) for step in range(6)]
    again = lw.open_numeric_stream(tmp_path / "numbers.stream")
    assert again.mechanism == DELAYS
    assert [again.observe([400] * 9, step=step) for step in range(1, 7)] == shown
    assert again.closed == 6
    with pytest.raises(InvalidParameter, match="not the next step"):
        again.observe([1], step=9)
    with pytest.raises(InvalidParameter, match="another stream"):
        opened(tmp_path, Tops(epsilon=2, bound=500, steps=12, first=3))
    with pytest.raises(InvalidParameter, match="not closed yet"):
        again.at(7)


def test_an_older_copy_that_was_put_back_is_noticed(tmp_path: Path) -> None:
    stream, file = opened(tmp_path), tmp_path / "numbers.stream"
    stream.observe([1])
    shutil.copy(file, tmp_path / "older")
    stream.observe([2])
    shutil.copy(tmp_path / "older", file)
    with pytest.raises(StreamDamaged):
        stream.observe([3])
    with pytest.raises(StreamDamaged):
        lw.open_numeric_stream(file)


def test_an_ended_stream_keeps_its_answers_and_nothing_else(tmp_path: Path) -> None:
    stream = opened(tmp_path)
    with pytest.raises(InvalidCall, match="no step"):
        stream.estimate()
    shown = [stream.observe([321]) for _ in range(4)]
    stream.end()
    stream.end()
    assert stream.left == 0
    assert stream.at(4) == shown[3]
    with pytest.raises(InvalidCall, match="ended"):
        stream.observe([1])
    database = sqlite3.connect(tmp_path / "numbers.stream")
    assert database.execute("SELECT count(*) FROM counter").fetchone() == (0,)
    database.close()
    assert (tmp_path / "numbers.stream").stat().st_mode & 0o077 == 0


def test_strange_numbers_are_silent(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    stream = opened(tmp_path)
    for numbers in ([float("nan"), None, "x", 10**400], [], 7, [1.5] * 300, (), [-5]):
        stream.observe(numbers)
    assert stream.closed == 6
    assert "cut off at 0 and" in str(stream.estimate())
    assert "still to be chosen" in str(stream.at(1))
    assert not [entry for entry in recwarn.list if entry.category is not DeprecationWarning]


def killed_after(statements: int, stream: lw.NumericStream) -> bytes:
    """What a child process shows that is killed before so many statements of SQLite are done; nothing if it was."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        connect = sqlite3.connect

        def count(_: object) -> None:
            nonlocal statements
            statements -= 1
            if statements < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        def counted(*args: Any, **options: Any) -> sqlite3.Connection:
            database = connect(*args, **options)
            database.set_trace_callback(count)
            return database

        sqlite3.connect = counted  # type: ignore[assignment]
        try:
            os.write(theirs, repr(stream.observe([100, 7])).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        shown = pipe.read()
    os.waitpid(child, 0)
    return shown


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("stride", few([7, 1]))
def test_killed_at_any_statement_a_step_is_closed_once_or_not_at_all(tmp_path: Path, stride: int) -> None:
    stream = opened(tmp_path, Tops(epsilon=1, bound=500, steps=400, first=3, block=1))
    ends = 0
    for statements in range(0, 400, stride):
        before = stream.closed
        shown = killed_after(statements, stream)
        closed = stream.closed
        assert closed in (before, before + 1)
        stored = repr(stream.at(closed)) if closed > before else None
        again = repr(stream.observe([0], step=before + 1))
        assert stored in (None, again), "a closed step was drawn again"
        assert shown.decode() in ("", again), "what was shown is not what is stored"
        ends += bool(shown)
        if ends:
            break
    assert ends
    assert stream.closed > 3
