"""Classes of teachers: who sees what, how long it lasts, and what reaches nobody."""

from __future__ import annotations

import logging
import re
from datetime import timedelta
from pathlib import Path

import pytest
from classroom import SLUG, finish, made, rows
from fastapi import FastAPI
from school_site import PASSWORD, PERSON, TODAY, account, browser_of, open_school, signed_in, site_of, visit_as, visitor
from sqlalchemy import select

from lapwing.web.accounts.store import users
from lapwing.web.classes.routes import classes as routes
from lapwing.web.classes.store import classes as store
from lapwing.web.service.tables import ClassPupil
from lapwing.web.statistics import weeks
from lapwing.web.statistics.store import usage


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def test_a_teacher_sees_pseudonyms_and_what_was_finished_and_nothing_else(app: FastAPI) -> None:
    one = made(app)
    pupil, idle = one.join("Bob Miller", "Calm Curlew"), one.join("Eve Smith", "Wise Wren")
    assert finish(pupil) == {"classes": 1, "right": 3, "questions": 4}
    assert finish(pupil, right=2)["right"] == 2
    page = one.page
    assert "Calm Curlew" in page
    assert "Wise Wren" in page
    assert "Bob" not in page
    assert "Eve" not in page
    assert ">3/4<" in page, "fewer right answers later take nothing away"
    assert one.marks().keys() == {"Calm Curlew", "Wise Wren"}
    detail = one.teacher.get(f"{one.address}/pupils/{one.marks()['Calm Curlew']}", headers=PERSON).text
    shown = re.search(r'<table class="finished">.*?</table>', detail, re.DOTALL)
    assert shown
    assert shown[0] in pupil.get("/classes", headers=PERSON).text, "the pupil sees what the teacher sees"
    assert f"{TODAY.day} {TODAY:%b %Y}" in shown[0]
    assert "not finished a nugget" in idle.get("/classes", headers=PERSON).text


def test_only_its_teacher_sees_a_class_and_others_cannot_tell_that_it_exists(app: FastAPI) -> None:
    one = made(app)
    pupil = one.join("Bob", "Calm Curlew")
    mark = one.marks()["Calm Curlew"]
    pages = ("", "/projected", "/class.csv", f"/pupils/{mark}")
    forms = {"/name": {"name": "Mine"}, "/code": {"action": "close"}, "/delete": {"sure": "yes"}}
    forms |= {f"/pupils/{mark}/remove": {}}
    for stranger in (visit_as(app, "instructor"), visit_as(app, "admin")):
        for page in pages:
            got, none = (stranger.get(f"/classes/{name}{page}", headers=PERSON) for name in (one.id, "x" * 22))
            assert (got.status_code, got.text) == (none.status_code, none.text)
            assert got.status_code == 404
        for page, data in forms.items():
            assert stranger.post(f"{one.address}{page}", data=data).status_code == 404
        assert "Mathematics" not in stranger.get("/classes", headers=PERSON).text
        assert stranger.post(f"{one.address}/leave").status_code == 404
    assert pupil.get(one.address).status_code == 403
    assert visitor(app).get(one.address).status_code == 401
    other = made(app)
    assert other.teacher.get(f"{other.address}/pupils/{mark}").status_code == 404, "a pupil of another class"
    assert other.teacher.post(f"{other.address}/pupils/{mark}/remove").status_code == 404
    assert rows(app) == (2, 1, 0)


