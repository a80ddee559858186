"""What a disk may hold after the power failed: every state that the recorded calls allow.

Calls that write, sync, create, rename and remove files are recorded while a scenario runs; so is every moment at which
somebody was told that something is safe. Afterwards the power fails between any two calls. What was synced is there.
Of everything else any part may be there: a write whole, cut, or full of zeros, a later one without an earlier one; a
file without its name; a name without its content; a rename that did not happen. Databases of SQLite are taken at their
word: a transaction is there after its commit, and was not there before.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SECTOR = 512


@dataclass
class Call:
    """One recorded call, or a promise that was made."""

    kind: str
    path: str = ""
    other: str = ""
    node: int = 0
    start: int = 0
    data: bytes = b""


@dataclass
class Recorder:
    """Records what happens to the files below a folder."""

    folder: Path
    calls: list[Call] = field(default_factory=list)
    _open: dict[int, tuple[str, int]] = field(default_factory=dict)
    _nodes: dict[str, int] = field(default_factory=dict)
    _ends: dict[int, int] = field(default_factory=dict)
    _count: int = 0

    def promise(self, what: bytes) -> None:
        """From now on this must never be lost."""
        self.calls.append(Call("promise", data=what))

    def snapshot(self, path: Path) -> None:
        """A transaction of this database was committed."""
        self.calls.append(Call("database", self._name(path) or "", data=path.read_bytes()))

    def _name(self, path: Any) -> str | None:
        text = os.path.abspath(os.fspath(path))
        return os.path.relpath(text, self.folder) if text.startswith(str(self.folder) + os.sep) else None

    def _new_node(self, name: str) -> int:
        self._count += 1
        self._nodes[name] = self._count
        self._ends[self._count] = 0
        self.calls.append(Call("create", name, node=self._count))
        return self._count

    @contextmanager
    def recording(self, patch: pytest.MonkeyPatch) -> Iterator[Recorder]:
        """While this lasts."""
        real = {
            name: getattr(os, name)
            for name in ("open", "write", "pwrite", "fsync", "fdatasync", "close", "replace", "unlink")
        }

        def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            name = self._name(path)
            new = name is not None and not os.path.exists(path)
            handle: int = real["open"](path, flags, *rest, **named)
            if name is not None and not os.path.isdir(path):
                node = self._new_node(name) if new or name not in self._nodes else self._nodes[name]
                if flags & os.O_TRUNC and not new:
                    self.calls.append(Call("truncate", name, node=node))
                    self._ends[node] = 0
                self._open[handle] = (name, node)
                if not flags & os.O_APPEND and not flags & os.O_TRUNC and not new:
                    self._ends[node] = 0  # writing begins at the start, over what is there
            elif name is not None or os.path.abspath(os.fspath(path)) == str(self.folder):
                self._open[handle] = (name or ".", 0)
            return handle

        def written(handle: int, data: Any) -> int:
            size: int = real["write"](handle, data)
            if handle in self._open:
                name, node = self._open[handle]
                start = self._ends[node]
                self.calls.append(Call("write", name, node=node, start=start, data=bytes(data[:size])))
                self._ends[node] = start + size
            return size

        def placed(handle: int, data: Any, start: int) -> int:
            size: int = real["pwrite"](handle, data, start)
            if handle in self._open:
                name, node = self._open[handle]
                self.calls.append(Call("write", name, node=node, start=start, data=bytes(data[:size])))
            return size

        def synced(kind: str) -> Callable[[int], None]:
            def sync(handle: int) -> None:
                real[kind](handle)
                if handle in self._open:
                    name, node = self._open[handle]
                    self.calls.append(Call("sync folder" if node == 0 else "sync", name, node=node))

            return sync

        def closed(handle: int) -> None:
            self._open.pop(handle, None)
            real["close"](handle)

        def replaced(source: Any, target: Any, **named: Any) -> None:
            real["replace"](source, target, **named)
            before, after = self._name(source), self._name(target)
            if before is not None and after is not None:
                node = self._nodes.pop(before)
                self._nodes[after] = node
                self.calls.append(Call("rename", before, after, node=node))

        def removed(path: Any, **named: Any) -> None:
            real["unlink"](path, **named)
            name = self._name(path)
            if name in self._nodes:
                self.calls.append(Call("remove", name, node=self._nodes.pop(name)))

        with patch.context() as during:
            during.setattr(os, "open", opened)
            during.setattr(os, "write", written)
            during.setattr(os, "pwrite", placed)
            during.setattr(os, "fsync", synced("fsync"))
            during.setattr(os, "fdatasync", synced("fdatasync"))
            during.setattr(os, "close", closed)
            during.setattr(os, "replace", replaced)
            during.setattr(os, "unlink", removed)
            yield self


@dataclass
class State:
    """A disk after a crash, and what had been promised."""

    files: dict[str, bytes]
    promised: list[bytes]

    def lay_out(self, folder: Path) -> None:
        """Write it down, in a folder of its own."""
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o600)


def states(calls: list[Call], count: int, seed: int, *, after: str | None = None) -> Iterator[State]:
    """So many states, at moments and with losses that a seed chooses; all moments, or those after one kind of call."""
    dice = random.Random(seed)
    moments = [place + 1 for place, call in enumerate(calls) if call.kind == after] or range(len(calls) + 1)
    for _ in range(count):
        yield _crashed(calls[: dice.choice(moments)], dice)


def _crashed(calls: list[Call], dice: random.Random) -> State:
    fate = dice.choice(["all lost", "all kept", "mixed", "mixed", "torn"])
    contents, names, databases, promised = dict[int, bytearray](), dict[str, int](), dict[str, bytes](), list[bytes]()
    synced_until = {call.node: place for place, call in enumerate(calls) if call.kind == "sync"}
    folders = {call.path: place for place, call in enumerate(calls) if call.kind == "sync folder"}
    for place, call in enumerate(calls):
        safe = place < synced_until.get(call.node, -1)
        named = place < folders.get(str(Path(call.path).parent), -1)
        if call.kind == "promise":
            promised.append(call.data)
        elif call.kind == "database":
            databases[call.path] = call.data
        elif call.kind == "write":
            _write(contents.setdefault(call.node, bytearray()), call, "all kept" if safe else fate, dice)
        elif call.kind == "truncate" and (safe or _kept(fate, dice)):
            contents[call.node] = bytearray()
        elif call.kind == "create" and (named or _kept(fate, dice)):
            names[call.path] = call.node
        elif call.kind == "rename" and (named or _kept(fate, dice)):
            names.pop(call.path, None)
            names[call.other] = call.node
        elif call.kind == "remove" and (named or _kept(fate, dice)) and names.get(call.path) == call.node:
            del names[call.path]
    files = {name: bytes(contents.get(node, b"")) for name, node in names.items()}
    return State(files | databases, promised)


def _kept(fate: str, dice: random.Random) -> bool:
    return fate == "all kept" or (fate != "all lost" and dice.random() < 0.5)


def _write(content: bytearray, call: Call, fate: str, dice: random.Random) -> None:
    data = call.data
    if fate != "all kept":
        if fate == "all lost" or dice.random() < 0.3:
            return
        chance = dice.random()
        if chance < 0.3:
            data = data[: dice.randrange(len(data) + 1)]  # torn
        elif chance < 0.5:
            data = bytes(len(data))  # the size was written, the content was not
        elif chance < 0.6:
            sectors = [data[i : i + SECTOR] for i in range(0, len(data), SECTOR)]
            data = b"".join(part if dice.random() < 0.5 else bytes(len(part)) for part in sectors)
    end = call.start + len(data)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    content[call.start : end] = data


def watch(party: Any, recorder: Recorder) -> None:
    """Every commit of the facts of a party or a shuffler is recorded."""
    real = party.facts.transaction
    recorder.snapshot(party.facts.path)

    @contextmanager
    def transaction(**named: Any) -> Iterator[Any]:
        with real(**named) as database:
            yield database
        if named.get("write", True):
            recorder.snapshot(party.facts.path)

    object.__setattr__(party, "facts", _Watched(party.facts, transaction))
    party.runs._facts = party.facts


class _Watched:
    """A store whose transactions somebody watches."""

    def __init__(self, real: Any, transaction: Any) -> None:
        self._real, self.transaction = real, transaction

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
