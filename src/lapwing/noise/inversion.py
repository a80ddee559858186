"""Exact sampling by inversion: compare a uniform number with rigorous thresholds, drawing its bits only as needed.

For a distribution with CDF F keep T_j = floor(2^64·F(j)). The first 64 bits W of a uniform U decide almost always: W
< T_j means U < F(j), W > T_j means U > F(j). Only W = T_j is undecided; then more bits are drawn and compared with a
tighter enclosure of F(j), until it is decided. The outcome is the first j with U < F(j), with exactly its
probability. The list ends at the first T_j that is all ones: beyond it lies the tail, which is undecided by the same
rule.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from lapwing.exact import Enclosure, Real, floor_of
from lapwing.noise.entropy import Entropy

WORD_BITS = 64
_GUARD = 64


class Law(Protocol):
    """A distribution on integers, enumerated: index 0, 1, 2, … carries `outcome(index)`."""

    @property
    def size(self) -> int | None:
        """How many outcomes there are; None if there is no end."""

    def outcome(self, index: int) -> int:
        """The integer at this index."""

    def cdf(self, index: int) -> Real:
        """F(index), the probability of an index of at most this."""

    def enclosures(self, bits: int) -> Iterator[Enclosure]:
        """Enclosures of F(0), F(1), … at `bits`: the same as `cdf`, and faster for many in a row."""


class LazyUniform:
    """A uniform number U in [0, 1) whose bits are drawn only when they are needed."""

    __slots__ = ("_bits", "_entropy", "_step", "_value")

    def __init__(self, entropy: Entropy, value: int | None = None, bits: int = WORD_BITS) -> None:
        self._entropy, self._bits, self._step = entropy, bits, bits
        self._value = entropy.bits(bits) if value is None else value

    def below(self, real: Real) -> bool:
        """Whether U < real. U lies in [value, value + 1) / 2^bits; draw more bits until that is on one side."""
        while True:
            low, high = real(self._bits)
            if self._value < low:
                return True
            if self._value >= high:
                return False
            self._value = self._value << self._step | self._entropy.bits(self._step)
            self._bits += self._step


class Inversion:
    """A law with its thresholds, ready to draw from."""

    __slots__ = ("law", "outcomes", "thresholds", "word_bits")

    def __init__(self, law: Law, word_bits: int = WORD_BITS) -> None:
        self.law, self.word_bits = law, word_bits
        thresholds: list[int] = []
        all_ones = (1 << word_bits) - 1
        last = None if law.size is None else law.size - 1  # F of the last outcome is 1: no threshold needed
        for index, (low, high) in enumerate(islice(law.enclosures(word_bits + _GUARD), last)):
            floor = low >> _GUARD
            if floor != high >> _GUARD and floor != all_ones:  # F < 1: no floor is above all ones
                floor = floor_of(law.cdf(index), word_bits)
            thresholds.append(floor)
            if last is None and floor == all_ones:
                break
        self.thresholds = thresholds
        self.outcomes = [law.outcome(index) for index in range(len(thresholds) + (last is not None))]

    def draw(self, entropy: Entropy) -> int:
        """One exact draw."""
        word = entropy.bits(self.word_bits)
        index = bisect_left(self.thresholds, word)
        if index < len(self.thresholds) and self.thresholds[index] == word:
            return self.resolve(index, word, entropy)
        return self.outcomes[index]

    def resolve(self, index: int, word: int, entropy: Entropy) -> int:
        """Finish a draw whose first word equals a threshold: the first index from here on with U < F."""
        uniform = LazyUniform(entropy, word, self.word_bits)
        last = None if self.law.size is None else self.law.size - 1
        while index != last and not uniform.below(self.law.cdf(index)):
            index += 1
        return self.law.outcome(index)
