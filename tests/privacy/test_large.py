"""An epsilon above 20 is warned about, wherever it is written."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.errors import WeakPrivacyWarning


def test_an_epsilon_above_twenty_warns(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("who\n1\n2\n")
    question = lw.open(tmp_path / "visits.csv", unit="who").agg(lw.count())
    ledger = lw.Ledger(tmp_path / "ledger.db")
    for large in (
        lambda: question.quote(epsilon=21),
        lambda: question.release(epsilon=21),
        lambda: question.release(rho=10),
        lambda: ledger.open("visits", lw.PureDP(21)),
        lambda: ledger.open("others", lw.ZCDP(10)),
    ):
        with pytest.warns(WeakPrivacyWarning, match="more than 99 % sure"):
            large()


def test_up_to_twenty_nobody_is_warned(tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger.open("visits", lw.PureDP(20))
        ledger.open("others", lw.ZCDP(1))
