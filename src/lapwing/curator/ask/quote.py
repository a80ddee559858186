"""What a release would cost and how accurate it would be, before anything is spent or read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from lapwing import checks
from lapwing._version import __version__
from lapwing.checks import Number
from lapwing.curator.aggregates import Bound
from lapwing.curator.aggregates.base import ANSWER_SAYS
from lapwing.curator.ask.pricing import Budget, Item, Keys, Picks, ReleaseItem, noisy_statistics, ranks_off
from lapwing.curator.ask.question import Question
from lapwing.curator.ask.room import limited
from lapwing.curator.ask.tree_noise import TreeNoise, tree_items
from lapwing.curator.plan.expressions import Call, Column
from lapwing.curator.plan.groups import Key
from lapwing.curator.plan.multiplicity import limits_of, most_rows
from lapwing.curator.plan.narrowing import carries_text
from lapwing.curator.plan.nodes import is_each_row
from lapwing.curator.plan.text_forms import LONGEST_CARRIED
from lapwing.curator.show.words import EACH_ROW_COUNTS
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.mechanisms import epsilon_for
from lapwing.privacy import quotes
from lapwing.privacy.quotes import Line

NO_LEDGER = "no ledger was given, so the spent budget is not recorded"
"""The note of quotes and answers for which no ledger records the spent budget."""

SEEDED = (
    "NOT PRIVATE: the noise came from a reproducible source. Somebody who knows the seed can compute the exact answer"
)
"""Of an answer for tests and teaching."""

BIN_EDGES = "a bin includes its lower edge but not its upper edge; the last bin includes both"

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lapwing.curator.show.statement import Statement


@dataclass(frozen=True, slots=True)
class Expectation:
    """How far one output of a question may be off.

    Attributes:
        output: The name of the output.
        error: How far it may be off, at the confidence of the quote; None where that depends on the data.
        why: What the error depends on, where it is None, and what else a reader must know.

    >>> [expected] = patients.agg(lw.count()).quote(epsilon=1).expected
    >>> expected.output, expected.error
    ('count', 3.0)
    """

    output: str
    error: float | None
    measured_in: str
    """"" for the value itself, "ranks" for a quantile, "units" for the size from which on a key is shown."""
    why: str = ""
    whole: bool = False
    """Whether the output is a whole number, which is shown without rounding where the error is small."""
    bounds: tuple[float, float] | None = None
    """Between which numbers it and the exact answer lie, whatever the data; None if there is no limit."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Quote(quotes.Quote):
    """The price of a question, and how accurate its answer would be. `Query.quote` gives one.

    Attributes:
        question: What is asked, in words.
        expected: How far each output may be off.
        confidence: The probability that an output is within its expected error.
        notes: What a reader must know: which rows count, what is left out.
        datasets: The data sets that would be charged.
        counted: Which rows of a unit count, where it may have more: "up to 6 per plane". Otherwise it is empty.

    >>> quote = patients.agg(lw.count(), lw.mean("age")).quote(epsilon=1, count=3000)
    >>> [line.output for line in quote.expected]
    ['count', 'mean_age']
    >>> print(quote.loss)
    ε = 1 (add_remove, per patient)
    """

    question: str
    expected: tuple[Expectation, ...]
    confidence: float
    notes: tuple[str, ...]
    datasets: tuple[str, ...] = ()
    counted: str = ""

    def statement(self, *, owner: str = "the owner of the data") -> Statement:
        """A privacy statement to approve before anything is released. It says what the release would promise.

        Args:
            owner: Who is responsible for the data, as readers should see it.

        Returns:
            A statement with `to_markdown()`, `to_json()` and `to_html()`, a page to print.

        >>> quote = patients.agg(lw.count()).quote(epsilon=0.5)
        >>> facts = quote.statement(owner="The clinic").facts
        >>> facts["about"], facts["datasets"]
        ('quote', ['patients'])
        """
        from lapwing.curator.show.statement import statement_of

        origin = {"question": self.question, "datasets": self.datasets, "lapwing": __version__}
        left = self.remaining_after()
        notes = self._for_readers()
        return statement_of(self.loss, origin, notes, about="quote", remaining=left, ledger=None, owner=owner)

    def _for_readers(self) -> Sequence[str]:
        """The notes that somebody needs who reads what is released."""
        return self.notes

    def __str__(self) -> str:
        from lapwing.curator.show import quote as show_quote

        return show_quote.text(self)

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> RenderableType:
        from lapwing.curator.show import quote as show_quote

        return show_quote.quote(self)

    def _repr_html_(self) -> str:
        from lapwing.curator.show import quote as show_quote

        return show_quote.html(self)


