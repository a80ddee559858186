"""A tour of every page of a school, each with something to see on it, for tests that look at pages.

A new address that shows a page needs a stop here: test_accessibility.py compares the tour with the routes.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyotp
import surveys
from classroom import SLUG, Made, finish, made
from clinic_bench import HELPLINE, brought, released
from collecting import CROWD, free_addresses, publish, working
from fastapi import FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from PIL import Image
from school_site import PASSWORD, account, site_of, visit_as, visitor

from lapwing.collect.drafts import ports_of
from lapwing.collect.workspace import Workspace
from lapwing.web.authoring.routes import uploads
from lapwing.web.authoring.snippets import SNIPPETS
from lapwing.web.guide.cases import cases
from lapwing.web.lab.statement import DATASET
from lapwing.web.routes import all_routers
from lapwing.web.service.limits import Rule
from lapwing.web.survey.parameters import CHOICE
from lapwing.web.survey.results import BATCH

NO_PAGES = {
    "/static/{name:path}": "files",
    "/docs": "leads to /docs/",
    "/docs/{address:path}": "built by another generator: test_documentation.py",
    "/uploads/{name}": "pictures and videos",
    "/health": "for programs",
    "/me": "for scripts",
    "/me/votes": "for scripts",
    "/recommendation": "for scripts",
    "/account/data": "a file",
    "/classes/{class_id}/class.csv": "a file",
    "/survey/{survey_id}/results.csv": "a file",
    "/survey/{survey_id}/keep/{key}/results.csv": "a file",
    "/survey/{survey_id}/keep/{key}/links.csv": "a file",
    "/write/export": "a file",
    "/write/{slug}/file": "a file",
    "/lab/{id}/answers/{mark}/export/{kind}": "a file",
    "/lab/{id}/ask/{analysis}/preview": "a part of the page for asking",
    "/lab/{id}/ask/{analysis}/nearby": "for scripts",
    "/lab/{id}/ask/{analysis}/at": "for scripts",
    "/lab/{id}/shown/{job}": "for scripts",
    "/lab/{id}/streams/{mark}/now": "for scripts",
    "/lab/{id}/streams/{mark}/export/{kind}": "a file",
    "/collections/{collection_id}/now": "a part of the console",
    "/guide/so-far": "a part of the interview",
    "/lab/{id}/ask": "leads to a question",
    "/comments/{comment_id}": "leads to a discussion",
    "/learn/{slug}": "every nugget has a visit of its own",
}
"""Addresses without a page to look at, and why."""
_TOURS = itertools.count(1)
LEFT = """
```video
file: {video}
captions: {captions}
about: A coin is tossed, and lands on its edge.
```

```quiz
- ask: half
```
"""
"""What an author has written so far: a video and half a question; what buttons insert follows."""


@dataclass(frozen=True)
class Stop:
    """A page: who looks at it, and what has to be sent to see it."""

    who: TestClient
    address: str
    status: int = 200
    form: Mapping[str, str] | None = None
    wait: str = "main h1"
    """What is there when the page is."""
    media: str = "screen"
    instead: tuple[Any, str, Any] | None = None
    """What is replaced while somebody looks, to see a page for when something fails."""
    again: bool = False
    """Whether this is another look of a page that has a stop already."""

    @property
    def route(self) -> str:
        """The path of the route that answers."""
        method = "GET" if self.form is None else "POST"
        known = [route for router in all_routers() for route in router.routes if isinstance(route, APIRoute)]
        path = self.address.partition("?")[0]
        found = [one.path for one in known if method in one.methods and one.path_regex.fullmatch(path)]
        return found[0] if found else ""


@contextlib.contextmanager
def tour(app: FastAPI, rows: Path) -> Iterator[list[Stop]]:
    """All stops. What they show is made before; `rows` is the clinic's table."""
    nobody, pupil, teacher, admin = (visit_as(app, who) for who in ("nobody", "learner", "instructor", "admin"))
    held, stack = threading.Event(), contextlib.ExitStack()
    stops = [
        *_reading(nobody, pupil),
        *_accounts(app, nobody, pupil, admin),
        *_classes(app, nobody, teacher),
        *_talk(app, nobody, pupil, teacher),
        *_writing(nobody, pupil),
        *_surveys(app, nobody, teacher),
        *_collections(app, nobody, stack),
        *_guide(nobody),
        *_lab(app, rows, held),
    ]
    try:
        yield [*stops, *_refusals(app, nobody, pupil)]  # in the end, when somebody has asked often
    finally:
        held.set()
        stack.close()


