"""Bringing tables to the lab: whatever comes gets a helpful page, and nothing of it is told to anybody else."""

from __future__ import annotations

import gzip
import logging
import os
import re
import signal
import socket
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from harmful import harm_in
from playwright.sync_api import expect
from school_site import PERSON, open_school, signed_in, site_of, visitor

import lapwing as lw
from lapwing.errors import InvalidParameter
from lapwing.web.lab import intake, plain, proposals
from lapwing.web.lab.benches import Lab, _held_folder
from lapwing.web.lab.bundled import EXAMPLES
from lapwing.web.lab.engine import engine
from lapwing.web.lab.jobs import Progress
from lapwing.web.lab.names import LONGEST, cleaned
from lapwing.web.lab.owners import new_owner
from lapwing.web.lab.suggestions import suggest, unit_among
from lapwing.web.service.settings import Settings

Visitor = Callable[..., Any]
CSV = b"patient_id,age,city,cost\n" + b"".join(
    b"%d,%d,%s,%d\n" % (i, 20 + i % 60, (b"Kiel", b"Bonn", b"Ulm")[i % 3], i % 900) for i in range(2000)
)
MOST = 4 << 20


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("school")
    return open_school(folder, lab_folder=folder / "lab", lab_upload=MOST)


@pytest.fixture
def client(app: FastAPI) -> TestClient:
    return visitor(app)


def bring(client: TestClient, content: bytes, name: str = "visits.csv") -> str:
    """Send a file as a form without scripts does; where the browser is sent."""
    answer = client.post("/lab/upload", files={"file": (name, content)}, headers=PERSON)
    assert answer.status_code == 303, answer.text
    where: str = answer.headers["location"]
    site_of(client.app).lab.jobs.of(where.rpartition("/")[2])[-1].ended.wait(60)  # type: ignore[arg-type]
    return where


def shown(client: TestClient, where: str) -> str:
    answer = client.get(where, headers=PERSON)
    assert answer.status_code == 200
    assert harm_in(answer.text) == []
    return answer.text


def form_of(page: str) -> dict[str, str]:
    """What a browser would send if somebody pressed the button at once."""
    form = page[page.index('id="describe"') : page.rindex('value="ask"')]
    sent = dict(re.findall(r'<input name="([^"]+)"[^>]*? value="([^"]*)"', form))
    for name, options in re.findall(r'<select name="([^"]+)".*?>(.*?)</select>', form, re.DOTALL):
        found = re.search(r'value="([^"]*)" selected', options)
        sent[name] = found[1] if found else ""
    if "checked" in form:
        sent["teaching"] = "yes"
    return {name: value.replace("&lt;", "<").replace("&gt;", ">") for name, value in sent.items()}


def state(client: TestClient, where: str, **changes: str) -> httpx2.Response:
    answer: httpx2.Response = client.post(where, data=form_of(shown(client, where)) | changes, headers=PERSON)
    return answer


def bench_at(app: FastAPI, where: str) -> Any:
    return next(one for one in site_of(app).lab.all() if one.id == where.split("/")[2])


# Files


def parquet(query: str) -> Callable[[Path], bytes]:
    def made(folder: Path) -> bytes:
        with engine(folder) as db:
            db.execute(f"COPY ({query}) TO '{folder / 'made.parquet'}' (FORMAT parquet)")
        return (folder / "made.parquet").read_bytes()

    return made