def quote(query: Question, spend: Budget, confidence: Number, count: int | None) -> Quote:
    """The quote for a budget."""
    sure = float(checks.probability(confidence=confidence))
    items = query.items(spend)
    lines = tuple(line for item in items for line in _lines(item))
    remaining = query.context.remaining(query.context.analyst)
    expected = [
        expectation for bound in query.bounds for expectation in _expectations(query, bound, items, sure, count)
    ]
    tests = [item for item in items if isinstance(item, Keys)]
    shown = [Expectation(test.called, test.mechanism.accuracy(sure), "units", _SHOWN_FROM) for test in tests]
    expected = [*shown, *expected]
    return Quote(
        question=query.explain(),
        loss=spend.stated,
        lines=lines,
        expected=tuple(expected),
        confidence=sure,
        remaining=remaining,
        notes=query.context.releaser.notes(query, spend, items),
        datasets=tuple(query.context.datasets),
        counted=counted_rows(query),
    )


_SHOWN_FROM = "a key is shown if at least this many units have it"


def _lines(item: ReleaseItem) -> list[Line]:
    """What an item costs; of a rollup, what each level does."""
    if isinstance(item, TreeNoise):
        return [Line(label, loss, serves=item.outputs) for label, loss in item.level_losses()]
    return [Line(item.label, item.privacy_loss(), serves=item.outputs)]


def _expectations(
    query: Question, bound: Bound, items: Sequence[ReleaseItem], confidence: float, count: int | None
) -> list[Expectation]:
    """How far an output may be off; of a rollup, on each level."""
    if query.rollup is None:
        return [_expected(query, bound, items, confidence, count)]
    by_statistic = tree_items(items)
    each = 1 - (1 - Fraction(confidence)) / len(bound.statistics)
    widths = [by_statistic[statistic].half_widths(each) for statistic in bound.statistics]
    expected = []
    for level, reach in zip(query.rollup.levels, zip(*widths, strict=True), strict=True):
        name = f"{bound.output} (level {level})"
        try:
            error = bound.aggregate.error(bound, reach, count)
            ends = bound.aggregate.ends(bound)
            expected.append(Expectation(name, error, "", whole=bound.aggregate.whole, bounds=ends))
        except UnsupportedQuery as unknown:
            expected.append(Expectation(name, None, "", _advice(unknown)))
    return expected


def rows_notes(query: Question) -> tuple[str, ...]:
    """Which rows of a unit count."""
    unit, keys = query.context.unit, query.grouping.keys
    if is_each_row(query.plan):
        return (f"{EACH_ROW_COUNTS}: somebody with several rows is not protected as one person",)
    remarks = [query.effective.explain(unit, grouped=bool(keys)), f"rows with no {unit} are left out"]
    limit, used = query.bounding.max_groups_per_unit, query.effective.max_groups_per_unit
    if keys and used < limit:
        remarks.append(f"max_groups_per_unit is {limit}, but there are only {used} groups: write {used} for less noise")
    if leaves_rows_out(query):
        remarks.append(query.effective.sampling_note(unit, grouped=bool(keys)))
        remarks += _counts_units(query)
    return tuple(remarks)


def plan_notes(query: Question) -> tuple[str, ...]:
    """What joins, long texts and keys leave out."""
    remarks, plan, context, keys = list[str](), limited(query), query.context, query.grouping.keys
    for rows in sorted(set(limits_of(plan))):
        remarks.append(f"a join uses at most {rows:,} rows per {context.unit} from each table")
    if carries_text(plan):
        remarks.append(
            f"text of more than {LONGEST_CARRIED:,} bytes becomes NULL before rows are joined, compared or grouped"
        )
    for key in keys:
        if key.values is None:
            remarks.append(f"the values of {key.name} are private, so rare ones are usually not shown")
        elif not key.everything_else and isinstance(key.expression, Column) and key.expression.kind != "boolean":
            remarks.append(f"rows whose {key.name} is not {_declared(key)} are left out")
        elif key.everything_else and key.labels is None:
            remarks.append(f"everything else: rows whose {key.name} is missing, or is not {_declared(key)}")
    if any(
        key.labels is not None and isinstance(key.expression, Call) and key.expression.operator == "bin" for key in keys
    ):
        remarks.append(BIN_EDGES)
    remarks += [
        f"rows without a value of {key.name} between the first edge and the last are left out"
        for key in keys
        if query.rollup is None  # its levels have notes of their own
        and key.labels is not None
        and not key.everything_else
        and isinstance(key.expression, Call)
        and key.expression.operator in ("bin", "case")
    ]
    return tuple(remarks)


