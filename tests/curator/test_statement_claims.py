"""What a privacy statement claims is true in cases where the usual sentences are not."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.show.answer import Answer, Column
from lapwing.datasets import clinic_csv
from lapwing.errors import InvalidParameter
from lapwing.mechanisms import KeySelection
from lapwing.noise import Reproducible
from lapwing.privacy.quotes import risk

REGIONS = {"region": ["North", "South", "East", "West", "Coast", "Islands"]}
PUBLISHED = lw.Trust.except_published("count of total")


@pytest.fixture
def ledger(tmp_path: Path) -> lw.Ledger:
    return lw.Ledger(tmp_path / "ledger.db")


def clinic(ledger: lw.Ledger | None = None, allowance: lw.Loss | None = None) -> lw.PrivateTable:
    return lw.open(clinic_csv(), unit="patient", keys=REGIONS, ledger=ledger, dataset="clinic", allowance=allowance)


def of(loss: lw.Loss) -> str:
    return Answer((Column("n", "count", (3,)),), loss).statement().to_markdown()


def test_where_a_total_is_published_nothing_is_claimed_about_who_takes_part(ledger: lw.Ledger) -> None:
    table = clinic(ledger, lw.PureDP(3, unit="patient", trust=PUBLISHED))
    answer = table.release_hierarchy(["region"], lw.count(), invariants={(): 3000}, epsilon=1)
    statement = answer.statement(ledger, owner="The clinic")
    text = statement.to_markdown()
    for words in (text, str(answer.explain().text).split("\n\n")[0], risk(answer.loss)):
        assert "is in the data can become" not in words
        assert "at most 74 %" not in words
        assert "at most 89 %" in words
    assert (statement.facts["relation"], statement.facts["epsilon"]) == ("replace", 2)
    assert "and agree in what was published exactly (count of total)" in text
    assert "Everybody in the data must trust the clinic" in text
    assert "against nobody" not in text
    assert "For them this costs ε = 4." in text


def test_where_regions_are_published_a_belief_is_about_records_that_agree_in_them(ledger: lw.Ledger) -> None:
    """Somebody who knows all others can tell the region from the exact counts: they settle that question alone."""
    for words in (risk(lw.PureDP(1, trust=PUBLISHED)), lw.PureDP(1, trust=PUBLISHED).explain().text):
        assert "Take two possible records of a given person that lead to the same published numbers." in words
        assert "the record they guessed" not in words
        assert "of what the record" not in words
    text = of(lw.PureDP(1, unit="patient", trust=PUBLISHED))
    assert "whether one patient takes part, and in which of these numbers it counts." in text


@together(
    "loss",
    [
        lw.PureDP(1, trust=PUBLISHED),
        lw.ApproxDP(1, 1e-6, trust=PUBLISHED),
        lw.ZCDP(0.1, trust=PUBLISHED),
        lw.PLD([lw.PureDP(0.5, trust=PUBLISHED)] * 2, trust=PUBLISHED),
    ],
)
def test_a_loss_under_replace_also_says_what_published_numbers_settle(loss: lw.Loss) -> None:
    """The relation changes nothing about it: with the counts of all regions, an attacker is certain of the region."""
    under_replace = loss.to_replace().explain()
    assert under_replace.data | {"loss": ""} == loss.explain().data | {"loss": ""}
    for words in (under_replace.text, risk(loss.to_replace())):
        assert "Take two possible records of a given person that lead to the same published numbers." in words
        assert "of what the record" not in words
        assert "of what a given person's record" not in words
    said = under_replace.text.splitlines()
    assert said[0].endswith(" beyond the published numbers, at worst.")
    assert "if one person is replaced by another and the published numbers stay the same," in said[1]
    assert "the best test between two such records" in said[3]


def test_words_about_published_numbers_name_the_steps_that_are_protected() -> None:
    loss = lw.PureDP(1, unit="patient in any 7 consecutive days", trust=PUBLISHED)
    for read in (loss, loss.to_replace()):
        text = read.explain().text
        assert "about one patient from any 7 consecutive days beyond the published numbers, at worst." in text
        assert "Take two possible records of these days of a given patient that lead to the same" in text
        assert "one patient's record of these days is replaced by another and the published numbers stay" in text


def test_a_delta_for_two_that_the_mechanism_does_not_have_is_not_refused() -> None:
    loss = lw.ApproxDP(3, 1e-6, trust=PUBLISHED)
    assert "at δ = " not in loss.explain(population=100_000).data["loss"]
    with pytest.raises(InvalidParameter, match="delta"):
        loss.explain(population=2_000_000)


def test_a_guarantee_in_rho_is_also_said_as_an_epsilon() -> None:
    text = of(lw.ZCDP(Fraction("0.02")))
    assert "ρ = 0.02 (add\\_remove, per person), that is ε = 0.9" in text.replace("0.90", "0.9")
    assert "ρ = 0.08 (four times as much: ρ grows with the square)" in text
    assert "four times" not in of(lw.ZCDP(Fraction("0.02"), trust=PUBLISHED))


@pytest.mark.filterwarnings("ignore::lapwing.errors.WeakPrivacyWarning")
@together(
    "loss",
    [
        lw.ApproxDP(14, 1e-6),
        lw.ApproxDP(8, 1e-3),
        lw.ZCDP(3, 1e-6),
        lw.ApproxDP(30, 1e-5, trust=PUBLISHED),
        lw.ZCDP(0.1, 1e-6, trust=PUBLISHED),
        lw.PLD([lw.PureDP(0.1)] * 3),
        lw.PureDP(0.1).to_renyi(),
    ],
)
def test_a_guarantee_too_weak_for_groups_says_so_and_stops_nothing(loss: lw.Loss) -> None:
    for text in (of(loss), str(loss.explain())):
        assert "person" in text
    if isinstance(loss, lw.ApproxDP) and loss.epsilon >= 8:
        assert "Nothing is promised to them." in of(loss)


def test_no_sentence_takes_delta_for_the_chance_that_a_belief_is_exceeded() -> None:
    """It is not: a test of secret keys passes the limit of its epsilon far more often than with probability delta."""
    keys = KeySelection(epsilon=0.2, delta=1e-6)
    chances = {n: float(keys.probability(n)) for n in range(1, 200)}
    passed = [
        chance
        for n, chance in chances.items()
        if n > 1 and chance * math.exp(0.2) > 1.5 * chances[n - 1]  # the belief is above that of epsilon = 0.4
    ]
    assert max(passed) > 10 * 1e-6
    for text in (risk(lw.ApproxDP(0.4, 1e-6)), str(lw.ApproxDP(0.4, 1e-6).explain()), of(lw.ApproxDP(0.4, 1e-6))):
        assert "fails with probability" not in text
        assert "drawn without th" in text


def test_a_delta_of_any_answer_is_named_as_a_rare_failure(ledger: lw.Ledger) -> None:
    table = clinic(ledger, lw.ApproxDP(3, 1e-3, unit="patient"))
    table.agg(lw.count()).release(epsilon=0.1)
    quiet = table.agg(lw.count()).release(epsilon=0.5)
    assert "Rare failures" in quiet.statement(ledger).to_markdown()
    assert "Rare failures" not in quiet.statement().to_markdown()


def test_an_answer_with_noise_from_a_seed_has_no_statement() -> None:
    with pytest.warns(lw.errors.NotPrivateWarning):
        answer = clinic().agg(lw.count()).release(epsilon=0.5, entropy=Reproducible(7))
    assert "NOT PRIVATE" in str(answer)
    assert "NOT PRIVATE" in str(answer.explain())
    with pytest.raises(InvalidParameter, match="from a seed"):
        answer.statement()


def test_after_a_join_the_sum_of_both_data_sets_is_stated(ledger: lw.Ledger) -> None:
    visits = lw.open(
        pd.DataFrame({"patient": [str(i % 50) for i in range(100)]}),
        name="visits", unit="patient", ledger=ledger, dataset="visits", allowance=lw.PureDP(5, unit="patient"),
    )  # fmt: skip
    persons = lw.open(
        pd.DataFrame({"patient": [str(i) for i in range(50)], "sex": ["f"] * 50}),
        name="persons", unit="patient", keys={"sex": ["f", "m"]}, ledger=ledger, dataset="persons",
        allowance=lw.PureDP(2, unit="patient"),
    )  # fmt: skip
    visits.agg(lw.count()).release(epsilon=2)
    persons.agg(lw.count()).release(epsilon=1)
    answer = visits.join(persons, on="patient").group_by("sex").agg(lw.count()).release(epsilon=0.5)
    [total] = answer.statement(ledger).facts["together"]
    assert total["datasets"] == ["visits", "persons"]
    assert 3.5 <= total["spent"]["epsilon"] <= 4
    assert "at most 99 % sure" in total["spent"]["meaning"]
    assert "ε = 0.5 remained for questions about all of these data sets" in answer.statement().to_markdown()


def test_a_ledger_that_was_not_charged_is_refused(ledger: lw.Ledger, tmp_path: Path) -> None:
    free = clinic().agg(lw.count()).release(epsilon=1)
    ledger.open("clinic", lw.PureDP(1, unit="patient"))
    with pytest.raises(InvalidParameter, match="released without a ledger"):
        free.statement(ledger)
    ledger.charge("clinic", lw.PureDP(0.5, unit="patient"))  # it has the number that the charge of the other one has
    paid = clinic(lw.Ledger(tmp_path / "other.db"), lw.PureDP(1, unit="patient")).agg(lw.count()).release(epsilon=0.5)
    with pytest.raises(InvalidParameter, match="is no charge to the data set 'clinic' in this ledger"):
        paid.statement(ledger)
    assert paid.statement(tmp_path / "other.db").facts["budgets"]


def test_what_an_analyst_may_spend_is_not_called_everybodys(ledger: lw.Ledger) -> None:
    table = clinic(ledger, lw.PureDP(3, unit="patient"))
    ledger.open("clinic", lw.PureDP(0.5, unit="patient"), analyst="ada")
    answer = table.agg(lw.count()).release(epsilon=0.25, analyst="ada")
    for text in (str(answer.explain()), answer.statement().to_markdown()):
        assert "ε = 0.25 remain" in text
        assert "for the analyst who asked" in text
        assert "shared by all" not in text
        assert "ada" not in re.findall(r"\w+", text)


def test_what_remains_is_rounded_down_and_what_was_spent_up(ledger: lw.Ledger) -> None:
    answer = clinic(ledger, lw.PureDP(1, unit="patient")).agg(lw.count()).release(epsilon=Fraction(1, 3))
    facts = answer.statement(ledger).facts
    assert facts["remaining"]["text"] == "ε = 0.666666"
    for low in (facts["remaining"], facts["budgets"][0]["remaining"]):
        assert low["epsilon"] <= Fraction(2, 3)
    for high in (facts["cost"], facts["budgets"][0]["spent"], facts["budgets"][0]["days"][0]["cost"]):
        assert high["epsilon"] >= Fraction(1, 3)


def test_an_allowance_that_was_lowered_is_stated_as_it_is(ledger: lw.Ledger) -> None:
    answer = clinic(ledger, lw.PureDP(1, unit="patient")).agg(lw.count()).release(epsilon=0.5)
    ledger.open("clinic", lw.PureDP(0.1, unit="patient"))
    [budget] = answer.statement(ledger).facts["budgets"]
    assert (budget["allowance"]["epsilon"], budget["spent"]["epsilon"]) == (0.1, 0.5)


def test_a_stream_says_whether_it_was_charged(ledger: lw.Ledger, tmp_path: Path) -> None:
    ways = ((None, None), (ledger, lw.PureDP(1, unit="patient")))
    for place, (book, allowance) in enumerate(ways):
        question = clinic(book, allowance).stream(lw.count(), every="step", steps=12, active_steps=3)
        text = question.open(tmp_path / f"{place}.stream", epsilon=0.5).statement().to_markdown()
        assert ("It was charged once" in text) == (book is not None)
        assert ("No ledger records it" in text) == (book is None)


def test_only_streams_protect_some_days_of_a_unit() -> None:
    assert "Each guest in any room in the data." in of(lw.PureDP(1, unit="guest in any room"))
    assert "for what it does in any 7 consecutive days." in of(lw.PureDP(1, unit="guest in any 7 consecutive days"))
    assert "more than a single day is protected less" in of(lw.PureDP(1, unit="guest in any single day"))


def test_no_name_is_struck_out_or_becomes_a_link() -> None:
    text = of(lw.PureDP(1, unit="a~~b & https://x.example www.example @ada $x$"))
    assert not re.search(r"(?<!\\)[~&@$]|https://|www\.e", text)
