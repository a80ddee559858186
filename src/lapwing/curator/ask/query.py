"""A question, ready to be priced and asked: rows, groups, aggregates, and how much of one unit counts.

    quote → charge (durable) → look → noise → record (durable) → show

Everything up to the charge is computed from the question alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lapwing import checks
from lapwing.calls import helpful
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, Alone, Bound, TopK, bind_all
from lapwing.curator.ask import documents, saved, typed
from lapwing.curator.ask.context import Context
from lapwing.curator.ask.pricing import Budget, Item, budget, price, price_top
from lapwing.curator.ask.quote import Accuracy, quote
from lapwing.curator.ask.release import release
from lapwing.curator.plan.carried import narrowed
from lapwing.curator.plan.expressions import Column, Expression, Kind, columns_of
from lapwing.curator.plan.gridded import Gridded
from lapwing.curator.plan.groups import Grouping
from lapwing.curator.plan.nodes import Plan, check_depth, is_each_row
from lapwing.curator.plan.room import check_reads
from lapwing.curator.plan.statistics import Bounding, Statistic
from lapwing.curator.show import digits
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.mechanisms import epsilon_for
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import PureDP
from lapwing.privacy.large import warn_if_large

if TYPE_CHECKING:
    from lapwing.curator.ask.quote import Quote
    from lapwing.curator.show.answer import Answer
    from lapwing.curator.tables.table import PrivateTable


@dataclass(frozen=True)
class Post:
    """What is done with the answer afterwards, at no cost: columns, HAVING, ORDER BY, LIMIT."""

    outputs: tuple[tuple[str, Expression], ...] | None = None
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    """What to sort by, and whether the largest come first."""
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True)
class Query:
    """A question about groups of rows.

    Privacy: add_remove of one unit. Proof: curator.md
    """

    context: Context = field(compare=False, repr=False)
    plan: Plan
    grouping: Grouping
    aggregates: tuple[Aggregate, ...]
    bounding: Bounding = field(default_factory=Bounding)
    post: Post = field(default_factory=Post)
    text: str | None = None
    """The SQL it was written in, if it was."""

    def __repr__(self) -> str:
        return f"<Query {self.explain()}>"

    def __post_init__(self) -> None:
        if not self.aggregates:
            raise UnsupportedQuery("agg()", "nothing is asked", "Write .agg(lw.count()), for example.")
        check_reads(self.plan)
        check_depth(self.plan)
        names = [key.name for key in self.grouping.keys] + [one.output for one in self.aggregates]
        double = [name for name in names if names.count(name) > 1]
        if double:
            raise UnsupportedQuery(
                double[0], "two columns of the answer have this name", "Write name='…' for one of them."
            )
        if self.top is None:
            self.bounds  # noqa: B018 – columns that do not exist and missing bounds are told now
        typed.check(self)

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The aggregates with the integers they need."""
        return () if self.top is not None else bind_all(self.aggregates, self.plan.by_name)

    @property
    def connection(self) -> Any:
        """The DuckDB connection that was given to read its tables, if any."""
        return self.context.connection

    @property
    def top(self) -> TopK | None:
        """The question for the most frequent keys, which is asked alone."""
        first = self.aggregates[0]
        return first if isinstance(first, TopK) else None

    @cached_property
    def effective(self) -> Bounding:
        """What one unit can change: where every row is a unit, or there are few groups, less than was asked for."""
        if is_each_row(self.plan):
            return Bounding()
        if not self.grouping.keys:
            return self.bounding.without_groups()
        fair = self.bounding.by_rows()
        return fair if self.grouping.secret else fair.among(self.grouping.size)

    @cached_property
    def statistics(self) -> tuple[Statistic, ...]:
        """The integers to fetch for each group."""
        wanted = [statistic for bound in self.bounds for statistic in bound.statistics]
        if self.grouping.secret or self.top is not None:
            wanted.append(Statistic("units"))
        return tuple(dict.fromkeys(wanted))

    @cached_property
    def contents(self) -> tuple[tuple[Gridded, ...], tuple[Expression, ...]]:
        """What is needed of each row: numbers on their grids, and expressions whose different values are counted."""
        grids = [grid for statistic in self.statistics for grid in statistic.arguments]
        grids += [grid for bound in self.bounds if bound.pick is not None for grid in bound.grids]
        others = [statistic.of for statistic in self.statistics if statistic.of is not None]
        return tuple(dict.fromkeys(grids)), tuple(dict.fromkeys(others))

    @cached_property
    def narrow(self) -> Any:
        """The plan without what the question does not read."""
        values, others = self.contents
        read = [*others, *(value.expression for value in values), *(key.expression for key in self.grouping.keys)]
        return narrowed(self.plan, set().union(*map(columns_of, read)))

    def output_columns(self) -> dict[str, Column]:
        """The columns of the answer, for HAVING and ORDER BY."""
        columns = {}
        for key in self.grouping.keys:
            shown: Kind = "text" if key.labels or key.everything_else else key.expression.kind or "text"
            columns[key.name] = Column(key.name, shown)
        for one in self.aggregates:
            columns[one.output] = Column(one.output, "integer" if one.whole else "number")
        return columns

    def bounded(self, **bounds: int) -> Query:
        """The same with other bounds on what counts of one unit: max_groups_per_unit and max_rows_per_group, or
        max_rows_per_unit."""
        return replace(self, bounding=bounding_of(bounds))

    def digest(self) -> str:
        """A fingerprint of the question."""
        return hashlib.sha256(
            repr((self.plan, self.grouping, self.aggregates, self.effective, self.post)).encode()
        ).hexdigest()

    def explain(self) -> str:
        """What happens, step by step."""
        steps = [self.plan.explain()]
        if self.grouping.keys:
            steps.append("group by " + ", ".join(key.name for key in self.grouping.keys))
        steps.append(", ".join(f"{one} as {one.output}" for one in self.aggregates))
        return " → ".join(steps)

    def to_yaml(self) -> str:
        """The question as YAML, to be kept and asked again: `Query.from_yaml(text, table)`."""
        return f"# {digits.visible(self.explain())}\n{documents.write_yaml(saved.written(self))}"

    def to_json(self) -> str:
        """The question as JSON."""
        return documents.write_json(saved.written(self))

    @staticmethod
    def from_yaml(text: str, table: PrivateTable, tables: Any = ()) -> Query:
        """The question that was saved, about this table and whatever other tables it names."""
        return table.reread(documents.read_yaml(text), tables)

    @staticmethod
    def from_json(text: str, table: PrivateTable, tables: Any = ()) -> Query:
        """The question that was saved, about this table and whatever other tables it names."""
        return table.reread(documents.read_json(text), tables)

    def items(self, spend: Budget) -> tuple[Item, ...]:
        """What a release consists of."""
        if self.top is not None:
            outputs, candidates = (self.top.output,), self.grouping.size
            return price_top(self.top.most, spend, candidates=candidates, unit=self.context.unit, outputs=outputs)
        return price(self.bounds, spend, self.effective, unit=self.context.unit, secret_keys=self.grouping.secret)

    def budget(self, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
        """What was written down, checked."""
        secret = [key.name for key in self.grouping.keys if key.values is None and self.top is None]
        if secret and delta is None and (epsilon is None) != (rho is None):
            why = f"which values of {' and '.join(secret)} occur is a secret, and showing some of them needs a delta"
            declared = ", ".join(f"{name!r}: […]" for name in secret)
            hint = f"Name them all, keys={{{declared}}}, or write delta=1e-6 (far below one over the number of people)."
            raise InvalidParameter("delta", None, why, hint)
        spend = budget(epsilon=epsilon, delta=delta, rho=rho, secret_keys=bool(secret), unit=self.context.unit)
        people = self.context.population
        chance = getattr(spend.stated, "delta", Fraction(0))
        if people is not None and chance * people >= 1:
            why = f"with {people} units or more, it allows to publish one of them"
            raise InvalidParameter("delta", delta, why, f"Write delta={1 / (100 * people):.0e} or less.")
        if spend.noise_delta and not any(item.concentrated for item in self.items(spend)):
            return replace(
                spend, stated=PureDP(spend.size, unit=self.context.unit)
            )  # no delta is lost, so none is paid
        return spend

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
            epsilon = self._solve(within, confidence, count, epsilon=epsilon, delta=delta, rho=rho)
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
        if key is not None and self.context.ledger is None:
            why = "answers are kept in a ledger, and without one every answer has fresh noise"
            raise InvalidParameter("key", key, why, "Open the table with ledger='ledger.db', or leave it out.")
        if within is not None:
            epsilon = self._solve(within, confidence, count, epsilon=epsilon, delta=delta, rho=rho)
        sure = float(checks.probability(confidence=confidence))
        checks.probability(confidence=sure)  # as a double, too: nothing may be found out after the charge
        spend = self.budget(epsilon, delta, rho)
        warn_if_large(spend.stated, "this question")
        who = analyst or self.context.analyst
        return release(self, spend, sure, analyst=who, key=key, entropy=entropy, progress=progress)

    def _solve(
        self,
        within: Number | Mapping[str, Number],
        confidence: Number,
        count: int | None,
        *,
        epsilon: Number | None,
        delta: Number | None,
        rho: Number | None,
    ) -> float:
        if epsilon is not None or rho is not None:
            raise InvalidParameter("within", within, "and a budget at once say the same thing twice", "Leave one out.")
        if not isinstance(within, Mapping):
            within = {one.output: within for one in self.aggregates}
        targets = {name: checks.positive(within=value) for name, value in within.items()}
        unknown = [name for name in targets if name not in {one.output for one in self.aggregates}]
        if unknown:
            raise InvalidParameter("within", unknown[0], "is not a column of the answer", "Name one of the outputs.")

        def at(size: float) -> Accuracy:
            return Accuracy(self, self.items(self.budget(size, delta, None)), targets, count)

        return epsilon_for(at, within=1, confidence=float(confidence))


def ask(
    context: Context, plan: Plan, grouping: Grouping, aggregates: tuple[Aggregate, ...], bounding: Bounding
) -> Query:
    """The question for these aggregates; what makes rows of its own is asked alone, in other words."""
    for one in aggregates:
        if isinstance(one, Alone):
            if len(aggregates) > 1:
                why = "it makes rows of its own"
                raise UnsupportedQuery(str(one), why, "Ask it in a query of its own.")
            found = one.arrange(grouping, plan.by_name)
            post, instead = Post(), found.aggregate
            if found.shown is not None:
                post = Post(order=((Column(instead.output, "integer"), True),), limit=found.shown)
            return Query(context, plan, found.grouping, (instead,), bounding, post)
    return Query(context, plan, grouping, aggregates, bounding)


def bounding_of(given: Mapping[str, Any]) -> Bounding:
    """Bounds on what counts of one unit, from keywords."""
    known = ("max_groups_per_unit", "max_rows_per_group", "max_rows_per_unit")
    for name in given:
        checks.one_of(known, bound=name)
    return Bounding(**{name: value for name, value in given.items() if value is not None})


def named(aggregates: Sequence[Aggregate], called: Mapping[str, Aggregate] | None = None) -> tuple[Aggregate, ...]:
    """Aggregates as they were given, some by a name; anything else is told what to write."""
    by_name = called or {}
    for one in (*aggregates, *by_name.values()):
        if not isinstance(one, Aggregate):
            raise InvalidParameter("agg", one, "is not an aggregate", "Write .agg(lw.count(), lw.mean('age')).")
    return (*aggregates, *(one.named(name) for name, one in by_name.items()))
