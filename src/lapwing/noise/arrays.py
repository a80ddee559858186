"""Many draws at once, by numpy: guide tables and vectorised filters over the thresholds of `inversion`.

The first 16 bits of a uniform index 65,536 cells. A cell without a threshold is the answer; a cell with one draws the
remaining 48 bits and searches the thresholds; a word that equals a threshold goes to the scalar code, which draws on.
So numpy only sorts out the easy cases, and the mathematics is in one place.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.exact import Real, exp_neg, floor_of
from lapwing.noise.inversion import WORD_BITS, Inversion, LazyUniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lapwing.noise.entropy import Entropy

BLOCK = 1 << 16  # draws at a time: what is computed on the way stays in the cache
BITS_BLOCK = 1 << 13  # the same for words of packed bits
FEW_WORDS = 64  # of packed bits: a call for entropy takes longer than to fill them
SLICED_DIGITS = 12  # then one uniform in 4096 is still undecided
GUIDE_BITS = 16
_MARGIN = 2.0**-40


class Guide:
    """A guide table over an `Inversion`, whose outcomes may be shifted into place as a digit of a larger number."""

    __slots__ = ("_bits", "_cells", "_inversion", "_outcomes", "_shift", "_thresholds", "_undecided")

    def __init__(self, inversion: Inversion, shift: int = 0, guide_bits: int = GUIDE_BITS) -> None:
        self._inversion, self._shift, self._bits = inversion, shift, guide_bits
        self._thresholds = np.array(inversion.thresholds, dtype=np.uint64)
        self._outcomes = np.array([self._placed(value) for value in inversion.outcomes], dtype=np.int64)
        rest = inversion.word_bits - guide_bits
        starts = np.arange(1 << guide_bits, dtype=np.uint64) << np.uint64(rest)
        cells = self._outcomes[np.searchsorted(self._thresholds, starts, side="left").clip(max=len(self._outcomes) - 1)]
        dtype = next(kind for kind in (np.int8, np.int16, np.int32, np.int64) if self._fits(cells, kind))
        self._undecided = np.iinfo(dtype).min
        cells[(self._thresholds >> np.uint64(rest)).astype(np.intp)] = self._undecided
        self._cells = cells.astype(dtype)

    def _placed(self, value: int) -> int:
        """The value as a digit: below the shift zeros for h ≥ 0, ones for −1−h, so that digits combine by xor."""
        return value << self._shift if value >= 0 else ~(~value << self._shift)

    @staticmethod
    def _fits(cells: NDArray[np.int64], kind: type[Any]) -> bool:
        limits = np.iinfo(kind)
        return bool(limits.min < cells.min() and cells.max() <= limits.max)

    def look_up(self, size: int, entropy: Entropy) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.uint16]]:
        """One block of answers, with 0 where the cell did not decide; those places, and their first bits."""
        words = entropy.words(size, np.uint16)
        if self._bits != GUIDE_BITS:
            words >>= np.uint16(GUIDE_BITS - self._bits)
        answers = self._cells.take(words, mode="clip")
        places = np.flatnonzero(answers == self._undecided)
        answers[places] = 0
        return answers, places, words[places]

    def decide(self, prefixes: NDArray[np.uint16], entropy: Entropy) -> NDArray[Any]:
        """The answers for words that begin with these bits: int64, or Python integers if one does not fit."""
        rest = self._inversion.word_bits - self._bits
        words = prefixes.astype(np.uint64) << np.uint64(rest)
        words |= entropy.words(len(prefixes), np.uint64) >> np.uint64(WORD_BITS - rest)
        indices = np.searchsorted(self._thresholds, words, side="left")
        answers: NDArray[Any] = self._outcomes[indices.clip(max=len(self._outcomes) - 1)]
        equal = self._thresholds[indices.clip(max=len(self._thresholds) - 1)] == words
        for position in np.flatnonzero(equal):
            value = self._placed(self._inversion.resolve(int(indices[position]), int(words[position]), entropy))
            if not -(1 << 63) <= value < 1 << 63:
                answers = answers.astype(object)
            answers[position] = value
        return answers


def draw_digits(guides: tuple[Guide, ...], size: int, entropy: Entropy) -> NDArray[Any]:
    """`size` numbers whose digits come from the guides: int64, or Python integers if one does not fit."""
    out = np.zeros(size, dtype=np.int64)
    open_places: list[list[NDArray[np.intp]]] = [[] for _ in guides]
    open_prefixes: list[list[NDArray[np.uint16]]] = [[] for _ in guides]
    for start in range(0, size, BLOCK):
        target = out[start : start + BLOCK]
        for digit, guide in enumerate(guides):
            answers, places, prefixes = guide.look_up(len(target), entropy)
            if digit:
                target ^= answers
            else:
                target[:] = answers
            open_places[digit].append(places + start)
            open_prefixes[digit].append(prefixes)
    for guide, where, firsts in zip(guides, open_places, open_prefixes, strict=True):
        if where:
            answers = guide.decide(np.concatenate(firsts), entropy)
            if answers.dtype == object:
                out = out.astype(object)
            out[np.concatenate(where)] ^= answers
    return out


def packed_bits(real: Real, size: int, entropy: Entropy, word_bits: int = WORD_BITS) -> NDArray[np.uint64]:
    """`size` independent bits, each one with probability `real`, 64 to a word; unused high bits of the last word are 0.

    Bit-sliced comparison of 64 uniforms with the binary digits of `real`: after i digits a share of 2^-i is
    undecided. After `SLICED_DIGITS` (or after the last digit that is one) each of the few left is decided by itself.
    """
    count, sliced = -(-size // 64), min(SLICED_DIGITS, word_bits)
    low, high = real(sliced)
    exact = low == high
    digits = low if exact else floor_of(real, sliced)
    if digits >> sliced:  # probability one
        return _trim(np.full(count, ~np.uint64(0)), size)
    needed = sliced - ((digits & -digits).bit_length() - 1 if digits else sliced) if exact else sliced
    result, undecided = np.zeros(count, dtype=np.uint64), np.full(count, ~np.uint64(0))
    if count == 1:  # the same words: what one device draws needs no arrays of one
        result[0], undecided[0] = _one_word(digits, sliced, needed, entropy)
    for start in range(0, count if count > 1 else 0, BITS_BLOCK):
        ones, still = result[start : start + BITS_BLOCK], undecided[start : start + BITS_BLOCK]
        places = range(sliced - 1, sliced - 1 - needed, -1)
        for place, words in zip(places, _slices(needed, len(ones), entropy), strict=True):
            words &= still
            if digits >> place & 1:
                ones |= still ^ words
                still[:] = words
            else:
                still ^= words
    if not exact:
        _decide_bits(real, digits, sliced, result, undecided, entropy, word_bits)
    return _trim(result, size)


def _one_word(digits: int, sliced: int, needed: int, entropy: Entropy) -> tuple[int, int]:
    """64 bits that are one, and 64 that are undecided, after comparing with the first digits."""
    ones, still = 0, (1 << 64) - 1
    for place, drawn in enumerate(entropy.words(needed, np.uint64).tolist(), start=1):
        word = drawn & still
        if digits >> sliced - place & 1:
            ones, still = ones | still ^ word, word
        else:
            still ^= word
    return ones, still


def _slices(number: int, width: int, entropy: Entropy) -> Iterator[NDArray[np.uint64]]:
    """So many arrays of uniform words: all from one call where they are short, which gives the same words."""
    if width <= FEW_WORDS:
        yield from entropy.words(number * width, np.uint64).reshape(number, width)
        return
    for _ in range(number):
        yield entropy.words(width, np.uint64)


def _decide_bits(
    real: Real,
    digits: int,
    sliced: int,
    result: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
    entropy: Entropy,
    word_bits: int,
) -> None:
    """Bits whose first digits equal those of `real`: draw the rest of a word for each."""
    holders = np.flatnonzero(undecided)
    bits = np.unpackbits(undecided[holders].astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    row, place = np.nonzero(bits)
    rest = word_bits - sliced
    words = entropy.words(len(row), np.uint64) >> np.uint64(WORD_BITS - rest) if rest else np.zeros(len(row), np.uint64)
    words |= np.uint64(digits << rest)
    threshold = np.uint64(floor_of(real, word_bits))
    ones = words < threshold
    for position in np.flatnonzero(words == threshold):
        ones[position] = LazyUniform(entropy, int(words[position]), word_bits).below(real)
    bits[row, place] = ones
    result[holders] |= np.packbits(bits, axis=1, bitorder="little").view("<u8").ravel()


def _trim(words: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    if size % 64:
        words[-1] &= np.uint64((1 << size % 64) - 1)
    return words


def unpack(words: NDArray[np.uint64], size: int) -> NDArray[np.bool_]:
    """Packed bits as an array of truth values."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), count=size, bitorder="little").view(np.bool_)


