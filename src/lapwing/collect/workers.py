"""Several processes of one ingestor: they share a listening socket, and each writes segments of its own.

The process that started them seals and forwards, so there is one sealer. It starts a worker again that ended. When it
ends itself, however that happens, the workers end, too; what they acknowledged is on the disk.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

from lapwing.collect.serving import BREATH, Work, Worker
from lapwing.processes import Crew

LAST_WORDS = 10.0
"""Seconds in which a worker that is asked to end may finish what it began."""


def run_workers(job: Mapping[str, Any], listener: socket.socket, workers: int, *work: Work) -> None:
    """Serve with so many processes, and do the work beside them in this one, until it is asked to end."""
    job = {**job, "listener": listener.fileno()}
    with _asked_to_end() as ended, closing(Crew("lapwing.collect.child:ingestor", handles=[listener.fileno()])) as crew:
        for number in range(workers):
            crew.start(f"worker {number}", job)
        beside = Worker(*work).start()
        try:
            while not ended.wait(BREATH):
                for name, process in list(crew.processes.items()):
                    if process.poll() is not None:
                        crew.start(name, job)
        finally:
            beside.stop()
            _end(crew)


def _end(crew: Crew) -> None:
    """Workers finish what they began."""
    for process in crew.processes.values():
        process.terminate()
    for process in crew.processes.values():
        with suppress(subprocess.TimeoutExpired):
            process.wait(LAST_WORDS)


@contextmanager
def _asked_to_end() -> Iterator[threading.Event]:
    """An event that Ctrl-C and the system's request to end set."""
    ended = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in signals}
    try:
        yield ended
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
