"""A release: checked, priced, and answered by the releaser of its tables; and what is done with the noisy columns."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lapwing import checks
from lapwing._version import __version__
from lapwing.checks import Number
from lapwing.curator.ask import checker
from lapwing.curator.ask.pricing import Budget
from lapwing.curator.ask.question import Question
from lapwing.curator.ask.quote import counted_rows, epsilon_within
from lapwing.curator.plan.evaluation import evaluate, sortable
from lapwing.curator.plan.nodes import JoinPublic, Plan
from lapwing.curator.show.answer import Answer, Column
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy import Loss
from lapwing.privacy.weak_privacy import warn_if_large

SMALL_GROUPS = dict.fromkeys(
    ("min_count", "minimum_count", "min_size", "min_group_size", "minimum", "threshold", "having"),
    "To show only groups with a noisy count of 10 or more, write HAVING COUNT(*) >= 10 in SQL.",
)
"""What to write instead where somebody wants to hide small groups."""


def release(
    query: Question,
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
    """The answer to a question, paid for before rows are touched and on record before it is shown."""
    context, releaser = query.context, query.context.releaser
    checks.text_or_none(analyst=analyst)
    checks.entropy(entropy)  # before the charge
    if key is not None and not releaser.keeps_count(context):
        why = "a key needs a ledger that keeps the answer; without a ledger, every answer has fresh noise"
        raise InvalidParameter("key", key, why, "Open the table with ledger='ledger.db', or leave it out.")
    if within is not None:
        epsilon = epsilon_within(query, within, confidence, count, epsilon=epsilon, delta=delta, rho=rho)
    elif count is not None:
        why = "says how many rows each group has at least, which only within= needs; it hides no group"
        raise InvalidParameter("count", count, why, f"Leave it out. {SMALL_GROUPS['min_count']}")
    sure = float(checks.probability(confidence=confidence))
    checks.probability(confidence=sure)  # as a double, too: nothing may be found out after the charge
    spend = query.budget(epsilon, delta, rho)
    warn_if_large(spend.stated, "this question")
    checker.check(query)  # once more, whoever made it: nothing reaches an engine in another way
    return releaser.answer(
        query,
        spend,
        query.items(spend),
        confidence=sure,
        entropy=entropy,
        analyst=analyst or context.analyst,
        key=key,
        progress=progress,
    )


def answer_of(
    query: Question,
    spend: Budget,
    columns: tuple[Column, ...],
    *,
    remaining: Loss | None,
    confidence: float,
    notes: tuple[str, ...],
    engine: str,
    charge: int | None = None,
) -> Answer:
    """The answer with these noisy columns; `engine` is a word for what computed them, `charge` a number in a ledger."""
    provenance, shown = _provenance(query, spend, engine, charge), afterwards(query, columns)
    if "rollup" in provenance and len(shown[0].values) < len(columns[0].values):
        provenance["rollup"]["cut"] = True
    return Answer(shown, spend.stated, remaining, confidence, notes, provenance)


def afterwards(query: Question, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """HAVING, ORDER BY, LIMIT and the columns asked for: post-processing of what is released already."""
    post = query.post
    rows = [
        dict(zip([c.name for c in columns], values, strict=True))
        for values in zip(*(c.values for c in columns), strict=True)
    ]
    order = [i for i, row in enumerate(rows) if post.having is None or evaluate(post.having, row) is True]
    for expression, descending in reversed(post.order):
        order.sort(key=lambda i: sortable(evaluate(expression, rows[i])), reverse=descending)
    stop = None if post.limit is None else post.offset + post.limit
    order = order[post.offset : stop]
    by_name = {}
    for column in columns:
        noise, interval = (
            None if spans is None else tuple(spans[i] for i in order) for spans in (column.noise, column.interval)
        )
        by_name[column.name] = replace(
            column, values=tuple(column.values[i] for i in order), noise=noise, interval=interval
        )
    if post.outputs is None:
        return tuple(by_name.values())
    outputs = []
    for name, expression in post.outputs:
        same = by_name.get(getattr(expression, "name", ""))
        if same is not None:
            outputs.append(replace(same, name=name))
        else:
            values = tuple(evaluate(expression, rows[i]) for i in order)
            outputs.append(Column(name, "computed", values, note="computed from other columns", type=expression.kind))
    return tuple(outputs)


def _provenance(query: Question, spend: Budget, engine: str, charge: int | None) -> dict[str, Any]:
    """How the answer came about; nothing in it is random, so nothing in it helps to subtract the noise."""
    return {
        "lapwing": __version__,
        "question": query.text or query.explain(),
        "plan": query.digest(),
        "loss": str(spend.stated),
        "datasets": list(query.context.datasets),
        "engine": engine,
        "charge": charge,
        "counted": counted_rows(query) or None,
        "public": {plan.table: hashlib.sha256(repr(plan.rows).encode()).hexdigest() for plan in publics(query.plan)},
        **query.shape(),
        "released_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def publics(plan: Plan) -> list[Any]:
    """The public tables of a plan."""
    tables = [plan.public] if isinstance(plan, JoinPublic) else []
    return tables + [public for parent in plan.parents() for public in publics(parent)]
