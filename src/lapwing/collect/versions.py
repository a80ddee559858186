"""Earlier versions of a collection: each party finishes what it still has of them.

Every version has a folder of its own below that of its party, with its signed file. What was acknowledged under a
version is sealed, passed on, counted and published under that version, and its keys and ids end on the same days as
ever. Only new reports are not taken. A request from one party to another is signed for one version, so it finds its
folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lapwing.collect import hops, reader
from lapwing.collect.clock import today
from lapwing.collect.collection import Collection
from lapwing.collect.forwarder import forward
from lapwing.collect.http import Application, Receive, Scope, Send
from lapwing.collect.sealer import Folders, Sealer
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from lapwing.collect.aggregator import Aggregator
    from lapwing.collect.keys import Key
    from lapwing.collect.serving import Work
    from lapwing.collect.shuffling import ShufflingServer

    Holder = TypeVar("Holder", Aggregator, ShufflingServer)


class EarlierVersion(Workspace):
    """The folder of an operator as it was under an earlier version. Parties are reached where they are now."""

    def __init__(self, folder: Path, signed: Path, present: Collection) -> None:
        super().__init__(folder)
        self._signed, self._present = signed, present

    @property
    def signed(self) -> Path:
        """The file of that version."""
        return self._signed

    def collection(self) -> Collection:
        """What was signed then, with the addresses of now."""
        now, then = self._present.servers, reader.read(self.signed)
        servers = {
            party: replace(server, address=now[party].address) if party in now else server
            for party, server in then.servers.items()
        }
        return replace(then, servers=servers)


def earlier(workspace: Workspace, party: str) -> list[EarlierVersion]:
    """The versions before the present one that this party has something of."""
    present = workspace.collection()
    files = sorted((workspace.folder / party).glob("*/collection.yaml"))
    return [EarlierVersion(workspace.folder, path, present) for path in files if path.parent.name != present.id]


def of_every_version(
    workspace: Workspace, party: str, maker: Callable[[Workspace, Callable[[int], bool]], Holder]
) -> list[Holder]:
    """A party under the present version, then under earlier ones. They share keys: the last that needs one destroys it.

    `maker` makes one of them, and is told whether others still need the key of an epoch.
    """
    holders: list[Holder] = []

    def needed(number: int) -> bool:
        return sum(number in holder.keys for holder in holders) > 1

    holders += [maker(version, needed) for version in (workspace, *earlier(workspace, party))]
    return holders


def answered_by(present: Application, others: Sequence[tuple[Collection, Sequence[str], Application]]) -> Application:
    """What the sender signed for another version goes there; all else to the present one."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        chosen = present
        if scope["type"] == "http" and scope["method"] == "POST":
            headers = dict(scope["headers"])
            for collection, senders, other in others:
                if hops.signed_for(collection, senders, scope["path"], headers) is not None:
                    chosen = other
        await chosen(scope, receive, send)

    return app if others else present


def rest_of_the_ingestor(version: EarlierVersion, patience: float, key: Key) -> tuple[Work, ...]:
    """Seal and pass on what an ingestor took under a version; when all its epochs are over, its folder goes."""
    base = version.signed.parent
    if (base / "place").exists():
        _check_shared(version, Folders(base))
        return ()
    sealer = version.sealer()

    def whole(step: Callable[[], object]) -> None:
        if base.exists():
            step()

    def retire() -> None:
        sealer.retire(today())
        if _finished(sealer):
            shutil.rmtree(base)

    steps = (lambda: sealer.seal(patience), lambda: forward(sealer, key), retire)
    return tuple(partial(whole, step) for step in steps)


def _finished(sealer: Sealer) -> bool:
    """Whether nothing is left to be passed on, and nothing is taken any more."""
    with sealer.facts.transaction(write=False) as database:
        [waiting] = database.execute("SELECT COUNT(*) FROM sealed").fetchone()
    left = any(sealer.folders.open.glob("*.open"))
    return not waiting and not left and {epoch.number for epoch in sealer.collection.epochs} <= sealer.retired()


def _check_shared(version: EarlierVersion, folders: Folders) -> None:
    """Ids of a version are in its own database, which only somebody who names it can use."""
    if any(folders.open.glob("*.open")) or any(folders.sealed.glob("*.sealed")):
        number = version.collection().version
        why = f"has reports of version {number} that were not passed on; their ids are in the database of that version"
        hint = (
            f"Put the file of version {number} back as collection.yaml, and serve the ingestor with that database "
            "until ingestor/*/sealed and ingestor/*/open are empty."
        )
        raise InvalidParameter("folder", str(version.folder), why, hint)
