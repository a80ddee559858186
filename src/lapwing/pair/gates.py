"""Boolean gates on bits that two servers share by XOR (Goldreich, Micali and Wigderson 1987, with Beaver's triples).

XOR and NOT cost nothing. An AND takes one triple, which is used up, and all ANDs of a layer take one exchange.
Proof: gates.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.pair.links import Link
from lapwing.pair.transfers import Bits, Triples, Words


@dataclass(slots=True)
class Gates:
    """One server's side. Both servers ask for the same gates in the same order."""

    link: Link
    triples: Triples

    def public(self, bits: Bits) -> Bits:
        """My share of bits that everybody knows."""
        return bits if self.link.place == 0 else np.zeros_like(bits)

    def negated(self, bits: Bits) -> Bits:
        """NOT."""
        return ~bits if self.link.place == 0 else bits

    def both(self, left: Bits, right: Bits) -> Bits:
        """AND, place by place: one exchange."""
        shape, count = left.shape, left.size
        a, b, c = self.triples.take(count)
        masked = np.concatenate([left.ravel() ^ a, right.ravel() ^ b])
        opened = self.opened_bits(masked)
        d, e = opened[:count], opened[count:]
        result = c ^ (d & b) ^ (e & a)
        if self.link.place == 0:
            result ^= d & e
        return result.reshape(shape)

    def opened_bits(self, bits: Bits) -> Bits:
        """What both shares are together: both servers learn it."""
        theirs = self.link.exchange(np.packbits(bits, bitorder="little").tobytes())
        return bits ^ np.unpackbits(np.frombuffer(theirs, dtype=np.uint8), count=len(bits), bitorder="little").astype(
            np.bool_
        )

    def opened_words(self, words: Words) -> Words:
        """What both additive shares are together, modulo 2^64: both servers learn it."""
        theirs = np.frombuffer(self.link.exchange(words.astype("<u8").tobytes()), dtype="<u8")
        return words + theirs.astype(np.uint64)


def below(gates: Gates, uniforms: Sequence[Bits], thresholds: Sequence[int]) -> list[Bits]:
    """For each array of uniform numbers, whether they are below its threshold, which is public.

    An array holds one number a column, its most significant bit in the first row. Pairs of neighbouring digits are
    joined until one is left: less = less above, or equal above and less below. All arrays go through layers together.
    """
    parts = [_leaves(gates, bits, threshold) for bits, threshold in zip(uniforms, thresholds, strict=True)]
    while any(len(less) > 1 for less, _ in parts):
        lefts, rights = zip(*(_operands(less, equal) for less, equal in parts), strict=True)
        product = gates.both(np.concatenate(lefts), np.concatenate(rights))
        joined, start = [], 0
        for (less, equal), left in zip(parts, lefts, strict=True):
            joined.append(_joined(less, equal, product[start : start + len(left)]))
            start += len(left)
        parts = joined
    return [less[0] for less, _ in parts]


def ands_below(bits: int) -> int:
    """How many ANDs one comparison of so many bits takes."""
    total, digits = 0, bits
    while digits > 1:
        total += 2 * (digits // 2)
        digits -= digits // 2
    return total


def _leaves(gates: Gates, bits: Bits, threshold: int) -> tuple[Bits, Bits]:
    """For each digit alone: whether it is less than that of the threshold, and whether it is equal."""
    ones = np.array([threshold >> place & 1 for place in reversed(range(len(bits)))], dtype=np.bool_)[:, None]
    zero = gates.negated(bits)
    return zero & ones, np.where(ones, bits, zero)


def _operands(less: Bits, equal: Bits) -> tuple[Bits, Bits]:
    """What is multiplied to join digits two by two: equal above with less below, and with equal below."""
    end = len(less) // 2 * 2
    above = equal[:end:2]
    return np.concatenate([above, above]), np.concatenate([less[1:end:2], equal[1:end:2]])


def _joined(less: Bits, equal: Bits, product: Bits) -> tuple[Bits, Bits]:
    end, half = len(less) // 2 * 2, len(less) // 2
    return (
        np.concatenate([less[:end:2] ^ product[:half], less[end:]]),
        np.concatenate([product[half:], equal[end:]]),
    )
