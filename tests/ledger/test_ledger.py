"""A budget that cannot be cheated: by crowds, crashes, copies, flipped bytes or full disks."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sweeps import few
from vandals import forge, keep_copy

from lapwing.errors import (
    BudgetExceeded,
    IncompatibleLosses,
    InvalidParameter,
    LapwingError,
    LedgerDamaged,
    LedgerUnavailable,
)
from lapwing.privacy import ZCDP, ApproxDP, PureDP, RenyiDP, Rules
from lapwing.privacy.ledger import Charge, Ledger

TENTH = PureDP(0.1)


on_file = pytest.mark.parametrize("place", ["file"], indirect=True)


def test_ten_tenths_fit_into_one_and_the_eleventh_does_not(ledger: Ledger, place: str) -> None:
    for _ in range(10):
        ledger.charge("people", TENTH)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.charge("people", PureDP(1e-6))
    assert caught.value.remaining == PureDP(0)
    assert float(ledger.spent("people").epsilon) == pytest.approx(1)
    Ledger(place)  # and it still verifies


def test_a_refused_charge_spends_nothing_on_any_data_set(ledger: Ledger) -> None:
    ledger.open("small", PureDP(0.05))
    with pytest.raises(BudgetExceeded):
        ledger.charge(["people", "small"], TENTH)
    assert ledger.spent("people") == PureDP(0)
    ledger.charge(["people", "small"], PureDP(0.05))
    assert ledger.spent("people") == ledger.spent("small")


def test_a_join_charges_every_data_set_once(ledger: Ledger) -> None:
    ledger.open("visits", PureDP(1))
    ledger.charge(["visits", "people", "people"], TENTH)
    assert ledger.spent("people") == ledger.spent("visits") <= PureDP(0.1000001)
    with pytest.raises(InvalidParameter, match="nothing to charge"):
        ledger.charge([], TENTH)


def test_analysts_are_bounded_together_and_one_by_one(ledger: Ledger) -> None:
    ledger.open("people", PureDP(0.3), analyst="ada")
    ledger.charge("people", PureDP(0.3), analyst="ada")
    with pytest.raises(BudgetExceeded):
        ledger.charge("people", TENTH, analyst="ada")
    ledger.charge("people", PureDP(0.7), analyst="bob")  # no allowance of his own: the common one bounds him
    with pytest.raises(BudgetExceeded):
        ledger.charge("people", TENTH, analyst="bob")
    assert ledger.spent("people", analyst="ada") <= PureDP(0.3000001)


def test_opening_again_never_raises_an_allowance(ledger: Ledger) -> None:
    ledger.charge("people", PureDP(1))
    with pytest.raises(InvalidParameter, match=r"ledger has ε = 1 .*never raised.*lw.PureDP\(1, unit='person'\) or"):
        ledger.open("people", PureDP(5))
    ledger.open("people", PureDP(1))
    with pytest.raises(BudgetExceeded):
        ledger.charge("people", TENTH)
    ledger.open("people", PureDP(0.5))
    assert ledger.remaining("people") == PureDP(0)
    with pytest.raises(IncompatibleLosses, match="PureDP"):
        ledger.open("people", ApproxDP(1, 1e-6))


def test_the_kind_the_unit_and_the_relation_are_fixed(ledger: Ledger) -> None:
    for loss in (PureDP(0.1, unit="visit"), PureDP(0.1, relation="replace"), ApproxDP(0.1, 1e-6), ZCDP(0.1)):
        with pytest.raises(IncompatibleLosses):
            ledger.charge("people", loss)
    with pytest.raises(InvalidParameter, match="whose sums hold"):
        ledger.open("other", RenyiDP([2], [1]))
    with pytest.raises(InvalidParameter, match="Open it first"):
        ledger.charge("nobody", TENTH)


def test_approximate_and_concentrated_budgets_add_their_own_way(place: str) -> None:
    ledger = Ledger(place)
    ledger.open("approximate", ApproxDP(1, 1e-6))
    ledger.charge("approximate", ApproxDP(0.4, 5e-7))
    ledger.charge("approximate", PureDP(0.4))
    with pytest.raises(BudgetExceeded):
        ledger.charge("approximate", ApproxDP(0.1, 6e-7))
    ledger.open("concentrated", ZCDP(0.5))
    ledger.charge("concentrated", ZCDP(0.25))
    ledger.charge("concentrated", PureDP(0.5))  # ε²/2 = 0.125
    assert ledger.remaining("concentrated") == ZCDP(0.125)
    with pytest.raises(BudgetExceeded):  # a delta where none was allowed
        ledger.charge("concentrated", ZCDP(0.01, 1e-15))


@settings(max_examples=30)
@given(costs=st.lists(st.floats(1e-9, 0.5), min_size=1, max_size=30))
def test_what_was_granted_never_exceeds_the_allowance(costs: list[float]) -> None:
    ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db")
    ledger.open("people", PureDP(1), rules=Rules(parts=10**10))  # also for questions that cost almost nothing
    granted = PureDP(0)
    for cost in costs:
        try:
            ledger.charge("people", PureDP(cost))
        except BudgetExceeded:
            assert granted.epsilon + PureDP(cost).epsilon > 1
        else:
            granted += PureDP(cost)
    assert granted.epsilon <= 1 + 2e-9
    assert ledger.spent("people").epsilon >= granted.epsilon


def test_the_same_question_under_the_same_key_returns_the_stored_release(ledger: Ledger) -> None:
    first = ledger.charge("people", TENTH, analyst="ada", key="q1", binding=("count", 0.1))
    assert ledger.charge("people", TENTH, analyst="ada", key="q1", binding=("count", 0.1)) == Charge(first.number)
    assert ledger.record(first, b"42") == b"42"
    assert ledger.record(first, b"43") == b"42"  # two that ran at the same time show the same release
    assert ledger.charge("people", TENTH, analyst="ada", key="q1", binding=("count", 0.1)).stored == b"42"
    assert ledger.spent("people") <= PureDP(0.1000001)
    for change in ({"analyst": "bob"}, {"binding": ("count", 0.2)}):
        with pytest.raises(InvalidParameter, match="another question"):
            ledger.charge("people", TENTH, **{"analyst": "ada", "key": "q1", "binding": ("count", 0.1), **change})
    with pytest.raises(InvalidParameter, match="Charge first"):
        ledger.record(Charge(99), b"")


CHARGER = """
import sys
from lapwing.errors import BudgetExceeded
from lapwing.privacy import PureDP
from lapwing.privacy.ledger import Ledger
ledger, granted = Ledger(sys.argv[1]), 0
for _ in range(int(sys.argv[2])):
    try:
        ledger.charge("people", PureDP(2**-6))
        granted += 1
    except BudgetExceeded:
        pass
