"""Chickenpox cases in Hungary, reported each week from 2005 to 2014 in each of 20 counties: real counts, no people.

By Rozemberczki, Scherer, Kiss, Sarkar and Ferenci (2021), UCI Machine Learning Repository, doi 10.24432/C5103B,
licensed CC BY 4.0; chickenpox.LICENSE.txt beside the file says what was changed.
"""

from __future__ import annotations

import datetime as dt
from importlib.resources import files
from pathlib import Path
from typing import Any

REGIONS: dict[str, tuple[str, ...]] = {
    "Central Hungary": ("Budapest", "Pest"),
    "Central Transdanubia": ("Fejér", "Komárom-Esztergom", "Veszprém"),
    "Western Transdanubia": ("Győr-Moson-Sopron", "Vas", "Zala"),
    "Southern Transdanubia": ("Baranya", "Somogy", "Tolna"),
    "Northern Hungary": ("Borsod-Abaúj-Zemplén", "Heves", "Nógrád"),
    "Northern Great Plain": ("Hajdú-Bihar", "Jász-Nagykun-Szolnok", "Szabolcs-Szatmár-Bereg"),
    "Southern Great Plain": ("Bács-Kiskun", "Békés", "Csongrád"),
}
"""Hungary's statistical regions (NUTS 2) of those years, and the counties (NUTS 3) of each."""


def chickenpox() -> dict[str, list[Any]]:
    """Weekly chickenpox cases: the column `week` with the Monday of each week, and a column for each county.

    Returns:
        The columns by name: dates, and whole numbers of cases.

    >>> cases = chickenpox()
    >>> len(cases["week"]), str(cases["week"][0]), cases["Budapest"][0]
    (522, '2005-01-03', 168)
    """
    import lzma

    with lzma.open(chickenpox_file(), "rt", encoding="utf-8") as text:
        names, *rows = (line.rstrip("\n").split(",") for line in text)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    weeks = [dt.date.fromisoformat(week) for week in columns.pop("week")]
    return {"week": weeks, **{county: [int(number) for number in column] for county, column in columns.items()}}


def chickenpox_file() -> Path:
    """The file with the cases of `chickenpox`: comma-separated lines under a header, compressed with xz.

    Returns:
        Where the file lies in the installed package.

    >>> chickenpox_file().name
    'chickenpox.csv.xz'
    """
    return Path(str(files("lapwing") / "datasets" / "chickenpox.csv.xz"))
