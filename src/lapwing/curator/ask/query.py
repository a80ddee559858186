"""A question, ready to be priced and asked: rows, groups, aggregates, and how much of one unit counts.

    quote → charge (durable) → look → noise → record (durable) → show

Everything up to the charge is computed from the question alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lapwing.calls import instead_of
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, Alone
from lapwing.curator.ask import checker, documents
from lapwing.curator.ask.context import Context
from lapwing.curator.ask.question import Post, Question, bounding_of
from lapwing.curator.ask.quote import Quote, epsilon_within, quote
from lapwing.curator.ask.release import SMALL_GROUPS, release
from lapwing.curator.ask.rollup_checks import check_rollup
from lapwing.curator.ask.room import check_reads
from lapwing.curator.ask.unprotected import Unprotected, unprotected
from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.groups import Grouping
from lapwing.curator.plan.nodes import Plan, check_depth
from lapwing.curator.plan.rollups import Rollup
from lapwing.curator.plan.statistics import Bounding
from lapwing.errors import InvalidParameter, UnsupportedQuery, withheld
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.weak_privacy import warn_if_large

if TYPE_CHECKING:
    from lapwing.curator.ask.marginals import MarginalsQuestion
    from lapwing.curator.show.answer import Answer
    from lapwing.curator.tables.table import PrivateTable


@dataclass(frozen=True, repr=False)
class Query(Question):
    """A question about groups of rows, ready to be quoted and released. `PrivateTable.agg` makes one.

    Privacy: what the releaser of its tables states; of tables of `lw.open`, add_remove of one unit. Proof: curator.md

    Raises:
        UnsupportedQuery: If there is no aggregate, a column does not exist or has the wrong type, two columns of the
            answer have the same name, or the aggregates cannot be asked together.
        MissingBounds: If a column that is summed or averaged has no bounds.

    >>> question = patients.group_by("region").agg(lw.count(), lw.mean("age"))
    >>> len(question.release(epsilon=1).table)
    6
    """

    def __repr__(self) -> str:
        return f"<Query {self.explain()}>"

    def __post_init__(self) -> None:
        if not self.aggregates:
            raise UnsupportedQuery("agg()", "nothing is asked", "Write .agg(lw.count()), for example.")
        check_reads(self.plan)
        check_depth(self.plan)
        names = [*self.labels, *(aggregate.output for aggregate in self.aggregates)]
        double = [name for name in names if names.count(name) > 1]
        if double:
            raise UnsupportedQuery(
                double[0], "two columns of the answer have this name", "Write name='…' for one of them."
            )
        if self.top is None:
            self.bounds  # noqa: B018 – columns that do not exist and missing bounds are told now
        if self.rollup is not None:
            check_rollup(self)
        checker.check(self)

    def bounded(self, **bounds: int) -> Query:
        """The same question with other bounds on what counts of one unit (contribution bounding).

        Args:
            bounds: `max_groups_per_unit` and `max_rows_per_group` (1 each, unless you say otherwise), or
                `max_rows_per_unit` for all groups together.

        Returns:
            The question with these bounds.

        Raises:
            InvalidParameter: If there is no such limit, or it is not a whole number of at least 1.

        >>> question = patients.agg(lw.count()).bounded(max_rows_per_unit=2)
        """
        return replace(self, bounding=bounding_of(bounds))

    @staticmethod
    def from_yaml(text: str, table: PrivateTable, tables: Any = ()) -> Query | MarginalsQuestion:
        """The question that `to_yaml` saved.

        Args:
            text: The YAML.
            table: The private table to ask.
            tables: Further tables that the question names.

        Returns:
            The question, to be quoted and released.

        Raises:
            InvalidParameter: If the text cannot be read or is no question, or names a field that a question does not
                have.
            UnsupportedQuery: If the question does not fit the tables.

        >>> lw.Query.from_yaml(patients.agg(lw.count()).to_yaml(), patients) == patients.agg(lw.count())
        True
        """
        return table.reread(documents.read_yaml(text), tables)

    @staticmethod
    def from_json(text: str, table: PrivateTable, tables: Any = ()) -> Query | MarginalsQuestion:
        """The question that `to_json` saved.

        Args:
            text: The JSON.
            table: The private table to ask.
            tables: Further tables that the question names.

        Returns:
            The question, to be quoted and released.

        Raises:
            InvalidParameter: If the text cannot be read or is no question, or names a field that a question does not
                have.
            UnsupportedQuery: If the question does not fit the tables.

        >>> lw.Query.from_json(patients.agg(lw.count()).to_json(), patients) == patients.agg(lw.count())
        True
        """
        return table.reread(documents.read_json(text), tables)

    @instead_of(**SMALL_GROUPS)
    def quote(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        count: int | None = None,
    ) -> Quote:
        """What a release would cost, item by item, and how accurate it would be; nothing is spent or read.

        Args:
            epsilon: What to spend, as ε.
            delta: With `epsilon`, allows Gaussian noise and secret keys.
            rho: What to spend instead, in zero-concentrated differential privacy.
            within: The largest error that every output may have, instead of a price.
            confidence: The probability that an interval contains the exact answer.
            count: At least so many rows in every group, as a public fact. Means have an expected error only with it.

        Returns:
            The price, item by item, and the expected errors.

        Raises:
            InvalidParameter: If a number is out of range.
            InvalidCall: If the price is not said in exactly one way.

        >>> quote = patients.agg(lw.count()).quote(epsilon=0.5)
        >>> print(quote.loss, quote.expected[0].output)
        ε = 0.5 (add_remove, per patient) count
        """
        if within is not None:
            epsilon = epsilon_within(self, within, confidence, count, epsilon=epsilon, delta=delta, rho=rho)
        spend = self.budget(epsilon, delta, rho)
        warn_if_large(spend.stated, "this question")
        return quote(self, spend, confidence, count)

    @instead_of(**SMALL_GROUPS)
    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        within: Number | Mapping[str, Number] | None = None,
        confidence: Number = 0.95,
        count: int | None = None,
        analyst: str | None = None,
        key: str | None = None,
        entropy: Entropy = SYSTEM,
        progress: bool = True,
    ) -> Answer:
        """The private answer, charged before any data is read.

        Say what to spend (`epsilon`, `epsilon` and `delta`, or `rho`), or how accurate every output must be (`within`):
        then the smallest epsilon that will do is spent.

        Args:
            epsilon: What to spend, as ε.
            delta: With `epsilon`, allows Gaussian noise and secret keys.
            rho: What to spend instead, in zero-concentrated differential privacy.
            within: The largest error that every output may have, instead of a price.
            confidence: The probability that an interval contains the exact answer.
            count: At least so many rows in every group, as a public fact. `within` needs it for means; without
                `within` it is refused, since it hides no group.
            analyst: Who asks, for allowances of single analysts.
            key: A name for this question. Asked again under it, also after Ctrl-C, it returns the stored answer or goes
                on with the first charge, and costs nothing.
            entropy: Where the noise comes from. Anything but the default is not private.
            progress: Whether to show a bar if it takes longer than a second.

        Returns:
            Values with intervals, what they cost, and what remains.

        Raises:
            BudgetExceeded: If the ledger has less left than it costs.
            InvalidParameter: If a number is out of range.
            InvalidCall: If the price is not said in exactly one way.

        >>> answer = patients.agg(lw.count()).release(epsilon=0.5)
        >>> print(answer.loss)
        ε = 0.5 (add_remove, per patient)
        """
        return release(
            self,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            within=within,
            confidence=confidence,
            count=count,
            analyst=analyst,
            key=key,
            entropy=entropy,
            progress=progress,
        )

    def unprotected(self, *, progress: bool = True) -> Unprotected:
        """The answer without noise. Not private: for the owner of the rows only, to teach and to compare.

        The rows that count, clamped to their bounds: what noisy answers lie around. Nothing is charged. A table with a
        ledger, or opened for an analyst, refuses it. Of secret keys it shows those of two units or more.

        Args:
            progress: Whether to show a bar if it takes longer than a second.

        Returns:
            The exact values.

        >>> patients.agg(lw.count()).unprotected()["count"]
        (3000,)
        """
        return unprotected(self, progress=progress)


def ask(
    context: Context,
    plan: Plan,
    grouping: Grouping,
    aggregates: tuple[Aggregate, ...],
    bounding: Bounding,
    rollup: Rollup | None = None,
) -> Query:
    """The question for these aggregates; what makes rows of its own is asked alone, in other words."""
    for aggregate in aggregates:
        if isinstance(aggregate, Alone):
            if rollup is not None:
                raise UnsupportedQuery(str(aggregate), "it makes rows of its own", "Roll up lw.count(), for example.")
            if len(aggregates) > 1:
                why = "it makes rows of its own"
                raise UnsupportedQuery(str(aggregate), why, "Ask it in a query of its own.")
            arrangement = aggregate.arrange(grouping, plan.by_name)
            post, instead = Post(), arrangement.aggregate
            if arrangement.shown is not None:
                post = Post(order=((Column(instead.output, "integer"), True),), limit=arrangement.shown)
            return Query(context, plan, arrangement.grouping, (instead,), bounding, post)
    return Query(context, plan, grouping, aggregates, bounding, rollup=rollup)


def named(aggregates: Sequence[Aggregate], called: Mapping[str, Aggregate] | None = None) -> tuple[Aggregate, ...]:
    """Aggregates as they were given, some by a name; anything else is told what to write."""
    by_name = called or {}
    with withheld("has an entry that is not an aggregate", _AGG, agg=list(aggregates)):
        for aggregate in (*aggregates, *by_name.values()):
            if not isinstance(aggregate, Aggregate):
                raise InvalidParameter("agg", aggregate, "is not an aggregate", _AGG)
    return (*aggregates, *(aggregate.named(name) for name, aggregate in by_name.items()))


_AGG = "Write .agg(lw.count(), lw.mean('age'))."
