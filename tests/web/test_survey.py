"""Surveys: made by anybody, answered once for each token, told in whole batches, and deleted for good."""

from __future__ import annotations

import csv
import io
import logging
import math
import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from fractions import Fraction
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from cases import together
from fastapi import FastAPI
from harmful import harm_in
from school_site import PERSON, open_school, signed_in, site_of, visit_as, visitor
from sqlalchemy import func, select, text

from lapwing.noise import Reproducible
from lapwing.web.service import qr, settings
from lapwing.web.service.limits import RULES, Rule
from lapwing.web.service.spreadsheets import defused
from lapwing.web.service.tables import Decision, Survey, SurveyLink, SurveyTally, SurveyToken
from lapwing.web.survey.parameters import MOST_LINKS, USUAL_EPSILON, read_form
from lapwing.web.survey.results import BATCH, Results, Row, Step, batch_of, ends, results
from lapwing.web.survey.routes import survey as routes
from lapwing.web.survey.store import surveys as store

QUESTION = "Have you ever cheated?"
CHOICE = {"kind": "choice", "answers": "bus\nbike\ncar"}
NUMBER = {"kind": "number", "low": "0", "high": "24", "measure": "hours"}


@pytest.fixture(params=["sqlite", "postgresql"])
def any_app(request: pytest.FixtureRequest, tmp_path: Path) -> FastAPI:
    """For what differs between databases."""
    if request.param == "sqlite":
        return open_school(tmp_path)
    return open_school(tmp_path, database=settings.address(request.getfixturevalue("postgres_url")))


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """In which nobody succeeds to make a survey."""
    return open_school(tmp_path_factory.mktemp("untouched"))


def form(**other: str) -> dict[str, str]:
    closes = (routes.today() + timedelta(days=7)).isoformat()
    usual = {"kind": "yes-no", "question": QUESTION, "epsilon": USUAL_EPSILON, "closes": closes, "links": "0"}
    return {**usual, "public": "everybody", **other}


class Made:
    """A survey that was made, and what its maker and its respondents do."""

    def __init__(self, app: FastAPI, **other: str) -> None:
        self.app, self.client = app, visitor(app)
        answer = self.client.post("/survey", data=form(**other))
        assert answer.status_code == 303, re.findall(r'role="alert">([^<]*)', answer.text)
        self.keep = answer.headers["location"]
        _, _, self.id, _, self.key = self.keep.split("/")
        self.address = f"/survey/{self.id}"

    @property
    def kept(self) -> store.StoredSurvey:
        with site_of(self.app).database.reading() as db:
            found = store.find(db, self.id)
        assert found is not None
        return found

    def report(self, value: int) -> str:
        return f"{self.kept.design.head()}{value:02x}"

    def send(self, value: int, number: int = 0, **other: str) -> Any:
        """Whether it was counted, or the status of the refusal."""
        body = {"report": self.report(value), "token": f"{number:032x}", **other}
        answer = self.client.post(f"{self.address}/answers", json=body)
        return answer.json()["counted"] if answer.status_code == 200 else answer.status_code

    def fill(self, values: list[int], first: int = 1) -> None:
        """Many reports, straight into the database."""
        kept = self.kept
        with site_of(self.app).database.writing() as db:
            for number, value in enumerate(values, first):
                assert store.answer(db, kept, value, f"{number:032x}", routes.today()) == "counted"

    def tallies(self) -> dict[int, list[int]]:
        with site_of(self.app).database.reading() as db:
            return store.batches(db, self.kept)

    def tokens(self) -> list[str]:
        """Of all personal links."""
        rows = csv.DictReader(io.StringIO(self.client.get(f"{self.keep}/links.csv").text))
        return [row["link"].partition("#")[2] for row in rows]


def test_anybody_makes_a_survey_and_gets_a_link_a_code_and_a_secret_page(app: FastAPI) -> None:
    made = Made(app)
    page = made.client.get(made.keep).text
    link = f"{site_of(app).settings.origin}{made.address}"
    assert link in page
    assert str(qr.drawn(link)) in page
    asked = made.client.get(made.address).text
    assert QUESTION in asked
    for words in ("75 %", "75 % sure", "ε ≤ 1.10", "That you took part", "fake answers"):
        assert words in asked
    assert made.key not in asked
    with site_of(app).database.reading() as db:
        kept = db.get_one(Survey, made.id)
        assert made.key.encode() not in kept.key_hash, "of the key only a hash is kept"
    assert signed_in(app).post("/survey", data=form()).status_code == 303


