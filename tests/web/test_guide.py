"""The guide: worked cases, every combination of answers, every rule, every program, and answers that do not fit."""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cases import together
from fastapi.testclient import TestClient
from harmful import harm_in
from school_site import PERSON, nuggets, open_school, visitor

from lapwing import pair
from lapwing.crowd import BinaryResponse, PrefixExtension, Shuffled, UnaryEncoding
from lapwing.crowd.simulate import simulate
from lapwing.errors import BudgetExceeded
from lapwing.mechanisms import Exponential, Gaussian, Laplace, Median
from lapwing.mechanisms.gaussian import largest_rho
from lapwing.noise import Reproducible
from lapwing.pair.table import pair_of
from lapwing.privacy import ZCDP
from lapwing.web.guide import rules as engine
from lapwing.web.guide import two_servers
from lapwing.web.guide.advice import Outlook, advise, first_rules, picture, tools
from lapwing.web.guide.answers import QUESTIONS, STATISTICS, Answers, read
from lapwing.web.guide.answers import USUAL as USUAL_ANSWERS
from lapwing.web.guide.cases import Case, cases
from lapwing.web.guide.expectations import group_sizes
from lapwing.web.guide.plan import POSSIBLE, Plan, plan, small
from lapwing.web.guide.running_totals import counter
from lapwing.web.guide.snippets import program
from lapwing.web.guide.trial import expected

FALSE_ALARM = Fraction(1, 10**6)
USUAL: dict[str, Any] = {
    "about": "people",
    "form": "table",
    "people": 10_000,
    "rows": "one",
    "ask": ("count",),
    "groups": 1,
    "need": "good",
    "trust": "us",
    "often": "once",
    "same": "yes",
    "seen": "public",
    "law": "none",
}


def answered(**changed: Any) -> Answers:
    """The usual answers, but for some."""
    return Answers(**{**USUAL, **changed})


def any_answers(seed: int, count: int) -> Iterator[Answers]:
    """Interviews at random, the extremes among them; the same ones every time."""
    draw = random.Random(seed)
    for _ in range(count):
        given: dict[str, Any] = {}
        for one in QUESTIONS.values():
            names = [option.name for option in one.options]
            if one.kind == "number":
                given[one.name] = draw.choice([1, 2, 7, 19, 20, 150, 3000, 10**5, 10**8, one.most])
                given[one.name] = min(given[one.name], one.most)
            elif one.kind == "some":
                given[one.name] = tuple(name for name in names if draw.random() < 0.3) or (draw.choice(names),)
            else:
                given[one.name] = draw.choice(names)
        yield Answers(**given)


