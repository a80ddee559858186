"""A school that runs, and a real browser that visits it: one of each for every worker."""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from clinic_bench import clinic_rows, helpline_rows, lab_school
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright
from school_site import TODAY, open_school

from lapwing.web.statistics import weeks

__all__ = ["clinic_rows", "helpline_rows", "lab_school"]
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 60_000
"""Milliseconds that a page or an expectation may take: a busy machine is slow, and only what never comes is wrong."""
expect.set_options(timeout=PATIENCE)
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(autouse=True)
def _one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Midnight does not come while a test runs."""
    monkeypatch.setattr(weeks, "today", lambda: TODAY)


@dataclass
class LiveSchool:
    """A school that answers at an address of its own."""

    url: str
    app: FastAPI


@dataclass
class Visit:
    """A browser that belongs to nobody yet, and what went wrong in it."""

    context: BrowserContext
    url: str
    scripts: bool = True
    wrong: list[str] = field(default_factory=list)

    def open(self, address: str = "/", *, status: int = 200) -> Page:
        """A new page. Whatever goes wrong in it is written down."""
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self._heard(message, status))
        page.on("pageerror", lambda error: self.wrong.append(f"{address}: {error}"))
        answer = page.goto(self.url + address)
        assert answer is not None
        assert answer.status == status, f"{address} answers {answer.status}"
        return page

    def become(self, client: TestClient) -> None:
        """From now on the browser is that of somebody who is signed in, or has a table in the lab."""
        secure = self.url.replace("http:", "https:")  # browsers trust this machine like https
        cookies = [
            {"name": name, "value": value, "url": secure, "secure": True} for name, value in client.cookies.items()
        ]
        self.context.clear_cookies()
        self.context.add_cookies(cookies)  # type: ignore[arg-type]

    def read(self, slug: str, asked: str = "") -> Page:
        """A nugget whose widgets are all awake, since somebody was near each of them."""
        page = self.open(f"/learn/{slug}{asked}")
        self.wake(page)
        return page

    def wake(self, page: Page) -> None:
        """Go near every widget and wait until it is there."""
        for widget in page.locator(".widget").all():
            widget.scroll_into_view_if_needed()
            widget.locator(".seen").wait_for()

    def watch(self, request: Request) -> None:
        """Nothing may be asked for elsewhere."""
        if not request.url.startswith((f"{self.url}/", "blob:", "data:")):
            self.wrong.append(f"asked elsewhere: {request.url}")

    def failed(self, request: Request) -> None:
        """Neither what was cut short because somebody left nor, for who wants no scripts, a script is a failure."""
        unwanted = request.failure == "csp" and not self.scripts and request.resource_type == "script"
        if request.failure != "net::ERR_ABORTED" and not unwanted:
            self.wrong.append(f"{request.url}: {request.failure}")

    def _heard(self, message: ConsoleMessage, status: int) -> None:
        expected = status != 200 and f"status of {status}" in message.text
        if message.type in ("error", "warning") and not expected:
            self.wrong.append(f"{message.type}: {message.text} ({message.location.get('url')})")


@pytest.fixture(scope="session")
def live_school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveSchool]:
    """The school, served at a free port from a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        app = open_school(tmp_path_factory.mktemp("live"), origin=url)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", server_header=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the school could not be opened"
            time.sleep(0.01)
        yield LiveSchool(url, app)
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, with an empty profile."""
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")  # the first starts and paints less
    if program is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


Visitor = Callable[..., Visit]
"""From the options of a browser, such as `viewport` or `color_scheme`, to a visit."""


@pytest.fixture
def visit(chromium: Browser, live_school: LiveSchool) -> Iterator[Visitor]:
    """Makes browsers that share nothing. A test fails if anything went wrong in one of them, seen or not."""
    visits: list[Visit] = []

    def begin(*, steps: bool = False, **options: Any) -> Visit:
        options = {"viewport": DESKTOP, "reduced_motion": "reduce", **options}
        scripts = options.get("java_script_enabled", True)
        visits.append(made := Visit(chromium.new_context(**options), live_school.url, scripts))
        if scripts and not steps:  # a reader who wants all sections of a nugget at once
            made.context.add_init_script("try { localStorage.setItem('lapwing-whole', '1') } catch {}")
        made.context.on("request", made.watch)
        made.context.on("requestfailed", made.failed)
        return made

    yield begin
    for one in visits:
        one.context.close()
    wrong = [re.sub(r"\s+", " ", what) for one in visits for what in one.wrong]
    assert not wrong, "\n".join(wrong)
