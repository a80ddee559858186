"""Classes: made by teachers, joined by pupils who read first what is seen, and forgotten when somebody leaves."""

from __future__ import annotations

import csv
import io
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from axe import VIEWS, complaints
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import expect
from school_site import PASSWORD, PERSON, account, browser_of, open_school, signed_in, site_of, visit_as, visitor
from sqlalchemy import func, select

from lapwing.web import backup, settings, statistics
from lapwing.web import classes as looks
from lapwing.web.limits import RULES
from lapwing.web.routes import classes as routes
from lapwing.web.store import classes as store
from lapwing.web.store import usage, users
from lapwing.web.tables import ClassPupil, ClassResult, Classroom

SLUG, OTHER = "attacks-on-privacy", "the-laplace-mechanism"
TODAY = statistics.today()


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


@dataclass
class Made:
    """A class with its teacher."""

    app: FastAPI
    teacher: TestClient
    id: str

    @property
    def address(self) -> str:
        return f"/classes/{self.id}"

    @property
    def page(self) -> str:
        return self.teacher.get(self.address, headers=PERSON).text

    @property
    def code(self) -> str:
        found = re.search(r'class="code large">([A-Z]{4}-[A-Z]{4})<', self.page)
        assert found
        return found[1]

    def join(self, name: str, pseudonym: str, client: TestClient | None = None) -> TestClient:
        client = client or signed_in(self.app, name)
        answer = client.post("/join", data={"code": self.code, "pseudonym": pseudonym})
        assert (answer.status_code, answer.headers["location"]) == (303, "/classes")
        return client

    def marks(self) -> dict[str, str]:
        found = re.findall(rf'href="{self.address}/pupils/([^"]+)"[^>]*>([^<]+)<', self.page)
        return {name: mark for mark, name in found}

    def table(self) -> list[dict[str, str]]:
        answer = self.teacher.get(f"{self.address}/class.csv")
        assert answer.status_code == 200
        return list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))


def made(app: FastAPI, teacher: TestClient | None = None, name: str = "Mathematics 11b") -> Made:
    teacher = teacher or visit_as(app, "instructor")
    answer = teacher.post("/classes", data={"name": name})
    assert answer.status_code == 303
    return Made(app, teacher, answer.headers["location"].removeprefix("/classes/"))


def finish(client: TestClient, slug: str = SLUG, right: int = 3) -> dict[str, Any]:
    answer = client.post("/classes/finished", json={"slug": slug, "right": right})
    assert answer.status_code == 200
    told: dict[str, Any] = answer.json()
    return told


def rows(app: FastAPI) -> tuple[int, ...]:
    with site_of(app).database.reading() as db:
        tables = (Classroom, ClassPupil, ClassResult)
        return tuple(db.scalar(select(func.count()).select_from(table)) or 0 for table in tables)


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


def test_before_joining_one_reads_what_is_seen_and_nothing_is_kept_until_one_agrees(app: FastAPI) -> None:
    one = made(app)
    pupil = signed_in(app, "Bob Miller")
    page = pupil.get("/join", params={"code": f" {one.code.lower().replace('-', ' ')} "}, headers=PERSON).text
    for words in ("Mathematics 11b", "Your teacher sees", "Your teacher does not see", "You can leave at any time"):
        assert words in page
    assert "Bob Miller" not in re.sub(r"<header class=\"site\".*?</header>", "", page, flags=re.DOTALL)
    offered = re.search(r'name="pseudonym" value="([A-Z][a-z]+ [A-Z][a-z]+)"', page)
    assert offered, "a name is made up for those who have no idea"
    assert rows(app) == (1, 0, 0)
    assert pupil.get("/me").json()["classes"] == 0
    assert finish(pupil)["classes"] == 0
    assert rows(app) == (1, 0, 0), "who is in no class sends nothing that is kept"
    one.join("", offered[1], pupil)
    assert rows(app) == (1, 1, 0), "what was finished before is not seen"
    assert pupil.get("/me").json()["classes"] == 1