DAILY = answered(about="sensitive", ask=("histogram",), people=12_000, groups=20, rows="few", often="daily", law="gdpr")
"""A hospital that wants daily counts by ward."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    made = visitor(open_school(tmp_path_factory.mktemp("guide")))
    made.headers.update(PERSON)
    return made


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_worked_case_comes_out_as_expected(case: Case, client: TestClient) -> None:
    made = advise(case.answers)
    assert made.verdict == case.expect["verdict"]
    assert made.reasons
    if "model" in case.expect:
        assert made.plan is not None
        assert made.plan.model == case.expect["model"]
    page = client.get(f"/guide/advice?{case.answers.address}")
    assert page.status_code == 200
    assert made.headline in page.text
    assert all(rule.id in page.text for rule in made.reasons)
    if made.verdict != "yes":
        assert any(rule.do for rule in made.reasons), "a no without a way on"


def test_the_cases_have_what_is_hard() -> None:
    verdicts = [case.expect["verdict"] for case in cases()]
    assert len(cases()) >= 12
    assert verdicts.count("no") >= 5
    assert verdicts.count("not yet") >= 3
    assert {case.expect["model"] for case in cases() if "model" in case.expect} == set(POSSIBLE)


def test_any_answers_get_a_page_with_a_verdict(client: TestClient) -> None:
    for given in any_answers(8, 120):
        page = client.get(f"/guide/advice?{given.address}")
        assert page.status_code == 200, given
        made = advise(given)
        assert made.headline in page.text
        assert made.reasons, given
        assert made.read, given
        if made.verdict == "yes":
            assert all(one.enough for one in made.replies), "yes to a question that fails"
            assert made.plan is not None or (given.form == "text" and given.statistics == ("model",)), given
        if made.plan is not None:
            assert all(one.expected.error >= 0 for one in made.outlook), given


def test_a_question_that_fails_is_named_beside_the_verdict(client: TestClient) -> None:
    given = answered(ask=("count", "histogram", "records"), groups=500)
    made = advise(given)
    assert made.headline == "Yes, but not for all of your questions"
    assert [one.enough for one in made.replies] == [True, False, False]
    told = client.get(f"/guide/advice?{given.address}").text
    top = told[told.index("verdict-line") : told.index("<section")]
    assert "How many, or what share: accurate enough." in top
    assert "How many in each group: too noisy." in top
    assert "Single records: cannot be answered this way." in top
    report = client.get(f"/guide/report?{given.address}").text
    assert ("Not enough." in report, "Cannot be answered this way." in report) == (True, True)


def test_every_rule_applies_to_somebody() -> None:
    seen = {rule.id for given in any_answers(3, 8000) for rule in first_rules(given)}
    noisy, out_of_reach = answered(ask=("count", "histogram"), groups=500), answered(ask=("count", "records"))
    often = [replace(DAILY, rows=rows, people=10**6, need="rough") for rows in ("few", "many")]
    full = [case.answers for case in cases()] + [noisy, out_of_reach, *often]
    seen |= {rule.id for given in full for rule in advise(given).rules}
    assert seen == {rule.id for rule in engine.table()}


def test_every_condition_matters_to_its_rule() -> None:
    for rule in engine.table():
        assert rule.when, rule.id
        assert len({str(one) for one in rule.when}) == len(rule.when), rule.id


def test_rules_can_be_read_with_their_sources(client: TestClient) -> None:
    page = client.get("/guide/rules")
    assert page.status_code == 200
    for rule in engine.table():
        assert f'id="{rule.id}"' in page.text
        assert len(rule.source) > 5, rule.id
        assert len(rule.why) > 40, rule.id
        assert set(rule.read) <= set(nuggets().pages), rule.id
        assert set(rule.then.get("tools", ())) <= set(tools()), rule.id
        settled = {"model", "transport", "epsilon", "delta", "rows", "releases", "accounting", "steps"}
        assert set(rule.then) <= {"verdict", "tools", *settled}


def test_reports_travel_as_trust_and_questions_ask_for_and_only_where_there_are_reports(client: TestClient) -> None:
    poll = {"about": "people", "people": 100_000, "groups": 8, "need": "rough"}
    travels = {
        "direct": answered(**poll, trust="nobody", ask=("histogram",)),
        "shuffled": answered(**poll, trust="mixer", ask=("histogram",)),
        "blinded": answered(**{**poll, "people": 10_000_000}, trust="mixer", ask=("words",)),
    }
    for name, given in travels.items():
        rule = advise(given).by("transport")
        assert rule is not None
        assert rule.then["transport"] == name
        page = client.get(f"/guide/advice?{given.address}").text
        assert f"<dt>How reports travel</dt><dd><strong>{name.capitalize()}.</strong>" in page
    central = answered(**poll, trust="us", ask=("histogram",))
    assert advise(central).by("transport") is None
    assert "How reports travel" not in client.get(f"/guide/advice?{central.address}").text


def test_a_rule_with_a_mistake_in_it_stops_the_guide_at_the_start() -> None:
    for wrong in ("colour is red", "about is nobody", "people ~ 5"):
        with pytest.raises(ValueError, match="no "):
            engine.Condition.read(wrong)
    with pytest.raises(ValueError, match="unknown"):
        engine.Rule.of({"id": "x", "topic": "verdict", "when": [], "why": "", "source": "", "hope": ""})


def test_the_most_cautious_verdict_counts() -> None:
    assert advise(answered(ask=("records",))).verdict == "no"
    assert advise(answered(rows="unknown")).verdict == "not yet"
    assert advise(answered(rows="unknown", people=5)).verdict == "no"
    assert advise(answered()).verdict == "yes"


def test_no_plan_is_made_where_the_way_is_blocked() -> None:
    for blocked in (answered(about="things"), answered(rows="unknown"), answered(ask=("outliers",))):
        made = advise(blocked)
        assert made.plan is None
        assert made.program == ""


def test_single_records_beside_statistics_are_set_apart() -> None:
    made = advise(answered(ask=("count", "records")))
    assert made.verdict == "partly"
    assert [(one.ask, one.enough) for one in made.replies] == [("count", True), ("records", False)]
    assert "part-needs-records" in {rule.id for rule in made.rules}
    assert made.plan is not None
    assert made.plan.asks == ("count",)


def test_the_law_is_never_promised(client: TestClient) -> None:
    page = client.get(f"/guide/advice?{answered(law='gdpr').address}").text
    assert "not automatically a legal answer" in page
    assert "data protection officer" in page
    for rule in engine.table():
        text = f"{rule.why} {rule.do}".lower()
        assert "compliant" not in text, rule.id
        assert "guarantees compliance" not in text, rule.id


def plans() -> list[Plan]:
    """Each model, with all it can answer: once with the whole budget, and in many parts."""
    made = []
    for trust in ("us", "partners", "two", "mixer", "nobody"):
        for changed in ({"often": "once"}, {"often": "daily", "rows": "many", "groups": 2000, "people": 10**7}):
            given = answered(trust=trust, ask=STATISTICS, **changed)
            found = plan(given, first_rules(given))
            assert found is not None
            made.append(found)
    given = answered(ask=("count", "histogram"), often="daily", groups=8, rows="few", people=10**6)
    totals = plan(given, first_rules(given))
    assert totals is not None
    return [*made, totals]


@pytest.mark.parametrize("made", plans(), ids=lambda made: f"{made.model}, {made.parts} parts")
def test_the_parts_cost_no_more_than_the_whole(made: Plan) -> None:
    if made.model == "shuffled":
        batch = Shuffled(BinaryResponse.from_epsilon(made.part_epsilon), n=made.reports, delta=made.part_delta)
        assert made.releases * batch.privacy_loss().epsilon <= made.epsilon
        assert made.releases * batch.privacy_loss().delta <= made.delta
    elif made.model == "local":
        assert made.part_epsilon == made.epsilon  # one question each, and one toss
    elif made.concentrated:
        assert made.part_rho is not None
        assert made.part_epsilon**2 / 2 <= made.part_rho * Fraction(1001, 1000)
        spent = ZCDP(made.parts * max(made.part_rho, made.part_epsilon**2 / 2))
        assert spent.epsilon_at(made.delta - made.parts * made.part_delta) <= made.epsilon
        choices = {"epsilon": made.choosing_epsilon, "sensitivity": 1, "candidates": 5, "monotone": True}
        assert Exponential(**choices).zcdp_loss().rho <= made.part_rho  # type: ignore[arg-type]
        assert Median(epsilon=made.choosing_epsilon, bounds=(0, 1)).zcdp_loss().rho <= made.part_rho
    else:
        assert made.parts * made.part_epsilon <= made.epsilon
        assert made.parts * made.part_delta <= made.delta


def test_the_one_answer_of_an_example_is_a_typical_one() -> None:
    """The first draw of a case was 167 off, beside a limit of 60."""
    for case in cases():
        for outcome in advise(case.answers).outlook:
            if len(outcome.expected.bars) == 1 and outcome.ask != "model":
                [bar] = outcome.expected.bars
                assert abs(bar.private - bar.exact) <= bar.within, case.name


def test_the_program_for_a_mean_says_the_error_for_as_many_people_as_there_are() -> None:
    made = advise(answered(ask=("nested", "mean"), groups=60, people=10**6, need="rough"))
    assert made.plan is not None
    promised = expected(made.plan, "mean").bars[0].within
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(made.program, "<the guide>", "exec"), {"__name__": "__main__"})
    assert f"with 1,000,000 people: ± {round(promised, 4)}" in told.getvalue()


@pytest.mark.parametrize("made", plans(), ids=lambda made: f"{made.model}, {made.parts} parts")
def test_programs_run_as_they_are(made: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(program(made), "<the guide>", "exec"), {"__name__": "__main__"})
    assert "np." not in told.getvalue()
    assert told.getvalue().count("\n") >= (1 if made.model == "secure sum" else len(made.asks))


@pytest.mark.parametrize("case", [case for case in cases() if "model" in case.expect], ids=lambda case: case.name)
def test_the_program_of_a_case_runs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(advise(case.answers).program, "<the guide>", "exec"), {"__name__": "__main__"})


def test_errors_are_those_of_the_nugget_about_mechanisms() -> None:
    """Ten thousand people, yes or no, epsilon 1: 3 people off with a curator, 188 without one."""
    usual = {"asks": ("count",), "people": 10_000, "groups": 1, "rows": 1, "delta": Fraction(0), "releases": 1}
    one = {"epsilon": Fraction(1), "part_epsilon": Fraction(1), "part_delta": Fraction(0), "concentrated": False}
    central = expected(Plan(model="central", **usual, **one), "count")  # type: ignore[arg-type]
    local = expected(Plan(model="local", **usual, **one), "count")  # type: ignore[arg-type]
    assert central.bars[0].within == 3
    assert round(local.bars[0].within) == 188


@pytest.mark.parametrize("made", plans(), ids=lambda made: f"{made.model}, {made.parts} parts")
def test_what_is_promised_is_kept_when_it_is_tried(made: Plan) -> None:
    for ask in made.asks:
        one = expected(made, ask)
        if one.runs >= 20:
            assert one.kept >= 0.85 * one.runs, (ask, one)


def test_results_that_are_split_are_judged_by_the_smallest_group() -> None:
    for ask in ("count", "mean", "quantile"):
        for trust in ("us", "mixer"):
            whole = advise(answered(ask=(ask,), need="rough", trust=trust, people=100_000))
            split = advise(answered(ask=(ask,), need="rough", trust=trust, people=100_000, groups=20_000))
            assert (whole.verdict, split.verdict) == ("yes", "not yet"), (ask, trust)
            assert "every-result-is-split" in {rule.id for rule in split.rules}
    both = advise(answered(ask=("count", "histogram"), groups=20))
    assert both.plan is not None
    assert both.plan.asks == ("count", "histogram"), "the groups are those of the histogram"


def test_text_of_few_people_trains_no_model() -> None:
    for people, verdict in ((20, "not yet"), (9999, "not yet"), (10**6, "yes")):
        assert advise(answered(form="text", ask=("model",), people=people)).verdict == verdict


@pytest.mark.parametrize("trust", ["us", "partners", "two", "mixer", "nobody"])
def test_so_many_people_as_are_said_to_be_enough_are_enough(trust: str) -> None:
    tried = 0
    for changed in (
        {"ask": ("count", "mean"), "people": 25},
        {"ask": ("histogram",), "people": 100, "groups": 1000},
        {"ask": ("quantile",), "people": 200, "groups": 50},
        {"ask": ("table", "count"), "people": 300, "groups": 9, "often": "daily"},
    ):
        given = answered(trust=trust, need="rough", **changed)
        for one in advise(given).outlook:
            if one.needed:
                again = advise(replace(given, people=one.needed))
                assert next(other.enough for other in again.outlook if other.ask == one.ask), (given, one)
                tried += 1
    assert tried >= 4


def test_the_number_of_people_that_are_needed_is_nearly_the_least_and_the_same_for_all_who_have_fewer() -> None:
    asked = {"ask": ("histogram", "mean"), "groups": 12, "need": "good", "often": "yearly", "seen": "public"}
    yearly = answered(about="sensitive", rows="few", **asked)

    def histogram(people: int) -> Outlook:
        return advise(replace(yearly, people=people)).outlook[0]

    [needed] = {histogram(people).needed for people in (2000, 20_000, 237_000)}
    assert histogram(needed).enough
    assert not histogram(round(0.95 * needed)).enough


def test_where_people_have_several_records_it_is_records_that_are_counted() -> None:
    """The noise is for all records of a person: it would be smaller if people were counted."""
    for ask in ("count", "histogram", "nested", "top", "table"):
        for rows, several in (("one", False), ("few", True)):
            [one] = advise(answered(ask=(ask,), rows=rows, groups=1 if ask == "count" else 12)).outlook
            said = one.expected.sentence
            assert bool(re.search(r"[\d,]+ records[, )]", said)) == several, said
            assert bool(re.search(r"[\d,]+ people[, )]", said)) != several, said
            assert ("The noise hides up to 5 records of each person" in said) == several


@pytest.mark.parametrize("trust", ["mixer", "nobody"])
def test_what_is_promised_about_each_group_holds_for_large_ones_too(trust: str) -> None:
    made = plan(given := answered(trust=trust, ask=("histogram",), groups=8, people=30_000), first_rules(given))
    assert made is not None
    protocol = UnaryEncoding.from_epsilon(epsilon=made.part_epsilon, domain=range(8))
    sizes = group_sizes(made.reports, 8)
    off = [simulate(protocol, dict(enumerate(sizes.tolist())), entropy=Reproducible(n)).errors() for n in range(60)]
    promised = expected(made, "histogram").bars[0].within
    for group in range(8):
        kept = sum(abs(one.off_by[group]) <= promised for one in off)
        assert kept >= 48, (group, kept)  # of 60 at 95 %: one false alarm in a hundred thousand


def test_the_ledger_of_a_table_pays_for_all_releases_and_for_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for often, releases, others in (("yearly", 5, ("count",)), ("monthly", 12, ("count", "mean"))):
        folder = tmp_path / often
        folder.mkdir()
        monkeypatch.chdir(folder)
        text = advise(answered(often=often, ask=("table", *others), groups=4, people=10**6)).program
        assert ("rho" in text) == (often == "monthly"), "in the currency in which it is charged"
        *before, last = text.partition("query = ")[0], text.partition("print(query.release(")[2].partition("))")[0]
        known: dict[str, Any] = {}
        exec(compile("".join(before), "<the guide>", "exec"), known)
        query = known["people"].agg(known["lw"].count())
        spend = dict([last.split("=")])
        for _ in range(releases):
            query.release(**{name: float(value) for name, value in spend.items()})
        with pytest.raises(BudgetExceeded):
            query.release(**{name: float(value) for name, value in spend.items()})


def test_a_secure_sum_gives_each_question_the_part_that_was_promised() -> None:
    given = answered(trust="partners", ask=("count", "histogram", "mean"), groups=3, people=4100)
    made = plan(given, first_rules(given))
    assert made is not None
    known: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(program(made).partition("# How many in each")[0], "<the guide>", "exec"), known)
    study = known["study"]
    assert Fraction(study.epsilon) == pytest.approx(made.part_epsilon, rel=1e-5)
    tables = dict(zip(known["companies"], known["tables"], strict=True))
    promised = expected(made, "count").bars[0].within
    off = [study.run(tables).totals["smokers"] - 1020 for _ in range(200)]
    assert sum(abs(one) <= promised for one in off) >= 174, "at 95 %: one false alarm in a hundred thousand"


def test_two_servers_keep_to_the_part_that_was_promised_and_to_the_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ask in POSSIBLE["two servers"]:
        (tmp_path / ask).mkdir()
        monkeypatch.chdir(tmp_path / ask)
        given = answered(
            trust="two", ask=(ask,), groups=3 if ask in ("histogram", "top", "table") else 1, often="yearly"
        )
        made = plan(given, first_rules(given))
        assert made is not None
        assert made.loss.relation == "replace"
        known: dict[str, Any] = {}
        exec(compile((text := program(made)).partition("codes = ")[0], "<the guide>", "exec"), known)
        [sql], [epsilon] = re.findall(r"table.query\(\"(.*)\"\)", text), re.findall(r"release\(epsilon=([^,]*),", text)
        query = pair.open(known["folder"]).query(sql)
        budget = query.budget(float(epsilon), None, None)
        assert Fraction(epsilon) == made.part_epsilon
        assert budget.stated.relation == "replace"
        assert budget.stated.delta <= made.part_delta
        allowance = pair.Deployment.read(known["folder"]).allowance
        assert allowance.epsilon == pytest.approx(made.epsilon / made.releases)
        assert allowance.relation == "replace"
        if ask in ("count", "histogram", "top", "mean"):
            [item] = pair_of(query).items(query, budget)
            promised = expected(made, ask).bars[0].within * (made.people if ask == "mean" else 1)
            assert item.half_width(Fraction(95, 100)) == pytest.approx(promised, rel=0.01, abs=1)


def test_the_program_of_two_servers_answers_from_checked_rows_and_both_ledgers_refuse_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes on this machine, twice: the second time the same answers come back, and nothing is left."""
    monkeypatch.chdir(tmp_path)
    made = plan(given := answered(trust="two", ask=("count", "table"), people=600), first_rules(given))
    assert made is not None
    text = program(made).replace("    print(answer)", "    answers.append(answer)")
    first: dict[str, Any] = {"answers": []}
    with contextlib.redirect_stdout(told := io.StringIO()):
        exec(compile(text, "<the guide>", "exec"), first)
    assert "as has taken in 600 rows and refused 0\ncsp has taken in 600 rows and refused 0\n" in told.getvalue()
    smokers, by_sex = first["answers"]
    noises = [item.half_width(1 - FALSE_ALARM / 5) for item in _noise_of(first["folder"], made.part_epsilon)]
    assert abs(smokers.value - 200) <= noises[0]
    exact = {"female": (400, 200 * (34 + 29)), "male": (200, 200 * 51)}
    for row in by_sex:
        people, years = exact[row["sex"]]
        assert abs(row["people"] - people) <= noises[1]
        assert abs(row["years"] - years) <= noises[2]
    more = """
    left = client.remaining()
    try:
        table.query("SELECT COUNT(*) FROM people WHERE smoker").release(epsilon=0.01)
    except pair.client.ServerRefused as error:
        refused = str(error)"""
    again: dict[str, Any] = {"answers": []}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text + more, "<the guide>", "exec"), again)
    assert not again["is_new"]
    assert again["answers"][0].value == smokers.value
    assert list(again["answers"][1]) == list(by_sex)
    assert again["left"].epsilon == 0
    assert "ledger does not allow" in again["refused"]


