"""A database of our own that died is replaced, by whoever asks next."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

import lapwing as lw
from lapwing.curator.engines import databases
from lapwing.curator.engines.databases import Database
from lapwing.curator.tables.streams import numbers_of
from lapwing.errors import InvalidParameter


def visits(folder: Path) -> Path:
    path = folder / "visits.csv"
    path.write_text("who,age\n" + "".join(f"{who},{who % 90}\n" for who in range(200)))
    return path


def stored(folder: Path) -> Path:
    path = folder / "visits.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE visits AS SELECT range AS who, range % 90 AS age FROM range(200)")
    return path


def counted(table: lw.PrivateTable) -> float:
    return float(table.sql("SELECT COUNT(*) FROM visits", epsilon=50).value)


def current(table: lw.PrivateTable) -> duckdb.DuckDBPyConnection:
    return databases._OPEN[table.context.engine.own, os.getpid()]  # type: ignore[attr-defined]


def ended(database: duckdb.DuckDBPyConnection) -> None:
    """End a database behind our back: the next statement in it fails, as after an error inside DuckDB."""
    database.close()
    with pytest.raises(duckdb.Error):
        database.execute("SELECT 1")


def writes(path: Path) -> str:
    """What another process is told that writes into a database."""
    text = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('INSERT INTO visits VALUES (1, 2)')"
    return subprocess.run([sys.executable, "-c", text, path], capture_output=True, text=True).stderr


def test_the_file_of_a_database_is_free_again_once_it_was_read(tmp_path: Path) -> None:
    path = stored(tmp_path)
    table = lw.open(path, unit="who", table="visits")
    assert writes(path) == ""
    assert abs(counted(table) - 200) <= 3
    assert writes(path) == ""
    stream = table.stream(lw.count(), every="step", steps=9, active_steps=2).open(tmp_path / "state", epsilon=1)
    stream.observe(path, table="visits")
    assert writes(path) == ""
    stream.add(path, table="visits")
    assert writes(path) == ""
    assert len(numbers_of(path, "age", table="visits")) == 204
    assert writes(path) == ""


def test_a_database_that_cannot_be_read_now_is_told_apart_from_one_without_the_table(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with pytest.raises(InvalidParameter, match=r"table = 'visit': DuckDB finds no table .* There are: visits\."):
        lw.open(path, unit="who", table="visit")
    (tmp_path / "other.duckdb").write_bytes(b"no database at all" * 1000)
    with pytest.raises(InvalidParameter, match="cannot be opened as a database of DuckDB"):
        lw.open(tmp_path / "other.duckdb", unit="who", table="visits")
    text = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(flush=True); input()"
    words = [sys.executable, "-c", text, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(InvalidParameter, match="is open elsewhere by somebody who may write into it"):
            lw.open(path, unit="who", table="visits")
        writer.communicate(b"\n")
    with duckdb.connect(str(path)), pytest.raises(InvalidParameter, match="is open elsewhere"):
        lw.open(path, unit="who", table="visits")
    assert set(lw.open(path, unit="who", table="visits").columns) == {"who", "age"}


def test_a_table_outlives_its_database(tmp_path: Path) -> None:
    table = lw.open(visits(tmp_path), unit="who", memory="311MB")
    for _ in range(3):
        assert abs(counted(table) - 200) <= 3
        ended(current(table))
    assert abs(counted(table) - 200) <= 3


def test_a_database_that_answers_is_kept() -> None:
    one = Database("312MB")
    first = one.cursor()
    kept = databases._OPEN[one, os.getpid()]
    assert one.cursor() is not first
    assert databases._OPEN[one, os.getpid()] is kept
    assert Database("312MB") == one


def test_many_who_find_it_dead_at_once_get_the_same_new_one() -> None:
    one = Database("313MB")
    one.cursor()
    ended(databases._OPEN[one, os.getpid()])
    start, found = threading.Barrier(8), []

    def ask() -> None:
        start.wait()
        found.append(one.cursor())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found[0].execute("CREATE TABLE shared AS SELECT 7 AS x")
    assert [cursor.execute("SELECT x FROM shared").fetchall() for cursor in found] == [[(7,)]] * 8


def test_a_question_that_runs_ends_in_its_database_although_others_push_that_out() -> None:
    one = Database("314MB")
    running = one.cursor()
    running.execute("CREATE TABLE kept AS SELECT 1 AS x")
    for size in range(331, 331 + databases.MOST):
        Database(f"{size}MB").cursor()
    assert (one, os.getpid()) not in databases._OPEN
    assert running.execute("SELECT x FROM kept").fetchall() == [(1,)]


def test_each_has_a_folder_of_its_own_that_nobody_else_can_read() -> None:
    one = Database("315MB")
    folders = []
    for _ in range(2):
        [(folder,)] = one.cursor().execute("SELECT current_setting('temp_directory')").fetchall()
        assert Path(folder).stat().st_mode & 0o077 == 0
        folders.append(folder)
        ended(databases._OPEN[one, os.getpid()])
    assert len(set(folders)) == 2


def test_few_are_kept_and_the_last_one_used_is_among_them() -> None:
    first = Database("320MB")
    first.cursor()
    for size in range(321, 321 + databases.MOST - 1):
        Database(f"{size}MB").cursor()
        first.cursor()
    Database("330MB").cursor()
    assert len(databases._OPEN) == databases.MOST
    assert (first, os.getpid()) in databases._OPEN


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_child_has_a_database_of_its_own() -> None:
    one = Database("316MB")
    one.cursor().execute("CREATE TABLE parents AS SELECT 1 AS x")
    child = os.fork()
    if not child:
        [(tables,)] = one.cursor().execute("SELECT count(*) FROM duckdb_tables()").fetchall()
        os._exit(tables)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
