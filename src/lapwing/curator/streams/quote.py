"""What a stream would cost and how wide its intervals would be, before anything is spent or read."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lapwing.curator.aggregates import Bound
from lapwing.curator.ask.pricing import Budget
from lapwing.curator.ask.quote import (
    NO_LEDGER,
    Expectation,
    Quote,
    leaves_rows_out,
    plan_notes,
    rows_notes,
    selection_notes,
)
from lapwing.curator.show import digits
from lapwing.curator.show.digits import visible
from lapwing.curator.streams.definition import Definition
from lapwing.curator.streams.pricing import ADAPTIVE, Adaptive, StreamItem, price, state_bytes
from lapwing.curator.streams.protection import Allocation, ConsecutiveSteps
from lapwing.curator.streams.schedule import Schedule
from lapwing.errors import UnsupportedQuery
from lapwing.privacy import Loss
from lapwing.privacy.quotes import Line

WEEK = 7
LARGEST_OFFSET = dt.timedelta(hours=12)
"""By which local time is behind UTC, anywhere."""
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
    (12, 'count over the last 7 of 12 months')
    """

    steps: int
    state_bytes: int
    families: tuple[tuple[str, str, float, bool], ...]
    """Counters that were compared: what is counted, the family, its error over all steps, and whether it was taken."""
    allocations: tuple[AllocationError, ...] = ()
    """For consecutive steps: how far each output may be off by either allocation."""
    for_readers: tuple[str, ...] = ()
    """The notes about what is released. The others are for whoever opens the stream."""

    def _for_readers(self) -> Sequence[str]:
        return self.for_readers


@dataclass(frozen=True, slots=True)
class AllocationError:
    """How far an output of a stream may be off with one allocation, at the two steps where that is known beforehand.

    Attributes:
        output: The name of the output.
        allocation: How the budget of new answers is spread over the steps: "distribution" or "absorption".
        taken: Whether the stream has this allocation.

    >>> question = patients.stream(lw.count(), every="step", steps=30, consecutive_steps=7)
    >>> for other in question.quote(epsilon=1).allocations:
    ...     print(other.output, other.allocation, other.taken, other.quiet.error)
    count distribution True 47.0
    count absorption False 45.0
    """

    output: str
    allocation: Allocation
    quiet: Expectation
    """At a step before which no new value was published for a while: for as many steps as are protected, with
    absorption for twice as many."""
    next: Expectation
    """One step after the first new value that was published after such a while."""
    taken: bool


def quote(definition: Definition, spend: Budget, confidence: float) -> StreamQuote:
    """The quote for a budget."""
    stated, items = price(definition, spend)
    context, about = definition.query.context, notes_of(definition)
    allocations = tuple(_allocations(definition, spend, confidence))
    return StreamQuote(
        question=definition.explain(),
        loss=stated,
        lines=tuple(Line(item.label, item.privacy_loss(), serves=item.outputs) for item in items),
        expected=tuple(_expected(definition, items, confidence)),
        confidence=confidence,
        remaining=context.remaining(context.analyst),
        notes=(
            *_cannot_be_paid(definition, stated), *about, *_only_kept(definition.schedule),
            *_local(definition.schedule),
            *_unrecorded(definition), *_families(items),
            *_elsewhere(definition), *_others(definition, allocations), *_size(definition, items),
        ),
        steps=definition.schedule.steps,
        state_bytes=state_bytes(items),
        families=tuple(
            (str(item.statistic), candidate.family, candidate.rms, candidate.family == item.family)
            for item in items
            for candidate in item.candidates
        ),
        allocations=allocations,
        for_readers=about,
        datasets=tuple(context.datasets),
    )  # fmt: skip


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
    about.extend(_in_utc(schedule))
    limits = [f"{note}, in each {schedule.every}" if "at most" in note else note for note in rows_notes(query)[:1]]
    if leaves_rows_out(query):
        limits.append(query.effective.sampling_note(word, grouped=bool(query.grouping.keys)))
    limits.append(f"rows with no {word} are left out")
    if schedule.time is not None:
        rule = "are left out" if schedule.late == "drop" else f"count in the next {schedule.every}"
        about.append(f"rows that come after their {schedule.every} was closed {rule}")
    protection = definition.protection
    if isinstance(protection, ConsecutiveSteps):  # a limit is about one step, not about the steps that are protected
        limits = [note.replace(protection.suffix(schedule.every), "") for note in limits]
    if isinstance(protection, ConsecutiveSteps) and protection.allocation == "absorption" and protection.steps > 1:
        repeated = f"up to {schedule.words(protection.steps - 1)} after a release repeat it, whatever changes"
        about.append(f"budget absorption: {repeated}, and have no interval")
    return (*about, *(limits if not definition.scan.each_row else ()), *_what_is_shown(definition), *plan_notes(query))


