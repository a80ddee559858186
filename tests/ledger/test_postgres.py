"""What only a server can do to a ledger: crash, lie about its disk, lose the connection, be asked for passwords."""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from postgres import Server, new_server
from typer.testing import CliRunner
from vandals import forge

from lapwing.cli.ledger import app
from lapwing.errors import BudgetExceeded, InvalidParameter, LapwingError, LedgerDamaged, LedgerUnavailable
from lapwing.privacy import PureDP, Rules
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.postgres_store import TURN

psycopg = pytest.importorskip("psycopg")

TENTH = PureDP(0.1)

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
on_server = pytest.mark.parametrize("place", ["postgres"], indirect=True)


@pytest.fixture
def hasty_server() -> Iterator[Server]:
    """A server of its own, which answers before anything is on disk unless it is told not to."""
    server = new_server()
    server.stop()
    server.start(synchronous_commit="off", wal_writer_delay="10s")
    yield server
    with suppress(AssertionError):  # it was stopped already
        server.stop("immediate")
    shutil.rmtree(server.folder)


def test_what_was_seen_survives_a_crash_of_the_server(hasty_server: Server, tmp_path: Path) -> None:
    url, cost = hasty_server.new_database(), PureDP(2**-20)
    ledger = Ledger(url, anchor=tmp_path / "anchor")
    ledger.open("people", PureDP(1), rules=Rules(parts=1 << 21))
    seen: list[str] = []
    enough = threading.Event()

    def work(name: str) -> None:
        with suppress(LedgerUnavailable):
            for i in range(10**6):
                key = f"{name} {i}"
                ledger.record(ledger.charge("people", cost, key=key), key.encode())
                seen.append(key)
                if len(seen) == 10:
                    enough.set()

    crowd = [threading.Thread(target=work, args=(name,)) for name in ("ada", "bob")]
    for thread in crowd:
        thread.start()
    enough.wait()
    hasty_server.stop("immediate")
    for thread in crowd:
        thread.join()
    hasty_server.start(synchronous_commit="off")
    after = Ledger(url, anchor=tmp_path / "anchor")
    assert [after.charge("people", cost, key=key).stored for key in seen] == [key.encode() for key in seen]
    hasty_server.stop()
    hasty_server.start(fsync="off")
    with pytest.raises(LedgerUnavailable, match="fsync"):
        after.charge("people", cost)
    assert after.spent("people") >= len(seen) * cost  # looking is allowed