def bernoulli_exp_steps(
    steps: NDArray[np.int64], unit: Fraction, entropy: Entropy, margin: float = _MARGIN
) -> NDArray[np.bool_]:
    """For each k ≥ 0 in `steps`: true with probability exactly e^(−k·unit)."""
    near = steps * float(min(unit, Fraction(10**6)))
    return decide_exp(near, lambda index: unit * int(steps[index]), entropy, margin)


def decide_exp(
    approximate: NDArray[np.floating[Any]], exactly: Any, entropy: Entropy, margin: float = _MARGIN
) -> NDArray[np.bool_]:
    """U < e^(−x) for each x, with `approximate` close to x and `exactly(index)` the rational x itself.

    Doubles only sort out the clear cases. Pre-condition: |approximate − x| ≤ 2^-42 where x ≤ 64, and approximate ≥ 60
    where x > 64. Then the double e^-approximate is within a factor 1 ± 2^-40 of e^-x (numpy's exp is off by a few
    units of 2^-53), or both are below 2^-86. So whatever lies outside that margin plus 2^-60 is certain; the rest is
    decided exactly, from the same word.
    """
    words = entropy.words(len(approximate), np.uint64)
    uniform = words * 2.0**-64
    estimate = np.exp(-np.minimum(approximate, 100.0))  # no underflow, which numpy can be told to raise
    answers: NDArray[np.bool_] = uniform < estimate
    close = np.abs(uniform - estimate) <= estimate * margin + 2.0**-60
    for index in np.flatnonzero(close):
        answers[index] = LazyUniform(entropy, int(words[index])).below(exp_neg(exactly(int(index))))
    return answers