print(granted)
"""


def test_eight_processes_never_overspend_by_one(ledger: Ledger, place: str) -> None:
    command = [sys.executable, "-c", CHARGER, place, "20"]
    crowd = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    granted = sum(int(process.communicate()[0]) for process in crowd)
    assert granted == 64
    assert ledger.spent("people") == PureDP(1)
    ledger.verify()


def test_threads_and_copies_share_one_budget(ledger: Ledger) -> None:
    copies = [ledger, copy.copy(ledger), copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))]
    granted: list[int] = []

    def work(mine: Ledger) -> None:
        for _ in range(10):
            with contextlib.suppress(BudgetExceeded):
                granted.append(mine.charge("people", PureDP(2**-4)).number)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == len(set(granted)) == 16


def test_cloning_an_estimator_does_not_give_its_budget_back(ledger: Ledger) -> None:
    base = pytest.importorskip("sklearn.base")

    class Counter(base.BaseEstimator):  # type: ignore[misc]
        def __init__(self, ledger: Ledger) -> None:
            self.ledger = ledger

        def fit(self, rows: object) -> Counter:
            self.ledger.charge("people", PureDP(0.25))
            return self

    first = Counter(ledger).fit([])
    for _ in range(3):
        base.clone(first).fit([])
    with pytest.raises(BudgetExceeded):
        base.clone(base.clone(first)).fit([])
    assert ledger.remaining("people") == PureDP(0)


def kill_before_step(steps: int) -> None:
    """Count the statements and flushes of this process, which is killed amid them."""
    import psycopg

    def count(*_: object) -> None:
        nonlocal steps
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    connect, execute, fsync = sqlite3.connect, psycopg.Cursor.execute, os.fsync

    def counted_connect(*args: Any, **options: Any) -> sqlite3.Connection:
        database = connect(*args, **options)
        database.set_trace_callback(count)
        return database

    def counted_execute(*args: Any, **options: Any) -> Any:
        count()
        return execute(*args, **options)

    def counted_fsync(handle: int) -> None:
        count()
        fsync(handle)

    sqlite3.connect, os.fsync = counted_connect, counted_fsync  # type: ignore[assignment]
    psycopg.Cursor.execute = counted_execute  # type: ignore[method-assign]


def seen_from_a_process_killed_before_step(steps: int, work: Callable[[], bytes]) -> bytes | None:
    """What a child process showed, or None if it was killed before."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            kill_before_step(steps)
            os.write(theirs, work())
            os._exit(0)
        os._exit(1)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        shown = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert (code, shown) in ((0, b"release"), (-signal.SIGKILL, b""))
    return shown or None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("stride", few([6, 1]))
