"""Describes the inputs of a function in a small language, and lists the neighbours that are worth trying.

    numbers 0..1                      a list with one number for each person
    integers 0..120                   the same with whole numbers
    bits                              the same with 0 and 1
    labels red,green,blue             the same with words
    rows age:0..120,smoker:bool,region:north|south    a list with one dict for each person
    numbers 0..1 or nan               … or none: a person's value may be missing (after numbers and integers)
    one labels red,green              a single person's value, as a local randomizer takes it: any two are neighbours
    answers 5 of 0..10                a list of five query answers; one person moves each of them by at most 1
    answers 5 of 0..1000 by 100       … by at most 100
    counts 5 of 0..10                 a histogram; one person is in one bin
    answer 0..100                     one number; one person moves it by at most 1

Pairs come simple ones first. For people: nobody, few and many, all at a bound, at the middle, half and half, any; one
more at either bound, at the end and at the front. For answers: the categories of Ding, Wang, Wang, Zhang and Kifer
(StatDP, CCS 2018) – one above, one below, one against the rest, half against half, all above, all below, X-shaped.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lapwing.adversary.auditor import Pair
from lapwing.errors import InvalidParameter
from lapwing.noise import Entropy, uniform_below
from lapwing.privacy import Relation

EXAMPLES = "'numbers 0..100', 'labels red,green', 'rows age:0..120,smoker:bool', 'answers 5 of 0..10'"
MOST_CORNERS = 8
MOST_PAIRS = 400


@dataclass(frozen=True, slots=True)
class Kind:
    """One person's value."""

    corners: tuple[Any, ...]
    """Values worth trying, the most telling first."""
    extremes: int
    """How many of them are also tried in larger company."""
    draw: Callable[[Entropy], Any]


@dataclass(frozen=True, slots=True)
class Domain:
    """The inputs of a function."""

    text: str
    relations: tuple[Relation, ...]
    """How two inputs can be neighbours; the first unless somebody says otherwise."""
    neighbours: Callable[[Relation, int, Entropy], Iterator[tuple[Any, Any]]]

    def pairs(self, relation: Relation, length: int, entropy: Entropy) -> list[Pair]:
        """Neighbours to try, of at most `length` people, without repetition."""
        known: dict[str, Pair] = {}
        for first, second in self.neighbours(relation, length, entropy):
            if (key := repr((first, second))) not in known and repr(first) != repr(second):
                known[key] = Pair(first, second, relation)
        return list(known.values())


def domain_of(text: str) -> Domain:
    """The domain that a text describes.

    >>> [(pair.first, pair.second) for pair in domain_of("answer 0..2").pairs("add_remove", 10, None)]
    [(1, 2), (1, 0), (0, 1), (2, 1)]
    """
    words = text.split()
    word, rest = (words[0] if words else ""), " ".join(words[1:])
    if word == "one":
        kind = _kind(rest, text)
        return Domain(text, ("replace",), lambda *_: itertools.combinations(kind.corners, 2))
    if word in ("answers", "counts"):
        match = re.fullmatch(r"(\d+) of (\S+?)( by (\S+))?", rest)
        if not match or not 1 <= int(match[1]) <= 1000:
            raise _unclear(text, f"lacks a number of {word} or a range", f"Write '{word} 5 of 0..10', for example.")
        size, (low, high), step = int(match[1]), _range(match[2], text), _number(match[4] or "1", text)
        if word == "counts":
            return Domain(text, BOTH, lambda relation, *_: _counts(size, low, high, step, relation))
        return Domain(text, BOTH, lambda _, __, entropy: _answers(size, low, high, step, entropy))
    if word == "answer":
        low, high = _range(rest, text)
        return Domain(text, BOTH, lambda *_: ((a[0], b[0]) for a, b in _answers(1, low, high, 1, None)))
    kind = _kind(text, text)
    return Domain(text, BOTH, lambda relation, length, entropy: _people(kind, relation, length, entropy))


BOTH: tuple[Relation, ...] = ("add_remove", "replace")


