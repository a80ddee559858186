"""A school of an earlier version opens, and everybody finds what they left there."""

from __future__ import annotations

import csv
import io
import json
import lzma
import re
import sqlite3
from pathlib import Path
from typing import Any

import pyotp
import pytest
from fastapi import FastAPI
from frozen import FILES
from school_site import PASSWORD, open_school, visitor

KEY = bytes(range(32))
TOLD: dict[str, Any] = json.loads((FILES / "school.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("old") / "school.db"
    place.write_bytes(lzma.decompress((FILES / "school.db.xz").read_bytes()))
    return place


@pytest.fixture(scope="module")
def app(place: Path) -> FastAPI:
    return open_school(place.parent, key=KEY)


def signed_in(app: FastAPI, name: str) -> Any:
    client = visitor(app)
    client.get("/account/sign-in")
    answer = client.post("/account/sign-in", data={"name": name, "password": PASSWORD})
    assert answer.status_code == 303, answer.text[:400]
    return client


def test_no_row_is_lost(app: FastAPI, place: Path) -> None:
    with sqlite3.connect(place) as database:
        rows = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TOLD["rows"]}
    assert {name: count for name, count in rows.items() if count < TOLD["rows"][name]} == {}


def test_what_was_published_is_read_with_its_discussion(app: FastAPI) -> None:
    page = visitor(app).get("/learn/old-words")
    assert page.status_code == 200
    assert "These words were written with the first version." in page.text
    talk = visitor(app).get("/learn/old-words/discussion").text
    assert "Because of differences." in talk
    assert "Rude words" not in talk


def test_people_sign_in_and_find_what_is_theirs(app: FastAPI) -> None:
    assert "Lady L" in signed_in(app, "Ada").get("/account").text + signed_in(app, "Ada").get("/classes").text
    ben = signed_in(app, "Ben")
    assert "Lady L" in ben.get(f"/classes/{TOLD['class']}").text
    assert "old-draft" in ben.get("/write").text


def test_a_second_factor_of_before_still_opens_the_door(app: FastAPI) -> None:
    eve = signed_in(app, "Eve")
    form = re.search(r'name="csrf"[^>]*value="([^"]+)"', eve.get("/account/code").text)
    assert form is not None
    code = pyotp.TOTP(TOLD["second factor"]).now()
    assert eve.post("/account/code", data={"csrf": form[1], "code": code}).status_code == 303
    assert eve.get("/admin").status_code == 200


@pytest.mark.parametrize("kind", ["yes-no", "choice", "number"])
def test_surveys_of_before_take_answers_and_show_results(app: FastAPI, kind: str) -> None:
    survey = TOLD[f"survey {kind}"]
    address, client = f"/survey/{survey['name']}", visitor(app)
    assert client.get(address).status_code == 200
    assert client.get(f"{address}/keep/{survey['key']}").status_code == 200
    assert client.get(f"{address}/results").status_code == 200
    if kind == "choice":  # the third of three personal links is still unused
        links = csv.DictReader(io.StringIO(client.get(f"{address}/keep/{survey['key']}/links.csv").text))
        tokens = [row["link"].partition("#")[2] for row in links]
    else:
        tokens = ["f" * 32]
    told = [client.post(f"{address}/answers", json={"report": survey["report"], "token": token}) for token in tokens]
    assert [answer.json()["counted"] for answer in told] == [False] * (len(tokens) - 1) + [True]