def _in_utc(schedule: Schedule) -> Iterator[str]:
    """By which clock steps end; somebody with local times must know."""
    if schedule.every == "step":
        return
    times = "" if schedule.time is None else "; times without a time zone are taken as UTC"
    yield f"each {schedule.every} begins and ends by the clock in UTC{times}"


def _only_kept(schedule: Schedule) -> Iterator[str]:
    """How rows must come where late ones count later."""
    if schedule.takes_kept_rows_only:
        yield (
            "rows of this stream can only come by add() (lapwing stream observe --keep), in batches with numbers, so "
            "that none counts twice; observe() then closes steps without bringing rows. With a watermark, observe() "
            "can read a database"
        )


def _local(schedule: Schedule) -> Iterator[str]:
    """What to do where times are local: a step that ends before its last rows are there loses them."""
    if schedule.time is not None and schedule.grace < LARGEST_OFFSET and schedule.late == "drop":
        yield (
            f"if times are those of a zone behind UTC, such as New York, a {schedule.every} is closed before the local "
            f"{schedule.every} ends: keep it open longer by the largest difference, for New York 5 hours (grace=)"
        )


def _what_is_shown(definition: Definition) -> Iterator[str]:
    """HAVING, ORDER BY and LIMIT look at every answer by itself: over a few steps, no group may be large enough."""
    words = list(definition.query.post.words())
    if words:
        few = "" if definition.query.post.having is None else ", so an answer about few of them may have no rows"
        every = definition.schedule.every
        what = "totals and to each window" if not isinstance(definition.protection, ConsecutiveSteps) else "it alone"
        yield f"{'; '.join(words)}: this applies after each {every}, to {what}{few}"
    yield from selection_notes(definition.query)


def refused(definition: Definition, loss: Loss) -> str:
    """Why the ledger cannot pay for consecutive steps, whatever is left in it, and what to write; nothing if it can."""
    context, protection = definition.query.context, definition.protection
    if context.ledger is None or not isinstance(protection, ConsecutiveSteps):
        return ""
    promised = dict.fromkeys(unit for dataset in context.datasets for unit in context.ledger.units(dataset))
    if list(promised) == [loss.unit]:
        return ""
    who = protection.base(context.unit, definition.schedule.every)
    return (
        f"the ledger has an allowance for a whole {who}, and this stream protects only a {loss.unit}. "
        "Write active_steps= instead, or open the table under another dataset= name with an allowance for that: "
        f"lw.PureDP(1, unit={loss.unit!r})"
    )


def _cannot_be_paid(definition: Definition, loss: Loss) -> tuple[str, ...]:
    why = refused(definition, loss)
    return (f"this stream cannot be opened: {why}",) if why else ()


def _elsewhere(definition: Definition) -> tuple[str, ...]:
    """What is known of the steps for which the quote has no error."""
    if not isinstance(definition.protection, ConsecutiveSteps):
        return ()
    return (
        f"on other {definition.schedule.every}s the error depends on what was published before, and can be larger; "
        "each answer shows its own",
    )


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
        what = visible(str(item.statistic))
        method = f"method for running totals of {what}: {item.family}"
        if own is None:
            yield f"method for {what}: {item.family} repeats its last answer while little changes"
        elif others:
            ratio = others[0].rms / own.rms
            yield f"{method}; with the {others[0].family}, the error would be {ratio:.1f} times as large"
        else:
            yield f"{method}. With a delta or rho, other ways are compared"


def _size(definition: Definition, items: Sequence[StreamItem]) -> tuple[str, ...]:
    days, size = definition.schedule.words(definition.schedule.steps), state_bytes(items)
    return (
        f"the stream is charged once, for all {days}, when it is opened",
        f"the state needs {size:,} bytes, in a file that only you can read",
    )