def given_pairs(source: Callable[[], Iterable[Any]] | Iterable[Any], relation: Relation) -> list[Pair]:
    """The pairs somebody made: (first, second) or `Pair`, from a function that yields them or in any collection."""
    hint = "Write domain=[([0], [0, 1]), …], or a function that yields such pairs."
    try:
        pairs = list(itertools.islice(source() if callable(source) else source, MOST_PAIRS))
    except TypeError:
        raise InvalidParameter("domain", f"<{type(source).__name__}>", "yields no pairs", hint) from None
    if not pairs or any(
        not isinstance(pair, (Pair, tuple)) or (isinstance(pair, tuple) and len(pair) != 2) for pair in pairs
    ):
        raise InvalidParameter("domain", f"<{type(source).__name__}>", "yields something else than pairs", hint)
    return [pair if isinstance(pair, Pair) else Pair(pair[0], pair[1], relation) for pair in pairs]


def _kind(words: str, text: str) -> Kind:
    """The values of one person."""
    name, _, rest = words.partition(" ")
    rest, _, missing = rest.partition(" or ")
    if name in ("numbers", "integers") and missing in ("", "nan", "none"):
        low, high = _range(rest, text)
        absent = {"": (), "nan": (math.nan,), "none": (None,)}[missing]
        return _numbers(float(low), float(high), absent) if name == "numbers" else _integers(low, high, absent, text)
    if name == "bits" and not rest:
        return _labels([0, 1])
    if (
        name == "labels"
        and not missing
        and len(labels := [word.strip() for word in rest.split(",")]) > 1
        and all(labels)
    ):
        return _labels(labels)
    if name == "rows" and not missing and rest:
        return _rows({column: _column(rule, text) for column, rule in _columns(rest, text)})
    raise _unclear(text, "describes no inputs known here", f"Write one of {EXAMPLES}, for example.")


def _columns(rules: str, text: str) -> Iterator[tuple[str, str]]:
    for part in rules.split(","):
        column, colon, rule = part.strip().partition(":")
        if not colon or not column:
            raise _unclear(text, f"{part!r} is not a column", "Write 'rows age:0..120,smoker:bool,region:north|south'.")
        yield column, rule.strip()


def _column(rule: str, text: str) -> Kind:
    if rule == "bool":
        return _labels([False, True])
    if "|" in rule:
        return _labels(rule.split("|"))
    low, high = _range(rule, text)
    return _integers(low, high, (), text) if isinstance(low, int) and isinstance(high, int) else _numbers(low, high, ())


def _numbers(low: float, high: float, absent: tuple[Any, ...]) -> Kind:
    corners = (low, high, *absent, (low + high) / 2)
    return Kind(
        corners, 2 + len(absent), lambda entropy: low + (high - low) * uniform_below(1001, entropy=entropy) / 1000
    )


