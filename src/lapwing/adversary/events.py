"""The search for an event that one data set makes likely and its neighbour does not.

Candidates: every single value; thresholds y ≤ t and y ≥ t; sets of values in the order of their likelihood ratio; and
the same of what can be read off an output – its coordinates, length, sum, lowest bit, type, an exception, a warning –
and of a score that adds up what every coordinate says. Whatever is fitted (sets, scores) is fitted on one part of the
training outputs and judged on the other, so that a rich family of events does not win by luck. Nothing here needs to
be right for an audit to be sound: the event is tested on fresh outputs afterwards.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from lapwing.adversary.intervals import quick_limits
from lapwing.adversary.observations import Observation, written_down

MOST_THRESHOLDS = 256
MOST_VALUES = 512
MOST_COORDINATES = 32
MOST_SCORED = 256
FEW_VALUES = 64
CAUTION = 0.01
"""Candidates are judged more strictly than the winner will be: the best of many is lucky, above all if it is rare."""

Outputs = Sequence[Observation]


@dataclass(frozen=True, slots=True)
class Event:
    """A set of outputs: in words, and as a test.

    Attributes:
        description: The event in words.
        happened: Whether it happened, of an output as an audit records it; use `contains` for outputs of your own.

    >>> from lapwing.adversary import audit
    >>> event = audit(len, ([1], [1, 2]), samples=1000, claimed=1).event
    >>> event.contains(1) != event.contains(2)
    True
    """

    description: str
    happened: Callable[[Observation], bool]

    def __str__(self) -> str:
        return self.description

    def contains(self, output: Any) -> bool:
        """Whether an output of the mechanism lies in the event.

        Args:
            output: What a release gave.

        Returns:
            True or False.
        """
        return self.happened(written_down(output))


class Missing:
    """What is read off an output that does not have it."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


class Feature(NamedTuple):
    """Something an attacker can read off an output."""

    name: str
    read: Callable[[Observation], Any]


class EventSearch(NamedTuple):
    """An event, and the epsilon that it seems to show on the outputs on which it was searched."""

    event: Event
    shown: float


class Candidates(NamedTuple):
    """A family of events with their counts on both data sets."""

    hits: list[int]
    others: list[int]
    trials: int
    event: Callable[[int], Event]


class Column(NamedTuple):
    """What a feature reads off the training outputs of two data sets."""

    feature: Feature
    left: list[Any]
    right: list[Any]


def best_events(first: Outputs, second: Outputs, alpha: float, delta: float) -> tuple[EventSearch, EventSearch]:
    """What proves the largest epsilon on the training outputs: likelier on the first data set, and on the second."""
    columns = [
        column
        for feature in _features(first, second)
        if not _constant(
            column := Column(feature, *([feature.read(seen) for seen in part] for part in (first, second)))
        )
    ]
    best = [NOTHING, NOTHING]
    for family in (*_candidates(columns), _scored(first, second)) if columns else ():
        low, high = quick_limits(family.trials, CAUTION * alpha, delta)
        for side, (hits, others) in enumerate(((family.hits, family.others), (family.others, family.hits))):
            shown = [low[often] - high[seldom] for often, seldom in zip(hits, others, strict=True)]
            most = max(shown, default=-math.inf)
            if most > best[side].shown:
                best[side] = EventSearch(family.event(shown.index(most)), most)
    return best[0], best[1]


NOTHING = EventSearch(Event("anything at all", lambda _: True), -math.inf)


def _candidates(columns: list[Column]) -> Iterator[Candidates]:
    for feature, left, right in columns:
        half = len(left) // 2
        yield _single_values(feature, Counter(left), Counter(right), len(left))
        yield _thresholds(feature, left, right)
        yield from _likely_sets(feature, (left[:half], right[:half]), (left[half:], right[half:]))


def _scored(favoured: Outputs, other: Outputs) -> Candidates:
    half = len(favoured) // 2
    score = _score(favoured[:half], other[:half])
    return _thresholds(score, *([score.read(seen) for seen in part[half:]] for part in (favoured, other)))


