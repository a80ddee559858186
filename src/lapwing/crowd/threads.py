"""The same work on several parts in parallel: numpy and OpenSSL release the interpreter while they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lapwing.noise import SYSTEM, Entropy

THREADS = 2
T = TypeVar("T")
R = TypeVar("R")


def side_by_side(work: Callable[[T], R], pieces: Sequence[T], entropy: Entropy = SYSTEM) -> list[R]:
    """Do it to every piece, on several threads if the source of entropy has a stream for each."""
    return list(one_by_one(work, pieces, entropy))


def one_by_one(work: Callable[[T], R], pieces: Sequence[T], entropy: Entropy = SYSTEM) -> Iterator[R]:
    """The same, each result as soon as those before it are there."""
    if len(pieces) < 2 or not entropy.private:
        yield from map(work, pieces)
    else:
        with ThreadPoolExecutor(THREADS) as threads:
            yield from threads.map(work, pieces)


def parts(count: int, size: int) -> Iterator[slice]:
    """0 … count − 1 in parts of `size`."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
