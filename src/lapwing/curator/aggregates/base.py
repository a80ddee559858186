"""The base class of aggregates: what each of them defines.

An aggregate is a frozen value that names columns. Bound to the rows of a plan, it says which integers the engine must
return (`Statistic`) or what is picked (`Pick`). That is what it pays for. Once these are noisy, it makes a value of
them. Its class knows its name in answers and saved questions, its words, and how SQL writes it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from sqlglot import exp

from lapwing import checks
from lapwing.calls import Helpful
from lapwing.checks import Number
from lapwing.curator.aggregates.estimates import Confidence, Estimate
from lapwing.curator.plan.expressions import NULL, NUMERIC, Call, Column, Constant, Expression, Kind, span_of
from lapwing.curator.plan.grids import MOMENT_BITS, SUM_BITS, GridExpression, gridded
from lapwing.curator.plan.language import call
from lapwing.curator.plan.nodes import Total
from lapwing.curator.plan.parser import expression, only
from lapwing.curator.plan.statistics import Pick, Statistic
from lapwing.errors import InvalidParameter, UnsupportedQuery

ANSWER_SAYS = "The answer will say how accurate it is."
"""Of an output whose error is not known beforehand."""
Key = tuple[Expression, tuple[Fraction, Fraction] | None]
"""An argument, and the bounds that an aggregate itself gives it."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What stands in an aggregate of SQL: nodes of the syntax tree."""

    of: Sequence[Any] = ()
    """What it is about: each must have a kind and be about one row."""
    others: Sequence[Any] = ()
    """Further expressions: a share, a condition."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Aggregate(metaclass=Helpful):
    """A question about the rows of each group. Functions make them: `lw.count()`, `lw.mean("age")`.

    Args:
        of: The columns or expressions that it is about.
        name: What the column of the answer is called. None means a name made from the kind and the columns.
        weight: Its share of the loss beside other aggregates of the same question.

    Raises:
        InvalidParameter: If `weight` is not positive, or something in `of` is neither a column nor an expression.

    >>> isinstance(lw.mean("age"), lw.Aggregate)
    True
    """

    of: tuple[str | Expression, ...] = ()
    name: str | None = None
    weight: Number = 1

    _instead: ClassVar[Mapping[str, str]] = {"kind": "Each has a function of its own: write lw.mean('age')."}
    kind: ClassVar[str]
    """Its name in answers and saved questions."""
    called: ClassVar[str]
    """The name of its output, if nobody gives it one; places are its columns."""
    says: ClassVar[str]
    """What its output is, in words."""
    says_used: ClassVar[str] = ""
    """The same where rows may have been left out, if that is something else."""
    places: ClassVar[tuple[int, ...]] = (1,)
    """How many columns it may have."""
    takes: ClassVar[tuple[Kind, ...]] = NUMERIC
    """The kinds of its columns."""
    whole: ClassVar[bool] = False
    """Whether its output is a whole number."""
    counts: ClassVar[bool] = False
    """Whether its output is a number of rows, units or values."""
    adds_up: ClassVar[bool] = False
    """Whether outputs of two groups together are their sum: it is drawn as a bar from 0."""
    counts_rows: ClassVar[bool] = False
    by_any_row: ClassVar[bool] = False
    """Whether a unit counts by any of its rows, so that leaving some of them out changes nothing."""
    fills: ClassVar[bool] = False
    """Whether a missing value of a column that is declared complete counts as the middle of its bounds."""
    averages: ClassVar[bool] = False
    """Whether it has the integers of a mean, from which a sum of the same column can be made."""
    squares: ClassVar[bool] = False
    """Whether it multiplies values, which takes a coarser grid."""
    total: ClassVar[Total | None] = None
    """Which total of one unit's rows it is in a sub-query, if it may be one."""
    options: ClassVar[tuple[str, ...] | None] = ("name", "weight")
    """What a saved question may say about it; None if it is never saved."""
    spelled: ClassVar[str] = ""
    """How SQL writes it, for a list of what there is."""
    nodes: ClassVar[tuple[str, ...]] = ()
    """What sqlglot calls its functions, those of all dialects."""
    functions: ClassVar[tuple[str, ...]] = ()
    """Names of its functions that sqlglot does not know."""
    refused: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """Nodes that look like it: why they cannot be asked, and what to write instead."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", checks.positive(weight=self.weight))
        checks.text_or_none(name=self.name)
        for text in self.of:
            if not isinstance(text, str | Column) and not hasattr(text, "kind"):
                raise InvalidParameter("column", text, "must be the name of a column", "Write lw.mean('age').")

    # ------------------------------------------------------------------------------------------------------ words

    @property
    def output(self) -> str:
        """What it is called in the answer."""
        if self.name is not None:
            return self.name
        return self.called.format(*self.of) if self.of else self.called.removesuffix("_{}")

    def named(self, name: str) -> Self:
        """The same under another name.

        Args:
            name: What the column of the answer is called.

        Returns:
            The aggregate with this name.

        >>> patients.agg(lw.mean("age").named("mean age")).release(epsilon=1).table.columns[0].name
        'mean age'
        """
        return replace(self, name=name)

    def parts(self) -> list[str]:
        """What stands between its parentheses.

        Returns:
            The columns or expressions as text, in the order in which they were given.

        >>> lw.sum("cost").parts()
        ['cost']
        """
        return [str(part) for part in self.of]

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(self.parts()) or '*'})"

    def __repr__(self) -> str:
        """One form for all: ledgers hold digests of questions that are made of it."""
        fields = {"of": (), "bounds": None, "q": None, "edges": (), "most": 0, "name": None, "weight": 1}
        given = [f"{name}={getattr(self, name, usual)!r}" for name, usual in fields.items()]
        return f"Aggregate({', '.join([f'kind={self.kind!r}', *given])})"

    def note(self, grids: Sequence[GridExpression]) -> str:
        """What a reader must know about its values.

        Args:
            grids: The arguments with their bounds.

        Returns:
            A remark for the answer; empty if there is none.
        """
        different = tuple(dict.fromkeys(grids))
        notes = [f"values outside {grid.low:g}…{grid.high:g} count as the nearest bound" for grid in different]
        for grid in different:
            if grid.filled() is not None and isinstance(grid.expression, Call):
                notes.append(f"a missing value counts as {grid.expression.arguments[-1]}")
        return "; ".join(notes)

    # ---------------------------------------------------------------------------------------------------- numbers

    def keys(self, columns: Mapping[str, Column]) -> list[Key]:
        """Its arguments over these columns.

        Args:
            columns: The columns of the plan, by name.

        Returns:
            Each argument, with the bounds that the aggregate itself gives it.
        """
        values = [argument(text, columns) for text in self.of]
        return [(filled(value) if self.fills else value, self.given_bounds) for value in values]

    @property
    def given_bounds(self) -> tuple[Fraction, Fraction] | None:
        """The bounds that it gives its columns itself."""
        return None

    @abstractmethod
    def bind(self, shared: QueryFacts) -> Bound:
        """The integers it needs, sharing those of others.

        Args:
            shared: What the aggregates of the question know of each other.

        Returns:
            The aggregate with its statistics, or with what it picks.
        """

    def error(self, bound: Bound, widths: Sequence[float], count: int | None) -> float:
        """How far its value may be off if every statistic is within its half-width.

        Args:
            bound: The aggregate with its statistics.
            widths: The half-width of the noise on each statistic.
            count: At least so many rows in the group, as a public fact; None if nothing is known.

        Returns:
            The largest error.

        Raises:
            UnsupportedQuery: If the error depends on the data.
        """
        why = "its error depends on the data"
        raise UnsupportedQuery(str(self), why, f"Choose an epsilon. {ANSWER_SAYS}")

    def ends(self, bound: Bound) -> tuple[float, float] | None:
        """Between which numbers its value and the exact one lie, whatever the data.

        Args:
            bound: The aggregate with its statistics.

        Returns:
            The least and the largest value; None if there is no limit.
        """
        return None

    # ----------------------------------------------------------------------------------------- saving and reading

    def saved(self, written: Callable[[Expression], Any]) -> dict[str, Any]:
        """The aggregate as plain data, exactly.

        Args:
            written: How to write an expression as data.

        Returns:
            What a saved question says about it.
        """
        record: dict[str, Any] = {self.kind: [part if isinstance(part, str) else written(part) for part in self.of]}
        if self.given_bounds is not None:
            record["bounds"] = [exactly(end) for end in self.given_bounds]
        record |= self.saved_options()
        if self.name is not None:
            record["name"] = self.name
        if self.weight != 1:
            record["weight"] = exactly(Fraction(self.weight))
        return record

    def saved_options(self) -> dict[str, Any]:
        """What else a saved question must say.

        Returns:
            The options by name, as JSON can hold them. Empty if the kind has no options.
        """
        return {}

    @classmethod
    def reread(cls, *of: str | Expression, **options: Any) -> Aggregate:
        """The aggregate that was saved.

        Args:
            of: The columns or expressions that it is about.
            options: What else was saved, checked to be of the right kinds.

        Returns:
            The aggregate.
        """
        return cls(of=of, **options)

    # -------------------------------------------------------------------------------------------------------- SQL

    @classmethod
    def arguments(cls, node: exp.Expr) -> Arguments | None:
        """What stands in a node of SQL.

        Args:
            node: A function call in the syntax tree.

        Returns:
            Its arguments; None if the node is none of its functions after all.
        """
        anonymous = isinstance(node, exp.Anonymous)
        only(node, "this", *(["expression"] if 2 in cls.places else []), *(["expressions"] if anonymous else []))
        values = [node.this] if 2 not in cls.places else [node.this, node.expression]
        if anonymous:
            values = node.expressions if len(node.expressions) in cls.places else [node.this]
        return Arguments(values)

    @classmethod
    def read(cls, node: exp.Expr, of: tuple[Expression, ...], others: Sequence[Expression]) -> SqlAggregate:
        """What a node of SQL asks for.

        Args:
            node: A function call in the syntax tree.
            of: What its arguments mean.
            others: What its further arguments mean, such as a share or a condition.

        Returns:
            The aggregate as SQL writes it.
        """
        return SqlAggregate(cls, of)

    @classmethod
    def filtered(cls) -> type[Aggregate]:
        """What it is with FILTER (WHERE …).

        Returns:
            The class of the aggregate that counts only the rows of the filter.
        """
        return cls

    @classmethod
    def asked(cls, of: tuple[Expression, ...], name: str, **options: Any) -> Aggregate:
        """The aggregate that SQL asks for.

        Args:
            of: The columns or expressions that it is about.
            name: What the column of the answer is called.
            options: What else the class takes.

        Returns:
            The aggregate.
        """
        return cls(of=of, name=name, **options)


class Estimator(Aggregate):
    """An aggregate that is computed from noisy integers; others are picked, or make rows of their own."""

    @abstractmethod
    def estimate(
        self, bound: Bound, numbers: Sequence[int], widths: Sequence[float], confidence: Confidence
    ) -> Estimate:
        """Its value from the noisy statistics, their half-widths and the confidence: post-processing."""

    def remarks(self, bound: Bound, estimated: Sequence[Estimate]) -> str:
        """What a reader must know about these values.

        Args:
            bound: The aggregate with its statistics.
            estimated: Its values with their intervals, one for each group.

        Returns:
            A remark for the answer; empty if there is none.
        """
        return bound.note


@dataclass(frozen=True, kw_only=True, repr=False)
class WithBounds(Aggregate):
    """An aggregate of one column, which may be given bounds for it alone."""

    bounds: tuple[Number, Number] | None = None

    options: ClassVar[tuple[str, ...] | None] = ("bounds", "name", "weight")

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", checks.interval(bounds=self.bounds))

    @property
    def given_bounds(self) -> tuple[Fraction, Fraction] | None:
        """As exact numbers."""
        return None if self.bounds is None else checks.interval(bounds=self.bounds)


ONE = Constant(1, "integer")


@dataclass(frozen=True, slots=True)
class SqlAggregate:
    """An aggregate in SQL with its arguments; two that are written differently and mean the same are equal."""

    aggregate: type[Aggregate]
    of: tuple[Expression, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    label: str = field(default="", compare=False)
    """What to call it, if nobody says: a pattern of its columns as they are visible."""

    def where(self, condition: Expression) -> SqlAggregate:
        """FILTER (WHERE condition): rows for which it does not hold have no value."""
        of = tuple(call("case", condition, part, NULL) for part in self.of or (ONE,))
        return replace(self, aggregate=self.aggregate.filtered(), of=of)

    def as_shown(self, of: tuple[str, ...]) -> str:
        """What to call it, if its columns are visible as these."""
        if self.label:
            return self.label.format(*of)
        return self.aggregate(of=of, **dict(self.options)).output

    def named(self, name: str) -> Aggregate:
        """What is asked of everybody, or why that cannot be."""
        return self.aggregate.asked(self.of, name, **dict(self.options))


@dataclass(frozen=True, slots=True)
class Bound:
    """An aggregate whose columns are known: the integers it needs, or what it picks."""

    aggregate: Aggregate
    statistics: tuple[Statistic, ...] = ()
    grids: tuple[GridExpression, ...] = ()
    pick: Pick | None = None

    @property
    def note(self) -> str:
        """What a reader must know about its values."""
        return self.aggregate.note(self.grids)

    @property
    def needs(self) -> Sequence[Statistic | Pick]:
        """What is paid for."""
        return self.statistics if self.pick is None else (self.pick,)

    @property
    def output(self) -> str:
        """What it is called in the answer."""
        return self.aggregate.output

    @property
    def weight(self) -> Fraction:
        """Its part of the loss beside the others."""
        return checks.positive(weight=self.aggregate.weight)


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """What the aggregates of one query know of each other.

    A column that is squared is on the coarser grid for its mean as well, and a sum beside a mean of the same column
    is made from the integers of the mean, so that one noisy number serves both; but not on the coarser grid, where the
    error of a sum would grow with the number of rows, which nobody may know.
    """

    columns: Mapping[str, Column]
    squared: frozenset[Key]
    averaged: frozenset[Key]

    def grids(self, aggregate: Aggregate, *, coarse: bool = True) -> tuple[GridExpression, ...]:
        """The grids of its arguments: the coarser ones where others of the query square them."""
        grids = []
        for key in aggregate.keys(self.columns):
            bits = MOMENT_BITS if coarse and key in self.squared else SUM_BITS
            grids.append(gridded(key[0], public_bounds(key, aggregate), bits))
        return tuple(grids)


def argument(text: str | Expression, columns: Mapping[str, Column]) -> Expression:
    """What an aggregate is about: a column by its very name, or an expression."""
    if not isinstance(text, str):
        return text
    return columns[text] if text in columns else expression(text, columns, name="column")


def filled(value: Expression) -> Expression:
    """A column in which nothing should be missing; what is counts as the middle of its bounds."""
    if not isinstance(value, Column) or not value.complete or value.bounds is None:
        return value
    middle = (value.bounds[0] + value.bounds[1]) / 2
    whole = value.kind == "integer"
    return call("coalesce", value, Constant(int(middle) if whole else float(middle), value.kind))


def public_bounds(key: Key, aggregate: Aggregate) -> tuple[Fraction, Fraction]:
    """The bounds of an argument are public: given with the aggregate, with the column, or computed."""
    value, bounds = key
    if value.kind not in NUMERIC:
        why = f"it is of kind {value.kind}, not a number"
        hint = f"If it holds numbers, declare bounds={{'{value}': (0, 100)}} when you open the table."
        if value.kind == "boolean":
            hint = f"Write CASE WHEN {aggregate.of[0]} THEN 1 ELSE 0 END, whose mean is the share of true rows."
        raise UnsupportedQuery(str(aggregate), why, hint)
    if bounds is not None:
        return bounds
    span = span_of(value)
    return span.low, span.high


def exactly(value: Fraction) -> int | float | str:
    """An exact number: as a whole number or a decimal where that is exact, otherwise as a fraction in text."""
    if value.denominator == 1:
        return int(value)
    return float(value) if Fraction(float(value)) == value else f"{value.numerator}/{value.denominator}"
