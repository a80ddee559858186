"""Programs of operators, by the names that Cryptε gave them (Chowdhury, Wang, He, Machanavajjhala and Jha 2020).

    Filter("native_country = 'Mexico'") | CrossProduct("age", "sex") | GroupByCount() | Laplace(1)

    Filter                rows for which a condition holds; after GroupByCountEncoded, counts ("count >= 200")
    Project, CrossProduct the columns that rows are counted by
    Count                 how many rows, or how many counts are left
    GroupByCount          how many rows of each value, to be released with noise
    GroupByCountEncoded   the same, kept as shares for what follows
    CountDistinct         how many values occur
    Laplace               adds noise for an epsilon, and opens the sum
    NoisyMax              the values that most rows have: from one noisy count of each

A program says the same as a question in SQL, and is compiled to the same measures. Proof: measures.md
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.curator.plan.nodes import Scan
from lapwing.curator.plan.parser import expression
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.pair.client import Client
from lapwing.pair.compiler import Frame, Table, frame_of
from lapwing.pair.domains import Layout, Listed
from lapwing.pair.orders import Request, half_width_of, loss_of, noise_for
from lapwing.pair.runs import Way
from lapwing.pair.tallies import Dimension, Measure, Tally, both
from lapwing.privacy import Loss

CONFIDENCE = Fraction(95, 100)
_COUNT = re.compile(r"\s*count\s*>=\s*(\d{1,9})\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Operator:
    """A step of a program; `|` puts the next one behind it."""

    def __or__(self, other: Operator | Program) -> Program:
        return Program((self,)) | other

    def __str__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True)
class Filter(Operator):
    """Rows for which a condition holds, or counts of at least some size."""

    condition: str

    def __str__(self) -> str:
        return f"Filter({self.condition})"


@dataclass(frozen=True, init=False)
class Project(Operator):
    """The columns that rows are counted by."""

    columns: tuple[str, ...]

    def __init__(self, *columns: str) -> None:
        object.__setattr__(self, "columns", columns)

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.columns)})"


class CrossProduct(Project):
    """Several columns as one: every combination of their values."""


@dataclass(frozen=True)
class Count(Operator):
    """How many rows, or how many counts are left."""


@dataclass(frozen=True)
class GroupByCount(Operator):
    """How many rows of each value."""


@dataclass(frozen=True)
class GroupByCountEncoded(Operator):
    """How many rows of each value, kept as shares: neither server knows them."""


@dataclass(frozen=True)
class CountDistinct(Operator):
    """How many values occur."""


@dataclass(frozen=True)
class Laplace(Operator):
    """Add noise for an epsilon, and open the sum."""

    epsilon: Number

    def __str__(self) -> str:
        return f"Laplace({self.epsilon})"


@dataclass(frozen=True)
class NoisyMax(Operator):
    """The values that most rows have. One noisy count of each costs one epsilon, however many are shown."""

    most: int
    epsilon: Number

    def __str__(self) -> str:
        return f"NoisyMax({self.most}, {self.epsilon})"


@dataclass(frozen=True)
class ProgramAnswer:
    """What a program released."""

    labels: tuple[tuple[Any, ...], ...]
    values: tuple[int, ...]
    half_width: float
    """How far each value may be off, with 95 % confidence."""
    loss: Loss

    def cumulated(self) -> tuple[int, ...]:
        """The values added up from the first on: a distribution function from a histogram."""
        return tuple(sum(self.values[: place + 1]) for place in range(len(self.values)))


@dataclass(frozen=True)
class Program:
    """Operators, one after another."""

    operators: tuple[Operator, ...]

    def __or__(self, other: Operator | Program) -> Program:
        added = other.operators if isinstance(other, Program) else (other,)
        return replace(self, operators=(*self.operators, *added))

    def __str__(self) -> str:
        return " → ".join(map(str, self.operators))

    def compiled(self, layout: Layout) -> CompiledProgram:
        """What servers count for it, or why they cannot."""
        stage = _Stage(frame_of(_scan(layout), layout))
        for number, operator in enumerate(self.operators):
            if stage.end is not None:
                raise self._misfit(operator, "nothing comes after noise", "Put it before Laplace.")
            stage = self._next(stage, operator, number)
        if stage.end is None:
            why = "nothing is opened without noise"
            raise self._misfit(self.operators[-1], why, "End it with Laplace(epsilon) or NoisyMax(5, epsilon).")
        return CompiledProgram(layout, *stage.counted(layout), stage.end)

    def _next(self, stage: _Stage, operator: Operator, number: int) -> _Stage:
        if isinstance(operator, Laplace | NoisyMax):
            checks.positive(epsilon=operator.epsilon)
            if stage.kind not in ("counts", "number"):
                raise self._misfit(operator, "there is nothing to add noise to", "Write Count() or GroupByCount().")
            if isinstance(operator, NoisyMax) and stage.kind != "counts":
                raise self._misfit(operator, "it chooses among several counts", "Write GroupByCount() before it.")
            return replace(stage, end=operator)
        if stage.kind == "rows":
            return self._of_rows(stage, operator)
        if stage.kind == "encoded":
            return self._of_counts(stage, operator)
        raise self._misfit(operator, "only noise can follow here", "Write Laplace(1).")

    def _of_rows(self, stage: _Stage, operator: Operator) -> _Stage:
        frame = stage.frame
        if isinstance(operator, Filter):
            columns = {domain.name: domain.column() for domain in frame.layout.domains}
            condition = frame.condition(expression(operator.condition, columns, name="condition"))
            return replace(stage, frame=replace(frame, where=both(frame.where, condition)))
        if isinstance(operator, Project):
            for name in operator.columns:
                if not isinstance(frame.columns.get(name), Table):
                    raise self._misfit(operator, f"{name} is not a listed column", "Name columns with values or bins.")
            return replace(stage, columns=operator.columns)
        if isinstance(operator, Count):
            return replace(stage, columns=(), kind="number")
        if isinstance(operator, GroupByCount | GroupByCountEncoded):
            if not stage.columns:
                raise self._misfit(operator, "it needs columns", "Write Project('age') before it.")
            return replace(stage, kind="counts" if isinstance(operator, GroupByCount) else "encoded")
        if isinstance(operator, CountDistinct) and stage.columns:
            return replace(stage, kind="number", at_least=1)
        raise self._misfit(operator, "it needs counts", "Write GroupByCountEncoded() before it.")

    def _of_counts(self, stage: _Stage, operator: Operator) -> _Stage:
        if isinstance(operator, Filter):
            match = _COUNT.fullmatch(operator.condition)
            if match is None or not int(match[1]):
                raise self._misfit(operator, "counts can be compared with a number", "Write Filter('count >= 200').")
            return replace(stage, at_least=max(int(match[1]), stage.at_least or 0))
        if isinstance(operator, CountDistinct | Count):
            return replace(stage, kind="number", at_least=stage.at_least or 1)
        raise self._misfit(operator, "counts are shares here", "Write CountDistinct(), or Filter and Count().")

    def _misfit(self, operator: Operator, why: str, instead: str) -> UnsupportedQuery:
        return UnsupportedQuery(str(operator), why, instead)

    def release(self, client: Client, *, noise: Way = "joint", key: str | None = None) -> ProgramAnswer:
        """What two servers answer."""
        compiled = self.compiled(client.deployment.layout)
        opened = client.ask(compiled.request(noise), key)
        return compiled.answer(opened.numbers[0], noise, client.deployment.unit)


@dataclass(frozen=True)
class _Stage:
    """How far a program is."""

    frame: Frame
    columns: tuple[str, ...] = ()
    kind: str = "rows"
    at_least: int | None = None
    end: Laplace | NoisyMax | None = None

    def counted(self, layout: Layout) -> tuple[Measure, tuple[tuple[Any, ...], ...]]:
        """What is counted, and what each number is about."""
        domains = [layout.by_name[name] for name in self.columns]
        listed = [domain for domain in domains if isinstance(domain, Listed)]
        dimensions = tuple(
            Dimension(domain.name, tuple((bit,) for bit in range(len(domain.values)))) for domain in listed
        )
        tally = Tally(dimensions, self.frame.where)
        size = prod(len(domain.values) for domain in listed)
        single = self.kind == "number"
        groups = (0,) * size if single else tuple(range(size))
        measure = Measure(tally, groups, (1,) * size, 1 if single else size, self.at_least)
        measure.check(layout)
        return measure, ((),) if single else tuple(product(*(domain.values for domain in listed)))


@dataclass(frozen=True)
class CompiledProgram:
    """A program as a measure and its noise."""

    layout: Layout
    measure: Measure
    labels: tuple[tuple[Any, ...], ...]
    end: Laplace | NoisyMax

    @property
    def epsilon(self) -> Fraction:
        """What it costs."""
        return checks.positive(epsilon=self.end.epsilon)

    def request(self, way: Way = "joint") -> Request:
        """For the servers."""
        return Request((self.measure,), (self.epsilon,), way)

    def answer(self, numbers: Sequence[int], way: Way, unit: str) -> ProgramAnswer:
        """From the noisy numbers."""
        width = half_width_of(noise_for(self.measure, self.layout, self.epsilon), way, CONFIDENCE)
        loss = loss_of(self.measure, self.layout, self.epsilon, way, unit)
        if isinstance(self.end, Laplace):
            return ProgramAnswer(self.labels, tuple(numbers), width, loss)
        most = checks.whole(most=self.end.most)
        if most > len(numbers):
            raise InvalidParameter("most", most, f"there are only {len(numbers)} values", "Write a smaller number.")
        best = sorted(range(len(numbers)), key=lambda place: (-numbers[place], place))[:most]
        return ProgramAnswer(
            tuple(self.labels[place] for place in best), tuple(numbers[place] for place in best), width, loss
        )


def _scan(layout: Layout) -> Scan:
    return Scan("rows", tuple(domain.column() for domain in layout.domains), each_row=True)


def seven(epsilon: Number = 1) -> dict[str, Program]:
    """The seven programs that Cryptε was tried with, on UCI Adult: ages from 17 to 90, sex, race, native country."""
    mexico, men = Filter("native_country = 'Mexico'"), Filter("sex = 'Male'")
    return {
        "P1": Project("age") | GroupByCount() | Laplace(epsilon),
        "P2": Project("age") | GroupByCount() | NoisyMax(5, epsilon),
        "P3": CrossProduct("race", "sex") | GroupByCount() | Laplace(epsilon),
        "P4": mexico | CrossProduct("age", "sex") | GroupByCount() | Laplace(epsilon),
        "P5": Filter("age = 30") | men | mexico | Count() | Laplace(epsilon),
        "P6": men | Project("age") | GroupByCountEncoded() | CountDistinct() | Laplace(epsilon),
        "P7": Project("age") | GroupByCountEncoded() | Filter("count >= 200") | Count() | Laplace(epsilon),
    }
