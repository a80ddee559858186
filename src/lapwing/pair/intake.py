"""Taking rows in: both servers turn shared bits into shared numbers, and check what owners sent without seeing it.

    convert   every bit of a row into additive shares, by transfers between the servers: no owner supplies any of it
    check     the bits of a listed column add up to 1 (or to the bit that says that somebody is there)
    add up    the rows that passed, bit by bit

A sum is opened for every row and listed column: for an honest row it is 0, whatever the row is. Proof: uploads.md
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lapwing.pair.domains import Layout, Listed
from lapwing.pair.gates import opened_words
from lapwing.pair.holdings import Packed
from lapwing.pair.links import Link
from lapwing.pair.transfers import Bits, Transfers, Words

BLOCK_BITS = 1 << 20
"""Bits that are converted at a time."""


@dataclass(frozen=True)
class Intake:
    """Which rows passed, and the totals of those."""

    passed: Bits
    totals: Words


def take_in(link: Link, transfers: Transfers, layout: Layout, lines: Packed, count: int) -> Intake:
    """Convert, check and add up so many rows."""
    passed = np.zeros(count, dtype=np.bool_)
    totals = np.zeros(layout.row_bits, dtype=np.uint64)
    step = max(8, BLOCK_BITS // layout.row_bits // 8 * 8)
    for start in range(0, count, step):
        size = min(step, count - start)
        part = lines[: layout.row_bits, start // 8 : start // 8 + -(-size // 8)]
        bits = np.unpackbits(part, axis=1, count=size, bitorder="little").astype(np.bool_)
        words = transfers.arithmetic(bits.ravel()).reshape(bits.shape)
        fine = _checked(link, layout, words)
        passed[start : start + size] = fine
        totals += words[:, fine].sum(axis=1, dtype=np.uint64)
    return Intake(passed, totals)


def _checked(link: Link, layout: Layout, words: Words) -> Bits:
    """Whether exactly one bit of each listed column is set in a row, or none where nobody is there."""
    sure = np.full(words.shape[1], 1 - link.place, dtype=np.uint64)  # a share of 1, which the first server has
    expected = words[0] if layout.presence else sure
    sums = [
        words[layout.places[domain.name]].sum(axis=0, dtype=np.uint64) - expected
        for domain in layout.domains
        if isinstance(domain, Listed)
    ]
    if not sums:
        return np.ones(words.shape[1], dtype=np.bool_)
    differences = opened_words(link, np.stack(sums).ravel()).reshape(len(sums), -1)
    result: Bits = (differences == 0).all(axis=0)
    return result
