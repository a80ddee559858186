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
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, open_school, site_of, visitor

from lapwing.curator.plan.text_forms import Notation
from lapwing.web.lab import proposals
from lapwing.web.lab.analyses import ANALYSES
from lapwing.web.lab.analyses.rows import opened
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.notebooks import notebook
from lapwing.web.lab.scripts import File, script
from lapwing.web.service.problems import Problem

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
    **{"name": "ana", "rows": "1", "delta": "0", "numbers": ","},
}
COMMA = Notation(",")
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
    assert first(exact)[:2] == pytest.approx([1000.5, 10], rel=1e-6)  # an hour more is 10 more
    assert [point.value for point in exact.drawn[0].values[:2]] == pytest.approx([1000.5, 1050.5], rel=1e-6)
    assert linear.release(data, 3.0, quiet).private


def test_whoever_says_otherwise_gets_what_they_said(client: TestClient) -> None:
    bench = stated(client, numbers=".")
    with opened(bench.data()) as rows:
        assert rows.all('SELECT count("Umsatz"), count("Aufnahmedatum") FROM rows') == [(0, 0)]
    assert CHOSEN not in page_of(client, bench)
    refused = client.post(f"/lab/{bench.id}", data={**STATED, "numbers": ";"}, headers=PERSON)
    assert refused.status_code == 422
    assert "Choose one of the list." in refused.text


def test_what_teaching_mode_takes_and_what_is_found_privately_follow_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MISTAKE", 1e-9)  # an empty bin is taken for a full one so seldom
    bench = stated(client, teaching="yes")
    taken = proposals.read_bounds(bench.path, "Umsatz", "number", COMMA)
    assert taken.bounds == (1000.5, 1999.5)
    day = bench.stated.column("Aufnahmedatum")
    assert set(proposals.read_keys(bench.path, day, COMMA).keys) == {"2026-02-01", "2026-02-02"}
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
    text = script(question, bench.stated, 3.0, File(str(source), bench.delimiter))
    assert "    decimal=','," in text
    assert "decimal=','" in "".join(
        json.loads(notebook(question, bench.stated, 3.0, File(delimiter=";")))["cells"][1]["source"]
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


# Commas between thousands, and other words for yes and no

BOB = "person,income,member\n" + "".join(
    f'{i},"{spent // 1000},{spent % 1000:03}.50",{("Ja", "N")[i % 4 > 0]}\n' for i, (spent, _) in enumerate(KNOWN)
)
BOB_STATED = {
    **{"type-0": "text", "type-1": "number", "type-2": "boolean", "low-1": "0", "high-1": "2500"},
    **{"keys-2": "true, false", "unit": "person", "people": str(ROWS), "epsilon": "10", "name": "bob"},
    **{"rows": "1", "delta": "0", "numbers": ".,", "true": "Ja, J", "false": "N, Nein"},
}


def bob(client: TestClient, **changes: str) -> Bench:
    bench = brought(client, BOB)
    answer = client.post(f"/lab/{bench.id}", data={**BOB_STATED, **changes}, headers=PERSON)
    assert answer.status_code == 303, answer.text
    return bench


def test_thousands_and_words_are_stated_and_stand_in_the_form_again(client: TestClient) -> None:
    bench = bob(client)
    assert bench.stated.notation == Notation(".", ",", ("Ja", "J"), ("N", "Nein"))
    page = page_of(client, bench)
    assert '<option value=".," selected>' in page
    assert 'name="true" value="Ja, J"' in page
    assert 'name="false" value="N, Nein"' in page
    for sign, thousands in ((".space", " "), (".'", "'"), ("._", "_")):
        client.post(f"/lab/{bench.id}", data={**BOB_STATED, "numbers": sign}, headers=PERSON)
        assert bench.stated.thousands == thousands
        assert f'<option value="{sign.replace(chr(39), "&#39;")}" selected>' in page_of(client, bench)


def test_answers_count_what_the_owner_said_about_thousands_and_words(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "MISTAKE", 1e-9)  # an empty bin is taken for a full one so seldom
    bench = bob(client, teaching="yes")
    [mean] = first(asked(bench, "mean", column="income").release(bench.data(), 3.0, quiet))
    assert mean == pytest.approx(MEAN, abs=30)
    members = first(asked(bench, "histogram", column="member").release(bench.data(), 3.0, quiet))
    assert members == pytest.approx([ROWS / 4, 3 * ROWS / 4], abs=20)
    way = bench.stated.notation
    assert proposals.read_bounds(bench.path, "income", "number", way).bounds == (1000.5, 1999.5)
    assert proposals.read_keys(bench.path, bench.stated.column("member"), way).keys == ("false", "true")
    assert proposals.private_bounds(bench.data(), "income", 1.0).bounds == (1000.0, 2000.0)
    usual = bob(client, numbers=".", true="", false="")
    with opened(usual.data()) as rows:
        assert rows.all("SELECT count(income), count(member) FROM rows") == [(0, 3 * ROWS // 4)]  # N is a usual word


@pytest.mark.parametrize(
    ("slug", "form"),
    [
        ("mean", {"column": "income"}),
        ("histogram", {"column": "member"}),
        ("logistic", {"target": "member", "columns": ["income"]}),
        ("local", {"column": "member"}),
    ],
)
def test_scripts_know_thousands_and_words(client: TestClient, tmp_path: Path, slug: str, form: dict[str, Any]) -> None:
    bench = bob(client)
    source = tmp_path / "bob.csv"
    source.write_text(BOB, encoding="utf-8")
    text = script(asked(bench, slug, **form), bench.stated, 3.0, File(str(source), bench.delimiter))
    for line in ("    thousands=',',", "    true=['Ja', 'J'],", "    false=['N', 'Nein'],"):
        assert line in text.splitlines()
    names = dict[str, Any](__name__="__main__")
    with contextlib.chdir(tmp_path), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, "<script>", "exec"), names)  # the very lines that somebody takes away
    if slug == "mean":
        assert names["answer"].value == pytest.approx(MEAN, abs=30)
    if slug == "histogram":
        assert names["answer"].table["member"] == (True, False)
    if slug == "logistic":
        assert names["rows"]["income"].max() == 1999.5
        assert list(names["rows"]["member"]).count("true") == ROWS // 4
    if slug == "local":
        assert names["answers"].count("true") == ROWS // 4


@together(
    ("wrong", "said"),
    [
        ({"true": "Ja", "false": "Ja"}, "No word may mean both yes and no."),
        ({"true": "0", "false": ""}, "fill in both fields"),
        ({"true": "J" * 101}, "at most 100 characters"),
        ({"true": ", ".join(f"w{i}" for i in range(51))}, "At most 50 words."),
        ({"numbers": ",,"}, "Choose one of the list."),
    ],
)
def test_words_that_cannot_be_are_refused_and_stay_in_the_form(
    client: TestClient, wrong: dict[str, str], said: str
) -> None:
    bench = brought(client, BOB)
    refused = client.post(f"/lab/{bench.id}", data={**BOB_STATED, **wrong}, headers=PERSON)
    assert refused.status_code == 422
    assert said in refused.text
    assert f'value="{wrong.get("true", "Ja, J")}"' in refused.text
    assert bench.statement is None


def test_how_a_unit_is_read_is_fixed_and_other_words_are_not(client: TestClient) -> None:
    bench = bob(client, **{"type-0": "integer"})
    asked(bench, "mean", column="income").release(bench.data(), 0.5, quiet)
    with pytest.raises(Problem, match="Start over"):
        bench.state(replace(bench.stated, thousands=""))
    bench.state(replace(bench.stated, true=("Ja",)))
