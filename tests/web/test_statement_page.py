"""A privacy statement is one page of paper, however often the data were asked about."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import lapwing as lw
from lapwing.datasets import clinic_csv


def test_a_statement_is_one_page_of_paper_after_one_charge_and_after_many(
    chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic = lw.open(
        clinic_csv(),
        unit="patient",
        bounds={"age": (0, 120)},
        keys={"region": ["North", "South", "East", "West", "Coast", "Islands"]},
        allowance=lw.PureDP(20, unit="patient"),
        ledger=(ledger := lw.Ledger(tmp_path / "ledger.db")),
        dataset="clinic",
    )
    monkeypatch.setattr("time.time", lambda: 1_700_000_000.0)
    answer = clinic.group_by("region").agg(lw.count(), lw.mean("age", name="age")).release(epsilon=0.1)
    page, pages = chromium.new_page(), {}
    for charges in (1, 5, 140):
        for day in range(len(ledger.history("clinic")), charges):
            monkeypatch.setattr("time.time", lambda day=day: 1_700_000_000.0 + 86_400 * day)
            ledger.charge("clinic", lw.PureDP(0.1, unit="patient"))
        page.set_content(answer.statement(ledger, owner="The clinic").to_html())
        for paper in ("A4", "Letter"):
            pages[charges, paper] = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format=paper)))
    page.close()
    assert set(pages.values()) == {1}, pages
