"""Boolean gates on bits that two servers share by XOR (Goldreich, Micali and Wigderson 1987, with Beaver's triples).

XOR and NOT cost nothing. An AND takes one triple, which is used up, and all ANDs of a layer take one exchange.
Proof: gates.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


def opened_words(link: Link, words: Words) -> Words:
    """What both additive shares are together, modulo 2^64: both servers learn it."""
    theirs = np.frombuffer(link.exchange(words.astype("<u8").tobytes()), dtype="<u8")
    return words + theirs.astype(np.uint64)


def opened_packed(link: Link, lines: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What both shares of lines of bits are together: both servers learn it."""
    theirs = np.frombuffer(link.exchange(lines.tobytes()), dtype=np.uint8)
    return lines ^ theirs.reshape(lines.shape)


def below(gates: Gates, uniforms: Sequence[Bits], thresholds: Sequence[int]) -> list[Bits]:
    """For each array of uniform numbers, whether they are below its threshold, which is public.

    An array holds one number a column, its most significant bit in the first row. Pairs of neighbouring digits are
    joined until one is left: less = less above, or equal above and less below. All arrays go through layers together.
    """
    return _compared(gates, [_leaves(gates, *pair) for pair in zip(uniforms, thresholds, strict=True)])


def _compared(gates: Gates, parts: list[tuple[Bits, Bits]]) -> list[Bits]:
    """Whether a number is less, from whether each of its digits alone is less, and equal: the highest digit first."""
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


def at_least(gates: Gates, words: Words, threshold: int, bits: int) -> Bits:
    """Whether shared numbers are at least a public threshold, as shared bits.

    Numbers and threshold are at least 0 and below 2^(bits − 1). Each server cuts its share to so many bits; the first
    subtracts the threshold. The sum of both is below zero if its highest bit is set: that is the XOR of both highest
    bits and the carry from below, which is set if the first number is above the negation of the second.
    """
    shift = np.uint64(threshold if gates.link.place == 0 else 0)
    own = words - shift
    digits = (own[None, :] >> np.arange(bits, dtype=np.uint64)[::-1, None] & np.uint64(1)).astype(np.bool_)
    highest, lower = digits[0], digits[1:]
    none = np.zeros_like(lower)
    first, second = (lower, none) if gates.link.place == 0 else (none, lower)
    [carry] = _compared(gates, [(gates.both(first, second), lower)])
    return gates.negated(highest ^ carry)


def ands_at_least(bits: int) -> int:
    """How many ANDs one such comparison takes."""
    return bits - 1 + ands_below(bits - 1)


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
