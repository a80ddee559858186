"""Ctrl-C, and clients that die: the question ends, the charge stays, and the same key asks again for free."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

import lapwing as lw
from lapwing.curator.engines.containment import Stopped, closing, waited
from lapwing.errors import EngineFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 60
"""Seconds until something that never happens counts as broken; no verdict on speed."""
ASK = """
import signal
import sys
import lapwing as lw
signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts tests in the background may have it ignored
source, ledger = sys.argv[1:]
table = lw.open(source, table="visits", unit="who", ledger=ledger, dataset="visits", allowance=lw.PureDP(1, unit="who"))
print("ready", flush=True)
try:
    table.agg(lw.count()).release(epsilon=0.25, key="once")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
ENDLESS = "SELECT CAST(a.i AS BIGINT) AS who FROM range(1000000) AS a(i), range(1000000) AS b(i)"


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@contextmanager
def asking(source: str, ledger: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has asked an endless question and was charged for it."""
    command = [sys.executable, "-c", ASK, source, str(ledger)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
            until(lambda: spent(ledger) > 0, "nothing was charged")
            yield process
        finally:
            process.kill()


def spent(ledger: Path) -> float:
    return float(lw.Ledger(ledger, create=False).spent("visits").epsilon)  # type: ignore[attr-defined]


def asked_again(source: str, ledger: Path) -> lw.Answer:
    unit = lw.PureDP(1, unit="who")
    table = lw.open(source, table="visits", unit="who", ledger=ledger, dataset="visits", allowance=unit)
    return table.agg(lw.count()).release(epsilon=0.25, key="once")


def test_ctrl_c_stops_duckdb_and_the_same_key_asks_again_for_free(tmp_path: Path) -> None:
    source, ledger = tmp_path / "clinic.duckdb", tmp_path / "ledger.db"
    with duckdb.connect(str(source)) as database:
        database.execute(f"CREATE VIEW visits AS {ENDLESS}")
    with asking(str(source), ledger) as process:
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE) == ("interrupted\n", "")
    assert spent(ledger) == 0.25
    with duckdb.connect(str(source)) as database:
        database.execute("CREATE OR REPLACE VIEW visits AS SELECT CAST(i AS BIGINT) AS who FROM range(100) AS a(i)")
    assert 0 < asked_again(str(source), ledger).value < 200
    assert spent(ledger) == 0.25


def new_endless_view(url: str) -> Callable[[], int]:
    """A table that PostgreSQL never finishes reading; counts the statements of ours that run."""
    import psycopg

    with psycopg.connect(url) as owner:
        owner.execute("CREATE VIEW visits AS SELECT i AS who FROM generate_series(1::bigint, 50) AS i, pg_sleep(3600)")

    def running() -> int:
        query = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND application_name = 'lapwing' AND state = 'active'"
        )
        with psycopg.connect(url) as owner:
            [[count]] = owner.execute(query).fetchall()
        return int(count)

    return running


def test_ctrl_c_stops_postgresql_and_the_same_key_asks_again_for_free(postgres_url: str, tmp_path: Path) -> None:
    import psycopg

    running, ledger = new_endless_view(postgres_url), tmp_path / "ledger.db"
    with asking(postgres_url, ledger) as process:
        until(lambda: running() == 1, "the statement never began")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE) == ("interrupted\n", "")
    until(lambda: running() == 0, "the statement goes on")
    assert spent(ledger) == 0.25
    with psycopg.connect(postgres_url) as owner:
        owner.execute("CREATE OR REPLACE VIEW visits AS SELECT i AS who FROM generate_series(1::bigint, 50) AS i")
    assert -100 < asked_again(postgres_url, ledger).value < 200
    assert spent(ledger) == 0.25


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_postgresql_ends_the_statement_of_a_client_that_was_killed(
    postgres_url: str, tmp_path: Path, how: signal.Signals
) -> None:
    running = new_endless_view(postgres_url)
    with asking(postgres_url, tmp_path / "ledger.db") as process:
        until(lambda: running() == 1, "the statement never began")
        process.send_signal(how)
        process.wait(PATIENCE)
        until(lambda: running() == 0, "the statement goes on without its client")


def test_postgresql_is_told_to_watch_its_client(postgres_url: str) -> None:
    from lapwing.curator.engines.postgres import WATCHED, PostgreSQL

    connection = PostgreSQL(postgres_url)._connect()
    [[interval]] = connection.execute("SHOW client_connection_check_interval").fetchall()
    assert interval == WATCHED["client_connection_check_interval"]
    connection.close()


@pytest.mark.sweep  # a task inside of a window notices late that it was cancelled, and others wait for its core
def test_ctrl_c_cancels_the_jobs_of_spark_and_no_others(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(1 << 26).withColumnRenamed("id", "who")
    unit = lw.PureDP(1, unit="who")
    table = lw.open(frame, unit="who", ledger=tmp_path / "ledger.db", dataset="visits", allowance=unit)
    tracker, ended = spark.sparkContext.statusTracker(), threading.Event()

    def interrupt() -> None:
        until(lambda: bool(tracker.getActiveJobsIds()) or ended.is_set(), "no job ever ran")
        if not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            table.agg(lw.count()).release(epsilon=0.25)
    finally:
        ended.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    until(lambda: not tracker.getActiveJobsIds(), "the jobs go on")
    assert spent(tmp_path / "ledger.db") == 0.25


def raised(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


def test_an_error_of_a_statement_comes_out_of_the_thread_that_it_ran_in() -> None:
    with pytest.raises(ValueError, match="as it was"):
        waited(raised(ValueError("as it was")), lambda: None)
    assert waited(lambda: 42, lambda: None) == 42


def test_an_engine_that_does_not_listen_is_not_waited_for() -> None:
    may_end, asked = threading.Event(), []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        may_end.wait(PATIENCE)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), closing("DuckDB", lambda: may_end.wait(PATIENCE)):
            waited(work, lambda: asked.append(1))
    finally:
        signal.signal(signal.SIGINT, before)
        may_end.set()
    assert len(asked) > 1


def test_a_statement_that_its_owner_stopped_is_no_failure_of_the_engine() -> None:
    stopped = threading.Event()

    def work() -> None:
        stopped.set()
        raise ValueError("interrupted")

    with pytest.raises(Stopped) as caught:
        waited(work, lambda: None, stopped=stopped.is_set)
    assert caught.value.__context__ is None
    with pytest.raises(Stopped):
        waited(lambda: 1, lambda: None, stopped=stopped.is_set)


def test_a_session_that_cannot_be_closed_says_so_without_a_word_of_the_engine() -> None:
    with pytest.raises(EngineFailed), closing("DuckDB", raised(ValueError("a record"))):
        pass
