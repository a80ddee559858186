"""Two servers on the command line: real processes on loopback, from a file of columns to an answer."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import yaml
from cases import together
from typer.testing import CliRunner

from lapwing import pair
from lapwing.cli.commands import app
from lapwing.cli.pair import _again
from lapwing.errors import InvalidParameter, MissingExtra
from lapwing.pair.client import ServerRefused
from lapwing.pair.deployment import Deployment
from lapwing.pair.refusals import BeingAnswered, Burnt
from lapwing.pair.server import PairServer
from lapwing.pair.store import Store
from lapwing.pair.workspace import codes_in

PEOPLE = 60
COLUMNS = {
    "sex": {"values": ["f", "m"]},
    "age": {"bounds": [18, 77]},
    "income": {"bounds": [0, 100_000]},
    "height": {"bins": [100, 150, 200]},
}
LATER = 3
"""Codes that nobody uploads with until a test does."""


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["pair", *map(str, words)], env={"COLUMNS": "160"})
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


def columns_file(folder: Path, columns: object = COLUMNS) -> Path:
    path = folder / "columns.yaml"
    path.write_text(yaml.safe_dump(columns, sort_keys=False))
    return path


def new(folder: Path, *words: object, code: int = 0) -> str:
    first, second = pair.free_addresses()
    addresses = ("--as-address", first, "--csp-address", second)
    return run("new", folder / "people", "--columns", columns_file(folder), *addresses, *words, code=code)


def started(folder: Path, server: str) -> subprocess.Popen[str]:
    """A server as somebody starts it, once it listens."""
    command = [sys.executable, "-P", "-c", "from lapwing.cli import main; main()", "pair", "serve", folder, server]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ}
    )
    assert process.stdout is not None
    assert f"The server {server} listens at" in process.stdout.readline()
    return process


@contextmanager
def running(servers: Iterable[PairServer]) -> Iterator[None]:
    """Servers in threads of this process, which is enough where nothing but their folders is tested."""
    with ExitStack() as stack:
        for server in servers:
            ready = threading.Event()
            thread = threading.Thread(target=server.serve, args=(ready.set,))
            thread.start()
            stack.callback(thread.join)
            stack.callback(server.close)
            assert ready.wait(60)
        yield


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose servers run, and sixty people who have uploaded."""
    place = tmp_path_factory.mktemp("pair")
    shown = new(place, "--owners", PEOPLE + LATER, "--epsilon", 20, "--products", 3, "--analyst", "analyst")
    folder = place / "people"
    assert "The table is called people" in shown
    with (place / "rows.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["age", "name", "sex", "income", "height"])
        rows.writerows([18 + n, f"person {n}", "fm"[n % 2], 1000 * n, 140 + n] for n in range(PEOPLE))
    (place / "codes.txt").write_text("\n".join(codes_in(folder)[:PEOPLE]))
    servers = [started(folder, name) for name in ("as", "csp")]
    try:
        shown = run("upload", folder / "pair.yaml", "--csv", place / "rows.csv", "--codes", place / "codes.txt")
        assert "Left out, because the file does not name them: name." in shown
        assert f"shares of {PEOPLE} rows" in shown
        yield folder
        for process in servers:
            process.send_signal(signal.SIGINT)
            assert "Uploads and charges are saved on disk." in process.communicate(timeout=60)[0]
            assert process.returncode == 0
    finally:
        for process in servers:
            if process.poll() is None:
                process.kill()
            process.wait()


def values(people: Path, sql: str, *words: object) -> list[dict[str, str]]:
    result = CliRunner().invoke(app, ["pair", "ask", str(people), sql, "--csv", *map(str, words)])
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(result.stdout.splitlines()))


def test_from_a_csv_to_an_answer_that_both_servers_charged(people: Path) -> None:
    sql = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"
    first = values(people, sql, "--epsilon", 5, "--name", "monday")
    assert [row["sex"] for row in first] == ["f", "m"]
    assert all(abs(int(row["n"]) - PEOPLE / 2) < 20 for row in first)  # the chance of more is e^-49
    assert values(people, sql, "--epsilon", 5, "--name", "monday") == first, "and is charged once"
    shown = run("status", people)
    assert f"rows that count {PEOPLE} {PEOPLE}" in shown
    left = float(re.search(r"ledger allows ε = (\S+) ε = \1 ", shown)[1])
    values(people, sql, "--epsilon", 2)
    assert f"ledger allows ε = {left - 2:.4g} ε = {left - 2:.4g} " in run("status", people)


