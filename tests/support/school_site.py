"""A school of its own for a test, and browsers that visit it."""

from __future__ import annotations

import functools
import itertools
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.testclient import TestClient
from jinja2 import BytecodeCache, Environment
from jinja2.bccache import Bucket

from lapwing.web import pages
from lapwing.web.accounts import passwords
from lapwing.web.accounts.sessions import MARKER, cookie_name
from lapwing.web.accounts.store import sessions, users
from lapwing.web.app import create_app
from lapwing.web.school.library import School
from lapwing.web.service.assets import STATIC, Assets
from lapwing.web.service.database import Database
from lapwing.web.service.limits import RULES, Rule
from lapwing.web.service.settings import Settings
from lapwing.web.site import Site
from lapwing.web.statistics import weeks

TODAY = weeks.today()
"""The day of all tests of the web, also of those that run after midnight."""
PASSWORD = "four quiet birds walk"
FRONT = """---
slug: a-nugget
title: A nugget
category: motivation
level: intuition
roles: [student]
summary: Some words.
objectives: [Explain it.]
---
"""
"""What a nugget begins with; its screens follow."""
PERSON = {"accept": "text/html"}
"""What a browser says when a person asks for a page."""


@functools.cache
def nuggets() -> School:
    """The built-in nuggets, read once."""
    return School.read()


@functools.cache
def assets() -> Assets:
    """The files for browsers, read once."""
    if not (STATIC / "manifest.json").exists():
        pytest.skip("the browser's code is not built: run make assets")
    return Assets()


USUAL_HASHER = passwords._HASHER
"""What a school hashes passwords with, when no test is in a hurry."""
passwords._HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@functools.cache
def cheap_hash() -> str:
    """A hash of PASSWORD that takes no time."""
    return passwords._HASHER.hash(PASSWORD)


@functools.cache
def empty_tables() -> bytes:
    """A database in which nobody is yet: its tables take longer to make than to copy."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "school.db"
        database = Database(f"sqlite:///{place}")
        with database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        return place.read_bytes()


class Compiled(BytecodeCache):
    """Templates, compiled once for all schools of a process."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.kept:
            bucket.bytecode_from_string(self.kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.kept[bucket.key] = bucket.bytecode_to_string()


pages.Environment = functools.partial(Environment, bytecode_cache=Compiled())  # type: ignore[misc, assignment]


_prepared = pages.Pages.prepared
_built_in: list[pages.ShownSchool] = []
"""The pages of the built-in nuggets: all schools of a process show the same."""


def _prepared_once(self: pages.Pages, school: School) -> pages.ShownSchool:
    if school is not nuggets() or self.assets is not assets():
        return _prepared(self, school)
    if not _built_in:
        _built_in.append(_prepared(self, school))
    return _built_in[0]


pages.Pages.prepared = _prepared_once  # type: ignore[method-assign]


def open_school(folder: Path, *, limits: bool = False, **options: Any) -> FastAPI:
    """A school whose database is in a folder; nothing is limited unless asked for."""
    if "database" not in options and folder.exists() and not (folder / "school.db").exists():
        (folder / "school.db").write_bytes(empty_tables())
    usual = {"database": f"sqlite:///{folder / 'school.db'}", "key": bytes(32), "collections": folder / "collections"}
    settings = Settings(**{**usual, **options})
    app = create_app(settings, nuggets(), assets())
    weakref.finalize(app, site_of(app).database.close)
    if not limits:
        site_of(app).limits.rules = dict.fromkeys(RULES, Rule(10**9, 1))
    return app


def site_of(app: FastAPI) -> Site:
    """What the school is made of."""
    site: Site = app.state.site
    return site


def visitor(app: FastAPI) -> TestClient:
    """A browser in which nobody is signed in. Redirections are not followed."""
    return TestClient(app, base_url="https://testserver", raise_server_exceptions=False, follow_redirects=False)


def account(app: FastAPI, name: str, role: str = "learner") -> users.Account:
    """Somebody with an account whose password is PASSWORD; admins have a second factor."""
    with site_of(app).database.writing() as db:
        made = users.add(db, name, cheap_hash(), role)
        assert made is not None, f"{name} is there already"
        if role == "admin":
            users.set_second_factor(db, made.id, b"sealed", [])
    return made


def browser_of(app: FastAPI, user: users.Account, *, verified: bool = True) -> TestClient:
    """A browser in which somebody is signed in; it sends the token of the session with every request."""
    now, database = int(time.time()), site_of(app).database
    with database.writing() as db:
        secret = sessions.begin(db, user.id, now, role=user.role, verified=verified)
    with database.reading() as db:
        found = sessions.find(db, secret, now)
    assert found is not None
    client = visitor(app)
    for cookie, value in ((cookie_name(site_of(app).settings), secret), (MARKER, "1")):
        client.cookies.set(cookie, value, domain="testserver.local", path="/")
    client.headers["x-csrf-token"] = found.csrf
    return client


def signed_in(app: FastAPI, name: str = "Ada", role: str = "learner") -> TestClient:
    """A browser in which a new somebody is signed in."""
    return browser_of(app, account(app, name, role))


_NUMBERS = itertools.count(1)


def visit_as(app: FastAPI, who: str) -> TestClient:
    """A browser of nobody, of a new learner, instructor, operator or admin, or an admin without second factor."""
    if who == "nobody":
        return visitor(app)
    if who == "operator":
        made = account(app, f"One operator {next(_NUMBERS)}")
        with site_of(app).database.writing() as db:
            users.set_operator(db, made.id, True)
        return browser_of(app, made)
    made = account(app, f"One {who} {next(_NUMBERS)}", "admin" if who == "half" else who)
    return browser_of(app, made, verified=who != "half")
