"""What an attacker sees of one release: the value, its type, and any warning.

An exception and a warning are outputs like any other, and so are the type, the shape and the dtype of an answer.
"""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from lapwing.noise import Entropy

Release = Callable[[Any, Entropy], Any]
Tick = Callable[[int], None]
TURNS = 16
"""So often the releases change sides: what drifts with time, drifts on both."""
LEAST = 4
"""So many releases are made on each side, whatever the clock says."""
FAILED = "nothing"
"""How an output is dressed that never came."""


class Observation(NamedTuple):
    """One release as the attacker writes it down, in plain hashable values."""

    value: Hashable
    parts: tuple[Any, ...]
    """The scalars of the value, in order."""
    dress: str
    alarm: str


def observe(
    release: Release,
    pair: tuple[Any, Any],
    samples: int,
    entropy: Entropy,
    *,
    coarse: bool = False,
    until: float = math.inf,
    tick: Tick = lambda releases: None,
) -> tuple[list[Observation], list[Observation]]:
    """Release `samples` times on each of two data sets, in turns, and write everything down.

    At the time `until` it stops early, but not before a few releases, and with as many on one side as on the other.
    `tick` is told now and then how many releases were made. If `coarse`, floats are written down without their lowest
    bits, as if they were real numbers.
    """
    seen: tuple[list[Observation], list[Observation]] = [], []
    turn, total = max(samples // TURNS, 1), 0
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        while len(seen[0]) < samples and (time.monotonic() < until or len(seen[0]) < LEAST):
            size = min(turn, samples - len(seen[0])) if until == math.inf or len(seen[0]) >= LEAST else 1
            for data, side in zip(pair, seen, strict=True):
                for _ in range(size):
                    side.append(_once(release, data, entropy, log))
                    if until != math.inf and time.monotonic() >= until and len(side) >= LEAST:
                        break
            tick(sum(map(len, seen)) - total)
            total = sum(map(len, seen))
    both = min(map(len, seen))
    if coarse:
        return [without_bits(output) for output in seen[0][:both]], [without_bits(output) for output in seen[1][:both]]
    return seen[0][:both], seen[1][:both]


def _once(release: Release, data: Any, entropy: Entropy, log: list[warnings.WarningMessage]) -> Observation:
    try:
        seen = written_down(release(_own_copy(data), entropy))
    except KeyboardInterrupt:  # of whoever waits for the audit
        raise
    except BaseException as error:
        seen = Observation(None, (), FAILED, f"raises {_words(error)}")
    if log:
        seen = seen._replace(alarm=seen.alarm + ", ".join(f"warns {_words(entry.message)}" for entry in log))
        log.clear()
    return seen


def _own_copy(data: Any) -> Any:
    """Lists, rows and arrays are copied: what one release does to its data is no business of the next."""
    kind = type(data)
    if kind is list:
        return [value if type(value) is float else _own_copy(value) for value in data]
    if kind is dict or hasattr(data, "dtype"):
        return data.copy()
    return data


def without_bits(seen: Observation) -> Observation:
    """The same output as mathematics sees it: nine digits of every float, and numbers are numbers of whatever type.

    >>> without_bits(written_down([1 / 3, 2])).value
    (0.333333333, 2)
    >>> without_bits(written_down(2)) == without_bits(written_down(2.0))
    True
    """
    value = _coarse(seen.value)
    if type(value) is int or type(value) is float:
        _, strange, what = seen.dress.partition(" with ")
        return Observation(value, (value,), f"number{strange}{what}", seen.alarm)
    return seen if value == seen.value else seen._replace(value=value, parts=_flat(value))


def _coarse(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_coarse, value))
    return float(f"{value:.9g}") if type(value) is float else value


def written_down(output: Any) -> Observation:
    """One output without an alarm."""
    kind = type(output)
    if kind is int or kind is bool or kind is str:
        return Observation(output, (output,), kind.__name__, "")
    value = plain(output)
    parts = _flat(value)
    return Observation(value, parts, _dress(output, parts), "")


def plain(output: Any) -> Hashable:
    """The output as nested tuples of Python values to compare and count. NaN, which equals nothing, becomes a word."""
    if isinstance(output, float):
        return float(output) if output == output else "NaN"
    if isinstance(output, (int, str, bytes)) or output is None:
        return output
    if isinstance(output, Decimal):
        return Fraction(output) if output.is_finite() else str(output)
    if hasattr(output, "tolist"):  # numpy scalars and arrays, pandas columns, without importing either
        return plain(output.tolist())
    if isinstance(output, Mapping):
        return tuple(plain(value) for value in output.values())
    if isinstance(output, Set):
        return tuple(sorted((plain(value) for value in output), key=repr))
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return tuple(plain(getattr(output, field.name)) for field in dataclasses.fields(output))
    if isinstance(output, Iterable):
        return tuple(plain(value) for value in output)
    kind: Any = type(output)
    if kind.__eq__ is object.__eq__:  # equal only to itself, so what is in it counts
        return kind.__name__, plain(getattr(output, "__dict__", None))
    return output if isinstance(output, Hashable) else repr(output)


def _dress(output: Any, parts: tuple[Any, ...]) -> str:
    """Type, shape and dtype; the keys of a mapping; and the numbers that are none."""
    words = [type(output).__name__]
    words += [str(part) for name in ("dtype", "shape") if (part := getattr(output, name, None)) is not None]
    if isinstance(output, Mapping):
        words.append(f"with keys {list(output)!r}")
    strange = {_strangeness(scalar) for scalar in parts if type(scalar) is not int} - {""}
    return " ".join([*words, *sorted(strange)])


def _strangeness(value: Hashable) -> str:
    if value == "NaN" or value is None:
        return "with a value missing"
    if isinstance(value, float):
        if math.isinf(value):
            return "with an infinity"
        if value == 0 and math.copysign(1, value) < 0:
            return "with a negative zero"
    return ""


def _flat(value: Hashable) -> tuple[Any, ...]:
    if not isinstance(value, tuple):
        return (value,)
    if not any(isinstance(part, tuple) for part in value):
        return value
    return tuple(scalar for part in value for scalar in _flat(part))


def _words(message: object) -> str:
    return f"{type(message).__name__}: {message}"
