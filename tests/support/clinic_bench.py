"""A school with a lab, the rows of the clinic, and a browser that brought them and stated them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, open_school, site_of, visitor

from lapwing.web.accounts.sessions import cookie_name
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.bundled import EXAMPLES, Example
from lapwing.web.lab.owners import COOKIE, new_owner

CLINIC, HELPLINE = EXAMPLES["clinic"], EXAMPLES["helpline"]


@pytest.fixture(scope="module")
def lab_school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """A school whose lab has a folder of its own."""
    made = open_school(tmp_path_factory.mktemp("school"), lab_folder=tmp_path_factory.mktemp("lab"))
    yield made
    site_of(made).lab.close()


@pytest.fixture(scope="session")
def clinic_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The clinic as the lab keeps it, written once."""
    path = tmp_path_factory.mktemp("rows") / "table.parquet"
    CLINIC.write(path)
    return path


@pytest.fixture(scope="session")
def helpline_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The calls of the helpline, written once."""
    path = tmp_path_factory.mktemp("calls") / "table.parquet"
    HELPLINE.write(path)
    return path


def brought(app: FastAPI, rows: Path, *, example: Example = CLINIC, **changes: Any) -> tuple[TestClient, Bench]:
    """A browser with the clinic, or another of our tables, stated; not in teaching mode unless said."""
    site, owner = site_of(app), new_owner()
    bench = site.lab.bring(owner, example.title)
    bench.path.write_bytes(rows.read_bytes())
    bench.columns = example.taken.columns
    bench.state(replace(example.statement, **{"teaching": False, **changes}))
    client = visitor(app)
    client.cookies.set(cookie_name(site.settings, COOKIE), owner, domain="testserver.local", path="/")
    return client, bench


def released(client: TestClient, bench: Bench, epsilon: float = 0.5, kind: str = "mean", **asked: str) -> str:
    """The address of a new answer."""
    form = {"column": "age", **asked, "epsilon": str(epsilon)}
    answer = client.post(f"/lab/{bench.id}/ask/{kind}", data=form, headers=PERSON)
    while "/jobs/" in answer.headers["location"]:
        job = site_of(client.app).lab.jobs.get(bench.id, answer.headers["location"].rsplit("/", 1)[1])  # type: ignore[arg-type]
        job.ended.wait(30)
        answer = client.get(answer.headers["location"], headers=PERSON)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])
