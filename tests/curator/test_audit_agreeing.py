"""Marginals and distributions put to the auditor's test: rows of the engine, bounding, noise, least squares and all.

The integers are the same for one salt, so the engine is asked once for each table and the noise is drawn many times by
the code of a real release. Broken twins, which pay for less than one unit can change, must be caught. All of it is a
sweep: other questions are audited in tests/curator/test_audit.py before a change lands.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from questions import fetch, salted

import lapwing as lw
from lapwing.adversary import Pair, audit
from lapwing.curator.ask import distribution, marginals
from lapwing.errors import NotPrivateWarning
from lapwing.noise import Entropy, Reproducible

FALSE_ALARM = 1e-6
SAMPLES, EPSILON = 1200, Fraction(3, 2)
TEETH = 0.2
"""A sound release shows at least this share of its claim; a claim of less would be caught."""
Numbers = Sequence[tuple[int, int]]
LOOKS: dict[str, Any] = {"marginals": marginals, "cdf": distribution}


def opened(rows: int) -> lw.PrivateTable:
    """Somebody with so many equal rows, and one other person."""
    columns = {"who": [0] * rows + [1], "town": ["A"] * rows + ["B"], "age": [5] * rows + [15]}
    schema = {"who": pl.Int64, "town": pl.String, "age": pl.Int64}
    table = lw.open(pl.DataFrame(columns, schema=schema), unit="who", name="t", keys={"town": ["A", "B"]})
    return table.bounded(max_rows_per_unit=2)


@dataclass(frozen=True)
class Prepared:
    """The integers of a question, read once."""

    counts: Numbers

    def begin(self) -> None:
        """There is nothing to connect to."""


def ask(kind: str, table: lw.PrivateTable) -> Any:
    if kind == "marginals":
        return table.marginals([["town", "old"], ["old"]], old="age > 10", integers=True, weights=[20, 1])
    return table.agg(lw.cdf("age", edges=[0, 10, 20]))


def releaser(
    kind: str, question: Any, items: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Prepared, Entropy], Any]:
    """The code of a real release, of a question asked already."""
    module = LOOKS[kind]
    monkeypatch.setattr(module, "totals_of", lambda query, session, entropy: list(session.counts))
    look = marginals.look_at_marginals if kind == "marginals" else distribution.look_at_distribution

    def release(prepared: Prepared, entropy: Entropy) -> Any:
        return [column.values for column in look(question, items, 0.95, prepared, entropy)]  # type: ignore[arg-type]

    return release


def numbers(kind: str, rows: int) -> Prepared:
    by_place = fetch(ask(kind, opened(rows)), salted(1))
    return Prepared([(place, count) for place, (count,) in by_place.items()])


def priced(kind: str, size: Fraction | int) -> tuple[Any, Any]:
    question = ask(kind, opened(1))
    return question, question.priced(question.budget(size, None, None))


def entropy() -> Reproducible:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return Reproducible(b"%032d" % 4)


def audited(kind: str, items: Any, question: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    pair = Pair(numbers(kind, 0), numbers(kind, 9), note="somebody with many equal rows, of which two count")
    release = releaser(kind, question, items, monkeypatch)
    return audit(release, pair, samples=SAMPLES, claimed=EPSILON, confidence=1 - FALSE_ALARM, entropy=entropy())


@pytest.mark.sweep
@pytest.mark.parametrize("kind", LOOKS)
def test_the_auditor_never_beats_the_stated_loss_and_comes_near_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question, items = priced(kind, EPSILON)
    verdict = audited(kind, items, question, monkeypatch)
    assert not verdict.caught
    assert verdict.epsilon_lower_bound > TEETH * EPSILON


@pytest.mark.sweep
@pytest.mark.parametrize("kind", LOOKS)
def test_a_twin_that_pays_for_one_row_where_two_count_is_caught(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    question, items = priced(kind, 2 * EPSILON)  # noise for one row at this loss is noise for two at twice the loss
    assert audited(kind, items, question, monkeypatch).caught