def _in(page: str, pattern: str) -> str:
    found = re.search(pattern, page)
    assert found, pattern
    return found[1]


def _reading(nobody: TestClient, pupil: TestClient) -> Iterator[Stop]:
    for address in ("/", "/glossary", "/votes"):
        yield Stop(nobody, address)
    yield Stop(nobody, "/?q=noise", again=True)
    yield Stop(pupil, "/", again=True)


def _accounts(app: FastAPI, nobody: TestClient, pupil: TestClient, admin: TestClient) -> Iterator[Stop]:
    yield Stop(nobody, "/account/sign-in")
    yield Stop(nobody, "/account/sign-in", 422, {"name": "Nobody", "password": "wrong"}, again=True)
    yield Stop(nobody, "/account/sign-up", again=True)
    yield Stop(nobody, "/account/sign-up", 422, {"name": "", "password": "short"})
    yield Stop(pupil, "/account")
    yield Stop(pupil, "/account/second-factor")
    yield Stop(visit_as(app, "half"), "/account/code")
    yield Stop(admin, "/account/second-factor")
    careful = visit_as(app, "learner")
    page = careful.get("/account/second-factor").text
    sealed, secret = (
        re.search(pattern, page) for pattern in (r'name="sealed" value="([^"]+)"', r"<code>([A-Z2-7 ]+)<")
    )
    assert sealed
    assert secret
    code = pyotp.TOTP(secret[1].replace(" ", "")).now()
    yield Stop(careful, "/account/second-factor", form={"sealed": sealed[1], "password": PASSWORD, "code": code})
    yield Stop(admin, "/admin")
    yield Stop(admin, "/admin/users")
    forgetful = account(app, f"Somebody Forgetful {next(_TOURS)}")
    yield Stop(admin, f"/admin/users/{forgetful.id}/password", form={})


def _classes(app: FastAPI, nobody: TestClient, teacher: TestClient) -> Iterator[Stop]:
    yield Stop(teacher, "/classes", again=True)
    group: Made = made(app, teacher, "A class on tour")
    inside = group.join(f"Somebody Inside {next(_TOURS)}", "Calm Curlew")
    finish(inside)
    code, mark = group.code, group.marks()["Calm Curlew"]
    for part in ("", "/projected", f"/pupils/{mark}"):
        yield Stop(teacher, group.address + part)
    yield Stop(teacher, group.address, media="print")
    yield Stop(teacher, f"{group.address}/name", 422, {"name": ""}, again=True)
    yield Stop(inside, "/classes")
    yield Stop(nobody, "/join", again=True)
    yield Stop(nobody, f"/join?code={code}")
    new = visit_as(app, "learner")
    yield Stop(new, f"/join?code={code}", again=True)
    yield Stop(new, "/join", 422, {"code": code, "pseudonym": "Calm Curlew"})
    yield Stop(new, "/join?code=bbbb-bbbb", 422, again=True)


def _talk(app: FastAPI, nobody: TestClient, pupil: TestClient, teacher: TestClient) -> Iterator[Stop]:
    place = f"/learn/{SLUG}/discussion"
    said = []
    for words in ("A question about $x^2$", "Something rude", "Something rude again"):
        answer = pupil.post(place, data={"text": words})
        said.append(answer.headers["location"].rpartition("-")[2])
    for number in said[1:]:
        assert teacher.post(f"/comments/{number}/report", data={"reason": "unkind"}).status_code == 303
    pupil.post(f"/comments/{said[0]}/reply", data={"text": "An answer"})
    page = teacher.get("/moderation").text
    marks = [_in(page, rf'value="({number}:[^"]*)"') for number in said[1:]]
    teacher.post("/moderation", data={"chosen": marks[0], "action": "hide", "note": "Please be kind."})
    yield Stop(nobody, place, again=True)
    yield Stop(pupil, place, again=True)
    yield Stop(pupil, place, form={"text": "How it looks: $x$", "preview": "yes"})
    for who, part in ((teacher, "report"), (teacher, "reply"), (pupil, "edit"), (pupil, "delete")):
        yield Stop(who, f"/comments/{said[0]}/{part}", again=part != "report")
    for show in ("open", "hidden", "history"):
        yield Stop(teacher, f"/moderation?show={show}", again=show != "open")
    yield Stop(teacher, "/moderation", form={"chosen": marks[1], "action": "remove"})
    yield Stop(teacher, "/statistics")


