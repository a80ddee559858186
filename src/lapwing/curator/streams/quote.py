"""What a stream would cost and how wide its intervals would be, before anything is spent or read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.curator.aggregates import Bound
from lapwing.curator.ask.pricing import Budget
from lapwing.curator.ask.quote import NO_LEDGER, Expectation, Quote, plan_notes, rows_notes
from lapwing.curator.show.digits import visible
from lapwing.curator.streams.definition import Definition
from lapwing.curator.streams.pricing import StreamItem, price, state_bytes
from lapwing.curator.streams.protection import ConsecutiveSteps
from lapwing.errors import UnsupportedQuery
from lapwing.mechanisms import BudgetDistribution
from lapwing.privacy.quotes import Line

WEEK = 7
Width = Callable[[StreamItem, Fraction], float]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class StreamQuote(Quote):
    """The price of a stream: once, for all its steps.

    Attributes:
        steps: How many steps the price covers.
        state_bytes: The size of the counters in the state file.

    >>> question = patients.stream(lw.count(), every="month", steps=12, start="2024-01-01", active_steps=1)
    >>> quote = question.quote(epsilon=1)
    >>> quote.steps, quote.expected[-1].output
    (12, 'count over the last 7 months')
    """

    steps: int
    state_bytes: int
    families: tuple[tuple[str, str, float, bool], ...]
    """Counters that were compared: what is counted, the family, its error over all steps, and whether it was taken."""


def quote(definition: Definition, spend: Budget, confidence: float) -> StreamQuote:
    """The quote for a budget."""
    stated, items = price(definition, spend)
    context = definition.query.context
    return StreamQuote(
        question=definition.explain(),
        loss=stated,
        lines=tuple(Line(item.label, item.privacy_loss(), serves=item.outputs) for item in items),
        expected=tuple(_expected(definition, items, confidence)),
        confidence=confidence,
        remaining=context.remaining(context.analyst),
        notes=(*notes_of(definition), *_unrecorded(definition), *_families(items), *_size(definition, items)),
        steps=definition.schedule.steps,
        state_bytes=state_bytes(items),
        families=tuple(
            (str(item.statistic), candidate.family, candidate.rms, candidate.family == item.family)
            for item in items
            for candidate in item.candidates
        ),
    )


def notes_of(definition: Definition) -> tuple[str, ...]:
    """What a reader of a quote or an answer must know."""
    query, schedule = definition.query, definition.schedule
    word = query.context.unit
    about = [definition.protection.explain(word, schedule.every)]
    if not isinstance(definition.protection, ConsecutiveSteps) and any(definition.appearing):
        names = [
            bound.output
            for bound in query.bounds
            if any(definition.appearing[query.statistics.index(statistic)] for statistic in bound.statistics)
        ]
        about.append(f"{' and '.join(names)}: {_once(definition)}")
    limits = [f"{note}, in each {schedule.every}" if "at most" in note else note for note in rows_notes(query)[:1]]
    if schedule.time is not None:
        rule = "are left out" if schedule.late == "drop" else f"count in the next {schedule.every}"
        about.append(f"rows that come after their {schedule.every} was closed {rule}")
    return (*about, *(limits if not definition.scan.each_row else ()), *plan_notes(query))


def _once(definition: Definition) -> str:
    """When and where somebody, or a value, counts who counts once."""
    query, every = definition.query, definition.schedule.every
    if not query.grouping.keys:
        return f"each counts once, in the {every} in which it is first seen"
    if not definition.scan.each_row and query.effective.touched == 1:
        return f"each counts once, in the {every} and the group in which it is first seen, and in no other group"
    return f"each counts once in a group, in the {every} in which it is first seen there"


def _unrecorded(definition: Definition) -> tuple[str, ...]:
    return () if definition.query.context.ledger is not None else (NO_LEDGER,)


def _families(items: Sequence[StreamItem]) -> Iterator[str]:
    """Which counter is taken, beside the other."""
    for item in items:
        others = [candidate for candidate in item.candidates if candidate.family != item.family]
        own = next((candidate for candidate in item.candidates if candidate.family == item.family), None)
        if own is None:
            yield f"{visible(str(item.statistic))}: {item.family}, which repeats its last answer while little changes"
        elif others:
            ratio = others[0].rms / own.rms
            yield (
                f"{visible(str(item.statistic))}: the {item.family} counter is used; "
                f"the error of a {others[0].family} would be {ratio:.1f} times as large"
            )
        else:
            yield f"{visible(str(item.statistic))}: the {item.family} counter; with a delta or rho, others are compared"


def _size(definition: Definition, items: Sequence[StreamItem]) -> tuple[str, ...]:
    every, days = definition.schedule.every, definition.schedule.words(definition.schedule.steps)
    size = state_bytes(items)
    return (
        f"the stream is charged once, for all {days}, when it is opened",
        f"the counters take {size:,} bytes of a file that only you can read; each {every} is closed in one commit",
    )


def _expected(definition: Definition, items: Sequence[StreamItem], confidence: float) -> Iterator[Expectation]:
    """The band of every output: first, in the middle, last, at worst, and for a window."""
    steps, words = definition.schedule.steps, definition.schedule.words
    by_statistic = {item.statistic: item for item in items}
    for bound in definition.query.bounds:
        used = [by_statistic[statistic] for statistic in bound.statistics]
        if any(isinstance(item.counter, BudgetDistribution) for item in used):
            yield _error(bound, used, f"{bound.output}, after steps with little change", confidence, _quiet)
            continue
        for step in dict.fromkeys((1, (steps + 1) // 2, steps)):
            yield _error(bound, used, f"{bound.output} after {words(step)}", confidence, _reach(0, step))
        yield _error(bound, used, f"{bound.output} at worst", confidence, _worst)
        if steps > WEEK:
            label = f"{bound.output} over the last {words(WEEK)}"
            yield _error(bound, used, label, confidence, _reach(steps - WEEK, steps))


def _reach(start: int, stop: int) -> Width:
    return lambda item, sure: item.half_width(start, stop, sure)


def _worst(item: StreamItem, sure: Fraction) -> float:
    assert not isinstance(item.counter, BudgetDistribution)
    return item.widened(item.counter.accuracy(float(sure)), item.counter.steps)


def _quiet(item: StreamItem, sure: Fraction) -> float:
    return float(item.counter.accuracy(float(sure))) * 2.0**item.shift


def _error(bound: Bound, used: Sequence[StreamItem], label: str, confidence: float, width: Width) -> Expectation:
    each = 1 - (1 - Fraction(confidence)) / len(used)
    try:
        return Expectation(label, bound.aggregate.error(bound, [width(item, each) for item in used], None), "")
    except UnsupportedQuery as unknown:
        return Expectation(label, None, "", unknown.instead)