def _integers(low: Any, high: Any, absent: tuple[Any, ...], text: str) -> Kind:
    if not isinstance(low, int) or not isinstance(high, int):
        raise _unclear(text, "has a bound that is not a whole number", "Write 'integers 0..120', for example.")
    corners = (low, high, *absent, (low + high) // 2)
    return Kind(corners, 2 + len(absent), lambda entropy: low + uniform_below(high - low + 1, entropy=entropy))


def _labels(values: Sequence[Any]) -> Kind:
    return Kind(tuple(values[:MOST_CORNERS]), 2, lambda entropy: values[uniform_below(len(values), entropy=entropy)])


def _rows(columns: dict[str, Kind]) -> Kind:
    lowest = {name: kind.corners[0] for name, kind in columns.items()}
    highest = {name: kind.corners[1] for name, kind in columns.items()}
    single = [{**lowest, name: value} for name, kind in columns.items() for value in kind.corners[1:]]
    corners = (lowest, highest, *single)[:MOST_CORNERS]
    return Kind(corners, 2, lambda entropy: {name: kind.draw(entropy) for name, kind in columns.items()})


def _people(kind: Kind, relation: Relation, longest: int, entropy: Entropy) -> Iterator[tuple[Any, Any]]:
    """Lists of people that differ in one."""
    for company in _companies(kind, longest, entropy):
        newcomers = kind.corners if len(company) < 2 else kind.corners[: kind.extremes]
        before = [[], company] if len(set(map(repr, company))) > 1 else [[]]  # in a mixed company the place may matter
        for front in before:
            others = company if not front else []
            if relation == "add_remove":
                yield from ((front + others, [*others, someone, *front]) for someone in newcomers)
            else:
                pairs = itertools.combinations(newcomers, 2)
                yield from (([*others, someone, *front], [*others, another, *front]) for someone, another in pairs)


def _companies(kind: Kind, longest: int, entropy: Entropy) -> Iterator[list[Any]]:
    """Those who are there in any case: nobody, all alike, half and half, and any."""
    sizes = sorted({size for size in (1, 2, 4, longest // 2, longest - 1) if 0 < size < longest})
    yield []
    for size in sizes:
        yield from ([value] * size for value in kind.corners[:3])
        if size > 1:
            yield [kind.corners[0]] * (size // 2) + [kind.corners[1]] * (size - size // 2)
    for size in sizes[1:]:
        yield [kind.draw(entropy) for _ in range(size)]


def _answers(size: int, low: Any, high: Any, step: Any, entropy: Entropy | None) -> Iterator[tuple[Any, Any]]:
    """Lists of answers of which one person moves each by at most a step."""

    def moved(base: list[Any], moves: Iterable[int]) -> list[Any]:
        return [min(max(value + step * move, low), high) for value, move in zip(base, moves, strict=True)]

    half = size // 2
    middle = (low + high) // 2 if isinstance(low, int) and isinstance(high, int) else (low + high) / 2
    rest = size - 1
    patterns = [
        *((move, *[others] * rest) for others in (0, -1, 1) for move in (1, -1) if move != others),
        *((*[others] * rest, move) for others in (0, -1, 1) for move in (1, -1) if move != others),
        *((*[move] * half, *[-move] * (size - half)) for move in (1, -1)),
        *([move] * size for move in (1, -1)),
    ]
    for level in (middle, low, high):
        base = [level] * size
        yield from ((base, moved(base, pattern)) for pattern in patterns)
        other = moved(base, [0] * half + [1] * (size - half))
        yield other, moved([level] * size, [1] * (size - half) + [0] * half)
    if size == 1 or entropy is None:
        return
    for peak in ([high] + [low] * rest, [low] * rest + [high]):
        yield from ((peak, moved(peak, pattern)) for pattern in patterns)
    for _ in range(MOST_CORNERS):
        base = [middle + step * (uniform_below(5, entropy=entropy) - 2) for _ in range(size)]
        base = moved(base, [0] * size)
        yield base, moved(base, [uniform_below(3, entropy=entropy) - 1 for _ in range(size)])


def _counts(size: int, low: Any, high: Any, step: Any, relation: Relation) -> Iterator[tuple[Any, Any]]:
    """Histograms with one person more, or with one in another bin."""
    for level in (low, (low + high) // 2, high - step):
        for place in dict.fromkeys((0, size // 2, size - 1)):
            more = [level + step * (index == place) for index in range(size)]
            if relation == "add_remove":
                yield [level] * size, more
            elif size > 1:
                yield more, [*more[1:], more[0]]


def _range(words: str, text: str) -> tuple[Any, Any]:
    low, dots, high = words.partition("..")
    if not dots:
        raise _unclear(text, f"{words!r} is not a range", "Write 0..100, for example.")
    ends = _number(low, text), _number(high, text)
    if not ends[0] < ends[1]:
        raise _unclear(text, f"{words} is empty", "Write the lower end first, as in 0..100.")
    return ends


def _number(word: str, text: str) -> Any:
    try:
        value = int(word) if re.fullmatch(r"[+-]?\d+", word) else float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _unclear(text, f"{word!r} is not a number", "Write 0..100, for example.")
    return value


def _unclear(text: str, why: str, hint: str) -> InvalidParameter:
    return InvalidParameter("domain", text, why, hint)
