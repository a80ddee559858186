"""Service for everybody: what one visitor asks for never takes the school away from the others."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import FrameType
from typing import Any

import httpx2 as httpx
import pytest
from cases import together
from clinic_bench import CLINIC, brought
from fastapi import FastAPI
from fastapi.testclient import TestClient
from loops import in_a_loop
from markdown_it import MarkdownIt
from school_site import account, browser_of, open_school, signed_in, site_of, visitor

from lapwing.web.app import create_app
from lapwing.web.authoring import desk
from lapwing.web.bodies import MOST, Body
from lapwing.web.discussion import threads
from lapwing.web.lab import jobs
from lapwing.web.lab.arrivals import STRETCH
from lapwing.web.lab.bench import Bench
from lapwing.web.school.markdown import Markdown
from lapwing.web.school.quotes import curly_quotes
from lapwing.web.service.assets import Assets, MissingAssets
from lapwing.web.service.cache import TextCache
from lapwing.web.service.lanes import Lane
from lapwing.web.service.limits import RULES, Rule
from lapwing.web.service.problems import Problem

CSV = b"name,age\nAda,36\nBob,41\n"
THREADS = 40
"""Threads in which Starlette runs plain routes."""
PLACES = 20
"""Previews that may run or wait at the same time."""


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def lines_run(work: Callable[[], object]) -> int:
    """How many lines of Python something takes: the same on every machine."""
    count = 0

    def local(frame: FrameType, event: str, given: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    before = sys.gettrace()
    sys.settrace(local)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


# Text of strangers


@together("pattern", ['"', "'", "(\"|a' ", '"*a*', '-"', "a'", "(\"*a*|b' "])
def test_twice_as_many_quotation_marks_take_twice_as_long(pattern: str) -> None:
    first, _, then = pattern.partition("|")

    def lines(times: int) -> int:
        text = first * times + then * times
        return lines_run(lambda: Markdown().tokens(text))

    lines(10)
    assert lines(400) < 2.5 * lines(200)


def test_quotation_marks_become_curly_as_in_markdown_it() -> None:
    def parser() -> MarkdownIt:
        return MarkdownIt("commonmark", {"typographer": True}).enable(["replacements", "smartquotes"])

    usual, ours = parser(), parser()
    ours.core.ruler.at("smartquotes", curly_quotes)
    parts = ['"', "'", '"', "'", *"a1 -*`\n_é.’", "**", '\\"', "[x](y)"]
    chance = random.Random(16)
    for _ in range(3000):
        text = "".join(chance.choices(parts, k=chance.randrange(1, 25)))
        assert ours.render(text) == usual.render(text), text


def test_comments_are_kept_ready_up_to_so_many_bytes() -> None:
    cache = TextCache(100_000)
    for number in range(50):
        cache.of(f"comment {number}", lambda: "ß" * 2000)
    assert cache.bytes <= 100_000
    assert 5 < len(cache) < 15, "four bytes a sign, as Python may keep it"
    assert cache.of("comment 49", lambda: "made again") == "ß" * 2000
    assert cache.of("comment 0", lambda: "made again") == "made again"
    assert len(cache.of("large", lambda: "x" * 60_000)) == 60_000
    assert cache.of("large", lambda: "small") == "small", "what would cost the others their place is not kept"


def test_a_preview_of_a_comment_leaves_nothing_in_memory(app: FastAPI) -> None:
    ada, before = signed_in(app), len(threads._READY)
    for number in range(5):
        answer = ada.post("/learn/tools/discussion", data={"text": f"$x_{number}$ is new", "preview": "yes"})
        assert "katex" in answer.text
    assert len(threads._READY) == before


def test_a_comment_of_nothing_but_formulas_is_refused_kindly(app: FastAPI) -> None:
    answer = signed_in(app).post("/learn/tools/discussion", data={"text": "$a$ " * 1000, "preview": "yes"})
    assert answer.status_code == 422
    assert "Take at most 60 formulas." in answer.text


# Threads


def test_full_previews_leave_the_threads_to_those_who_read(app: FastAPI) -> None:
    people = [browser_of(app, account(app, f"Author {number}")) for number in range(THREADS // 2)]
    asked = {"slug": "a-draft", "text": "## A screen\n\nWords."}

    async def crowd() -> tuple[int, list[int]]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="https://testserver") as client:

            def look(person: Any) -> Any:
                cookie = "; ".join(f"{one.name}={one.value}" for one in person.cookies.jar)
                headers = {"x-csrf-token": person.headers["x-csrf-token"], "cookie": cookie}
                return client.post("/write/preview", json=asked, headers=headers)

            with desk._ONE:  # as if a preview took very long
                looks = [asyncio.create_task(look(person)) for person in people * 3]
                async with asyncio.timeout(60):  # until all others were refused
                    while sum(one.done() for one in looks) < len(looks) - PLACES:
                        await asyncio.sleep(0.01)
                page = await asyncio.wait_for(client.get("/account/sign-in"), 20)
            return page.status_code, [(await one).status_code for one in looks]

    status, looked = in_a_loop(crowd())
    assert status == 200
    assert set(looked) == {200, 503}
    assert looked.count(200) == PLACES


def test_one_person_has_a_few_places_in_a_lane() -> None:
    lane = Lane(1, 10, 2, "Wait.")

    async def crowd() -> list[str]:
        first = [asyncio.create_task(lane.run("Ada", lambda: "done")) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Problem, match="Wait") as refused:
            await lane.run("Ada", lambda: "done")
        assert refused.value.status_code == 429
        assert refused.value.headers == {"retry-after": "1"}
        return [await lane.run("Bob", lambda: "done"), *[await one for one in first]]

    assert in_a_loop(crowd()) == ["done"] * 3
    assert in_a_loop(lane.run("Ada", lambda: "done")) == "done", "in another event loop, too"


# The lab


@pytest.mark.parametrize("way", ["file", "form", "paste", "example"])
def test_what_the_lab_refuses_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    app = open_school(tmp_path, lab_folder=tmp_path / "lab")
    monkeypatch.setattr(jobs, "MOST_OPEN", 0)
    lab, client = site_of(app).lab, visitor(app)
    ways: dict[str, dict[str, Any]] = {
        "file": {"url": "/lab/upload", "content": CSV},
        "form": {"url": "/lab/upload", "files": {"file": ("rows.csv", CSV)}},
        "paste": {"url": "/lab/paste", "data": {"text": CSV.decode()}},
        "example": {"url": "/lab/examples/clinic"},
    }
    assert client.post(**ways[way]).status_code == 503
    assert lab.all() == []
    assert [path.name for path in lab.folder.iterdir()] == ["lock"]
    lab.close()


def test_what_one_browser_of_a_lecture_hall_asks_does_not_count_for_the_others(tmp_path: Path) -> None:
    app = open_school(tmp_path, lab_folder=tmp_path / "lab", limits=True)
    site_of(app).limits.rules = RULES | {"lab preview": Rule(2, 60)}
    CLINIC.write(tmp_path / "rows.parquet")
    hall = [brought(app, tmp_path / "rows.parquet") for _ in range(2)]  # all from one address

    def previewed(client: TestClient, bench: Bench) -> int:
        return client.get(f"/lab/{bench.id}/ask/mean/preview", params={"column": "age"}).status_code

    assert [previewed(*hall[0]) for _ in range(3)] == [200, 200, 429]
    assert previewed(*hall[1]) == 200
    site_of(app).lab.close()


def test_connections_that_declare_much_and_send_little_hold_no_room(tmp_path: Path) -> None:
    app = open_school(tmp_path, lab_folder=tmp_path / "lab", lab_disk=40 * STRETCH)
    large = {"content-length": str(site_of(app).settings.lab_upload), "accept": "application/json"}

    async def crowd() -> tuple[int, list[int]]:
        enough = asyncio.Event()

        async def little() -> AsyncIterator[bytes]:
            yield CSV
            await enough.wait()

        async def send(address: str, **sent: Any) -> int:
            transport = httpx.ASGITransport(app, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="https://testserver") as client:
                return (await client.post("/lab/upload", **sent)).status_code

        idle = [asyncio.create_task(send(f"192.0.2.{n % 4}", content=little(), headers=large)) for n in range(23)]
        while len(site_of(app).lab.all()) < len(idle):
            await asyncio.sleep(0.01)
        honest = await send("198.51.100.1", content=CSV, headers={"accept": "application/json"})
        enough.set()
        return honest, [await one for one in idle]

    honest, idle = in_a_loop(crowd())
    assert honest == 201
    assert set(idle) == {201}
    site_of(app).lab.close()


def _scope(**headers: str) -> dict[str, Any]:
    return {"headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]}


@pytest.mark.parametrize("pause", [3600.0, 0.005], ids=["silent", "a byte now and then"])
def test_a_body_that_does_not_come_is_not_waited_for(pause: float) -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def read() -> None:
        body = Body(_scope(content_length="1000000"), receive, MOST, 0.02)
        while True:
            await body.receive()

    with pytest.raises(Problem) as refused:
        in_a_loop(read())
    assert refused.value.status_code == 408
    assert refused.value.headers == {"connection": "close"}


def test_whether_somebody_is_still_there_may_take_any_time() -> None:
    messages = [{"type": "http.request", "body": b"all of it", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.sleep(0.1)
        return {"type": "http.disconnect"}

    async def read() -> list[str]:
        body = Body(_scope(), receive, MOST, 60.0)
        first = (await body.receive())["type"]
        body._begun -= 3600  # an hour later
        return [first, (await body.receive())["type"]]

    assert in_a_loop(read()) == ["http.request", "http.disconnect"]


# Without the files for browsers


def test_a_school_without_files_for_browsers_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MissingAssets, match="run `make assets`"):
        Assets(tmp_path)
    monkeypatch.setattr("lapwing.web.school.library.School.read", lambda: pytest.fail("the nuggets need KaTeX"))
    monkeypatch.setattr("lapwing.web.app.Assets", lambda: Assets(tmp_path))
    with pytest.raises(MissingAssets):
        create_app()
