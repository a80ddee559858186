"""A table with semicolons, decimal commas and German dates: what its owner says about it holds for every answer."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, open_school, site_of, visitor

from lapwing.web.lab import proposals
from lapwing.web.lab.analyses import ANALYSES
from lapwing.web.lab.analyses.rows import opened
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.notebooks import notebook
from lapwing.web.lab.scripts import script
from lapwing.web.problems import Problem

ROWS = 2000
KNOWN = [(1000 + i % 1000, (i % 1000) / 10) for i in range(ROWS)]
"""What each person spends, and how long they were there."""
ANA = "Patientennummer;Umsatz;Stunden;Aufnahmedatum\n" + "".join(
    f"p{i};{spent // 1000}.{spent % 1000:03},50;{str(hours).replace('.', ',')};{1 + i % 2:02}.02.2026\n"
    for i, (spent, hours) in enumerate(KNOWN)
)
MEAN = sum(spent + 0.5 for spent, _ in KNOWN) / ROWS
STATED = {
    **{"type-0": "text", "type-1": "number", "type-2": "number", "type-3": "date"},
    **{"low-1": "0", "high-1": "2500", "low-2": "0", "high-2": "100"},
    **{"keys-3": "2026-02-01, 2026-02-02", "unit": "Patientennummer", "people": str(ROWS), "epsilon": "10"},
    **{"name": "ana", "rows": "1", "delta": "0", "decimal": ","},
}
CHOSEN = '<option value="," selected>'


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("school")
    return open_school(folder, lab_folder=folder / "lab")


@pytest.fixture
def client(app: FastAPI) -> TestClient:
    return visitor(app)


def brought(client: TestClient, text: str) -> Bench:
    answer = client.post("/lab/upload", files={"file": ("ana.csv", text.encode())}, headers=PERSON)
    lab, id = site_of(client.app).lab, answer.headers["location"].rpartition("/")[2]  # type: ignore[arg-type]
    lab.jobs.of(id)[-1].ended.wait(60)
    [bench] = [one for one in lab.all() if one.id == id]
    return bench


def page_of(client: TestClient, bench: Bench) -> str:
    return client.get(f"/lab/{bench.id}", headers=PERSON).text


def stated(client: TestClient, text: str = ANA, **changes: str) -> Bench:
    """The table, brought and stated."""
    bench = brought(client, text)
    answer = client.post(f"/lab/{bench.id}", data={**STATED, **changes}, headers=PERSON)
    assert answer.status_code == 303, answer.text
    return bench


def asked(bench: Bench, slug: str, **form: Any) -> Any:
    return ANALYSES[slug].of(bench.stated, form)


def first(result: Any) -> list[float]:
    return [value.value for value in result.series[0].values]


def quiet(share: float) -> None:
    """Nobody watches."""


def test_semicolons_in_the_first_line_suggest_commas_and_the_page_says_that_no_row_was_read(client: TestClient) -> None:
    page = page_of(client, brought(client, ANA))
    assert CHOSEN in page
    assert "Suggested because semicolons separate the names in its first line; no row was read." in page
    page = page_of(client, brought(client, "who,spent\n1;2,5\n2;3,5\n"))
    assert '<option value="." selected>' in page
    assert "Suggested because semicolons" not in page


def test_a_mean_a_histogram_and_a_line_count_what_stands_in_the_file(client: TestClient) -> None:
    bench = stated(client)
    assert bench.stated.decimal == ","
    data = bench.data()
    [mean] = first(asked(bench, "mean", column="Umsatz").release(data, 3.0, quiet))
    assert mean == pytest.approx(MEAN, abs=30)
    days = first(asked(bench, "histogram", column="Aufnahmedatum").release(data, 3.0, quiet))
    assert days == pytest.approx([ROWS / 2, ROWS / 2], abs=20)
    linear = asked(bench, "linear", target="Umsatz", columns=["Stunden"])
    with opened(data) as rows:
        [found] = rows.all('SELECT count("Umsatz"), avg("Umsatz"), max("Stunden"), max("Aufnahmedatum") FROM rows')
    assert found[:3] == (ROWS, pytest.approx(MEAN), 99.9)
    exact = linear.exact(Data(bench.path, replace(bench.stated, teaching=True), None), quiet)
    assert first(exact)[:2] == pytest.approx([1000.5, 1050.5], rel=1e-6)  # 5 hours more are 50 more
    assert linear.release(data, 3.0, quiet).private


def test_whoever_says_otherwise_gets_what_they_said(client: TestClient) -> None:
    bench = stated(client, decimal=".")
    with opened(bench.data()) as rows:
        assert rows.all('SELECT count("Umsatz"), count("Aufnahmedatum") FROM rows') == [(0, 0)]
    assert CHOSEN not in page_of(client, bench)
    refused = client.post(f"/lab/{bench.id}", data={**STATED, "decimal": ";"}, headers=PERSON)
    assert refused.status_code == 422
    assert "Choose one of the list." in refused.text


def test_what_teaching_mode_takes_and_what_is_found_privately_follow_it(client: TestClient) -> None:
    bench = stated(client, teaching="yes")
    taken = proposals.read_bounds(bench.path, "Umsatz", "number", ",")
    assert taken.bounds == (1000.5, 1999.5)
    day = bench.stated.column("Aufnahmedatum")
    assert set(proposals.read_keys(bench.path, day, ",").keys) == {"2026-02-01", "2026-02-02"}
    assert proposals.private_bounds(bench.data(), "Umsatz", 1.0).bounds == (1000.0, 2000.0)


@pytest.mark.parametrize(
    ("slug", "form", "printed"),
    [
        ("mean", {"column": "Umsatz"}, ""),
        ("histogram", {"column": "Aufnahmedatum"}, ""),
        ("linear", {"target": "Umsatz", "columns": ["Stunden"]}, ""),
        ("logistic", {"target": "Aufnahmedatum", "columns": ["Stunden"]}, "2026-02-01"),
        ("local", {"column": "Aufnahmedatum"}, ""),
    ],
)
def test_scripts_and_notebooks_read_the_file_in_the_same_way(
    client: TestClient, tmp_path: Path, slug: str, form: dict[str, Any], printed: str
) -> None:
    bench = stated(client)
    source = tmp_path / "ana.csv"
    source.write_text(ANA, encoding="utf-8")
    question = asked(bench, slug, **form)
    text = script(question, bench.stated, 3.0, source=str(source), delimiter=bench.delimiter)
    assert "    decimal=','," in text
    assert "decimal=','" in "".join(
        json.loads(notebook(question, bench.stated, 3.0, delimiter=";"))["cells"][1]["source"]
    )
    out, names = io.StringIO(), dict[str, Any](__name__="__main__")
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(out):
        exec(compile(text, "<script>", "exec"), names)  # the very lines that somebody takes away
    assert printed in out.getvalue()
    if slug == "mean":
        assert names["answer"].value == pytest.approx(MEAN, abs=30)
    if slug in ("linear", "logistic"):
        assert names["rows"]["Stunden"].max() == 99.9
        assert np.ma.count(names["rows"]["Stunden"]) == ROWS


def test_how_a_unit_of_numbers_is_read_is_fixed_once_something_was_spent(client: TestClient) -> None:
    text = ANA.replace("\np", "\n")
    bench = stated(client, text, **{"type-0": "integer"})
    asked(bench, "mean", column="Umsatz").release(bench.data(), 0.5, quiet)
    with pytest.raises(Problem, match="Start over"):
        bench.state(replace(bench.stated, decimal="."))
    bench.state(replace(bench.stated, people=1999))
