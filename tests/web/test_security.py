"""What must not happen, whoever tries."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PASSWORD, PERSON, USUAL_HASHER, account, open_school, signed_in, site_of, visitor
from sqlalchemy import update

from lapwing.web.accounts import passwords
from lapwing.web.accounts.store import sessions
from lapwing.web.bodies import MOST
from lapwing.web.service.headers import HEADERS
from lapwing.web.service.limits import RULES, Limits, Rule, address_of
from lapwing.web.service.problems import Problem
from lapwing.web.service.tables import WebSession

SIGN_IN = "/account/sign-in"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def enter(client: TestClient, name: str = "Ada", password: str = PASSWORD) -> int:
    client.headers.pop("x-csrf-token", None)
    return client.post(SIGN_IN, data={"name": name, "password": password}).status_code


def cookies_of(answer: object) -> dict[str, set[str]]:
    """The attributes of every cookie an answer sets."""
    lines = answer.headers.get_list("set-cookie")  # type: ignore[attr-defined]
    return {line.split("=")[0]: {part.strip().lower() for part in line.split(";")[1:]} for line in lines}


def test_the_cookie_stays_in_the_browser_of_one_host_and_away_from_scripts(app: FastAPI) -> None:
    account(app, "Ada")
    answer = visitor(app).post(SIGN_IN, data={"name": "Ada", "password": PASSWORD})
    cookies = cookies_of(answer)
    assert {"httponly", "secure", "samesite=lax", "path=/"} <= cookies["__Host-lapwing"]
    assert not any(part.startswith("domain") for part in cookies["__Host-lapwing"])
    assert "httponly" not in cookies["lapwing-signed-in"]
    assert answer.headers["cache-control"] == "no-store"


def test_without_https_there_is_no_cookie_that_pretends_to_have_it(tmp_path: Path) -> None:
    app = open_school(tmp_path, secure=False)
    account(app, "Ada")
    cookies = cookies_of(visitor(app).post(SIGN_IN, data={"name": "Ada", "password": PASSWORD}))
    assert "secure" not in cookies["lapwing"]
    assert "httponly" in cookies["lapwing"]


def test_readers_get_no_cookie(app: FastAPI) -> None:
    for address in ("/", "/learn/tools", "/glossary", SIGN_IN, "/me", "/nothing"):
        assert "set-cookie" not in visitor(app).get(address).headers


def test_a_session_somebody_else_planted_is_not_taken_over(app: FastAPI) -> None:
    account(app, "Ada")
    client = visitor(app)
    client.cookies.set("__Host-lapwing", "planted", domain="testserver.local", path="/")
    assert enter(client) == 303
    assert client.cookies.get("__Host-lapwing") != "planted"
    old = client.cookies.get("__Host-lapwing")
    client.headers["x-csrf-token"] = client.get("/me").json()["csrf"]
    assert client.post(SIGN_IN, data={"name": "Ada", "password": PASSWORD}).status_code == 303
    before = visitor(app)
    before.cookies.set("__Host-lapwing", str(old), domain="testserver.local", path="/")
    assert before.get("/me").json() == {"signed_in": False}, "the session before is over"


def test_signing_out_ends_the_session_for_every_copy_of_the_cookie(app: FastAPI) -> None:
    client = signed_in(app)
    copy = visitor(app)
    copy.cookies.set("__Host-lapwing", str(client.cookies.get("__Host-lapwing")), domain="testserver.local", path="/")
    assert copy.get("/account").status_code == 200
    client.post("/account/sign-out")
    assert copy.get("/account").status_code == 401


def test_the_database_holds_no_token_that_opens_anything(app: FastAPI) -> None:
    client = signed_in(app)
    token = str(client.cookies.get("__Host-lapwing"))
    with site_of(app).database.reading() as db:
        kept = db.query(WebSession).one()
        assert token.encode() not in kept.token_hash
        for stolen in (kept.token_hash.hex(), kept.csrf):
            assert sessions.find(db, stolen, int(time.time())) is None


@pytest.mark.parametrize(("role", "idle"), [("learner", sessions.IDLE), ("admin", sessions.ADMIN_IDLE)])
def test_sessions_end_by_themselves(app: FastAPI, role: str, idle: int) -> None:
    client, now = signed_in(app, role=role), int(time.time())
    with site_of(app).database.writing() as db:
        db.execute(update(WebSession).values(last_seen=now - idle + 60))
    assert client.get("/account").status_code == 200, "and being there is noticed"
    with site_of(app).database.writing() as db:
        assert db.query(WebSession).one().last_seen >= now
        db.execute(update(WebSession).values(last_seen=now - idle - 60))
    assert client.get("/account").status_code == 401
    with site_of(app).database.writing() as db:
        db.execute(update(WebSession).values(last_seen=now, expires=now - 1))
    assert client.get("/account").status_code == 401


def test_who_may_not_sign_in_any_more_is_out_at_once(app: FastAPI) -> None:
    admin, learner = signed_in(app, "Grace", "admin"), signed_in(app, "Ada")
    assert admin.post("/admin/users/2/active", data={"active": "no"}).status_code == 303
    assert learner.get("/account").status_code == 401
    assert enter(visitor(app)) == 422
    assert admin.post("/admin/users/2/active", data={"active": "yes"}).status_code == 303
    assert enter(visitor(app)) == 303


def test_a_wrong_name_and_a_wrong_password_look_the_same(app: FastAPI) -> None:
    account(app, "Ada")
    wrong = visitor(app).post(SIGN_IN, data={"name": "Ada", "password": "wrong"})
    nobody = visitor(app).post(SIGN_IN, data={"name": "Bob", "password": "wrong"})
    assert (wrong.status_code, wrong.text.replace("Ada", "…")) == (nobody.status_code, nobody.text.replace("Bob", "…"))
    assert not passwords.matches(PASSWORD, None)


def test_an_unknown_name_costs_a_whole_hash_too(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(passwords, "_HASHER", USUAL_HASHER)
    passwords._nobody.cache_clear()
    verify = USUAL_HASHER.verify

    class Watched:
        def verify(self, kept: str, given: str) -> bool:
            compared.append(kept)
            return verify(kept, given)

    passwords.matches("x", None)
    monkeypatch.setattr(passwords, "_HASHER", Watched())
    passwords.matches("x", None)
    assert len(compared) == 1
    assert not passwords.PasswordHasher().check_needs_rehash(compared[0]), "as slow as a real one"
    passwords._nobody.cache_clear()


def test_guessing_is_slowed_down_and_says_for_how_long(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    account(app, "Ada")
    client = visitor(app)
    most = RULES["sign-in"].most
    assert [enter(client, password="wrong") for _ in range(most)] == [422] * most
    answer = client.post(SIGN_IN, data={"name": "ada ", "password": PASSWORD}, headers=PERSON)
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert "Wait a little" in answer.text
    assert enter(client, "Bob", "wrong") == 422, "other names are not locked"


def test_signing_in_rightly_is_not_counted(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    account(app, "Ada")
    assert {enter(visitor(app)) for _ in range(RULES["sign-in"].most + 2)} == {303}


def test_codes_and_passwords_of_the_signed_in_are_limited_too(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    client = signed_in(app)
    wrong = [client.post("/account/delete", data={"password": "wrong"}).status_code for _ in range(6)]
    assert wrong == [422] * 5 + [429]
    assert client.post("/account/password", data={"old": PASSWORD, "new": "x" * 9 + "abcdef"}).status_code == 429


def test_limits_forget_in_time_and_never_grow_without_end() -> None:
    now = [0.0]
    limits = Limits(lambda: now[0], {"x": Rule(2, 10)})
    limits.take("x", "a", "b")
    limits.take("x", "a")
    with pytest.raises(Problem) as refused:
        limits.take("x", "b", "a")
    assert refused.value.headers == {"retry-after": "10"}
    limits.take("x", "b")  # what was refused did not count for b
    now[0] = 10.0
    limits.take("x", "a")
    limits.give_back("x", "a")
    limits.take("x", "a")
    limits.take("x", "a")
    for key in range(100_010):
        limits.take("x", key)
    assert len(limits._done) == 100_000


@together(
    ("host", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8::1:2", "2001:db8::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("sock", "sock"),
    ],
)
def test_of_a_long_address_the_network_counts(host: str, counted: str) -> None:
    from fastapi import Request

    assert address_of(Request({"type": "http", "client": (host, 1)})) == counted


def test_every_answer_carries_the_headers_even_when_we_fail(app: FastAPI) -> None:
    @app.get("/broken")
    def broken() -> None:
        raise ZeroDivisionError("secret detail")

    client = visitor(app)
    asked = ("/", "/nothing", SIGN_IN, "/account", "/me", "/broken", "/admin", "/static/nothing")
    answers = [client.get(path, headers=headers) for path in asked for headers in (PERSON, {})]
    answers += [client.post("/"), client.post("/me/progress", content=b"{"), client.put(SIGN_IN)]
    answers += [client.post(SIGN_IN, content=b"x" * (MOST + 1))]
    for answer in answers:
        for name, value in HEADERS:
            assert answer.headers.get_list(name.decode()) == [value.decode()]
        assert "Traceback" not in answer.text
        assert "secret detail" not in answer.text
        assert "ZeroDivisionError" not in answer.text
        assert "server" not in answer.headers
    assert [answer.status_code for answer in answers if "/broken" in str(answer.url)] == [500, 500]


def test_too_much_is_refused_whether_or_not_its_length_is_told(app: FastAPI) -> None:
    client = signed_in(app)

    def drops() -> object:
        for _ in range(MOST // 1000 + 10):
            yield b"x" * 1000

    form = {"content-type": "application/x-www-form-urlencoded"}
    assert visitor(app).post(SIGN_IN, content=drops(), headers=form).status_code == 413  # type: ignore[arg-type]
    assert visitor(app).post(SIGN_IN, content=b"x" * (MOST + 1), headers=form).status_code == 413
    assert client.post("/me/progress", content=b"[" * (MOST + 1)).status_code == 413
    assert client.post("/me/progress", headers={"content-length": "-1"}).status_code in (413, 400)


STRANGE = [
    "' OR 1=1 --",
    "Ada'; DROP TABLE users; --",
    "<script>alert(1)</script>",
    "{{ 7 * 7 }}",
    "\x00",
    "Ada\x00",
    "\ud800".encode("utf-8", "surrogatepass").decode("utf-8", "replace"),
    "ﷺ" * 40,
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    "x" * 1000,
    "../../etc/passwd",
    "%s%n",
    "\r\nset-cookie: x=1",
]


@pytest.mark.parametrize("text", STRANGE, ids=range(len(STRANGE)))
def test_strange_words_are_only_words(app: FastAPI, text: str) -> None:
    client = signed_in(app)
    sent = [
        client.post("/account/sign-up", data={"name": text, "password": PASSWORD, "next": text}),
        client.post(SIGN_IN, data={"name": text, "password": text, "next": text}),
        client.post("/account/profile", data={"roles": text, "knowledge": text, "goals": [text, text]}),
        client.post("/account/password", data={"old": text, "new": text}),
        client.post("/account/second-factor", data={"sealed": text, "code": text, "password": text}),
        client.post("/me/progress", json={text: {"screens": [text]}}),
        client.post("/me/progress", json={"tools": {"screens": [text[:100]]}}),
        client.get(SIGN_IN, params={"next": text}),
        client.get("/", params={"q": text, "role": text, "minutes": text}),
    ]
    for answer in sent:
        assert answer.status_code < 500
        assert "<script>alert" not in answer.text or "json" in answer.headers["content-type"]
        assert "x" not in answer.cookies
        assert answer.headers.get("location", "/").startswith("/")
    assert site_of(app).pages.nuggets


@pytest.mark.parametrize(
    "target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", " /x"]
)
def test_signing_in_never_leads_elsewhere(app: FastAPI, target: str) -> None:
    account(app, "Ada")
    answer = visitor(app).post(SIGN_IN, data={"name": "Ada", "password": PASSWORD, "next": target})
    assert answer.headers["location"] == "/account"


@pytest.mark.parametrize("number", [0, -1, 99, 2**31, 2**63, 10**30, "x"])
def test_accounts_that_are_not_there_are_not_found(app: FastAPI, number: object) -> None:
    admin = signed_in(app, "Grace", "admin")
    for what, form in (("role", {"role": "admin"}), ("active", {"active": "no"}), ("password", {})):
        assert admin.post(f"/admin/users/{number}/{what}", data=form).status_code in (404, 422)
    assert admin.get("/admin/users", params={"after": str(number)}).status_code in (200, 422)


def test_what_was_said_is_shown_once_and_as_text(app: FastAPI) -> None:
    client = signed_in(app)
    client.cookies.set("__Host-lapwing-said", "%3Cb%3Ehello", domain="testserver.local", path="/")
    assert "&lt;b&gt;hello" in client.get("/account").text
    assert "hello" not in client.get("/account").text


def test_people_are_sent_to_sign_in_and_programs_are_told(app: FastAPI) -> None:
    client = visitor(app)
    answer = client.get("/account?x=1", headers=PERSON)
    assert (answer.status_code, answer.headers["location"]) == (303, "/account/sign-in?next=/account%3Fx%3D1")
    assert client.get("/account").json()["status"] == 401


def test_personal_pages_are_never_kept(app: FastAPI) -> None:
    admin = signed_in(app, "Grace", "admin")
    for address in ("/me", "/account", "/account/data", SIGN_IN, "/account/second-factor", "/admin", "/admin/users"):
        assert admin.get(address).headers["cache-control"] == "no-store", address


def test_one_time_passwords_are_strong_enough_to_be_passwords() -> None:
    made = [passwords.one_time() for _ in range(50)]
    assert len(set(made)) == 50
    assert all(re.fullmatch(r"([a-z2-9]{4}-){3}[a-z2-9]{4}", one) and not passwords.complaint(one, "x") for one in made)
    assert all(one != other for one, other in pairwise(sorted(made)))
