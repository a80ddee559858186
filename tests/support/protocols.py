"""Every local protocol beside an independent account of it: what a report is, with which probability, and how far off.

A protocol joins all laws of tests/crowd/test_contract.py by one `Case` in `ALL_PROTOCOLS`. What a case says is written
down from the literature and in plain Python, with nothing of the protocol but its public parameters.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.crowd import Counts, Estimates, Protocol, Reports, UnaryEncoding
from lapwing.crowd.binary import BinaryResponse
from lapwing.crowd.categories import CategoryResponse
from lapwing.crowd.numeric import MeanEstimate, Piecewise, StochasticRounding

Report = tuple[int, ...]
"""A bit or a number for each column; a row of bits is the number it spells, lowest bit first."""
Law = dict[Report, Fraction]
Variances = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of every estimate: over the coins for these people, and over people drawn at random, too."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A protocol of ordinary size, one of the same class so small that everything can be enumerated, and the theory."""

    name: str
    protocol: Protocol
    answers: Sequence[Any]
    tiny: Protocol
    tiny_answers: Sequence[Any]
    """Some of them strangers to the domain, where there is one."""
    law: Callable[[Any, Any], Law]
    """(tiny protocol, answer) → the probability of every report."""
    others: Mapping[str, Any]
    """Another value for every public parameter of `protocol`."""
    variances: Callable[[Any, Sequence[Any], Sequence[Any]], Variances] | None = None
    """(protocol, everybody's answer, what is estimated) → variances; None: no estimator that is unbiased."""
    labels: Sequence[Any] | None = None
    """What is estimated, if not `answers`; a single None stands for the sum of numbers."""
    candidates: bool = False
    """Whether the estimator has to be told what to estimate."""
    resalted: Callable[[int], Protocol] | None = None
    """The same with other hash functions, where estimates are unbiased over these only."""
    population_error_is_a_bound: bool = False
    exactly: bool = True
    """Whether the variances are exact also for the tiny protocol."""
    people: int = 1000

    def __str__(self) -> str:
        return self.name

    def weights(self) -> NDArray[np.float64]:
        """A skewed population."""
        falling = 1 / np.arange(1, len(self.answers) + 1)
        return falling / falling.sum()

    def drawn(self, n: int, chance: np.random.Generator) -> list[Any]:
        """Somebody's answer, n times."""
        return [self.answers[place] for place in chance.choice(len(self.answers), n, p=self.weights()).tolist()]

    def estimated(self) -> Sequence[Any]:
        """What is estimated."""
        return self.answers if self.labels is None else self.labels

    def truth(self, people: Sequence[Any]) -> NDArray[np.float64]:
        """What should be estimated."""
        return self.scores(people).sum(axis=0)

    def scores(self, people: Sequence[Any]) -> NDArray[np.float64]:
        """What each of these people adds to the truth."""
        if self.estimated() == (None,):
            bounds: Any = getattr(self.protocol, "bounds", None)
            return np.clip(np.array(people, dtype=np.float64), *map(float, bounds))[:, None]
        return np.array([[answer == label for label in self.estimated()] for answer in people], dtype=np.float64)

    def estimate(self, state: Counts) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Estimates, and their population and sample standard errors; of a mean, n times these."""
        protocol: Any = state.protocol
        found: Estimates | MeanEstimate
        found = protocol.estimate(state, self.estimated()) if self.candidates else protocol.estimate(state)
        if isinstance(found, MeanEstimate):
            numbers = (found.mean, found.population_standard_error, found.sample_standard_error)
            return tuple(np.array([found.n * number]) for number in numbers)  # type: ignore[return-value]
        return found.counts, found.population_standard_error, found.sample_standard_error


# --- reports ---------------------------------------------------------------------------------------------------------


def written(reports: Reports) -> list[Report]:
    """Reports as the laws write them."""
    columns = []
    for column, held in zip(reports.protocol.layout, reports.columns, strict=True):
        bits = column.to_bits(held, reports.n).astype(object)
        columns.append((bits << np.arange(column.bits)).sum(axis=1).tolist() if reports.n else [])
    return list(zip(*columns, strict=True))


def marginals(law: Law, layout: Sequence[Any]) -> list[Fraction]:
    """The probability that a bit is one, for every bit of every column that consists of bits."""
    found = []
    for place, column in enumerate(layout):
        if column.kind != "number":
            for bit in range(column.bits):
                found.append(sum((p for report, p in law.items() if report[place] >> bit & 1), Fraction(0)))
    return found


def loss_ratio(laws: Iterable[Law]) -> Fraction:
    """The largest ratio of the probabilities of one report under two answers."""
    listed = list(laws)
    reports = set().union(*listed)
    return max(max(law[report] for law in listed) / min(law[report] for law in listed) for report in reports)


# --- the law of every protocol ---------------------------------------------------------------------------------------


def independent_bits(probabilities: Sequence[Fraction]) -> dict[int, Fraction]:
    """The law of a row of independent bits."""
    law = {0: Fraction(1)}
    for place, p in enumerate(probabilities):
        law = {row | bit << place: q * (p if bit else 1 - p) for row, q in law.items() for bit in (0, 1)}
    return law


def binary_law(protocol: BinaryResponse, answer: Any) -> Law:
    yes = Fraction(protocol.yes_if_yes if answer == 1 else protocol.yes_if_no)
    return {(1,): yes, (0,): 1 - yes}


def category_law(protocol: CategoryResponse, answer: Any) -> Law:
    domain = _listed(protocol.domain)
    k, keep = len(domain), Fraction(protocol.keep)
    if answer not in domain:
        return {(place,): Fraction(1, k) for place in range(k)}
    return {(place,): keep if domain[place] == answer else (1 - keep) / (k - 1) for place in range(k)}


def unary_law(protocol: UnaryEncoding, answer: Any) -> Law:
    p, q = Fraction(protocol.one_if_true), Fraction(protocol.one_if_other)
    return {
        (row,): c for row, c in independent_bits([p if a == answer else q for a in _listed(protocol.domain)]).items()
    }


def rounding_law(protocol: StochasticRounding, answer: Any) -> Law:
    flip, share = Fraction(protocol.flip), _share(protocol, answer)
    one = flip + (1 - 2 * flip) * share
    return {(1,): one, (0,): 1 - one}


def piecewise_law(protocol: Piecewise, answer: Any) -> Law:
    width, total, inside = protocol.window, protocol.cells, Fraction(protocol.inside)
    place = _share(protocol, answer) * (total - width)
    law = {(cell,): Fraction(0) for cell in range(total)}
    for start, chance in ((math.floor(place), 1 - place % 1), (math.floor(place) + 1, place % 1)):
        for cell in range(total):
            here = start <= cell < start + width
            law[cell,] += chance * (inside / width if here else (1 - inside) / (total - width))
    return law


def _share(protocol: Any, answer: Any) -> Fraction:
    """How far between the bounds; the answers here lie on levels, so nothing is rounded."""
    low, high = map(Fraction, protocol.bounds)
    return (min(max(Fraction(answer), low), high) - low) / (high - low) if _is_number(answer) else Fraction(1, 2)


def _is_number(answer: Any) -> bool:
    return isinstance(answer, (int, float, Fraction, Decimal)) and math.isfinite(answer)


def _listed(domain: Any) -> Sequence[Any]:
    return range(domain) if isinstance(domain, int) else domain


PRIME = 2**25 - 39


def plain_words(tag: bytes, salt: bytes, text: bytes, count: int) -> list[int]:
    """The first words of a digest, below the prime: the definition in hashing.py, in plain whole numbers."""
    digest = hashlib.sha256(tag + b"\0" + salt + b"\0" + text).digest()
    return [int.from_bytes(digest[4 * i : 4 * i + 4], "little") % PRIME for i in range(count)]


def plain_cell(text: bytes, salt: bytes, row: int, width: int) -> int:
    """The cell of a text under hash function `row`."""
    u, v = plain_words(b"lapwing item 1", salt, text, 2)
    a, b, c, d, e = plain_words(b"lapwing row 1", salt, row.to_bytes(8, "little"), 5)
    return width * ((a * u * u + b * u + c * v * v + d * v + e) % PRIME) // PRIME


def plain_text(answer: Any) -> bytes:
    """The bytes that stand for an answer."""
    if isinstance(answer, str):
        return answer.encode("utf-8", "surrogatepass")
    return b"%d" % answer if isinstance(answer, int) else b"\xff"


# --- variances -------------------------------------------------------------------------------------------------------


def pure_variances(p: Fraction | float, q: Fraction | float, counts: NDArray[np.float64], n: int) -> Variances:
    """A report supports the truth with p and anything else with q (Wang, Blocki, Li and Jha 2017)."""
    p, q = float(p), float(q)
    coins = (counts * p * (1 - p) + (n - counts) * q * (1 - q)) / (p - q) ** 2
    rate = q + (p - q) * counts / n
    return coins, n * rate * (1 - rate) / (p - q) ** 2


def counted(people: Sequence[Any], labels: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([sum(answer == label for answer in people) for label in labels], dtype=np.float64)


def binary_variances(protocol: BinaryResponse, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """λ(1−λ)/α² for sampled respondents; for fixed ones only the coins vary."""
    yes = counted(people, [True])
    coins, sample = pure_variances(Fraction(protocol.yes_if_yes), Fraction(protocol.yes_if_no), yes, len(people))
    return np.repeat(coins, 2), np.repeat(sample, 2)


def category_variances(protocol: CategoryResponse, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    keep, k = Fraction(protocol.keep), len(_listed(protocol.domain))
    return pure_variances(keep, (1 - keep) / (k - 1), counted(people, labels), len(people))


def unary_variances(protocol: UnaryEncoding, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    p, q = Fraction(protocol.one_if_true), Fraction(protocol.one_if_other)
    return pure_variances(p, q, counted(people, labels), len(people))


def rounding_variances(protocol: StochasticRounding, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    low, high = map(float, protocol.bounds)
    flip = float(protocol.flip)
    rates = flip + (1 - 2 * flip) * (np.clip(people, low, high) - low) / (high - low)
    scale = ((high - low) / (1 - 2 * flip)) ** 2
    sample = len(people) * rates.mean() * (1 - rates.mean())
    return np.array([scale * (rates * (1 - rates)).sum()]), np.array([scale * sample])


def piecewise_variances(protocol: Piecewise, people: Sequence[Any], labels: Sequence[Any]) -> Variances:
    """That of the continuous mechanism (Wang et al. 2019): t²/(r−1) + (r+3)/(3(r−1)²), r = e^(ε/2), t = −1 … 1."""
    low, high = map(float, protocol.bounds)
    root = math.exp(float(protocol.privacy_loss().epsilon) / 2)
    numbers = np.clip(people, low, high)
    middle, half = (low + high) / 2, (high - low) / 2
    each = ((numbers - middle) / half) ** 2 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
    coins = half**2 * each.sum()
    return np.array([coins]), np.array([coins + len(people) * numbers.var()])


# --- the protocols ---------------------------------------------------------------------------------------------------

TOWNS = ("Oslo", "Rome", "Bern", "Riga", "Kyiv", "Cork", "Graz", "Nice", "Lund", "Porto")
HALF, QUARTER, EIGHTH = Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)

ALL_PROTOCOLS = [
    Case(
        name="yes or no, fair coins",
        protocol=BinaryResponse.from_coins(HALF, HALF),
        answers=(False, True),
        labels=(True, False),
        tiny=BinaryResponse.from_coins(HALF, HALF),
        tiny_answers=(True, False, None, "yes"),
        law=binary_law,
        variances=binary_variances,
        others={"yes_if_yes": 0.875, "yes_if_no": 0.125, "unit": "household"},
    ),
    Case(
        name="yes or no, unlike coins",
        protocol=BinaryResponse.from_coins(0.6, Fraction(1, 3)),
        answers=(False, True),
        labels=(True, False),
        tiny=BinaryResponse.from_coins(0.6, Fraction(1, 3)),
        tiny_answers=(True, False, None, 2),
        law=binary_law,
        variances=binary_variances,
        others={"yes_if_yes": 0.875, "yes_if_no": 0.125, "unit": "household"},
    ),
    Case(
        name="one of ten",
        protocol=CategoryResponse.from_epsilon(2, domain=TOWNS),
        answers=TOWNS,
        tiny=CategoryResponse.from_epsilon(1, domain=("a", "b", "c")),
        tiny_answers=("a", "b", "c", "d"),
        law=category_law,
        variances=category_variances,
        others={"domain": TOWNS[:9], "keep": 0.75, "unit": "household"},
    ),
    Case(
        name="unary, symmetric",
        protocol=UnaryEncoding.symmetric(2, domain=70),
        answers=range(70),
        tiny=UnaryEncoding.symmetric(1, domain=("a", "b", "c")),
        tiny_answers=("a", "b", "c", "d"),
        law=unary_law,
        variances=unary_variances,
        others={"domain": 71, "one_if_true": 0.875, "one_if_other": 0.125, "unit": "household"},
    ),
    Case(
        name="unary, optimised",
        protocol=UnaryEncoding.optimized(2, domain=TOWNS),
        answers=TOWNS,
        tiny=UnaryEncoding.optimized(1, domain=("a", "b", "c")),
        tiny_answers=("a", "b", "c", "d"),
        law=unary_law,
        variances=unary_variances,
        others={"domain": TOWNS[::-1], "one_if_true": 0.875, "one_if_other": 0.125, "unit": "household"},
    ),
    Case(
        name="mean, one bit",
        protocol=StochasticRounding.from_epsilon(1, bounds=(-10, 30)),
        answers=tuple(range(-12, 34, 3)),
        labels=(None,),
        tiny=StochasticRounding.from_epsilon(1, bounds=(0, 2)),
        tiny_answers=(0, 2, 1, HALF, -5, math.nan, None),
        law=rounding_law,
        variances=rounding_variances,
        others={"bounds": (-10, 31), "flip": 0.25, "unit": "household"},
        population_error_is_a_bound=True,
    ),
    Case(
        name="mean, piecewise",
        protocol=Piecewise.from_epsilon(2, bounds=(-10, 30)),
        answers=tuple(range(-12, 34, 3)),
        labels=(None,),
        tiny=Piecewise.from_epsilon(1, bounds=(0, 2), cells=8),
        tiny_answers=(0, 2, 1, HALF, QUARTER, -5, math.nan, None),
        law=piecewise_law,
        variances=piecewise_variances,
        others={"bounds": (-10, 31), "window": 300, "inside": 0.75, "cells": 1000, "unit": "household"},
        exactly=False,
    ),
]
