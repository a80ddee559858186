"""What an answer is grouped by: keys whose values are public, or secret and shown only after a private test."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod
from typing import Any

from lapwing.checks import Number
from lapwing.curator.plan.expressions import NULL, Call, Column, Constant, Expression
from lapwing.curator.plan.language import call
from lapwing.errors import InvalidParameter, UnsupportedQuery

EVERYTHING_ELSE = "everything else"
LARGEST = 10_000_000
"""Public combinations of keys: each is a row of the answer, whether anybody has it or not."""
MOST_EDGES, MOST_DATES = 9_000, 3_900
"""Ends of bins of one column. Those of dates take five parts of an expression each."""


@dataclass(frozen=True, slots=True)
class Key:
    """One column of the answer by which it is grouped."""

    name: str
    expression: Expression
    values: tuple[Any, ...] | None
    """The public values, in the order of the answer; None if they are secret."""
    everything_else: bool = False
    """Whether rows with other values are counted together, in a group of their own, or left out."""
    labels: tuple[Any, ...] | None = None
    """What to show for the values, if not themselves."""

    @property
    def size(self) -> int:
        """The number of public groups."""
        return len(self.values or ()) + self.everything_else

    @property
    def described(self) -> str:
        """Its name, and of bins how many there are."""
        if not self.labels or not isinstance(self.expression, Call) or self.expression.operator != "bin":
            return self.name
        (first, _), (_, last) = (str(label).split(" – ") for label in (self.labels[0], self.labels[-1]))
        return f"{self.name} in {len(self.labels)} {'bin' if len(self.labels) == 1 else 'bins'} from {first} to {last}"

    def label(self, value: Any) -> Any:
        """What to show for a value."""
        return value if self.labels is None or self.values is None else self.labels[self.values.index(value)]

    def shown(self) -> list[Any]:
        """What stands in the answer, in order."""
        return [*(self.labels or self.values or ()), *([EVERYTHING_ELSE] if self.everything_else else [])]


@dataclass(frozen=True, slots=True)
class Grouping:
    """All keys of a query; none means one group of everything."""

    keys: tuple[Key, ...] = ()

    def __post_init__(self) -> None:
        if self.size > LARGEST:
            why = f"there are {self.size} combinations of public keys"
            raise InvalidParameter("keys", f"{self.size} groups", why, "Group by fewer keys at once.")
        if self.secret and any(key.everything_else for key in self.keys):
            why = "everything_else needs declared keys"
            raise InvalidParameter(
                "everything_else", True, why, "Name the keys of every column when you open the table."
            )

    @property
    def secret(self) -> bool:
        """Whether some keys are secret."""
        return any(key.values is None for key in self.keys)

    @property
    def size(self) -> int:
        """The number of public groups."""
        return 0 if self.secret else prod(key.size for key in self.keys)

    def labels(self) -> Iterator[tuple[Any, ...]]:
        """The keys of every public group, in the order of their numbers."""
        return product(*(key.shown() for key in self.keys))


def key_for(
    name: str, expression: Expression, *, everything_else: bool = False, values: Sequence[Any] | None = None
) -> Key:
    """A key with public values where they are known: declared, or written in the query itself."""
    if isinstance(expression, Column) and expression.unit:
        why = "every group would be about one unit"
        raise UnsupportedQuery(f"group by {name}", why, "Group by something that several units share.")
    known = tuple(values) if values is not None else _public_values(expression)
    if known is None and expression.kind in ("number", "timestamp"):
        instead = "Name its values with keys=, or use lw.histogram(…, edges=[…])."
        raise UnsupportedQuery(f"group by {name}", f"nearly every row would have its own {expression.kind}", instead)
    return Key(name, expression, known, everything_else)


def binned(name: str, expression: Expression, edges: Sequence[Number]) -> Key:
    """A key with one public value for each bin: edges[i] ≤ x < edges[i + 1], the last bin closed."""
    ends = doubles(edges)
    if len(ends) > MOST_EDGES:
        raise InvalidParameter("edges", len(ends), f"must be {MOST_EDGES:,} at most", "Take wider bins.")
    if any(not low < high for low, high in pairwise(ends)):
        raise InvalidParameter("edges", edges, "must still rise as doubles", "Write edges=[0, 10, 20].")
    labels = tuple(f"{low} – {high}" for low, high in pairwise(edge_texts(ends)))
    place = call("bin", expression, *(Constant(end, "number") for end in ends))
    return Key(name, place, tuple(range(len(labels))), labels=labels)


def doubles(edges: Sequence[Number]) -> list[float]:
    """Ends of bins as doubles."""
    try:
        return [float(edge) for edge in edges]
    except OverflowError:
        raise InvalidParameter("edges", "…", "must be below 1e308 in size", "Write edges=[0, 10, 20].") from None


def edge_texts(ends: Sequence[float]) -> list[str]:
    """Ends of bins in six digits; in all digits where six would not tell them apart.

    >>> edge_texts([0.0, 0.5, 100.0]), edge_texts([1000000.0, 1000001.0])
    (['0', '0.5', '100'], ['1000000', '1000001'])
    """
    short = [f"{end:g}" for end in ends]
    return short if len(set(short)) == len(short) else [f"{end!r}".removesuffix(".0") for end in ends]


def dated(name: str, expression: Expression, edges: Sequence[dt.date], *, closed: bool = True) -> Key:
    """The same of a column of dates or times; the last bin has its upper end if it is `closed`.

    It is found by halving, with comparisons that are the same on every engine. A time is compared with midnight.
    """
    if expression.kind not in ("date", "timestamp"):
        hint = f'If it holds dates, open the table with types={{"{expression}": "date"}}.'
        raise UnsupportedQuery(str(expression), f"it is of kind {expression.kind}, not a date", hint)
    if len(edges) > MOST_DATES:
        raise InvalidParameter("edges", len(edges), f"must be {MOST_DATES:,} dates at most", "Take weeks or months.")
    if expression.kind == "date":
        ends = [Constant(edge, "date") for edge in edges]
    else:
        ends = [Constant(dt.datetime.combine(edge, dt.time()), "timestamp") for edge in edges]

    def place(low: int, high: int) -> Expression:
        if low == high:
            return Constant(low, "integer")
        middle = (low + high + 1) // 2
        return call("case", call("<", expression, ends[middle]), place(low, middle - 1), place(middle, high))

    before_end = call("<=" if closed else "<", expression, ends[-1])
    inside = call("and", call(">=", expression, ends[0]), before_end)
    labels = tuple(f"{low} – {high}" for low, high in pairwise(edges))
    return Key(name, call("case", inside, place(0, len(ends) - 2), NULL), tuple(range(len(labels))), labels=labels)


def _public_values(expression: Expression) -> tuple[Any, ...] | None:
    """Values that the query itself names: those of a column with keys, truth values, and constants of a CASE."""
    if isinstance(expression, Column) and expression.keys is not None:
        return expression.keys
    if expression.kind == "boolean":
        return (False, True)
    if isinstance(expression, Call) and expression.operator == "case":
        results = (*expression.arguments[1::2], expression.arguments[-1])
        if all(isinstance(result, Constant) for result in results):
            return tuple(dict.fromkeys(result.value for result in results if isinstance(result, Constant)))
    return None
