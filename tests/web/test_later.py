"""A school opens without what its readers do not need; who asks for it gets it as if it had always been there."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import open_school

from lapwing.web.documentation.built import FOLDER, is_built
from lapwing.web.routes import LATER
from lapwing.web.service.database import Database
from lapwing.web.service.later import Later

HEAVY = ("scipy", "duckdb", "sqlglot", "sklearn", "matplotlib", "alembic", "lapwing.curator", "lapwing.adversary")


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def test_reading_needs_no_engines_no_models_no_attacks_and_no_migrations(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'school.db'}")
    database.close()
    read = f"""
import sys
from fastapi.testclient import TestClient
from lapwing.web.app import create_app
from lapwing.web.service.settings import Settings
with TestClient(create_app(Settings.of({database.engine.url.database!r}, secure=False))) as client:
    assert client.get("/").status_code == client.get("/learn/tools").status_code == 200
print(*(name for name in {HEAVY!r} if name in sys.modules))
"""
    assert subprocess.check_output([sys.executable, "-c", read], text=True).split() == []


def test_the_first_request_puts_the_routes_in_place_and_is_answered(app: FastAPI) -> None:
    with TestClient(app) as client:
        for path in LATER:
            assert path in {one.path for one in app.router.routes if isinstance(one, Later)}
            expected = 401 if path == "/collections" else 200  # that is for operators
            if path == "/docs" and not is_built(FOLDER):
                expected = 404  # with a page that says how to build it
            assert client.get(path).status_code == expected
            assert path not in {one.path for one in app.router.routes if isinstance(one, Later)}
            assert client.get(path).status_code == expected


def test_many_who_ask_first_at_once_are_all_answered_and_the_routes_come_once(app: FastAPI) -> None:
    with TestClient(app) as client:
        before = len(app.router.routes)
        with ThreadPoolExecutor(8) as together:
            found = list(together.map(lambda _: client.get("/lab").status_code, range(8)))
        assert found == [200] * 8
        assert len(app.router.routes) == before - 1 + len(LATER["/lab"])


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/lab/x/no/where", 404), ("POST", "/guide", 405), ("GET", "/labs", 404)]
)
def test_a_first_request_that_nothing_answers_is_refused_as_usual(
    app: FastAPI, method: str, path: str, status: int
) -> None:
    with TestClient(app) as client:
        first, second = (client.request(method, path, headers={"accept": "text/html"}) for _ in range(2))
    assert first.status_code == second.status_code == status
    assert first.text == second.text
    assert "content-security-policy" in first.headers


def test_nobody_changes_anything_from_another_site_with_the_first_request(app: FastAPI) -> None:
    with TestClient(app) as client:
        assert client.post("/lab/paste", headers={"sec-fetch-site": "cross-site"}).status_code == 403