@together(
    ("other", "words"),
    [
        ({"question": ""}, "Write the question."),
        ({"question": " \n "}, "Write the question."),
        ({"question": "x" * 301}, "Keep it to 300 characters."),
        ({"question": "x" * 900_000}, "Keep it to 300 characters."),
        ({"question": "a\0b"}, "characters that cannot be shown"),
        ({"question": "abc\u202egpj.exe"}, "characters that cannot be shown"),
        ({"question": "\u200b\ufeff \u200e"}, "Write the question."),
        ({"question": "\u200d\u200d"}, "characters that cannot be shown"),
        ({"question": "Really\u3164?"}, "characters that cannot be shown"),
        ({"question": "Wh" + 5 * "\u0336" + "at?"}, "characters that cannot be shown"),
        ({"question": "Hi \U000e0041"}, "characters that cannot be shown"),
        ({"kind": "essay"}, "Choose yes or no"),
        ({"kind": ""}, "Choose yes or no"),
        ({**CHOICE, "answers": "one"}, "2 to 20 answers"),
        ({**CHOICE, "answers": ""}, "2 to 20 answers"),
        ({**CHOICE, "answers": "\n".join(map(str, range(10_000)))}, "2 to 20 answers"),
        ({**CHOICE, "answers": "Yes\nyes"}, "Two answers are the same"),
        ({**CHOICE, "answers": "Yes\nYe\u200bs"}, "Two answers are the same"),
        ({**CHOICE, "answers": "Yes\nYe\u200ds"}, "Two answers are the same"),
        ({**CHOICE, "answers": "Yes\n\uff39es"}, "Two answers are the same"),
        ({**CHOICE, "answers": f"a\n{'b' * 81}"}, "Keep it to 80 characters."),
        ({**NUMBER, "low": "24", "high": "0"}, "must be less"),
        ({**NUMBER, "low": "5", "high": "5"}, "must be less"),
        ({**NUMBER, "low": "NaN"}, "Write two numbers"),
        ({**NUMBER, "high": "inf"}, "Write two numbers"),
        ({**NUMBER, "high": "1e999999999"}, "Write two numbers"),
        ({**NUMBER, "low": ""}, "Write two numbers"),
        ({**NUMBER, "measure": "x" * 31}, "Keep it to 30 characters."),
        ({"epsilon": "0"}, "from 0.01 to 10"),
        ({"epsilon": "1e9"}, "from 0.01 to 10"),
        ({"epsilon": "-1"}, "from 0.01 to 10"),
        ({"epsilon": "nan"}, "from 0.01 to 10"),
        ({"epsilon": "10.0001"}, "from 0.01 to 10"),
        ({"epsilon": ""}, "from 0.01 to 10"),
        ({"closes": "2001-01-01"}, "Choose a day"),
        ({"closes": "9999-12-31"}, "Choose a day"),
        ({"closes": "tomorrow"}, "Choose a day"),
        ({"links": "-1"}, "personal links"),
        ({"links": str(MOST_LINKS + 1)}, "personal links"),
        ({"links": "٣"}, "personal links"),
    ],
)
def test_what_does_not_fit_is_said_beside_its_field_and_nothing_is_made(
    untouched: FastAPI, other: dict[str, str], words: str
) -> None:
    answer = visitor(untouched).post("/survey", data=form(**other))
    assert answer.status_code == 422
    assert len(answer.text) < 20_000
    said = " ".join(re.findall(r'role="alert">([^<]*)', answer.text))
    assert words in said
    with site_of(untouched).database.reading() as db:
        assert db.scalar(select(func.count()).select_from(Survey)) == 0


