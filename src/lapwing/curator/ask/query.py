"""A question, ready to be priced and asked: rows, groups, aggregates, and how much of one unit counts.

    quote → charge (durable) → look → noise → record (durable) → show

Everything up to the charge is computed from the question alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, Alone
from lapwing.curator.ask import checker, documents, writer
from lapwing.curator.ask.context import Context
from lapwing.curator.ask.question import Post, Question, bounding_of
from lapwing.curator.ask.quote import Quote, epsilon_within, quote
from lapwing.curator.ask.release import release
from lapwing.curator.ask.rollup_checks import check_rollup
from lapwing.curator.ask.room import check_reads
from lapwing.curator.ask.unprotected import Unprotected, unprotected
from lapwing.curator.plan.expressions import Column
from lapwing.curator.plan.groups import Grouping
from lapwing.curator.plan.nodes import Plan, check_depth
from lapwing.curator.plan.rollups import Rollup
from lapwing.curator.plan.statistics import Bounding
from lapwing.curator.show import digits
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.weak_privacy import warn_if_large

if TYPE_CHECKING:
    from lapwing.curator.show.answer import Answer
    from lapwing.curator.tables.table import PrivateTable


@dataclass(frozen=True, repr=False)
class Query(Question):
    """A question about groups of rows.

    Privacy: what the releaser of its tables states; of tables of `lw.open`, add_remove of one unit. Proof: curator.md
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
        """The same with other bounds on what counts of one unit: max_groups_per_unit and max_rows_per_group, or
        max_rows_per_unit."""
        return replace(self, bounding=bounding_of(bounds))

    def to_yaml(self) -> str:
        """The question as YAML, to be kept and asked again: `Query.from_yaml(text, table)`."""
        return f"# {digits.visible(self.explain())}\n{documents.write_yaml(writer.written(self))}"

    def to_json(self) -> str:
        """The question as JSON."""
        return documents.write_json(writer.written(self))

    @staticmethod
    def from_yaml(text: str, table: PrivateTable, tables: Any = ()) -> Query:
        """The question that was saved, about this table and whatever other tables it names."""
        return table.reread(documents.read_yaml(text), tables)

    @staticmethod
    def from_json(text: str, table: PrivateTable, tables: Any = ()) -> Query:
        """The question that was saved, about this table and whatever other tables it names."""
        return table.reread(documents.read_json(text), tables)

    @helpful
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

        `count` is a public fact: every group has at least so many rows. Means have an error only with it.
        """
        if within is not None:
            epsilon = epsilon_within(self, within, confidence, count, epsilon=epsilon, delta=delta, rho=rho)
        spend = self.budget(epsilon, delta, rho)
        warn_if_large(spend.stated, "this question")
        return quote(self, spend, confidence, count)

    @helpful
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

        Say what to spend (`epsilon`, `epsilon` and `delta`, or `rho`), or how accurate every output must be (`within`,
        at this `confidence`): then the smallest epsilon that will do is spent. With a `key`, the same question asked
        again returns the stored answer and costs nothing; after Ctrl-C, too, when the charge stays. `progress` shows a
        bar on a terminal or in a notebook if it takes longer than a second.
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
    for aggregate in (*aggregates, *by_name.values()):
        if not isinstance(aggregate, Aggregate):
            raise InvalidParameter("agg", aggregate, "is not an aggregate", "Write .agg(lw.count(), lw.mean('age')).")
    return (*aggregates, *(aggregate.named(name) for name, aggregate in by_name.items()))
