"""Monitoring: how many people have a changing yes-or-no status, at every one of many steps.

Asking everybody at every step would cost d·ε. Here a person whose status changes at most k times tells about *one*
change, on *one* level of a binary tree over time, and pays ε once for all steps (Erlingsson, Feldman, Mironov,
Raghunathan, Talwar and Thakurta 2019).

    steps      1   2   3   4   5   6   7   8
    level 0    .   .   .   .   .   .   .   .      a bit for every step
    level 1    ───── ───── ───── ─────            a bit for every two steps
    level 2    ─────────── ───────────            …
    level 3    ───────────────────────

The number of people at step 7 is what changed in 1…4, in 5…6 and in 7: one bit on each of three levels.

For numbers instead of a status see `lapwing.crowd.topl`, which pays ε for every report.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.crowd.counts import Counts
from lapwing.crowd.estimates import Estimates
from lapwing.crowd.items import Answers
from lapwing.crowd.protocol import ByEpsilon, ClosedProtocol, Protocol
from lapwing.crowd.reports import Column, Reports
from lapwing.errors import InvalidParameter
from lapwing.exact import ln_up
from lapwing.mechanisms.probabilities import as_written, flip_probability
from lapwing.noise import SYSTEM, Entropy, bernoulli, uniform_below
from lapwing.privacy import PureDP

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_STEPS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitoring(ByEpsilon, ClosedProtocol):
    """Report a yes-or-no status over many steps, and pay once for the whole history.

    The status is no before the first step and changes at most `changes` times. An answer is somebody's whole history,
    one truth value per step: a row of a table, or the steps of a `Watcher` one by one. Changes after the first
    `changes` are never told. What is not equal to true is no.

    Privacy: ln(p/(1−p)) for the whole history, however long, with p = 1 − flip.
    Accuracy: with L levels, c(t) ones among the binary digits of t and s people who say yes at step t, the coins have
    the variance n·c(t)·k²·L/(2p−1)² − s.
    Proof: monitoring.md

    Args:
        steps: How many steps there are, at most 65,536.
        changes: How often a status may change. The error grows in proportion.
        epsilon: What the whole history of one person costs at most.

    Raises:
        InvalidParameter: If epsilon is not positive, if steps is not a whole number from 1 on or is too large, or if
            there are more changes than steps.

    >>> watch = Monitoring(steps=64, changes=2, epsilon=1)
    >>> print(watch.privacy_loss(), watch.levels)
    ε = 0.999484 (replace, per person) 7
    """

    steps: int
    changes: int
    epsilon: Number
    _flip: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ClosedProtocol.__post_init__(self)
        steps, changes = checks.whole(steps=self.steps), checks.whole(changes=self.changes)
        if steps > MOST_STEPS:
            raise InvalidParameter("steps", steps, f"is above {MOST_STEPS:,}", "Use longer steps.")
        if changes > steps:
            raise InvalidParameter("changes", changes, "is more than one per step", f"Write {steps} or less.")
        epsilon = as_written(checks.positive(epsilon=self.epsilon))
        self._set(steps=steps, changes=changes, epsilon=epsilon, _flip=flip_probability(epsilon))

    @property
    def levels(self) -> int:
        """The number of levels of the tree over time: intervals of 1, 2, 4, … steps."""
        return self.steps.bit_length()

    @property
    def layout(self) -> tuple[Column, ...]:
        """The level, and a bit for each of its intervals."""
        return (Column.number("level", self.levels), Column.row("bits", self.steps))

    @property
    def shape(self) -> tuple[int, ...]:
        """A row for each level: the ones in each of its intervals, then the number of reports about that level."""
        return (self.levels, self.steps + 1)

    def privacy_loss(self) -> PureDP:
        """What one report about a whole history costs: ln(p/(1−p)), rounded up."""
        return self._loss(ln_up((1 - self._flip) / self._flip))

    def randomize(self, values: Any, entropy: Entropy = SYSTEM) -> Reports:
        """Randomise histories: one report for each of them.

        Args:
            values: The true histories, one for each person: a table with a row for each person, or lists of truth
                values. A history that is too short goes on as it ended.

        Raises:
            InvalidParameter: If values is not a collection of histories.

        >>> watch = Monitoring(steps=4, changes=1, epsilon=1)
        >>> watch.randomize([[False, False, True, True], [False, False, False, False]]).n
        2
        """
        return Protocol.randomize(self, self._histories(values), entropy)

    def watcher(self, entropy: Entropy = SYSTEM) -> Watcher:
        """The client side step by step, as a device runs it.

        Args:
            entropy: Source of random bits that chooses the level, and which change is told.

        Returns:
            A watcher for one person.

        >>> watch = Monitoring(steps=4, changes=1, epsilon=1)
        >>> person = watch.watcher()
        >>> bits = [person.step(online) for online in (False, False, True, True)]
        >>> person.report().n
        1
        """
        return Watcher(self, uniform_below(self.levels, entropy=entropy), uniform_below(self.changes, entropy=entropy))

    def estimate(self, state: Counts, *, confidence: float = 0.95) -> Estimates:
        """How many people say yes at each step 1 … d. Step t needs no bit of a later step.

        >>> watch = Monitoring(steps=4, changes=1, epsilon=4)
        >>> counts = watch.absorb(None, watch.randomize([[False, False, True, True]] * 10_000))
        >>> len(watch.estimate(counts))
        4
        """
        import numpy as np

        self.check_own(state.protocol)
        sums = 2 * state.table[:, :-1] - state.table[:, -1:]
        scale = float(self.changes * self.levels / (1 - 2 * self._flip))
        times = np.arange(1, self.steps + 1)
        totals, pieces = np.zeros(self.steps, dtype=np.int64), np.zeros(self.steps, dtype=np.int64)
        for level in range(self.levels):  # the interval of this level that ends where those of lower levels begin
            used = times >> level & 1 == 1
            totals[used] += sums[level, (times[used] >> level) - 1]
            pieces += used
        counts = np.asarray(scale * totals, dtype=np.float64)
        inside = np.clip(counts, 0, state.n)
        total = state.n * pieces * scale**2 / self.levels
        return Estimates(
            range(1, self.steps + 1),
            state.n,
            counts,
            np.sqrt(np.maximum(total - inside, 0)),
            np.sqrt(np.maximum(total - inside**2 / max(state.n, 1), 0)),
            scale,
            confidence,
        )

    def _histories(self, values: Any) -> Answers:
        """Everybody's history as a row of zeros and ones."""
        import numpy as np

        if isinstance(values, Answers):
            known: Any = _table(list(values.labels), self.steps)
            return Answers(known, values.places)
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:
            raise InvalidParameter("values", "<one answer>", "must be histories of many people", "Write [[0, 1, 1]].")
        table = values.to_numpy() if hasattr(values, "to_numpy") else values  # a data frame lists its columns
        if isinstance(table, np.ndarray) and table.dtype.kind in "biuf" and table.shape[1:] == (self.steps,):
            rows: Any = (table == 1).view(np.uint8)
        else:
            rows = _table(list(table), self.steps)
        return Answers(rows, np.arange(len(rows)))

    def _randomized(self, answers: Answers, entropy: Entropy) -> tuple[NDArray[Any], ...]:
        import numpy as np

        from lapwing.crowd.bits import noise_rows, put

        n = len(answers)
        level = uniform_below(self.levels, n, entropy).astype(np.int64)
        which = uniform_below(self.changes, n, entropy).astype(np.int64)
        rows = noise_rows(n, self.steps, Fraction(1, 2), entropy) & self._masks()[level]
        histories = np.asarray(answers.labels, dtype=np.uint8).reshape(-1, self.steps)[answers.places]
        when = _change(histories, which)
        node = when >> level
        reporting = np.flatnonzero((when < self.steps) & (node < self.steps >> level))
        truth = bernoulli(1 - self._flip, len(reporting), entropy)
        put(rows, reporting, node[reporting], truth == (which[reporting] % 2 == 0))
        return level.astype(self.layout[0].dtype), rows

    def _masks(self) -> NDArray[np.uint64]:
        """For every level, ones where it has an interval that ends within the steps."""
        import numpy as np

        from lapwing.crowd.bits import pack

        places = np.arange(-(-self.steps // 64) * 64)
        return np.stack([pack(places < self.steps >> level) for level in range(self.levels)])

    def _tally(self, columns: Sequence[NDArray[Any]], n: int) -> NDArray[np.int64]:
        import numpy as np

        from lapwing.crowd.bits import column_counts, words_for

        level, rows = columns
        totals = np.zeros(self.shape, dtype=np.int64)
        totals[:, -1] = np.bincount(level, minlength=self.levels)
        for each in range(self.levels):  # bits beyond the intervals of a level, which only a fake has, are left out
            intervals = self.steps >> each
            words = rows[level == each, : words_for(intervals)]
            totals[each, :intervals] = column_counts(words, intervals)
        return totals


class Watcher:
    """The client side of `Monitoring` for one person, step by step. Get one from `Monitoring.watcher()`.

    It knows which change of the status it tells about, and on which level of the tree. It keeps no other history.

    Args:
        protocol: What it reports to.
        level: The level of the tree that it reports on; drawn at random, or the guarantee is lost.
        which: The change that it tells about, from 0; drawn at random below `changes`.

    >>> from lapwing.crowd import Monitoring
    >>> watch = Monitoring(steps=4, changes=1, epsilon=1)
    >>> person = watch.watcher()
    >>> bits = [person.step(online) for online in (False, False, True, True)]
    >>> len(bits), person.report()
    (4, <1 report of Monitoring, 6 bits each>)
    """

    __slots__ = ("_bits", "_changed", "_news", "_protocol", "_status", "_step", "_which", "level")

    def __init__(self, protocol: Monitoring, level: int, which: int) -> None:
        self._protocol, self.level, self._which = protocol, level, which
        self._step = self._changed = self._news = 0
        self._status = False
        self._bits: list[bool] = []

    def step(self, status: object, entropy: Entropy = SYSTEM) -> bool | None:
        """The bit to send after this step, if an interval of this level ends with it.

        Args:
            status: Whether the answer is yes now.
            entropy: Source of random bits for the noise.

        Returns:
            The randomised bit; None if nothing is to be sent now.

        Raises:
            InvalidParameter: If all steps are over.
        """
        if self._step == self._protocol.steps:
            raise InvalidParameter("step", self._step + 1, "is after the last step", "Start a new Monitoring.")
        now = _is_yes(status)
        if now is not self._status:
            if self._changed == self._which:
                self._news = 1 if now else -1
            self._changed += 1
        self._status = now
        self._step += 1
        if self._step % (1 << self.level):
            return None
        news, self._news = self._news, 0
        if news == 0:
            bit = bernoulli(Fraction(1, 2), entropy=entropy)
        else:
            bit = bernoulli(1 - self._protocol._flip, entropy=entropy) == (news > 0)
        self._bits.append(bit)
        return bit

    def report(self) -> Reports:
        """All bits that were sent, as one report. Bits that were not sent yet are zero.

        Returns:
            A report that `absorb` takes.
        """
        import numpy as np

        from lapwing.crowd.bits import pack

        bits = np.zeros(self._protocol.steps, dtype=np.bool_)
        bits[: len(self._bits)] = self._bits
        level = np.array([self.level], dtype=self._protocol.layout[0].dtype)
        return Reports(self._protocol, 1, (level, pack(bits).reshape(1, -1)))


def _change(histories: NDArray[np.uint8], which: NDArray[np.int64]) -> NDArray[np.int64]:
    """When each person's change number `which` (from 0) happens; the number of steps if it does not."""
    import numpy as np

    changed = histories != 0
    changed[:, 1:] = histories[:, 1:] != histories[:, :-1]
    people, times = np.nonzero(changed)
    counts = np.bincount(people, minlength=len(histories))
    happens = which < counts
    when = np.full(len(histories), histories.shape[1], dtype=np.int64)
    when[happens] = times[(np.cumsum(counts) - counts + which)[happens]]
    return when


def _table(histories: Sequence[Any], steps: int) -> NDArray[np.uint8]:
    """Rows of zeros and ones; what is too long is cut, what is too short stays as it was."""
    import numpy as np

    table = np.zeros((len(histories), steps), dtype=np.uint8)
    for row, history in zip(table, histories, strict=True):
        listed = _listed(history, steps)
        row[: len(listed)] = listed
        row[len(listed) :] = listed[-1] if listed else 0
    return table


def _listed(history: object, steps: int) -> list[bool]:
    if isinstance(history, (str, bytes)) or not isinstance(history, Iterable):
        return []
    try:
        return [_is_yes(status) for status, _ in zip(history, range(steps), strict=False)]
    except Exception:  # an error would tell about the history
        return []


def _is_yes(status: object) -> bool:
    try:
        return bool(status == 1)
    except Exception:  # an error would tell about the status
        return False
