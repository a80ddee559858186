"""A privacy statement says what was promised, in three forms, and nothing that was not public."""

from __future__ import annotations

import json
import re
from datetime import date
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest
from cases import together

import lapwing as lw
from lapwing.curator.show.answer import Answer, Column
from lapwing.datasets import clinic_csv
from lapwing.errors import InvalidParameter, LapwingError
from lapwing.privacy import Ledger, PureDP


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db")


@pytest.fixture
def answer(ledger: Ledger) -> Answer:
    table = lw.open(
        clinic_csv(),
        unit="patient",
        bounds={"age": (0, 120)},
        ledger=ledger,
        dataset="clinic",
        allowance=PureDP(2, unit="patient"),
        analyst="ada",
    )
    table.agg(lw.count()).release(epsilon=0.25)
    return table.agg(lw.count(), lw.mean("age")).release(epsilon=0.5)


@together("delta", [1e-9, 1e-6, 1e-3])
def test_an_answer_with_secret_keys_for_a_rho_can_be_read_in_every_form(delta: float) -> None:
    """What was paid for is shown: no delta of its own stands in the way of the words."""
    table = lw.open(clinic_csv(), unit="patient")
    answer = table.group_by("region").agg(lw.count()).release(rho=1, delta=delta)
    for shown in (str(answer), answer._repr_html_(), str(answer.explain()), answer.statement().to_markdown()):
        assert "region" in shown or "patient" in shown