REFUSED: dict[str, tuple[bytes | Callable[[Path], bytes], str]] = {
    "blank": (b"\n\n  \n", "only empty lines"),
    "header only": (b"age,city\n", "no rows below"),
    "10,000 columns": (",".join(f"c{i}" for i in range(10_000)).encode() + b"\n1\n", "10,000 columns"),
    "a quotation mark in the header": (b'age,"city\n1,2\n', "never closes it"),
    "a header without an end": (b"a" * (plain.LONGEST_HEADER + 5), "within a megabyte"),
    "binary garbage": (bytes(range(256)) * 50, "neither text nor a Parquet"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(100), "save the sheet as CSV"),
    "a picture": (b"\x89PNG\r\n" + bytes(100), "picture"),
    "torn gzip": (gzip.compress(CSV)[:-20], "damaged"),
    "packed twice": (gzip.compress(gzip.compress(CSV)), "packed twice"),
    "a bomb": (gzip.compress(b"a,b\n" + b"1,2\n" * (3 << 19)), "so we stopped"),
    "broken UTF-16": ("a,b\n1,2\n".encode("utf-16")[:-1], "UTF-16"),
    "false Parquet": (b"PAR1" + bytes(200) + b"PAR1", "but it cannot be read"),
    "nested Parquet": (parquet("SELECT [1, 2] AS visits"), "Flatten nested columns"),
    "empty Parquet": (parquet("SELECT 1 AS a WHERE false"), "no rows below"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_is_no_table_gets_a_page_that_says_what_to_bring(
    client: TestClient, app: FastAPI, tmp_path: Path, kind: str
) -> None:
    content, words = REFUSED[kind]
    where = bring(client, content if isinstance(content, bytes) else content(tmp_path))
    page = shown(client, where)
    assert words in page
    assert "could not be read" in page
    assert "What we can read" in page
    assert list(bench_at(app, where).folder.iterdir()) == [], "nothing of it is kept"


TAKEN: dict[str, tuple[bytes | Callable[[Path], bytes], list[str]]] = {
    "one row": (b"age,city\n34,Kiel", ["age", "city"]),
    "all null": (b"age;city\n;\n;\n", ["age", "city"]),
    "tabs and a mark": (b"\xef\xbb\xbfage\tcity\r\n34\tKiel\r\n", ["age", "city"]),
    "one column": (b"age\n34\n", ["age"]),
    "lines that do not fit": (b"age,city\n1\n1,2,3\n,\n\n4,5\n", ["age", "city"]),
    "line breaks in cells": (b'age,"my\ncity"\n1,"a\nb"\n', ["age", "my city"]),
    "a quotation mark that never ends": (b'age,city\n1,"2\n3,4\n', ["age", "city"]),
    "gzip": (gzip.compress(CSV), ["patient_id", "age", "city", "cost"]),
    "UTF-16": ("größe|stadt\n1|Köln\n".encode("utf-16"), ["größe", "stadt"]),
    "formulas": (b"=cmd|' /C calc'!A0,+1,@x,age\n=1+1,2,3,4\n", ["cmd| /C calc!A0", "1", "x", "age"]),
    "names of all kinds": (
        b'a,A,,"<script>alert(1)</script>",x\x07y,"a"";DROP TABLE b"\n1,2,3,4,5,6\n',
        ["a", "A_2", "column_3", "<script>alert(1)</script>", "x y", "aDROP TABLE b"],
    ),
    "Parquet": (
        parquet("SELECT 1::UTINYINT AS a, 'x' AS \"A \", now() AS t, 1.5::DECIMAL(9,2) AS m, {'q': 1} AS s, true AS b"),
        ["a", "A_2", "t", "m", "b"],
    ),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_a_table_is_taken_with_names_that_harm_nobody(
    client: TestClient, app: FastAPI, tmp_path: Path, kind: str
) -> None:
    content, names = TAKEN[kind]
    where = bring(client, content if isinstance(content, bytes) else content(tmp_path))
    page = shown(client, where)
    bench = bench_at(app, where)
    assert [one.name for one in bench.columns] == names
    assert "What is public about it?" in page
    assert [path.name for path in bench.folder.iterdir()] == ["table.parquet"], "what was sent is gone"
    assert state(client, where).status_code == 303, "and what is suggested can be stated as it is"


def test_types_come_from_the_schema_of_a_parquet_file_and_never_from_the_rows_of_a_csv(
    client: TestClient, app: FastAPI, tmp_path: Path
) -> None:
    content = parquet("SELECT 7 AS foo, 'x' AS bar, DATE '2026-01-31' AS baz, [1] AS nested")(tmp_path)
    where = bring(client, content)
    assert [one.type for one in bench_at(app, where).columns] == ["integer", "text", "date"]
    assert "nested or of a type" in shown(client, where)
    where = bring(client, b"foo,bar\n7,x\n")
    assert [one.type for one in bench_at(app, where).columns] == [None, None]


def test_a_sixth_table_is_refused_with_what_to_do_and_paid_answers_stay(client: TestClient, app: FastAPI) -> None:
    first = bring(client, CSV)
    for number in range(3):
        assert bring(client, b"\x00\x01\x02", f"unreadable-{number}.csv"), "which counts as no table"
    for number in range(4):
        bring(client, CSV, f"other-{number}.csv")
    page = client.get("/lab", headers=PERSON).text
    assert "unreadable" not in page
    assert "one more is refused until you delete one" in page
    assert "To bring another, delete one of them first" in page
    for path, sent in (
        ("/lab/upload", {"files": {"file": ("sixth.csv", CSV)}}),
        ("/lab/upload", {"content": CSV}),
        ("/lab/paste", {"data": {"text": "a,b\n1,2\n"}}),
        ("/lab/examples/clinic", {}),
    ):
        refused = client.post(path, headers=PERSON, **sent)  # type: ignore[arg-type]
        assert refused.status_code == 409
        assert "You have 5 tables here, and that is the most for one browser. Delete one" in refused.text
        assert f'action="{first}/delete"' in refused.text
        assert client.post(path, **sent).json()["detail"].startswith("You have 5 tables here")  # type: ignore[arg-type]
    assert client.get(first, headers=PERSON).status_code == 200
    client.post(f"{first}/delete")
    assert bring(client, CSV, "sixth.csv")


def test_text_that_is_not_utf8_is_read_as_latin_1_when_its_owner_says_so(client: TestClient, app: FastAPI) -> None:
    where = bring(client, "name,stadt\nJörg,Köln\n".encode("latin-1"))
    page = shown(client, where)
    assert "Read it as Latin-1" in page
    assert client.post(f"{where}/read", data={"encoding": "latin-1"}, headers=PERSON).status_code == 303
    bench_at(app, where).intake.ended.wait(60)
    assert "was read as Latin-1" in shown(client, where)
    assert proposals.first_rows(bench_at(app, where).path) == [("Jörg", "Köln")]
    assert bench_at(app, where).encoding == "windows-1252"
    assert bench_at(app, bring(client, "name\nJörg\n".encode("utf-16"))).encoding == "utf-16"
    assert bench_at(app, bring(client, "name\nJörg\n".encode())).encoding == ""
    assert client.post(f"{where}/read", data={"encoding": "latin-1"}, headers=PERSON).status_code == 409


def test_a_file_that_is_too_large_is_refused_and_nothing_of_it_is_kept(client: TestClient, app: FastAPI) -> None:
    before = len(site_of(app).lab.all())
    told = client.post("/lab/upload", content=bytes(MOST + (1 << 20)), headers={"accept": "application/json"})
    assert told.status_code == 413
    pieces = client.post("/lab/upload", content=iter([bytes(1 << 20)] * 6), headers={"accept": "application/json"})
    assert pieces.status_code == 413
    assert "Parquet" in pieces.json()["detail"]
    form = client.post("/lab/upload", files={"file": ("a.csv", bytes(MOST + 1))}, headers=PERSON)
    assert form.status_code == 413
    assert len(site_of(app).lab.all()) == before


@together("sent", [{}, {"files": {"file": ("a.csv", b"")}}, {"content": b""}])
def test_nothing_is_no_table(client: TestClient, sent: dict[str, Any]) -> None:
    answer = client.post("/lab/upload", headers=PERSON, **sent)
    assert answer.status_code == 422
    assert "Choose" in answer.text
    assert "set-cookie" not in answer.headers


def test_a_script_sends_the_file_itself_and_is_told_where_to_go(client: TestClient, app: FastAPI) -> None:
    headers = {"accept": "application/json", "x-file-name": "Besuche%20%C3%BC.csv"}
    answer = client.post("/lab/upload", content=CSV, headers=headers)
    assert answer.status_code == 201
    where, job = answer.json()["where"], answer.json()["job"]
    bench_at(app, where).intake.ended.wait(60)
    assert client.get(job).json() | {"id": ""} == {
        "id": "", "state": "done", "share": 1.0, "title": "Reading your table", "error": "", "where": where,
        "place": 0,
    }  # fmt: skip
    assert client.get(job, headers=PERSON).headers["location"] == where
    assert "Besuche ü.csv" in shown(client, where)


def test_pasted_text_becomes_a_table(client: TestClient, app: FastAPI) -> None:
    answer = client.post("/lab/paste", data={"text": "age,city\n34,Kiel\n"}, headers=PERSON)
    bench = bench_at(app, answer.headers["location"])
    bench.intake.ended.wait(60)
    assert [one.name for one in bench.columns] == ["age", "city"]
    assert client.post("/lab/paste", data={"text": " "}, headers=PERSON).status_code == 422


@pytest.mark.parametrize("slug", ["clinic", "adult", "town"])
def test_a_bundled_table_has_a_statement_that_can_be_taken_as_it_is(
    client: TestClient, app: FastAPI, slug: str
) -> None:
    where = client.post(f"/lab/examples/{slug}", headers=PERSON).headers["location"]
    bench = bench_at(app, where)
    assert bench.intake.ended.wait(60)
    answer = state(client, where, then="ask")
    assert answer.headers["location"] == f"{where}/ask"
    assert bench.statement == bench.suggested
    assert bench.statement.teaching
    page = shown(client, where)
    assert "Teaching mode is on" in page
    assert "The first rows" in page


def test_reading_a_large_file_is_cancelled_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.write_bytes(CSV * 200)
    seen: list[float] = []

    class Impatient(Progress):
        def __call__(self, share: float) -> None:
            seen.append(share)
            super().__call__(share)
            if share >= 0.3:
                self.cancel()

    progress = Impatient()
    with pytest.raises(Exception, match=r"^$") as stopped:
        intake.take(raw, tmp_path / "table.parquet", progress, most=1 << 30)
    assert type(stopped.value).__name__ == "Cancelled"
    assert seen[0] < 0.3
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_names_are_short_distinct_and_visible() -> None:
    names = cleaned(["x" * 500, "x" * 500, "x" * 500, "a\u202eb", "\x00", "-2", "ﬁ"])
    assert len({one.name.casefold() for one in names}) == len(names)
    assert all(len(one.name) <= LONGEST and one.name.isprintable() and one.name for one in names)
    assert [one.name for one in names[3:6]] == ["a b", "column_5", "2"]


# Suggestions


def test_suggestions_come_from_names_in_two_languages_and_say_why() -> None:
    for name, kind, bounds in (
        ("Alter", "integer", (0, 120)),
        ("smoker_pct", "number", (0, 100)),
        ("Geburtsjahr", "integer", (1900, 2100)),
        ("is_member", "boolean", None),
        ("Gehalt", "number", (0, 200_000)),
        ("date_of_visit", "date", None),
        ("Aufnahmedatum", "date", None),
        ("Behandlungskosten", "number", (0, 10_000)),
        ("Liegetage", "integer", (0, 366)),
        ("bill_length_mm", "number", None),
        ("body_mass_g", "number", None),
        ("phone_bill", "number", (0, 10_000)),
        ("Body Mass (g)", "number", None),
        ("height_cm", "number", (0, 250)),
        ("height_inches", "number", None),
        ("age_months", "number", None),
        ("age.group", "text", None),
        ("hours_per_week", "number", (0, 168)),
        ("time_hour", "date", None),
        ("dep_delay", "number", None),
        ("n_rooms", "integer", None),
        ("Delta 15 N (o/oo)", "text", None),
        ("zork", "text", None),
    ):
        found = suggest(name)
        assert (found.type, found.bounds) == (kind, bounds), name
        assert found.why
    assert suggest("zork").why == "The name does not say what it is, so we took text. Change that if it is wrong."
    assert suggest("zork", "text").why == suggest("zork", "number").why == "The type in the file."
    assert suggest("sex").keys
    assert suggest("age", "text").bounds is None, "the type of the file counts more than the name"
    assert unit_among(["age", "Kunde", "city"]) == "Kunde"
    assert unit_among(["age", "order_id"]) == ""
    assert unit_among(["Station", "Rechnungsnummer", "Patientennummer"]) == "Patientennummer"
    assert suggest("Kundennummer").person
    assert suggest("Mitgliedsnummer").person


def test_nothing_about_the_rows_is_suggested(client: TestClient, app: FastAPI) -> None:
    pages = []
    for value in (b"1", b"999999"):
        where = bring(client, b"zork,age\n" + value + b"," + value + b"\n")
        pages.append(re.sub(r"/lab/[0-9a-f]+|datetime=\S+>[^<]*", "", shown(client, where)))
    assert pages[0] == pages[1]


def test_a_private_look_finds_bounds_and_keys_for_the_price_it_names(
    client: TestClient, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MISTAKE", 1e-9)  # an empty bin is taken for a full one so seldom
    where = bring(client, CSV)
    assert state(client, where, unit="patient_id", epsilon="3", delta="1e-5", people="2000").status_code == 303
    bench = bench_at(app, where)
    ask = {"column": "cost", "what": "bounds", "price": "0.5"}
    assert client.post(f"{where}/propose", data=ask, headers=PERSON).status_code == 303
    bench.jobs.of(bench.id)[-1].ended.wait(60)
    assert bench.spent.epsilon == pytest.approx(0.5)
    assert bench.proposals["cost"].bounds == (0, 1000)
    ask = {"column": "city", "what": "keys", "price": "1.0"}
    client.post(f"{where}/propose", data=ask, headers=PERSON)
    bench.jobs.of(bench.id)[-1].ended.wait(60)
    assert bench.spent.epsilon == pytest.approx(1.5)
    assert set(bench.proposals["city"].keys) == {"Kiel", "Bonn", "Ulm"}
    page = shown(client, where)
    assert "Found privately for ε = 0.5" in page
    assert 'value="Bonn, Kiel, Ulm"' in page
    assert state(client, where).status_code == 303
    assert bench.stated.column("cost").bounds == (0, 1000)
    assert bench.remaining.epsilon == pytest.approx(1.5), "stating it gives nothing back"


def test_what_a_look_found_says_beside_its_column_that_it_is_not_stated_until_the_form_is_saved(
    client: TestClient, app: FastAPI
) -> None:
    where = bring(client, CSV)
    state(client, where, epsilon="3")
    answer = client.post(f"{where}/propose", data={"column": "cost", "what": "bounds", "price": "0.5"}, headers=PERSON)
    job = bench_at(app, where).jobs.of(where.split("/")[2])[-1]
    job.ended.wait(60)
    assert job.where == f"{where}#column-3"
    assert answer.headers["location"] in (job.where, f"{where}/jobs/{job.id}")
    [beside] = re.findall(r'<li class="column" id="column-3">.*?</li>', shown(client, where), re.DOTALL)
    assert "Found privately for ε = 0.5" in beside
    assert 'Not stated yet: <a href="#save">save the form</a>.' in beside
    state(client, where)
    assert "Not stated yet" not in shown(client, where)


def test_a_look_for_bounds_of_words_is_refused_before_anything_is_charged(client: TestClient, app: FastAPI) -> None:
    where = bring(client, CSV)
    state(client, where, epsilon="3", delta="1e-5")
    bench = bench_at(app, where)
    for column in bench.stated.columns:
        if column.type in ("number", "integer"):
            continue
        answer = client.post(f"{where}/propose", data={"column": column.name, "what": "bounds", "price": "0.5"})
        assert answer.status_code == 422
        assert "is no number, so it has no bounds, and nothing was spent" in answer.text
        with pytest.raises(InvalidParameter, match="is no number"):
            proposals.private_bounds(bench.data(), column.name, 0.5)
    assert not bench.any_spent
    assert bench.jobs.of(bench.id) == [job for job in bench.jobs.of(bench.id) if "bounds" not in job.title]
    offered = re.findall(r"<label>(Bounds|Keys) of <select name=\"column\">(.*?)</select>", shown(client, where))
    names = {what: re.findall(r"<option>(.*?)</option>", options) for what, options in offered}
    assert set(names["Bounds"]) == {one.name for one in bench.stated.of_type("number", "integer")}
    assert "city" in names["Keys"]


def test_no_look_about_the_column_of_the_person_is_offered_and_none_that_cannot_be_paid(
    client: TestClient, app: FastAPI
) -> None:
    """Its ids came first in the list of bounds, so a press of the button paid for the bounds of ids."""
    for example in EXAMPLES.values():
        offered = proposals.to_look_at(replace(example.statement, delta=1e-6))
        assert all(example.statement.unit not in columns for columns in offered.values())
    stated = EXAMPLES["clinic"].statement
    without = replace(stated, columns=tuple(replace(column, bounds=None) for column in stated.columns))
    assert proposals.to_look_at(without)["bounds"][0] == "age"
    where = bring(client, CSV)
    state(client, where, epsilon="0.25")
    bench = bench_at(app, where)
    offered_prices = re.findall(r'<option value="([\d.]+)"', shown(client, where).partition('id="propose"')[2])
    assert [float(price) for price in offered_prices if float(price) <= 1] == [0.05, 0.1, 0.2]
    bench.ledger.charge("table", lw.PureDP(0.25, unit=bench.stated.unit_word))
    page = shown(client, where)
    assert "Too little of the budget is left to pay for a look: the smallest one costs ε = 0.05." in page
    assert "Pay and look" not in page


def test_a_look_that_finds_nothing_does_not_say_that_something_is_shown(
    client: TestClient, app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MISTAKE", 1e-9)  # an empty bin is taken for a full one so seldom
    where = bring(client, b"cost\n1\n2\n")
    state(client, where, **{"type-0": "number", "epsilon": "3"})
    client.post(f"{where}/propose", data={"column": "cost", "what": "bounds", "price": "0.05"}, headers=PERSON)
    bench = bench_at(app, where)
    bench.jobs.of(bench.id)[-1].ended.wait(60)
    page = shown(client, where)
    assert "no range has enough rows" in page
    assert "What was found is shown" not in page
    assert "Not stated yet" not in page


def test_a_whole_number_is_asked_for_whole_bounds(client: TestClient, app: FastAPI) -> None:
    where = bring(client, b"year\n2010\n")
    refused = state(client, where, **{"type-0": "integer", "low-0": "a", "high-0": "b"})
    assert "whole numbers, such as 0 and 100" in refused.text


def test_a_look_that_cannot_be_paid_says_so_and_shows_nothing(client: TestClient, app: FastAPI) -> None:
    where = bring(client, CSV)
    state(client, where, epsilon="0.1", delta="0")
    for what, words in (("bounds", "remains"), ("keys", "delta")):
        ask = {"column": "city" if what == "keys" else "cost", "what": what, "price": "0.5"}
        client.post(f"{where}/propose", data=ask, headers=PERSON)
        job = bench_at(app, where).jobs.of(where.split("/")[2])[-1]
        job.ended.wait(60)
        assert words in shown(client, f"{where}/jobs/{job.id}")
    assert bench_at(app, where).proposals == {}
    assert not bench_at(app, where).any_spent


def test_taking_bounds_from_the_data_is_for_teaching_mode_and_does_not_outlast_it(
    client: TestClient, app: FastAPI
) -> None:
    where = bring(client, CSV)
    state(client, where)
    look = {"column": "cost", "what": "bounds"}
    assert client.post(f"{where}/look", data=look, headers={"accept": "application/json"}).status_code == 403
    assert "The first rows" not in shown(client, where)
    state(client, where, teaching="yes")
    client.post(f"{where}/look", data=look, headers=PERSON)
    bench_at(app, where).jobs.of(where.split("/")[2])[-1].ended.wait(60)
    page = shown(client, where)
    assert "Read from the data: not private." in page
    assert form_of(page)["high-3"] == "899"
    assert state(client, where).status_code == 303, "in teaching mode it may stand"
    sent = form_of(shown(client, where))
    sent.pop("teaching")
    refused = client.post(where, data=sent, headers=PERSON)
    assert refused.status_code == 422
    assert "Only teaching mode may use it" in refused.text
    assert bench_at(app, where).stated.teaching
    assert client.post(where, data=sent | {"high-3": "1000"}, headers=PERSON).status_code == 303


# Describing


@together(
    ("changes", "words"),
    [
        ({"low-1": "120", "high-1": "0"}, "below the upper"),
        ({"low-1": "zero"}, "both bounds as whole numbers"),
        ({"high-1": "nan"}, "both bounds as whole numbers"),
        ({"type-1": "blob"}, "type from the list"),
        ({"keys-1": "one, two"}, "not all of them fit the type"),
        ({"epsilon": "0"}, "between 0.01 and 10"),
        ({"epsilon": "inf"}, "between 0.01 and 10"),
        ({"delta": "0.5"}, "one of the list"),
        ({"people": "many"}, "whole number"),
        ({"rows": "0"}, "whole number"),
        ({"unit": "nobody"}, "column of this table"),
        ({"name": "a b; DROP"}, "letters, digits and underscores"),
    ],
)
def test_a_statement_that_does_not_fit_is_explained_and_changes_nothing(
    client: TestClient, app: FastAPI, changes: dict[str, str], words: str
) -> None:
    where = bring(client, CSV)
    answer = state(client, where, **changes)
    assert answer.status_code == 422
    assert words in answer.text
    for value in changes.values():
        assert f'value="{value}"' in answer.text or value in ("blob", "0.5", "nobody")
    assert bench_at(app, where).statement is None
    client.post(f"{where}/delete")


def test_a_table_with_500_columns_can_be_stated_by_somebody_with_an_account(app: FastAPI) -> None:
    client = signed_in(app, "Wide Ada")
    where = bring(client, ",".join(f"age {i}" for i in range(500)).encode() + b"\n" + b"1," * 499 + b"1\n")
    csrf = client.headers.pop("x-csrf-token")
    page = shown(client, where)
    assert state(client, where).status_code == 403, "a form without the token of the session is refused"
    sent = form_of(page) | {"csrf": csrf}
    assert client.post(where, data=sent, headers=PERSON).status_code == 303
    assert len(bench_at(app, where).stated.bounded) == 500


def test_what_was_spent_is_shown_and_starting_over_needs_a_clear_word(client: TestClient, app: FastAPI) -> None:
    where = bring(client, CSV)
    state(client, where, epsilon="2")
    client.post(f"{where}/propose", data={"column": "cost", "what": "bounds", "price": "0.5"}, headers=PERSON)
    bench = bench_at(app, where)
    bench.jobs.of(bench.id)[-1].ended.wait(60)
    assert "You have spent ε = 0.5 of 2, and ε = 1.5 is left." in shown(client, where)
    refused = state(client, where, epsilon="3")
    assert refused.status_code == 409
    assert "only become smaller" in refused.text
    assert client.post(f"{where}/over", headers=PERSON).status_code == 422
    assert bench.any_spent
    client.post(f"{where}/over", data={"sure": "yes"}, headers=PERSON)
    page = shown(client, where)
    assert "You have spent ε = 0 of 2, and ε = 2 is left." in page
    assert "before that you spent ε = 0.5" in page


# Whose it is, and what is left of it


def test_another_browser_gets_the_answer_for_what_does_not_exist(client: TestClient, app: FastAPI) -> None:
    where = bring(client, CSV)
    job = bench_at(app, where).intake.id
    stranger = visitor(app)
    bring(stranger, CSV)  # somebody with a table of their own
    for method, address in (
        ("GET", where),
        ("POST", where),
        ("POST", f"{where}/delete"),
        ("POST", f"{where}/over"),
        ("POST", f"{where}/look"),
        ("POST", f"{where}/propose"),
        ("GET", f"{where}/jobs/{job}"),
        ("POST", f"{where}/jobs/{job}/cancel"),
    ):
        assert stranger.request(method, address).status_code == 404, address
    assert where not in shown(stranger, "/lab")
    assert where in shown(client, "/lab")


def test_the_cookie_is_for_the_server_only_and_comes_with_the_first_table(client: TestClient) -> None:
    assert "set-cookie" not in client.get("/lab", headers=PERSON).headers
    answer = client.post("/lab/paste", data={"text": "a\n1\n"}, headers=PERSON)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-lapwing-lab=")
    assert {"HttpOnly", "Secure", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
    assert "Max-Age" not in cookie


def test_deleting_says_when_and_removes_everything(client: TestClient, app: FastAPI) -> None:
    where = bring(client, CSV)
    assert "Your table is deleted at" in shown(client, where)
    folder = bench_at(app, where).folder
    assert client.post(f"{where}/delete", headers=PERSON).headers["location"] == "/lab"
    assert not folder.exists()
    assert client.get(where, headers=PERSON).status_code == 404
    assert "Your table is deleted when you press" in shown(client, "/lab")


def test_the_lab_ends_with_the_school(tmp_path: Path) -> None:
    app = open_school(tmp_path, lab_folder=tmp_path / "lab")
    with visitor(app) as client:
        bring(client, CSV)
        assert list((tmp_path / "lab").rglob("table.parquet"))
    assert list((tmp_path / "lab").iterdir()) == []


def test_a_real_server_logs_nothing_of_a_table(
    app: FastAPI, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "zaunkoenig"
    caplog.set_level(logging.DEBUG)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="trace", log_config=None, lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        origin = f"http://127.0.0.1:{listening.getsockname()[1]}"
        cookie = {"__Host-lapwing-lab": new_owner()}
        with httpx2.Client(
            base_url=origin, headers=PERSON, cookies=cookie, follow_redirects=True, timeout=60
        ) as client:
            rows = f"{secret}_column,age\n{secret}_cell,34\n".encode()
            page = client.post("/lab/upload", files={"file": (f"{secret}.csv", rows)})
            where = page.url.path
            bench_at(app, where).intake.ended.wait(60)
            page = client.get(where)
            assert f"{secret}_column" in page.text
            assert client.post(where, data=form_of(page.text) | {"teaching": "yes"}).status_code == 200
            for what in ("bounds", "keys"):
                client.post(f"{where}/look", data={"column": f"{secret}_column", "what": what})
                client.post(f"{where}/propose", data={"column": f"{secret}_column", "what": what, "price": "0.5"})
            for job in bench_at(app, where).jobs.of(where.split("/")[2]):
                job.ended.wait(60)
            assert f"{secret}_cell" in client.get(where).text, "it was read"
            for broken in (f"{secret}\n\xff".encode("latin-1"), b"PAR1" + secret.encode(), b"PK\x03\x04" + rows):
                client.post("/lab/upload", files={"file": (f"{secret}.csv", broken)})
            client.post("/lab/upload", content=rows, headers={"x-file-name": secret, "accept": "application/json"})
        server.should_exit = True
        thread.join(30)
    theirs = [record for record in caplog.records if not record.name.startswith(("httpx2", "httpcore2", "httpcore"))]
    logged = "".join(record.getMessage() for record in theirs)
    assert "POST /lab" in logged, "something is logged"
    assert secret not in logged
    assert secret not in "".join(capfd.readouterr())


def test_what_a_killed_process_left_goes_when_the_next_one_starts(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks; this child does nothing that could wait
        child = os.fork()
    if not child:
        folder, _ = _held_folder(tmp_path)
        (folder / "bench").mkdir()
        (folder / "bench" / "table.parquet").write_bytes(b"rows")
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert list(tmp_path.rglob("table.parquet")), "a killed process cannot tidy up"
    Lab(Settings(lab_folder=tmp_path)).start()
    assert list(tmp_path.iterdir()) == []


# In a browser


def test_a_file_is_chosen_sent_described_and_deleted_in_a_browser(visit: Visitor, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_bytes(CSV)
    page = visit().open("/lab")
    page.get_by_label("CSV, TSV").set_input_files(tmp_path / "visits.csv")
    page.get_by_role("button", name="Bring this file").click()
    expect(page.get_by_role("heading", name="What is public about it?")).to_be_visible()
    expect(page.get_by_label("Upper bound of age")).to_have_value("120")
    page.get_by_label("Allowance for everything that is ever asked, ε").press("ArrowLeft")
    page.get_by_role("button", name="Save and stay here").click()
    expect(page.get_by_role("status")).to_contain_text("Your description is stored")
    expect(page.get_by_text("You have spent ε = 0 of 0.89")).to_be_visible()
    page.get_by_role("button", name="Delete the table and all answers").click()
    expect(page.get_by_role("status")).to_contain_text("deleted")


def test_a_dropped_file_is_brought_too(visit: Visitor) -> None:
    page = visit().open("/lab")
    drop = """(form) => {
        const data = new DataTransfer();
        data.items.add(new File(["age,city\\n34,Kiel\\n"], "dropped.csv"));
        form.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }"""
    page.locator("#drop").evaluate(drop)
    expect(page.get_by_text("dropped.csv")).to_be_visible()
    expect(page.get_by_label("Type of age")).to_have_value("integer")