def _noise_of(folder: Path, epsilon: Fraction) -> list[Any]:
    """The noise of a count and of a table, one for each number of a group."""
    noises: list[Any] = []
    for ask in ("count", "table"):
        query = pair.open(folder).query(two_servers.ASKS[ask].sql)
        noises += pair_of(query).items(query, query.budget(epsilon, None, None))
    return noises


def test_two_servers_are_as_accurate_as_a_curator_and_never_promise_anything_of_both_together(
    client: TestClient,
) -> None:
    central, pair = advise(answered(ask=("count",))), advise(given := answered(ask=("count",), trust="two"))
    assert (pair.verdict, pair.model) == ("yes", "with two servers")
    assert pair.outlook[0].expected.error == central.outlook[0].expected.error
    assert pair.guarantee.endswith("(replace, per person), against everybody except both servers together")
    page = client.get(f"/guide/advice?{given.address}").text
    assert "If both servers work together, they learn every answer." in page
    assert "two machines of one firm are one server" in page
    assert {"two-servers", "all-or-nothing", "shares-can-lie", "one-row"} <= {rule.id for rule in pair.rules}
    assert "all-or-nothing" not in {rule.id for rule in central.rules}


def test_counts_of_every_day_go_on_and_are_paid_once(client: TestClient) -> None:
    daily = answered(ask=("count", "histogram"), groups=8, people=1_000_000, rows="few", often="daily", need="rough")
    made = advise(daily)
    assert made.plan is not None
    assert (made.plan.steps, made.plan.releases, made.plan.parts, made.plan.delta) == (365, 1, 2, 0)
    losses = [counter(made.plan, width).privacy_loss() for width in (1, 8)]
    assert sum(loss.epsilon for loss in losses) <= made.plan.epsilon
    assert [counter(made.plan, width).active_steps for width in (1, 8)] == [5, 5]
    assert {"running-totals", "one-event-is-not-a-person"} <= {rule.id for rule in made.rules}
    assert "counting-for-ever" in made.read, "what most rules name"
    page = client.get(f"/guide/advice?{daily.address}").text
    assert "Paid once, for all 365 days together: each of 2 questions gets ε = 0.5." in page
    assert made.program.count("epsilon=0.5)") == 4, "a quote and a stream for each question"
    assert "active_steps=5" in made.program
    for other in ({"same": "no"}, {"trust": "two"}, {"ask": ("count", "mean")}, {"often": "monthly"}):
        found = advise(replace(daily, **other)).plan
        assert found is not None
        assert found.steps == 1, other


