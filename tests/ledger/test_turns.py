"""Who came first is served first, and whoever dies in the queue is not waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lapwing.errors import InvalidParameter
from lapwing.privacy import Ledger, PureDP, turns
from lapwing.privacy.turns import turn

pytest.importorskip("fcntl")

QUEUE = """
import sys
from pathlib import Path
from lapwing.privacy.turns import turn
with turn(Path(sys.argv[1])):
    if sys.argv[3] == "-":
        sys.stdin.read()
    else:
        with open(sys.argv[2], "a") as served:
            served.write(sys.argv[3])
"""


class Queue:
    """A file to queue for, and processes that do."""

    def __init__(self, folder: Path) -> None:
        self.file, self.served, self.workers = folder / "queue", folder / "served", list[subprocess.Popen[bytes]]()

    def join(self, name: str) -> subprocess.Popen[bytes]:
        """Start a process and wait until it has drawn its number."""
        before = self.drawn()
        command = [sys.executable, "-c", QUEUE, str(self.file), str(self.served), name]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE)
        self.workers.append(worker)
        while self.drawn() == before:
            assert worker.poll() is None
            time.sleep(0.01)
        return worker

    @contextmanager
    def held(self) -> Iterator[None]:
        """While another process has its turn: this one drops its locks when it reads the file."""
        holder = self.join("-")
        yield
        assert holder.stdin is not None
        holder.stdin.close()

    def drawn(self) -> int:
        return int.from_bytes(self.file.read_bytes()[:8], "big") if self.file.exists() else 0


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    made = Queue(tmp_path)
    yield made
    for worker in made.workers:
        worker.kill()
        worker.communicate()


def test_processes_are_served_in_the_order_in_which_they_came(queue: Queue) -> None:
    with queue.held():
        workers = [queue.join(name) for name in "abcd"]
        assert not queue.served.exists()
    assert [worker.wait() for worker in workers] == [0] * 4
    assert queue.served.read_text() == "abcd"


def test_a_process_that_is_killed_in_the_queue_holds_nobody_up(queue: Queue) -> None:
    with queue.held():
        first, second, third = (queue.join(name) for name in "abc")
        second.kill()
        second.wait()
    assert (first.wait(), third.wait()) == (0, 0)
    assert queue.served.read_text() == "ac"


def test_a_process_that_is_stopped_in_the_queue_is_passed_after_a_while(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    with queue.held():
        stopped = queue.join("a")
        stopped.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(turns, "STALLED", 0.0)
    with turn(queue.file):
        assert not queue.served.exists()
    stopped.send_signal(signal.SIGCONT)
    assert stopped.wait() == 0


def _rubbish(file: Path) -> None:
    file.write_bytes(b"\xff" * 40)


@pytest.mark.parametrize("spoil", [Path.mkdir, _rubbish, lambda file: file.symlink_to("/nowhere")])
def test_without_a_queue_a_charge_is_as_good(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    spoil(tmp_path / "ledger.db-queue")
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1))
    ledger.charge("people", PureDP(0.5))
    assert ledger.remaining("people") == PureDP(0.5)


def test_a_hard_link_made_while_the_ledger_is_in_use_is_refused_under_both_names(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("people", PureDP(1))
    os.link(tmp_path / "ledger.db", tmp_path / "twin.db")
    for use in (lambda: ledger.charge("people", PureDP(0.5)), lambda: Ledger(tmp_path / "twin.db")):
        with pytest.raises(InvalidParameter, match="hard link"):
            use()
    (tmp_path / "twin.db").unlink()
    assert ledger.remaining("people") == PureDP(1)
