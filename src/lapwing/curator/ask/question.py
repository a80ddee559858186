"""A question as a value: rows of a plan, groups, aggregates, and what follows from these before anything is read."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lapwing import checks
from lapwing.checks import Number
from lapwing.curator.aggregates import Aggregate, Bound, QueryFacts, TopK
from lapwing.curator.ask import documents, writer
from lapwing.curator.ask.context import Context
from lapwing.curator.ask.pricing import Budget, ReleaseItem
from lapwing.curator.plan.expressions import Call, Column, Expression, Kind, columns_of
from lapwing.curator.plan.grids import GridExpression
from lapwing.curator.plan.groups import Grouping
from lapwing.curator.plan.narrowing import narrowed
from lapwing.curator.plan.nodes import Plan, is_each_row
from lapwing.curator.plan.rollups import Nodes, Rollup, public_nodes
from lapwing.curator.plan.statistics import Bounding, Statistic
from lapwing.curator.show import digits


@dataclass(frozen=True)
class Post:
    """What is done with the answer afterwards, at no cost: columns, HAVING, ORDER BY, LIMIT."""

    outputs: tuple[tuple[str, Expression], ...] | None = None
    having: Expression | None = None
    order: tuple[tuple[Expression, bool], ...] = ()
    """What to sort by, and whether the largest come first."""
    limit: int | None = None
    offset: int = 0

    @property
    def cuts(self) -> bool:
        """Whether it may leave rows out."""
        return self.having is not None or self.limit is not None or self.offset > 0

    def names_of(self, column: str) -> list[str]:
        """What a column that was released is called in the answer; nothing if it is not shown as it was released."""
        if self.outputs is None:
            return [column]
        return [name for name, expression in self.outputs if getattr(expression, "name", None) == column]

    def chosen_by(self, outputs: Collection[str]) -> list[str]:
        """Those of the noisy outputs that decide which groups are shown."""
        deciding = [] if self.having is None else [self.having]
        if self.limit is not None or self.offset:
            deciding += [expression for expression, _ in self.order]
        read = set[str]().union(*map(columns_of, deciding))
        return [output for output in outputs if output in read]

    def words(self) -> Iterator[str]:
        """What HAVING, ORDER BY and LIMIT do to an answer."""
        if self.having is not None:
            having = str(self.having)
            yield f"having {having[1:-1] if having.startswith('(') else having}"
        if self.order:
            by = [
                f"{key}, largest first" if descending else f"{key}"
                for key, descending in self.order
                if not isinstance(key, Call)  # of a key that may be NULL, whether it is
            ]
            yield f"order by {', '.join(by) or 'a computed value'}"
        if self.limit is not None:
            before = f", after the first {self.offset:,}" if self.offset else ""
            yield f"limit {self.limit:,}{before}"


@dataclass(frozen=True, repr=False)
class Question:
    """What is asked, and the facts that it decides: integers to fetch, what one unit can change, what it costs.

    Attributes:
        context: Where the rows are, whom they are about, and which ledger is charged.
        plan: Which rows and columns are asked about.
        grouping: The keys to group by.
        aggregates: What is asked about each group.
        bounding: How many groups and rows of one unit count.
        post: What is done with the answer afterwards, at no cost: HAVING, ORDER BY, LIMIT.
    """

    context: Context = field(compare=False, repr=False)
    plan: Plan
    grouping: Grouping
    aggregates: tuple[Aggregate, ...]
    bounding: Bounding = field(default_factory=Bounding)
    post: Post = field(default_factory=Post)
    text: str | None = None
    """The SQL it was written in, if it was."""
    rollup: Rollup | None = None
    """How its groups are put together into levels, if they are."""

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """The aggregates with the integers they need; those that can share one do."""
        if self.top is not None:
            return ()
        columns = self.plan.by_name
        squared = frozenset(
            key for aggregate in self.aggregates if aggregate.squares for key in aggregate.keys(columns)
        )
        averaged = frozenset(
            key for aggregate in self.aggregates if aggregate.averages for key in aggregate.keys(columns)
        )
        shared = QueryFacts(columns, squared, averaged - squared)
        return tuple(aggregate.bind(shared) for aggregate in self.aggregates)

    @property
    def asked(self) -> tuple[Aggregate, ...]:
        """The aggregates as somebody wrote them: some are asked in other words."""
        return self.aggregates

    def saved_parts(self) -> dict[str, Any]:
        """What a saved question must say beside rows, groups and aggregates.

        Returns:
            The further parts, as plain data.
        """
        return {}

    def to_yaml(self) -> str:
        """The question as YAML, to be kept and asked again: `Query.from_yaml(text, table)`.

        Returns:
            The text.

        >>> question = patients.agg(lw.count())
        >>> lw.Query.from_yaml(question.to_yaml(), patients) == question
        True
        """
        return f"# {digits.visible(self.explain())}\n{documents.write_yaml(writer.written(self))}"

    def to_json(self) -> str:
        """The question as JSON, to be kept and asked again: `Query.from_json(text, table)`.

        Returns:
            The text.

        >>> question = patients.agg(lw.count())
        >>> lw.Query.from_json(question.to_json(), patients) == question
        True
        """
        return documents.write_json(writer.written(self))

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

    @property
    def labels(self) -> list[str]:
        """The columns of the answer that name its rows."""
        if self.rollup is None:
            return [key.name for key in self.grouping.keys]
        return [*([self.rollup.level_column] if self.rollup.level_column else []), *self.rollup.names]

    @cached_property
    def nodes(self) -> tuple[Nodes, list[int]]:
        """The public tree of a rollup, and the number of the group that each leaf is."""
        assert self.rollup is not None
        return public_nodes(self.rollup, self.grouping)

    @cached_property
    def contents(self) -> tuple[tuple[GridExpression, ...], tuple[Expression, ...]]:
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

    def shape(self) -> dict[str, Any]:
        """What those who show an answer must know about its rows.

        Returns:
            Plain data, which an answer keeps with its provenance.
        """
        if self.rollup is None:
            return {}
        secret = [key.name for key in self.grouping.keys if key.values is None]
        shape = {"levels": list(self.rollup.levels), "keys": list(self.rollup.names)}
        return {"rollup": shape | ({"secret": secret} if secret else {})}

    def output_columns(self) -> dict[str, Column]:
        """The columns of the answer, for HAVING and ORDER BY.

        Returns:
            The columns by name.
        """
        columns = {}
        if self.rollup is not None and self.rollup.level_column is not None:
            columns[self.rollup.level_column] = Column(self.rollup.level_column, "text")
        if self.rollup is not None and self.rollup.paths is not None:
            columns |= {name: Column(name, "text") for name in self.rollup.names}
        for key in self.grouping.keys if self.rollup is None or self.rollup.paths is None else ():
            shown: Kind = "text" if key.labels or key.everything_else else key.expression.kind or "text"
            columns[key.name] = Column(key.name, shown)
        for aggregate in self.aggregates:
            columns[aggregate.output] = Column(aggregate.output, "integer" if aggregate.whole else "number")
        return columns

    def digest(self) -> str:
        """A fingerprint of the question.

        Returns:
            64 hexadecimal digits. Questions that ask the same have the same.

        >>> patients.agg(lw.count()).digest() == patients.agg(lw.count()).digest()
        True
        """
        parts: tuple[Any, ...] = (self.plan, self.grouping, self.aggregates, self.effective, self.post)
        parts += () if self.rollup is None else (self.rollup,)
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def explain(self) -> str:
        """What happens, step by step.

        Returns:
            One line of text.

        >>> print(patients.where("age >= 18").group_by("smoker").agg(lw.count()).explain())
        patients → where (age >= 18) → group by smoker → count(*) as count
        """
        steps = [self.plan.explain()]
        if self.grouping.keys:
            by = "group by " if self.rollup is None else "roll up by "
            names = [key.described for key in self.grouping.keys] if self.rollup is None else self.rollup.names
            steps.append(by + ", ".join(names))
        steps.append(", ".join(f"{aggregate} as {aggregate.output}" for aggregate in self.aggregates))
        return " → ".join([*steps, *self.post.words()])

    def items(self, spend: Budget) -> tuple[ReleaseItem, ...]:
        """What a release consists of, at whoever answers.

        Args:
            spend: What the release may lose, as `budget` checked it.

        Returns:
            The releases, each with its noise and its part of the loss.
        """
        return self.context.releaser.items(self, spend)

    def budget(self, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Budget:
        """What was written down, checked; whoever answers refuses here what they do not answer.

        Args:
            epsilon: What to spend, as ε.
            delta: With `epsilon`, allows Gaussian noise and secret keys.
            rho: What to spend instead, in zero-concentrated differential privacy.

        Returns:
            What one release may lose.
        """
        self.context.releaser.refuse(self)
        return self.context.releaser.budget(self, epsilon, delta, rho)


def bounding_of(given: Mapping[str, Any]) -> Bounding:
    """Bounds on what counts of one unit, from keywords."""
    known = ("max_groups_per_unit", "max_rows_per_group", "max_rows_per_unit")
    for name in given:
        checks.one_of(known, bound=name)
    return Bounding(**{name: value for name, value in given.items() if value is not None})