def test_a_name_that_is_of_no_use_any_more_is_told(people: Path) -> None:
    sql = "SELECT COUNT(*) FROM people"
    values(people, sql, "--epsilon", 0.01, "--name", "tuesday")
    Store(people / "as", Deployment.read(people).layout).begin("wednesday", Counter(), Counter())  # and did not end
    for name, why in (("tuesday", "was used for another question"), ("wednesday", "was begun before and did not end")):
        shown = run("ask", people, sql, "--epsilon", 0.02, "--name", name, code=2)
        assert why in shown
        assert f"--name {name}: choose another one" in shown
        assert "not charged a second time" not in shown


def test_groups_and_conditions_across_columns_use_products_up(people: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM people WHERE sex = 'f' AND age < 38"
    data = json.loads(CliRunner().invoke(app, ["pair", "ask", str(people), sql, "--epsilon", "5", "--json"]).stdout)
    [column] = data["columns"]
    assert abs(column["values"][0] - 10) < 20
    assert re.search("products of (sex|age) 2 2", run("status", people))
    many = "SELECT age, sex, height, COUNT(*) FROM people GROUP BY age, sex, height"
    assert "of the products that owners supplied are left" in run("ask", people, many, "--epsilon", 0.1, code=2)


def test_a_quote_shows_both_kinds_of_noise_and_what_each_is_good_against(people: Path) -> None:
    before = run("status", people)
    words = ("ask", people, "--epsilon", 1, "--quote")
    shown = run(*words, "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    table = shown[shown.index("Both kinds of noise") :]
    joint, each = (float(re.search(rf"{way} n ± (\S+)", table)[1]) for way in ("joint", "each"))
    assert joint < each <= 1.6 * joint
    assert "also when one of them sends false numbers" in table
    product = run(*words, "SELECT COUNT(*) AS n FROM people WHERE sex = 'f' AND age < 38")
    assert re.search(r"Uses up products: 1 of (sex|age) \(\d left\)", product)
    assert "Uses up" not in shown, "because totals of one column take none"
    assert "left, which is too few)" in run(*words, "SELECT age, sex, height, COUNT(*) FROM people GROUP BY 1, 2, 3")
    assert "also when one of them" not in product, "because products open masked bits, which a server can flip"
    assert run("status", people) == before
    data = json.loads(
        CliRunner().invoke(app, ["pair", *map(str, words), "SELECT COUNT(*) FROM people", "--json"]).stdout
    )
    assert [way["noise"] for way in data["ways"]] == ["joint", "each"]
    assert data["products"] == {}


def test_each_server_can_add_noise_of_its_own(people: Path) -> None:
    [row] = values(people, "SELECT AVG(age) AS a FROM people", "--epsilon", 2, "--noise", "each")
    assert 18 <= float(row["a"]) <= 77


def test_one_person_uploads_and_a_code_works_once(people: Path) -> None:
    code = codes_in(people)[PEOPLE]
    row = ("age=30", "sex=f", "income=2000", "height=171.5")
    assert "neither can read it" in run("upload", people, "--code", code, *row)
    assert "neither can read it" in run("upload", people, "--code", code, *row)  # until it is taken in
    run("ask", people, "SELECT COUNT(*) FROM people", "--epsilon", "0.01")
    shown = run("upload", people, "--code", code, *row, code=2)
    assert "a row was uploaded with this code already" in shown
    assert "this code is not on the list" in run("upload", people, "--code", "0123456789abcdef", *row, code=2)


@together(
    ("words", "hint"),
    [
        (("upload", "--code", "x", "aeg=30"), "is not a column of this pair. The columns are: sex, age"),
        (("upload", "--code", "x", "sex=x"), "Write one of: f, m."),
        (("upload", "--code", "x", "age=17"), "beyond the bounds in the file, 18 to 77. Write 18, the nearest bound"),
        (("upload", "--code", "x", "age=old"), "is not a whole number. Write one from 18 to 77"),
        (("upload", "--code", "x", "income=200000"), "beyond the bounds in the file, 0 to 100,000. Write 100000"),
        (("upload", "--code", "x", "income=much"), "Write one from 0 to 100,000"),
        (("upload", "--code", "x", "height=250"), "none of the ranges in the file. Write a number from 100 to 200"),
        (("upload", "--code", "x"), "--absent for somebody who does not take part"),
        (("upload", "--code", "x", "--absent"), "everybody who uploads is counted here"),
        (("upload", "--code", "x", "--absent", "age=30"), "Leave one out"),
        (("upload", "age=30"), "--csv rows.csv --codes codes.txt"),
        (("ask", "SELECT COUNT(*) FROM people"), "epsilon"),
        (("ask", "SELECT COUNT(*) FROM people", "--epsilon", "0"), "Write --epsilon 1"),
        (("ask", "SELECT COUNT(*) FROM people", "--epsilon", "1", "--noise", "none"), "joint, each"),
        (("ask", "SELECT COUNT(*) FROM people", "--epsilon", "25"), "any more, only ε ="),
        (("ask", "SELECT COUNT(*) FROM people", "--epsilon", "1e4"), "is too large for the noise"),
        (("ask", "SELECT COUNT(*) FROM people", "--epsilon", "1e-13"), "is too small for the noise"),
        (("ask", "SELECT income, COUNT(*) FROM people GROUP BY income", "--epsilon", "1"), "(bins: in the file)"),
        (("upload", "--check"), "--check looks at a CSV"),
        (("ask", "SELECT COUNT(*) FROM people WHERE weight > 3", "--epsilon", "1"), "weight"),
        (("ask", "SELECT MEDIAN(age) FROM people", "--epsilon", "1"), "Ask for a histogram"),
        (("ask", "SELECT SUM(sex) FROM people", "--epsilon", "1"), "If it holds numbers, declare bounds: in the file."),
        (("ask", "SELECT SUM(CAST(sex AS INTEGER)) FROM people", "--epsilon", "1"), "type: in the file declares the"),
        (
            ("ask", "SELECT FLOOR(age / 10) AS d, COUNT(*) FROM people GROUP BY d", "--epsilon", "1"),
            "Name its values with --keys.",
        ),
        (("ask", "SELECT COUNT(*) FROM people WHERE income > 3", "--epsilon", "1"), "which can only be added up"),
        (("serve", "csq"), "Write one of: as, csp."),
    ],
)
def test_whatever_is_wrong_is_told_in_one_sentence(people: Path, words: tuple[str, ...], hint: str) -> None:
    command, *rest = words
    shown = run(command, people, *rest, code=2)
    assert hint in shown
    assert "Traceback" not in shown


def test_somebody_with_another_key_is_refused_before_a_server_hears_of_it(people: Path, tmp_path: Path) -> None:
    sql = "SELECT COUNT(*) FROM people"
    run("key", tmp_path, "eve")
    words = ("ask", people, sql, "--epsilon", 1, "--key")
    assert "whom the file of the pair names. It names: analyst." in run(*words, tmp_path / "eve.pem", code=2)
    assert "does not exist, or cannot be read" in run(*words, tmp_path / "nobody.pem", code=2)
    assert "has no certificate in it" in run(*words, people / "codes.txt", code=2)
    assert "servers answer only the analysts named in pair.yaml" in run("ask", tmp_path, sql, "--epsilon", 1, code=2)


def test_a_csv_that_does_not_fit_is_not_begun(people: Path, tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("\n".join(codes_in(people)[-2:]))
    for text, hint in (
        ("age,sex,income,height\n30,f,1,170\n", "has 1 rows, and there are 2 codes"),
        ("age,sex,income\n30,f,1\n30,f,1\n", "must have a column height, once"),
        ("age,sex,income,height,age\n", "must have a column age, once"),
    ):
        (tmp_path / "rows.csv").write_text(text)
        words = ("upload", people, "--csv", tmp_path / "rows.csv", "--codes", tmp_path / "codes.txt")
        assert hint in run(*words, code=2)


def test_whoever_has_a_csv_can_count_the_cells_that_do_not_fit_before_an_upload(people: Path, tmp_path: Path) -> None:
    before = run("status", people)
    (tmp_path / "rows.csv").write_text("age,sex,income,height\n30,F,1e9,170\n17,NA,much,99\n,m,2000.0,\n")
    shown = run("upload", people, "--csv", tmp_path / "rows.csv", "--check")
    assert "3 rows; nothing was uploaded" in shown
    for line in ("sex 0 2 0", "age 1 0 1", "income 0 1 1", "height 1 1 0"):
        assert line in shown
    assert run("status", people) == before


def test_a_server_does_not_begin_without_the_list_of_codes_it_admits(tmp_path: Path) -> None:
    new(tmp_path, "--owners", 2)
    folder = tmp_path / "people"
    os.replace(folder / "as" / "rows.db", folder / "rows.db")
    assert "it says which codes this server admits. Put as/rows.db" in run("serve", folder, "as", code=2)
    assert not (folder / "as" / "rows.db").exists()


def test_in_python_whoever_asks_without_a_key_is_told_and_a_file_is_named_by_text(people: Path) -> None:
    table = pair.open(str(people))
    assert Deployment.read(str(people)) == Deployment.read(people / "pair.yaml")
    with pytest.raises(InvalidParameter, match=r"Write pair\.open\(…, key='analyst\.pem'\)"):
        table.sql("SELECT COUNT(*) FROM people", epsilon=0.1)


def test_two_machines_make_their_own_keys_and_only_certificates_travel(tmp_path: Path) -> None:
    for name in ("as", "csp", "ada"):
        result = CliRunner().invoke(app, ["pair", "key", str(tmp_path / f"machine {name}"), name])
        assert result.exit_code == 0
        (tmp_path / f"{name}.crt").write_text(result.stdout)
        assert "PRIVATE" not in result.output
    certificates = ("--as-certificate", tmp_path / "as.crt", "--csp-certificate", tmp_path / "csp.crt")
    (tmp_path / "codes.txt").write_text("a-long-code-of-ada\na-long-code-of-bob\n")
    words = ("--codes", tmp_path / "codes.txt", *certificates, "--analyst", f"ada={tmp_path / 'ada.crt'}")
    assert "Carry pair.yaml" in new(tmp_path, *words, "--relation", "add_remove")
    folder = tmp_path / "people"
    assert not list(folder.rglob("*.pem")), "no key was made here"
    for name, other in (("as", "csp"), ("csp", "as")):
        machine = tmp_path / f"machine {name}"
        os.replace(folder / name / "rows.db", machine / name / "rows.db")
        (machine / "pair.yaml").write_bytes((folder / "pair.yaml").read_bytes())
        assert b"a-long-code" not in (machine / name / "rows.db").read_bytes()
        assert "does not exist, or cannot be read" in run("serve", machine, other, code=2)
    ada = tmp_path / "machine ada" / "ada.pem"
    with running(PairServer(tmp_path / f"machine {name}", name) for name in ("as", "csp")):
        run("upload", folder, "--code", "a-long-code-of-ada", "age=30", "sex=f")
        assert "shares of 1 row," in run("upload", folder, "--codes", tmp_path / "codes.txt", "--absent", "--skip", 1)
        [row] = values(folder, "SELECT COUNT(*) AS n FROM people", "--epsilon", 3, "--key", ada)
        assert abs(int(row["n"]) - 1) < 20


def test_a_server_with_another_key_than_the_file_says_does_not_listen(tmp_path: Path) -> None:
    new(tmp_path, "--owners", 2)
    folder = tmp_path / "people"
    assert "is there already" in run("key", folder, "as", code=2)
    os.replace(folder / "csp" / "key.pem", folder / "as" / "key.pem")
    assert "is not the key of the server as: its certificate is not the one in the file of the pair" in run(
        "serve", folder, "as", code=2
    )
    certificate = Deployment.read(folder).servers[0].certificate
    private = (folder / "as" / "key.pem").read_text().partition("-----BEGIN CERT")[0]
    (folder / "as" / "key.pem").write_text(private + certificate)
    assert "has no key that belongs to its certificate" in run("serve", folder, "as", code=2)


def test_servers_that_do_not_run_are_named(tmp_path: Path) -> None:
    new(tmp_path, "--owners", 1)
    folder = tmp_path / "people"
    [code] = codes_in(folder)
    for words in (
        ("upload", folder, "--code", code, "age=30"),
        ("ask", folder, "SELECT COUNT(*) FROM people", "--epsilon", 1),
    ):
        shown = run(*words, code=2)
        assert "Start it: lapwing pair serve FOLDER as" in shown
        assert "--name" not in shown, "because nothing was charged"
    shown = run("status", folder, code=1)
    assert "state does not answer does not answer" in shown


@together(
    ("columns", "words", "hint"),
    [
        ({"age": {"bound": [0, 9]}}, (), "Did you mean bounds?"),
        ({"age": {"bounds": [9, 0]}}, (), "the lower one first"),
        ({"age": {"bounds": [0, 9], "values": [1]}}, (), "only one of them"),
        ({"sex": {"values": []}}, (), "must be a list"),
        ({"zip": {"values": list(range(1025))}}, (), "between 1 and 1,024 different values"),
        (["age"], (), "must be a mapping"),
        (COLUMNS, ("--products", "9999"), "write fewer products"),
        (COLUMNS, ("--relation", "friends"), "replace, add_remove"),
        (COLUMNS, ("--epsilon", "0"), "Write epsilon=1"),
        (COLUMNS, ("--epsilon", "5000"), "protects nobody: epsilon can be 2,048 at most"),
        (COLUMNS, ("--as-address", "here"), "has no port"),
        (COLUMNS, ("--as-certificate", __file__), "has no certificate in it"),
        (COLUMNS, ("--analyst", "../ada"), "must be made of letters and digits"),
    ],
)
def test_a_file_that_is_wrong_is_told_before_anything_is_written(
    columns: object, words: tuple[str, ...], hint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "people"
    shown = run("new", folder, "--columns", columns_file(tmp_path, columns), "--owners", 3, *words, code=2)
    assert hint in shown
    assert not folder.exists()


def test_codes_that_can_be_guessed_are_refused(tmp_path: Path) -> None:
    words = ("--codes", tmp_path / "codes.txt")
    for text, hint in (("ada\nbob\n", "shorter ones can be guessed"), ("long-enough-code\n" * 2, "must be different")):
        (tmp_path / "codes.txt").write_text(text)
        assert hint in new(tmp_path, *words, code=2)
    assert "a number, or a list of codes" in new(tmp_path, *words, "--owners", 2, code=2)
    assert not (tmp_path / "people").exists()


def test_codes_that_are_made_cannot_be_guessed_by_a_server_that_looks_for_all_of_them(tmp_path: Path) -> None:
    """Servers see a hash of every code, without salt: 64 bits of each would be 44 to find one of a million."""
    new(tmp_path, "--owners", 3)
    assert all(re.fullmatch("[0-9a-f]{24}", code) for code in codes_in(tmp_path / "people"))


def test_who_asks_again_for_a_burnt_question_is_not_told_to_do_so(capsys: pytest.CaptureFixture[str]) -> None:
    for error in (Burnt(), BeingAnswered()):
        with pytest.raises(ServerRefused), _again("monday"):
            raise ServerRefused("as", str(error))
        assert ("Asking again with --name" in capsys.readouterr().err) == isinstance(error, BeingAnswered)


def test_countries_are_text_in_a_file_of_columns(tmp_path: Path) -> None:
    (tmp_path / "columns.yaml").write_text("country:\n  values: [NO, SE, yes]\n")
    run("new", tmp_path / "people", "--columns", tmp_path / "columns.yaml", "--owners", 1)
    [country] = Deployment.read(tmp_path / "people").layout.domains
    assert (country.kind, country.column().keys) == ("text", ("NO", "SE", "yes"))


def test_without_its_library_a_server_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lapwing import ristretto

    new(tmp_path, "--owners", 1)
    monkeypatch.setitem(sys.modules, "rbcl", None)
    ristretto._group.cache_clear()
    try:
        with pytest.raises(MissingExtra, match="'pair'"):
            PairServer(tmp_path / "people", "as")
    finally:
        ristretto._group.cache_clear()
    assert not (tmp_path / "people" / "as" / "ledger.db").exists()


@pytest.mark.sweep
def test_the_demo_shows_noise_answers_and_both_ledgers() -> None:
    shown = run("demo", "--rows", 100)
    assert "the person sex Male, race White, age 39, capital_gain 2174" in shown
    first, second = (
        re.search(rf" {name} ((?:[0-9a-f]{{2}} )+)… [0-9]+ random bytes", shown)[1] for name in ("as", "csp")
    )
    assert first != second
    assert re.search(r"Female \d+ -?\d+ Male \d+ -?\d+", shown)
    assert "White Male" in shown
    assert "ledger allows ε = 2 ε = 2" in shown
    assert "Both servers have stopped" in shown