def test_who_is_not_signed_in_is_asked_to_and_learns_nothing_about_a_code(app: FastAPI) -> None:
    one = made(app)
    right = visitor(app).get("/join", params={"code": one.code}, headers=PERSON)
    wrong = visitor(app).get("/join", params={"code": "bbbb-bbbb"}, headers=PERSON)
    assert right.status_code == wrong.status_code == 200
    assert "Mathematics" not in right.text
    assert right.text.replace(one.code, "bbbb-bbbb") == wrong.text
    assert f"/account/sign-up?next=/join%3Fcode%3D{one.code}" in right.text
    new = visitor(app)
    signed_up = {"name": "Bob", "password": PASSWORD, "next": f"/join?code={one.code}"}
    assert new.post("/account/sign-up", data=signed_up).headers["location"] == f"/join?code={one.code}"
    assert "Mathematics" in new.get(f"/join?code={one.code}", headers=PERSON).text


def test_strange_pseudonyms_are_refused_and_say_why(app: FastAPI) -> None:
    one, pupil = made(app), signed_in(app)
    code = one.code
    for pseudonym in ("", "x", "=cmd()", "-", "x" * 41, "a\u202eb", "admin"):
        answer = pupil.post("/join", data={"code": code, "pseudonym": pseudonym}, headers=PERSON)
        assert answer.status_code == 422, pseudonym
        assert 'aria-invalid="true"' in answer.text
    assert rows(app)[1] == 0


def test_two_pupils_have_two_names_and_one_pupil_has_one(app: FastAPI) -> None:
    one = made(app)
    first = one.join("Bob", "Calm Curlew")
    taken = signed_in(app, "Eve").post("/join", data={"code": one.code, "pseudonym": "CALM  curlew"}, headers=PERSON)
    assert taken.status_code == 422
    assert "has this name already" in taken.text
    one.join("", "Another Name", first)
    assert list(one.marks()) == ["Calm Curlew"]
    assert "already, as" in first.get(f"/join?code={one.code}", headers=PERSON).text
    own = one.teacher.post("/join", data={"code": one.code, "pseudonym": "Myself"}, headers=PERSON)
    assert (own.status_code, rows(app)[1]) == (422, 1)


def test_a_pupil_takes_another_name_and_the_old_one_is_gone(app: FastAPI, tmp_path: Path) -> None:
    one = made(app)
    pupil, other = one.join("Bob", "Zzyzx Quokka"), one.join("Eve", "Wise Wren")
    finish(pupil)
    for pseudonym in ("wise wren", "=x", ""):
        answer = pupil.post(f"{one.address}/pseudonym", data={"pseudonym": pseudonym}, headers=PERSON)
        assert (answer.status_code, 'aria-invalid="true"' in answer.text) == (422, True)
    assert pupil.post(f"{one.address}/pseudonym", data={"pseudonym": "Calm Curlew"}).status_code == 303
    assert [(row["pseudonym"], row["finished"]) for row in one.table()] == [("Calm Curlew", "1"), ("Wise Wren", "0")]
    stranger = {"pseudonym": "Kind Knot"}
    assert signed_in(app, "Kim").post(f"{one.address}/pseudonym", data=stranger).status_code == 404
    assert other.post("/classes/none/pseudonym", data=stranger).status_code == 404
    site_of(app).database.close()
    for path in tmp_path.glob("school.db*"):
        assert b"Quokka" not in path.read_bytes()


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


def test_a_code_can_be_renewed_and_closed(app: FastAPI) -> None:
    one = made(app)
    before = one.code
    pupil = signed_in(app, "Bob")
    one.teacher.post(f"{one.address}/code", data={"action": "renew"})
    assert one.code != before
    assert pupil.get("/join", params={"code": before}, headers=PERSON).status_code == 422
    again = one.code
    one.teacher.post(f"{one.address}/code", data={"action": "close"})
    assert "The class is closed" in one.page
    assert "closed" in one.teacher.get(f"{one.address}/projected", headers=PERSON).text
    for code in (again, "", "none", "null"):
        assert pupil.post("/join", data={"code": code, "pseudonym": "Calm Curlew"}).status_code == 422
    one.teacher.post(f"{one.address}/code", data={"action": "renew"})
    one.join("", "Calm Curlew", pupil)
    assert one.teacher.post(f"{one.address}/code", data={"action": "?"}).status_code == 422
    shown = one.teacher.get(f"{one.address}/projected", headers=PERSON).text
    assert one.code in shown
    assert "Calm Curlew" not in shown, "what is projected says nothing about anybody"