def uniform_below(n: int, size: int, entropy: Entropy) -> NDArray[Any]:
    """Uniform integers below n: up to 2^32 the upper half of a word of 32 bits times n (Lemire 2019).

    A number is the upper half of ⌊2^32/n⌋ products whose lower half is at least 2^32 mod n, or of one more with a
    smaller one. Where it is smaller, the word is drawn again.
    """
    if n > 1 << 63:
        width = (n - 1).bit_length()
        values: list[int] = []
        while len(values) < size:
            value = entropy.bits(width)
            if value < n:
                values.append(value)
        return np.array(values, dtype=object)
    if n > 1 << 32:
        return _masked_below(n, size, entropy)

    def products(count: int) -> NDArray[np.uint64]:
        return entropy.words(count, np.uint32).astype(np.uint64) * np.uint64(n)

    drawn, uneven = products(size), np.uint32((1 << 32) % n)
    again = np.flatnonzero(drawn.astype(np.uint32) < uneven)
    while len(again):
        drawn[again] = products(len(again))
        again = again[drawn[again].astype(np.uint32) < uneven]
    drawn >>= np.uint64(32)
    return drawn.view(np.int64)


def _masked_below(n: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """The same for large n: the leading bits of a word, drawn again where they are too large."""
    shift = np.uint64(WORD_BITS - (n - 1).bit_length())
    out = entropy.words(size, np.uint64) >> shift
    again = np.flatnonzero(out >= n)
    while len(again):
        out[again] = entropy.words(len(again), np.uint64) >> shift
        again = again[out[again] >= n]
    return out.astype(np.int64)


def positions(totals: list[int], draws: NDArray[Any]) -> NDArray[np.intp]:
    """Where each draw falls among the running totals."""
    kind = np.int64 if totals[-1] < 1 << 63 else object
    return np.searchsorted(np.array(totals, dtype=kind), draws, side="right")


def permutation(n: int, entropy: Entropy) -> NDArray[np.intp]:
    """Sort random keys. Given that no two are equal every order is equally likely, so equal keys are drawn again."""
    while True:
        keys = entropy.words(n, np.uint64)
        order = np.argsort(keys, kind="stable")
        if not np.any(keys[order][1:] == keys[order][:-1]):
            return order
