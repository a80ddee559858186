"""What a question costs, and how it is written for servers: measures, each with its part of epsilon.

A server takes nothing from whoever asks but measures and epsilons: how far one person can move a measure, its noise and
its loss it computes itself, from the layout that it was started with.
Proof: measures.md, joint_noise.md
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.errors import InvalidParameter, LapwingError, UnsupportedQuery
from lapwing.pair.circuits import check_products, circuit_of, is_linear
from lapwing.pair.domains import Layout
from lapwing.pair.joint_noise import JointLaplace
from lapwing.pair.runs import Order, Way
from lapwing.pair.tallies import Among, Both, Condition, Dimension, Measure, Tally, both, either
from lapwing.pair.trust import TRUST
from lapwing.privacy import ApproxDP, Loss

MOST_ORDERS, MOST_NUMBERS, DEEPEST = 64, 100_000, 20
LARGEST_SUM = 1 << 61
"""Numbers and their noise together stay below 2^62 in size, so that 64 bits hold their sign."""
SPARE = Fraction((1 << 50) + 1, 1 << 50)
"""The scale is larger by this, so that the loss of real coins is at most what is stated."""


@dataclass(frozen=True)
class Request:
    """Measures with their parts of epsilon, and how noise is made."""

    measures: tuple[Measure, ...]
    epsilons: tuple[Fraction, ...]
    way: Way = "joint"

    def orders(self, layout: Layout) -> list[Order]:
        """With their noise."""
        pairs = zip(self.measures, self.epsilons, strict=True)
        return [Order(measure, noise_for(measure, layout, epsilon), self.way) for measure, epsilon in pairs]

    def loss(self, layout: Layout, unit: str) -> Loss:
        """What all of it costs together."""
        pairs = zip(self.measures, self.epsilons, strict=True)
        return reduce(add, (loss_of(measure, layout, epsilon, self.way, unit) for measure, epsilon in pairs))

    def products(self, layout: Layout) -> Counter[str]:
        """How many products of each column it uses up."""
        total = Counter[str]()
        for tally in dict.fromkeys(measure.tally for measure in self.measures):
            if not is_linear(tally):
                total.update(circuit_of(tally, layout).products)
        return total

    def fits(self, layout: Layout) -> None:
        """Refuse what does not fit these columns, or is too much: from here on all of it can be computed with."""
        if not 1 <= len(self.measures) <= MOST_ORDERS or sum(m.size for m in self.measures) > MOST_NUMBERS:
            why = f"it has more than {MOST_ORDERS} parts, or more than {MOST_NUMBERS:,} numbers"
            raise UnsupportedQuery("the question", why, "Ask for less at once.")
        for measure in self.measures:
            measure.check(layout)

    def check(self, layout: Layout, people: int, used: Counter[str]) -> None:
        """Refuse what these servers cannot count, before anything is charged."""
        self.fits(layout)
        spent = Counter(used)
        for tally in dict.fromkeys(measure.tally for measure in self.measures):
            if not is_linear(tally):
                circuit = circuit_of(tally, layout)
                check_products(circuit, spent)
                spent.update(circuit.products)
        for order in self.orders(layout):
            if max(people, 1) * order.measure.change(layout) + 2 * order.noise.largest > LARGEST_SUM:
                why = "its numbers may not fit 64 bits beside their noise"
                raise UnsupportedQuery("the question", why, "Choose a larger epsilon, or narrower bounds.")

    def written(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "measures": [_measure_written(measure) for measure in self.measures],
            "epsilons": [f"{epsilon.numerator}/{epsilon.denominator}" for epsilon in self.epsilons],
            "way": self.way,
        }

    def digest(self) -> str:
        """A fingerprint."""
        return hashlib.sha256(json.dumps(self.written(), sort_keys=True).encode()).hexdigest()

    @classmethod
    def read(cls, data: Any) -> Request:
        """What somebody sent, or `InvalidParameter`: the same whatever is wrong with it."""
        try:
            if data["way"] not in ("joint", "each") or len(data["measures"]) != len(data["epsilons"]):
                raise ValueError
            epsilons = tuple(_epsilon(text) for text in data["epsilons"])
            return cls(tuple(_measure(part) for part in data["measures"]), epsilons, data["way"])
        except LapwingError:
            raise
        except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
            pass
        raise InvalidParameter("request", "", "cannot be answered", "Ask with pair_table.sql(…).")


def noise_for(measure: Measure, layout: Layout, epsilon: Fraction) -> JointLaplace:
    """The noise with which a measure costs this epsilon."""
    return JointLaplace(measure.change(layout) / epsilon * SPARE)


def loss_of(measure: Measure, layout: Layout, epsilon: Fraction, way: Way, unit: str) -> Loss:
    """What a measure costs: with joint noise a delta for the ends of its coins."""
    if way == "each":
        return ApproxDP(epsilon, 0, relation=layout.relation, unit=unit, trust=TRUST)
    loss = noise_for(measure, layout, epsilon).privacy_loss(
        measure.change(layout), cells=measure.size, relation=layout.relation, unit=unit
    )
    if loss.epsilon > epsilon:
        raise AssertionError(f"the noise costs {loss}, and {epsilon} is stated")
    return ApproxDP(epsilon, loss.delta, relation=layout.relation, unit=unit, trust=TRUST)


def half_width_of(noise: JointLaplace, way: Way, confidence: Number) -> float:
    """How far all noise on one number reaches, in steps: a joint draw, or a draw of each server."""
    sure = checks.probability(confidence=confidence)
    if way == "joint":
        return float(noise.half_width(sure))
    return float(_width_of_two(float(noise.scale), float(1 - sure)))


def _width_of_two(scale: float, failure: float) -> int:
    """How far the sum of two discrete Laplace variables of this scale reaches: it is k with p^|k| (|k| + c), scaled."""
    p, rest = math.exp(-1 / scale), -math.expm1(-1 / scale)
    c = (1 + p * p) / -math.expm1(-2 / scale)
    front = (rest / (1 + p)) ** 2

    def beyond(size: int) -> float:
        return 2 * front * math.exp(-(size + 1) / scale) / rest * (size + 1 + c + p / rest)

    low, high = 0, 1
    while beyond(high) * (1 + 1e-9) > failure:
        high *= 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if beyond(middle) * (1 + 1e-9) <= failure else (middle + 1, high)
    return low


def _epsilon(text: str) -> Fraction:
    above, below = text.split("/")
    if len(text) > 200 or not above.isdigit() or not below.isdigit():
        raise ValueError
    epsilon = Fraction(int(above), int(below))
    if epsilon <= 0:
        raise ValueError
    return epsilon


def _measure_written(measure: Measure) -> dict[str, Any]:
    return {
        "dimensions": [[part.column, [list(group) for group in part.groups]] for part in measure.tally.dimensions],
        "where": _condition_written(measure.tally.where),
        "groups": list(measure.groups),
        "weights": [str(weight) for weight in measure.weights],
        "size": measure.size,
        "at_least": measure.at_least,
    }


def _measure(data: Mapping[str, Any]) -> Measure:
    dimensions = tuple(
        Dimension(_text(column), tuple(tuple(_whole(bit) for bit in group) for group in groups))
        for column, groups in data["dimensions"]
    )
    tally = Tally(dimensions, _condition(data["where"], 0))
    weights = tuple(int(weight) for weight in map(_text, data["weights"]))
    at_least = data["at_least"]
    return Measure(
        tally,
        tuple(_whole(group) for group in data["groups"]),
        weights,
        _whole(data["size"]),
        None if at_least is None else _whole(at_least),
    )


def _condition_written(condition: Condition) -> list[Any]:
    if isinstance(condition, Among):
        return ["among", condition.column, list(condition.bits)]
    name = "both" if isinstance(condition, Both) else "either"
    return [name, *(_condition_written(part) for part in condition.parts)]


def _condition(data: Sequence[Any], depth: int) -> Condition:
    if depth > DEEPEST:
        raise ValueError
    name, *parts = data
    if name == "among":
        column, bits = parts
        return Among(_text(column), tuple(_whole(bit) for bit in bits))
    join = {"both": both, "either": either}[name]
    return join(*(_condition(part, depth + 1) for part in parts))


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 200:
        raise ValueError
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or abs(value) > 1 << 53:
        raise ValueError
    return value