def test_the_count_of_one_day_is_told_beside_the_total_and_judged_by_itself(client: TestClient) -> None:
    made = advise(DAILY)
    assert made.plan is not None
    [one], chosen = made.outlook, counter(made.plan, 8)
    day = one.expected.windows[0]
    assert day.within == max(chosen.window_accuracy(start, start + 1) for start in range(365))
    assert day.people == pytest.approx(300 / 365), "of the smallest group"
    assert day.most_people == 5 * day.people
    assert one.days is not None
    assert (one.enough, one.days.enough) == (False, False)
    assert one.days.needed > 300 * one.needed
    page = client.get(f"/guide/advice?{DAILY.address}").text
    within = chosen.accuracy(0.95)
    for told in (
        f"the total of each group since the first day is off by at most {within:,.0f} records",
        f"It is off by up to {day.within:,.0f} records, with the same confidence.",
        "✗ The total: more than the error you can accept.",
        f"About {one.needed:,} people would be enough for the total.",
        "✗ The count of one day: more than the error you can accept.",
        f"About {one.days.needed:,} people would be enough for single days.",
        "Single days are too noisy to use, and so are the counts of 7 or 30 or 91 days. Fewer groups would help",
        "How many in each group: the totals are too noisy, and so are the counts of single days.",
        f"Tried on the last day, 4 times with 8 of the groups: {one.expected.kept} of 32 noisy totals were off by at "
        f"most {within:,.0f} records.",
    ):
        assert told in page, told
    report = client.get(f"/guide/report?{DAILY.address}").text
    assert "The total: not enough. The count of one day: not enough." in report
    assert "one a day, on the first 5 days of each person" in report