class Cable:
    """A socket between us and the server that is cut at the next COMMIT, on its way there or on the way back."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder, self.cut, self._server = folder, "", server
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server.folder / ".s.PGSQL.5432"))
                threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(OSError):
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(1 << 16)
                    if not data or (b"COMMIT\0" in data and self.cut == ("there" if source is client else "back")):
                        return
                    (server if source is client else client).sendall(data)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.mark.parametrize("cut", ["there", "back"])
@on_server
def test_a_connection_lost_at_the_commit_shows_nothing_and_asking_again_is_not_charged_twice(
    postgres_server: Server, place: str, cut: str
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="lapwing-cable-"))
    with closing(Cable(postgres_server, folder)) as cable:
        name = place.partition("?")[0].rpartition("/")[2]
        ledger = Ledger(Server(folder).url(name))
        ledger.open("people", PureDP(1))
        cable.cut = cut
        with pytest.raises(LedgerUnavailable, match="Nothing was shown"):
            ledger.charge("people", PureDP(0.5), key="q")
        cable.cut = ""
        assert ledger.spent("people") == PureDP(0.5 if cut == "back" else 0)
        charge = ledger.charge("people", PureDP(0.5), key="q")
        cable.cut = cut
        with pytest.raises(LedgerUnavailable):
            ledger.record(charge, b"first")
        cable.cut = ""
        assert ledger.record(charge, b"second") == (b"first" if cut == "back" else b"second")
        assert ledger.spent("people") == PureDP(0.5)
        ledger.verify()
    shutil.rmtree(folder)


@on_server
def test_a_server_that_ends_the_connection_refuses_the_charge(ledger: Ledger, place: str) -> None:
    def interrupted() -> None:
        with ledger._store.transaction() as database, psycopg.connect(place, autocommit=True) as other:
            database.execute("UPDATE budget SET spent_size = 5")
            pid = database.execute("SELECT pg_backend_pid() AS pid").fetchone()["pid"]
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))

    with pytest.raises(LedgerUnavailable):
        interrupted()
    assert ledger.spent("people") == PureDP(0)
    ledger.verify()


def test_every_write_is_flushed_whatever_the_database_was_told(postgres_url: str) -> None:
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1))
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        [name] = owner.execute("SELECT current_database()").fetchone()
        for setting in (
            "synchronous_commit = off",
            "default_transaction_read_only = on",
            "default_transaction_isolation = serializable",
            "search_path = nowhere",
            "client_encoding = latin1",
            "quote_all_identifiers = on",
            "idle_in_transaction_session_timeout = 0",
            "standard_conforming_strings = off",
            "bytea_output = escape",
        ):
            owner.execute(f"ALTER DATABASE {name} SET {setting}")
    with ledger._store.transaction() as database:
        assert database.execute("SHOW synchronous_commit").fetchone()["synchronous_commit"] == "on"
        # a machine that loses its power amid a transaction does not lock out the others, who wait for a minute
        waits = database.execute("SELECT current_setting('idle_in_transaction_session_timeout') AS most").fetchone()
        assert waits["most"] == "30s"
    ledger.open("люди", PureDP(1))
    ledger.record(ledger.charge("люди", TENTH), b"\\\0'")
    assert Ledger(postgres_url) == ledger
    assert ledger.datasets() == ["people", "люди"]


@on_server
def test_a_lock_that_stays_closed_refuses(ledger: Ledger, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with psycopg.connect(place) as blocker:
        blocker.execute("SELECT pg_advisory_xact_lock(%s)", (TURN,))
        with monkeypatch.context() as hurried:
            hurried.setattr("lapwing.privacy.store.PATIENCE", 0.05)
            with pytest.raises(LedgerUnavailable, match="lock"):
                ledger.charge("people", TENTH)
        assert ledger.spent("people") == PureDP(0)  # readers do not wait
    ledger.charge("people", TENTH)


@pytest.mark.parametrize(
    "forgery",
    [
        "CREATE RULE r AS ON UPDATE TO budget DO INSTEAD NOTHING",
        "CREATE POLICY p ON budget",
        "CREATE INDEX ON budget (size)",
        "CREATE VIEW more AS SELECT * FROM entry",
        "CREATE TABLE heir () INHERITS (budget)",
        "CREATE FUNCTION lower(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'",
        "ALTER TABLE budget SET UNLOGGED",
        "ALTER TABLE budget DROP CONSTRAINT budget_pkey",
        "ALTER TABLE release DROP CONSTRAINT release_key_key",
        "ALTER TABLE budget ALTER size TYPE numeric",
        "ALTER TABLE budget ALTER size SET DEFAULT 5",
        "ALTER TABLE budget ADD more text",
        'ALTER TABLE budget ALTER dataset TYPE text COLLATE "default"',
        "DROP TABLE release",
    ],
)
@on_server
def test_tables_that_were_tampered_with_are_found(ledger: Ledger, forgery: str, place: str) -> None:
    forge(place, forgery)
    with pytest.raises(LedgerDamaged, match="its tables"):
        Ledger(place)


@on_server
def test_a_trigger_is_found(ledger: Ledger, place: str) -> None:
    forge(
        place,
        "CREATE FUNCTION public.undo() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN NEW.spent_size = 0; RETURN NEW; END'; "
        "CREATE TRIGGER t BEFORE UPDATE ON budget FOR EACH ROW EXECUTE FUNCTION public.undo()",
    )
    with pytest.raises(LedgerDamaged, match="its tables"):
        Ledger(place)


def test_tables_of_others_in_the_same_database_are_left_alone(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as owner:
        owner.execute("CREATE TABLE entry (mine int); INSERT INTO entry VALUES (1)")
    ledger = Ledger(postgres_url)
    ledger.open("people", PureDP(1))
    with psycopg.connect(postgres_url) as owner:
        assert owner.execute("SELECT * FROM public.entry").fetchall() == [(1,)]


@on_server
def test_a_user_who_may_only_read_sees_and_cannot_charge(ledger: Ledger, place: str) -> None:
    forge(
        place,
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA lapwing_ledger TO reader; "
        "GRANT SELECT ON ALL TABLES IN SCHEMA lapwing_ledger TO reader",
    )
    forge(place, "CREATE ROLE stranger LOGIN")
    with pytest.raises(LedgerUnavailable, match="USAGE"):  # not damaged: the stranger cannot tell
        Ledger(place.replace("user=postgres", "user=stranger"))
    reader = Ledger(place.replace("user=postgres", "user=reader"))
    assert reader.remaining("people") == PureDP(1)
    with pytest.raises(LedgerUnavailable, match="permission denied"):
        reader.charge("people", TENTH)
    forge(place, "GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA lapwing_ledger TO reader")
    reader.charge("people", TENTH)
    assert ledger.spent("people") == reader.spent("people") >= TENTH


@on_server
def test_several_processes_may_create_the_same_ledger(place: str) -> None:
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            signal.alarm(120)
            with suppress(LapwingError):
                Ledger(place).open("people", PureDP(1))
                os._exit(0)
            os._exit(1)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    assert [entry.act for entry in Ledger(place).entries()] == ["open"]


@on_server
def test_a_change_of_the_environment_does_not_lead_to_another_ledger(
    postgres_server: Server, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, _, query = place.partition("?")
    monkeypatch.setenv("PGDATABASE", database.rpartition("/")[2])
    ledger = Ledger(f"postgresql://?{query}")
    ledger.open("people", PureDP(1))
    monkeypatch.setenv("PGDATABASE", "postgres")
    ledger.charge("people", PureDP(0.5))
    pickle.loads(pickle.dumps(ledger)).charge("people", PureDP(0.5))
    with pytest.raises(BudgetExceeded):
        Ledger(place).charge("people", TENTH)


def secretive(url: str) -> str:
    return url + "&password=tell%20nobody%2F%25"


@on_server
def test_nothing_tells_the_password(place: str, tmp_path: Path) -> None:
    url = secretive(place)
    ledger = Ledger(url)
    ledger.open("people", PureDP(1))
    shown = [repr(ledger), repr(ledger._store), repr(ledger.__reduce__()), str(ledger)]
    attempts: list[Callable[[], object]] = [
        lambda: Ledger(url.replace("host=", "host=%2Fno")),
        lambda: Ledger("postgresql://me:tell nobody/%@nowhere:port/db"),
        lambda: Ledger("postgresql://me:tell%20nobody%zz@localhost/db"),
        lambda: Ledger("postgresql:/me:tell%20nobody@localhost/db"),
        lambda: Ledger(Path("postgresql://me:tell%20nobody@localhost/db")),
        lambda: Ledger("http://me:tell%20nobody@localhost/db"),
        lambda: Ledger(tmp_path / "ledger.db", anchor=url),
        lambda: Ledger(url, anchor=url),
        lambda: Ledger(secretive(place.replace("user=postgres", "user=nobody"))),
        lambda: Ledger(url.replace("test_", "none_")),
        lambda: ledger.start_anchor(url),
    ]
    for attempt in attempts:
        with pytest.raises((InvalidParameter, LedgerUnavailable)) as caught:
            attempt()
        shown += [*traceback.format_exception(caught.value), repr(vars(caught.value))]
    forge(place, "UPDATE budget SET spent_size = 1")
    with pytest.raises(LedgerDamaged) as damaged:
        Ledger(url)
    shown += traceback.format_exception(damaged.value)
    # the source lines of this file, which a traceback quotes, do tell it
    told = [line for text in shown for line in text.splitlines() if "lambda:" not in line]
    assert [line for line in told if "tell" in line and "nobody" in line] == []


@on_server
def test_a_copy_in_another_process_is_the_same_ledger(place: str) -> None:
    ledger = Ledger(secretive(place))
    ledger.open("people", PureDP(1))
    pickle.loads(pickle.dumps(ledger)).charge("people", PureDP(1))
    with pytest.raises(BudgetExceeded):
        ledger.charge("people", TENTH)


def test_looking_for_a_ledger_does_not_make_one(postgres_url: str) -> None:
    with pytest.raises(InvalidParameter, match="no such ledger"):
        Ledger(postgres_url, create=False)
    result = CliRunner().invoke(app, ["show", postgres_url])
    assert result.exit_code == 2
    with psycopg.connect(postgres_url) as owner:
        assert owner.execute("SELECT FROM pg_namespace WHERE nspname LIKE 'lapwing%'").fetchall() == []


@on_server
def test_a_reader_amid_a_crowd_of_writers_is_never_told_of_damage(place: str, tmp_path: Path) -> None:
    """The anchor is read before the snapshot is taken: a later anchor might know what the snapshot does not."""
    ledger = Ledger(place, anchor=tmp_path / "anchor")
    ledger.open("people", PureDP(1))
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        with suppress(LapwingError):
            for _ in range(25):
                ledger.charge("people", PureDP(2**-10))
            os._exit(0)
        os._exit(1)
    reads = 0
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        ledger.verify()
        reads += 1
        time.sleep(0)
    assert reads
    assert ledger.spent("people") == 25 * PureDP(2**-10)


@on_server
def test_an_anchor_never_goes_back_even_if_the_server_ends_the_connection_before_it_is_written(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(place, anchor=tmp_path / "anchor")
    ledger.open("people", PureDP(1))
    sync = os.fsync

    def slow(file: int) -> None:
        monkeypatch.setattr(os, "fsync", sync)
        with psycopg.connect(place, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        sync(file)
        child = os.fork()  # somebody else, whose answer is shown
        if child == 0:
            signal.alarm(60)
            with suppress(LapwingError):
                elsewhere = Ledger(place)
                elsewhere.charge("people", TENTH)
                number, last = len(elsewhere.entries()), elsewhere.entries()[-1].hash
                (tmp_path / "anchor").write_text(f"{number} {last}\n")
            os._exit(0)
        os.waitpid(child, 0)

    monkeypatch.setattr(os, "fsync", slow)
    with pytest.raises(LedgerUnavailable):
        ledger.charge("people", TENTH)
    assert (tmp_path / "anchor").read_text().startswith("3 ")
    assert Ledger(place, anchor=tmp_path / "anchor").spent("people") >= 2 * TENTH