def test_classes_pupils_and_memberships_are_bounded(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MOST_TAUGHT", 2), ("MOST_PUPILS", 1), ("MOST_JOINED", 1)):
        monkeypatch.setattr(store, name, most)
    one = made(app)
    two = made(app, one.teacher)
    assert one.teacher.post("/classes", data={"name": "A third"}).status_code == 422
    bob = one.join("Bob", "Calm Curlew")
    full = signed_in(app, "Eve").post("/join", data={"code": one.code, "pseudonym": "Wise Wren"}, headers=PERSON)
    assert (full.status_code, "The class is full" in full.text) == (422, True)
    many = bob.post("/join", data={"code": two.code, "pseudonym": "Wise Wren"}, headers=PERSON)
    assert (many.status_code, "more are not possible" in many.text) == (422, True)
    assert rows(app) == (2, 1, 0)


def test_deleting_a_class_or_an_account_takes_everything_along(app: FastAPI) -> None:
    teacher = account(app, "Emmy", "instructor")
    one, two = made(app, browser_of(app, teacher)), made(app, browser_of(app, teacher))
    other = made(app)
    bob = one.join("Bob", "Calm Curlew")
    two.join("", "Calm Curlew", bob)
    other.join("", "Calm Curlew", bob)
    assert finish(bob)["classes"] == 3
    assert one.teacher.post(f"{one.address}/delete").status_code == 422, "without being sure"
    assert one.teacher.post(f"{one.address}/delete", data={"sure": "yes"}).status_code == 303
    assert one.teacher.get(one.address).status_code == 404
    assert rows(app) == (2, 2, 2)
    with site_of(app).database.writing() as db:
        users.remove(db, teacher.id)
    assert rows(app) == (1, 1, 1)
    assert bob.post("/account/delete", data={"password": PASSWORD}).status_code == 303
    assert rows(app) == (1, 0, 0)


def test_a_class_ends_with_its_year(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(app)
    code, pupil = one.code, one.join("Bob", "Calm Curlew")
    last = TODAY + timedelta(days=store.KEPT_DAYS)
    monkeypatch.setattr(routes, "today", lambda: last)
    assert one.teacher.get(one.address).status_code == 200
    monkeypatch.setattr(routes, "today", lambda: last + timedelta(days=1))
    assert one.teacher.get(one.address).status_code == 404
    monkeypatch.setattr("lapwing.web.classes.routes.membership.today", lambda: last + timedelta(days=1))
    assert finish(pupil)["classes"] == 0
    assert pupil.get("/join", params={"code": code}).status_code == 422
    assert "Mathematics" not in pupil.get("/classes", headers=PERSON).text
    assert rows(app) == (0, 0, 0), "somebody looked, and it was deleted"


def test_a_teacher_who_is_none_any_more_is_told_nothing(app: FastAPI) -> None:
    teacher = account(app, "Emmy", "instructor")
    one = made(app, browser_of(app, teacher))
    code, pupil = one.code, one.join("Bob", "Calm Curlew")
    with site_of(app).database.writing() as db:
        users.set_role(db, teacher.id, "learner")
    assert one.teacher.get(one.address).status_code == 403
    assert finish(pupil)["classes"] == 0
    assert signed_in(app, "Eve").get("/join", params={"code": code}).status_code == 422
    assert "Nobody sees this list" in pupil.get("/classes", headers=PERSON).text


def test_what_cannot_be_finished_is_not_kept(app: FastAPI) -> None:
    pupil = made(app).join("Bob", "Calm Curlew")
    wrong: tuple[dict[str, object], ...] = ({"slug": "no-such"}, {"slug": ""}, {"right": -1}, {"right": "many"})
    for told in (*wrong, {"right": 5000}):
        assert pupil.post("/classes/finished", json={"slug": SLUG, "right": 1, **told}).status_code == 422, told
    assert rows(app) == (1, 1, 0)
    assert finish(pupil, right=99)["right"] == 4, "never more right answers than questions"


def test_the_list_is_exported_for_a_spreadsheet_and_runs_no_formula(app: FastAPI) -> None:
    one = made(app, name="=HYPERLINK(1)")
    pupil = one.join("Bob", "Jürgen 東")
    one.join("Eve", "1 Wren")
    finish(pupil)
    with site_of(app).database.writing() as db:  # as an older school may have let it through
        kept = db.scalars(select(ClassPupil).where(ClassPupil.pseudonym == "1 Wren")).one()
        kept.pseudonym = "=1+1"
    first, second = sorted(one.table(), key=lambda row: row["pseudonym"] == "Jürgen 東")
    assert (first["pseudonym"], first["finished"]) == ("'=1+1", "0")
    named = (second[key] for key in ("finished", "1. Attacks on privacy", "1. right answers of 4"))
    assert tuple(named) == ("1", TODAY.isoformat(), "3")
    assert len(second) == 2 + 2 * len(site_of(app).pages.school.pages)
    answer = one.teacher.get(f"{one.address}/class.csv")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-disposition"] == 'attachment; filename="class.csv"'
    assert "Bob" not in answer.text


def test_names_of_classes_are_checked_and_shown_as_they_are(app: FastAPI) -> None:
    teacher = visit_as(app, "instructor")
    for name in ("", "   ", "x" * 61, "a\x07b", "a\u202eb"):
        assert teacher.post("/classes", data={"name": name}, headers=PERSON).status_code == 422, name
    one = made(app, teacher, "<script>alert(1)</script>")
    assert "<script>alert" not in one.page + one.teacher.get("/classes", headers=PERSON).text
    answer = one.teacher.post(f"{one.address}/name", data={"name": " "}, headers=PERSON)
    assert (answer.status_code, 'id="name-complaint"' in answer.text) == (422, True)
    assert one.teacher.post(f"{one.address}/name", data={"name": "Maths  12"}).status_code == 303
    assert "Maths 12" in one.page


def test_nothing_of_a_class_reaches_logs_or_statistics(app: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    one = made(app, name="Quokka class")
    code = one.code
    pupil = one.join("Bob", "Calm Curlew")
    finish(pupil)
    pupil.post(f"{one.address}/leave")
    logged = " ".join(record.getMessage() for record in caplog.records if "httpx" not in record.name)  # our own client
    for secret in ("Quokka", "Calm Curlew", code, code.lower(), one.id, SLUG):
        assert secret not in logged
    with site_of(app).database.reading() as db:
        assert usage.exact(db, TODAY - timedelta(days=1), TODAY + timedelta(days=1)) == {}


def test_both_pages_say_why_one_list_is_exact_and_the_other_is_not(app: FastAPI) -> None:
    one = made(app)
    within = weeks.within(len(site_of(app).pages.school.pages))
    for page in (one.page, one.teacher.get("/statistics", headers=PERSON).text):
        assert f"about ±{within}, with 95 % confidence" in page
        assert "neither anonymous nor differentially private" in page
    assert within > 25, "which is why a class of 25 needs another list"