def test_a_yes_to_totals_is_no_yes_to_single_days(client: TestClient) -> None:
    totals, days = replace(DAILY, people=advise(DAILY).outlook[0].needed), advise(DAILY).outlook[0].days
    assert days is not None
    made = advise(totals)
    assert made.verdict == "yes"
    assert {"only-totals-accurate-enough"} == {rule.id for rule in made.reasons} - {"about-groups"}
    page = client.get(f"/guide/advice?{totals.address}").text
    assert "the totals are accurate enough. The counts of single days are too noisy." in page
    assert "Publish totals only." in page
    enough = advise(replace(DAILY, people=days.needed))
    assert enough.outlook[0].days is not None
    assert enough.outlook[0].days.enough
    assert "accurate-enough" in {rule.id for rule in enough.reasons}
    weeks = advise(answered(ask=("count",), often="daily", people=60_000, need="good")).outlook[0].days
    assert weeks is not None
    assert not weeks.enough
    assert weeks.instead.startswith("Single days are too noisy to use. Publish weeks instead: the count of any 7 days")
    assert weeks.instead.endswith("% of what is counted.")
    assert advise(answered()).outlook[0].days is None, "of totals that go on only"


def test_an_error_is_drawn_whole_and_the_smallest_group_is_in_the_picture() -> None:
    for ask, groups in ((ask, groups) for ask in ("histogram", "count") for groups in (1, 2, 3, 20, 5000)):
        for often in ("daily", "once"):
            outcome = advise(replace(DAILY, ask=(ask,), groups=groups, often=often)).outlook[0].expected
            assert max(bar.private + bar.within for bar in outcome.bars) <= outcome.end
            if groups > 1:
                assert f"group {groups:,}" in outcome.bars[-1].label
                assert len(outcome.bars) == len({bar.label for bar in outcome.bars})
            for bar, line in zip(outcome.bars, picture(outcome), strict=True):
                low, high = line.low, line.high
                assert line.ends == ((low, high) if bar.private >= bar.within else (high,)[: bar.private > -bar.within])
                assert line.high - line.private == pytest.approx(100 * bar.within / outcome.end, abs=0.02) or low == 0
    daily = advise(DAILY).outlook[0].expected
    assert daily.end == 1200
    assert (daily.bars[-1].label, daily.bars[-1].exact) == ("group 20, the smallest", 300)


