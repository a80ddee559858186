"""Columns of pandas, and the odd cells for which pandas makes another type of a whole column."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pandas as pd  # type: ignore[import-untyped]

dice = random.Random(2)
NANOSECONDS = pd.Timestamp("2026-02-25 23:59:59.999999600")
TYPED = {
    "int64": pd.Series([0, 1, 17, -(2**63), 10**18 + 1], dtype="int64"),
    "uint64": pd.Series([0, 1, 17, 2**64 - 1], dtype="uint64"),
    "int8": pd.Series([0, 1, 17], dtype="int8"),
    "float64": pd.Series([0.0, 1.0, 17.0, 2.5, 1e22, 1e-7, -1e300, *(dice.random() for _ in range(9))]),
    "float32": pd.Series([0.1, 2.5, 17.0, 1e10], dtype="float32"),
    "bool": pd.Series([True, False]),
    "moments": pd.Series([NANOSECONDS, pd.Timestamp("1969-12-31 23:59:59.9999996"), pd.NaT]),
    "zoned": pd.Series([pd.Timestamp("2026-02-26 00:30", tz="Europe/Berlin"), pd.NaT]),
    "words": pd.Series(["17", " 2.5 ", "1,5", "1.234,5", "ja", "yes", "2026-02-26T10:30:00.5+02", "31.12.2026", "é"]),
    "category": pd.Series(["17", "ja", "17"], dtype="category"),
    "wholes": pd.Series([17, None, 1], dtype="Int64"),
}
"""Columns as pandas makes them where every cell is of one type."""
NOTATIONS: dict[str, dict[str, Any]] = {
    "points": {},
    "commas": {"decimal": ",", "true": "ja", "false": "nein"},
    "thousands": {"thousands": ","},
    "missing": {"missing": ["17", "2.5", "ja", "true", "n/a", "2026-02-26"]},
}
ODD: list[Any] = ["n/a", pd.NA, pd.NaT, True, 1j, 10**30, Decimal("0.5"), dt.datetime(2026, 2, 26, 10, 30)]
"""Cells of other types."""
