"""Ways to cheat that once worked, or might have: each ends in a refusal or in nothing."""

from __future__ import annotations

import os
import pickle
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

import pytest
from sweeps import few
from typer.testing import CliRunner
from vandals import keep_copy

from lapwing.cli.ledger import app
from lapwing.errors import (
    BudgetExceeded,
    IncompatibleLosses,
    InvalidParameter,
    LapwingError,
    LedgerDamaged,
    LedgerUnavailable,
)
from lapwing.privacy import ZCDP, ApproxDP, PureDP, Rules
from lapwing.privacy.ledger import Charge, Ledger

TENTH = PureDP(0.1)


on_file = pytest.mark.parametrize("place", ["file"], indirect=True)


@pytest.fixture
def ledger(anchored: Ledger) -> Ledger:
    return anchored


def again(ledger: Ledger) -> Ledger:
    return pickle.loads(pickle.dumps(ledger))  # which opens it again


def test_a_key_paid_for_a_little_does_not_buy_more(ledger: Ledger) -> None:
    ledger.charge("people", PureDP(0.01), key="q")
    with pytest.raises(InvalidParameter, match="another question"):
        ledger.charge("people", PureDP(0.9), key="q")


def test_an_analyst_is_counted_in_the_kind_of_the_data_set(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("people", ZCDP(5))
    with pytest.raises(IncompatibleLosses, match="counted in ZCDP"):
        ledger.open("people", PureDP(1), analyst="ada")


def test_what_an_analyst_spent_before_having_an_allowance_counts(ledger: Ledger) -> None:
    ledger.charge("people", PureDP(0.5), analyst="ada")
    ledger.open("people", PureDP(0.5), analyst="ada")
    with pytest.raises(BudgetExceeded):
        ledger.charge("people", TENTH, analyst="ada")
    assert again(ledger).spent("people", analyst="ada") == PureDP(0.5)


def test_an_allowance_of_nothing_is_nothing_and_the_slack_is_small(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("closed", ApproxDP(0, 0))
    for loss in (PureDP(1e-30), ApproxDP(0, 1e-30)):
        with pytest.raises(BudgetExceeded):
            ledger.charge("closed", loss)
    ledger.charge("closed", PureDP(0))
    for size in (1e-13, 1e-9, 1.0, 1000.0):
        ledger.open(f"{size}", PureDP(size))
        ledger.charge(f"{size}", PureDP(size))
        excess = Fraction(size) / 10**9 + 1001 * Fraction(1, 1 << 50)
        with pytest.raises(BudgetExceeded):
            ledger.charge(f"{size}", PureDP(min(excess, Fraction(size) / 99)))
    with pytest.raises(InvalidParameter, match="protects nobody"):
        ledger.open("open", ApproxDP(1, 0.6))


def test_an_allowance_below_what_can_be_counted_is_not_rounded_up(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("epsilon", PureDP(1e-20))
    ledger.open("delta", ApproxDP(1, 1e-30))
    for dataset, loss in (("epsilon", PureDP(8e-16)), ("delta", ApproxDP(0.1, 2e-19))):
        with pytest.raises(BudgetExceeded):
            ledger.charge(dataset, loss)
    assert ledger.remaining("delta") <= ApproxDP(1, 1e-30)


def test_two_names_for_the_same_ledger_are_equal_and_another_anchor_is_not(
    ledger: Ledger, tmp_path: Path, place: str
) -> None:
    assert Ledger(place) == Ledger(place) != ledger == again(ledger)
    assert len({Ledger(place), Ledger(place)}) == 1
    assert Ledger(place) != Ledger(tmp_path / "other.db") != place


def test_an_analyst_may_spend_what_both_allowances_cover(ledger: Ledger) -> None:
    ledger.open("people", PureDP(0.5), analyst="ada")
    ledger.charge("people", PureDP(0.75))
    assert ledger.remaining("people", analyst="ada") == PureDP(0.25)


def test_names_as_long_as_they_may_be_fit_together(place: str) -> None:
    ledger = Ledger(place)
    draw = random.Random(1)
    names = ["".join(chr(draw.randrange(0x4E00, 0x9FFF)) for _ in range(256)) for _ in range(4)]
    ledger.open(names[0], PureDP(1, unit=names[1]))
    ledger.open(names[0], PureDP(1, unit=names[1]), analyst=names[2])
    ledger.charge(names[0], PureDP(1, unit=names[1]), analyst=names[2], key=names[3])
    with pytest.raises(InvalidParameter, match="printable"):
        ledger.open("".join(chr(draw.randrange(0x20000, 0x2A000)) for _ in range(256)), PureDP(1))


@pytest.mark.parametrize("name", ["", "a\nb", "\ud800", "\x1b[2J", "a\0b", "x" * 1000, 5, None, b"people"])
def test_names_that_differ_between_places_are_refused(ledger: Ledger, name: str) -> None:
    attempts: list[Callable[[], object]] = [
        lambda: ledger.open(name, PureDP(1)),
        lambda: ledger.charge([name], TENTH),
        lambda: ledger.spent(name),
    ]
    if name != "":  # everybody
        attempts += [
            lambda: ledger.open("people", PureDP(1), analyst=name),
            lambda: ledger.charge("people", TENTH, analyst=name),
        ]
    if name is not None:  # no key
        attempts.append(lambda: ledger.charge("people", TENTH, key=name))
    for attempt in attempts:
        with pytest.raises(InvalidParameter, match="printable"):
            attempt()
    assert again(ledger).spent("people") == PureDP(0)


def test_bindings_are_equal_only_if_the_questions_are(ledger: Ledger) -> None:
    same = {"plan": ["count", 0.1], "at": Fraction(1, 3)}
    first = ledger.charge("people", TENTH, key="q", binding=same)
    assert ledger.charge("people", TENTH, key="q", binding=dict(reversed(same.items()))) == first
    for other in ({**same, "at": 1 / 3}, {**same, "plan": ["count", "0.1"]}, list(same.items()), str(same), None):
        with pytest.raises(InvalidParameter, match="another question"):
            ledger.charge("people", TENTH, key="q", binding=other)

    class Plan:
        def __repr__(self) -> str:
            return "Plan(...)"

    for opaque in (Plan(), [object()], {1, 2}):
        with pytest.raises(InvalidParameter, match="digest"):
            ledger.charge("people", TENTH, key="other", binding=opaque)


def test_only_bytes_are_recorded_and_the_refusal_does_not_show_them(ledger: Ledger) -> None:
    charge = ledger.charge("people", TENTH)
    with pytest.raises(InvalidParameter) as caught:
        ledger.record(charge, "secret 4711")  # type: ignore[arg-type]
    assert "4711" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="Charge first"):
        ledger.record(Charge(10**30), b"")
    large = random.Random(1).randbytes(10_000_000)
    assert ledger.record(charge, large) == large
    again(ledger)


@on_file
@pytest.mark.parametrize("path", ["", ":memory:", "file:x?mode=memory", "a\0b", "/", os.devnull, 5, b"ledger.db"])
def test_a_ledger_is_a_file_that_lasts(ledger: Ledger, path: str) -> None:
    with pytest.raises(InvalidParameter, match=r"ledger\.db"):
        Ledger(path)
    with pytest.raises(InvalidParameter):
        Ledger(ledger._store.path, anchor=path)


@on_file
def test_one_file_has_one_name(ledger: Ledger, tmp_path: Path) -> None:
    path = ledger._store.path
    (tmp_path / "link.db").symlink_to(path)
    Ledger(tmp_path / "link.db", anchor=ledger._store.anchor).charge("people", PureDP(1))
    with pytest.raises(BudgetExceeded):
        ledger.charge("people", TENTH)
    for anchor in (path, f"{path}-journal", tmp_path / "link.db"):
        with pytest.raises(InvalidParameter, match="the ledger itself"):
            Ledger(path, anchor=anchor)
    os.link(path, tmp_path / "twin.db")
    for name in (path, tmp_path / "twin.db"):
        with pytest.raises(InvalidParameter, match="hard link"):
            Ledger(name)


def test_another_folder_is_not_another_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("ledger.db")
    ledger.open("people", PureDP(1))
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    ledger.charge("people", PureDP(1))
    assert list((tmp_path / "other").iterdir()) == []
    ledger._store.path.unlink()
    with pytest.raises(LedgerUnavailable):
        ledger.charge("people", PureDP(1))
    assert not ledger._store.path.exists()


def test_a_foreign_database_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "foreign.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(LedgerDamaged, match="not those of a ledger"):
        Ledger(path)
    assert path.read_bytes() == before


@on_file
def test_a_trigger_is_found(ledger: Ledger) -> None:
    with closing(sqlite3.connect(ledger._store.path)) as database, database:
        database.execute("CREATE TRIGGER t AFTER INSERT ON entry BEGIN UPDATE budget SET spent_size = 0; END")
    with pytest.raises(LedgerDamaged, match="tables"):
        again(ledger)


@on_file
def test_a_fresh_file_in_place_of_the_ledger_is_found(ledger: Ledger, place: str) -> None:
    assert ledger._store.anchor is not None
    known = ledger._store.anchor.read_text()
    Path(place).unlink()
    with pytest.raises(LedgerDamaged, match="anchor"):
        Ledger(place, anchor=ledger._store.anchor)
    assert ledger._store.anchor.read_text() == known


def test_an_anchor_that_vanished_is_missed_and_can_be_started_again(ledger: Ledger, tmp_path: Path, place: str) -> None:
    anchor = ledger._store.anchor
    assert anchor is not None
    anchor.unlink()
    for use in (lambda: ledger.charge("people", TENTH), lambda: again(ledger)):
        with pytest.raises(LedgerDamaged, match="missing"):
            use()
    assert not anchor.exists()
    Ledger(place).start_anchor(anchor)
    ledger.charge("people", TENTH)
    with pytest.raises(InvalidParameter, match="may belong to a newer ledger"):
        Ledger(place).start_anchor(anchor)
    with pytest.raises(LedgerUnavailable):
        Ledger(tmp_path / "new.db", anchor=tmp_path / "no folder" / "anchor")
    for nonsense in ("", "-1 x", f"0 {ledger.entries()[-1].hash}\n", "9" * 5000, "\x00\xff"):
        anchor.write_text(nonsense, encoding="latin-1")
        with pytest.raises(LedgerDamaged, match="anchor"):
            ledger.charge("people", TENTH)


def test_an_anchor_behind_a_link_stays_behind_it(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "anchor").symlink_to(tmp_path / "far" / "anchor")
    Ledger(tmp_path / "ledger.db", anchor=tmp_path / "anchor").open("people", PureDP(1))
    assert (tmp_path / "anchor").is_symlink()
    assert (tmp_path / "far" / "anchor").read_text().startswith("1 ")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_amid_a_transaction_can_charge(ledger: Ledger) -> None:
    inside = threading.Event()

    def hold() -> None:
        with ledger._store.transaction():
            inside.set()
            time.sleep(0.3)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        with suppress(LapwingError):
            ledger.charge("people", TENTH)
            os._exit(0)
        os._exit(1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.spent("people") <= PureDP(0.1000001)
    ledger.charge("people", TENTH)


@on_file
def test_a_flipped_byte_in_an_index_is_found(ledger: Ledger, tmp_path: Path) -> None:
    """Limits and keys are looked up in indices: one that does not lead to its row would lift the limit."""
    needles = (b"peoplepersonada", b"a key of some length")
    ledger.open("people", PureDP(0.2), analyst="ada")
    ledger.record(ledger.charge("people", TENTH, analyst="ada", key="a key of some length"), b"a release")
    content = ledger._store.path.read_bytes()
    harmless = 0
    assert all(content.count(needle) for needle in needles)
    for needle in needles:
        at = content.find(needle)
        while at >= 0:
            damaged = tmp_path / "damaged.db"
            flipped = content[at + 7] ^ 1
            damaged.write_bytes(content[: at + 7] + bytes([flipped]) + content[at + 8 :])
            with suppress(LedgerDamaged):
                Ledger(damaged)
                harmless += 1
            at = content.find(needle, at + 1)
    assert harmless == 0


WRITER = """
import sys
from lapwing.privacy import PureDP
from lapwing.privacy.ledger import Ledger
place, anchor, name = sys.argv[1:]
ledger = Ledger(place, anchor=anchor)
print("ready", flush=True)
for i in range(10**6):
    charge = ledger.charge("people", PureDP(2**-20), key=f"{name} {i}")
    print(ledger.record(charge, f"{name} {i}".encode()).decode(), flush=True)
"""


@pytest.mark.parametrize("turns", few([1, 8]))
def test_killed_at_random_times_under_load_whatever_was_seen_is_in_the_ledger(
    place: str, tmp_path: Path, turns: int
) -> None:
    chance, seen, anchor = random.Random(7), list[str](), str(tmp_path / "anchor")
    Ledger(place, anchor=anchor).open("people", PureDP(100), rules=Rules(parts=1 << 27))
    for turn in range(turns):
        command = [sys.executable, "-c", WRITER, place, anchor]
        crowd = [subprocess.Popen([*command, f"{turn}.{i}"], stdout=subprocess.PIPE, text=True) for i in range(2)]
        for process in crowd:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in crowd:
            time.sleep(chance.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        for process in crowd:
            seen += process.communicate()[0].split("\n")[:-1]
    ledger = Ledger(place, anchor=anchor)
    acts = [entry.act for entry in ledger.entries()]
    assert ledger.spent("people") == acts.count("charge") * PureDP(2**-20)
    for line in seen:
        assert ledger.charge("people", PureDP(2**-20), key=line).stored == line.encode()


FULL_DISK = """
import resource, signal, sys
from lapwing.errors import LedgerUnavailable
from lapwing.privacy import PureDP
from lapwing.privacy.ledger import Ledger
path = sys.argv[1]
ledger = Ledger(path, anchor=path + ".anchor")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for limit in [0, 10, 60, *range(500, 100_000, 1500)]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        charge = ledger.charge("people", PureDP(2**-10), key=f"{limit}")
        print(int(ledger.record(charge, b"%d" % limit * 400)[: len(str(limit))]), flush=True)
    except LedgerUnavailable:
        pass
"""


@on_file
def test_however_full_the_disk_is_what_was_granted_is_there(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "full.db"
    Ledger(path, anchor=f"{path}.anchor").open("people", PureDP(1))
    result = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    granted = [int(line) for line in result.stdout.splitlines()]
    assert granted
    assert min(granted) > 500
    after = Ledger(path, anchor=f"{path}.anchor")
    for limit in granted:
        assert after.charge("people", PureDP(2**-10), key=f"{limit}").stored == b"%d" % limit * 400


@on_file
def test_an_anchor_that_cannot_be_synced_shows_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    charge = ledger.charge("people", TENTH, key="q")

    def fail(handle: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail)
        with pytest.raises(LedgerUnavailable, match="Nothing was shown"):
            ledger.record(charge, b"first")
    assert ledger.charge("people", TENTH, key="q").stored == b"first"


READ_ONLY = """
import os, sqlite3, sys
from lapwing.errors import LedgerUnavailable
from lapwing.privacy import PureDP
from lapwing.privacy.ledger import Ledger
if os.geteuid() == 0:  # whom no permission stops
    os.setgid(65534), os.setuid(65534)
ledger = Ledger(sys.argv[1])
print(ledger.remaining("people"))
try:
    ledger.charge("people", PureDP(0.1))
except LedgerUnavailable as error:
    print("refused", "permissions" in str(error))
"""


def test_a_file_that_may_only_be_read_is_shown_and_not_charged() -> None:
    folder = Path(tempfile.mkdtemp())
    Ledger(folder / "ledger.db").open("people", PureDP(1))
    (folder / "ledger.db").chmod(0o444)
    folder.chmod(0o555)
    try:
        command = [sys.executable, "-c", READ_ONLY, str(folder / "ledger.db")]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.stdout.splitlines() == ["ε = 1 (add_remove, per person)", "refused True"], result.stderr
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_the_command_line_shows_any_name_and_starts_an_anchor(ledger: Ledger, tmp_path: Path, place: str) -> None:
    ledger.open("[/] data", PureDP(1))
    ledger.open("[/] data", PureDP(0.5), analyst="[bold]ada")
    anchor = str(tmp_path / "second.anchor")

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(words), env={"COLUMNS": "300"})
        return result.exit_code, " ".join(result.output.split())

    code, shown = run("show", place)
    assert code == 0
    assert "[/] data" in shown
    assert "[bold]ada ε = 0" in shown
    assert run("verify", place, "--anchor", anchor)[0] == 2
    assert run("anchor", place, anchor)[0] == 0
    assert run("verify", place, "--anchor", anchor) == (0, "✓ 3 entries, none changed")
    assert run("anchor", place, anchor)[0] == 2


def test_what_a_crash_left_unanchored_is_anchored_before_it_is_shown(
    ledger: Ledger, tmp_path: Path, place: str
) -> None:
    anchor = ledger._store.anchor
    assert anchor is not None
    charge = ledger.charge("people", PureDP(1), key="q")
    put_back = keep_copy(place, tmp_path)
    Ledger(place).record(charge, b"release")  # as if killed before the anchor was written
    for show in (
        lambda: ledger.charge("people", PureDP(1), key="q").stored,
        lambda: ledger.record(charge, b"second try"),
    ):
        anchor.write_text(f"2 {ledger.entries()[1].hash}\n")
        assert show() == b"release"
        assert anchor.read_text().startswith("3 ")
    put_back()
    with pytest.raises(LedgerDamaged, match="anchor"):
        again(ledger)
