"""`lapwing stream open-numbers`: a stream of numbers from a CSV, standard input or a database, shown and closed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import lapwing as lw
from lapwing.cli.commands import app
from lapwing.privacy import Ledger, PureDP

pytestmark = pytest.mark.filterwarnings("ignore::lapwing.errors.WeakPrivacyWarning")
SHAPE = ("--bound", "1000", "--steps", "8", "--first", "2", "--block", "1", "--values-per-step", "3")
OPEN = ("open-numbers", "--epsilon", "50", *SHAPE, "--state", "d.stream")
OBSERVE = ("observe", "d.stream", "delays.csv", "--column", "delay")
BOOK = ("--ledger", "ledger.db", "--dataset", "delays", "--allowance", "60")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    Path("delays.csv").write_text("flight,delay\nA,10\nB,n/a\nC,12.5\nD,\nE,1e999\nF,30\n", encoding="utf-8")
    return tmp_path


def run(*words: str, code: int = 0, typed: str | None = None) -> Result:
    result = CliRunner().invoke(app, ["stream", *words], input=typed)
    assert result.exit_code == code, result.output
    return result


def test_a_stream_of_numbers_goes_from_its_quote_to_its_end(place: Path) -> None:
    assert "once for 8 steps" in run(*OPEN, *BOOK, "--quote").output
    assert not Path("d.stream").exists()
    assert "open and paid for" in run(*OPEN, *BOOK).output
    assert Ledger(place / "ledger.db").spent("delays") == PureDP(50, unit="event")
    assert "no step is closed yet" in run("show", "d.stream").output
    for step in (1, 2, 3):
        closed = run(*OBSERVE)
        if step < 3:
            assert f"step {step}: " in run("show", "d.stream", "--window", "1").output
        assert f"step {step} closed, {8 - step} left" in closed.output
    again = run("observe", "d.stream", "missing.csv", "--column", "delay", "--step", "3")
    assert "3 was closed before: this is its stored answer" in again.output
    assert "3 of 8 steps closed, 5 left" in run("show", "d.stream").output
    latest = run("show", "d.stream").output.splitlines()[-1]
    assert run("show", "d.stream", "--step", "3").output.splitlines()[-1] == latest
    assert "step 3: " in run("show", "d.stream", "--from", "3").output
    assert "from step 3" in run("show", "d.stream", "--window", "1").output
    shown = json.loads(run("show", "d.stream", "--json").output)
    assert [row["step"] for row in shown["steps"]] == [1, 2, 3]
    assert shown["steps"][0]["total"] is None
    rows = list(csv.DictReader(run("show", "d.stream", "--csv").output.splitlines()))
    assert float(rows[2]["total"]) == shown["steps"][2]["total"]
    assert "ended after 3 of 8 steps" in run("close", "d.stream").output
    assert "has ended" in run(*OBSERVE, code=2).stderr


def test_a_stream_of_numbers_says_whether_a_ledger_records_it_and_what_becomes_of_negative_numbers() -> None:
    no_ledger, below = "no ledger was given, so the spent budget is not recorded", "Numbers below 0 count as 0"
    opened = run(*OPEN).output
    assert no_ledger in opened
    assert below in opened
    assert "paid for" not in opened
    Path("d.stream").unlink()
    Path("d.stream-anchor").unlink()
    paid = run(*OPEN, *BOOK).output
    assert no_ledger not in paid
    assert "open and paid for" in paid
    for _ in range(4):
        run("observe", "d.stream", "-", typed="minutes\n-900\n40\n")
    assert "totals of numbers from 0 to 1,000" in run("show", "d.stream").output
    assert "numbers cut off at 0 and" in run("show", "d.stream").output
    assert "numbers below 0 count as 0" in " ".join(run("open-numbers", "--help").output.split())


def test_a_stream_of_numbers_reads_cells_one_by_one_and_leaves_out_what_is_no_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    real = lw.NumericStream.observe

    def watched(stream: lw.NumericStream, numbers: list[float], **named: object) -> object:
        seen.append(sorted(numbers))
        return real(stream, numbers, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(lw.NumericStream, "observe", watched)
    run(*OPEN)
    run(*OBSERVE)
    run("observe", "d.stream", "-", typed='minutes\n7\nx\n\n"8,5"\n')
    run("observe", "d.stream")
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("log.duckdb") as log:
        log.execute("CREATE TABLE waits AS SELECT * FROM (VALUES (1.5::DOUBLE), ('nan'::DOUBLE), (NULL)) AS t(wait)")
    run("observe", "d.stream", "log.duckdb", "--table", "waits")
    assert seen == [[10.0, 12.5, 30.0], [7.0], [], [1.5]]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("observe", "d.stream", "delays.csv"), "Name it. There are: flight, delay"),
        (("observe", "d.stream", "delays.csv", "--column", "dely"), "Did you mean 'delay'?"),
        ((*OBSERVE, "--clock"), "you say when a step of numbers ends"),
        ((*OBSERVE, "--keep"), "you say when a step of numbers ends"),
        ((*OBSERVE, "--step", "2026-01-01"), "must be a number"),
        ((*OBSERVE, "--step", "5"), "is not the next step"),
        ((*OBSERVE, "--ledger", "ledger.db"), "needs none any more"),
        (("show", "d.stream", "--top", "3"), "Leave --top out"),
        (("show", "d.stream", "--plot", "a.png"), "plot = 'a.png': is for groups"),
        (("show", "d.stream", "--plot", "a.png"), "Leave --plot out"),
        (("show", "d.stream", "--window", "2", "--json"), "Leave --window out"),
        ((*OBSERVE, "--step", "0"), "step = 0: must be a whole number of at least 1"),
    ],
)  # fmt: skip
def test_a_stream_of_numbers_says_what_to_write_instead(words: tuple[str, ...], says: str) -> None:
    run(*OPEN)
    assert says in run(*words, code=2).stderr
    assert lw.open_numeric_stream("d.stream").closed == 0


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--dataset", "delays"), "Write --ledger"),
        (("--analyst", "ann"), "Write --ledger"),
        (("--ledger", "ledger.db"), "says which allowance is spent"),
        (("--ledger", "ledger.db", "--dataset", "delays", "--allowance", "3"), "ε = 3 (add_remove, per event) remains"),
    ],
)
def test_a_stream_of_numbers_is_not_opened_where_nobody_pays(more: tuple[str, ...], says: str) -> None:
    assert says in run(*OPEN, *more, code=2).stderr
    with pytest.raises(lw.errors.InvalidParameter):
        lw.open_numeric_stream("d.stream")


def test_other_streams_take_no_column() -> None:
    Path("visits.csv").write_text("region\nN\n", encoding="utf-8")
    given = ("open", "visits.csv", "SELECT COUNT(*) AS n FROM visits", "--each-row", "--every", "step", "--steps", "3")
    run(*given, "--epsilon", "1", "--state", "v.stream")
    assert "Leave --column out" in run("observe", "v.stream", "visits.csv", "--column", "region", code=2).stderr
    assert "there is no such file" in run("observe", "nothing.stream", code=2).stderr
    assert "✗" in run("show", "visits.csv", code=2).stderr
