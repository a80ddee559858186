"""Scripts and notebooks that people take away run on the very file that they brought, under its own name."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, open_school, site_of, visitor

from lapwing.web.lab.analyses import ANALYSES, TEACHING_ONLY
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.notebooks import notebook
from lapwing.web.lab.scripts import script

ROWS = 600
SECRET = "SECRET-CELL"
"""Stands in cells that are no numbers: nothing may print it."""


def cells() -> list[list[str]]:
    """A table as people have it: NA, decimal commas, accents, a doubled name, one that is missing, empty lines."""
    header = ["Gästenummer", "Größe (cm)", "größe (CM)", "", 'Ja "oder" nein', "Ort", "Datum", "Stufe"]
    rows = []
    for i in range(ROWS):
        height = {3: "NA", 7: "", 11: SECRET, 13: "NaN"}.get(i, f"{150 + i % 50},{i % 10}")
        spent = {5: "NA", 17: SECRET}.get(i, f"{1 + i % 3}.{i % 1000:03},50")
        weight = "NA" if i % 40 == 0 else f"{50 + i % 60},5"
        truth = "NA" if i % 50 == 0 else ("ja", "nein")[i % 2]
        town = {19: "NA", 23: SECRET}.get(i, ("Köln", "Genève", "Århus")[i % 3])
        day = "NA" if i == 29 else f"{1 + i % 2:02}.02.2026"
        rows.append([f"g{i // 2}", height, spent, weight, truth, town, day, "NA" if i == 31 else str(1 + i % 3)])
    return [header, *rows]


def as_text() -> str:
    rows = "\n".join(";".join(f'"{c.replace(chr(34), chr(34) * 2)}"' if '"' in c else c for c in r) for r in cells())
    return f"\n \n{rows}\n"


def as_parquet() -> bytes:
    """The same table with types: numbers that are not there, moments instead of days, a nested column besides."""
    header, *rows = cells()

    def number(cell: str) -> float | None:
        return float(cell.replace(".", "").replace(",", ".")) if cell.endswith((",5", ",50")) else None

    columns = dict(enumerate(zip(*rows, strict=True)))
    moments = [None if day == "NA" else datetime.datetime(2026, 2, int(day[:2]), 13, 5) for day in columns[6]]
    made = [
        pa.array(columns[0]).dictionary_encode(),
        *(pa.array([number(cell) for cell in columns[place]]) for place in (1, 2, 3)),
        pa.array([None if cell == "NA" else cell == "ja" for cell in columns[4]]),
        pa.array(columns[5]),
        pa.array(moments, pa.timestamp("us", tz="Europe/Berlin")),
        pa.array([None if cell == "NA" else int(cell) for cell in columns[7]], pa.uint8()),
        pa.array([[1]] * ROWS),
    ]
    header[2:4] = [SPENT, HEAVY]
    pq.write_table(pa.table(made, names=[*header, "nested"]), into := io.BytesIO())
    return into.getvalue()


STATED = {
    **{"type-0": "text", "type-1": "number", "type-2": "number", "type-3": "number", "type-4": "boolean"},
    **{"type-5": "text", "type-6": "date", "type-7": "integer"},
    **{"low-1": "100", "high-1": "250", "low-2": "0", "high-2": "5000", "low-3": "0", "high-3": "200"},
    **{"low-7": "1", "high-7": "3", "keys-4": "true, false", "keys-5": "Köln, Genève, Århus"},
    **{"keys-6": "2026-02-01, 2026-02-02", "keys-7": "1, 2, 3", "unit": "Gästenummer", "people": "300"},
    **{"name": "gaeste", "rows": "1", "delta": "0", "epsilon": "10", "numbers": ",", "teaching": "yes"},
    **{"true": "ja", "false": "nein"},
}
TALL, SPENT, HEAVY, TRUE = "Größe (cm)", "größe (CM)_2", "column_4", "Ja oder nein"
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("count", {"where": TRUE, "equals": "true"}),
    ("mean", {"column": TALL, "where": "Ort", "equals": "Köln"}),
    ("histogram", {"column": SPENT, "edges": "0 1000 2000 5000"}),
    ("histogram", {"column": "Datum"}),
    ("quantiles", {"column": HEAVY}),
    ("groups", {"by": "Ort", "measures": ["count", "mean"], "column": TALL}),
    ("nested", {"first": "Ort", "second": TRUE, "third": "Datum", "tree": "Köln: true; Genève: true, false"}),
    ("sql", {"sql": 'SELECT "Ort", COUNT(*) AS n FROM gaeste GROUP BY "Ort"'}),
    ("linear", {"target": SPENT, "columns": [TALL, HEAVY]}),
    ("logistic", {"target": TRUE, "columns": TALL}),
    ("logistic", {"target": "Stufe", "columns": [TALL, HEAVY]}),
    ("kmeans", {"columns": [TALL, SPENT]}),
    ("local", {"column": TRUE}),
    ("local", {"column": "Ort", "protocol": "rappor"}),
    ("local", {"column": "Stufe", "protocol": "sketch"}),
    ("k-anonymity", {"columns": [TALL, "Ort", "Datum"], "k": "4"}),
]


@dataclass(frozen=True)
class Kind:
    """A file of one kind: its name and its bytes."""

    name: str
    content: bytes
    asks: bool = False
    """Whether the lab asks in which encoding it is written."""

    @property
    def stated(self) -> dict[str, str]:
        """What its owner states; the cells of a Parquet file are no text."""
        written = {"numbers", "true", "false"}
        return {name: said for name, said in STATED.items() if name not in written or b"PAR1" not in self.content}


LATIN, PARQUET = as_text().encode("windows-1252"), as_parquet()
KINDS = {
    "latin-1": Kind("Gäste 2026.csv", LATIN, asks=True),
    "gz": Kind("Gäste 2026.csv.gz", gzip.compress(LATIN, mtime=0), asks=True),
    "tsv": Kind("gaeste.tsv", as_text().replace(";", "\t").encode()),
    "parquet": Kind("Gäste [2026].parquet", PARQUET),
    "parquet, packed": Kind("gaeste.parquet.gz", gzip.compress(PARQUET, 1, mtime=0)),
    "parquet, and not called so": Kind("gaeste.csv", PARQUET),
    "utf-8": Kind("gaeste.txt", as_text().encode()),
    "utf-16": Kind("gaeste.csv", as_text().encode("utf-16")),
    "odd ending": Kind("gaeste.data", as_text().encode()),
    "packed, and not called so": Kind("gaeste.csv", gzip.compress(as_text().encode(), mtime=0)),
    "carriage returns": Kind("gaeste.csv", as_text().replace("\n", "\r\n").encode()),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder = tmp_path_factory.mktemp("school")
    return open_school(folder, lab_folder=folder / "lab")


@pytest.fixture
def client(app: FastAPI) -> TestClient:
    """A browser without tables: one may have a few only."""
    return visitor(app)


def stated(client: TestClient, kind: Kind) -> Bench:
    """The file, brought and stated."""
    answer = client.post("/lab/upload", files={"file": (kind.name, kind.content)}, headers=PERSON)
    lab, id = site_of(client.app).lab, answer.headers["location"].rpartition("/")[2]  # type: ignore[arg-type]
    lab.jobs.of(id)[-1].ended.wait(60)
    if kind.asks:
        client.post(f"/lab/{id}/read", data={"encoding": "latin-1"}, headers=PERSON)
        lab.jobs.of(id)[-1].ended.wait(60)
    [bench] = [one for one in lab.all() if one.id == id]
    assert bench.ready
    said = client.post(f"/lab/{bench.id}", data=kind.stated, headers=PERSON)
    assert said.status_code == 303, said.text
    return bench


RUNNER = """
import contextlib, io, json, os, sys, traceback
for line in sys.stdin:
    folder, cells = json.loads(line)
    os.chdir(folder)
    out, names, failed = io.StringIO(), {"__name__": "__main__"}, ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            for cell in cells:
                exec(compile(cell, "<cell>", "exec"), names)
        except Exception:
            failed = traceback.format_exc()
    print(json.dumps([out.getvalue(), failed]), flush=True)