def test_killed_at_any_step_nothing_is_seen_that_is_not_in_the_ledger(place: str, tmp_path: Path, stride: int) -> None:
    ledger, cost = Ledger(place, anchor=tmp_path / "anchor"), PureDP(2**-10)
    ledger.open("people", PureDP(1))

    def work() -> bytes:
        return ledger.record(ledger.charge("people", cost, key=key), b"release")

    for steps in range(0, 200, stride):
        key = f"question {steps}"
        shown = seen_from_a_process_killed_before_step(steps, work)
        ledger.verify()
        again = ledger.charge("people", cost, key=key)
        if shown:
            assert again.stored == b"release"
            break
        assert ledger.record(again, b"second try") in (b"release", b"second try")
    assert 20 < steps < 199
    assert ledger.spent("people") == (steps // stride + 1) * cost  # each charged once, whatever happened
    Ledger(place, anchor=tmp_path / "anchor")


@on_file
def test_a_flipped_byte_is_found_or_harmless(ledger: Ledger, tmp_path: Path, place: str) -> None:
    ledger.record(ledger.charge("people", TENTH, key="a", binding="b"), b"a release to look at")
    content = Path(place).read_bytes()
    entries = [(entry.number, entry.hash) for entry in ledger.entries()]
    found = 0
    for place in range(0, len(content), 37):
        damaged = tmp_path / "damaged.db"
        damaged.write_bytes(content[:place] + bytes([content[place] ^ 0x41]) + content[place + 1 :])
        try:
            opened = Ledger(damaged)
            assert [(entry.number, entry.hash) for entry in opened.entries()] == entries
            assert opened.spent("people") == ledger.spent("people")
        except LapwingError:
            found += 1
    assert found > 5


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE budget SET spent_size = 0",
        "UPDATE budget SET size = size * 2",
        "UPDATE budget SET unit = 'visit'",
        "DELETE FROM entry WHERE number = 2",
        "DELETE FROM entry WHERE number = (SELECT MAX(number) FROM entry)",
        "UPDATE entry SET body = replace(body, '0.1', '0.0')",
        "UPDATE release SET content = x'00'",
        "UPDATE release SET binding = 'other'",
        "UPDATE release SET key = 'other'",
        "DELETE FROM release",
        "INSERT INTO release VALUES (77, NULL, '', NULL)",
    ],
)
def test_a_changed_row_is_found(ledger: Ledger, forgery: str, place: str) -> None:
    ledger.record(ledger.charge("people", TENTH, key="a"), b"42")
    forge(place, forgery)
    with pytest.raises(LedgerDamaged):
        Ledger(place)


@on_file
def test_torn_and_foreign_files_are_refused(ledger: Ledger, tmp_path: Path, place: str) -> None:
    ledger.charge("people", TENTH)
    content = Path(place).read_bytes()
    for torn in (content[: len(content) // 2], content[:100], b"not a database at all" * 50):
        path = tmp_path / "torn.db"
        path.write_bytes(torn)
        with pytest.raises((LedgerDamaged, LedgerUnavailable)):
            Ledger(path)
    with pytest.raises(LedgerUnavailable):
        Ledger(tmp_path / "missing folder" / "ledger.db")


def test_an_old_copy_that_is_put_back_is_found_by_the_anchor(anchored: Ledger, place: str, tmp_path: Path) -> None:
    put_back = keep_copy(place, tmp_path)
    anchored.charge("people", PureDP(1))
    put_back()
    assert Ledger(place).remaining("people") == PureDP(1)
    for use in (
        lambda: Ledger(place, anchor=tmp_path / "elsewhere.anchor"),
        lambda: anchored.charge("people", PureDP(1)),  # a process that lives on
        lambda: anchored.remaining("people"),
        anchored.entries,
    ):
        with pytest.raises(LedgerDamaged, match="anchor"):
            use()
    (tmp_path / "elsewhere.anchor").write_text("nonsense")
    with pytest.raises(LedgerDamaged):
        Ledger(place, anchor=tmp_path / "elsewhere.anchor")


FULL_DISK = """
import resource, signal, sys
from lapwing.errors import LedgerUnavailable
from lapwing.privacy import PureDP
from lapwing.privacy.ledger import Ledger
ledger = Ledger(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    ledger.charge("people", PureDP(0.1), binding="x" * 5000)
    print("granted")
except LedgerUnavailable:
    print("refused")
"""


@on_file
def test_a_full_disk_refuses_the_charge(ledger: Ledger, place: str) -> None:
    before = ledger.entries()
    result = subprocess.run([sys.executable, "-c", FULL_DISK, place], capture_output=True, text=True)
    assert result.stdout.strip() == "refused", result.stderr
    assert Ledger(place).entries() == before


@on_file
def test_a_ledger_that_stays_locked_refuses(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr("lapwing.privacy.store.PATIENCE", 0.05)
    blocker = sqlite3.connect(place, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    with pytest.raises(LedgerUnavailable, match="locked"):
        ledger.charge("people", TENTH)
    blocker.close()
    ledger.charge("people", TENTH)
