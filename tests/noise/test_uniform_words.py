"""Whole numbers from words: of all words, equally many lead to each number."""

from __future__ import annotations

import numpy as np
import pytest

from lapwing.noise import Entropy, uniform_below


class EveryWord(Entropy):
    """Each word of 16 bits once; after that, words that make the largest number."""

    private = False

    def __init__(self) -> None:
        self.fresh = True

    def bits(self, count: int) -> int:
        raise NotImplementedError

    def fill(self, target: memoryview) -> None:
        words = np.frombuffer(target, dtype="<u2")
        words[:] = np.arange(len(words)) if self.fresh else 0xFFFF
        self.fresh = False


@pytest.mark.parametrize("n", [2, 3, 7, 99, 100, 128, 255, 256])
def test_equally_many_words_lead_to_every_number(n: int) -> None:
    drawn = np.bincount(uniform_below(n, 1 << 16, EveryWord()), minlength=n)
    each, again = divmod(1 << 16, n)
    assert drawn[:-1].tolist() == [each] * (n - 1)
    assert drawn[-1] == each + again


@pytest.mark.parametrize("n", [257, 1000, (1 << 16) - 1, (1 << 24) - 1, 1 << 24])
def test_words_that_would_favour_some_numbers_are_drawn_again(n: int) -> None:
    refused = (1 << 32) % n
    words = [word for word in range(0, 1 << 32, 65_537 * 13) if word * n % (1 << 32) < refused]
    words += [0] * (n > 1 and refused > 0)  # w = 0 has the smallest product of all

    class These(Entropy):
        private = False
        draws = iter([words, [(1 << 32) - 1] * len(words)])

        def bits(self, count: int) -> int:
            raise NotImplementedError

        def fill(self, target: memoryview) -> None:
            np.frombuffer(target, dtype="<u4")[:] = next(self.draws)

    if words:
        assert set(uniform_below(n, len(words), These()).tolist()) == {n - 1}
    else:
        assert (1 << 32) % n == 0
