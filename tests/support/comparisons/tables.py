"""Rows that look alike, and what differences of totals say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from browser import Call
from scipy.special import expit

KEYS = (["a"], ["b", "a", "b", "c", "a", "b"], ["x"] * 4, [])


def alike() -> Iterator[Call]:
    for keys in KEYS:
        rows = [[row for row, key in enumerate(keys) if key == first] for first in dict.fromkeys(keys)]
        yield "classes", "classes", [keys], rows
        yield "classes", "counted", [keys], [list(pair) for pair in Counter(keys).items()]


def differences() -> Iterator[Call]:
    for odds in (-30.0, -1.0, 0.0, 0.4, 5.0):
        yield "differencing", "chance", [odds], float(expit(odds))
