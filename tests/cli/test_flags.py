"""What errors of the library say about keywords becomes flags; SQL and what somebody wrote stay as they are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lapwing.cli import flags
from lapwing.errors import InvalidParameter, LapwingError, UnsupportedQuery

NAMES = (
    "unit", "each_row", "bounds", "keys", "types", "late", "epsilon", "rho", "allowance", "max_rows_per_unit", "names"
)  # fmt: skip


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InvalidParameter("late", "x", "is wrong", "Write late='drop'."), "--late = 'x': is wrong. Write --late drop."),
        (InvalidParameter("rho", None, "is missing", "Write rho=0.1."), "--rho: is missing. Write --rho 0.1."),
        (InvalidParameter("most", 0, "is wrong", "See rho=."), "most = 0: is wrong. See --rho."),
        (InvalidParameter("x", 1, "y", "Write epsilon=1, or within=5."), "x = 1: y. Write --epsilon 1."),
        (InvalidParameter("x", "unit='a'", "y", "unit=lw.EACH_ROW"), "x = \"unit='a'\": y. --each-row"),
        (InvalidParameter("x", 1, "y", "bounds={'age': (0, 100)}"), "x = 1: y. --bounds age=0:100"),
        (InvalidParameter("x", 1, "y", "keys={'a': ['N', 'S']}"), "x = 1: y. --keys a=N,S"),
        (InvalidParameter("x", 1, "y", "Write names=['a', 'b']."), "x = 1: y. Write --names a,b."),
        (InvalidParameter("x", 1, "y", "names=['first name', 'b']."), "x = 1: y. --names 'first name,b'."),
        (InvalidParameter("x", 1, "y", "keys={'a': ['New York', 'S']}"), "x = 1: y. --keys 'a=New York,S'"),
        (InvalidParameter("x", 1, "y", "bounds={'größe': (0, 9)}"), "x = 1: y. --bounds größe=0:9"),
        (InvalidParameter("names", list("abc"), "y", "Write a."), "--names = ['a', 'b', 'c']: y. Write a."),
        (InvalidParameter("names", list("abcdefghijkl"), "y", "Write names=['a']."), "--names: y. Write --names a."),
        (InvalidParameter("rho", Fraction(1, 4), "y", "Write rho=1."), "--rho = 0.25: y. Write --rho 1."),
        (InvalidParameter("x", 1, "y", "Write allowance=lw.ZCDP(1)."), "x = 1: y. Write --allowance rho=1."),
        (
            InvalidParameter("x", 1, "y", "Write lw.ApproxDP(3, 1e-05, unit='who') or allowance=lw.ApproxDP(3, 1e-5)."),
            "x = 1: y. Write --allowance epsilon=3,delta=1e-05,unit=who or --allowance epsilon=3,delta=1e-5.",
        ),
        (InvalidParameter("x", 1, "y", "Lower max_rows_per_unit."), "x = 1: y. Lower --max-rows-per-unit."),
        (UnsupportedQuery("unit='Bob'", "no", "Write unit='id'."), "unit='Bob': no. Write --unit id."),
    ],
)
def test_keywords_become_flags(error: LapwingError, said: str) -> None:
    assert flags.spoken(error) == str(error)
    with flags.options(NAMES):
        assert flags.spoken(error) == said
