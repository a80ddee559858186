"""Parties of a protocol as processes of their own, which end with the process that started them.

Each child gets one line of JSON on its standard input, which then stays open: when it ends, nobody is left to work for,
and the child ends, too, even if its parent was killed. What a child says on its standard output, one line of JSON a
fact, is for whoever supervises. No child outlives `Crew.close`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from queue import Empty, Queue
from typing import Any

Heard = Callable[[str, Mapping[str, Any]], None]
"""Is told which child said what."""


class Ended(Exception):
    """A child ended before it said what was expected of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name} ended before its part was done")


class Late(Exception):
    """A child did not say in time what was expected of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name} did not finish in time")


class Crew:
    """The children of one run, and what they said so far."""

    def __init__(self, entry: str, heard: Heard | None = None, handles: Collection[int] = ()) -> None:
        """`entry` is a function of ours without arguments, as in lapwing.anonymity.parties:party.

        Children have these `handles` of open files and sockets under the same numbers.
        """
        module, _, function = entry.partition(":")
        self.command = [sys.executable, "-P", "-c", f"from {module} import {function}; {function}()"]
        self._heard, self._handles = heard or (lambda name, fact: None), handles
        self._said: Queue[tuple[str, subprocess.Popen[str], dict[str, Any] | None]] = Queue()
        self._threads: list[threading.Thread] = []
        self._ended: set[subprocess.Popen[str]] = set()
        self._all: list[subprocess.Popen[str]] = []
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.facts: dict[str, dict[str, Any]] = {}

    def start(self, name: str, job: Mapping[str, Any]) -> None:
        """Begin a child with its job."""
        process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            pass_fds=self._handles,
        )
        self.processes[name], self.facts[name] = process, {}
        self._all.append(process)
        thread = threading.Thread(target=self._listen, args=(name, process), daemon=True)
        self._threads.append(thread)
        thread.start()
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; the listener says so
            process.stdin.write(json.dumps(dict(job)) + "\n")
            process.stdin.flush()  # and stays open: its end says that nobody is left to work for

    def _listen(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._said.put((name, process, json.loads(line)))
        self._said.put((name, process, None))

    def fact(self, name: str, fact: str, deadline: float) -> Any:
        """What a child says under this word, until a moment of `time.monotonic`."""
        while fact not in self.facts[name]:
            try:
                who, process, said = self._said.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                raise Late(name) from None
            if said is None:
                self._ended.add(process)
            elif process is self.processes[who]:  # not one that was started again since
                self._heard(who, said)
                self.facts[who] |= said
            if self.processes[name] in self._ended and fact not in self.facts[name]:
                raise Ended(name)
        return self.facts[name][fact]

    def close(self) -> None:
        """End whoever still runs, and wait for all: nobody is left behind."""
        for process in self._all:
            if process.poll() is None:
                process.kill()
        for process in self._all:
            process.wait()
        for thread in self._threads:
            thread.join()
        for process in self._all:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()


def job() -> dict[str, Any]:
    """In a child: what it has to do. From now on it ends with whoever started it."""
    line: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    return line


def say(**facts: Any) -> None:
    """In a child: tell whoever supervises."""
    print(json.dumps(facts), flush=True)


def _end_with_the_parent() -> None:
    """Standard input ends when whoever started this process does, however it ends."""
    while os.read(0, 1):  # not sys.stdin, whose lock a thread must not hold when the interpreter shuts down
        pass
    os._exit(1)
