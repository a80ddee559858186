"""Three programs of OUTIS (Cryptε) on UCI Adult, over labelled encryption: the same questions that shares answer.

Relation: `replace`, since both servers see how many rows there are. A program says what one replaced row moves, in l1.
Proof: labelled.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lapwing.checks import Number
from lapwing.pair.labelled import Answer, LabelledPair, OneHot

AGES = range(1, 101)
RACES = ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
SEXES = ("Female", "Male")
ADULT = OneHot({"age": AGES, "race": RACES, "sex": SEXES})
"""What an owner uploads: 107 cells."""


def records(table: Mapping[str, Sequence[Any]], count: int, encoding: OneHot = ADULT) -> Iterator[dict[str, Any]]:
    """The first rows of a table that is held column by column."""
    names = list(encoding.domains)
    for values in zip(*(table[name][:count] for name in names), strict=True):
        yield dict(zip(names, values, strict=True))


def age_ranges(pair: LabelledPair, epsilon: Number) -> Answer:
    """P1: for i from 1 to 100, how many people are at most i years old. One epsilon pays for all hundred answers.

    A replaced row moves each of the answers by at most 1, all hundred of them if it goes from 1 to 101.
    """
    columns = pair.encoding.columns("age")
    groups = [columns[: place + 1] for place in range(len(columns))]
    return pair.sums(groups, epsilon=epsilon, sensitivity=len(columns))


def frequent_ages(pair: LabelledPair, epsilon: Number, count: int = 5) -> tuple[list[int], Answer]:
    """P2: the most frequent ages, from one noisy histogram.

    The original compares inside a garbled circuit, and shows the ages only. Here the noisy histogram is shown as well:
    it has the same guarantee, and its order costs nothing more.
    """
    columns = pair.encoding.columns("age")
    answer = pair.sums([[column] for column in columns], epsilon=epsilon, sensitivity=2)
    ages: Sequence[Any] = pair.encoding.domains["age"]
    order = sorted(range(len(ages)), key=lambda place: -answer.counts[place])
    return [ages[place] for place in order[:count]], answer


def race_by_sex(pair: LabelledPair, epsilon: Number) -> Answer:
    """P3: how many people there are of each race and sex: one product for each row and cell."""
    pairs = [(i, j) for i in pair.encoding.columns("race") for j in pair.encoding.columns("sex")]
    return pair.product_sums(pairs, epsilon=epsilon, sensitivity=2)