def test_words_of_strangers_are_shown_as_words(app: FastAPI) -> None:
    bad = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
    made = Made(app, **{**CHOICE, "question": bad, "answers": f"{bad[:70]}\n=1+1\n{{{{ 7*7007 }}}}", "links": "2"})
    kept = made.kept
    with site_of(app).database.writing() as db:
        for number, token in enumerate([f"{n:032x}" for n in range(BATCH)]):
            db.add(SurveyLink(survey_id=made.id, token_hash=store.digest(made.id, token)))
            db.flush()
            assert store.answer(db, kept, number % 3, token, routes.today()) == "counted"
    for address in (made.address, made.keep, f"{made.address}/results", f"{made.keep}/links"):
        page = made.client.get(address, headers=PERSON).text
        assert harm_in(page) == [], address
        assert "&lt;script&gt;" in page
        assert "49049" not in re.findall(r"{{.*?}}|49049", page)
    table = made.client.get(f"{made.address}/results.csv")
    assert "'=1+1" in table.text
    assert table.headers["content-disposition"].startswith("attachment")
    assert [defused(one) for one in ("=a", "+a", "-a", "@a", "a=")] == ["'=a", "'+a", "'-a", "'@a", "a="]


@pytest.mark.parametrize(("other", "last"), [({}, 1), (CHOICE, 2), (NUMBER, 1)], ids=str)
def test_reports_are_counted_once_and_only_if_they_can_be(app: FastAPI, other: dict[str, str], last: int) -> None:
    made = Made(app, **other)
    assert [made.send(last), made.send(last), made.send(0)] == [True, False, False]
    assert made.send(0, number=2) is True
    assert made.send(last + 1, number=3) == 422
    for wrong in ("", "zz", "00", made.report(0) + "00", made.report(0)[2:], "x" * 121):
        assert made.send(0, number=3, report=wrong) == 422
    for wrong in ("", "0" * 31, "0" * 33, "x" * 32, "0" * 32 + "\n"):
        assert made.send(0, token=wrong) == 422
    several = made.kept.design.protocol.randomize([True, True] if not other else [0, 1]).to_bytes().hex()
    assert made.send(0, number=3, report=several) == 422
    strange = Made(app, epsilon="1").report(1)
    assert made.send(0, number=3, report=strange) == 422, "other odds, other fingerprint"
    tally = [0] * made.kept.design.values
    tally[0] += 1
    tally[last] += 1
    assert made.tallies() == {0: tally}
    assert made.kept.reports == 2


def test_twenty_at_once_with_one_token_count_once(any_app: FastAPI) -> None:
    made = Made(any_app)
    with ThreadPoolExecutor(20) as pool:
        said = list(pool.map(lambda n: made.send(n % 2, number=7), range(20)))
    assert (said.count(True), said.count(False)) == (1, 19)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda n: made.send(int(n % 4 == 0), number=n), range(100, 140)))
    assert sum(map(sum, made.tallies().values())) == made.kept.reports == 41
    assert sum(made.tallies()[0]) == BATCH, "a batch is full before the next begins"
    site_of(any_app).database.close()


def test_personal_links_take_one_answer_each_and_nobody_else(any_app: FastAPI) -> None:
    made = Made(any_app, links="3", public="maker")
    tokens = made.tokens()
    assert len(set(tokens)) == 3

    def state(token: str) -> str:
        return str(made.client.post(f"{made.address}/link", json={"token": token}).json()["state"])

    assert [state(token) for token in (*tokens, "0" * 32)] == ["fresh"] * 3 + ["unknown"]
    assert made.send(1, number=5) == 403
    assert [made.send(1, token=tokens[1]), made.send(0, token=tokens[1])] == [True, False]
    assert [state(token) for token in tokens] == ["fresh", "used", "fresh"]
    other = Made(any_app, links="3")
    assert other.send(1, token=tokens[0]) == 403, "a link of another survey"
    page = made.client.get(f"{made.keep}/links").text
    assert all(f"{made.address}#{token}" in page for token in tokens)
    assert page.count('class="qr"') == 3
    assert not any(token in made.client.get(made.address).text for token in tokens)
    assert "no personal ones" in Made(any_app).client.get(f"{Made(any_app).keep}/links").text
    site_of(any_app).database.close()


