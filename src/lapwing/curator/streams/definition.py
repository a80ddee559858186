"""What a stream counts: a question, when its steps end, whom it protects. All public, and checked beforehand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lapwing.curator.aggregates import Aggregate
from lapwing.curator.ask.query import Query
from lapwing.curator.ask.question import Post
from lapwing.curator.plan.expressions import columns_of
from lapwing.curator.plan.nodes import JoinPublic, Plan, Scan, Select, Where, is_each_row, scans
from lapwing.curator.plan.statistics import Statistic
from lapwing.curator.streams.protection import Allocation, ConsecutiveSteps, Protection, protection_of
from lapwing.curator.streams.reading import APPEARING, row_by_row
from lapwing.curator.streams.schedule import Schedule
from lapwing.errors import InvalidParameter, UnsupportedQuery


@dataclass(frozen=True)
class Definition:
    """A question that is answered again after every step."""

    query: Query
    schedule: Schedule
    protection: Protection

    @property
    def scan(self) -> Scan:
        """The table, with the columns that are read."""
        return next(scans(self.query.plan))

    @cached_property
    def bare(self) -> Query:
        """The question about rows whose step is known: without the columns that only tell when they happened."""
        return replace(self.query, plan=_narrowed(self.query, set()))

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """What is counted: one counter for each, over all groups."""
        return self.query.statistics

    @cached_property
    def appearing(self) -> tuple[bool, ...]:
        """Which statistics count what was never there before; others add up what every step brings."""
        return tuple(appears(statistic, self.query.plan) for statistic in self.statistics)

    @property
    def groups(self) -> int:
        """How many public groups there are."""
        return self.query.grouping.size if self.query.grouping.keys else 1

    @property
    def unit(self) -> str:
        """The word of the loss."""
        return self.protection.unit(self.query.context.unit, self.schedule.every)

    def written(self) -> dict[str, Any]:
        """As plain data, without where the rows are."""
        return {
            "question": json.loads(self.query.to_json()),
            "schedule": self.schedule.written(),
            "protection": self.protection.written(),
            "unit": self.query.context.unit,
        }

    def digest(self) -> str:
        """A fingerprint: a state belongs to one definition."""
        parts = [self.query.digest(), self.schedule.written(), self.protection.written(), self.unit]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def explain(self) -> str:
        """What happens, in one line."""
        steps = f"after each of {self.schedule.words(self.schedule.steps)}"
        if self.schedule.every != "step":
            steps += " (UTC)"
        question = replace(self.query, post=Post())
        return " → ".join([question.explain(), steps, *self.query.post.words()])


def appears(statistic: Statistic, plan: Plan) -> bool:
    """Whether a statistic is fed first appearances. Where every row is a unit, each is a new one anyway."""
    return statistic.kind in APPEARING and not (statistic.kind == "units" and is_each_row(plan))


def define(
    query: Query,
    schedule: Schedule,
    *,
    active_steps: int | None = None,
    separation: int | None = None,
    consecutive_steps: int | None = None,
    allocation: Allocation | None = None,
) -> Definition:
    """A stream of answers to a question, or why there is none."""
    query.context.releaser.refuse_step("stream")
    row_by_row(query.plan)
    _refuse(query)
    columns = next(scans(query.plan)).by_name
    own = {name: columns[name] for name in (schedule.time, schedule.watermark) if name in columns}
    schedule.check_time(own[schedule.time].kind if schedule.time in own else None, columns)
    schedule.check_watermark(own[schedule.watermark].kind if schedule.watermark in own else None, columns)
    once = all(appears(statistic, query.plan) for statistic in query.statistics)
    protection = protection_of(
        query.plan, query.context.unit, active_steps=active_steps, separation=separation,
        consecutive_steps=consecutive_steps, allocation=allocation, once=once,
    )  # fmt: skip
    if isinstance(protection, ConsecutiveSteps):
        _refuse_windows(query, schedule, protection)
    return Definition(replace(query, plan=_narrowed(query, {str(name) for name in own})), schedule, protection)


def _refuse(query: Query) -> None:
    """What has no sums that go on."""
    if query.rollup is not None:
        why = "a stream has one counter for each group, and none for the levels above them"
        raise UnsupportedQuery("GROUP BY ROLLUP", why, "Group by the last level alone: GROUP BY a, b.")
    if query.grouping.secret:
        secret = [key.name for key in query.grouping.keys if key.values is None]
        why = "which values occur is a secret, and a stream has one counter for each of them from the start"
        hint = f"Name them: by={{{', '.join(f'{name!r}: […]' for name in secret)}}}."
        raise UnsupportedQuery(f"group by {', '.join(secret)}", why, hint)
    for aggregate in query.aggregates:
        if query.top is aggregate:
            hint = "Count by the keys, lw.count() or lw.units(), and take stream.top(5): sorting costs nothing."
            raise UnsupportedQuery(str(aggregate), "a stream counts every key and sorts afterwards", hint)
    for bound in query.bounds:
        if bound.pick is not None:
            why = "quantiles of several steps cannot be added up"
            raise UnsupportedQuery(str(bound.aggregate), why, "Count by bins: by={'band': […]}.")
        if any(statistic.kind == "distinct" for statistic in bound.statistics) and not is_each_row(query.plan):
            why = f"one {query.context.unit} may be the first to bring many values"
            hint = "Ask for lw.units(), or open the table with unit=lw.EACH_ROW to protect single events."
            raise UnsupportedQuery(str(bound.aggregate), why, hint)


def _refuse_windows(query: Query, schedule: Schedule, protection: ConsecutiveSteps) -> None:
    if is_each_row(query.plan):
        why = "is about a unit with rows in several steps, and in this table every row is a unit of its own"
        hint = "Leave it out: each row is protected as it is. Or open the table with unit='patient_id'."
        raise InvalidParameter("consecutive_steps", protection.steps, why, hint)
    if protection.steps > schedule.steps:
        why = f"is more than the {schedule.steps:,} steps of the stream"
        raise InvalidParameter("consecutive_steps", protection.steps, why, f"Write active_steps={schedule.steps}.")
    if schedule.late == "next":
        why = "a late row counts in a later step, so what a unit does in a few steps could change many"
        raise InvalidParameter("late", schedule.late, why, "Write late='drop' and a grace=, or active_steps= instead.")
    if any(appears(statistic, query.plan) for statistic in query.statistics):
        why = "a unit that appeared long ago would still be counted, and that is not protected here"
        raise UnsupportedQuery("units()", why, "Leave lw.units() out, or write active_steps= instead.")


def _narrowed(query: Query, wanted: set[str]) -> Plan:
    """The plan over a table without the columns that nobody reads: batches need not have them."""
    values, others = query.contents
    used = [*others, *(value.expression for value in values), *(key.expression for key in query.grouping.keys)]
    return _only(query.plan, set().union(wanted, *map(columns_of, used)))


def _only(plan: Plan, names: set[str]) -> Plan:
    if isinstance(plan, Where):
        return replace(plan, parent=_only(plan.parent, names | columns_of(plan.condition)))
    if isinstance(plan, Select):
        below = set().union(*(columns_of(what) for _, what in plan.outputs))
        return replace(plan, parent=_only(plan.parent, names | below))
    if isinstance(plan, JoinPublic):
        on = set().union(*(columns_of(private) for private, _ in plan.on))
        return replace(plan, parent=_only(plan.parent, names | on))
    assert isinstance(plan, Scan)
    fields = tuple(field for field in plan.fields if field.unit or field.name in names)
    return replace(plan, fields=fields or plan.fields[:1])


def keys_of(by: Any) -> tuple[tuple[str, ...], Mapping[str, Sequence[Any]] | None]:
    """What `by` names: columns whose keys were declared, or columns with their keys."""
    if by is None:
        return (), None
    if isinstance(by, str):
        return (by,), None
    if isinstance(by, Mapping):
        return tuple(by), by
    if isinstance(by, Sequence) and all(isinstance(name, str) for name in by):
        return tuple(by), None
    raise InvalidParameter("by", by, "must name columns", "Write by='region', or by={'region': ['North', 'South']}.")


def check_aggregates(aggregates: Sequence[Any]) -> Sequence[Aggregate]:
    """The aggregates; a stream of nothing is refused."""
    if not aggregates or not all(isinstance(aggregate, Aggregate) for aggregate in aggregates):
        hint = "Write table.stream(lw.count(), every='day', steps=365, start='2026-01-01')."
        raise InvalidParameter("aggregates", aggregates, "say what is to be counted", hint)
    return aggregates
