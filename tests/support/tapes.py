"""A source of randomness that plays a tape: what was drawn is what a test wrote down."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from lapwing.noise import SYSTEM, Entropy


class Tape(Entropy):
    """Blocks of bytes, one for each draw; afterwards real randomness, which is kept."""

    private = False

    def __init__(self, blocks: Iterable[bytes] = ()) -> None:
        self._blocks, self.drawn = list(blocks), list[bytes]()

    def bits(self, count: int) -> int:
        return SYSTEM.bits(count)

    def fill(self, target: memoryview) -> None:
        data = self._blocks.pop(0) if self._blocks else SYSTEM.words(-(-len(target) // 8), np.uint64).tobytes()
        target[:] = data[: len(target)].ljust(len(target), b"\0")
        self.drawn.append(bytes(target))


def as_bytes(bits: NDArray[np.bool_]) -> bytes:
    """As they are drawn."""
    return np.packbits(bits, bitorder="little").tobytes()
