"""Data sets to try things on: an invented clinic, town and helpline, UCI Adult, and chickenpox cases in Hungary.

UCI Adult is an old public extract of a census. The chickenpox cases are counts by week and county.
tools/make_clinic.py made the clinic from a fixed seed. tools/make_adult.py and tools/make_chickenpox.py packed two
others from their published files. The town and the calls of the helpline are drawn when they are asked for.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path
from typing import Any

from lapwing.datasets.census import ADULT_BOUNDS, adult, adult_file
from lapwing.datasets.chickenpox import REGIONS, chickenpox, chickenpox_file
from lapwing.datasets.helpline import helpline
from lapwing.datasets.town import Town, town

__all__ = [
    "ADULT_BOUNDS",
    "REGIONS",
    "Town",
    "adult",
    "adult_file",
    "chickenpox",
    "chickenpox_file",
    "clinic",
    "clinic_csv",
    "helpline",
    "town",
]


def clinic() -> dict[str, list[Any]]:
    """Three thousand patients of an invented clinic.

    Each patient has one row. The columns map to lists of whole numbers, words, truth values and floats.

    Returns:
        The columns `patient`, `region`, `age`, `smoker`, `visits` and `cost`.

    >>> people = clinic()
    >>> list(people), len(people["age"])
    (['patient', 'region', 'age', 'smoker', 'visits', 'cost'], 3000)
    >>> people["smoker"][0]
    False
    """
    with clinic_csv().open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    kinds = {"patient": int, "region": str, "age": int, "smoker": "1".__eq__, "visits": int, "cost": float}
    return {column: [kind(row[column]) for row in rows] for column, kind in kinds.items()}  # type: ignore[operator]


def clinic_csv() -> Path:
    """The file with the patients of `clinic`: comma-separated, one line for each patient under a header.

    Returns:
        Where the file lies in the installed package.

    >>> clinic_csv().name
    'clinic.csv'
    """
    return Path(str(files("lapwing") / "datasets" / "clinic.csv"))