def _expected(definition: Definition, items: Sequence[StreamItem], confidence: float) -> Iterator[Expectation]:
    """The band of every output: first, in the middle, last, in the worst step, and for a window."""
    steps, words = definition.schedule.steps, definition.schedule.words
    by_statistic = {item.statistic: item for item in items}
    for bound in definition.query.bounds:
        used = [by_statistic[statistic] for statistic in bound.statistics]
        if any(isinstance(item.counter, Adaptive) for item in used):
            yield _adaptive_error(definition, bound, used, confidence, releases=0)
            yield _adaptive_error(definition, bound, used, confidence, releases=1)
            continue
        for step in dict.fromkeys((1, (steps + 1) // 2, steps)):
            yield _error(bound, used, f"{bound.output} after {words(step)}", confidence, _reach(0, step))
        label = f"{bound.output} after the {definition.schedule.every} with the widest error bound"
        yield _error(bound, used, label, confidence, _worst)
        if steps > WEEK:
            label = f"{bound.output} over the last {WEEK} of {words(steps)}"
            yield _error(bound, used, label, confidence, _reach(steps - WEEK, steps))


def _reach(start: int, stop: int) -> Width:
    return lambda item, sure: item.half_width(start, stop, sure)


def _worst(item: StreamItem, sure: Fraction) -> float:
    assert not isinstance(item.counter, Adaptive)
    return item.widened(item.counter.accuracy(float(sure)), item.counter.steps)


def _allocations(definition: Definition, spend: Budget, confidence: float) -> Iterator[AllocationError]:
    """The errors of both allocations, where consecutive steps are protected: both cost the same."""
    protection = definition.protection
    if not isinstance(protection, ConsecutiveSteps):
        return
    for allocation in ADAPTIVE:
        _, items = price(replace(definition, protection=replace(protection, allocation=allocation)), spend)
        by_statistic = {item.statistic: item for item in items}
        for bound in definition.query.bounds:
            used = [by_statistic[statistic] for statistic in bound.statistics]
            quiet, following = (_adaptive_error(definition, bound, used, confidence, releases=n) for n in (0, 1))
            yield AllocationError(bound.output, allocation, quiet, following, allocation == protection.allocation)


def _others(definition: Definition, allocations: Sequence[AllocationError]) -> Iterator[str]:
    """What the other allocation would give."""
    for other in allocations:
        if not other.taken and other.quiet.error is not None:
            quiet, later = digits.at_most(other.quiet.error, other.quiet.whole), other.next
            following = (
                "no error is known"
                if later.error is None
                else f"the error is {digits.at_most(later.error, later.whole)}"
            )
            yield (
                f"{visible(other.output)}: with allocation={other.allocation!r} the error is {quiet} "
                f"{_when(definition, other.allocation, 0)}; {following} {_when(definition, other.allocation, 1)}"
            )


def _when(definition: Definition, allocation: Allocation, releases: int) -> str:
    """For which steps `accuracy(releases=…)` says how far an output may be off.

    The budget of a step is full if no step before it spent any for so long: distribution looks back w − 1 steps. A
    release by absorption spends at most w shares, so w steps later there is none again, and w more fill the budget.
    """
    assert isinstance(definition.protection, ConsecutiveSteps)
    steps, every = definition.protection.steps, definition.schedule.every
    span = definition.schedule.words(steps if allocation == "distribution" else 2 * steps)
    if releases:
        return f"one {every} after the first new answer in {span}"
    return f"if the answer was only repeated in the {span.removeprefix('1 ')} before"


def _adaptive_error(
    definition: Definition, bound: Bound, used: Sequence[StreamItem], confidence: float, *, releases: int
) -> Expectation:
    """Where no new value was published for a while, or one step after the first one that was."""
    [allocation] = {name for item in used for name, kind in ADAPTIVE.items() if isinstance(item.counter, kind)}
    label = f"{bound.output}, {_when(definition, allocation, releases)}"

    def width(item: StreamItem, sure: Fraction) -> float:
        assert isinstance(item.counter, Adaptive)
        return item.counter.accuracy(float(sure), releases=releases) * 2.0**item.shift

    if any(math.isinf(width(item, Fraction(confidence))) for item in used):
        return Expectation(label, None, "", "The last answer is repeated, whatever changes.")
    return _error(bound, used, label, confidence, width)


def _error(bound: Bound, used: Sequence[StreamItem], label: str, confidence: float, width: Width) -> Expectation:
    each = 1 - (1 - Fraction(confidence)) / len(used)
    try:
        error = bound.aggregate.error(bound, [width(item, each) for item in used], None)
        return Expectation(label, error, "", whole=bound.aggregate.whole)
    except UnsupportedQuery:
        return Expectation(label, None, "", "The more rows there are, the smaller it is.")
