"""Bits fall to sums as theory says, and private sums keep them."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
from scipy import stats

from lapwing.experiments.experiment import Row, column, select
from lapwing.experiments.reconstruction import ALL, EACH, RECONSTRUCTION, theory

FALSE_ALARM = 1e-6
SMALL = {"people": 64, "within": (1, 8, 40), "epsilons": (0.2, 1.0, 5.0), "tables": 40, "programs": 2}


@cache
def rows() -> list[Row]:
    return RECONSTRUCTION.rows(**SMALL)


@pytest.mark.sweep
def test_measured_shares_are_those_of_theory() -> None:
    """64 people are not infinitely many: the limit is off by a percent or so, the rest must be chance."""
    far = float(stats.norm.isf(FALSE_ALARM / len(rows()) / 2))
    for row in rows():
        assert abs(row["right"] - row["theory"]) < 0.015 + far * max(row["standard_error"], 0.5 / math.sqrt(64 * 40)), (
            row
        )


@pytest.mark.sweep
def test_more_sums_and_less_noise_give_more_away() -> None:
    noise = select(rows(), what="noise")
    for within in SMALL["within"]:  # type: ignore[attr-defined]
        chosen = sorted(select(noise, within=within), key=lambda row: row["queries"])
        assert column(chosen, "theory") == sorted(column(chosen, "theory"))
    most = select(noise, queries=16 * 64)
    assert column(most, "right") == sorted(column(most, "right"), reverse=True)
    assert select(most, within=1)[0]["right"] == 1
    assert select(most, within=8)[0]["right"] > 0.85  # √n
    assert select(noise, within=40, queries=64)[0]["right"] < 0.6


@pytest.mark.sweep
def test_the_linear_program_finds_them_too() -> None:
    solved = [row for row in select(rows(), what="noise") if "program" in row]
    assert {row["queries"] for row in solved} == {256}
    assert select(solved, within=1)[0]["program"] > 0.97


@pytest.mark.sweep
def test_one_epsilon_for_all_sums_holds_and_one_for_each_falls() -> None:
    spent = select(rows(), what="epsilon")
    for row in select(spent, spent=ALL):
        assert row["right"] < row["bound"] + 5 * row["standard_error"]
    assert all(row["bound"] is None for row in select(spent, spent=EACH))
    assert select(spent, spent=EACH, epsilon=1.0, queries=16 * 64)[0]["right"] > 0.99
    assert select(spent, spent=ALL, epsilon=1.0, queries=16 * 64)[0]["right"] < 0.56


def test_theory_has_the_right_ends() -> None:
    assert theory(100, 400, 0.1) > 0.999999
    assert abs(theory(100, 100, 1e6) - 0.5) < 1e-4
    few = theory(10, 100_000, 20)  # nearly nothing to confuse: sums alone, a variance of 4σ²/m
    assert abs(few - stats.norm.cdf(0.5 / math.sqrt(4 * 400 / 100_000))) < 1e-3


@pytest.mark.sweep
def test_picture_and_page_are_written(tmp_path: Path) -> None:
    picture, table, page = RECONSTRUCTION.write(tmp_path, **SMALL)
    assert picture.stat().st_size > 20_000
    assert len(table.read_text(encoding="utf-8").splitlines()) == len(rows()) + 1
    assert "no attack can exceed 73 %" in page.read_text(encoding="utf-8")
