"""What can be rolled up: numbers that add up, so that a group is the sum of its parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lapwing.curator.aggregates.base import Bound, Estimator
from lapwing.curator.plan.nodes import is_each_row
from lapwing.curator.plan.rollups import Rollup, check_labels, known_paths
from lapwing.errors import InvalidParameter, UnsupportedQuery
from lapwing.privacy import Loss, Trust

if TYPE_CHECKING:
    from lapwing.curator.ask.question import Question


def check_rollup(question: Question) -> None:
    """Refuse a rollup whose numbers would not add up, before anything is priced."""
    rollup, grouping, effective = question.rollup, question.grouping, question.effective
    assert rollup is not None
    if question.top is not None or not grouping.keys:
        raise UnsupportedQuery(question.explain(), "there is nothing to add up", "Ask for lw.count(), by some keys.")
    check_labels(rollup, grouping)
    for bound in question.bounds:
        kinds = {statistic.kind for statistic in bound.statistics}
        if not isinstance(bound.aggregate, Estimator) or bound.pick is not None or "distinct" in kinds:
            why = "it is not a sum over the parts of a group, so levels cannot be made to agree"
            raise UnsupportedQuery(str(bound.aggregate), why, "Roll up counts, sums and means, and ask it separately.")
        if "units" in kinds and effective.touched > 1:
            why = "a unit in two groups would be counted twice in the total"
            raise UnsupportedQuery(
                str(bound.aggregate), why, "Write bounded(max_rows_per_unit=1), or ask for lw.count()."
            )
    if grouping.secret:
        if effective.touched > 1:
            why = "with secret keys (not declared), a unit in two groups would count twice on the level above"
            raise UnsupportedQuery(question.explain(), why, "Write bounded(max_rows_per_unit=1), or name the keys.")
        if rollup.given:
            why = "the values of the first keys are private as well"
            raise UnsupportedQuery(question.explain(), why, "Roll up all keys: GROUP BY ROLLUP (a, b).")
        if not isinstance(rollup.weights, str) and not all(rollup.weights):
            raise InvalidParameter("weights", rollup.weights, "must be above 0 where keys are secret", "Leave it out.")
    if rollup.invariants:
        if len(question.bounds) > 1 or not question.aggregates[0].counts:
            outputs = [bound.output for bound in question.bounds]
            why = f"are published numbers of a count, and this question asks for {' and '.join(outputs)}"
            raise InvalidParameter("invariants", dict(rollup.invariants), why, "Ask for lw.count() alone.")
        known_paths(rollup, grouping, secret=grouping.secret)


def trust_of(question: Question) -> Trust | None:
    """What a rollup does not protect, because it was published."""
    rollup = question.rollup
    if rollup is None or not rollup.invariants:
        return None
    output = question.aggregates[0].output
    return Trust.except_published(*(f"{output} of {rollup.name_of(path)}" for path, _ in rollup.invariants))


def rollup_notes(question: Question, loss: Loss) -> tuple[str, ...]:
    """What to know about levels that add up, at this price."""
    rollup = question.rollup
    if rollup is None:
        return ()
    post, bounds = question.post, question.bounds
    added = {bound: post.names_of(bound.output) for bound in bounds if bound.aggregate.adds_up}
    shown = [name for names in added.values() for name in names]
    averaged = any(post.names_of(bound.output) for bound in bounds if not bound.aggregate.adds_up)
    levels, remarks = " → ".join(rollup.levels), list[str]()
    if shown and post.cuts:
        remarks.append(f"HAVING or LIMIT may have left groups out. Those that are shown need not add up ({levels})")
    elif shown:
        alone = len(shown) >= sum(name not in rollup.names for name, _ in post.outputs or ())
        adding = "counts and sums" if averaged else "the numbers" if alone else " and ".join(shown)
        remarks.append(f"{adding} of all levels add up: {levels}")
    if averaged:
        remarks.append(
            "means and spreads are computed for each group by itself, so they need not fit those of its parts"
        )
    rounded = [name for bound, names in added.items() if not _is_whole(bound, rollup) for name in names]
    if rounded and not post.cuts:
        remarks.append(
            f"{' and '.join(rounded)}: shown with as many digits as the noise leaves meaningful. So the numbers as "
            "shown need not add up; those in to_csv() do"
        )
    if shown and rollup.integers:
        remarks.append(
            "an interval says where the exact number lies, and is around an estimate. The answer beside it is this "
            "estimate, rounded and adjusted so that all levels add up and no count is negative. So the answer need not "
            "lie in the middle. Where it would lie outside, the interval was widened to include it"
        )
    if question.grouping.secret:
        remarks.append("rows of a group that are not shown, and rows without a key, are in its row for everything else")
    return (*remarks, *_published_notes(question, loss))


def _is_whole(bound: Bound, rollup: Rollup) -> bool:
    """Whether its numbers are whole, which are shown in full."""
    return rollup.integers and all(grid.granularity.denominator == 1 for grid in bound.grids)


def _published_notes(question: Question, loss: Loss) -> tuple[str, ...]:
    """What numbers that were published exactly must be, and what they leave protected."""
    trust, unit = trust_of(question), question.context.unit
    if trust is None:
        return ()
    single = len(trust.published) == 1
    it, agree = ("it", "this number") if single else ("them", "these numbers")
    each_row = is_each_row(question.plan)
    limits = "" if each_row else f" and rows beyond the limits per {unit}"
    kept = replace(loss, trust=None).to_replace()
    return (
        f"NOT PROTECTED: {', '.join(trust.published)}. {'It was' if single else 'They were'} published exactly, so no "
        f"epsilon protects {it}",
        f"what stays protected is in which group a {unit} is. Between two tables that agree in {agree}, in which one "
        f"{unit} is in different groups, the loss is at most {kept}",
        f"{agree} must be exact for the rows used: rows without a declared key{limits} do not count. Otherwise no "
        "interval holds",
    )