def test_streams_keep_the_first_days_of_each_person_and_nothing_at_random(client: TestClient) -> None:
    for rows, days in (("few", "five"), ("many", "ten")):
        page = client.get(f"/guide/advice?{replace(DAILY, rows=rows).address}").text
        assert f"first {days} days, and one record on each of them." in page
        assert "at random" not in page
        once = client.get(f"/guide/advice?{replace(DAILY, rows=rows, often='yearly').address}").text
        assert f"Keep at most {days} records of each, chosen at random." in once


def test_what_to_do_in_an_order_is_a_numbered_list(client: TestClient) -> None:
    for place in (f"advice?{DAILY.address}", "rules"):
        assert "in this order:<ol><li>Merge small groups.</li><li>Ask fewer" in client.get(f"/guide/{place}").text
    assert "in this order: 1. Merge small groups. 2. Ask" in client.get(f"/guide/report?{DAILY.address}").text


def test_lines_of_programs_are_not_too_long() -> None:
    texts = [program(made) for made in plans()] + [advise(case.answers).program for case in cases()]
    assert max(len(line) for text in texts for line in text.splitlines()) <= 120


def test_totals_that_go_on_are_better_than_a_fresh_answer_every_day() -> None:
    daily = answered(ask=("count",), often="daily", people=1_000_000)
    totals = advise(daily).plan
    assert totals is not None
    fresh = replace(totals, steps=1, releases=365, part_epsilon=totals.epsilon / 365)
    assert 10 * expected(totals, "count").error < expected(fresh, "count").error


