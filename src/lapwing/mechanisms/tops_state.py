"""The state of a ToPS stream between two steps, and a quote of what the stream costs."""

from __future__ import annotations

from dataclasses import dataclass, field

from lapwing.mechanisms.counter import CounterState
from lapwing.mechanisms.smoothing import Levels
from lapwing.privacy import PureDP


@dataclass(frozen=True, slots=True, eq=False)
class TopsState:
    """Where a stream stands after `step` steps. **Secret**: it holds exact counts, sums and noise yet to be used.

    A state is observed once. Observing it again, with other data, would release the same step twice.

    >>> from lapwing.mechanisms import Tops
    >>> stream = Tops(epsilon=1, bound=1000, steps=365, first=30)
    >>> state = stream.observe(stream.open(), [17, 250, 3])
    >>> stream.state_from_bytes(stream.state_to_bytes(state)).step
    1
    """

    step: int
    """How many steps were observed."""
    fingerprint: bytes = field(repr=False)
    """Of the stream that this state belongs to."""
    rung: int | None = None
    """Which threshold was chosen; None while the first steps last. Public."""
    counts: tuple[int, ...] = field(default=(), repr=False)
    """How many of the first values lie below each threshold and above the one before; all zero afterwards."""
    block: int = field(default=0, repr=False)
    """The sum of the block that is not closed yet, in grid steps."""
    counter: CounterState | None = field(default=None, repr=False)
    """The state of the counter that adds up the blocks; None while the first steps last."""
    levels: Levels = field(default_factory=Levels, repr=False)
    """What a step brings, smoothed. Public."""


@dataclass(frozen=True, slots=True)
class TopsQuote:
    """What a stream costs and how accurate it will be, before anything is read.

    Attributes:
        loss: What the whole stream costs.
        steps: How many steps the stream has at most.
        first: How many of the first steps choose the threshold. They are not answered.
        block: How many steps are added up before a total changes.
        confidence: The probability that a total is within its half-width.
        state_bytes: The size of a stored state.

    >>> from lapwing.mechanisms import Tops
    >>> quote = Tops(epsilon=1, bound=1000, steps=365, first=30).quote()
    >>> print(quote.loss)
    ε = 1 (add_remove, per event)
    >>> quote.steps, quote.first, quote.confidence
    (365, 30, 0.95)
    """

    loss: PureDP
    steps: int
    first: int
    rank: float
    """The share of the first numbers that should lie below the threshold."""
    block: int
    half_width: float
    """Of a total after the worst block, as a multiple of the threshold."""
    confidence: float
    state_bytes: int
    granularity: float
    """Numbers are rounded to multiples of this before anything else, and intervals are about the rounded ones."""

    def __str__(self) -> str:
        return (
            f"{self.loss}, once for {self.steps:,} steps. The first {self.first:,} choose a threshold above "
            f"{self.rank:.2%} of the numbers and are not answered. Then a total is within {self.half_width:,.1f} "
            f"thresholds of the sum of what is not cut off, at {100 * self.confidence:g} % confidence, after each "
            f"block of {self.block:,} steps. Numbers below 0 count as 0, and all are rounded to multiples of "
            f"{self.granularity:g} first. "
            f"State: {self.state_bytes:,} bytes."
        )
