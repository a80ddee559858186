"""UCI Adult: 48,842 people from a survey of the US Census Bureau in 1994, and who earned more than 50,000 dollars.

The people are real and the data set is old and public. It is by Barry Becker and Ronny Kohavi (1996), UCI Machine
Learning Repository, doi 10.24432/C5XW20, licensed CC BY 4.0; adult.LICENSE.txt beside the file says what was changed.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

COLUMNS = {
    "age": int,
    "workclass": str,
    "fnlwgt": int,
    "education": str,
    "education_num": int,
    "marital_status": str,
    "occupation": str,
    "relationship": str,
    "race": str,
    "sex": str,
    "capital_gain": int,
    "capital_loss": int,
    "hours_per_week": int,
    "native_country": str,
    "income": str,
}

_SCHOOLING = (
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
)
"""The words of `education`, from `education_num` 1 on. The file holds the numbers alone."""
PACKED = tuple(name for name in COLUMNS if name != "education")
"""The columns of the file, after the part."""

ADULT_BOUNDS: dict[str, tuple[int, int]] = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 99_999),
    "hours_per_week": (1, 99),
}
"""Public bounds of the numeric columns of `adult`. They follow from the survey and not from the data.

The extract has people older than 16 who worked. The survey codes ages up to 90, hours with two digits and dollars with
five, and it has sixteen levels of schooling. The weight `fnlwgt` says how many people of the country a row stands for.
It is a number of the survey, not of the person, and has no bounds here.
"""


def adult(part: Literal["train", "test", "all"] = "all") -> dict[str, list[Any]]:
    """The people of UCI Adult, one row each, as columns.

    Args:
        part: `"train"` for the 32,561 people of the training part, `"test"` for the other 16,281, `"all"` for both.

    Returns:
        Fifteen columns by name, in the order of the published file. A value that the census did not know is None.

    Raises:
        InvalidParameter: If there is no such part.

    >>> people = adult("train")
    >>> len(people["age"]), people["age"][0], people["education"][0], people["income"][0]
    (32561, 39, 'Bachelors', '<=50K')
    >>> people["workclass"].count(None)
    1836
    """
    import bz2

    from lapwing.errors import InvalidParameter

    if part not in ("train", "test", "all"):
        raise InvalidParameter("part", part, "there is no such part", "Write part='train', 'test' or 'all'.")
    with bz2.open(adult_file(), "rt", encoding="ascii") as text:
        next(text)
        rows = (line.rstrip("\n").split(",") for line in text)
        _parts, *columns = zip(*(row for row in rows if part in ("all", row[0])), strict=True)
    fields = dict(zip(PACKED, columns, strict=True))
    fields["education"] = tuple(_SCHOOLING[int(number) - 1] for number in fields["education_num"])
    return {name: [kind(field) if field else None for field in fields[name]] for name, kind in COLUMNS.items()}


def adult_file() -> Path:
    """The file with the people of `adult`: comma-separated lines under a header, compressed with bzip2.

    It has no column `education`, whose words `adult` takes from `education_num`.

    Returns:
        Where the file lies in the installed package.

    >>> adult_file().name
    'adult.csv.bz2'
    """
    return Path(str(files("lapwing") / "datasets" / "adult.csv.bz2"))
