"""The exact variances of the estimates of a square-root counter, computed without its T × T matrix.

The decoder is a linear machine whose registers are the blocks of the layout. A *stretch* of 2^m steps that begins at a
multiple of 2^m acts in the same way wherever it begins: it reads the blocks below level m, and what all blocks from
level m on add to every released number, which is one constant for the whole stretch. So two stretches make one of twice
the length, and the covariance of the registers goes from the start of a stream to any step in a few stretches
(square_root_counter.md, Accuracy). The noise of a released number has variance 1 here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from lapwing.mechanisms.dyadic_layout import Layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

LONGEST_PROFILE = 12
"""The steps inside a stretch of up to 2^12 are looked at one by one, all of them at once."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """What 2^m steps do. In: the blocks below level m (newest level first), the constant, the sum so far. Out: the same
    blocks, the block of level m that they pass on, the sum.
    """

    passage: Matrix
    noise: Matrix
    """The covariance of what the noise of these steps adds."""
    totals: Matrix
    """For every step of the stretch, how the sum after it follows from what comes in (only up to a length)."""
    spread: Matrix
    """For every step of the stretch, the variance that the noise of the stretch adds to the sum after it."""
    squares: Matrix
    """Σ totalsᵀ·totals over all steps, whatever the length, and below Σ spread: what their mean needs."""
    spreads: float


class Machine:
    """The stretches of a layout, and the walk along them."""

    def __init__(self, layout: Layout) -> None:
        import numpy as np

        self.layout = layout
        self.levels = [list(layout.level(level)) for level in range(layout.levels)]
        first = 1 / layout.coefficients[0]
        base = np.array([[-first, 0.0], [-first, 1.0]])
        row, unit = base[1:], first**2
        self.stretches = [Stretch(base, np.full((2, 2), unit), row, np.array([unit]), row.T @ row, unit)]
        while len(self.stretches) <= layout.levels and 1 << len(self.stretches) <= layout.steps:
            self.stretches.append(self._double(self.stretches[-1], len(self.stretches)))

    def _double(self, half: Stretch, m: int) -> Stretch:
        """Two stretches of 2^(m−1) steps."""
        import numpy as np

        coefficients = self.levels[m - 1]
        size, low = len(coefficients) - 1, len(half.passage) - 2
        inputs = low + size + 2  # blocks below, blocks of level m − 1, constant, sum
        reads = np.zeros((2, low + 2, inputs + 1))
        # The registers in between: blocks below, blocks of level m − 1 (one more), constant, sum.
        for turn in range(2):
            reads[turn, range(low), range(low)] = 1
            reads[turn, low, low : low + size + turn] = coefficients[: size + turn]
            reads[turn, low, inputs - 2 + turn] = 1
            reads[turn, low + 1, inputs - 1 + turn] = 1
        first = np.zeros((inputs + 1, inputs))
        first[[*range(low), low, inputs]] = half.passage @ reads[0][:, :inputs]
        first[range(low + 1, inputs), range(low, inputs - 1)] = 1  # the blocks move one place on, the constant stays
        middle = _spread(half.noise, [*range(low), low, inputs], inputs + 1)
        second = np.zeros((inputs + 1, inputs + 1))  # out: blocks below, level m − 1, passed on, sum
        second[[*range(low), low, inputs]] = half.passage @ reads[1]
        second[range(low + 1, low + size), range(low, low + size - 1)] = 1
        second[low + size, [low + size - 1, low + size]] = 1
        second = second[[*range(low + size + 1), inputs]]
        noise = second @ middle @ second.T + _spread(half.noise, [*range(low), low, inputs - 1], inputs)
        early, late, between = reads[0][:, :inputs], reads[1] @ first, reads[1] @ middle @ reads[1].T
        squares = early.T @ half.squares @ early + late.T @ half.squares @ late
        spreads = 2 * half.spreads + float((half.squares * between).sum())
        totals, spread = half.totals, half.spread
        if m <= LONGEST_PROFILE:
            spread = np.concatenate([spread, spread + np.einsum("ti,ti->t", totals @ between, totals)])
            totals = np.vstack([totals @ early, totals @ late])
        return Stretch(second @ first, noise, totals, spread, squares, spreads)

    def start(self) -> Matrix:
        """The covariance of all registers before the first step: all blocks, the sum, and a sum to compare with."""
        import numpy as np

        size = sum(map(len, self.levels)) + 2
        return np.zeros((size, size))

    def walk(self, covariance: Matrix, step: int, goal: int) -> Matrix:
        """The covariance after `goal` steps, from that after `step` steps."""
        while step < goal:
            m = self.longest(step, goal)
            covariance = self.advance(covariance, step, m)
            step += 1 << m
        return covariance

    def longest(self, step: int, goal: int) -> int:
        """The longest stretch that may begin here and does not go too far."""
        m = min(len(self.stretches) - 1, (goal - step).bit_length() - 1)
        return min(m, (step & -step).bit_length() - 1) if step else m

    def advance(self, covariance: Matrix, step: int, m: int) -> Matrix:
        """The covariance one stretch later."""
        passage, places = self._passage(step, m)
        moved = passage @ covariance @ passage.T
        noise = self.stretches[m].noise
        if len(places) < len(noise):  # nothing is ever passed on to a level beyond the last
            keep = [*range(len(places) - 1), len(noise) - 1]
            noise = noise[keep][:, keep]
        return moved + _spread(noise, places, len(moved))

    def reads(self, m: int) -> Matrix:
        """How what a stretch reads follows from all registers."""
        import numpy as np

        starts = self._starts()
        low = [start + place for level, start in enumerate(starts[:m]) for place in range(len(self.levels[level]) - 1)]
        reads = np.zeros((len(low) + 2, starts[-1] + 2))
        reads[range(len(low)), low] = 1
        for level in range(m, len(self.levels)):
            reads[len(low), starts[level] : starts[level + 1]] = self.levels[level]
        reads[len(low) + 1, starts[-1]] = 1
        return reads

    def _starts(self) -> list[int]:
        starts = [0]
        for coefficients in self.levels:
            starts.append(starts[-1] + len(coefficients))
        return starts

    def _passage(self, step: int, m: int) -> tuple[Matrix, list[int]]:
        """All registers after a stretch from those before it, and where its noise enters."""
        import numpy as np

        starts, half = self._starts(), self.stretches[m]
        size = starts[-1] + 2
        passage = np.zeros((size, size))
        out = half.passage @ self.reads(m)
        low = [start + place for level, start in enumerate(starts[:m]) for place in range(len(self.levels[level]) - 1)]
        passage[low] = out[:-2]
        passage[starts[-1]], passage[-1, -1] = out[-1], 1
        passed, places, index = out[-2], [*low], (step >> m) + 1
        for level in range(m, len(self.levels)):
            start, last = starts[level], starts[level + 1] - 1
            passage[start] = passed
            if level == m:
                places.append(start)
            if index & 1:
                passage[range(start + 1, last + 1), range(start, last)] = 1
                rest = starts[level + 1]
                passage[range(rest, starts[-1]), range(rest, starts[-1])] = 1
                break
            passage[range(start + 1, last), range(start, last - 1)] = 1
            passed = np.zeros(size)
            passed[[last - 1, last]] = 1
            index >>= 1
        return passage, [*places, starts[-1]]


@lru_cache(maxsize=8)
def machine_of(layout: Layout) -> Machine:
    """The machine of a layout. Cached after the first call."""
    return Machine(layout)


@lru_cache(maxsize=8)
def variances(layout: Layout) -> Matrix:
    """The variance of the estimate after 1, 2, …, `steps` steps."""
    import numpy as np

    machine, profile = machine_of(layout), np.empty(layout.steps)
    covariance, step = machine.start(), 0
    while step < layout.steps:
        m = min(machine.longest(step, layout.steps), LONGEST_PROFILE)
        stretch, reads = machine.stretches[m], machine.reads(m)
        sides = stretch.totals @ (reads @ covariance @ reads.T)
        profile[step : step + (1 << m)] = np.einsum("ti,ti->t", sides, stretch.totals) + stretch.spread
        covariance = machine.advance(covariance, step, m)
        step += 1 << m
    return profile


@lru_cache(maxsize=64)
def mean_variance(layout: Layout) -> float:
    """The mean of `variances`, without each of them."""
    machine, total = machine_of(layout), 0.0
    covariance, step = machine.start(), 0
    while step < layout.steps:
        m = machine.longest(step, layout.steps)
        stretch, reads = machine.stretches[m], machine.reads(m)
        total += float((stretch.squares * (reads @ covariance @ reads.T)).sum()) + stretch.spreads
        covariance = machine.advance(covariance, step, m)
        step += 1 << m
    return total / layout.steps


def window_variance(layout: Layout, start: int, stop: int) -> float:
    """The variance of the difference of the estimates after `stop` and after `start` steps."""
    machine = machine_of(layout)
    covariance = machine.walk(machine.start(), 0, start)
    covariance[-1], covariance[:, -1] = covariance[-2], covariance[:, -2]
    covariance[-1, -1] = covariance[-2, -2]
    covariance = machine.walk(covariance, start, stop)
    return float(covariance[-1, -1] + covariance[-2, -2] - 2 * covariance[-1, -2])


def _spread(matrix: Matrix, places: list[int], size: int) -> Matrix:
    import numpy as np

    wide = np.zeros((size, size))
    wide[np.ix_(places, places)] = matrix
    return wide
