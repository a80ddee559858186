"""Several tables of counts from one release, which agree in everything they share.

    sets of columns → the rows that count, once → integers of every marginal → noise on each → least squares → answer

A row counts in all marginals or in none, so the exact tables agree. Noise breaks that. Weighted least squares restores
it (`lapwing.mechanisms.marginals`), which is post-processing. Privacy and proof: marginals.md
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, estimates
from lapwing.curator.aggregates.base import exactly
from lapwing.curator.ask import checker
from lapwing.curator.ask.columns import totals_of
from lapwing.curator.ask.marginal_noise import MarginalNoise, Widths, name_of
from lapwing.curator.ask.marginal_tables import Marginals
from lapwing.curator.ask.pricing import Budget, check, share_out, shares_of
from lapwing.curator.ask.question import Question
from lapwing.curator.ask.quote import Expectation, Quote, counted_rows
from lapwing.curator.ask.release import release
from lapwing.curator.ask.room import check_reads
from lapwing.curator.plan.nodes import check_depth, is_each_row
from lapwing.curator.plan.statistics import Bounding, Statistic
from lapwing.curator.show.answer import Column
from lapwing.curator.show.cross_tables import MARGINAL
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.mechanisms.marginals import Family
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.quotes import Line
from lapwing.privacy.weak_privacy import warn_if_large

if TYPE_CHECKING:
    from lapwing.curator.ask.columns import Reading

_INTEGERS = 1 << 62


@dataclass(frozen=True, repr=False)
class MarginalsQuestion(Question):
    """Counts (or sums) by several sets of columns at once, in tables that agree.

    Privacy: add_remove of one unit. Proof: marginals.md

    Attributes:
        sets: The columns of each table.
        weights: How the tables share the loss, a number for each.
        integers: Whether numbers are whole and not negative, and still agree.

    Raises:
        InvalidParameter: If no table is named, a column is named twice in one, or two tables have the same columns.
        UnsupportedQuery: If the values of a column are not declared, an aggregate is no sum over parts, rows per unit
            are not limited over all tables, two columns of the answer have the same name, or whole numbers cannot agree
            in these tables.

    >>> question = patients.marginals([["smoker", "region"], ["region"]])
    >>> question.sets
    (('smoker', 'region'), ('region',))
    >>> len(question.release(epsilon=1)["region"].table)
    6
    """

    sets: tuple[tuple[str, ...], ...] = ()
    weights: tuple[Fraction, ...] = ()
    integers: bool = False

    def __repr__(self) -> str:
        return f"<MarginalsQuestion {self.explain()}>"

    def __post_init__(self) -> None:
        if self.grouping.secret:
            names = [key.name for key in self.grouping.keys if key.values is None]
            why = f"the values of {names[0]} are not declared, and all tables list the same values"
            raise UnsupportedQuery(f"marginals by {names[0]}", why, f"Name them: keys={{{names[0]!r}: […]}}.")
        for aggregate in self.aggregates:
            if not aggregate.adds_up or aggregate.by_any_row or aggregate.kind == "count distinct":
                why = "cells of a marginal add up, and this does not"
                raise UnsupportedQuery(str(aggregate), why, "Ask for lw.count() or lw.sum('cost').")
        if self.bounding.by_rows().max_rows_per_unit is None and not is_each_row(self.plan):
            why = "tables agree only if they use the same rows, so rows per unit must be limited over all cells"
            raise UnsupportedQuery("max_groups_per_unit", why, "Write max_rows_per_unit=… instead.")
        names = [
            MARGINAL,
            *(key.name for key in self.grouping.keys),
            *(aggregate.output for aggregate in self.aggregates),
        ]
        double = [name for name in names if names.count(name) > 1]
        if double:
            why = "two columns of the answer would have this name"
            raise UnsupportedQuery(double[0], why, "Rename a column with select(), or write name='…'.")
        if not self.sets:
            raise InvalidParameter(
                "sets", [], "no table is named", "Write marginals([['sex', 'age_group'], ['region']])."
            )
        for columns in self.sets:
            once = list(dict.fromkeys(columns))
            if len(once) < len(columns):
                raise InvalidParameter("sets", list(columns), "must name each column once", f"Write {once}.")
        alike = [frozenset(names) for names in self.sets]
        for place, columns in enumerate(self.sets):
            if frozenset(columns) in alike[:place]:
                hint = "Leave it out; to make a table more accurate, give it more weight: weights=[2, 1]."
                raise InvalidParameter("sets", list(columns), "is named twice", hint)
        self.family  # noqa: B018 – sets that are no marginals are refused now
        if self.integers:
            if any(aggregate.kind != "count" for aggregate in self.aggregates):
                raise UnsupportedQuery("integers=True", "only counts are whole numbers", "Leave it out, or the sums.")
            try:
                self.family.whole_order  # noqa: B018 – marginals that form a ring are refused now
            except UnsupportedQuery:
                why = "they form a ring, and whole numbers that are not negative may not agree in all of them"
                which = f"marginals by {'; by '.join(map(name_of, self.sets))}"
                hint = "Leave one marginal out, name one with all columns of the ring, or leave out integers=True."
                raise UnsupportedQuery(which, why, hint) from None
        check_reads(self.plan)
        check_depth(self.plan)
        self.bounds  # noqa: B018 – columns that do not exist and missing bounds are told now
        checker.check(self)

    @cached_property
    def family(self) -> Family:
        """The marginals by the places of their columns."""
        places = {key.name: place for place, key in enumerate(self.grouping.keys)}
        sets = tuple(tuple(sorted(places[name] for name in names)) for names in self.sets)
        return Family(tuple(key.size for key in self.grouping.keys), sets)

    @cached_property
    def effective(self) -> Bounding:
        """Rows of a unit are limited over all cells; where every row is a unit, to one."""
        return Bounding() if is_each_row(self.plan) else self.bounding.by_rows()

    def digest(self) -> str:
        """A fingerprint of the question.

        >>> question = patients.marginals([["smoker", "region"]])
        >>> question.digest() == patients.marginals([["smoker", "region"]]).digest()
        True
        """
        more = repr((self.sets, self.weights, self.integers))
        return hashlib.sha256(f"marginals {Question.digest(self)} {more}".encode()).hexdigest()

    def explain(self) -> str:
        """What happens, step by step.

        >>> print(patients.marginals([["smoker", "region"], ["region"]]).explain())
        patients → marginals by smoker × region; by region → count(*) as count
        """
        what = ", ".join(f"{aggregate} as {aggregate.output}" for aggregate in self.aggregates)
        return f"{self.plan.explain()} → marginals by {'; by '.join(map(name_of, self.sets))} → {what}"

    def shape(self) -> dict[str, Any]:
        """The columns of each table, for those who show an answer."""
        return {"marginals": [list(names) for names in self.sets]}

    def saved_parts(self) -> dict[str, Any]:
        """The tables, their weights where these are not 1, and whether numbers are whole."""
        parts: dict[str, Any] = {"sets": [list(names) for names in self.sets]}
        if set(self.weights) != {Fraction(1)}:
            parts["weights"] = [exactly(weight) for weight in self.weights]
        return {"marginals": parts | ({"integers": True} if self.integers else {})}

    def remarks(self) -> tuple[str, ...]:
        """What a reader of a quote or an answer must know beside the rest.

        Returns:
            Sentences.
        """
        agree = "all marginals use the same rows, so tables agree in the sums that they share"
        rounded = (
            "the numbers were rounded so that they are whole, not negative and agree. An interval says where the exact "
            "number lies, and was not changed, so the number need not lie in its middle. Sums of cells have no interval"
        )
        return (agree, rounded) if self.integers else (agree,)

    # ------------------------------------------------------------------------------------------------------ money

    def budget(self, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
        """What was written down, checked."""
        self.context.releaser.refuse_step("marginals")
        return Question.budget(self, epsilon, delta, rho)

    def priced(self, spend: Budget) -> tuple[MarginalNoise, ...]:
        """Noise on every marginal of every statistic. Marginals share the loss by weight, and so do outputs.

        Args:
            spend: What the release may lose.

        Returns:
            The noise of each marginal.
        """
        shares = shares_of(self.bounds)
        weights = {
            (statistic, place): shares[statistic].weight * weight
            for statistic in self.statistics
            for place, weight in enumerate(self.weights)
        }

        def item(purpose: tuple[Statistic, int], size: Fraction, concentrated: bool) -> MarginalNoise:
            statistic, place = purpose
            served, unit = shares[statistic].outputs, self.context.unit
            return MarginalNoise(statistic, size, concentrated, self.effective, unit, served, self.sets[place])

        items = share_out(weights, spend, item)
        check(items, spend)
        return items

    @helpful
    def quote(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = 0.95,
    ) -> Quote:
        """What a release would cost, marginal by marginal, and how far a cell of each may be off; nothing is read.

        Args:
            epsilon: What to spend on all tables together, as ε.
            delta: With `epsilon`, allows Gaussian noise.
            rho: What to spend instead, in zero-concentrated differential privacy.
            confidence: The probability that a cell is within its expected error.

        Returns:
            The price, marginal by marginal, and the expected errors.

        Raises:
            InvalidParameter: If a number is out of range.
            InvalidCall: If the price is not said in exactly one way.

        >>> quote = patients.marginals([["smoker", "region"], ["region"]]).quote(epsilon=1)
        >>> [expected.output for expected in quote.expected]
        ['count by smoker × region', 'count by region']
        """
        spend, sure = self.budget(epsilon, delta, rho), float(checks.probability(confidence=confidence))
        warn_if_large(spend.stated, "this question")
        items = self.priced(spend)
        widths = Widths(self.family, items, sure)
        expected = [
            Expectation(f"{bound.output} by {name_of(names)}", bound.aggregate.error(bound, [width], None), "")
            for bound in self.bounds
            for names, width in zip(self.sets, widths.of(bound.statistics[0]), strict=True)
        ]
        return Quote(
            question=self.explain(),
            loss=spend.stated,
            lines=tuple(Line(item.label, item.privacy_loss(), serves=item.outputs) for item in items),
            expected=tuple(expected),
            confidence=sure,
            remaining=self.context.remaining(self.context.analyst),
            notes=self.context.releaser.notes(self, spend, items),
            datasets=tuple(self.context.datasets),
            counted=counted_rows(self),
        )

    @helpful
    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        confidence: Number = 0.95,
        analyst: str | None = None,
        key: str | None = None,
        entropy: Entropy = SYSTEM,
        progress: bool = True,
    ) -> Marginals:
        """The private tables, charged before any data is read: one charge for all of them.

        With a `key`, the same question asked again returns the stored tables and costs nothing.

        Args:
            epsilon: What to spend on all tables together, as ε.
            delta: With `epsilon`, allows Gaussian noise.
            rho: What to spend instead, in zero-concentrated differential privacy.
            confidence: The probability that an interval contains the exact number.
            analyst: Who asks, for allowances of single analysts.
            key: A name for this question. Asked again under it, also after Ctrl-C, it returns the stored tables or goes
                on with the first charge, and costs nothing.
            entropy: Where the noise comes from. Anything but the default is not private.
            progress: Whether to show a bar if it takes longer than a second.

        Returns:
            The tables.

        Raises:
            BudgetExceeded: If the ledger has less left than it costs.
            InvalidParameter: If a number is out of range.
            InvalidCall: If the price is not said in exactly one way.

        >>> tables = patients.marginals([["smoker", "region"], ["region"]]).release(epsilon=1)
        >>> sum(tables["smoker"]["count"]) == sum(tables["region"]["count"])
        True
        """
        answer = release(
            self,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            confidence=confidence,
            analyst=analyst,
            key=key,
            entropy=entropy,
            progress=progress,
        )
        items = self.priced(self.budget(epsilon, delta, rho))
        return Marginals(answer, self, Widths(self.family, items, answer.confidence))


def look_at_marginals(
    query: MarginalsQuestion, items: Sequence[MarginalNoise], confidence: float, session: Reading, entropy: Entropy
) -> tuple[Column, ...]:
    """Read the rows once, add noise to every marginal, and make tables that agree."""
    fetched = totals_of(query, session, entropy)
    widths, tables = Widths(query.family, items, confidence), dict[Statistic, list[Any]]()
    for place, statistic in enumerate(query.statistics, start=1):
        exact = sums_of(query.family, [(int(row[0]), int(row[place])) for row in fetched])
        noise = [item for item in items if item.statistic == statistic]
        noisy = [item.release(numbers, entropy) for item, numbers in zip(noise, exact, strict=True)]
        tables[statistic] = query.family.reconciled(noisy, widths.spreads(statistic))
    return _columns(query, tables, widths)


def sums_of(family: Family, counted: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The exact sums of every marginal, from the cells of all columns together that occur: secret."""
    import numpy as np

    numbers = [number for _, number in counted]
    small = sum(map(abs, numbers)) < _INTEGERS
    values = np.array(numbers, dtype=np.int64 if small else object)
    places = np.unravel_index(np.array([place for place, _ in counted], dtype=np.int64), family.sizes)
    tables = []
    for columns in family.sets:
        flat = np.zeros(len(counted), dtype=np.int64)
        for column in columns:
            flat = flat * family.sizes[column] + places[column]
        sums = np.zeros(family.cells(columns), dtype=values.dtype)
        np.add.at(sums, flat, values)
        tables.append([int(number) for number in sums])
    return tables


