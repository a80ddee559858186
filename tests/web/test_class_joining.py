"""Pupils of a class: they read first what is seen, take a name, and are forgotten when they leave."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from classroom import SLUG, finish, made, rows
from fastapi import FastAPI
from school_site import PASSWORD, PERSON, TODAY, open_school, signed_in, site_of, visitor

from lapwing.web import backup
from lapwing.web.classes import lists as looks
from lapwing.web.classes.store import classes as store
from lapwing.web.service import settings
from lapwing.web.service.limits import RULES

OTHER = "the-laplace-mechanism"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


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


def test_many_join_at_once_under_one_name_and_one_gets_it(app: FastAPI) -> None:
    one = made(app)
    code = one.code
    clients = [signed_in(app, f"Pupil {number}") for number in range(8)]
    with ThreadPoolExecutor(8) as together:
        wish = {"code": code, "pseudonym": "Calm Curlew"}
        said = list(together.map(lambda client: client.post("/join", data=wish).status_code, clients))
    assert sorted(said) == [303, *[422] * 7]
