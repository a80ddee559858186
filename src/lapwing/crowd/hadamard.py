"""The fast Walsh–Hadamard transform, and the response that sends one of its coefficients: a place and one bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.crowd.items import parts
from lapwing.crowd.protocol import side_by_side
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 16
"""Numbers transformed at a time: with their copy they stay in the cache."""
SHORT = 8
"""Butterflies closer together than this are taken one by one, each over the whole block."""


def walsh_hadamard(table: NDArray[Any], *, in_place: bool = False) -> NDArray[Any]:
    """Multiply the last axis by the matrix with (−1)^popcount(i & j) in row i and column j.

    Whole numbers stay exact in int64 while the sum of magnitudes along the axis does; anything else becomes float64.
    `in_place` overwrites `table`, which must be a C-contiguous array of int64 or float64.

    >>> walsh_hadamard(np.array([1, 0, 0, 2])).tolist()
    [3, -1, -1, 3]
    """
    size = table.shape[-1] if table.ndim else 0
    if size < 1 or size & (size - 1):
        why = "must have a power of two as its last length"
        raise InvalidParameter("table", f"<shape {table.shape}>", why, "Fill it up with zeros.")
    if in_place and (table.dtype not in (np.int64, np.float64) or not table.flags.c_contiguous):
        why = "must be a C-contiguous array of int64 or float64 to be overwritten"
        raise InvalidParameter("table", f"<{table.dtype}>", why, "Write in_place=False.")
    kind = np.int64 if table.dtype.kind in "iub" else np.float64
    out = table if in_place else np.array(table, dtype=kind, order="C")
    short = out.reshape(-1, min(size, BLOCK))
    side_by_side(lambda part: _butterflies(short[part]), list(parts(len(short), max(1, BLOCK // size))))
    apart = BLOCK
    while apart < size:
        _far(out.reshape(-1, 2, apart))
        apart *= 2
    return out


def signs(row: NDArray[np.unsignedinteger[Any]], column: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.uint8]:
    """1 where the Hadamard matrix holds −1 in this row and column, else 0: the parity of popcount(row & column)."""
    common = np.asarray(row & column)
    if hasattr(np, "bitwise_count"):  # numpy 2
        return np.bitwise_count(common) & np.uint8(1)
    shift = 4 * common.dtype.itemsize
    while shift:
        common = common ^ (common >> common.dtype.type(shift))
        shift //= 2
    parity: NDArray[np.uint8] = (common & common.dtype.type(1)).astype(np.uint8)
    return parity


def _butterflies(rows: NDArray[Any]) -> None:
    """The whole transform of short rows, between two arrays in turn."""
    source, target, apart = rows, np.empty_like(rows), 1
    while apart < rows.shape[-1]:
        pairs, made = source.reshape(-1, 2, apart), target.reshape(-1, 2, apart)
        for one in range(apart) if apart < SHORT else (slice(None),):
            np.add(pairs[:, 0, one], pairs[:, 1, one], out=made[:, 0, one])
            np.subtract(pairs[:, 0, one], pairs[:, 1, one], out=made[:, 1, one])
        source, target, apart = target, source, 2 * apart
    if source is not rows:
        rows[...] = source


def _far(pairs: NDArray[Any]) -> None:
    """One step of a long row, in pieces."""

    def piece(part: slice) -> None:
        first, second = pairs[:, 0, part], pairs[:, 1, part]
        difference = first - second
        first += second
        second[...] = difference

    side_by_side(piece, list(parts(pairs.shape[-1], BLOCK)))
