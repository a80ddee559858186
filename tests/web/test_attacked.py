"""Attacks that once worked, or nearly did: each is tried again."""

from __future__ import annotations

import contextlib
import io
import socket
import sqlite3
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyotp
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from PIL import Image
from school_site import PASSWORD, PERSON, account, browser_of, nuggets, open_school, signed_in, site_of, visitor

from lapwing.errors import InvalidParameter
from lapwing.web import backup
from lapwing.web.accounts import passwords
from lapwing.web.accounts.devices import device_of
from lapwing.web.accounts.store import sessions, users
from lapwing.web.authoring import desk
from lapwing.web.authoring.store.nuggets import mark_of
from lapwing.web.authoring.uploads import NoPicture, cleaned
from lapwing.web.school.formulas import LARGEST, rendered
from lapwing.web.school.markdown import Markdown
from lapwing.web.school.nugget import InvalidNugget
from lapwing.web.school.term import from_line
from lapwing.web.service.headers import ALWAYS_HTTPS
from lapwing.web.service.heads import MOST as MOST_HEAD
from lapwing.web.service.heads import SmallHeads
from lapwing.web.service.limits import RULES

SIGN_IN = "/account/sign-in"
HEAD = """---
slug: a-draft
title: A draft
category: motivation
minutes: 5
level: intuition
roles: [student]
summary: A few words.
objectives: [Something]
---
"""


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def steps(work: object) -> float:
    """How long something takes, of the time of this thread only."""
    begun = time.thread_time()
    work()  # type: ignore[operator]
    return time.thread_time() - begun


# What one request can cost everybody


@pytest.mark.parametrize("kind", ["punycode", "PUNYCODE", "utf-7", "undefined", "unicode_escape", "x" * 600])
@pytest.mark.parametrize("twice", [False, True])
def test_a_form_says_that_it_is_utf_8_or_nothing(app: FastAPI, kind: str, twice: bool) -> None:
    part = b'--B\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda-9q\r\n--B--\r\n'
    headers = [("content-type", f"multipart/form-data; boundary=B; charset={kind}")]
    headers += [("content-type", "multipart/form-data; boundary=B")] * twice
    assert visitor(app).post(SIGN_IN, content=part, headers=headers).status_code == 415


def test_forms_and_json_that_say_utf_8_are_taken(app: FastAPI) -> None:
    part = b'--B\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda\r\n--B--\r\n'
    told = {"content-type": "multipart/form-data; boundary=B; charset=UTF-8"}
    assert "Name or password is wrong" in visitor(app).post(SIGN_IN, content=part, headers=told).text
    told = {"content-type": "application/json; charset=utf-8"}
    assert signed_in(app).post("/me/progress", content=b"{}", headers=told).json() == {}


def test_a_search_looks_for_a_few_words_however_many_are_asked_for() -> None:
    school = nuggets()
    once = steps(lambda: school.search("noise"))
    assert steps(lambda: school.search("a " * 30_000)) < 100 * once + 0.1
    assert [one.page for one in school.search("noise " * 50)] == [one.page for one in school.search("noise")]


@pytest.mark.parametrize("minutes", ["²", "9" * 5000, "-1", "٣"])
def test_minutes_that_are_no_number_are_not_asked_for(app: FastAPI, minutes: str) -> None:
    assert visitor(app).get("/", params={"minutes": minutes}).status_code == 200


@pytest.mark.parametrize(
    "formula",
    [
        r"\def\a#1{#1#1#1#1#1#1#1#1#1#1}\a{\a{\a{" + "x" * 1900 + "}}}",
        r"\def\a{" + "x" * 1000 + "}" + r"\a" * 200,
        r"\newcommand\a{x}\a",
        r"\let\a=\frac \a12",
        r"\pmb{\pmb{\pmb{" + "x" * 1900 + "}}}",
        r"\begin{matrix}" + "&" * 1900 + r"\end{matrix}",
        r"\sqrt{" * 250 + "x" + "}" * 250,
    ],
    ids=["doubling", "repeating", "newcommand", "let", "pmb", "columns", "depth"],
)
def test_a_formula_that_makes_much_of_little_is_shown_as_it_was_written(formula: str) -> None:
    assert steps(lambda: rendered(formula)) < 3
    assert rendered(formula).startswith('<code class="formula-wrong">')
    assert "katex" in rendered("x+1"), "the next one is rendered as ever"
    assert len(rendered(r"\definitely\pmbx")) < LARGEST


