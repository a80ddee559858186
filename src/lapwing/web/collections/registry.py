"""Which collections there are: every folder with a signed file, inside the one that the server was started with.

Nobody types an address into a form, so nobody can make this server ask other machines: it asks those only that a file
names which its owner put there. Of a folder nothing is read but the signed file, and whether the collection was ended;
where people sign in, the issuer's keys besides (`admission.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.collect.clock import today
from lapwing.collect.workspace import Workspace
from lapwing.errors import LapwingError

if TYPE_CHECKING:
    from datetime import date, datetime

    from lapwing.collect.collection import Collection


@dataclass(frozen=True, slots=True)
class Registration:
    """A collection that people can take part in, and its folder."""

    collection: Collection
    folder: Path
    closed: datetime | None
    """Since when the operator has ended it."""

    @property
    def address(self) -> str:
        """Where people take part."""
        return f"/take-part/{self.collection.id}"

    def state(self, day: date | None = None) -> str:
        """Whether it takes answers: "open", "not open yet" or "closed"."""
        day = day or today()
        if self.closed is not None or day > self.collection.closes:
            return "closed"
        return "open" if day >= self.collection.opens else "not open yet"


def registered(folder: Path | None) -> list[Registration]:
    """All that can be read; each once, the newest version only."""
    entries: dict[str, Registration] = {}
    for workspace in _workspaces(folder):
        try:
            collection = _read(workspace.signed, *_stamp(workspace.signed))
        except (LapwingError, OSError):
            continue
        entries.setdefault(collection.id, Registration(collection, workspace.folder, workspace.closed()))
    return list(entries.values())


def unreadable(folder: Path | None) -> list[tuple[str, str]]:
    """Names of folders whose signed file does not hold, and why."""
    wrong = []
    for workspace in _workspaces(folder):
        try:
            workspace.collection()
        except (LapwingError, OSError) as error:
            wrong.append((workspace.folder.name, str(error)))
    return wrong


def find(folder: Path | None, collection_id: str) -> Registration | None:
    """The collection with this id."""
    return next((entry for entry in registered(folder) if entry.collection.id == collection_id), None)


def _workspaces(folder: Path | None) -> list[Workspace]:
    if folder is None or not folder.is_dir():
        return []
    places = [folder, *sorted(place for place in folder.iterdir() if place.is_dir())]
    return [workspace for place in places if (workspace := Workspace(place)).signed.exists()]


def _stamp(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_mtime_ns, facts.st_size


@lru_cache(maxsize=256)
def _read(path: Path, changed: int, size: int) -> Collection:
    """A signed file, checked once for as long as it does not change."""
    return Workspace(path.parent).collection()
