"""`lapwing stream`: opened once, fed by files, standard input and databases, shown with lines, and closed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import lapwing as lw
from lapwing.cli.commands import app
from lapwing.errors import InvalidParameter
from lapwing.privacy import Ledger, PureDP

SELECT = "SELECT region, COUNT(*) AS n, SUM(cost) AS spent FROM visits GROUP BY region"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = ["patient,region,cost,at", "1,N,3,2026-01-01", "2,S,4,2026-01-01", "3,S,4,2026-01-02"]
    (tmp_path / "visits.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*words: str, code: int = 0, typed: str | None = None) -> Result:
    result = CliRunner().invoke(app, ["stream", *words], input=typed)
    assert result.exit_code == code, result.output
    return result


def opened(*more: str, code: int = 0) -> Result:
    return run(
        "open", "visits.csv", SELECT, "--unit", "patient", "--keys", "region=N,S", "--bounds", "cost=0:10", "--types",
        "at=date", "--time", "at", "--start", "2026-01-01", "--steps", "31", "--epsilon", "1", "--ledger", "ledger.db",
        "--allowance", "3", "--state", "visits.stream", *more, code=code,
    )  # fmt: skip


def test_a_stream_from_the_quote_to_its_end(place: Path) -> None:
    assert "together" in opened("--active-steps", "5", "--quote").output
    assert not (place / "visits.stream").exists()
    assert "paid for" in opened("--active-steps", "5").output
    assert Ledger(place / "ledger.db").spent("visits") == PureDP(1, unit="patient")
    assert "no step is closed yet" in run("show", "visits.stream").output
    assert "1 day closed, 30 left" in run("observe", "visits.stream", "visits.csv").output
    again = run("observe", "visits.stream", "visits.csv", "--step", "1")
    assert "1 was closed before: this is its stored answer" in again.output
    typed = (place / "visits.csv").read_text()
    assert "1 day closed" in run("observe", "visits.stream", "-", "--step", "2026-01-02", typed=typed).output
    run("observe", "visits.stream", "visits.csv", "--keep")
    assert "29 days closed, 0 left" in run("observe", "visits.stream", "--clock").output
    shown = run("show", "visits.stream", "--top", "1").output
    assert "31 of 31 days closed" in shown
    assert "█" in shown
    rows = run("show", "visits.stream", "--csv", "--window", "7").output.splitlines()
    assert rows[0] == "day,region,n,n_low,n_high,spent,spent_low,spent_high"
    assert len(rows) == 1 + 2 * 31
    assert json.loads(run("show", "visits.stream", "--json").output)
    run("show", "visits.stream", "--plot", "lines.png")
    assert (place / "lines.png").exists()
    assert "secrets are deleted" in run("close", "visits.stream").output
    assert "all 31 days" in run("observe", "visits.stream", code=2).output
    assert Ledger(place / "ledger.db").spent("visits") == PureDP(1, unit="patient")


def test_mistakes_are_told_in_one_line(place: Path) -> None:
    missing = " ".join(opened(code=2).output.split())
    assert "✗ --active-steps: you must say" in missing
    assert "Write --active-steps 30 to count the first 30; or --consecutive-steps 7" in missing
    assert "open the table with --each-row" in missing
    assert "no such file" in run("show", "nothing.stream", code=2).output
    opened("--active-steps", "5")
    assert "is enough" in run("observe", "visits.stream", "--clock", "--keep", code=2).output
    assert "there is no such file" in run("observe", "visits.stream", "nothing.csv", code=2).output
    assert "grace" in opened("--active-steps", "5", "--grace", "nan", code=2).output
    assert "watch" in run("show", "visits.stream", "--watch", "-1", code=2).output


def test_small_lines_fit_the_terminal_and_end_with_the_newest_step(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    select = "SELECT region, COUNT(*) AS n, SUM(cost) AS spent, AVG(cost) AS mean FROM visits GROUP BY region"
    run(
        "open", "visits.csv", select, "--each-row", "--keys", "region=N,S", "--bounds", "cost=0:10", "--start",
        "2026-01-01", "--steps", "60", "--epsilon", "1000", "--state", "wide.stream",
    )  # fmt: skip
    run("observe", "wide.stream", "--step", "59")
    run("observe", "wide.stream", "-", typed="region,cost\n" + "N,9\n" * 500)
    for width, tables in (("80", 1), ("40", 2), ("300", 1)):
        monkeypatch.setenv("COLUMNS", width)
        shown = run("show", "wide.stream").output
        lines = [line for line in shown.splitlines() if line.split()[:1] == ["N"]][:tables]
        assert "…" not in "".join(lines)
        drawn = [bars for line in lines for bars in line.split()[1:]]
        assert len(drawn) == 3
        assert drawn[0][-1] == "█"
        assert all(len(bars) == len(drawn[0]) for bars in drawn)
        assert max(map(len, shown.splitlines())) <= int(width)


def test_groups_that_having_leaves_out_are_no_riddle(place: Path) -> None:
    run(
        "open", "visits.csv", "SELECT COUNT(*) AS n FROM visits HAVING n > 500000", "--each-row", "--start",
        "2026-01-01", "--steps", "3", "--epsilon", "1", "--state", "few.stream",
    )  # fmt: skip
    run("observe", "few.stream")
    shown = run("show", "few.stream").output
    assert "no group is in an answer each day" in shown
    assert "having n > 500000" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("plot", "says"), [("x.xyz", "is not a picture format"), ("no/a.png", "there is no such folder")]
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_shown(place: Path, plot: str, says: str) -> None:
    opened("--active-steps", "5")
    run("observe", "visits.stream", "visits.csv")
    refused = run("show", "visits.stream", "--plot", plot, code=2)
    assert refused.stdout == ""
    assert says in refused.stderr
    with pytest.raises(InvalidParameter, match=says):
        lw.open_stream("visits.stream").history().plot(plot)


def test_standard_input_without_a_line_of_names_is_called_standard_input(place: Path) -> None:
    opened("--active-steps", "5")
    said = " ".join(run("observe", "visits.stream", "-", code=2, typed="").stderr.split())
    assert "standard input needs a first line" in said
    assert "rows.csv" not in said
    assert lw.open_stream("visits.stream").closed == 0
    assert "is missing, and the stream reads" in run("observe", "visits.stream", "-", code=2, typed="a\n1\n").stderr


def test_a_stream_whose_late_rows_count_later_says_how_to_bring_them_and_takes_a_batch_once(place: Path) -> None:
    quoted = " ".join(opened("--active-steps", "5", "--late", "next", "--quote").output.split())
    assert "rows of this stream can only come by add() (lapwing stream observe --keep)" in quoted
    assert "visits.csv --keep" not in quoted
    said = opened("--active-steps", "5", "--late", "next").output
    assert "next: lapwing stream observe visits.stream ROWS.csv --keep --batch NAME:1" in said
    refused = " ".join(run("observe", "visits.stream", "visits.csv", code=2).stderr.split())
    assert "lapwing stream observe visits.stream visits.csv --keep --batch NAME:1" in refused
    keep = ("observe", "visits.stream", "visits.csv", "--keep", "--batch")
    assert "kept for the open step" in run(*keep, "log:1").output
    assert "batch log:1 was kept before" in run(*keep, "log:1").output
    assert "closed" in run("observe", "visits.stream", "--step", "2").output
    assert "stored answer" in run("observe", "visits.stream", "visits.csv", "--step", "2").output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("visits.csv", "--keep", "--batch", "log"), "must be a name, a colon and a number"),
        (("visits.csv", "--batch", "log:1"), "Write --keep as well"),
        (("--keep",), "there are no rows to keep"),
    ],
)
def test_what_is_to_be_kept_must_be_rows_of_a_batch(place: Path, words: tuple[str, ...], says: str) -> None:
    opened("--active-steps", "5")
    assert says in " ".join(run("observe", "visits.stream", *words, code=2).stderr.split())


def test_a_file_that_is_no_stream_is_called_that(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    opened("--active-steps", "5")
    assert "is no file of a stream" in run("observe", "visits.csv", "visits.csv", code=2).stderr
    assert "is a ledger, and no file" in run("show", "ledger.db", code=2).stderr
    run("observe", "visits.stream")
    (place / "visits.stream").write_bytes(b"damaged" * 1000)
    assert "is damaged" in run("show", "visits.stream", code=2).stderr


def test_a_stream_that_was_moved_says_what_else_must_be_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    (place / "old").mkdir()
    opened("--active-steps", "5")
    run("observe", "visits.stream")
    for name in ("visits.stream", "visits.stream-anchor", "ledger.db"):
        (place / name).rename(place / "old" / name)
    moved = ("show", "old/visits.stream")
    anchor = str(place / "old" / "visits.stream-anchor")
    assert f"say where with --anchor {anchor}." in run(*moved, code=2).stderr
    said = " ".join(run(*moved, "--anchor", anchor, code=2).stderr.split())
    assert "is the ledger of this stream" in said
    assert "say where: --ledger ledger.db" in said
    assert "1 of 31 days closed" in run(*moved, "--anchor", anchor, "--ledger", "old/ledger.db").output


def test_earlier_answers_ranges_and_ranks_are_shown(place: Path) -> None:
    opened("--active-steps", "5")
    run("observe", "visits.stream", "visits.csv", "--step", "9")
    stream = lw.open_stream("visits.stream")
    show = ("show", "visits.stream")
    assert run(*show, "--step", "3", "--csv").output == stream.at(3).to_csv()
    assert run(*show, "--step", "2026-01-03", "--window", "2", "--csv").output == stream.window(2, until=3).to_csv()
    assert run(*show, "--step", "3", "--top", "1", "--csv").output == stream.top(1, until=3).to_csv()
    assert run(*show, "--from", "2026-01-02", "--to", "4", "--csv").output == stream.between(2, 4).to_csv()
    assert json.loads(run(*show, "--to", "4", "--json").output) == json.loads(stream.between(1, 4).to_json())
    assert run(*show, "--top", "1", "--csv").output == stream.top_history(1).to_csv()
    page = " ".join(run(*show, "--from", "2").output.split())
    assert "sums over 8 days, from 2026-01-02 to 2026-01-09" in page
    assert "is about totals and windows" in run(*show, "--from", "2", "--top", "1", code=2).stderr
    assert "is another format" in run(*show, "--csv", "--json", code=2).stderr
    run("close", "visits.stream")
    assert "9 of 31 days closed; then it was ended for good" in run(*show).output


def test_a_refusal_of_a_ledger_says_which_allowance_to_write_and_that_one_is_accepted(place: Path) -> None:
    given = (
        "open", "visits.csv", "SELECT COUNT(*) AS n FROM visits", "--unit", "patient", "--types", "at=date", "--time",
        "at", "--start", "2026-01-01", "--steps", "30", "--consecutive-steps", "7", "--epsilon", "1", "--ledger",
        "week.db", "--state", "week.stream",
    )  # fmt: skip
    said = " ".join(run(*given, "--allowance", "1", code=2).stderr.split())
    unit = "patient in any 7 consecutive days"
    assert f"an allowance for that: --allowance 'epsilon=1,unit={unit}'" in said
    assert "another --dataset name" in said
    run(*given, "--dataset", "weeks", "--allowance", f"epsilon=1,unit={unit}")
    assert Ledger(place / "week.db").spent("weeks") == PureDP(1, unit=unit)
    helped = " ".join(run("open", "--help").output.replace("│", " ").split())
    assert "unit=patient in any 7 consecutive days" in helped


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--late", "next"), "✗ --late = 'next': needs a column that says when a row happened. Write --time at"),
        (("--epsilon", "2", "--rho", "1"), "Write --epsilon 0.5, or --rho 0.1."),
        (("--time", "at"), "Open the table with --types at=timestamp."),
        (("--active-steps", "3"), "Leave it out, or open the table with --unit patient_id."),
    ],
)
def test_refusals_name_options_as_they_are_written(place: Path, words: tuple[str, ...], says: str) -> None:
    given = ("open", "visits.csv", "SELECT COUNT(*) AS n FROM visits", "--each-row", "--start", "2026-01-01")
    paid = () if "--rho" in words else ("--epsilon", "1")
    refused = run(*given, "--steps", "3", "--state", "no.stream", *paid, *words, code=2)
    assert says in " ".join(refused.stderr.split())


def test_refusals_of_reading_and_showing_name_options_too(place: Path) -> None:
    opened("--active-steps", "5")
    run("observe", "visits.stream", "visits.csv")
    assert "✗ --top = 0: must be" in run("show", "visits.stream", "--top", "0", code=2).stderr
    run("open-numbers", "--epsilon", "1", "--bound", "9", "--steps", "9", "--first", "1", "--state", "numbers.stream")
    (place / "log.duckdb").touch()
    assert "Write --table visits" in run("observe", "numbers.stream", "log.duckdb", code=2).stderr


def test_a_database_is_read_from_where_the_last_step_left_off(place: Path) -> None:
    import duckdb

    with duckdb.connect("log.duckdb") as connection:
        connection.execute("CREATE TABLE log AS SELECT i AS id, 'N' AS region FROM range(5) AS r(i)")
    run(
        "open", "log.duckdb", "SELECT COUNT(*) AS n FROM log", "--table", "log", "--each-row", "--every", "step",
        "--steps", "3", "--watermark", "id", "--rho", "10000", "--state", "log.stream",
    )  # fmt: skip
    for expected in (5, 0):
        run("observe", "log.stream", "log.duckdb")  # the table of the question
        last = run("show", "log.stream", "--csv", "--window", "1").output.splitlines()[-1]
        assert last.split(",")[1] == str(expected)
    with duckdb.connect("log.duckdb") as connection:
        connection.execute("CREATE VIEW doubled AS SELECT 100 + id AS id, region FROM log")
    run("observe", "log.stream", "log.duckdb", "--table", "doubled")
    assert run("show", "log.stream", "--csv", "--window", "1").output.splitlines()[-1].split(",")[1] == "5"