"""
Run = Callable[[Path, list[str]], tuple[str, str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """What a list of cells prints, and how it fails: in a process that has the folder and what it loaded before."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", RUNNER], stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def one(folder: Path, cells: list[str]) -> tuple[str, str]:
            print(json.dumps([str(folder), cells]), file=process.stdin, flush=True)
            printed, failed = json.loads(process.stdout.readline())  # type: ignore[union-attr]
            return printed, failed

        yield one
        process.stdin.close()


def taken_away(bench: Bench, slug: str, form: Mapping[str, Any], *, as_notebook: bool) -> list[str]:
    """The cells that somebody takes away."""
    question = ANALYSES[slug].of(bench.stated, form)
    if not as_notebook:
        return [script(question, bench.stated, 0.5, bench.file)]
    made = json.loads(notebook(question, bench.stated, 0.5, bench.file))["cells"]
    return ["".join(cell["source"]) for cell in made if cell["cell_type"] == "code"]


def all_run(
    run: Run, bench: Bench, kind: Kind, folder: Path, asked: list[tuple[str, dict[str, Any]]], notebooks: bool
) -> None:
    for i, (slug, form) in enumerate(asked):
        own = folder / str(i)
        own.mkdir()
        (own / kind.name).write_bytes(kind.content)
        printed, failed = run(own, taken_away(bench, slug, form, as_notebook=notebooks))
        assert not failed, (slug, form, failed)
        assert printed, (slug, form)
        assert slug in TEACHING_ONLY or SECRET not in printed


