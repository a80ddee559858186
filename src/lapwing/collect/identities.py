"""Which ids were seen: any number of them, in sorted files, with little memory.

An id is 16 bytes that a stranger chose. It is stored as AES of it under a key of this folder: a permutation, so no two
ids become one, and no choice of ids makes the search slow. The first 8 bytes are the key that is sorted by, the other 8
the rest.

    run   n keys, ascending (8 bytes each) ‖ their n numbers lo

A run is written once and never changed. The party that commits the names of runs decides which of them count
(`intake.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.collect.files import write_durably
from lapwing.noise import SYSTEM, Entropy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]

CHUNK = 1 << 20
"""Ids of a run that are in memory at a time while runs are merged."""
MOST_RUNS = 8
"""More than that of about the same size are merged."""


@dataclass(frozen=True, slots=True)
class Mixing:
    """A secret permutation of ids."""

    secret: bytes

    def __repr__(self) -> str:
        return "<mixing>"

    @classmethod
    def random(cls, entropy: Entropy = SYSTEM) -> Mixing:
        """A fresh one."""
        return cls(entropy.bits(256).to_bytes(32, "little"))

    def sorted(self, ids: NDArray[np.uint8]) -> tuple[Keys, Keys, NDArray[np.intp]]:
        """Keys in order, the rests in the same order, and at which place each id was; ids are rows of 16 bytes."""
        import numpy as np
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        cipher = Cipher(algorithms.AES(self.secret), modes.ECB()).encryptor()
        mixed = cipher.update(np.ascontiguousarray(ids).tobytes())
        words: Keys = np.frombuffer(mixed, dtype="<u8").reshape(-1, 2)
        keys, rests = np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1])
        order = np.argsort(keys, kind="stable")
        if (keys[order][1:] == keys[order][:-1]).any():  # the same id twice, or a collision
            order = np.lexsort((rests, keys))
        return keys[order], rests[order], order


def first_of_each(keys: Keys, rests: Keys) -> NDArray[np.bool_]:
    """Which of these sorted ids do not repeat the one before."""
    import numpy as np

    first = np.ones(len(keys), dtype=bool)
    first[1:] = (keys[1:] != keys[:-1]) | (rests[1:] != rests[:-1])
    return first


@dataclass(frozen=True, slots=True)
class Run:
    """Sorted ids in a file."""

    path: Path

    def __len__(self) -> int:
        return self.path.stat().st_size // 16

    def columns(self) -> tuple[Keys, Keys]:
        """Keys and rests, read from the file as they are needed."""
        import numpy as np

        n = len(self)
        if not n:
            return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64)
        words = np.memmap(self.path, dtype="<u8", mode="r")
        return words[:n], words[n:]

    def holds(self, keys: Keys, rests: Keys) -> NDArray[np.bool_]:
        """Which of these ids (sorted) are in it."""
        import numpy as np

        ours, others = self.columns()
        known = np.zeros(len(keys), dtype=bool)
        if not len(ours):
            return known
        start = np.searchsorted(ours, keys, side="left")
        places = np.flatnonzero((start < len(ours)) & (ours[np.minimum(start, len(ours) - 1)] == keys))
        for shift in range(len(ours)):  # one turn, unless keys collide
            at = start[places] + shift
            same = (at < len(ours)) & (ours[np.minimum(at, len(ours) - 1)] == keys[places])
            places, at = places[same], at[same]
            if not len(places):
                break
            known[places] |= np.asarray(others[at] == rests[places])
            places = places[~known[places]]
        return known

    @classmethod
    def write(cls, path: Path, keys: Keys, rests: Keys) -> Run:
        """A new run of ids that are sorted."""
        write_durably(path, [keys.astype("<u8").tobytes(), rests.astype("<u8").tobytes()])
        return cls(path)


def unseen(runs: Iterable[Run], keys: Keys, rests: Keys) -> NDArray[np.bool_]:
    """Which of these sorted ids are in no run, the first of each."""
    fresh = first_of_each(keys, rests)
    for run in runs:
        fresh &= ~run.holds(keys, rests)
    return fresh


def to_merge(sizes: Sequence[int]) -> list[int]:
    """Which runs to make one of, by their places: the smaller ones, when there are too many.

    A merged run is at least twice as long as its longest part, so an id is written about log₂ n times.
    """
    if len(sizes) <= MOST_RUNS:
        return []
    order = sorted(range(len(sizes)), key=lambda place: sizes[place])
    total, end = sizes[order[0]], 1
    while end < len(order) and (sizes[order[end]] <= total or len(order) - end >= MOST_RUNS):
        total += sizes[order[end]]
        end += 1
    return order[:end] if end > 1 else order[:2]


def merge(runs: Sequence[Run], path: Path) -> Run:
    """All ids of some runs that share none, in one new run; a few megabytes are in memory."""
    write_durably(path, _pieces(runs, path.with_name(f"{path.name}.rests")))
    return Run(path)


def _pieces(runs: Sequence[Run], spool: Path) -> Iterator[bytes]:
    """All keys, then all rests, which wait in a file meanwhile."""
    with spool.open("wb+") as rests:
        for keys, others in _merged(runs):
            yield keys.tobytes()
            rests.write(others.tobytes())
        rests.seek(0)
        while piece := rests.read(8 * CHUNK):
            yield piece
    spool.unlink()


def _merged(runs: Sequence[Run]) -> Iterator[tuple[Keys, Keys]]:
    """Slices by ranges of keys: all that is below a bound is taken from every run, sorted, and passed on."""
    import numpy as np

    columns = [run.columns() for run in runs]
    places = [0] * len(runs)
    share = max(1, CHUNK // max(1, len(runs)))
    while any(place < len(keys) for place, (keys, _) in zip(places, columns, strict=True)):
        heads = [
            keys[min(place + share, len(keys)) - 1]
            for place, (keys, _) in zip(places, columns, strict=True)
            if place < len(keys)
        ]
        bound = min(heads)  # nobody is asked for more than its share, and one of them goes on by as much
        ends = [int(np.searchsorted(keys, bound, side="right")) for keys, _ in columns]
        keys = np.concatenate([keys[a:b] for (keys, _), a, b in zip(columns, places, ends, strict=True)])
        rests = np.concatenate([rests[a:b] for (_, rests), a, b in zip(columns, places, ends, strict=True)])
        order = np.lexsort((rests, keys)) if len(keys) else np.empty(0, dtype=np.intp)
        yield keys[order], rests[order]
        places = ends
