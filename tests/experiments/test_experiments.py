"""Every experiment computes, draws and tells; from the command line as well."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lapwing.cli.commands import app
from lapwing.crowd.fragments import SequenceFragmentPuzzle
from lapwing.errors import InvalidParameter
from lapwing.experiments import EXPERIMENTS, Row, named
from lapwing.experiments.experiment import entropy, select, slope, write_csv

PUZZLE = SequenceFragmentPuzzle(epsilon_fragments=6, epsilon_strings=6, functions=32, width=256, length=4, pieces=8)
SMALL: dict[str, dict[str, Any]] = {
    "response": {"population": 100, "repeats": 3},
    "laplace": {"population": 100, "repeats": 30},
    "rappor-normal": {"sizes": (500, 2000)},
    "rappor-strings": {"people": 40_000},
    "bad-apple": {"people": 20_000, "others": 50, "repeats": 2},
    "sketches": {"people": 500, "repeats": 1},
    "discovery": {"sizes": (5_000, 20_000), "puzzle": PUZZLE},
    "trust": {"sizes": (1_000, 2_000), "repeats": 2},
    "growth": {"sizes": (1_000, 300_000, 600_000), "repeats": 1},
    "stash": {"runs": 20, "sizes": (1_000_000, 10_000_000)},
    "thresholds": {"epsilons": (0.0, 1.0, 2.25, 6.0), "largest": 70},
    "buds": {"settings": ((20, 1, 10), (10, 2, 90)), "samples": 400},
    "vocab": {"sizes": (10_000, 30_000), "different": 20_000},
    "suggest": {"sizes": (1_000, 3_000), "items": 100},
    "gradients": {"epsilons": (4.0,), "fragments": (1, 2), "repeats": 1, "people": 500},
    "streams": {"steps": (16, 64), "repeats": 2, "hours": 200},
    "w-event": {"windows": (2, 5), "steps": 24, "repeats": 1},
    "tops": {"epsilons": (1.0,), "steps": 3_000, "first": 1_000, "days": 5, "repeats": 1},
    "two-servers": {"sizes": (200, 400), "repeats": 3},
    "why-shares": {"sizes": (2, 4), "larger_sizes": (50,), "repeats": 1, "key_bits": 256},
    "gossip": {"runs": 10, "mask_sizes": (0.0, 3_000.0)},
    "capacity": {"epsilons": (Fraction(1),), "degrees": (1, 2)},
    "regression-data": {},
    "regression": {"epsilons": (1.0,), "repeats": 2, "private_epsilons": (1.0,), "private_repeats": 1},
    "regression-audit": {"questions": (1, 16), "samples": 200, "fits": 20},
    "membership": {"epsilons": (1.0,), "models": 2, "rounds": 20},
    "occam": {"columns": 4, "sizes": (10, 40, 160), "repeats": 20},
    "parity": {"columns": 6, "sizes": (20, 60, 180), "widths": (4, 8), "repeats": 20},
    "masked-parity": {"widths": (4, 16), "sizes": (1_000, 30_000), "repeats": 10},
    "uniqueness": {"people": 20_000, "sizes": (100, 1_000), "areas": 2},
    "k-anonymity": {"people": 3_000, "ks": (2, 5), "epsilons": (1.0,), "queries": 20, "repeats": 1},
    "reconstruction": {"people": 16, "within": (1, 4), "epsilons": (1.0,), "tables": 4, "programs": 1},
    "e-health": {"repeats": 1},
    "averaging": {"asked": (1, 10, 100), "reported": (1, 4, 16), "days": 5, "rounds": 20},
}


MEASURED = {"growth", "sketches", "two-servers", "why-shares"}
"""Some of their numbers are times."""


@cache
def rows_of(name: str) -> list[Row]:
    return EXPERIMENTS[name].rows(**SMALL[name])


def test_every_experiment_has_a_small_size_here() -> None:
    assert set(SMALL) == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_writes_a_picture_its_numbers_and_a_page(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    picture, table, page = experiment.write(tmp_path / "new" / "folder", **SMALL[name])
    assert [path.name for path in (picture, table, page)] == [f"{name}.png", f"{name}.csv", f"{name}.md"]
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture.stat().st_size > 10_000
    write_csv(rows_of(name), tmp_path / "again.csv")
    listed, again = (path.read_text(encoding="utf-8").splitlines() for path in (table, tmp_path / "again.csv"))
    assert len(listed) == len(again) > 1
    assert listed == again or name in MEASURED
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {experiment.title}\n")
    assert f"]({name}.png)" in text
    assert experiment.source in text
    assert "nan" not in text


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_rows_are_plain_data(name: str) -> None:
    kinds = {type(value) for row in rows_of(name) for value in row.values()}
    assert kinds <= {str, int, float, bool, type(None)}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_long_run_is_a_longer_run_of_the_same(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert experiment.full
    assert set(experiment.full) <= set(experiment.compute.__annotations__)


def test_an_unknown_name_is_told_which_there_are() -> None:
    with pytest.raises(InvalidParameter, match="response"):
        named("respons")


def test_the_command_lists_and_runs(tmp_path: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(app, ["experiment", "list"], env={"COLUMNS": "200"})
    assert listed.exit_code == 0
    assert all(name in listed.output for name in EXPERIMENTS)
    ran = runner.invoke(app, ["experiment", "run", "laplace", "--out", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    assert "laplace.png" in ran.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["laplace.csv", "laplace.md", "laplace.png"]


def test_the_command_tells_a_wrong_name() -> None:
    result = CliRunner().invoke(app, ["experiment", "run", "lapplace"])
    assert result.exit_code == 2


def test_noise_for_a_figure_is_the_same_for_the_same_seed_only() -> None:
    assert entropy("a", 1).bits(64) == entropy("a", 1).bits(64)
    assert len({entropy(*seed).bits(64) for seed in (("a", 1), ("a", 2), ("b", 1), ("a1",))}) == 4


def test_a_power_law_has_its_power_as_slope() -> None:
    xs = [3, 7, 20, 1000]
    assert slope(xs, [5 * x**-0.75 for x in xs]) == pytest.approx(-0.75)


def test_looking_for_rows_that_are_not_there_is_told() -> None:
    with pytest.raises(InvalidParameter):
        select([{"a": 1}], a=2)
