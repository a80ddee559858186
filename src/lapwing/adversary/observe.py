"""What an attacker sees of one release: the value, how it is dressed, and whether it was accompanied by an alarm.

An exception and a warning are outputs like any other, and so are the type, the shape and the dtype of an answer.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from lapwing.noise import Entropy

Release = Callable[[Any, Entropy], Any]


class Observation(NamedTuple):
    """One release as the attacker writes it down, in plain hashable values."""

    value: Hashable
    parts: tuple[Any, ...]
    """The scalars of the value, in order."""
    dress: str
    alarm: str


def observe(release: Release, data: Any, samples: int, entropy: Entropy, tick: Callable[[], None]) -> list[Observation]:
    """Release `samples` times and write everything down; `tick` is called once in a while."""
    seen: list[Observation] = []
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        for number in range(samples):
            try:
                output = release(data, entropy)
            except Exception as error:
                seen.append(Observation(None, (), "nothing", f"raises {_words(error)}"))
            else:
                seen.append(written_down(output))
            if log:
                alarms = ", ".join(f"warns {_words(entry.message)}" for entry in log)
                seen[-1] = seen[-1]._replace(alarm=seen[-1].alarm + alarms)
                log.clear()
            if number % 1000 == 999:
                tick()
    return seen


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
