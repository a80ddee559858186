"""How the school is used: collected within bounds, released through noise, paid for once."""

from __future__ import annotations

import json
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import pytest
from browser import answers_of
from cases import together
from fastapi import FastAPI
from school_site import TODAY, open_school, signed_in, site_of, visitor

from lapwing.errors import BudgetExceeded
from lapwing.privacy import Ledger, PureDP
from lapwing.web.service.settings import address
from lapwing.web.statistics.store import usage
from lapwing.web.statistics.weeks import EPSILON, FIRST, MOST, Statistics, Week, mechanism

LAST_WEEK = Week.of(TODAY - timedelta(weeks=1))
FALSE_ALARM = 1e-6


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def fill(app: FastAPI, week: Week, counts: dict[str, int]) -> None:
    with site_of(app).database.writing() as db:
        for what, count in counts.items():
            for one in range(count):
                usage.count(db, week.first + timedelta(days=one % 7), what)


def known(app: FastAPI) -> Statistics:
    return Statistics(site_of(app).settings, site_of(app).database)


def happened(**more: object) -> dict[str, object]:
    return {"what": "opened", "slug": "tools", "week": str(Week.of(TODAY)), **more}


def test_what_happened_is_counted_by_the_day_and_without_a_name(app: FastAPI) -> None:
    for client in (visitor(app), visitor(app), signed_in(app)):
        assert client.post("/usage", json=happened()).status_code == 204
    with site_of(app).database.reading() as db:
        assert usage.exact(db, TODAY - timedelta(days=1), TODAY + timedelta(days=1)) == {"opened tools": 3}


@together(
    "told",
    [
        {"what": "read"},
        {"slug": "no-such-nugget"},
        {"week": "2000-W01"},
        {"week": ""},
        {"slug": "x" * 500},
        {"what": 1},
    ],
)
def test_what_is_not_asked_for_is_not_counted(app: FastAPI, told: dict[str, object]) -> None:
    assert visitor(app).post("/usage", json=happened(**told)).status_code == 422
    with site_of(app).database.reading() as db:
        assert usage.exact(db, date.min, date.max) == {}