def test_groups_within_groups_add_up_and_cost_their_part() -> None:
    for often in ("once", "daily"):
        made = advise(answered(ask=("nested", "mean"), groups=60, people=10**7, need="rough", often=often))
        assert made.plan is not None
        assert "a-hierarchy" in {rule.id for rule in made.rules}
        known: dict[str, Any] = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(made.program, "<the guide>", "exec"), known)
        country, regions, towns = (known[name] for name in ("country", "regions", "in_towns"))
        assert country.sum() == regions.sum() == towns.sum()
        assert regions.tolist() == [towns[:2].sum(), towns[2:].sum()]
        loss = known["places"].privacy_loss()
        assert (loss.rho <= made.plan.part_rho) if made.plan.part_rho else (loss.epsilon <= made.plan.part_epsilon)
    elsewhere = advise(answered(ask=("nested",), groups=8, people=10**6, trust="nobody", need="rough"))
    assert elsewhere.plan is not None
    assert elsewhere.plan.asks == ("histogram",)
    assert [reply.enough for reply in elsewhere.replies] == [True]
    assert "sums-of-the-smallest" in {rule.id for rule in elsewhere.rules}


def test_a_word_that_is_said_to_be_found_is_found() -> None:
    given = answered(trust="nobody", form="text", ask=("words",), people=15_000, need="rough")
    made = plan(given, first_rules(given))
    assert made is not None
    people = round(expected(made, "words").error * made.reports)
    letters = "abcdefghijklmnopqrstuvwxyz"
    protocol = PrefixExtension(epsilon=made.part_epsilon, alphabet=letters, length=6, keep=16, functions=1024)
    draw = random.Random(4)
    others = ["".join(draw.choices(letters, k=6)) for _ in range(made.reports - people)]
    found = 0
    for seed in range(5):
        counts = protocol.absorb(None, protocol.randomize(["dunlin"] * people + others, Reproducible(seed)))
        found += "dunlin" in protocol.estimate(counts).labels
    assert found >= 4


def test_programs_say_what_they_need_beyond_the_library_itself() -> None:
    for made in plans():
        text = program(made)
        assert ("from lapwing import pair  # needs pip install '.[pair]'" in text) == (made.model == "two servers")
        for name in re.findall(r"^(?:from|import) (\S+)", text, re.MULTILINE):
            assert (
                name in ("lapwing", "lapwing.anonymity", "lapwing.noise", "numpy", *sys.stdlib_module_names)
                or name.partition(".")[0] in sys.stdlib_module_names
                or f"{name} import LinearRegression  # needs" in text
            )


def test_many_people_and_groups_are_little_work() -> None:
    assert len(group_sizes(10**10, 10**6)) <= 100_000
    assert group_sizes(1000, 4).tolist() == sorted(group_sizes(1000, 4).tolist(), reverse=True)


def test_from_thirty_parts_on_gaussian_noise_is_the_smaller() -> None:
    budgets = {rule.then["epsilon"] for rule in engine.table() if "epsilon" in rule.then and rule.id[:5] != "local"}
    assert budgets == {"0.5", "1", "2"}
    for epsilon in map(Fraction, budgets):
        for people in (100, 10**6, 10**10):
            rho = largest_rho(epsilon, small(people)) / 30
            plain = Laplace(epsilon=epsilon / 30, sensitivity=1).accuracy(0.95)
            assert Gaussian.for_rho(rho, sensitivity=1).accuracy(0.95) < plain


def test_a_delta_is_far_below_one_in_all_people() -> None:
    for people in (1, 20, 10**4, 10**4 + 1, 10**10):
        assert small(people) <= Fraction(1, 100 * people)
        assert small(people) <= Fraction(1, 10**6)


def test_more_people_never_make_it_worse() -> None:
    for trust in ("us", "partners", "two", "mixer", "nobody"):
        errors = [
            advise(answered(trust=trust, people=people, ask=("count",))).outlook[0].expected.error
            for people in (100, 10_000, 10**6)
        ]
        assert errors == sorted(errors, reverse=True), trust


