"""What all continual counters share: a public number of steps, one price, and a state that goes from step to step.

A stream brings `width` whole numbers a step; after every step the counter tells their sums so far. `open` makes the
first state, `observe` closes one step, `estimate` reads the noisy sums. The loss is stated once, for the whole stream.
"""

from __future__ import annotations

import math
import struct
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter
from lapwing.mechanisms.grid import SMALL, element_steps, is_array, steps_of_array
from lapwing.mechanisms.mechanism import Mechanism
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.neighbours import PERSON, Unsaid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = b"LWC1"
"""The first bytes of a stored state; the digit is the version of the format."""
MARK = 8
"""Bytes of the fingerprint of a counter, and of the checksum of a stored state."""
LARGEST_STEPS = 1 << 24
"""A step every two seconds for a year; what is known beforehand takes room in proportion to the steps."""
EVENT = Unsaid("event")
"""The unit of a counter with one active step, if nobody says which: calling it a person would promise too much."""
_HEADER = struct.Struct("<4s8sQ")
_ONE = Fraction(1)


@dataclass(frozen=True, slots=True, eq=False)
class CounterState:
    """Where a counter stands after `step` steps. **Secret**: it holds exact sums and noise that is still to be used.

    A state is observed once. Observing it again, with other data, would release the same step twice.

    >>> from lapwing.mechanisms import SignedTree
    >>> counter = SignedTree(epsilon=1, steps=365, sensitivity=1)
    >>> state = counter.observe(counter.open(), 120)
    >>> counter.state_from_bytes(state.to_bytes()).step
    1
    """

    step: int
    """How many steps were observed."""
    fingerprint: bytes = field(repr=False)
    """Of the counter that this state belongs to."""
    secret: tuple[Any, ...] = field(repr=False)
    """Exact sums and noise: whole numbers, or int64 arrays of them where there are several sums."""
    public: tuple[Any, ...] = field(repr=False)
    """What is computed from released numbers alone: floats, or arrays of them."""

    def to_bytes(self) -> bytes:
        """The state as bytes, to store in a safe place. Their number depends on the counter alone.

        Returns:
            The bytes, for `state_from_bytes` of the same counter. They are as secret as the state.

        >>> from lapwing.mechanisms import SignedTree
        >>> counter = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> len(counter.open().to_bytes()) == counter.state_bytes
        True
        """
        body = _HEADER.pack(MAGIC, self.fingerprint, self.step) + _pack("q", self.secret) + _pack("d", self.public)
        return body + sha256(body).digest()[:MARK]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter(Mechanism):
    """What all continual counters share.

    Neighbouring streams differ in at most `active_steps` steps, any two of them at least `separation` apart. In each of
    these steps they differ by at most `sensitivity`.

    Args:
        unit: The word for who or what is protected. By default "event" with one active step, and "person" with more.
        steps: How many steps the stream has at most, a public number up to 2^24.
        sensitivity: How far one unit moves the numbers of one step, at least 1; each counter says in which norm.
        width: How many numbers each step brings. Each has a sum of its own.
        active_steps: In how many steps one unit may appear. With 1 a single event is protected. A person with events
            in several steps is protected if this is at least their number.
        separation: Two appearances of one unit are at least so many steps apart. More than 1 may lower the price.

    Raises:
        InvalidParameter: If a number is not positive, if sensitivity is less than 1, or if there are too many steps.

    >>> from lapwing.mechanisms import SignedTree
    >>> counter = SignedTree(epsilon=1, steps=365, sensitivity=1)
    >>> state = counter.observe(counter.observe(counter.open(), 1200), 1300)
    >>> 2200 < counter.estimate(state)[0] < 2800
    True
    """

    unit: str = EVENT
    steps: int
    sensitivity: Number
    width: int = 1
    active_steps: int = 1
    separation: int = 1
    _fingerprint: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.unit is EVENT and checks.whole(active_steps=self.active_steps) > 1:
            self._set(unit=PERSON)
        if checks.whole(steps=self.steps) > LARGEST_STEPS:
            raise InvalidParameter("steps", self.steps, f"is more than {LARGEST_STEPS}", "Use longer steps.")
        checks.whole(width=self.width)
        checks.whole(active_steps=self.active_steps)
        checks.whole(separation=self.separation)
        written = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}
        exact = {name: _exactly(value) for name, value in written.items() if name not in ("relation", "unit")}
        self._identify(type(self).__name__, sorted(exact.items()))

    @property
    def largest_value(self) -> int:
        """The largest number that a step may bring. Larger ones are cut to it, so that no sum leaves 64 bits."""
        return (1 << 61) // self.steps

    @property
    def state_bytes(self) -> int:
        """The size of a stored state."""
        secret, public = self._rows()
        return _HEADER.size + 8 * self.width * (secret + public) + MARK

    def open(self, entropy: Entropy = SYSTEM) -> CounterState:
        """The state before the first step.

        Args:
            entropy: Source of randomness; the secure one by default.

        Returns:
            The first state.

        >>> from lapwing.mechanisms import SignedTree
        >>> SignedTree(epsilon=1, steps=365, sensitivity=1).open().step
        0
        """
        secret, public = self._rows()
        return CounterState(0, self._fingerprint, (self._zero(int),) * secret, (self._zero(float),) * public)

    def observe(self, state: CounterState, values: Any, entropy: Entropy = SYSTEM) -> CounterState:
        """The state after one more step. Observe every state once.

        Args:
            state: What `open` or the last `observe` gave.
            values: The `width` whole numbers of this step; one number if the width is 1.
            entropy: Source of randomness; the secure one by default.

        Returns:
            The next state.

        Raises:
            InvalidParameter: If all steps are over, if the state belongs to another counter, or if there are not
                `width` numbers.

        >>> from lapwing.mechanisms import SignedTree
        >>> counter = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> counter.observe(counter.open(), 120).step
        1
        """
        self._check(state, 1)
        return self._advance(state, self._row(values), entropy)

    def observe_many(
        self, state: CounterState, values: Any, entropy: Entropy = SYSTEM
    ) -> tuple[CounterState, NDArray[np.float64]]:
        """Several steps at once: the state after them, and the estimates after each.

        Args:
            state: What `open` or the last `observe` gave.
            values: A row of `width` whole numbers for each step; plain numbers if the width is 1.
            entropy: Source of randomness; the secure one by default.

        Returns:
            The next state, and an array with a row of `width` estimates for each step.

        Raises:
            InvalidParameter: If there are more values than steps left, if the state belongs to another counter, or if
                there are not `width` numbers for each step.

        >>> from lapwing.mechanisms import SignedTree
        >>> counter = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> state, sums = counter.observe_many(counter.open(), [120, 130, 110])
        >>> state.step, sums.shape
        (3, (3, 1))
        """
        import numpy as np

        array = self._table(values)
        self._check(state, len(array))
        estimates = np.empty((len(array), self.width))
        for index, row in enumerate(array):
            state = self._advance(state, int(row[0]) if self.width == 1 else row, entropy)
            estimates[index] = self.estimate(state)
        return state, estimates

    def release(self, data: Any, entropy: Entropy = SYSTEM) -> Any:
        """The noisy sums after every step of a whole stream.

        Args:
            data: The numbers of all `steps` steps: a list or an array, with a row for each step if the width is above
                1.

        Returns:
            The sums after each step, as a list for a list and an array for an array.

        >>> from lapwing.mechanisms import SignedTree
        >>> sums = SignedTree(epsilon=1, steps=4, sensitivity=1).release([1200, 1300, 1100, 1250])
        >>> len(sums), 4700 < sums[-1] < 5000
        (4, True)
        """
        plain = self.width == 1 and self.steps <= SMALL and isinstance(data, (list, tuple))
        if not plain:
            array = self._table(data, self.steps)
            _, estimates = self.observe_many(self.open(entropy), array, entropy)
            whole = estimates.ravel() if self.width == 1 else estimates
            return whole.tolist() if isinstance(data, (list, tuple)) else whole
        if len(data) != self.steps:
            raise _wrong_shape((self.steps,))
        state, sums = self.open(entropy), []
        for value in data:
            state = self.observe(state, value, entropy)
            sums += self.estimate(state)
        return sums

    @abstractmethod
    def estimate(self, state: CounterState) -> list[float]:
        """The noisy sums of everything up to now. Reading them again costs nothing.

        Args:
            state: What `open` or the last `observe` gave.

        Returns:
            The `width` sums.
        """

    @abstractmethod
    def variance(self, step: int) -> float:
        """The variance of each sum after so many steps. It does not depend on the data.

        Args:
            step: After how many steps, from 0 to `steps`.

        Returns:
            The variance.
        """

    def variances(self) -> NDArray[np.float64]:
        """The variance of each sum after 1, 2, …, `steps` steps.

        Returns:
            An array with one variance for each step.

        >>> from lapwing.mechanisms import SignedTree
        >>> SignedTree(epsilon=1, steps=365, sensitivity=1).variances().shape
        (365,)
        """
        import numpy as np

        return np.array([self.variance(step) for step in range(1, self.steps + 1)])

    @abstractmethod
    def window_variance(self, start: int, stop: int) -> float:
        """The variance of each sum over the steps start + 1 … stop, as the difference of two estimates.

        Args:
            start: How many steps come before the window.
            stop: The last step of the window.

        Returns:
            The variance.
        """

    @abstractmethod
    def rms(self) -> float:
        """The root of the mean variance over all steps. Counters are compared by it.

        Returns:
            The error to expect of a typical sum, in the units of the numbers.

        >>> from lapwing.mechanisms import SignedTree, SquareRootCounter
        >>> tree = SignedTree(epsilon=1, steps=1024, sensitivity=1)
        >>> tree.rms() > SquareRootCounter.for_rho(0.5, steps=1024, sensitivity=1).rms()
        True
        """

    @abstractmethod
    def accuracy(self, confidence: float = 0.95, *, step: int | None = None, simultaneous: bool = False) -> float:
        """The half-width of the noise on a sum, after one step or after the worst.

        Args:
            step: After how many steps; None for the step with the largest error.
            simultaneous: Bound the errors of all steps and all `width` sums together instead of each one alone.
        """

    @abstractmethod
    def window_accuracy(self, start: int, stop: int, confidence: float = 0.95) -> float:
        """The half-width of the noise on the sum over the steps start + 1 … stop.

        Args:
            start: How many steps come before the window.
            stop: The last step of the window.
            confidence: Probability that the error stays within the bound.

        Returns:
            The bound on the error.
        """

    def state_from_bytes(self, data: bytes) -> CounterState:
        """The state that `to_bytes` wrote, if it belongs to this very counter.

        Args:
            data: What `to_bytes` wrote.

        Returns:
            The state.

        >>> from lapwing.mechanisms import SignedTree
        >>> counter = SignedTree(epsilon=1, steps=365, sensitivity=1)
        >>> state = counter.observe(counter.open(), 120)
        >>> counter.state_from_bytes(state.to_bytes()).step
        1
        """
        if len(data) != self.state_bytes or data[:4] != MAGIC:
            raise _damaged("is not a stored state of this counter", "Pass what to_bytes() wrote.")
        if sha256(data[:-MARK]).digest()[:MARK] != data[-MARK:]:
            raise _damaged("is damaged", "Restore the newest state. Never start again from an older one.")
        _, fingerprint, step = _HEADER.unpack_from(data)
        if fingerprint != self._fingerprint or step > self.steps:
            raise _damaged("belongs to a counter with other parameters", "Make the counter with the same parameters.")
        secret, public = self._rows()
        middle = _HEADER.size + 8 * self.width * secret
        return CounterState(
            step,
            fingerprint,
            self._unpack("q", data[_HEADER.size : middle], secret),
            self._unpack("d", data[middle:-MARK], public),
        )

    def _identify(self, *parts: object) -> None:
        """Tie states to all that they depend on: another version of the library might count otherwise."""
        self._set(_fingerprint=sha256(repr(parts).encode()).digest()[:MARK])

    @abstractmethod
    def _rows(self) -> tuple[int, int]:
        """How many secret and how many public numbers a state holds for each sum."""

    @abstractmethod
    def _advance(self, state: CounterState, row: Any, entropy: Entropy) -> CounterState:
        """Close one step; `row` is a whole number, or an int64 array of `width` of them."""

    def _failures(self, confidence: float, *, simultaneous: bool) -> Fraction:
        """The chance to miss that is left for one number."""
        failure = 1 - checks.probability(confidence=confidence)
        return failure / (self.steps * self.width) if simultaneous else failure

    def _step(self, step: int, *, minimum: int = 0, **named: int) -> int:
        [(name, value)] = named.items() if named else [("step", step)]
        if checks.whole(minimum=minimum, **{name: value}) > self.steps:
            raise InvalidParameter(name, value, f"is beyond the {self.steps} steps", f"Write {name}={self.steps}.")
        return int(value)

    def _window(self, start: int, stop: int) -> tuple[int, int]:
        checks.whole(minimum=0, start=start)
        self._step(stop, minimum=int(start) + 1, stop=stop)
        return int(start), int(stop)

    def _check(self, state: CounterState, count: int) -> None:
        checks.of_kind(
            CounterState, "is not the state of a counter", "Pass what open() or observe() gave.", state=state
        )
        if state.fingerprint != self._fingerprint:
            raise _damaged("belongs to a counter with other parameters", "Make the counter with the same parameters.")
        if state.step + count > self.steps:
            why = f"has {self.steps - state.step} of {self.steps} steps left, fewer than asked for"
            raise InvalidParameter(
                "state", "<state>", why, "Open a new counter for the next period, which costs again."
            )

    def _row(self, values: Any) -> Any:
        """The numbers of one step, cut at the largest value. What is no whole number is treated as in `grid`."""
        largest = self.largest_value
        if self.width == 1:
            if isinstance(values, (list, tuple)) or getattr(values, "ndim", 0) > 0:
                if len(values) != 1:
                    raise _wrong_shape((1,))
                values = values[0]
            steps = values if type(values) is int else element_steps(values, _ONE)
            return min(max(steps, -largest), largest)
        return self._table([values], 1)[0]

    def _table(self, values: Any, length: int | None = None) -> NDArray[np.int64]:
        """Steps × width whole numbers, cut at the largest value. What becomes of one number depends on it alone."""
        import numpy as np

        largest = self.largest_value
        if isinstance(values, (list, tuple)):
            rows = [list(row) if is_array(row) else [row] for row in values]
            shapes = {len(row) for row in rows} | {self.width}
            if len(shapes) > 1 or length not in (None, len(rows)):
                raise _wrong_shape((length or "n", self.width))
            whole = [[min(max(element_steps(v, _ONE), -largest), largest) for v in row] for row in rows]
            return np.array(whole, dtype=np.int64).reshape(len(rows), self.width)
        array = values.filled(0) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        if self.width == 1 and array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.shape[1] != self.width or length not in (None, len(array)):
            raise _wrong_shape((length or "n", self.width))
        return np.asarray(steps_of_array(array, _ONE).clip(-largest, largest))

    def _zero(self, kind: type) -> Any:
        if self.width == 1:
            return kind(0)
        import numpy as np

        return np.zeros(self.width, dtype=np.int64 if kind is int else np.float64)

    def _unpack(self, code: str, data: bytes, rows: int) -> tuple[Any, ...]:
        if self.width == 1:
            return struct.unpack(f"<{rows}{code}", data)
        import numpy as np

        kind = np.dtype("<i8" if code == "q" else "<f8")
        return tuple(np.frombuffer(data, dtype=kind).reshape(rows, self.width).astype(kind.newbyteorder("=")))