def test_codes_are_plain_letters_and_hard_to_guess(app: FastAPI) -> None:
    assert len(store.LETTERS) ** 8 > 2**33
    assert not set(store.LETTERS) & set("aeiouly01"), "no words, nothing that looks like something else"
    assert looks.read_code(" bcdf GHJK ") == "bcdf-ghjk"
    assert [looks.read_code(text) for text in ("", "abcd-efgh", "bcdf-ghj", "bcdf-ghjkm", "ｂcdfghjk\0")] == [""] * 5


def test_guessing_codes_is_limited_and_typing_the_right_one_is_not(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    one = made(app)
    code, pupil = one.code, signed_in(app, "Bob")
    for _ in range(RULES["class code"].most + 5):
        assert pupil.get("/join", params={"code": code}, headers=PERSON).status_code == 200
    for _ in range(RULES["class code"].most):
        assert pupil.get("/join", params={"code": "bbbb-bbbb"}, headers=PERSON).status_code == 422
    assert pupil.get("/join", params={"code": "bbbb-bbbb"}).status_code == 429
    assert pupil.post("/join", data={"code": code, "pseudonym": "Calm Curlew"}).status_code == 429
    one.join("Eve", "Wise Wren")
    for _ in range(RULES["class code wrong"].most):
        site_of(app).limits.note("class code wrong", "testclient")
    guesser = signed_in(app, "Mallory")
    tries = [guesser.get("/join", params={"code": "bbbb-bbbb"}).status_code for _ in range(4)]
    assert tries == [422, 422, 422, 429], "many accounts behind one address guess slowly"
    one.join("Kim", "Kind Knot")
    assert len(one.marks()) == 2, "and yet keep nobody out of their class"


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


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_who_leaves_is_forgotten_and_nobody_else(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = {} if kind == "sqlite" else {"database": settings.address(request.getfixturevalue("postgres_url"))}
    app = open_school(tmp_path, **url)
    secret = "Zzyzx Quokka"
    one = made(app)
    leaving, removed, staying = one.join("Bob", secret), one.join("Eve", "Wise Wren"), one.join("Kim", "Kind Knot")
    for pupil in (leaving, removed, staying):
        finish(pupil)
        finish(pupil, OTHER)
    assert rows(app) == (1, 3, 6)
    assert leaving.post(f"{one.address}/leave").headers["location"] == "/classes"
    assert leaving.post(f"{one.address}/leave").status_code == 404
    assert leaving.get("/me").json()["classes"] == 0
    mark = one.marks()["Wise Wren"]
    assert one.teacher.post(f"{one.address}/pupils/{mark}/remove").status_code == 303
    assert one.teacher.get(f"{one.address}/pupils/{mark}").status_code == 404
    assert (rows(app), list(one.marks())) == ((1, 1, 2), ["Kind Knot"])
    one.join("", "Somebody New", leaving)
    assert rows(app) == (1, 2, 2), "who comes again begins anew"
    database = site_of(app).database
    database.close()
    for path in tmp_path.glob("school.db*"):
        assert secret.encode() not in path.read_bytes(), "overwritten, in the journal, too"


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
    monkeypatch.setattr("lapwing.web.routes.membership.today", lambda: last + timedelta(days=1))
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
    assert "nobody sees this list" in pupil.get("/classes", headers=PERSON).text


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


def test_pupils_can_take_along_what_a_class_knows_of_them_and_it_is_in_backups(app: FastAPI, tmp_path: Path) -> None:
    one = made(app)
    pupil = one.join("Bob", "Calm Curlew")
    finish(pupil)
    told = pupil.get("/account/data").json()
    assert [row["pseudonym"] for row in told["class_pupils"]] == ["Calm Curlew"]
    assert [(row["slug"], row["day"], row["right"]) for row in told["class_results"]] == [(SLUG, TODAY.isoformat(), 3)]
    assert one.teacher.get("/account/data").json()["class_pupils"] == []
    backup.save(site_of(app).settings, tmp_path / "copy.db")
    pupil.post(f"{one.address}/leave")
    backup.bring_back(site_of(app).settings, tmp_path / "copy.db", replace=True)
    assert rows(app) == (1, 1, 1), "so backups are to be deleted, too, and the page says so"


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
    within = statistics.within(len(site_of(app).pages.school.pages))
    for page in (one.page, one.teacher.get("/statistics", headers=PERSON).text):
        assert f"about ±{within}, with 95 % confidence" in page
        assert "neither anonymous nor differentially private" in page
    assert within > 25, "which is why a class of 25 needs another list"


def test_many_join_at_once_under_one_name_and_one_gets_it(app: FastAPI) -> None:
    one = made(app)
    code = one.code
    clients = [signed_in(app, f"Pupil {number}") for number in range(8)]
    with ThreadPoolExecutor(8) as together:
        wish = {"code": code, "pseudonym": "Calm Curlew"}
        said = list(together.map(lambda client: client.post("/join", data=wish).status_code, clients))
    assert sorted(said) == [303, *[422] * 7]


READ_BEFORE = """() => {
    const done = { screens: [], questions: [1, 2, 3, 4], total: 4, at: 1 };
    localStorage.setItem("lapwing-progress", JSON.stringify({ "the-benefits": done }));
}"""
"""Somebody finished a nugget in this browser, before anybody joined anything."""


def test_from_a_code_on_the_wall_to_a_tick_in_the_list_and_out_again(visit: Any, live_school: Any) -> None:
    """The whole way: a teacher at a desk, a pupil with a phone at night."""
    desk = visit(bypass_csp=True)  # axe is a script
    teacher = account(live_school.app, "Emmy Noether", "instructor")
    known = browser_of(live_school.app, teacher)
    secure = live_school.url.replace("http:", "https:")  # browsers trust this machine like https
    for name, value in known.cookies.items():
        desk.context.add_cookies([{"name": name, "value": value, "url": secure, "secure": True}])
    page = desk.open("/classes")
    page.get_by_label("Name of the class").fill("Mathematics 11b")
    page.get_by_role("button", name="Make the class").click()
    expect(page.get_by_role("heading", name="0 pupils")).to_be_visible()
    page.get_by_role("link", name="Show it large").click()
    code = page.locator(".wall .code").inner_text()
    page.get_by_role("link", name="Back to the class").click()

    begun = visit(viewport={"width": 320, "height": 700}, color_scheme="dark", has_touch=True, bypass_csp=True)
    phone = begun.open(f"/join?code={code}")
    phone.evaluate(READ_BEFORE)
    phone.get_by_role("link", name="Make an account").click()
    phone.get_by_label("Name, shown beside what you write").fill("Ida Example")
    phone.get_by_label("Password, at least 12 characters").fill(PASSWORD)
    phone.get_by_role("button", name="Make my account").click()
    expect(phone.get_by_role("heading", name="Your teacher sees", exact=True)).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 320
    assert complaints(phone, [({"width": 320, "height": 700}, "dark")]) == []
    phone.get_by_label("Your name in this class").fill("Calm Curlew")
    phone.get_by_role("button", name="I agree. Join the class").press("Enter")
    expect(phone.get_by_text("not finished a nugget since you joined")).to_be_visible()

    phone.goto(f"{begun.url}/learn/the-benefits")
    told = phone.locator("#class-told")
    for form in phone.locator("form.question").all():
        for right in form.locator("[data-right]").all():
            right.check()
        form.get_by_role("button", name="Check").click()
        phone.wait_for_function("localStorage.getItem('lapwing-class')")
        expect(told).to_have_count(0)  # the class hears nothing of what was read before, and nothing half done
    for screen in phone.locator("section.screen").all():
        screen.locator("> :last-child").scroll_into_view_if_needed()
    expect(told).to_contain_text("Your teacher sees that you finished this nugget")
    expect(phone.get_by_text(re.compile(r"^1 of \d+ nuggets done$"))).to_be_visible()

    page.reload()
    expect(page.locator("tr", has=page.get_by_role("link", name="Calm Curlew")).locator(".done")).to_have_count(1)
    assert complaints(page, VIEWS) == []

    phone.goto(f"{begun.url}/classes")
    expect(phone.get_by_role("row", name="The benefits")).to_be_visible()
    assert complaints(phone, [({"width": 320, "height": 700}, "light")]) == []
    phone.get_by_role("button", name="Leave, and delete it").click()
    expect(phone.get_by_text("You are in no class.")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="0 pupils")).to_be_visible()