def test_an_engine_that_was_cut_short_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    from lapwing.web.school import formulas

    formulas._engine().eval(
        "var before = formula; formula = (text) => { if (text === 'loop') for (;;); return before(text) }"
    )
    formulas._engine().set_time_limit(0.05)
    assert rendered("loop").startswith('<code class="formula-wrong">')
    assert "katex" in rendered(r"\frac{loop}{2}")


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}## a{' ' * 50_000}b\n\nx",
        f"x{' ' * 50_000}b",
        f"## a{'{serves=' * 7_000}\n\nx",
        f"{HEAD}## A\n\n```widget laplace {'a' * 50_000}\nx\n```\n",
        f"{HEAD}## A\n\n{'`' * 25_000}{'a' * 25_000}\n",
        f"{HEAD}## A\n\n[a]({' ' * 50_000}x\n",
        f"{HEAD}## A\n\n{'[a](' * 12_000}\n",
        f"{HEAD}## A\n\n```quiz\n- ask:{' ' * 50_000}x\n```\n",
        f"{HEAD}## A\n\n{'- > ' * 12_000}#\n",
    ],
    ids=["title", "no front matter", "serves", "widget", "ticks", "link", "links", "quiz", "items"],
)
def test_no_pattern_takes_the_square_of_what_it_reads(text: str) -> None:
    assert steps(lambda: desk.looked_at(text, "a-draft", nuggets(), [])) < 2


@pytest.mark.parametrize("line", [" " * 50_000, "(" * 50_000, "a (" * 20_000, "a (b)" + " " * 50_000])
def test_a_word_of_an_author_is_read_at_once(line: str) -> None:
    assert steps(lambda: from_line(line)) < 1
    assert from_line(" privacy loss  (loss, cost) : How much odds change. ") == (
        "privacy loss",
        {"also": ["loss", "cost"], "short": "How much odds change."},
    )


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("motivation", "[a, b]") + "## A\n\nx",
        HEAD.replace("motivation", "{a: b}") + "## A\n\nx",
        f"{HEAD}## A {{serves={'1' * 5000}}}\n\nx",
        f"{HEAD}## A {{serves={'1' * 99}}}\n\nx",
        f"{HEAD}## A\n\n```data\ncolumns: [a]\nrows: [[1]]\ncomputed: {{b: {{formula: a/3, digits: 3.0}}}}\n```\n",
        *(
            f"{HEAD}## A\n\n```exercise\nid: a\ntitle: a\ntask: a\nsolution: a\nstarter: a\naudit: {audit}\n```\n"
            for audit in (
                "{call: f, epsilon: 2001-01-01}",
                "{call: f, epsilon: .nan}",
                "{call: f, epsilon: many}",
                "[1]",
                "{1: 2}",
                "{call: f}",
                "0",
            )
        ),
    ],
)
def test_what_an_author_writes_is_never_our_error(app: FastAPI, text: str) -> None:
    client = signed_in(app)
    answer = client.post("/write/preview", json={"slug": "a-draft", "text": text})
    assert answer.status_code == 200
    assert answer.json()["complaints"]


def test_a_form_of_a_nugget_with_endless_minutes_is_only_wrong(app: FastAPI) -> None:
    front = {"title": "A", "minutes": "9" * 5000}
    answer = signed_in(app).post("/write/preview", json={"slug": "a-draft", "text": "x", "front": front})
    assert answer.status_code == 200


def test_an_archive_that_is_damaged_or_packed_strangely_is_refused() -> None:
    text = "".join(f"line {number}\n" for number in range(500))
    made = bytearray(desk.zipped([("a.md", text)]))
    made[60:200] = bytes(140)
    with pytest.raises(InvalidNugget, match="damaged"):
        desk.unpacked("a.zip", bytes(made))
    for packing in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):  # they may ask for gigabytes to unpack
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", packing) as archive:
            archive.writestr("a.md", text)
        with pytest.raises(InvalidNugget, match="unusual"):
            desk.unpacked("a.zip", out.getvalue())


def test_a_picture_of_endless_passes_is_refused_before_it_is_unpacked() -> None:
    out = io.BytesIO()
    Image.new("L", (64, 64), 128).save(out, "JPEG", progressive=True)
    picture = out.getvalue()
    assert cleaned(picture).kind == "jpg"
    last = picture[picture.rindex(b"\xff\xda") : -2]
    with pytest.raises(NoPicture, match="too many steps"):
        cleaned(picture[:-2] + last * 200 + b"\xff\xd9")