def _declared(key: Key) -> str:
    """The values of a key in words: days without a gap by the first and the last."""
    first, *_, last = (*key.values, *key.values) if key.values else ("", "")
    whole = key.expression.kind == "date" and isinstance(first, dt.date) and isinstance(last, dt.date)
    if whole and (last - first).days == key.size - 1 > 0:
        return f"from {first} to {last}"
    return "a declared key"


def _counts_units(query: Question) -> list[str]:
    """A count of rows of which one per unit counts is a count of units: 4,045 planes, not 336,776 flights."""
    unit, counts = query.context.unit, [aggregate for aggregate in query.aggregates if aggregate.counts_rows]
    if not counts or query.effective.rows > 1:
        return _counts_in_some_groups(query)
    which = " and ".join(aggregate.output for aggregate in counts)
    once = "once" if query.effective.max_groups_per_unit == 1 else "once in each group"
    more = "To count more rows, raise max_rows_per_unit"
    if query.effective.max_groups_per_unit > 1:  # then rows are limited in each group
        more = f"To count more rows of a {unit} in a group, raise max_rows_per_group"
    remarks = [f"{which}: each {unit} counts {once}, not once for each row. {more}"]
    column = next((column.name for column in query.plan.columns if column.unit), None)
    if column is not None and once != "once":
        remarks.append(
            f"for the number of different {unit}s, ask for lw.units(), or in SQL for COUNT(DISTINCT {column})"
        )
    return remarks + _counts_in_some_groups(query)


def _counts_in_some_groups(query: Question) -> list[str]:
    """Of units that have rows in many groups, only some groups count, and so do the values in them."""
    touched = query.effective.touched
    units = " and ".join(each.output for each in query.aggregates if each.by_any_row)
    if not units or not query.grouping.keys or (not query.grouping.secret and touched >= query.grouping.size):
        return []
    groups = "one group" if touched == 1 else f"{touched:,} groups"
    more = "max_rows_per_unit" if query.bounding.max_rows_per_unit is not None else "max_groups_per_unit"
    return [
        f"{units}: each {query.context.unit} counts in {groups} at most, even if it has rows in more. To count it in "
        f"all of them, raise {more}"
    ]


def selection_notes(question: Question) -> tuple[str, ...]:
    """What choosing groups by noisy numbers does: those whose noise helped are chosen more often."""
    by = question.post.chosen_by([aggregate.output for aggregate in question.aggregates])
    if not by:
        return ()
    shown = " and ".join(name for output in by for name in question.post.names_of(output))
    hold = f", and the intervals of {shown} hold less often than stated. To have intervals that hold, show all groups"
    chosen = f"the groups shown were chosen by the noisy {' and '.join(by)}. A group that was left out may belong here"
    return (f"{chosen}{hold if shown else ''}",)


def counted_rows(query: Question) -> str:
    """Which rows an answer is about, where a unit may have more; otherwise nothing."""
    if is_each_row(query.plan) or not leaves_rows_out(query):
        return ""
    return query.effective.counted(query.context.unit, grouped=bool(query.grouping.keys))


def leaves_rows_out(query: Question) -> bool:
    """Whether rows of a unit with many may be left out of an answer, as far as the question alone tells."""
    limits, most = query.effective, most_rows(query.plan)
    if not query.grouping.keys and all(aggregate.by_any_row for aggregate in query.aggregates):
        return False  # a unit counts by any of its rows
    fewest = min(limits.rows, limits.touched) if query.grouping.keys else limits.rows
    return most is None or most > fewest


