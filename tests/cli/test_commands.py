"""What people see on the command line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import together
from typer.main import get_command
from typer.testing import CliRunner

import lapwing
from lapwing.cli.commands import app
from lapwing.cli.demo import REGIONS
from lapwing.datasets import clinic


def run(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "100"})
    assert result.exit_code == code, result.output
    return result.output


def test_the_version_is_the_version_of_the_package() -> None:
    assert run("--version").strip() == lapwing.__version__


def test_the_overview_cuts_no_summary_off_at_80_columns() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output
    commands = shown.partition("Commands:")[2]
    assert "demo" in commands
    assert "..." not in commands


def test_summaries_are_commands_and_arguments_have_one_style() -> None:
    shown = run("--help")
    assert "stream      Publish answers over time, for one price." in shown
    assert "pair        Let two servers answer questions; neither can read a row." in shown
    usages = list(_usages(get_command(app), "lapwing"))
    assert "lapwing query [OPTIONS] {SOURCE} [SELECT]" in usages
    assert not [usage for usage in usages if re.search(r"[{\[][a-z]", usage)]


def _usages(command: Any, name: str) -> Iterator[str]:
    """The usage of every command below this one, in a line each."""
    below = getattr(command, "commands", None)
    if below is None:
        context = command.make_context(name, [], resilient_parsing=True)
        yield " ".join([name, *command.collect_usage_pieces(context)])
        return
    for word, each in below.items():
        yield from _usages(each, f"{name} {word}")


def test_the_rules_of_a_ledger_say_what_is_closed_and_when() -> None:
    shown = " ".join(re.sub("[│╭╮╰╯─]", " ", run("query", "--help")).split())
    assert "A failure is a question that fails while rows are read." in shown
    assert "After one failure, nobody can ask this data set until lapwing ledger reopen is run." in shown


def test_the_demo_shows_private_beside_exact_and_what_it_cost() -> None:
    shown = run("demo")
    people = clinic()["patient"]
    row = re.search(r"^\s*patients\s+([\d,]+)\s+([\d,]+)\s+± (\d+)\s+ε = 0.2", shown, re.MULTILINE)
    assert row is not None
    exact, private, error = (int(word.replace(",", "")) for word in row.groups())
    assert exact == len(people) == 3000
    assert error == 15
    assert abs(private - exact) < 200  # the chance of more is e^-40
    assert all(region in shown for region in REGIONS)
    assert "ε = 1 together" in shown
    assert "at most 74 % sure" in " ".join(shown.split())


def test_a_smaller_budget_gives_larger_errors() -> None:
    assert "± 1498" in run("demo", "--epsilon", "0.01")


def test_the_demo_never_shows_the_same_noise_twice() -> None:
    assert run("demo") != run("demo")


def test_a_picture_of_the_demo_loads_nothing_from_anywhere(tmp_path: Path) -> None:
    run("demo", "--svg", str(tmp_path / "demo.svg"))
    picture = (tmp_path / "demo.svg").read_text()
    assert picture.startswith("<svg")
    assert "@font-face" not in picture
    assert "url(http" not in picture


def test_a_guarantee_is_explained_in_words_and_as_data() -> None:
    assert "2.719 times as likely" in " ".join(run("explain", "1").split())
    data = json.loads(run("explain", "1", "--delta", "1e-6", "--json"))
    assert (data["epsilon"], data["delta"], data["out_of_100_after"]) == (1.0, 1e-6, 74)


@together(
    ("words", "hint"),
    [
        (("demo", "--epsilon", "0"), "Write epsilon=1"),
        (("demo", "--epsilon", "-1"), "Write epsilon=1"),
        (("demo", "--epsilon", "nan"), "must be finite"),
        (("explain", "1", "--relation", "friends"), "add_remove, replace"),
        (("explain", "1", "--prior", "2"), "between 0 and 1"),
        (("audit", "--samples", "1"), "at least 100"),
    ],
)
def test_wrong_words_get_one_line_that_helps(words: tuple[str, ...], hint: str) -> None:
    shown = run(*words, code=2)
    assert hint in " ".join(shown.split())
    assert "Traceback" not in shown


def test_the_audit_lists_what_it_caught() -> None:
    shown = run("audit", "--samples", "200", code=1)  # too few to catch all of the broken ones, and it says so
    assert "Broken on purpose" in shown
    assert re.search(r"\d+ of \d+ broken ones caught, 0 of \d+ real ones accused", shown)


def test_every_command_is_in_the_readme() -> None:
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    commands += [str(group.name) for group in app.registered_groups]
    assert len(commands) >= 4
    assert [name for name in commands if f"`lapwing {name}" not in readme] == []


def test_the_owner_looks_at_failures_and_reopens(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.db")
    ledger = lapwing.Ledger(path)
    ledger.open("people", lapwing.PureDP(1))
    assert "no question has failed" in run("ledger", "failures", path)
    ledger.trip(["people"], "row 17 \x1b[31mis odd", analyst="ada", charge=4)
    shown = " ".join(run("ledger", "show", path).split())
    assert "people is closed for ada" in shown
    assert "row 17" not in shown
    assert "row 17 �[31mis odd" in run("ledger", "failures", path)
    assert "people is open again" in run("ledger", "reopen", path, "people", "--yes")
    assert "people is open: no question has failed" in run("ledger", "reopen", path, "people")
    ledger.charge("people", lapwing.PureDP(0.5), analyst="ada")


@pytest.mark.parametrize("command", ["reopen", "failures"])
def test_a_misspelt_data_set_is_not_taken_for_one_without_failures(tmp_path: Path, command: str) -> None:
    path = str(tmp_path / "ledger.db")
    ledger = lapwing.Ledger(path)
    for name in ("people", "visits"):
        ledger.open(name, lapwing.PureDP(1))
    assert "Did you mean 'people'?" in " ".join(run("ledger", command, path, "poeple", code=2).split())
    assert "Open it first" in " ".join(run("ledger", command, path, "xyz", code=2).split())


def test_a_ledger_is_shown_verified_and_exported(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = lapwing.Ledger(path)
    ledger.open("people", lapwing.PureDP(1))
    ledger.charge("people", lapwing.PureDP(0.25), analyst="ada")
    assert re.search(r"people\s+ε = 0.25 .*ε = 0.75", run("ledger", "show", str(path)))
    assert "2 entries, none changed" in run("ledger", "verify", str(path))
    journal = [json.loads(line) for line in run("ledger", "export", str(path)).splitlines()]
    assert [entry["act"] for entry in journal] == ["open", "charge"]
    path.write_bytes(path.read_bytes().replace(b'"ada"', b'"eve"'))
    assert "damaged at entry 2" in " ".join(run("ledger", "verify", str(path), code=2).split())
    assert "no such ledger" in " ".join(run("ledger", "show", str(tmp_path / "other.db"), code=2).split())