def test_a_closed_survey_takes_nothing_more(any_app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    made, late = Made(any_app), Made(any_app)
    assert made.send(1, number=1) is True
    assert made.client.post(f"{made.keep}/close").status_code == 303
    assert [made.send(1, number=2), made.send(1, number=1)] == [409, False], "what was counted stays so"
    assert "closed" in made.client.get(made.address).text
    assert made.kept.reports == 1
    kept = late.kept
    with site_of(any_app).database.writing() as db:
        store.close(db, late.id)
        assert store.answer(db, kept, 1, "0" * 32, routes.today()) == "closed", "closed between two looks"
    with site_of(any_app).database.reading() as db:
        assert db.scalar(select(func.count()).where(SurveyToken.survey_id == late.id)) == 0
    last = Made(any_app)
    monkeypatch.setattr(routes, "today", lambda: last.kept.closes)
    assert last.send(1, number=1) is True
    monkeypatch.setattr(routes, "today", lambda: last.kept.closes + timedelta(days=1))
    assert last.send(1, number=2) == 409
    site_of(any_app).database.close()


def test_nothing_is_told_before_a_batch_is_full_nor_by_less_than_a_batch_afterwards(app: FastAPI) -> None:
    """Whatever the reports say: of two surveys with as many, all pages are the same until a batch is full."""
    one, other = (Made(app, **CHOICE) for _ in range(2))

    def told(made: Made) -> list[str]:
        pages = [made.address, f"{made.address}/results", f"{made.address}/results.csv"]
        pages += [made.keep, f"{made.keep}/results.csv", f"{made.keep}/links", f"{made.keep}/links.csv"]
        found = []
        for address in pages:
            answer = made.client.get(address)
            text = answer.text.replace(made.key, "KEY").replace(made.id, "ID")
            found.append(f"{answer.status_code} {re.sub(r'<path[^>]*qrline.*?/>', '', text)}")
        return found

    first, second = [0] * BATCH, [2] * BATCH
    for number in range(BATCH - 1):
        one.fill([first[number]], number + 1)
        other.fill([second[number]], number + 1)
        assert number % 8 or told(one) == told(other)
    assert told(one) == told(other)
    assert f"{BATCH - 1} answers so far. 1 more is needed" in one.client.get(f"{one.address}/results").text
    assert one.client.get(f"{one.address}/results.csv").status_code == 409
    one.fill([0], 99)
    other.fill([2], 99)
    assert told(one) != told(other)
    before = one.client.get(f"{one.address}/results.csv").text
    one.fill([1] * (BATCH - 1), 100)
    assert one.client.get(f"{one.address}/results.csv").text == before
    one.client.post(f"{one.keep}/close")
    assert one.client.get(f"{one.address}/results.csv").text == before, "closing tells nothing more, either"


def test_batches_follow_a_public_plan() -> None:
    plan = list(islice(ends(), 400))
    assert plan[:41] == [BATCH * (place + 1) for place in range(41)]
    assert all(after - before >= BATCH for before, after in pairwise(plan))
    assert plan[330] > 1_000_000, "even a large survey has a few hundred batches"
    assert [batch_of(report) for report in (1, BATCH, BATCH + 1, 1_000_000)] == [
        0,
        0,
        1,
        plan.index(next(e for e in plan if e >= 1_000_000)),
    ]


def test_a_sentence_says_what_intervals_decide(app: FastAPI) -> None:
    yes_no, choice, number = (Made(app, **other).kept.design for other in ({}, CHOICE, NUMBER))

    def verdict(asked: Any, *rows: tuple[str, float, float]) -> str:
        shown = tuple(Row(label, (low + high) / 2, low, high) for label, low, high in rows)
        return Results(asked, 25, 25, 25, (Step(25, shown),)).verdict

    assert verdict(yes_no, ("Yes", 51, 80), ("No", 20, 49)) == "So most of them would say yes."
    assert verdict(yes_no, ("Yes", 10, 40), ("No", 60, 90)) == "So most of them would say no."
    assert verdict(yes_no, ("Yes", 40, 60), ("No", 40, 60)) == "So neither yes nor no has a clear majority."
    assert "“b” is the most frequent" in verdict(choice, ("a", 0, 20), ("b", 30, 60), ("c", 5, 25))
    assert "do not show which answer" in verdict(choice, ("a", 0, 35), ("b", 30, 60), ("c", 5, 25))
    assert verdict(number, ("Mean", 3, 4)) == ""


@pytest.mark.parametrize("other", [{}, CHOICE, NUMBER], ids=str)
def test_results_are_the_estimates_of_the_library(app: FastAPI, other: dict[str, str]) -> None:
    made = Made(app, **other)
    asked = made.kept.design
    people = {"yes-no": [True, False, False], "choice": [0, 0, 1], "number": [3.0, 6.0, 9.0]}[asked.kind] * 50
    reports = asked.protocol.randomize(people, Reproducible(5))
    made.fill([asked.read(reports[place : place + 1].to_bytes().hex()) or 0 for place in range(reports.n)])
    estimates = asked.protocol.estimate(asked.protocol.absorb(None, reports))
    rows = list(csv.DictReader(io.StringIO(made.client.get(f"{made.address}/results.csv").text)))
    newest = [row for row in rows if row["reports"] == "150"]
    assert len(rows) == 6 * len(newest), "after every batch"
    lows, highs = estimates.interval()
    if asked.kind == "number":
        told, expected = [float(newest[0]["mean"])], [float(estimates.mean)]
        ends, normal = [newest[0]], [(float(lows), float(highs))]
    else:
        told, expected = [float(row["percent"]) for row in newest], [float(one) / 1.5 for one in estimates.counts]
        ends, normal = newest, [(float(a) / 1.5, float(b) / 1.5) for a, b in zip(lows, highs, strict=True)]
    assert told == pytest.approx(expected, rel=1e-4)
    for row, (low, high) in zip(ends, normal, strict=True):
        wider = (float(row["high"]) - float(row["low"])) / (high - low)
        assert 0.95 < wider < 1.3, "for many answers not far from the normal interval"
    page = made.client.get(f"{made.address}/results").text
    assert "95 % confidence" in page or "95 % interval" in page
    share = 1 if asked.kind == "number" else 100
    moved = f"{share * estimates.moved_by(1):.2g}", f"{share * estimates.moved_by(7):.2g}"
    assert f"move an estimate by up to {moved[0]}" in page
    assert f"and 7 fakes (5 % of the answers) by up to {moved[1]}" in page
    assert "<strong>150</strong> answers" in page


@pytest.mark.parametrize("epsilon", ["0.1", USUAL_EPSILON, "4", "10"])
@pytest.mark.parametrize("other", [{}, {**CHOICE, "answers": "\n".join(map(str, range(20)))}, NUMBER], ids=str)
def test_intervals_hold_95_times_out_of_100_also_for_few_answers_and_rare_ones(
    other: dict[str, str], epsilon: str
) -> None:
    """Over all tallies that 25 people can give, with their exact probabilities: no sampling."""
    asked = read_form(form(epsilon=epsilon, **other), routes.today()).design
    assert asked is not None
    whole, flip, spread = (24 if asked.kind == "number" else 100), asked.flip, asked.keep - asked.flip
    rows = []
    for hits in range(BATCH + 1):
        tally = [hits, BATCH - hits, *[0] * 18] if asked.kind == "choice" else [BATCH - hits, hits]
        rows.append(results(asked, BATCH, {0: tally}).rows[0])
    assert all(row.low <= whole and row.high >= 0 for row in rows), "something that can be true"
    for truth in (0, 0.01, 0.05, 0.2, 0.5, 0.9, 0.98, 1):
        likely = float(flip + spread * Fraction(truth))
        held = [
            math.comb(BATCH, hits) * likely**hits * (1 - likely) ** (BATCH - hits)
            for hits, row in enumerate(rows)
            if row.low - 1e-9 <= whole * truth <= row.high + 1e-9
        ]
        assert sum(held) >= 0.95, (truth, sum(held))


def test_without_scripts_no_field_could_carry_the_truth_away(app: FastAPI) -> None:
    for other in ({}, CHOICE, NUMBER):
        page = Made(app, **other).client.get(Made(app, **other).address).text
        [inside] = re.findall(r'<form class="sheet" autocomplete="off" hidden>(.*?)</form>', page, re.DOTALL)
        assert "data-answer" in inside
        assert " name=" not in inside, "text browsers show what is hidden, and send all that has a name"


def test_what_is_told_before_somebody_answers(app: FastAPI) -> None:
    usual, weak = (
        visitor(app).get(Made(app, epsilon=epsilon).address).text for epsilon in ("1.0986122886681098", "10")
    )
    before, form_, after = usual.partition("<form")
    for words in ("<strong>at most 75 % sure</strong>", "That you take part is not hidden", "#protected"):
        assert words in before
    assert form_
    for words in ("the relation is replace", "the unit is one person", "90 % sure (ε ≤ 2.20)", "another survey"):
        assert words in after
    assert "hides little" not in usual
    assert "hides little" in weak.partition("<form")[0]
    assert re.search(r"keeps 99\.99\d+ %", weak)
    assert "100 %" not in weak, "some are turned round"
    maker = Made(app, epsilon="10")
    assert "That hides little" in maker.client.get(maker.keep).text


def test_a_survey_is_reported_by_anybody_and_removed_by_moderators_who_see_no_answers(app: FastAPI) -> None:
    harmless, bad = Made(app), Made(app, **{**CHOICE, "question": "Who of <b>us</b> is the worst?"})
    for made in (harmless, bad):
        made.fill([1] * BATCH)
    assert f'href="{bad.address}/report"' in bad.client.get(bad.address).text
    assert "Is something wrong" in bad.client.get(f"{bad.address}/report").text
    done = bad.client.post(f"{bad.address}/report")
    assert (done.status_code, "Thank you" in done.text) == (200, True)
    teacher = visit_as(app, "instructor")
    page = teacher.get("/moderation/surveys").text
    assert harm_in(page) == []
    assert page.index("Who of &lt;b&gt;us") < page.index(QUESTION), "reported ones first"
    assert page.count("reported 1 time<") == 1
    assert page.count("Nothing is wrong") == 1
    assert f">{BATCH}<" not in page
    assert "%" not in page.partition("<main")[2].partition("</main")[0], "no results, and not how many answered"
    address = f"/moderation/surveys/{bad.id}"
    assert teacher.post(address, data={"action": "dismiss"}).status_code == 303
    assert "reported 1 time" not in teacher.get("/moderation/surveys").text
    assert teacher.post(address, data={"action": "remove"}).status_code == 422, "without being sure"
    assert teacher.post(address, data={"action": "remove", "sure": "yes"}).status_code == 303
    assert bad.client.get(bad.address).status_code == 404
    assert teacher.post(address, data={"action": "remove", "sure": "yes"}).status_code == 404
    assert harmless.kept.reports == BATCH
    with site_of(app).database.reading() as db:
        assert db.scalar(select(func.count()).select_from(Decision)) == 0, "no note is kept"


def test_only_the_maker_sees_what_is_for_the_maker(app: FastAPI) -> None:
    made, other = Made(app, public="maker"), Made(app)
    made.fill([1] * BATCH)
    assert made.client.get(f"{made.address}/results").status_code == 403
    assert made.client.get(f"{made.address}/results.csv").status_code == 403
    assert made.client.get(f"{made.keep}/results.csv").status_code == 200
    for key in ("", "x", other.key, made.key[:-1], made.key + "x"):
        wrong = f"{made.address}/keep/{key}"
        assert made.client.get(wrong).status_code == 404
        for what in ("/results.csv", "/links", "/links.csv"):
            assert made.client.get(wrong + what).status_code == 404
        assert made.client.post(f"{wrong}/close").status_code == 404
        assert made.client.post(f"{wrong}/delete", data={"sure": "yes"}).status_code == 404
    assert made.send(0, number=999) is True


def test_deleting_leaves_nothing(any_app: FastAPI, tmp_path: Path) -> None:
    secret = "A sentence that stands nowhere else on this disk"
    made, other = Made(any_app, question=secret, links="4"), Made(any_app)
    made.send(1, token=made.tokens()[0])
    other.send(1)
    assert made.client.post(f"{made.keep}/delete").status_code == 422, "without being sure"
    answer = made.client.post(f"{made.keep}/delete", data={"sure": "yes"})
    assert (answer.status_code, answer.headers.get("set-cookie")) == (303, None)
    assert "are deleted" in made.client.get(answer.headers["location"]).text
    for address in (made.address, f"{made.address}/results", made.keep, f"{made.keep}/links.csv"):
        assert made.client.get(address).status_code == 404
    body = {"report": other.report(1), "token": "0" * 32}
    assert made.client.post(f"{made.address}/answers", json=body).status_code == 404
    database = site_of(any_app).database
    with database.reading() as db:
        for table in (SurveyTally, SurveyToken, SurveyLink):
            assert db.scalar(select(func.count()).where(table.survey_id == made.id)) == 0
        assert db.scalars(select(Survey.id)).all() == [other.id]
        assert db.scalar(select(func.count()).select_from(SurveyToken)) == 1
    database.close()
    for path in tmp_path.glob("school.db*"):
        assert secret.encode() not in path.read_bytes(), "overwritten, in the journal, too"


def test_surveys_go_by_themselves(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(app)
    gone = made.kept.deleted_on
    monkeypatch.setattr(routes, "today", lambda: gone)
    Made(app, closes=gone.isoformat())
    assert made.client.get(made.address).status_code == 200
    monkeypatch.setattr(routes, "today", lambda: gone + timedelta(days=1))
    other = Made(app, closes=(gone + timedelta(days=1)).isoformat())
    assert made.client.get(made.address).status_code == 404
    monkeypatch.setattr(routes, "today", lambda: other.kept.deleted_on)
    assert other.client.get(other.keep).status_code == 200
    later = other.kept.deleted_on + timedelta(days=1)
    monkeypatch.setattr(routes, "today", lambda: later)
    assert other.client.get(other.keep).status_code == 404, "also if nobody makes another one"
    with site_of(app).database.reading() as db:
        assert db.get(Survey, other.id) is None


def test_an_answer_leaves_a_number_and_apart_from_it_a_hash(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    made = Made(app)
    caplog.set_level(logging.DEBUG)
    for number in (9, 3, 7, 1):
        made.send(1, number=number)
    assert {column.name for column in SurveyTally.__table__.columns} == {"survey_id", "batch", "value", "count"}
    assert {column.name for column in SurveyToken.__table__.columns} == {"survey_id", "token_hash"}
    with site_of(app).database.reading() as db:
        kept = [bytes(row) for row in db.scalars(text("SELECT token_hash FROM survey_tokens"))]
        for name in ("survey_tallies", "survey_tokens", "survey_links"):
            made_with = str(db.scalar(text(f"SELECT sql FROM sqlite_master WHERE name = '{name}'")))
            assert "WITHOUT ROWID" in made_with, "row numbers would tell an order"
    assert kept == sorted(store.digest(made.id, f"{number:032x}") for number in (9, 3, 7, 1))
    logged = " ".join(record.getMessage() for record in caplog.records)
    assert f"{9:032x}" not in logged
    assert made.report(1) not in logged


def test_makers_and_respondents_are_limited(app: FastAPI) -> None:
    made = Made(app)
    site_of(app).limits.rules = {
        **RULES,
        "survey": Rule(3, 3600),
        "survey answer": Rule(3, 60),
        "survey links": Rule(1, 60),
    }
    assert [made.client.post("/survey", data=form()).status_code for _ in range(3)] == [303, 303, 429]
    assert [made.send(1, number=number) for number in range(4)] == [True, True, True, 429]
    assert [made.client.get(f"{made.keep}/links.csv").status_code for _ in range(2)] == [200, 429]


def test_a_survey_is_not_changed_from_elsewhere_nor_in_somebodys_name(app: FastAPI) -> None:
    made = Made(app)
    elsewhere = {"sec-fetch-site": "cross-site"}
    body = {"report": made.report(1), "token": "0" * 32}
    assert made.client.post("/survey", data=form(), headers=elsewhere).status_code == 403
    assert made.client.post(f"{made.address}/answers", json=body, headers=elsewhere).status_code == 403
    assert made.client.post(f"{made.keep}/close", headers=elsewhere).status_code == 403
    assert made.client.post(f"{made.keep}/delete", data={"sure": "yes"}, headers=elsewhere).status_code == 403
    ada = signed_in(app)
    ada.headers.pop("x-csrf-token")
    assert ada.post("/survey", data=form()).status_code == 403
    assert made.kept.reports == 0


def test_addresses_with_a_key_are_kept_by_no_cache_and_found_by_no_search(app: FastAPI) -> None:
    made = Made(app, links="1")
    for address in (made.address, made.keep, f"{made.keep}/links", f"{made.address}/results"):
        answer = made.client.get(address)
        assert answer.headers["cache-control"] == "no-store"
        assert '<meta name="robots" content="noindex">' in answer.text
        assert "set-cookie" not in answer.headers


def test_the_qr_code_is_what_a_reader_expects() -> None:
    picture = str(qr.drawn("https://school.example/survey/abc", '"><script>'))
    assert picture.startswith('<svg role="img" aria-label="&#34;&gt;&lt;script&gt;"')
    assert zlib.crc32(picture.partition("<path")[2].encode()) == zlib.crc32(
        str(qr.drawn("https://school.example/survey/abc")).partition("<path")[2].encode()
    )


def test_days_are_those_of_the_form(app: FastAPI) -> None:
    made = Made(app)
    assert made.kept.closes == routes.today() + timedelta(days=7)
    assert isinstance(made.kept.deleted_on, date)
