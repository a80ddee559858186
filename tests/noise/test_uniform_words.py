"""Whole numbers from words: of all words, equally many lead to each number."""

from __future__ import annotations

import numpy as np
from cases import together

from lapwing.noise import Entropy, uniform_below


class Words(Entropy):
    """The words that it is given, and no others."""

    private = False

    def __init__(self, words: list[int]) -> None:
        self._words = words

    def bits(self, count: int) -> int:
        raise AssertionError("no single bits are needed")

    def fill(self, target: memoryview) -> None:
        count = len(target) // 4
        target[:] = np.array(self._words[:count], dtype="<u4").tobytes()
        del self._words[:count]


@together("n", [2, 3, 5, 99, 256, 257, 65_537, (1 << 24) - 1, (1 << 31) + 1, (1 << 32) - 1, 1 << 32])
def test_uneven_words_are_drawn_again(n: int) -> None:
    for place in {0, 1, n // 2, n - 1}:
        first = -(-(place << 32) // n)  # the first word that leads there
        for word in (first, min(first + 1, (1 << 32) - 1)):
            uneven = word * n % (1 << 32) < (1 << 32) % n
            drawn = uniform_below(n, 1, Words([word, 0xFFFFFFFF] if uneven else [word]))
            assert drawn.tolist() == [n - 1 if uneven else word * n >> 32]


@together("n", [3, 7, 100, 65_537])
def test_equally_many_words_are_kept_for_every_number(n: int) -> None:
    each, uneven = divmod(1 << 32, n)
    for place in range(min(n, 300)):
        first, after = -(-(place << 32) // n), -(-((place + 1) << 32) // n)
        lowest = (first * n) % (1 << 32)  # only the first word of a number can have a small lower half
        assert after - first - (lowest < uneven) == each
