"""The secure sum played by separate processes: companies, servers and an analyst that share nothing but messages.

Each party is a Python process of its own. It gets its part on its standard input, speaks to the others over loopback
sockets on ports the system chose, one line of JSON per message, and says on its standard output what it did, for the
demonstration only. A secret word of the run keeps strangers on the same machine out. Every wait ends soon
after the time limit, and no process outlives `run_apart`, even if the process that called it is killed.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lapwing import checks, processes
from lapwing.anonymity.secure_sum import Outcome, ProtocolFailed, SecureSum, Table, server_name
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, LapwingError
from lapwing.noise import uniform_below
from lapwing.processes import Crew, Ended, Late, say

LONGEST_MESSAGE = 1 << 20
_SLOW = 5.0
"""Seconds that one connection may take to say something."""
_GRACE = 3.0
"""Seconds that the analyst waits longer, so that the one who noticed what went wrong says it first."""
ENTRY = "lapwing.anonymity.parties:party"
"""What a child runs."""
FAULTS = ("silent", "garbled")
"""What a party can be told to do wrong: send nothing, or send something that is no table."""
Heard = Callable[[str, str], None]
"""Who is told which party did what."""


def run_apart(
    study: SecureSum,
    tables: Mapping[str, Table],
    *,
    timeout: Number = 30,
    faults: Mapping[str, str] | None = None,
    heard: Heard | None = None,
) -> Outcome:
    """The secure sum with one process for each party. `faults` makes some misbehave, by name, to see it noticed."""
    limit = float(checks.positive(timeout=timeout))
    wrong = {name: checks.one_of(FAULTS, fault=fault) for name, fault in (faults or {}).items()}
    everybody = (*study.companies, *map(server_name, range(1, study.servers + 1)), "analyst")
    if strangers := [name for name in wrong if name not in everybody]:
        raise InvalidParameter("faults", strangers[0], "does not take part", f"Write one of {', '.join(everybody)}.")
    if set(tables) != set(study.companies):
        raise InvalidParameter("tables", sorted(tables), "must be one per company", "Pass {'company': {'cell': 1}}.")
    with closing(_Stage(study, time.monotonic() + limit, wrong, heard or (lambda name, did: None))) as stage:
        return stage.play(tables)


class _Stage:
    """The processes of one run, and what they said so far."""

    def __init__(self, study: SecureSum, deadline: float, faults: Mapping[str, str], heard: Heard) -> None:
        self.study, self.deadline, self.faults, self.heard = study, deadline, faults, heard
        self.word = f"{uniform_below(1 << 128):032x}"
        self.crew = Crew(ENTRY, self._hear)

    def play(self, tables: Mapping[str, Table]) -> Outcome:
        servers = [server_name(number) for number in range(1, self.study.servers + 1)]
        self._start("analyst", role="analyst", senders=servers)
        analyst = self._fact("analyst", "port")
        for number, name in enumerate(servers, start=1):
            self._start(name, role="server", number=number, senders=list(self.study.companies), to=analyst)
        ports = [self._fact(name, "port") for name in servers]
        for company in self.study.companies:
            self._start(company, role="company", table=dict(tables[company]), ports=ports)
        totals = self._fact("analyst", "totals")
        for name in servers:
            self._fact(name, "seen")
        return Outcome(totals=totals, seen={name: self.crew.facts[name]["seen"] for name in (*servers, "analyst")})

    def _start(self, name: str, **job: Any) -> None:
        seconds = self.deadline - time.monotonic() + (_GRACE if job["role"] == "analyst" else 0)
        job |= {"name": name, "word": self.word, "seconds": seconds}
        job |= {"fault": self.faults.get(name), "study": _written(self.study)}
        self.crew.start(name, job)

    def _hear(self, name: str, fact: Mapping[str, Any]) -> None:
        if "failed" in fact:
            raise ProtocolFailed(*fact["failed"])
        if "did" in fact:
            self.heard(name, fact["did"])

    def _fact(self, name: str, fact: str) -> Any:
        """What a party says under this word; fails as soon as any party fails, ends early, or time is up."""
        try:
            return self.crew.fact(name, fact, self.deadline + 2 * _GRACE)
        except Late:
            raise ProtocolFailed(name, "did not finish in time") from None
        except Ended:
            raise ProtocolFailed(name, "ended before its part was done") from None

    def close(self) -> None:
        """Nobody is left behind."""
        self.crew.close()


def _written(study: SecureSum) -> dict[str, Any]:
    names = ("cells", "companies", "servers", "threshold", "largest", "prime", "sensitivity", "cells_per_person")
    plain = {name: getattr(study, name) for name in names}
    epsilon = None if study.epsilon is None else str(checks.positive(epsilon=study.epsilon))
    return plain | {"sensitivity": dict(study.sensitivity), "epsilon": epsilon}


def _read(written: dict[str, Any]) -> SecureSum:
    epsilon = written.pop("epsilon")
    return SecureSum(**written, epsilon=None if epsilon is None else Fraction(epsilon))


@dataclass(slots=True)
class _Party:
    """What a process knows about its run."""

    name: str
    word: str
    deadline: float
    fault: str | None

    def left(self) -> float:
        """Seconds until time is up."""
        return max(0.01, self.deadline - time.monotonic())

    def send(self, port: int, values: object) -> None:
        """One message to one party."""
        if self.fault == "silent":
            return
        message = {"word": self.word, "from": self.name, "values": [1] if self.fault == "garbled" else values}
        with socket.create_connection(("127.0.0.1", port), timeout=self.left()) as line:
            line.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, listener: socket.socket, senders: Collection[str], enough: int) -> dict[str, Any]:
        """One message each from so many of the senders. Whoever does not know the word is not heard."""
        got: dict[str, Any] = {}
        while len(got) < enough:
            listener.settimeout(self.left())
            try:
                line, _address = listener.accept()
                with line:
                    line.settimeout(min(_SLOW, self.left()))
                    with line.makefile("rb") as stream:
                        message = json.loads(stream.readline(LONGEST_MESSAGE))
            except (OSError, ValueError):
                if time.monotonic() >= self.deadline:
                    return got
                continue
            if not isinstance(message, dict) or message.get("word") != self.word:
                continue
            sender = str(message.get("from"))
            if sender not in senders:
                raise ProtocolFailed(self.name, "heard from somebody who does not take part")
            if sender in got:
                raise ProtocolFailed(sender, "sent its numbers twice")
            got[sender] = message.get("values")
        return got


def party() -> None:
    """What a process does: its part, as told in the first line of standard input."""
    job = processes.job()
    me = _Party(job["name"], job["word"], time.monotonic() + job["seconds"], job["fault"])
    try:
        _ROLES[job["role"]](me, _read(job["study"]), job)
    except ProtocolFailed as failure:
        say(failed=[failure.party, failure.why])
    except (LapwingError, OSError) as failure:
        say(failed=[me.name, str(failure)])


def _company(me: _Party, study: SecureSum, job: dict[str, Any]) -> None:
    for port, values in zip(job["ports"], study.split(job["table"]), strict=True):
        me.send(port, values)
    say(did="masked its numbers and sent a part to every server" if me.fault is None else f"is {me.fault}")


def _server(me: _Party, study: SecureSum, job: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=len(job["senders"])) as listener:
        say(port=listener.getsockname()[1], did="is listening")
        received = me.receive(listener, job["senders"], len(job["senders"]))
    sums = study.add_up(received)
    try:
        me.send(job["to"], sums)
    except OSError:
        if study.threshold is None:
            raise  # with a threshold, the analyst may have had enough
    say(seen=received, did="added up what it cannot read")


def _analyst(me: _Party, study: SecureSum, job: dict[str, Any]) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=len(job["senders"])) as listener:
        say(port=listener.getsockname()[1], did="is listening")
        received = me.receive(listener, job["senders"], study.sharing.needed)
    totals = study.reveal({job["senders"].index(sender) + 1: values for sender, values in received.items()})
    say(totals=totals, seen=received, did="put the sums together")


_ROLES = {"company": _company, "server": _server, "analyst": _analyst}