def test_an_address_cannot_count_without_end(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    rule = site_of(app).limits.rules["usage"]
    for _ in range(rule.most):
        site_of(app).limits.take("usage", ("address", "testclient"))
    assert visitor(app).post("/usage", json=happened()).status_code == 429


def test_a_week_is_paid_for_once_and_then_shown_for_nothing(app: FastAPI) -> None:
    fill(app, LAST_WEEK, {"opened tools": 500, "finished tools": 300})
    client, where = signed_in(app, "Mo", "instructor"), f"/statistics?week={LAST_WEEK}"
    before = client.get(where).text
    assert "Release this week" in before
    assert known(app).budget().spent == 0, "looking costs nothing"
    answer = client.post(f"/statistics/{LAST_WEEK}")
    assert (answer.status_code, answer.headers["location"]) == (303, where)
    first = client.get(where).text
    again = client.get(where).text
    other = signed_in(app, "Max", "admin")
    assert other.post(f"/statistics/{LAST_WEEK}").status_code == 303

    def table(page: str) -> list[str]:
        return re.findall(r'class="ends">([^<]*)<', page)

    assert len(table(first)) == 2 * len(site_of(app).pages.school.pages)
    assert table(first) == table(again) == table(other.get(where).text)
    assert known(app).budget().spent == EPSILON
    assert f"ε = {float(EPSILON):g} of {float(FIRST):g} spent, {float(FIRST - EPSILON):g} left" in again


def test_a_released_number_is_near_the_exact_one_and_its_interval_is_honest(app: FastAPI) -> None:
    fill(app, LAST_WEEK, {"opened tools": 400, "finished tools": 250})
    rows = known(app).release(LAST_WEEK, ["tools", "vendors"], TODAY)
    far = mechanism(4).accuracy(1 - FALSE_ALARM, simultaneous=True)
    half = int(mechanism(4).accuracy(0.95))
    for row, exact in zip(rows, [(400, 250), (0, 0)], strict=True):
        for number, truth in zip((row.opened, row.finished), exact, strict=True):
            assert abs(number.value - truth) <= far
            assert 0 <= number.low <= number.value <= number.high <= number.low + 2 * half


def test_noise_is_as_large_as_the_bound_on_a_browser_demands() -> None:
    loss = mechanism(44).privacy_loss()
    assert (loss.epsilon, loss.unit) == (EPSILON, "browser")
    assert mechanism(44).sensitivity == MOST


def test_exact_counts_are_never_shown_and_are_deleted_once_released(app: FastAPI) -> None:
    fill(app, LAST_WEEK, {"opened tools": 31})
    fill(app, Week.of(LAST_WEEK.first - timedelta(weeks=1)), {"opened tools": 5})
    known(app).release(LAST_WEEK, ["tools"], TODAY)
    with site_of(app).database.reading() as db:
        assert usage.exact(db, LAST_WEEK.first, LAST_WEEK.last) == {}
        assert usage.exact(db, date(2000, 1, 1), LAST_WEEK.first) == {"opened tools": 5}, "other weeks stay"


def test_a_budget_that_is_spent_says_so_and_releases_nothing(app: FastAPI) -> None:
    client, spending, later = signed_in(app, "Mo", "instructor"), known(app), TODAY + timedelta(weeks=60)
    others = [week for number in range(1, 53) if (week := Week(LAST_WEEK.year, number)) != LAST_WEEK]
    for week in others[: int(FIRST / EPSILON)]:
        spending.release(week, ["tools"], later)
    fill(app, LAST_WEEK, {"opened tools": 9})
    with pytest.raises(BudgetExceeded):
        spending.release(LAST_WEEK, ["tools"], later)
    budget = spending.budget()
    assert (budget.spent, budget.left, budget.weeks_left) == (FIRST, 0, 0)
    where = f"/statistics?week={LAST_WEEK}"
    page = client.get(where).text
    assert "is spent. This week cannot be released" in page
    assert "Release this week" not in page
    assert client.post(f"/statistics/{LAST_WEEK}").status_code == 303
    assert "Nothing was released, and nothing was spent" in client.get(where).text
    assert client.get(f"/statistics?week={others[0]}").status_code == 200, "what was released stays readable"


def test_the_budget_lasts_for_ever_unless_an_admin_grants_more(app: FastAPI) -> None:
    client, spending, later = signed_in(app, "Max", "admin"), known(app), TODAY + timedelta(weeks=600)
    weeks = [Week.of(TODAY + timedelta(weeks=26 * one)) for one in range(int(FIRST / EPSILON) + 3)]
    *covered, first_more, second_more, too_many = weeks
    for week in covered:
        spending.release(week, ["tools"], later)
    with pytest.raises(BudgetExceeded):
        spending.release(first_more, ["tools"], later)
    assert len({week.year for week in covered}) > 5, "no year brings anything new"
    form = {"epsilon": "1", "seen": "1", "sure": "yes"}
    for wrong in ({"sure": ""}, {"epsilon": "3"}, {"epsilon": "-1"}):
        assert client.post("/statistics/grant", data={**form, **wrong}).status_code == 422
    assert client.post("/statistics/grant", data=form).status_code == 303
    assert client.post("/statistics/grant", data=form).status_code == 409, "pressed twice, granted once"
    for week in (first_more, second_more, first_more, covered[0]):
        spending.release(week, ["tools"], later)
    with pytest.raises(BudgetExceeded):
        spending.release(too_many, ["tools"], later)
    budget = spending.budget()
    assert [(one.allowed, one.spent) for one in budget.grants] == [(FIRST, FIRST), (1, 1)]
    assert (budget.allowed, budget.left, budget.weeks_left) == (FIRST + 1, 0, 0)
    page = client.get("/statistics").text
    assert "ε = 11 of 11 spent, 0 left, enough for 0 more weeks. It does not renew itself." in page
    assert page.count(f'<th scope="row">{TODAY}') == 2
    assert "Grant more" not in signed_in(app, "Mo", "instructor").get("/statistics").text


def test_what_was_spent_from_the_budgets_of_years_counts(app: FastAPI, tmp_path: Path) -> None:
    ledger, old = Ledger(tmp_path / "school.ledger"), Week(2025, 7)
    ledger.open("usage 2025", PureDP(2, unit="browser"))
    ledger.charge("usage 2025", mechanism(1).privacy_loss(), key=f"usage {old}", binding=[str(old), MOST])
    assert [(one.when, one.allowed, one.spent) for one in known(app).budget().grants] == [("2025", 2, EPSILON)]
    known(app).release(old, ["tools"], TODAY)
    assert known(app).budget().spent == EPSILON, "it is paid for already"


def test_a_week_that_is_not_over_or_not_offered_is_not_released(app: FastAPI) -> None:
    client = signed_in(app, "Mo", "instructor")
    for week in (str(Week.of(TODAY)), "2000-W01", "2026-W99", "x", f"{LAST_WEEK}x"):
        assert client.post(f"/statistics/{week}").status_code == 404
    assert client.get("/statistics?week=2000-W01").status_code == 404
    with pytest.raises(ValueError, match="not over"):
        known(app).release(Week.of(TODAY), ["tools"], TODAY)
    assert known(app).released() == []


def test_a_crash_after_paying_does_not_pay_twice(app: FastAPI) -> None:
    fill(app, LAST_WEEK, {"opened tools": 9})
    known(app)._charge(LAST_WEEK)
    page = signed_in(app, "Mo", "instructor").get(f"/statistics?week={LAST_WEEK}").text
    assert "It is paid for already" in page
    known(app).release(LAST_WEEK, ["tools", "vendors"], TODAY)
    assert known(app).budget().spent == EPSILON


def test_a_damaged_ledger_releases_nothing(app: FastAPI, tmp_path: Path) -> None:
    known(app).release(LAST_WEEK, ["tools"], TODAY)
    with closing(sqlite3.connect(tmp_path / "school.ledger")) as file:
        file.execute("UPDATE budget SET spent_size = 0")
        file.commit()
    client = signed_in(app, "Mo", "instructor")
    for answer in (client.get("/statistics"), client.post(f"/statistics/{LAST_WEEK}")):
        assert answer.status_code == 503
        assert "ledger" in answer.json()["detail"]


def test_the_ledger_lies_beside_the_database_and_tells_what_was_released(app: FastAPI, tmp_path: Path) -> None:
    known(app).release(LAST_WEEK, ["tools"], TODAY)
    ledger = Ledger(tmp_path / "school.ledger", create=False)
    assert ledger.datasets() == [f"usage grant 1 of {TODAY}"]
    assert [entry.act for entry in ledger.entries()] == ["open", "charge", "release"]


@pytest.mark.parametrize("role", ["learner", "instructor"])
def test_statistics_are_for_instructors(app: FastAPI, role: str) -> None:
    client, status = signed_in(app, "Mo", role), 200 if role == "instructor" else 403
    assert client.get("/statistics").status_code == status
    assert client.post(f"/statistics/{LAST_WEEK}").status_code == (303 if status == 200 else 403)
    assert visitor(app).get("/statistics").status_code == 401


def test_a_release_needs_the_token(app: FastAPI) -> None:
    client = signed_in(app, "Mo", "instructor")
    client.headers.pop("x-csrf-token")
    assert client.post(f"/statistics/{LAST_WEEK}").status_code == 403
    assert known(app).released() == []


def test_a_team_keeps_counts_and_ledger_in_postgresql(tmp_path: Path, postgres_url: str) -> None:
    app = open_school(tmp_path, database=address(postgres_url))
    client = visitor(app)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/usage", json=happened()).status_code, range(20)))
    assert answers == [204] * 20
    fill(app, LAST_WEEK, {"opened tools": 3})
    client = signed_in(app, "Mo", "instructor")
    for _ in range(2):
        assert client.post(f"/statistics/{LAST_WEEK}").status_code == 303
    assert 'class="ends"' in client.get(f"/statistics?week={LAST_WEEK}").text
    assert known(app).budget().spent == EPSILON
    with site_of(app).database.reading() as db:
        assert usage.exact(db, TODAY - timedelta(days=1), TODAY + timedelta(days=1)) == {"opened tools": 20}
    assert list(tmp_path.iterdir()) == []


def test_weeks_are_those_of_the_calendar() -> None:
    days = [date(2020, 12, 27) + timedelta(days=one) for one in range(0, 2500, 13)]
    days += [
        date(year, month, day) for year in range(2018, 2032) for month, day in ((1, 1), (1, 3), (12, 29), (12, 31))
    ]
    told = answers_of([("week", "weekOf", [day.isoformat()], None) for day in days])
    assert told == [str(Week.of(day)) for day in days]
    assert all(Week.read(str(Week.of(day))) == Week.of(day) for day in days)


def test_a_browser_tells_each_thing_once_and_few_things_in_a_week() -> None:
    assert answers_of([("week", "most", [], None)]) == [MOST]
    full = {"week": "2026-W46", "told": [f"opened {one}" for one in range(MOST)]}
    some = {"week": "2026-W46", "told": ["opened a"]}
    asked = [
        ({}, "opened a"),
        (some, "opened a"),
        (some, "finished a"),
        (full, "opened z"),
        ({"told": "x"}, "opened a"),
    ]
    told = answers_of([("week", "admitted", [kept, what, "2026-W46"], None) for kept, what in asked])
    assert [one and len(one["told"]) for one in told] == [1, None, 2, None, 1]
    assert answers_of([("week", "admitted", [full, "opened z", "2026-W47"], None)]) == [
        {"week": "2026-W47", "told": ["opened z"]}
    ]


def test_stored_numbers_are_not_exact_ones_in_disguise(app: FastAPI, tmp_path: Path) -> None:
    fill(app, LAST_WEEK, {f"opened {slug}": 1 for slug in ("tools", "vendors")})
    slugs = [f"s{one}" for one in range(40)]
    known(app).release(LAST_WEEK, slugs, TODAY)
    with closing(sqlite3.connect(tmp_path / "school.ledger")) as file:
        stored = json.loads(file.execute("SELECT content FROM release").fetchone()[0])
    assert len(set(stored["counts"])) > 10, "80 draws of scale 12 are hardly ever alike"
