"""How far one changed value can move a median, and how many changes it takes until one can move it far.

The sorted values x_1 … x_n are continued by the lower bound (x_0, x_−1, …) and the upper bound (x_n+1, …); m = ⌈n/2⌉,
and the median is x_m. A_k = max of x_(i+k+1) − x_i over windows with i ≤ m ≤ i + k + 1. For every pair of
neighbouring data sets, under add_remove and under replace alike, A_k of one is at most A_(k+1) of the other, and the
medians differ by at most A_0 (smooth_median.md, Lemma).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from lapwing.mechanisms.ladder import Ladder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class MedianSpans:
    """The order statistics of one data set around its median. Secret: it lives no longer than a release."""

    __slots__ = ("_line", "_middle", "_width")

    def __init__(self, data: Any, ladder: Ladder) -> None:
        steps = ladder.ascending(data)
        self._middle, self._width = (len(steps) + 1) // 2, ladder.width
        self._line: list[int] | NDArray[np.int64]
        if isinstance(steps, list):
            self._line = [ladder.low, *steps, ladder.high]
        else:
            import numpy as np

            self._line = np.concatenate(([ladder.low], steps, [ladder.high]))

    @property
    def median(self) -> int:
        """x_m in grid steps; the lower bound if there is no value."""
        return int(self._line[self._middle])

    def smooth_sensitivity(self, decay: int, decay_bits: int, weight_bits: int) -> int:
        """max over k of w_k·A_k, times 2^weight_bits, with w_0 = 1 and w_(k+1) = w_k·decay/2^decay_bits rounded up.

        Windows that start before 0 or end after n + 1 are as wide as shorter ones, and the weights do not increase:
        left out.
        """
        best, weight, last = 0, 1 << weight_bits, len(self._line) - 1
        for k in range(last):
            if weight * self._width <= best:
                break
            reach = int(self._line[min(self._middle + k + 1, last)]) - int(self._line[max(self._middle - k - 1, 0)])
            if weight * reach > best:
                best = max(best, weight * self._widest(k))
            weight = -(-weight * decay >> decay_bits)
        return best

    def _widest(self, k: int) -> int:
        """A_k."""
        first = max(self._middle - k - 1, 0)
        lows, highs = self._line[first : self._middle + 1], self._line[first + k + 1 : self._middle + k + 2]
        if isinstance(lows, list):
            return int(max(high - low for low, high in zip(lows, highs, strict=False)))
        return int((highs - lows[: len(highs)]).max())

    def changes_until_wider(self, span: int) -> int:
        """The least k with A_k > span, for a span below the distance of the bounds."""
        line, middle = self._line, self._middle
        if isinstance(line, list):
            ends = (max(bisect_right(line, low + span), middle) for low in line[: middle + 1])
            return min(end - start for start, end in enumerate(ends) if end < len(line)) - 1
        import numpy as np

        places = np.maximum(np.searchsorted(line, line[: middle + 1] + span, side="right"), middle)
        lengths = places - np.arange(middle + 1)
        return int(lengths[places < len(line)].min()) - 1