def test_every_kind_of_question_is_exported_in_these_tests() -> None:
    assert {slug for slug, _ in ASKED} == set(ANALYSES)


def test_every_export_runs_on_the_messy_file_that_was_brought(client: TestClient, run: Run, tmp_path: Path) -> None:
    kind = KINDS["latin-1"]
    bench = stated(client, kind)
    assert f"source = {kind.name!r}" in taken_away(bench, *ASKED[0], as_notebook=False)[0]
    all_run(run, bench, kind, tmp_path, ASKED, notebooks=False)


@pytest.mark.parametrize("name", ["gz", "tsv", "parquet"])
def test_exports_run_on_packed_files_tabs_and_parquet(name: str, client: TestClient, run: Run, tmp_path: Path) -> None:
    kind = KINDS[name]
    all_run(run, stated(client, kind), kind, tmp_path, [ASKED[1], ASKED[3]], notebooks=True)


@pytest.mark.sweep
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("notebooks", [False, True])
def test_every_export_runs_on_every_kind_of_file(
    name: str, notebooks: bool, client: TestClient, run: Run, tmp_path: Path
) -> None:
    all_run(run, stated(client, KINDS[name]), KINDS[name], tmp_path, ASKED, notebooks)


def test_exports_of_bundled_and_pasted_tables_say_where_the_rows_come_from(
    client: TestClient, run: Run, tmp_path: Path
) -> None:
    lab = site_of(client.app).lab  # type: ignore[arg-type]
    for slug, column in (("clinic", "smoker"), ("adult", "sex"), ("town", "diabetes")):
        where = client.post(f"/lab/examples/{slug}", headers=PERSON).headers["location"]
        [bench] = [one for one in lab.all() if one.id == where.rpartition("/")[2]]
        assert bench.intake is not None
        bench.intake.ended.wait(60)
        bench.state(bench.suggested)  # type: ignore[arg-type]
        own = tmp_path / slug
        own.mkdir()
        asked = ("kmeans", {"columns": _two(bench)}) if slug == "clinic" else ("histogram", {"column": column})
        printed, failed = run(own, taken_away(bench, *asked, as_notebook=False))
        assert not failed, failed
        assert printed
    where = client.post("/lab/paste", data={"text": "a,b\n1,2\n"}, headers=PERSON).headers["location"]
    [bench] = [one for one in lab.all() if one.id == where.rpartition("/")[2]]
    assert bench.file.name == "your-table.csv"


def _two(bench: Bench) -> list[str]:
    return [one.name for one in bench.stated.bounded][:2]