def _constant(column: Column) -> bool:
    value = column.left[0]
    return all(other == value for part in column[1:] for other in part)


def _features(favoured: Outputs, other: Outputs) -> Iterator[Feature]:
    yield Feature("the alarm", lambda seen: seen.alarm)
    yield Feature("the output's type", lambda seen: seen.dress)
    yield Feature("the output", lambda seen: seen.value)
    yield Feature("the exponent of the output's lowest bit", lambda seen: lowest_bit(seen.parts))
    lengths = {len(seen.value) if isinstance(seen.value, tuple) else 0 for part in (favoured, other) for seen in part}
    if lengths == {0}:
        yield from _distance(favoured, other)
        return
    yield Feature("the length", lambda seen: len(seen.value) if isinstance(seen.value, tuple) else MISSING)
    yield Feature("the sum", lambda seen: _computed(lambda: sum(filter(_is_number, seen.parts))))
    yield Feature("the list of differences between neighbouring coordinates", _differences)
    widest = max(len(seen.parts) for part in (favoured, other) for seen in part)
    for index in range(min(widest, MOST_COORDINATES)):
        yield Feature(f"coordinate {index}", _coordinate(index))


def _distance(favoured: Outputs, other: Outputs) -> Iterator[Feature]:
    """How far a number lies from the middle of them all: noise of different widths differs in both tails at once."""
    numbers = _sorted_numbers([seen.value for part in (favoured, other) for seen in part])
    if numbers:
        middle: Any = numbers[len(numbers) // 2]
        name = f"the distance of the output from {_shown(middle)}"
        yield Feature(name, lambda seen: _computed(lambda: abs(seen.value - middle)))


def _differences(seen: Observation) -> Any:
    """What is left of the answers when they share their noise."""
    pairs = itertools.pairwise(seen.parts[:MOST_COORDINATES])
    return _computed(lambda: tuple(after - before for before, after in pairs))


def _computed(formula: Callable[[], Any]) -> Any:
    """The result of a computation with outputs, if they are numbers that allow it."""
    try:
        value = formula()
    except (TypeError, OverflowError):
        return MISSING
    return value if value == value else MISSING


def _coordinate(index: int) -> Callable[[Observation], Any]:
    def read(seen: Observation) -> Any:
        return seen.parts[index] if index < len(seen.parts) else MISSING

    return read


def lowest_bit(parts: Sequence[Any]) -> Any:
    """The exponent of the lowest bit that is set in any float of the output: an input can leave its mark there.

    >>> lowest_bit([0.75]), lowest_bit([1.0, 3 * 2.0**-55])
    (-2, -55)
    """
    floats = [part for part in parts if isinstance(part, float) and math.isfinite(part) and part]
    if not floats:
        return MISSING
    return min(
        (top & -top).bit_length() - bottom.bit_length() for top, bottom in (part.as_integer_ratio() for part in floats)
    )


def _single_values(feature: Feature, left: Counter[Any], right: Counter[Any], trials: int) -> Candidates:
    values = [value for value, _ in (left + right).most_common(MOST_VALUES)]

    def event(index: int) -> Event:
        value = values[index]
        words = (value or "no alarm") if feature.name == "the alarm" else f"{feature.name} is {_shown(value)}"
        return Event(words, lambda seen: feature.read(seen) == value)

    hits, others = ([counts[value] for value in values] for counts in (left, right))
    return Candidates(hits, others, trials, event)


def _thresholds(feature: Feature, left: Sequence[Any], right: Sequence[Any]) -> Candidates:
    sides = [_sorted_numbers(values) for values in (left, right)]
    values = sorted({*sides[0], *sides[1]})
    limits = values if len(values) <= MOST_THRESHOLDS else _rounded(_thinned(values))
    hits, others = (
        [bisect_right(side, limit) for limit in limits] + [len(side) - bisect_left(side, limit) for limit in limits]
        for side in sides
    )

    def event(index: int) -> Event:
        limit, low = limits[index % len(limits)], index < len(limits)

        def happened(seen: Observation) -> bool:
            value = feature.read(seen)
            return _is_number(value) and bool(value <= limit if low else value >= limit)

        return Event(f"{feature.name} is at {'most' if low else 'least'} {_shown(limit)}", happened)

    return Candidates(hits, others, len(left), event)


def _likely_sets(feature: Feature, early: tuple[Any, Any], late: tuple[Any, Any]) -> Iterator[Candidates]:
    """Sets of the values with the largest, or smallest, likelihood ratio on the early outputs, counted on the late."""
    left, right = Counter(early[0]), Counter(early[1])
    common = [value for value, count in (left + right).most_common(MOST_VALUES) if count > 3]
    counts = Counter(late[0]), Counter(late[1])
    for side in (1, -1):
        values = sorted(common, key=lambda value: ((right[value] + 1) / (left[value] + 1)) ** side)
        hits, others = (list(itertools.accumulate(count[value] for value in values)) for count in counts)
        yield Candidates(hits, others, len(late[0]), _set_of(feature, values))


def _set_of(feature: Feature, values: list[Any]) -> Callable[[int], Event]:
    def event(index: int) -> Event:
        members = frozenset(values[: index + 1])
        examples = ", ".join(map(_shown, values[: min(index + 1, 3)])) + (", …" if index > 2 else "")
        many = f"one of {index + 1} values ({examples})" if index else _shown(values[0])
        return Event(f"{feature.name} is {many}", lambda seen: feature.read(seen) in members)

    return event


def _score(favoured: Outputs, other: Outputs) -> Feature:
    """The sum over all coordinates of how much each favours the data set: the best test when they are independent."""
    columns = [[seen.parts for seen in part] for part in (favoured, other)]
    width = min(max(len(row) for column in columns for row in column), MOST_SCORED)
    tables = [
        _table(*([row[index] if index < len(row) else MISSING for row in column] for column in columns))
        for index in range(width)
    ]

    def read(seen: Observation) -> float:
        row = seen.parts
        return round(sum(table(row[i] if i < len(row) else MISSING) for i, table in enumerate(tables)), 6)

    return Feature("the score of the output (how much its coordinates speak for the first data set)", read)


def _table(left: list[Any], right: list[Any]) -> Callable[[Any], float]:
    """The smoothed log-likelihood ratio of one coordinate, by value or by one of a few intervals."""
    numbers = _sorted_numbers(left + right)
    edges = sorted({numbers[i * len(numbers) // FEW_VALUES] for i in range(FEW_VALUES)}) if numbers else []
    few = len(set(left) | set(right)) <= FEW_VALUES

    def cell(value: Any) -> Any:
        return bisect_right(edges, value) if not few and _is_number(value) else value

    counts = Counter(map(cell, left)), Counter(map(cell, right))
    ratios = {key: math.log((counts[0][key] + 2) / (counts[1][key] + 2)) for key in counts[0] | counts[1]}
    return lambda value: ratios.get(cell(value), 0.0)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction))


def _sorted_numbers(values: Sequence[Any]) -> list[Any]:
    return sorted(filter(_is_number, values))


def _thinned(values: list[Any]) -> list[Any]:
    """At most so many thresholds, denser at both ends: rare events make the largest ratios."""
    last, quarter = len(values) - 1, MOST_THRESHOLDS // 4
    even = {round(i * last / (2 * quarter)) for i in range(2 * quarter + 1)}
    ends = {round(math.exp(i / quarter * math.log(last))) for i in range(quarter)}
    return [values[i] for i in sorted(even | ends | {last - end for end in ends})]


def _rounded(values: list[Any]) -> list[Any]:
    """The same numbers; of floats only the digits that a person would write, a thousandth of their range or less."""
    spread = values[-1 - len(values) // 8] - values[len(values) // 8]
    if not 0 < spread < math.inf:
        return values
    digits = 3 - math.floor(math.log10(spread))
    return list(dict.fromkeys(round(value, digits) if type(value) is float else value for value in values))


def _shown(value: Any) -> str:
    words = str(value) if isinstance(value, Fraction) else repr(value)
    return words if len(words) <= 60 else f"{words[:57]}…"
