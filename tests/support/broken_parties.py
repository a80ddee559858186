"""Parties with one mistake each, of the kind that only a crash shows: the tests of kills must find every one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lapwing.collect import analyzer, forwarder, hops, issuer, shuffling
from lapwing.collect.aggregator import Aggregator
from lapwing.collect.intake import Intake
from lapwing.collect.runs import RunStore
from lapwing.collect.shuffling import ShufflingServer


def output_known_before_it_is_durable() -> None:
    """A shuffler commits first, and writes what it committed afterwards."""
    held, write, commit = list[Any](), shuffling.write_durably, ShufflingServer._commit

    def written(path: Path, pieces: Iterable[bytes]) -> None:
        if path.parent.name == "outgoing":
            held.append((path, pieces))
        else:
            write(path, pieces)

    def committed(self: ShufflingServer, *what: Any) -> None:
        commit(self, *what)
        while held:
            write(*held.pop())

    shuffling.write_durably = written
    ShufflingServer._commit = committed


def output_drawn_again() -> None:
    """A shuffler sends what it has drawn before it is committed, so a crash draws another order."""
    commit = ShufflingServer._commit

    def committed(self: ShufflingServer, paths: Any, output: str | None, *rest: Any) -> None:
        if output is not None:
            data = (self.outgoing / f"{output}.sealed").read_bytes()
            hops.hand_over(self.collection, self.collection.after(self.party), data, output, self.signing_key)
        commit(self, paths, output, *rest)

    ShufflingServer._commit = committed


def inputs_removed_before_the_commit() -> None:
    """A shuffler or an aggregator deletes what it read before what came of it is known."""
    write = RunStore.write

    def written(self: RunStore, *ids: Any) -> str:
        for path in (self._folder.parent / "incoming").glob("*.sealed"):
            path.unlink()
        return write(self, *ids)

    real = Path.unlink
    RunStore.write = written
    Path.unlink = lambda self, missing_ok=False: real(self, missing_ok=True)


def acknowledged_before_it_is_written() -> None:
    """An ingestor says 201 at once."""
    append, kept = Intake.append, set[Any]()

    async def appended(self: Intake, envelopes: bytes) -> None:
        kept.add(asyncio.get_running_loop().create_task(append(self, envelopes)))

    Intake.append = appended


def removed_before_it_arrived() -> None:
    """An ingestor crosses a segment off its list, and sends it then."""

    def sent(collection: Any, sender: str, folder: Path, names: Iterable[str], key: Any, arrived: Any) -> int:
        for name in names:
            arrived(name)
            data = (folder / f"{name}.sealed").read_bytes()
            hops.hand_over(collection, collection.after(sender), data, name, key)
        return 0

    forwarder.send = sent


def counted_again_for_every_try() -> None:
    """An aggregator writes a closed batch anew whenever it sends it, with totals that another try does not have."""
    pass_on, totals = Aggregator.pass_on, Aggregator.totals

    def passed_on(self: Aggregator) -> int:
        for path in self.closed.glob("*.batch"):
            path.unlink()
        self.count_closed()
        return pass_on(self)

    Aggregator.totals = lambda self: totals(self) | {"of this process": os.getpid()}
    Aggregator.pass_on = passed_on


def batch_written_in_place() -> None:
    """An analyzer writes under the final name, so that a crash leaves half a batch there."""

    def written(path: Path, pieces: Iterable[bytes]) -> None:
        data, handle = b"".join(pieces), os.open(path, os.O_WRONLY | os.O_CREAT)
        os.write(handle, data[:50])
        os.write(handle, data[50:])
        os.close(handle)

    analyzer.write_durably = written


def every_request_is_counted() -> None:
    """An issuer does not recognise a request that comes again."""
    keyed = issuer._keyed

    def fresh(key: bytes, what: bytes, data: bytes) -> str:
        return keyed(key, what, data + (os.urandom(8) if what == b"request" else b""))

    issuer._keyed = fresh


BROKEN: dict[str, Callable[[], None]] = {
    function.__name__: function
    for function in (
        output_known_before_it_is_durable,
        output_drawn_again,
        inputs_removed_before_the_commit,
        acknowledged_before_it_is_written,
        removed_before_it_arrived,
        counted_again_for_every_try,
        batch_written_in_place,
        every_request_is_counted,
    )
}