def _columns(query: MarginalsQuestion, tables: Mapping[Statistic, list[Any]], widths: Widths) -> tuple[Column, ...]:
    """All marginals one below the other; a column that a marginal has not is NULL there."""
    family, keys = query.family, query.grouping.keys
    labels = [
        name_of(names)
        for names, places in zip(query.sets, family.sets, strict=True)
        for _ in range(family.cells(places))
    ]
    columns = [Column(MARGINAL, "key", tuple(labels), type="text", note="the table to which this line belongs")]
    for place, key in enumerate(keys):
        values: list[Any] = []
        for places in family.sets:
            shown = key.shown()
            after = family.cells(tuple(other for other in places if other > place))
            repeats = family.cells(places) // len(shown) if place in places else family.cells(places)
            cells = [value for value in shown for _ in range(after)] * (repeats // after) if place in places else []
            values += cells or [None] * repeats
        text = key.labels is not None or key.everything_else
        columns.append(Column(key.name, "key", tuple(values), type="text" if text else key.expression.kind))
    for bound in query.bounds:
        [statistic] = bound.statistics
        shown = family.whole_numbers(tables[statistic]) if query.integers else tables[statistic]
        columns.append(_output(query, bound, list(zip(tables[statistic], shown, widths.of(statistic), strict=True))))
    return tuple(columns)


def _output(query: MarginalsQuestion, bound: Any, tables: Sequence[tuple[Any, Any, float]]) -> Column:
    """The values of one output in all marginals, with their intervals."""
    values, spans = [], []
    for near, shown, width in tables:
        for estimate, value in zip(near.reshape(-1).tolist(), shown.reshape(-1).tolist(), strict=True):
            value, span = _estimate(bound, estimate, value, width)
            values.append(value)
            spans.append(span)
    return Column(
        bound.output, bound.aggregate.kind, tuple(values), tuple(spans), None, bound.note,
        clipped=bool(bound.grids), type="integer" if query.integers else "number",
    )  # fmt: skip


def _estimate(bound: Any, near: float, value: float, width: float) -> tuple[float, tuple[float, float]]:
    """What is shown, and where the exact number lies."""
    if bound.grids and bound.aggregate.kind == "sum":
        total = estimates.summed(near, width, bound.grids[0])  # type: ignore[arg-type]
        return total.value, total.noise
    if isinstance(value, int):  # the exact number is whole and not negative, too
        low, high = float(max(0, math.ceil(near - width))), float(max(0, math.floor(near + width)))
        return value, (min(low, value), max(high, value))
    return value, estimates.counted(near, width).noise  # type: ignore[arg-type]


def weights_of(sets: Sequence[tuple[str, ...]], weights: Sequence[Number] | None) -> tuple[Fraction, ...]:
    """The part of the loss of each marginal beside the others; equal ones if nobody says."""
    if weights is None:
        return (Fraction(1),) * len(sets)
    given = tuple(checks.numbers(weights, checks.positive, weights=weights))
    if len(given) != len(sets):
        why = f"must be a number for each of the {len(sets)} marginals" if len(sets) > 1 else "there is one marginal"
        raise InvalidParameter("weights", list(weights), why, "Write one weight for each marginal, in their order.")
    return given


def columns_of_sets(sets: Sequence[Sequence[str] | str], computed: Mapping[str, str]) -> list[str]:
    """The columns that sets name, in order, without those that are computed, all of which must be named."""
    if isinstance(sets, str) or not isinstance(sets, Sequence):
        hint = "Write marginals([['sex', 'age_group'], ['age_group', 'region']])."
        raise InvalidParameter("sets", sets, "must be a list of lists of columns", hint)
    listed = dict.fromkeys(name for names in sets for name in ([names] if isinstance(names, str) else names))
    for name in computed:
        if name not in listed:
            hint = "Name it in one, or leave it out."
            raise InvalidParameter("computed", name, "is in none of the marginals", hint)
    return [name for name in listed if name not in computed]


def marginals(
    table: Any,
    sets: Sequence[Sequence[str] | str],
    aggregates: tuple[Aggregate, ...],
    grouping: Any,
    *,
    weights: Sequence[Number] | None,
    integers: bool,
) -> MarginalsQuestion:
    """The question for these sets of columns, about an opened table."""
    checks.true_or_false(integers=integers)
    names = tuple((given,) if isinstance(given, str) else tuple(given) for given in sets)
    return MarginalsQuestion(
        table.context, table.plan, grouping, aggregates, table.bounding,
        sets=names, weights=weights_of(names, weights), integers=integers,
    )  # fmt: skip