class Words(HTMLParser):
    """The text of a page, and the tags in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def forms(answer: Answer, ledger: Ledger | None = None, **more: str) -> list[str]:
    statement = answer.statement(ledger, **more)
    facts = json.loads(statement.to_json())
    assert facts == statement.facts
    markdown = re.sub(r"\\(.)", r"\1", statement.to_markdown())
    return [json.dumps(facts, ensure_ascii=False), markdown, " ".join(Words(statement.to_html()).text)]


def test_every_form_names_the_unit_the_relation_the_cost_and_the_trust(answer: Answer) -> None:
    for text in forms(answer, owner="The clinic"):
        assert "patient" in text
        assert "add_remove" in text
        assert "ε = 0.5" in text
        assert "Everybody in the data must trust the clinic" in text
        assert "weaker for two patients that belong together. For them this costs ε = 1." in text


def test_with_the_ledger_it_lists_the_days_and_their_totals(answer: Answer, ledger: Ledger) -> None:
    [budget] = answer.statement(ledger).facts["budgets"]
    [day] = budget["days"]
    assert day["charges"] == 2
    assert day["cost"] == day["spent"] == {"text": "ε = 0.75", "epsilon": 0.75}
    assert budget["remaining"] == {"text": "ε = 1.25", "epsilon": 1.25}
    assert budget["allowance"]["epsilon"] == 2
    for text in forms(answer, ledger):
        assert "ε = 0.75" in text
        assert "ε = 1.25" in text


def test_with_the_ledger_it_says_what_all_answers_and_the_whole_budget_tell_an_attacker(
    answer: Answer, ledger: Ledger
) -> None:
    for text in forms(answer, ledger)[1:]:
        strength = text.partition("How strongly")[2].partition("Privacy budget over time")[0]
        assert "This answer costs ε = 0.5 (add_remove, per patient)" in strength
        assert re.findall(r"at most (\d+) % sure", strength) == ["63", "68", "89"]
        assert "For them this costs ε = 1. For them all answers so far together cost ε = 1.5." in text


def test_numbers_of_every_kind_of_loss_are_numbers_for_programs(tmp_path: Path) -> None:
    for loss in (lw.ApproxDP(0.1, 1e-9), lw.ZCDP(0.1)):
        ledger = Ledger(tmp_path / f"{type(loss).__name__}.db")
        ledger.open("clinic", 20 * loss)
        for _ in range(3):
            ledger.charge("clinic", loss)
        answer = Answer((Column("n", "count", (3,)),), loss, provenance={"datasets": ["clinic"]})
        facts = json.loads(answer.statement(ledger).to_json())
        name = "rho" if isinstance(loss, lw.ZCDP) else "epsilon"
        assert facts["cost"][name] == 0.1
        [budget] = facts["budgets"]
        assert [budget[part][name] for part in ("spent", "allowance", "remaining")] == [0.3, 2, 1.7]
        assert budget["days"][0]["spent"][name] == 0.3
        assert budget["spent"]["delta"] == pytest.approx(0 if name == "rho" else 3e-9, rel=1e-8)


def test_a_long_history_is_summed_and_loses_nothing(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.open("clinic", PureDP(600, unit="patient"))
    for day in range(500):
        monkeypatch.setattr("time.time", lambda day=day: 1_700_000_000 + 86_400 * day)
        ledger.charge("clinic", PureDP(0.5, unit="patient"))
        ledger.charge("clinic", PureDP(0.5, unit="patient"))
    origin = {"datasets": ["clinic"]}
    statement = Answer((Column("n", "count", (3,)),), PureDP(0.5, unit="patient"), provenance=origin).statement(ledger)
    assert [day["charges"] for day in statement.facts["budgets"][0]["days"]] == [2] * 500
    rows = re.findall(r"^\| (\d\S*)(?: to (\S*))? \| ε = (\S+) \| ε = (\S+) \|$", statement.to_markdown(), re.MULTILINE)
    assert len(rows) == 12
    assert rows[0][:2] == ("2023-11-14", "2024-10-31")
    assert rows[1][:2] == ("2024-11-01", "2024-11-30")
    assert rows[-1] == ("2025-03-27", "", "1", "500")
    assert sum(float(row[2]) for row in rows) == 500


def test_no_sum_of_days_is_stated_as_less_than_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, cost in enumerate((Fraction("0.50000000002"), Fraction(1, 3), Fraction("0.1"))):
        ledger, loss = Ledger(tmp_path / f"{number}.db"), PureDP(cost, unit="patient")
        ledger.open("clinic", PureDP(100, unit="patient"))
        for day in range(90):
            monkeypatch.setattr("time.time", lambda day=day: 1_700_000_000 + 86_400 * day)
            ledger.charge("clinic", loss)
        answer = Answer((Column("n", "count", (3,)),), loss, provenance={"datasets": ["clinic"]})
        text = answer.statement(ledger).to_markdown()
        rows = re.findall(r"^\| (\d\S*)(?: to (\S*))? \| ε = (\S+) \| ε = (\S+) \|$", text, re.MULTILINE)
        assert len(rows) == 10
        for first, last, stated, _ in rows:
            days = (date.fromisoformat(last or first) - date.fromisoformat(first)).days + 1
            assert days * cost <= Fraction(stated) <= days * cost * (1 + Fraction(1, 100_000))
        assert rows[0][2] == rows[0][3]
    assert text.count("| ε = 0.1 |") == 6
    assert rows[0][2] == "1.7"


def test_a_statement_before_anything_was_charged_has_an_empty_history(ledger: Ledger) -> None:
    ledger.open("clinic", PureDP(2, unit="patient"))
    origin = {"datasets": ["clinic"]}
    statement = Answer((Column("n", "count", (3,)),), PureDP(0.5, unit="patient"), provenance=origin).statement(ledger)
    assert statement.facts["budgets"][0]["days"] == []
    assert "so far together cost nothing per patient" in statement.to_markdown()


def test_the_history_of_a_ledger_adds_up_for_every_unit(ledger: Ledger) -> None:
    ledger.open("visits", PureDP(3, unit="patient"))
    ledger.open("visits", PureDP(10, unit="household"))
    for cost in (0.5, 0.25):
        ledger.charge("visits", [PureDP(cost, unit="patient"), PureDP(4 * cost, unit="household")])
    assert [past.total for past in ledger.history("visits", "household")][-1] == ledger.spent("visits", "household")
    assert [past.loss for past in ledger.history("visits", "patient")] == [
        PureDP(0.5, unit="patient"),
        PureDP(0.25, unit="patient"),
    ]
    with pytest.raises(LapwingError):
        ledger.history("visits")
    assert Ledger(ledger._store.name).history("visits", "patient") == ledger.history("visits", "patient")


def test_analysts_and_times_of_day_are_left_out(answer: Answer, ledger: Ledger) -> None:
    for text in forms(answer, ledger):
        assert "ada" not in re.findall(r"\w+", text)
        assert not re.search(r"\d\d:\d\d", text)


def test_a_ledger_that_does_not_know_the_data_set_is_refused(answer: Answer, tmp_path: Path) -> None:
    other = Ledger(tmp_path / "other.db")
    with pytest.raises(InvalidParameter, match="clinic"):
        answer.statement(other)


def test_a_delta_and_a_trust_are_stated() -> None:
    trust = lw.Trust(
        towards="either server alone", not_towards="both together", behaviour="semi-honest", assumes=("AES-128",)
    )
    column = Column("n", "count", (3,))
    for text in forms(Answer((column,), lw.ApproxDP(1, 1e-6, trust=trust))):
        assert "1e-06" in text
        assert "both together" in text
        assert "AES-128" in text
        assert "must trust" not in text


def test_names_cannot_become_markup() -> None:
    strange = "<script>alert(1)</script> [a](b) | `c`"
    loss, column = PureDP(1, unit=strange), Column("n", "count", (3,))
    statement = Answer((column,), loss, provenance={"question": strange, "datasets": [strange]}).statement(
        owner=strange
    )
    assert "script" not in Words(statement.to_html()).tags
    assert not re.search(r"(?<!\\)(<script|\[a\]|`c)", statement.to_markdown())


def test_the_page_loads_nothing_and_can_be_printed(answer: Answer, ledger: Ledger) -> None:
    page = answer.statement(ledger).to_html()
    assert "@media print" in page
    assert not {"script", "link", "img", "iframe"} & Words(page).tags
    assert "http" not in page


def test_a_quote_has_a_statement_that_releases_nothing(ledger: Ledger) -> None:
    table = lw.open(clinic_csv(), unit="patient", ledger=ledger, dataset="clinic", allowance=PureDP(2, unit="patient"))
    statement = table.agg(lw.count()).quote(epsilon=0.5).statement(owner="The clinic")
    text = statement.to_markdown()
    assert statement.facts["about"] == "quote"
    assert "Nothing has been released yet. The release would cost ε = 0.5" in text
    assert "This would leave ε = 1.5" in text
    assert not ledger.history("clinic")


def test_a_stream_has_one_statement_for_all_its_steps(ledger: Ledger, tmp_path: Path) -> None:
    table = lw.open(clinic_csv(), unit="patient", ledger=ledger, dataset="clinic", allowance=PureDP(2, unit="patient"))
    question = table.stream(lw.count(), every="step", steps=12, active_steps=3)
    stream = question.open(tmp_path / "clinic.stream", epsilon=0.5)
    before = stream.statement(ledger, owner="The clinic")
    assert "All answers of this stream together cost ε = 0.5" in before.to_markdown()
    assert [day["spent"]["epsilon"] for day in before.facts["budgets"][0]["days"]] == [0.5]
    first = stream.observe([{"patient": 1}])
    assert {**first.statement(ledger, owner="The clinic").facts, "notes": []} == {**before.facts, "notes": []}
    assert stream.statement(ledger, owner="The clinic") == before