def squared_sensitivity(sensitivity: Number, width: int) -> int:
    """The largest squared l2 distance of whole vectors that are at most so far apart: a whole number."""
    distance = checks.positive(sensitivity=sensitivity)
    squared = math.floor(distance) ** 2 if width == 1 else math.floor(distance**2)
    return _at_least_one(squared, sensitivity)


def whole_sensitivity(sensitivity: Number) -> int:
    """The largest l1 distance of whole vectors that are at most so far apart."""
    return _at_least_one(math.floor(checks.positive(sensitivity=sensitivity)), sensitivity)


def _at_least_one(steps: int, sensitivity: Number) -> int:
    if steps == 0:
        hint = "Count in smaller units, so that the sensitivity is 1 or more."
        raise InvalidParameter("sensitivity", sensitivity, "is less than one: whole numbers are counted", hint)
    return steps


def wrapped(value: int) -> int:
    """The number modulo 2^64, from −2^63 on, as int64 arrays have it."""
    return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def _pack(code: str, rows: Sequence[Any]) -> bytes:
    if not rows or isinstance(rows[0], (int, float)):
        return struct.pack(f"<{len(rows)}{code}", *rows)
    import numpy as np

    return np.asarray(rows, dtype="<i8" if code == "q" else "<f8").tobytes()


def _exactly(value: Any) -> str:
    if isinstance(value, (str, bool)) or value is None:
        return str(value)
    return str(checks.exact(parameter=value))


def _wrong_shape(shape: tuple[int | str, ...]) -> InvalidParameter:
    words = " × ".join(map(str, shape))
    hint = "Declare the public number of steps and of sums as steps and width."
    return InvalidParameter("values", "<values>", f"must be {words} whole numbers, as declared", hint)


def _damaged(why: str, hint: str) -> InvalidParameter:
    return InvalidParameter("state", "<state>", why, hint)