def test_as_many_people_as_it_asks_for_are_enough() -> None:
    for trust in ("us", "nobody"):
        few = advise(answered(trust=trust, people=300, ask=("histogram",), groups=6, need="rough"))
        assert few.verdict == "not yet"
        enough = advise(answered(trust=trust, people=few.outlook[0].needed, ask=("histogram",), groups=6, need="rough"))
        assert enough.verdict == "yes"


def test_the_same_answers_give_the_same_page(client: TestClient) -> None:
    address = f"/guide/advice?{answered(ask=STATISTICS, groups=7).address}"
    first = client.get(address)
    advise.cache_clear()
    expected.cache_clear()
    assert client.get(address).content == first.content


WRONG = {
    "people=abc": "is not a whole number",
    "people=-5": "is not a whole number",
    "people=1e5": "is not a whole number",
    "people=2,5": "is not a whole number",
    "people=2.5": "is not a whole number",
    "people=0": "from 1 to 10,000,000,000",
    f"people={'9' * 5000}": "from 1 to 10,000,000,000",
    "people=٣٠": "is not a whole number",
    "people=": "Write a whole number",
    "groups=1000001": "from 1 to 1,000,000",
    "about=martians": "is none of the answers",
    "ask=fortune": "is none of the answers",
    "ask=": "Choose an answer",
    "trust=<script>alert(1)</script>": "is none of the answers",
}


@together("wrong", WRONG)
def test_an_answer_that_does_not_fit_gets_the_form_again_with_what_to_write(wrong: str, client: TestClient) -> None:
    name, _, value = wrong.partition("=")
    given: list[Any] = [(one, text) for one, text in httpx_params(answered()) if one != name] + [(name, value)]
    for place in ("advice", "report"):
        page = client.get(f"/guide/{place}", params=given)
        assert page.status_code == 422
        assert WRONG[wrong] in page.text
        assert f'id="{name}-complaint"' in page.text
        assert page.text.count('-complaint" role') == 1
        assert harm_in(page.text) == []
        assert 'value="once" required checked' in page.text, "the rest is kept"
        assert len(page.text) < 60_000


def httpx_params(given: Answers) -> list[tuple[str, str]]:
    """The answers as a form sends them."""
    from urllib.parse import parse_qsl

    return parse_qsl(given.address)


def test_numbers_may_be_written_as_people_write_them() -> None:
    for text in ("10000", "10,000", "10 000", "10'000", " 10000 "):
        given = {name: [value] for name, value in httpx_params(answered())} | {"people": [text]}
        found, complaints = read(given)
        assert not complaints
        assert found is not None
        assert found.people == 10_000


def test_an_empty_form_says_all_that_is_missing(client: TestClient) -> None:
    page = client.get("/guide/advice")
    assert page.status_code == 422
    assert page.text.count('role="alert"') == len(QUESTIONS) - len(USUAL_ANSWERS) + 1


def test_answers_can_be_changed_from_the_result(client: TestClient) -> None:
    given = answered(people=1234, trust="mixer", ask=("top", "mean"))
    page = client.get(f"/guide?{given.address}").text
    assert 'value="1234"' in page
    for name, value in httpx_params(given):
        if name not in ("people", "groups"):
            assert f'name="{name}" value="{value}"' in page
    assert page.count(" checked>") == len(httpx_params(given)) - 2
    again = read({name: [v for n, v in httpx_params(given) if n == name] for name in QUESTIONS})
    assert again == (given, {})


def test_something_can_be_said_before_everything_is_answered(client: TestClient) -> None:
    assert client.get("/guide/so-far").json() == {"verdict": "", "rule": "", "why": ""}
    assert client.get("/guide/so-far?about=things").json()["verdict"] == "no"
    assert client.get("/guide/so-far?trust=nobody&people=x").json()["rule"] == "local"
    few = client.get("/guide/so-far?about=sensitive&people=5&ask=count").json()
    assert few["rule"] == "a-handful-of-people"


def test_nothing_is_kept_and_no_cookie_is_set(client: TestClient) -> None:
    for place in ("", "/rules", f"/advice?{answered().address}", f"/report?{answered().address}"):
        page = client.get(f"/guide{place}")
        assert page.status_code == 200
        assert "set-cookie" not in page.headers
        assert harm_in(page.text) == []


def test_the_advice_names_loss_unit_and_relation_and_links_what_it_goes_by(client: TestClient) -> None:
    page = client.get(f"/guide/advice?{answered().address}").text
    assert '<strong class="budget">ε = 1 for each person</strong>, in total.' in page
    assert "(add_remove" not in page, "that is the library's word"
    assert 'href="/guide/rules#start-at-one"' in page
    assert ">rule: start at one</a>" in page
    assert 'href="/learn/' in page
    local = client.get(f"/guide/advice?{answered(trust='nobody', about='sensitive').address}").text
    assert "ε = 1.0986 for each person" in local