def _writing(nobody: TestClient, author: TestClient) -> Iterator[Stop]:
    drawn, number = io.BytesIO(), next(_TOURS)
    Image.new("RGB", (40, 30 + number), "teal").save(drawn, "PNG")
    author.post("/uploads", files={"picture": ("square.png", drawn.getvalue(), "image/png")})
    film = b"\0\0\0\x18ftypisom\0\0\2\0isommp41" + b"\0\0\0\x08moov" + b"\0\0\0\x0cmdat" + number.to_bytes(4, "big")
    words = b"WEBVTT\n\n00:00.000 --> 00:02.000\nA coin is tossed.\n" + b"\n" * number
    sent = author.post("/uploads/videos", files={"video": ("a.mp4", film), "captions": ("a.vtt", words)}).json()
    address = f"/write/a-tour-{number}"
    author.post("/write", data={"title": "A tour", "slug": address.removeprefix("/write/")})
    base = _in(author.get(address).text, r'name="base" value="([^"]+)"')
    inserted = [one.text for one in SNIPPETS if one.name in ("Graph", "Data")]
    text = "\n\n".join([author.get(f"{address}/file").text, LEFT.format(**sent), *inserted])
    saved = author.post(f"{address}/text", json={"text": text, "base": base})
    assert saved.status_code == 200, saved.text
    yield Stop(author, "/write")
    yield Stop(author, "/write/tools")
    yield Stop(author, address, wait="#preview lw-graph svg", again=True)
    yield Stop(author, f"{address}/state", 422, {"action": "submit"}, wait="#preview lw-graph svg")
    for part in ("/read", "/versions", "/versions/2"):
        yield Stop(author, address + part)
    yield Stop(author, address, 409, {"text": f"{text}\n\nMore.", "base": base, "action": "save"})
    yield Stop(nobody, address, 401, {"text": text})
    yield Stop(author, "/uploads")
    yield Stop(author, "/uploads", 422, {}, again=True)


def _surveys(app: FastAPI, nobody: TestClient, teacher: TestClient) -> Iterator[Stop]:
    survey, _ = surveys.made(app, CHOICE)
    surveys.answered(app, survey, 2 * BATCH)
    personal, key = surveys.made(app, links=2)
    yield Stop(nobody, "/survey")
    yield Stop(nobody, "/survey", 422, {"question": "", "kind": "choice"}, again=True)
    yield Stop(nobody, "/survey/explained")
    for part in (
        survey,
        f"{survey}/report",
        f"{survey}/results",
        f"{personal}/keep/{key}",
        f"{personal}/keep/{key}/links",
    ):
        yield Stop(nobody, f"/survey/{part}")
    yield Stop(nobody, f"/survey/{survey}/report", form={}, again=True)
    yield Stop(teacher, "/moderation/surveys")


def _collections(app: FastAPI, nobody: TestClient, stack: contextlib.ExitStack) -> Iterator[Stop]:
    """One with two published batches, some that nobody serves, one that no browser can answer, one that was changed."""
    folder, number, operator = site_of(app).settings.collections, next(_TOURS), visit_as(app, "operator")
    assert folder is not None
    parties = stack.enter_context(working(folder / f"tour-{number}"))
    publish(parties, 2)
    other = Workspace(folder / f"tour-{number}-sketch")
    other.create(question="Which emoji?", answers=["a"], protocol={"preset": "popular emoji"}, candidates=["😀"])
    closed = other.open()
    other.close()
    changed = Workspace(folder / f"tour-{number}-changed")
    changed.create(question="Really?", answers=["yes", "no"])
    changed.open()
    changed.signed.write_text(changed.signed.read_text(encoding="utf-8").replace("Really", "Truly"), encoding="utf-8")
    yield Stop(nobody, "/take-part")
    yield Stop(operator, "/collections")
    yield Stop(operator, f"/collections/{parties.collection.id}", wait=".knowledge h3")
    yield Stop(operator, f"/collections/{closed.id}", again=True)
    yield Stop(nobody, f"/take-part/{parties.collection.id}", wait="[data-collection] form:not([hidden])")
    yield Stop(nobody, f"/take-part/{closed.id}", again=True)
    members = Workspace(folder / f"members-{number}")
    school = {"issuer": {"address": f"{site_of(app).settings.origin}/take-part/members-{number}"}}
    servers = {name: {"address": server.address} for name, server in parties.collection.servers.items()} | school
    members.create(question="Which meeting?", answers=["Monday", "Friday"], servers=servers, admission="sign-in")
    signed = members.open()
    for who in (nobody, operator):
        yield Stop(who, f"/take-part/{signed.id}", wait="[data-collection] form:not([hidden])", again=True)
    grouped = Workspace(folder / f"grouped-{number}")
    crowd = {**CROWD, "from": "attribute", "values": ["north", "south"]}
    servers = free_addresses(ports_of("blinded"))
    grouped.create(question="Which way?", answers=["up", "down"], transport="blinded", crowd=crowd, servers=servers)
    mixed = grouped.open()
    yield Stop(nobody, f"/take-part/{mixed.id}", wait="[data-collection] form:not([hidden])", again=True)
    yield Stop(operator, f"/collections/{mixed.id}", wait=".knowledge h3", again=True)


