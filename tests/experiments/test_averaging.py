"""Repetition gives away what theory says, and no more where noise is kept or epsilon is one for all.

All of it is a sweep: `make test` has the small run of tests/experiments/test_experiments.py.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from scipy import stats

from lapwing.adversary.attacks.bounds import best_guess
from lapwing.adversary.attacks.renewal import DONATIONS, donated
from lapwing.experiments.averaging import (
    AVERAGING,
    COUNT,
    DEVICE,
    FORGETFUL,
    FRESH,
    LIFETIME,
    MEMOISED,
    ONCE,
    RAPPOR,
    RENEWED,
    SHARED,
    STORED,
)
from lapwing.experiments.experiment import Row, column, entropy, select

FALSE_ALARM = 1e-6
SMALL = {"asked": (1, 30, 3000), "reported": (1, 10, 200), "days": 20, "rounds": 100}


@cache
def rows() -> list[Row]:
    return AVERAGING.rows(**SMALL)


@pytest.mark.sweep
@pytest.mark.parametrize(("noise", "rounds"), [(FRESH, 400), (SHARED, 400), (STORED, 1000)])
def test_a_count_falls_as_exactly_as_theory_says(noise: str, rounds: int) -> None:
    for row in select(rows(), secret=COUNT, noise=noise):
        hits, law = round(row["success"] * rounds), stats.binom(rounds, row["theory"])
        assert min(law.cdf(hits), law.sf(hits - 1)) > FALSE_ALARM / 9


@pytest.mark.sweep
def test_fresh_noise_wears_off_and_kept_noise_does_not() -> None:
    assert select(rows(), secret=COUNT, noise=FRESH)[-1]["success"] > 0.99
    assert select(rows(), secret=RAPPOR, noise=FORGETFUL)[-1]["success"] == 1
    assert select(rows(), secret=DEVICE, noise=RENEWED)[-1]["success"] > 0.95
    assert column(select(rows(), noise=STORED), "theory") == pytest.approx([best_guess(1)] * 3)
    assert select(rows(), secret=COUNT, noise=SHARED)[-1]["theory"] < 0.51


@pytest.mark.sweep
def test_what_is_private_stays_below_its_bound() -> None:
    private = [row for row in rows() if row["bound"] is not None]
    assert {row["noise"] for row in private} == {SHARED, STORED, MEMOISED, ONCE}
    for row in private:
        assert row["chance"] < row["bound"] < 1
        assert row["success"] < row["bound"] + 5 * row["standard_error"]


@pytest.mark.sweep
def test_after_the_last_donation_nothing_more_is_learned() -> None:
    once = column(select(rows(), secret=DEVICE, noise=ONCE), "success")
    by_day = donated(DONATIONS, Fraction(LIFETIME) / DONATIONS, 300, entropy("averaging", ONCE)).mean(axis=0)
    assert len(once) == 20
    assert once[:4] == pytest.approx(by_day)
    assert len(set(once[:4])) > 1
    assert set(once[3:]) == {once[3]}


@pytest.mark.sweep
def test_picture_and_page_are_written(tmp_path: Path) -> None:
    picture, table, page = AVERAGING.write(tmp_path, **SMALL)
    assert picture.stat().st_size > 20_000
    assert len(table.read_text(encoding="utf-8").splitlines()) == len(rows()) + 1
    assert "stays at 73 %" in page.read_text(encoding="utf-8")
