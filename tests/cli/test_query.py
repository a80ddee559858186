"""Private tables on the command line: asked, priced, described, and every line of the page about it."""

from __future__ import annotations

import io
import json
import re
import shlex
import threading
from pathlib import Path

import pytest
import yaml
from cases import together
from rich.console import Console
from typer.testing import CliRunner, Result

from lapwing.cli import progress
from lapwing.cli.commands import app
from lapwing.curator.show.answer import Answer

ROOT = Path(__file__).parents[2]
COUNT = {"lapwing_query": 1, "rows": [{"table": "visits"}], "ask": [{"count": []}]}
BY_REGION = {
    **COUNT,
    "group_by": [{"name": "region", "by": {"column": "region"}}],
    "ask": [{"count": [], "name": "n"}, {"mean": ["age"]}],
}
SURE = ("--epsilon", "400")
"""So large that the noise is 0: what the rest does can be seen."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    lines = [
        f"p{i % 300},{20 + i % 60},{100 * (i % 7)},{('North', 'South')[i % 3 == 0]},{('false', 'true')[i % 2]}"
        for i in range(900)
    ]
    Path("visits.csv").write_text("\n".join(["patient_id,age,cost,region,smoker", *lines]) + "\n")
    Path("count.yaml").write_text(yaml.safe_dump(COUNT))
    Path("by_region.yaml").write_text(yaml.safe_dump(BY_REGION))


def invoke(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def run(*words: str) -> str:
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*words: str) -> str:
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


VISITS = ("visits.csv", "--unit", "patient_id")
REGIONS = (*VISITS, "--bounds", "age=0:120", "--keys", "region=North,South")


def test_a_question_in_sql_is_answered_with_its_table_name_from_the_file() -> None:
    shown = run("query", *REGIONS, *SURE, "SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY n")
    assert re.search(r"region\s+n\b.*South\s+100 .*North\s+200 ", " ".join(shown.split()))
    assert "costs ε = 400 (add_remove, per patient_id)" in shown


def test_bounds_and_keys_also_reach_columns_that_the_question_makes() -> None:
    sql = "SELECT AVG(v) AS v FROM (SELECT patient_id, COUNT(*) AS v FROM visits GROUP BY patient_id) AS t"
    answer = Answer.from_json(run("query", *VISITS, *SURE, "--bounds", "v=0:10", "--json", sql))
    assert answer.value == pytest.approx(3, abs=0.01)


def test_a_saved_question_is_answered_as_table_json_csv_and_picture() -> None:
    asked = ("query", *REGIONS, *SURE, "--saved", "by_region.yaml")
    assert re.search(r"North\s+200 .*South\s+100 ", " ".join(run(*asked).split()))
    answer = Answer.from_json(run(*asked, "--json"))
    assert answer.table["n"] == (200, 100)
    lines = run(*asked, "--csv", "--plot", "answer.png").splitlines()
    assert lines[0] == "region,n,n_low,n_high,mean_age,mean_age_low,mean_age_high,mean_age_population_low," + (
        "mean_age_population_high"
    )
    assert [line.split(",")[:2] for line in lines[1:]] == [["North", "200"], ["South", "100"]]
    assert Path("answer.png").read_bytes().startswith(b"\x89PNG")


def test_a_quote_reads_no_record_and_spends_nothing() -> None:
    budget = ("--ledger", "ledger.db", "--allowance", "epsilon=3,unit=patient", "--saved", "by_region.yaml")
    shown = run("quote", *REGIONS, *budget, "--epsilon", "0.5")
    Path("visits.csv").write_text("patient_id,age,cost,region,smoker\n")
    assert run("quote", *REGIONS, *budget, "--epsilon", "0.5") == shown
    assert "remaining budget before: ε = 3; after: ε = 2.5" in shown
    assert "so this would be refused" in run("quote", *REGIONS, *budget, "--epsilon", "4")
    data = json.loads(run("quote", *REGIONS, *budget, "--epsilon", "0.5", "--json"))
    assert [item["what"] for item in data["items"]] == ["rows", "rows with a value of age", "sum of age"]
    assert data["expected"][1] == {
        "output": "mean_age",
        "error": None,
        "measured_in": "value",
        "note": "If it is public that every group has at least N rows, write --count N.",
    }
    assert "3 (add_remove" in run("ledger", "show", "ledger.db").replace("ε = ", "")


def test_accuracy_can_be_asked_for_instead_of_epsilon() -> None:
    asked = ("quote", *REGIONS, "--saved", "by_region.yaml", "--within", "n=5", "--json")
    data = json.loads(run(*asked))
    assert data["expected"][0]["error"] <= 5
    assert json.loads(run("quote", *VISITS, "--saved", "count.yaml", "--within", "5", "--json"))["loss"].startswith("ε")


def test_the_ledger_adds_up_and_a_key_brings_the_same_answer_back() -> None:
    asked = (*VISITS, "--saved", "count.yaml", "--ledger", "ledger.db", "--allowance", "1", "--dataset", "people")
    first = run("query", *asked, "--epsilon", "0.6", "--key", "monday", "--analyst", "ada", "--json")
    assert run("query", *asked, "--epsilon", "0.6", "--key", "monday", "--analyst", "ada", "--json") == first
    assert "requested ε = 0.6" in refused("query", *asked, "--epsilon", "0.6", "--analyst", "ada")
    assert re.search(r"people\s+ε = 0.6 .*ε = 0.4", run("ledger", "show", "ledger.db"))


def test_rules_are_declared_with_the_allowance_and_hold_from_then_on() -> None:
    book = ("--ledger", "ledger.db", "--dataset", "people", "--json")
    asked = (*VISITS, "--saved", "count.yaml", *book, "--allowance", "1", "--epsilon", "0.1")
    run("query", *asked, "--rules", "questions=1,parts=10,failures=2")
    assert "at least ε = 0.1 " in refused("query", *asked[:-1], "0.01")
    assert "only become stricter" in refused("query", *asked, "--rules", "questions=2")
    assert "has asked 1 question" in refused("query", *asked)
    shown = " ".join(run("ledger", "show", "ledger.db").split())
    assert (
        "people: at most 1 question per analyst; each costs at least 1/10 of the allowance; 2 failures close" in shown
    )


def test_a_description_has_the_rules_beside_the_allowance() -> None:
    text = "source: visits.csv\nunit: patient_id\nallowance: 1\nledger: ledger.db\n"
    Path("ruled.yaml").write_text(f"{text}rules: {{parts: 10}}\n")
    asked = ("ruled.yaml", "--saved", "count.yaml", "--epsilon")
    assert "at least ε = 0.1 " in refused("query", *asked, "0.01")
    run("query", *asked, "0.5")
    assert "says it already" in refused("query", *asked, "0.5", "--rules", "parts=5")
    for wrong, said in (
        ("rules: {part: 10}", "Did you mean parts?"),
        ("rules: 10", "must be a mapping"),
        ("rules: {parts: 0}", "at least 1"),
        ("rules: {parts: many}", "parts"),
    ):
        Path("ruled.yaml").write_text(f"{text}{wrong}\n")
        assert said in refused("query", *asked, "0.5")


def test_a_description_stands_for_all_options_and_cannot_be_overruled() -> None:
    run("describe", "visits.csv", "-o", "template.yaml")
    text = Path("template.yaml").read_text().replace("unit:", "unit: patient_id", 1)
    text = text.replace("  # age: [low, high]", "  age: [0, 120]").replace(
        "  # region: […, …]", "  region: [North, South]"
    )
    Path("visits.yaml").write_text(text)
    answer = Answer.from_json(run("query", "visits.yaml", *SURE, "--saved", "by_region.yaml", "--json"))
    assert answer.table["n"] == (200, 100)
    run("quote", "visits.yaml", *SURE, "--saved", "count.yaml", "--bounds", "cost=0:5000")
    for said in (("--unit", "region"), ("--bounds", "age=0:1000"), ("--max-rows-per-group", "9")):
        assert "the description says it already" in refused(
            "query", "visits.yaml", *SURE, "--saved", "count.yaml", *said
        )


def test_describing_shows_names_and_no_values() -> None:
    shown = run("describe", "visits.csv")
    assert all(f"# {name}: text" in shown for name in ("patient_id", "age", "cost", "region", "smoker"))
    Path("visits.csv").write_text("patient_id,age,cost,region,smoker\n1,2,3,4,5\nsecret\n")
    assert run("describe", "visits.csv") == shown


def test_a_question_is_saved_and_asked_again() -> None:
    for name in ("kept.yaml", "kept.json"):
        first = run("quote", *REGIONS, "--epsilon", "1", "--saved", "by_region.yaml", "--save", name, "--json")
        assert run("quote", *REGIONS, "--epsilon", "1", "--saved", name, "--json") == first
        assert "File exists" in refused("quote", *REGIONS, *SURE, "--saved", "by_region.yaml", "--save", name)
        more = ("--max-rows-per-group", "3")
        assert "the saved question says it already" in refused("quote", *REGIONS, *SURE, "--saved", name, *more)


def test_public_tables_and_other_private_ones_are_joined() -> None:
    Path("regions.csv").write_text("region,climate\nNorth,cold\nSouth,warm\n")
    Path("drugs.csv").write_text("patient_id,drug\n" + "".join(f"p{i},aspirin\n" for i in range(40)))
    Path("drugs.yaml").write_text("source: drugs.csv\nunit: patient_id\n")
    sql = "SELECT COUNT(DISTINCT v.patient_id) AS n FROM visits v JOIN regions r ON v.region = r.region"
    more = " WHERE r.climate = 'warm' AND EXISTS (SELECT 1 FROM drugs d WHERE d.patient_id = v.patient_id)"
    asked = ("query", *REGIONS, *SURE, "--public", "regions.csv", "--with", "drugs.yaml", "--json", sql + more)
    assert Answer.from_json(run(*asked)).value == 14
    other = ("--keys", "region=North", "--everything-else", "--csv")
    counted = run("query", *VISITS, *SURE, *other, "SELECT region, COUNT(*) AS n FROM visits GROUP BY region")
    assert [line.split(",")[:2] for line in counted.splitlines()[1:]] == [["North", "200"], ["everything else", "100"]]


def test_columns_of_a_file_without_names_are_named_on_the_command_line() -> None:
    Path("r.csv").write_text('"","who","age"\n"1","a",3\n"2","b",4\n')  # as R writes it
    asked = ("SELECT SUM(age) FROM r", "--epsilon", "1000000000", "--json")
    named = ("--names", "row,who,age", "--unit", "who", "--bounds", "age=0:9")
    for command in (("query", "r.csv", "--unit", "who", *asked), ("describe", "r.csv")):
        assert "--names row,patient,age" in refused(*command)
    assert "are 2 names" in refused("query", "r.csv", "--unit", "who", "--names", "row,who", *asked)
    assert "between commas" in refused("query", "r.csv", "--unit", "who", "--names", 'row,"who', *asked)
    assert Answer.from_json(run("query", "r.csv", *named, *asked)).value == pytest.approx(7)
    run("describe", "r.csv", "--names", "row,who,age", "-o", "r.yaml")
    Path("r.yaml").write_text(Path("r.yaml").read_text().replace("\nunit:\n", "\nunit: who\n"))
    assert Answer.from_json(run("query", "r.yaml", "--bounds", "age=0:9", *asked)).value == pytest.approx(7)


def test_options_for_files_are_not_about_a_public_table_and_an_error_says_so() -> None:
    Path("regions.csv").write_text("region;climate\nNorth;cold\n")
    joined = "SELECT COUNT(*) FROM visits v JOIN regions r ON v.region = r.region"
    told = refused("query", *REGIONS, *SURE, "--public", "regions.csv", joined)
    assert "--public = 'regions.csv'" in told
    assert "for SOURCE alone" in told
    assert "--delimiter ';'" not in told


def test_a_table_of_a_server_is_described_and_asked(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute("CREATE TABLE stays AS SELECT i % 50 AS person, i * 0.5 AS days FROM generate_series(1, 100) i")
    run("describe", postgres_url, "--table", "stays", "-o", "stays.yaml")
    text = Path("stays.yaml").read_text()
    assert "  # person: integer\n  # days: number\n" in text
    Path("stays.yaml").write_text(text.replace("unit:", "unit: person", 1))
    more = ("--bounds", "days=0:100", "--ledger", postgres_url, "--allowance", "1000", "--json")
    sql = "SELECT COUNT(*) AS n, AVG(days) AS days FROM stays"
    answer = Answer.from_json(run("query", "stays.yaml", *SURE, *more, sql))
    assert answer.table["n"] == (50,)
    assert "600" in run("ledger", "show", postgres_url)


def test_keys_are_values_of_their_columns() -> None:
    Path("by_age.yaml").write_text(yaml.safe_dump({**COUNT, "group_by": [{"name": "age", "by": {"column": "age"}}]}))
    asked = ("query", *VISITS, *SURE, "--saved", "by_age.yaml", "--csv", "--max-rows-per-group", "3")
    typed = run(*asked, "--types", "age=integer", "--keys", "age=20,21,5")
    assert [line.split(",")[:2] for line in typed.splitlines()[1:]] == [["20", "15"], ["21", "15"], ["5", "0"]]
    assert "age is of type integer" in refused(*asked, "--types", "age=integer", "--keys", "age=old")
    assert '"20, 21",0' in run(*asked, "--keys", 'age="20, 21",5')


@together(
    ("words", "hint"),
    [
        (("nowhere.csv", "--unit", "x", "--saved", "count.yaml"), "there is no such file"),
        (("visits.csv", "--saved", "count.yaml"), "every row needs exactly one unit"),
        ((*VISITS, "--each-row", "--saved", "count.yaml"), "exactly one unit"),
        (("visits.csv", "--unit", "patient", "--saved", "count.yaml"), "Did you mean 'patient_id'?"),
        ((*VISITS,), "--saved question.yaml"),
        ((*VISITS, "--saved", "none.yaml"), "No such file"),
        ((*VISITS, "--saved", "visits.csv"), "must be a mapping"),
        ((*VISITS, "--saved", "count.yaml", "--bounds", "age"), "Write --bounds age=0:120."),
        ((*VISITS, "--saved", "count.yaml", "--bounds", "age=0"), "needs two ends"),
        ((*VISITS, "--saved", "count.yaml", "--bounds", "age=0:old"), "is not a number"),
        ((*VISITS, "--saved", "count.yaml", "--bounds", "age=0:nan"), "must be finite"),
        ((*VISITS, "--saved", "count.yaml", "--bounds", "age=9:1"), "the range is empty"),
        ((*VISITS, "--saved", "count.yaml", "--bounds", "ages=0:1"), "is not in the table"),
        ((*VISITS, "--saved", "count.yaml", "--types", "age=numeric"), "boolean, integer, number"),
        ((*VISITS, "--saved", "count.yaml", "--keys", "region="), "Write --keys region=North,South."),
        ((*VISITS, "--saved", "count.yaml", "--epsilon", "0"), "must be greater than 0"),
        ((*VISITS, "--saved", "count.yaml", "--rho", "1"), "in exactly one way"),
        ((*VISITS, "--saved", "count.yaml", "--delta", "2"), "strictly between 0 and 1"),
        ((*VISITS, "--saved", "count.yaml", "--within", "5"), "cannot be combined"),
        ((*VISITS, "--saved", "count.yaml", "--confidence", "95"), "strictly between 0 and 1"),
        ((*VISITS, "--saved", "count.yaml", "--allowance", "3"), "Write --ledger ledger.db"),
        ((*VISITS, "--saved", "count.yaml", "--rules", "parts=9"), "are declared with an allowance"),
        ((*VISITS, "--saved", "count.yaml", "--rules", "parts", "--ledger", "l.db"), "is not a number"),
        ((*VISITS, "--saved", "count.yaml", "--allowance", "three", "--ledger", "l.db"), "is not a number"),
        ((*VISITS, "--saved", "count.yaml", "--allowance", "sigma=3", "--ledger", "l.db"), "no such field"),
        ((*VISITS, "--saved", "count.yaml", "--ledger", "no/l.db", "--allowance", "3"), "no/l.db"),
        ((*VISITS, "--saved", "count.yaml", "--plot", "answer.doc"), "ends in .png, .svg or .pdf"),
        ((*VISITS, "--saved", "count.yaml", "--plot", "no/answer.png"), "no such folder"),
        ((*VISITS, "--saved", "count.yaml", "--delimiter", "ab"), "one character"),
        ((*VISITS, "--saved", "count.yaml", "--decimal", ";"), "a point or a comma"),
        ((*VISITS, "--saved", "count.yaml", "--public", "none.csv"), "there is no such file"),
        ((*VISITS, "--saved", "count.yaml", "--max-rows-per-group", "0"), "at least 1"),
        ((*VISITS, "SELEC COUNT(*)"), "SELEC"),
        ((*VISITS, "SELECT COUNT(*) FROM visit"), "visit"),
        ((*VISITS, "SELECT * FROM visits"), "*"),
        ((*VISITS, "SELECT MAX(age) FROM visits"), "MAX"),
    ],
)
def test_wrong_words_get_one_message_that_helps_and_nothing_is_spent(words: tuple[str, ...], hint: str) -> None:
    epsilon = () if "--epsilon" in words else ("--epsilon", "1")
    assert hint in refused("query", *words, *epsilon)


def test_decimal_commas_are_read_where_the_owner_says_so() -> None:
    Path("umsatz.csv").write_text("wer;umsatz\na;1.234,50\nb;5,5\n")
    asked = ("umsatz.csv", "SELECT SUM(umsatz) FROM umsatz", "--each-row", "--bounds", "umsatz=0:2000")
    told = run("query", *asked, "--delimiter", ";", "--decimal", ",", "--epsilon", "1000000000", "--json")
    [column] = json.loads(told)["columns"]
    [total] = column["values"]
    assert total == pytest.approx(1240, abs=0.01)


def test_a_picture_that_cannot_be_written_and_keys_that_cannot_be_read_are_told_before_anything_is_spent() -> None:
    Path("there.png").mkdir()
    paid = (*VISITS, "--ledger", "ledger.db", "--allowance", "3", "--epsilon", "1", "SELECT COUNT(*) FROM visits")
    assert "cannot be written" in refused("query", *paid, "--plot", "there.png")
    for words in ("region=North\nSouth", 'region="North', 'region="North"x'):
        assert "between commas" in refused("query", *paid, "--keys", words)
    assert not Path("ledger.db").exists() or "ε = 3" in run("ledger", "show", "ledger.db")


def test_files_that_are_not_what_they_seem_are_refused_without_quoting_them() -> None:
    for name, content in {
        "x.parquet": b"secret",
        "x.duckdb": b"secret",
        "x.csv.gz": b"\x1f\x8bsecret",
        "x.csv": b"",
        "y.csv": b"secret,secret\n",
        "x.yaml": b"secret",
        "y.yaml": b"\xff\xfesecret",
    }.items():
        Path(name).write_bytes(content)
        words = ("quote", name, "--unit", "u", "--table", "t", "--saved", "count.yaml", "--epsilon", "1")
        assert "secret" not in refused(*words)


def test_nothing_on_the_screen_is_obeyed_as_an_escape_code() -> None:
    assert "\x1b[31m" not in invoke("query", *VISITS, "--epsilon", "1", "SELECT \x1b[31mx FROM visits").output


def test_a_bar_moves_on_a_terminal_that_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    shown = io.StringIO()
    with progress.waiting("reading", Console(file=shown, force_terminal=True, width=80)):
        while "reading" not in shown.getvalue():
            pass


def test_nothing_moves_where_nobody_looks() -> None:
    before = threading.active_count()
    with progress.waiting("reading", Console(file=io.StringIO(), force_terminal=False)):
        assert threading.active_count() == before


def test_every_line_of_the_page_runs() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    described = re.search(r"```yaml\n(# visits.yaml\n.*?)```", page, re.DOTALL)
    assert described is not None
    Path("visits.yaml").write_text(described[1])
    lines = re.findall(r"^\$ lapwing (.*)$", page, re.MULTILINE)
    assert len(lines) >= 8
    for line in lines:
        run(*shlex.split(line))
    assert re.search(r"patients\s+ε = 2 \(add_remove, per patient\)\s+ε = 1 ", run("ledger", "show", "ledger.db"))
