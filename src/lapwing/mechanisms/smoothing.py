"""Smoothing of noisy series. Everything here is computed from released numbers: it costs no privacy.

A short memory follows every change and every draw of the noise, a long one follows neither. Which foretells the next
value best depends on the series, so several run side by side, and the best so far gives the forecast. The level of a
step lies between forecast and value: if forecasts miss by no more than the noise, it is the forecast; if they miss by
much more, the series itself has moved, and it is the value. Nothing later is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lapwing.errors import InvalidParameter

GAINS = tuple(2.0**-power for power in range(8))
"""Of the newest value in a level: from no memory at all to one of about 128 steps."""
KEPT = 63 / 64
"""How much of the misses until yesterday still counts today."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Memories of several lengths after some values, and how badly each has foretold them."""

    level: float = 0.0
    """Of the step that was seen last."""
    seen: int = 0
    memories: tuple[float, ...] = (0.0,) * len(GAINS)
    misses: tuple[float, ...] = (0.0,) * len(GAINS)
    """Squares of what each memory missed by, in variances of the noise, added up with less weight for older ones."""

    @property
    def forecast(self) -> float:
        """The forecast of the next step, by the memory that has done best so far."""
        return self.memories[self._best()]

    def following(self, value: float, variance: float) -> Levels:
        """The levels after one more value. A value of infinite variance changes nothing."""
        if not math.isfinite(variance):
            return self
        seen, weight = self.seen + 1, 1 / max(variance, 1e-300) if self.seen else 0.0
        offs = [value - memory for memory in self.memories]
        misses = tuple(KEPT * miss + weight * off * off for miss, off in zip(self.misses, offs, strict=True))
        pairs = zip(self.memories, GAINS, offs, strict=True)
        memories = tuple(memory + max(gain, 1 / seen) * off for memory, gain, off in pairs)
        best = self._best()
        expected = (1 - KEPT ** (seen - 1)) / (1 - KEPT)  # what noise alone would add up to
        trust = max(0.0, 1 - expected / misses[best]) if misses[best] > 0 else 0.0
        level = self.memories[best] + trust * offs[best] if self.seen else value
        return Levels(level, seen, memories, misses)

    def _best(self) -> int:
        return min(range(len(GAINS)), key=lambda place: (self.misses[place], -place))


def running_levels(values: Sequence[float], variances: Sequence[float]) -> list[float]:
    """The level at each step, from the values up to it.

    `variances` are those of the noise, as far as they are known: misses where the noise is wide count less, and a step
    with an infinite variance has no value of its own.

    >>> [round(level, 2) for level in running_levels([10.0, 12.0, 8.0, 10.0], [4.0] * 4)]
    [10.0, 10.0, 9.84, 10.0]
    """
    if len(values) != len(variances):
        hint = "Give the variance of the noise at every step."
        raise InvalidParameter("variances", len(variances), f"are not {len(values)}", hint)
    levels, state = list[float](), Levels()
    for value, variance in zip(values, variances, strict=True):
        state = state.following(value, variance)
        levels.append(state.level)
    return levels


def never_falling(values: Sequence[float]) -> list[float]:
    """The nearest series, in squares, that never falls: for totals of numbers that are not negative, looking back.

    Pools adjacent violators (Ayer, Brunk, Ewing, Reid and Silverman 1955): linear time.

    >>> never_falling([1.0, 3.0, 2.0, 5.0])
    [1.0, 2.5, 2.5, 5.0]
    """
    pools = list[tuple[float, int]]()
    for value in values:
        total, size = float(value), 1
        while pools and pools[-1][0] * size > total * pools[-1][1]:
            before, length = pools.pop()
            total, size = total + before, size + length
        pools.append((total, size))
    return [total / size for total, size in pools for _ in range(size)]