@contextlib.contextmanager
def served(protocol: type[SmallHeads]) -> Iterator[socket.socket]:
    """A connection to a server that says ok to everything."""

    async def ok(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(ok, log_level="critical", http=protocol, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        with socket.create_connection(listening.getsockname(), timeout=20) as made:
            yield made
        server.should_exit = True
        thread.join(10)


GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("begins", "repeats"),
    [
        (GET + b"X: ", b"a" * 1000),
        (GET, b"X-Y: a\r\n" * 100),
        (b"GET /", b"a" * 1000),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"a" * 1000),
    ],
    ids=["one header", "many headers", "address", "behind the body"],
)
def test_a_request_that_never_comes_to_the_point_is_ended(begins: bytes, repeats: bytes) -> None:
    with served(SmallHeads) as made:
        made.sendall(begins)
        with pytest.raises(ConnectionError):
            made.sendall(repeats * (64 * MOST_HEAD // len(repeats)))


def test_a_request_that_says_nothing_is_ended_in_time() -> None:
    class Hasty(SmallHeads):
        seconds = 0.05

    with served(Hasty) as made:
        made.sendall(b"GET / HTTP/1.1\r\nHo")
        assert made.recv(100) == b""


def test_large_bodies_and_many_requests_on_one_connection_are_as_ever() -> None:
    with served(SmallHeads) as made:
        for size in (0, 3 * MOST_HEAD, 10):
            made.sendall(POST + b"Content-Length: %d\r\n\r\n" % size + b"x" * size)
            answer = b""
            while not answer.endswith(b"ok"):
                answer += made.recv(1000) or pytest.fail("it was ended")
            assert answer.startswith(b"HTTP/1.1 200")


# Who somebody is


def test_who_guesses_in_one_place_locks_nobody_out_elsewhere(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    account(app, "Ada")
    limits, now = site_of(app).limits, [0.0]
    limits._clock = lambda: now[0]

    def tried(place: str, password: str) -> int:
        client = TestClient(app, "https://testserver", client=(place, 1), follow_redirects=False)
        return client.post(SIGN_IN, data={"name": "Ada", "password": password}).status_code

    statuses = []
    for _ in range(2 * RULES["sign-in wrong"].most):  # as fast as it is allowed for almost an hour
        now[0] += 15
        statuses.append(tried("192.0.2.1", "wrong"))
    assert statuses.count(422) == RULES["sign-in hourly"].most
    assert tried("198.51.100.7", PASSWORD) == 303


def test_who_guesses_in_many_places_slows_them_down_and_locks_nobody_out(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    account(app, "Ada")
    limits, now = site_of(app).limits, [0.0]
    limits._clock = lambda: now[0]
    known = TestClient(app, "https://testserver", client=("192.0.2.200", 1), follow_redirects=False)
    assert known.post(SIGN_IN, data={"name": "Ada", "password": PASSWORD}).status_code == 303

    def tried(client: TestClient, password: str) -> int:
        return client.post(SIGN_IN, data={"name": "Ada", "password": password}).status_code

    places = [TestClient(app, "https://testserver", client=(f"192.0.2.{place}", 1)) for place in range(4)]
    for _ in range(RULES["sign-in hourly"].most):
        now[0] += 15
        assert {tried(place, "wrong") for place in places} == {422}
    fresh = TestClient(app, "https://testserver", client=("198.51.100.7", 1), follow_redirects=False)
    slowed = [tried(fresh, "wrong") for _ in range(5)]
    assert slowed == [422] * RULES["sign-in slowed"].most + [429] * 2, "each place is heard, but not often"
    elsewhere = TestClient(app, "https://testserver", client=("203.0.113.9", 1), follow_redirects=False)
    assert tried(elsewhere, PASSWORD) == 303, "the right password from a new place"
    known.cookies.delete("__Host-lapwing")
    assert [tried(known, "wrong") for _ in range(3)] == [422] * 3
    assert tried(known, PASSWORD) == 303, "a browser that is known does not depend on others"


def test_a_browser_is_known_for_its_own_name_only(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    account(app, "Ada")
    account(app, "Mallory")
    mallory = TestClient(app, "https://testserver", follow_redirects=False)
    assert mallory.post(SIGN_IN, data={"name": "Mallory", "password": PASSWORD}).status_code == 303
    settings = site_of(app).settings
    cookie = "; ".join(f"{one.name}={one.value}" for one in mallory.cookies.jar)

    def seen(name: str, value: str = cookie) -> str:
        scope = {"type": "http", "headers": [(b"cookie", value.encode())]}
        return device_of(Request(scope), settings, name)

    assert seen("mallory ")
    assert not seen("Ada")
    for forged in ("", ".", "a.b", cookie.replace("lapwing-device=", "lapwing-device=0"), "__Host-lapwing-device=é.é"):
        assert not seen("Mallory", forged)


def test_codes_cannot_be_guessed_day_after_day_and_right_ones_are_not_counted(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    limits, now = site_of(app).limits, [0.0]
    limits._clock = lambda: now[0]
    ada, secret = account(app, "Ada"), passwords.new_secret()
    with site_of(app).database.writing() as db:
        users.set_second_factor(db, ada.id, passwords.sealed(secret, bytes(32), ada.id), [])
    client = browser_of(app, ada, verified=False)
    wrong = []
    for _ in range(200):
        now[0] += 60
        wrong.append(client.post("/account/code", data={"code": "no code"}).status_code)
    assert wrong.count(422) == RULES["code daily"].most
    now[0] += 86400
    for _ in range(RULES["code daily"].most + 5):
        with site_of(app).database.writing() as db:  # as if each were a code of its own
            users.set_second_factor(db, ada.id, passwords.sealed(secret, bytes(32), ada.id), [])
        fresh = browser_of(app, ada, verified=False)
        assert fresh.post("/account/code", data={"code": pyotp.TOTP(secret).now()}).status_code == 303


def test_an_account_has_so_many_browsers_and_no_more(app: FastAPI) -> None:
    ada, bob = account(app, "Ada"), account(app, "Bob")
    other = browser_of(app, bob)
    with site_of(app).database.writing() as db:
        made = [
            sessions.begin(db, ada.id, int(time.time()) + place, role="learner", verified=False)
            for place in range(sessions.MOST + 5)
        ]
    with site_of(app).database.reading() as db:
        left = [sessions.find(db, one, int(time.time())) is not None for one in made]
    assert left == [False] * 5 + [True] * sessions.MOST
    assert other.get("/account").status_code == 200


def test_who_leaves_takes_their_pictures_along_unless_they_stand_somewhere(app: FastAPI) -> None:
    ada = account(app, "Ada")
    client, addresses = browser_of(app, ada), []
    for shade in (10, 20):
        out = io.BytesIO()
        Image.new("L", (8, 8), shade).save(out, "PNG")
        addresses.append(client.post("/uploads", files={"picture": out.getvalue()}).json()["address"])
    keeper = signed_in(app, "Bob")
    for who, title, address in ((client, "Ada writes", addresses[0]), (keeper, "Bob writes", addresses[1])):
        place = who.post("/write", data={"title": title}).headers["location"]
        text = who.get(f"{place}/file").text
        sent = {"text": f"{text}\n![x]({address})\n", "base": mark_of(text)}
        assert who.post(f"{place}/text", json=sent).status_code == 200
    assert client.post("/account/delete", data={"password": PASSWORD}).status_code == 303
    assert [visitor(app).get(one).status_code for one in addresses] == [404, 200]


# Whom a request comes from, and where an answer leads


@pytest.mark.parametrize("origin", ["http://[", "null", "https://[::1", "http://testserver.evil.example", ""])
def test_an_origin_that_is_none_is_not_ours(app: FastAPI, origin: str) -> None:
    account(app, "Ada")
    answer = visitor(app).post(SIGN_IN, data={"name": "Ada", "password": PASSWORD}, headers={"origin": origin})
    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/account/", "/admin/", "/write/", "/learn/tools/"])
def test_no_answer_leads_to_the_host_that_was_sent(app: FastAPI, path: str) -> None:
    for headers in (PERSON, {}):
        answer = visitor(app).get(path, headers={**headers, "host": "evil.example"})
        assert "evil.example" not in str(answer.headers) + answer.text
        assert answer.status_code == 404


def test_https_is_for_good_where_there_is_https_and_nowhere_else(tmp_path: Path) -> None:
    name, value = (part.decode() for part in ALWAYS_HTTPS)
    (tmp_path / "other").mkdir()
    by_https, local = open_school(tmp_path, origin="https://school.example"), open_school(tmp_path / "other")
    assert visitor(by_https).get("/").headers[name] == value
    assert visitor(by_https).get("/nothing").headers[name] == value
    assert name not in visitor(local).get("/").headers


@pytest.mark.parametrize(
    "source",
    ["/account/data", "/write/export?school=true", "/uploads/../account/data", "/static/../me", "/\\evil.example"],
)
def test_a_picture_asks_for_pictures_only(source: str) -> None:
    made = Markdown().html(f"![x]({source})")
    assert "<img" not in made
    assert "<img" in Markdown().html(f"![x](/uploads/{'a' * 64}.png) ![y](/static/icon-AB12.svg)")


def test_a_copy_with_something_in_it_that_runs_is_not_brought_back(tmp_path: Path) -> None:
    app = open_school(tmp_path)
    saved = tmp_path / "saved.db"
    backup.save(site_of(app).settings, saved)
    with sqlite3.connect(saved) as db:
        db.execute("CREATE TRIGGER later AFTER INSERT ON users BEGIN UPDATE users SET role = 'admin'; END")
    db.close()
    with pytest.raises(InvalidParameter, match="not a school that was saved"):
        backup.bring_back(site_of(app).settings, saved, replace=True)