def _guide(nobody: TestClient) -> Iterator[Stop]:
    case = next(one.answers.address for one in cases() if one.name == "A small survey, many groups")
    yield Stop(nobody, "/guide")
    yield Stop(nobody, "/guide/advice", 422, again=True)
    yield Stop(nobody, f"/guide/advice?{case}")
    yield Stop(nobody, f"/guide/report?{case}")
    yield Stop(nobody, f"/guide/report?{case}", media="print")
    yield Stop(nobody, "/guide/rules")


def _lab(app: FastAPI, rows: Path, held: threading.Event) -> Iterator[Stop]:
    owner, bench = brought(app, rows, teaching=True)
    place = f"/lab/{bench.id}"
    yield Stop(owner, "/lab")
    yield Stop(owner, place)
    yield Stop(owner, f"{place}/ask/groups", wait="lw-handles figcaption")
    yield Stop(owner, f"{place}/ask/mean?column=age&epsilon=none", again=True)
    yield Stop(owner, released(owner, bench, kind="groups"), wait="lw-answer .mark")
    yield Stop(owner, f"{place}/check", again=True)
    yield Stop(owner, f"{place}/check", form={}, wait="main table, main .findings")
    job = bench.start(lambda progress: held.wait(), title="Waiting for the tour to end")
    yield Stop(owner, f"{place}/jobs/{job.id}")
    closed, broken = brought(app, rows)
    broken.ledger.trip([DATASET], "Traceback\n  File\nOut of Memory Error: " + "unbroken" * 30)
    for part in ("/failures", "/ask/mean"):
        yield Stop(closed, f"/lab/{broken.id}{part}", again=part != "/failures")
    yield from _streams(app, rows.with_name("calls.parquet"))
    yield Stop(visitor(app), "/lab/paste", form={"text": "PAR1 and no Parquet"})


def _streams(app: FastAPI, calls: Path) -> Iterator[Stop]:
    """A stream with some closed steps, and the form for one."""
    if not calls.exists():
        HELPLINE.write(calls)
    owner, bench = brought(app, calls, example=HELPLINE)
    asked = {"time": "day", "by": "region", "every": "week", "start": "2025-01-01", "steps": "53", "active": "2"}
    yield Stop(owner, f"/lab/{bench.id}/streams")
    yield Stop(owner, f"/lab/{bench.id}/streams?start=never", again=True)
    address = owner.post(f"/lab/{bench.id}/streams", data={**asked, "epsilon": "1"}).headers["location"]
    yield Stop(owner, address, again=True)
    owner.post(f"{address}/close", data={"steps": "9"})
    job = bench.streams[address.rpartition("/")[2]].job
    assert job is None or job.ended.wait(60)
    yield Stop(owner, address, wait="lw-stream svg")
    form = {"first": "region", "second": "town", "tree": "Coast: Seaham, Dunmouth; Hills: Fellgate"}
    yield Stop(owner, released(owner, bench, kind="nested", **form), wait="lw-answer svg.tree", again=True)


def _refusals(app: FastAPI, nobody: TestClient, pupil: TestClient) -> Iterator[Stop]:
    limits = site_of(app).limits
    yield Stop(nobody, "/nothing", 404)
    yield Stop(pupil, "/admin", 403)
    yield Stop(nobody, "/guide/advice", 429, instead=(limits, "rules", {**limits.rules, "guide": Rule(1, 3600)}))
    yield Stop(pupil, "/uploads", 500, instead=(uploads.kept, "mine", _fails))


def _fails(*asked: object) -> None:
    raise RuntimeError("the disk is gone")