def noise_notes(items: Sequence[Item], spend: Budget) -> tuple[str, ...]:
    """Which noise was chosen where a delta allowed either, and why."""
    if not spend.noise_delta:
        return ()
    gaussian = [item.label for item in items if item.concentrated]
    if not gaussian:
        return ("delta is not spent: Laplace noise needs no delta and is smaller than Gaussian noise here",)
    where = "" if len(gaussian) == len(items) else f" for {', '.join(gaussian)}"
    return (f"delta is spent on Gaussian noise{where}, which is smaller than Laplace noise here",)


def _expected(
    query: Question, bound: Bound, items: Sequence[ReleaseItem], confidence: float, count: int | None
) -> Expectation:
    measured_in = "" if bound.pick is None else "ranks"
    try:
        error = error_of(bound, items, confidence, count)
        ends = bound.aggregate.ends(bound)
        return Expectation(bound.output, error, measured_in, whole=bound.aggregate.whole, bounds=ends)
    except UnsupportedQuery as unknown:
        return Expectation(bound.output, None, measured_in, _advice(unknown))


def _advice(unknown: UnsupportedQuery) -> str:
    """What to do about an error that is not known beforehand; a quote has its epsilon already."""
    return ANSWER_SAYS if unknown.instead.endswith(ANSWER_SAYS) else unknown.instead


def _ranks(item: Picks, confidence: float) -> float:
    low, high = item.pick.grid.steps
    return ranks_off(item.epsilon, item.rows, item.pick.share, high - low + 1, confidence)


def error_of(bound: Bound, items: Sequence[ReleaseItem], confidence: float, count: int | None) -> float:
    """How far an output may be off, exceeded with probability 1 − confidence at most; refused where data decides."""
    if bound.pick is not None:
        return _ranks(next(item for item in items if isinstance(item, Picks) and item.pick == bound.pick), confidence)
    each = 1 - (1 - Fraction(confidence)) / len(bound.statistics)
    by_statistic = noisy_statistics(items)
    widths = [by_statistic[statistic].half_width(each) for statistic in bound.statistics]
    return bound.aggregate.error(bound, widths, count)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The largest error among the outputs, in multiples of what was asked for."""

    query: Question
    items: tuple[ReleaseItem, ...]
    targets: Mapping[str, Fraction]
    rows: int | None

    def accuracy(self, confidence: float) -> float:
        """1 or less if every output is accurate enough."""
        by_name = {bound.output: bound for bound in self.query.bounds}
        if not by_name:
            why, hint = "its answer has no error that could be a target", "Say what to spend: epsilon=1."
            raise UnsupportedQuery(self.query.explain(), why, hint)
        errors = [
            Fraction(error_of(by_name[name], self.items, confidence, self.rows)) / target
            for name, target in self.targets.items()
        ]
        return float(max(errors))


def epsilon_within(
    query: Question,
    within: Number | Mapping[str, Number],
    confidence: Number,
    count: int | None,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
) -> float:
    """The smallest epsilon with which every output is as accurate as was asked for."""
    if epsilon is not None or rho is not None:
        raise InvalidParameter(
            "within", within, "cannot be combined with epsilon or rho: each of them sets the budget", "Leave one out."
        )
    outputs = [aggregate.output for aggregate in query.aggregates]
    if not isinstance(within, Mapping):
        within = dict.fromkeys(outputs, within)
    targets = {name: checks.positive(within=value) for name, value in within.items()}
    unknown = [name for name in targets if name not in outputs]
    if unknown:
        raise InvalidParameter("within", unknown[0], "is not a column of the answer", "Name one of the outputs.")

    def at(size: float) -> Accuracy:
        return Accuracy(query, query.items(query.budget(size, delta, None)), targets, count)

    return epsilon_for(at, within=1, confidence=float(confidence))


def ranks_note(bound: Bound, items: Sequence[ReleaseItem], confidence: float) -> str:
    """Which quantile it is, and how far it may be off, in ranks, because how far apart ranks are is a secret."""
    assert bound.pick is not None
    ranks, share = error_of(bound, items, confidence, None), bound.pick.share
    exact = "median" if share == Fraction(1, 2) else f"{100 * float(share):.6g} % quantile"
    off = "1 rank" if ranks == 1 else f"{ranks:,g} ranks"
    return f"at most {off} from the exact {exact}, with {100 * confidence:.6g} % confidence"
