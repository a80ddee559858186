"""Who answers is exchangeable: the same questions, answered by somebody who has the rows in no engine.

`Lists` stands for such a room. It is a real one, of the plainest kind: rows are lists in Python, integers come from the
oracle, the relation is `replace`, the noise is Laplace noise for `Statistic.replaced`, and it keeps its own book.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, get_args

import oracle
import polars as pl
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.ask.central import CENTRAL
from lapwing.curator.ask.columns import columns_from
from lapwing.curator.ask.context import Context
from lapwing.curator.ask.pricing import Budget, shares_of
from lapwing.curator.ask.quote import plan_notes
from lapwing.curator.ask.release import answer_of
from lapwing.curator.ask.releaser import Step
from lapwing.curator.engines.elsewhere import Elsewhere
from lapwing.curator.plan.declarations import EACH_ROW, declared_fields
from lapwing.curator.plan.nodes import Scan
from lapwing.curator.plan.statistics import Bounding, Pick, Statistic
from lapwing.errors import BudgetExceeded, InvalidParameter, UnsupportedQuery
from lapwing.mechanisms import Laplace
from lapwing.pair.table import _STEPS

KINDS: Mapping[str, Any] = {"age": "integer", "pay": "number", "town": "text", "smoker": "boolean"}
DECLARED: Mapping[str, Any] = {
    "bounds": {"age": (10, 60), "pay": (-20, 200)},
    "keys": {"town": list("ABC")},
    "types": KINDS,
}
ROWS = [
    {"age": n % 80, "pay": None if n % 7 == 0 else 1.5 * n, "town": "CCABBCD"[n % 7], "smoker": n % 3 == 0}
    for n in range(200)
]
EXACT = 10**24
"""An epsilon so large that no noise is left in whole numbers of steps."""


@dataclass(frozen=True)
class ReplaceNoise:
    """Laplace noise for what replacing one row can move."""

    statistic: Statistic
    epsilon: Fraction
    bounding: Bounding
    grouped: bool
    unit: str
    outputs: tuple[str, ...]

    @property
    def label(self) -> str:
        return str(self.statistic)

    @property
    def mechanism(self) -> Laplace:
        moved = self.statistic.replaced(self.bounding, grouped=self.grouped)
        return Laplace(epsilon=self.epsilon, sensitivity=moved, on_grid=True, unit=self.unit, relation="replace")

    def privacy_loss(self) -> Any:
        return self.mechanism.privacy_loss()

    def half_width(self, confidence: Any) -> float:
        return self.mechanism.accuracy(confidence)  # type: ignore[return-value]

    @property
    def error(self) -> float:
        return self.half_width(0.95)


@dataclass(eq=False)
class Lists:
    """Answers from lists, of a budget of its own."""

    tables: Mapping[str, list[dict[str, Any]]]
    left: Fraction = Fraction(10**30)
    asked: list[str] = field(default_factory=list)

    def refuse(self, question: Any) -> None:
        if question.grouping.secret:
            hint = "Name the keys: keys={'town': ['A', 'B']}."
            raise UnsupportedQuery(question.explain(), "lists do not test secret keys", hint)
        if any(isinstance(purpose, Pick) for bound in question.bounds for purpose in bound.needs):
            raise UnsupportedQuery(question.explain(), "lists have no quantiles", "Ask for a histogram.")

    def refuse_step(self, step: str) -> None:
        raise UnsupportedQuery(step, "nobody has all rows in one place", "Ask a question.")

    def keeps_count(self, context: Context) -> bool:
        return True

    def remaining(self, context: Context, analyst: str | None) -> Any:
        return lw.PureDP(self.left, relation="replace", unit=context.unit)

    def budget(self, question: Any, epsilon: Any, delta: Any, rho: Any) -> Budget:
        if delta is not None or rho is not None:
            raise UnsupportedQuery("rho", "lists have no Gaussian noise", "Write epsilon=1.")
        size = Fraction(epsilon)
        return Budget(size, False, Fraction(0), lw.PureDP(size, relation="replace", unit=question.context.unit))

    def items(self, question: Any, spend: Budget) -> tuple[Any, ...]:
        shares = {purpose: (share.weight, share.outputs) for purpose, share in shares_of(question.bounds).items()}
        if question.top is not None:
            shares = {Statistic("units"): (Fraction(1), (question.top.output,))}
        whole, grouped = sum(weight for weight, _ in shares.values()), question.grouping.size > 1
        return tuple(
            ReplaceNoise(s, spend.size * weight / whole, question.effective, grouped, question.context.unit, outputs)
            for s, (weight, outputs) in shares.items()
        )

    def notes(self, question: Any, spend: Budget, items: tuple[Any, ...]) -> tuple[str, ...]:
        return ("answered from lists", *plan_notes(question))

    def answer(self, question: Any, spend: Budget, items: Any, **options: Any) -> Any:
        if spend.size > self.left:
            raise BudgetExceeded(spend.stated, self.remaining(question.context, None))
        self.left -= spend.size
        self.asked.append(question.digest())
        places = oracle.integers(question, self.tables, b"")
        nothing, groups = (0,) * len(question.statistics), max(1, question.grouping.size)
        numbers = [places.get(place, nothing) for place in range(groups)]
        exact = dict(zip(question.statistics, zip(*numbers, strict=True), strict=True))
        noisy = {
            item.statistic: [int(item.mechanism.release(n, options["entropy"])) for n in exact[item.statistic]]
            for item in items
        }
        confidence = options["confidence"]
        columns = columns_from(question, items, noisy, confidence)
        left, notes = self.remaining(question.context, None), self.notes(question, spend, items)
        return answer_of(
            question, spend, columns, remaining=left, confidence=confidence, notes=notes, engine="lists"
        )  # fmt: skip


ENGINE = Elsewhere("lists", "nobody has all rows in one place", "Ask a question.")


def in_lists(rows: list[dict[str, Any]] = ROWS, name: str = "rows", **options: Any) -> lw.PrivateTable:
    fields = declared_fields(KINDS, EACH_ROW, DECLARED["bounds"], options.get("keys", DECLARED["keys"]), {})
    scan = Scan(name, fields, each_row=True)
    context = Context(ENGINE, {name: ENGINE.relation(scan)}, "person", (name,), releaser=Lists({name: rows}))
    return lw.PrivateTable(scan, context)


def in_an_engine() -> lw.PrivateTable:
    return lw.open(pl.DataFrame(ROWS), name="rows", unit=lw.EACH_ROW, **DECLARED)


QUESTIONS = [
    "SELECT COUNT(*) AS n, SUM(pay) AS s, AVG(age) AS a, COUNT(DISTINCT age) AS d FROM rows WHERE smoker",
    "SELECT town, AVG(pay) AS m, COUNT(*) AS n FROM rows GROUP BY town HAVING n > 10 ORDER BY m DESC LIMIT 2",
    "SELECT smoker, town, VAR_POP(age) AS v, COUNT(pay) AS n FROM rows GROUP BY smoker, town ORDER BY n",
    "SELECT 2 * COUNT(*) AS twice, CORR(age, pay) AS c FROM rows WHERE age >= 18 AND town <> 'A'",
]


@together("text", QUESTIONS)
def test_the_same_question_has_the_same_columns_whoever_answers(text: str) -> None:
    elsewhere, here = in_lists().query(text), in_an_engine().query(text)
    assert elsewhere.digest() == here.digest()
    one, other = elsewhere.release(epsilon=EXACT), here.release(epsilon=EXACT)
    for mine, theirs in zip(one.columns, other.columns, strict=True):
        assert (mine.name, mine.kind, mine.type, mine.note) == (theirs.name, theirs.kind, theirs.type, theirs.note)
        assert mine.values == pytest.approx(theirs.values)
    assert (one.provenance["engine"], one.loss.relation) == ("lists", "replace")
    assert lw.Answer.from_json(one.to_json()) == one


def test_a_histogram_and_the_top_keys_are_made_of_noisy_numbers() -> None:
    for ask in (lambda t: t.agg(lw.histogram("age", edges=[0, 20, 60, 90])), lambda t: t.agg(lw.top_k("town", 2))):
        one, other = (ask(table).release(epsilon=EXACT) for table in (in_lists(), in_an_engine()))
        assert one.to_dict() == other.to_dict()


def test_of_equal_numbers_the_first_key_is_on_top() -> None:
    query = in_lists().agg(lw.top_k("town", 2, name="place"))
    ranks, keys = columns_from(query, (), {Statistic("units"): [7, -2, 7]}, 0.95)
    assert (ranks.name, ranks.values, keys.values) == ("place", (1, 2), ("A", "C"))
    with pytest.raises(InvalidParameter, match="a number for each group"):
        columns_from(query, (), {Statistic("units"): [7, 7]}, 0.95)


def test_budget_quote_and_remaining_are_those_of_whoever_answers() -> None:
    table = in_lists()
    releaser: Any = table.context.releaser
    releaser.left = Fraction(3)
    query = table.group_by("town").agg(lw.count(), lw.sum("age"))
    quote = query.quote(epsilon=2)
    assert quote.loss == lw.PureDP(2, relation="replace", unit="person")
    assert [line.loss.relation for line in quote.lines] == ["replace", "replace"]
    assert quote.notes[0] == "answered from lists"
    assert lw.NO_LEDGER not in quote.notes
    assert (quote.remaining, quote.remaining_after()) == (table.remaining(), lw.PureDP(1, relation="replace"))
    twice = [in_an_engine().group_by("town").agg(lw.count(), lw.sum("age")).quote(epsilon=1).expected]
    assert [line.error for line in quote.expected] == [line.error for line in twice[0]], "replace moves two groups"
    query.release(epsilon=2, key="monday")
    with pytest.raises(BudgetExceeded):
        query.release(epsilon=2)
    assert table.remaining() == lw.PureDP(1, relation="replace", unit="person")


def test_how_accurate_an_answer_must_be_finds_the_epsilon_of_whoever_answers() -> None:
    for ask in (lambda t: t.agg(lw.count()), lambda t: t.group_by("town").agg(lw.count())):
        sizes = [ask(table).quote(within=20).loss.epsilon for table in (in_lists(), in_an_engine())]
        assert float(sizes[0] / sizes[1]) == pytest.approx(1 if not ask(in_lists()).grouping.keys else 2, rel=1e-3)


REFUSED = {
    "secret keys": lambda t: t.group_by("age").agg(lw.count()).quote(epsilon=1, delta=1e-6),
    "quantiles": lambda t: t.agg(lw.median("age")).release(epsilon=1),
    "quantiles by accuracy": lambda t: t.agg(lw.median("age")).quote(within=3),
    "Gaussian noise": lambda t: t.agg(lw.count()).release(rho=1),
    "exact answers": lambda t: t.agg(lw.count()).unprotected(),
    "a check": lambda t: t.check(),
    "records": lambda t: t.raw_rows(["age"]),
    "proposed bounds": lambda t: t.bounds("age", epsilon=1),
}


@together("step", list(REFUSED.values()))
def test_what_somebody_does_not_answer_is_refused_before_it_is_priced_or_paid(step: Any) -> None:
    table = in_lists()
    releaser: Any = table.context.releaser
    before = releaser.left
    with pytest.raises(UnsupportedQuery, match=r"lists|one place"):
        step(table)
    assert (releaser.left, releaser.asked) == (before, [])


def test_rows_that_are_elsewhere_cannot_be_read_even_by_who_forgot_to_ask() -> None:
    table = in_lists()
    careless = replace(table, context=replace(table.context, releaser=CENTRAL))
    for step in (lambda: careless.agg(lw.count()).release(epsilon=1), careless.check, lambda: careless.raw_rows("age")):
        with pytest.raises(UnsupportedQuery, match="in one place"):
            step()


def test_tables_of_different_releasers_are_not_joined() -> None:
    one = lw.open(pl.DataFrame({"who": ["a"]}), name="one", unit="who")
    other = replace(one, context=replace(one.context, releaser=Lists({})))
    with pytest.raises(UnsupportedQuery, match="different ways to release answers"):
        one.join(other)


def test_an_answer_without_a_book_has_no_key() -> None:
    with pytest.raises(InvalidParameter, match="a key needs a ledger"):
        in_an_engine().agg(lw.count()).release(epsilon=1, key="monday")


def test_two_servers_say_what_to_do_instead_of_every_step() -> None:
    assert set(_STEPS) == set(get_args(Step))


@together(
    "question",
    [
        lambda table: table.marginals([["town", "smoker"], ["town"]]),
        lambda table: table.agg(lw.cdf("age", edges=[0, 20, 40])),
    ],
)
def test_what_needs_several_kinds_of_noise_is_refused_where_nobody_has_the_rows(question: Any) -> None:
    table = in_lists()
    for ask in (question(table).quote, question(table).release):
        with pytest.raises(UnsupportedQuery, match="Ask a question"):
            ask(epsilon=1)
    assert not table.context.releaser.asked  # type: ignore[attr-defined]
