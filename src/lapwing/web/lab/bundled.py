"""Tables to begin with: nobody exists in two of them, and the third is old and public, so teaching mode is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing import datasets
from lapwing.web.lab.engine import engine, quoted, text
from lapwing.web.lab.intake import Found, Taken
from lapwing.web.lab.statement import Stated, Statement, Type

Columns = Mapping[str, list[Any]]
_SQL_TYPES: Mapping[Type, str] = {
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}
_YES_NO = ("true", "false")


@dataclass(frozen=True, slots=True)
class Example:
    """A bundled table: what it is, its statement, and its rows."""

    slug: str
    title: str
    about: str
    statement: Statement
    rows: Callable[[], Columns]
    code: str
    """The same as Python, for scripts."""

    @property
    def taken(self) -> Taken:
        """As if it had been brought."""
        return Taken(tuple(Found(one.name, one.type) for one in self.statement.columns))

    def write(self, path: Path) -> None:
        """The rows as a Parquet file."""
        columns, types = self.rows(), {one.name: one.type for one in self.statement.columns}
        lists = ", ".join(f"unnest(?::{_SQL_TYPES[kind]}[]) AS {quoted(name)}" for name, kind in types.items())
        with engine(path.parent) as connection:
            connection.execute(
                f"COPY (SELECT {lists}) TO {text(str(path))} (FORMAT parquet, COMPRESSION zstd)",
                [columns[name] for name in types],
            )


def _town() -> Columns:
    people = datasets.town(20_000).people
    return {"person": list(range(1, len(people["age"]) + 1)), **people}


_CLINIC = Statement(
    name="patients",
    unit="patient",
    people=3000,
    epsilon=3.0,
    teaching=True,
    columns=(
        Stated("patient", "integer"),
        Stated("region", "text", keys=("North", "South", "East", "West", "Coast", "Islands")),
        Stated("age", "integer", (0, 100)),
        Stated("smoker", "boolean", keys=_YES_NO),
        Stated("visits", "integer", (0, 20)),
        Stated("cost", "number", (0, 2000)),
    ),
)
_ADULT = Statement(
    name="census",
    people=48_842,
    epsilon=3.0,
    teaching=True,
    columns=(
        Stated("age", "integer", datasets.ADULT_BOUNDS["age"]),
        Stated(
            "workclass",
            keys=(
                *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
                *("Without-pay", "Never-worked"),
            ),
        ),
        Stated(
            "education",
            keys=(
                *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad"),
                *("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
            ),
        ),
        Stated("education_num", "integer", datasets.ADULT_BOUNDS["education_num"]),
        Stated(
            "marital_status",
            keys=(
                *("Never-married", "Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"),
                *("Separated", "Divorced", "Widowed"),
            ),
        ),
        Stated("occupation"),
        Stated("relationship", keys=("Husband", "Wife", "Own-child", "Not-in-family", "Other-relative", "Unmarried")),
        Stated("race", keys=("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")),
        Stated("sex", keys=("Female", "Male")),
        Stated("capital_gain", "integer", datasets.ADULT_BOUNDS["capital_gain"]),
        Stated("capital_loss", "integer", datasets.ADULT_BOUNDS["capital_loss"]),
        Stated("hours_per_week", "integer", datasets.ADULT_BOUNDS["hours_per_week"]),
        Stated("native_country"),
        Stated("income", keys=("<=50K", ">50K")),
    ),
)
_TOWN = Statement(
    name="people",
    unit="person",
    people=20_000,
    epsilon=3.0,
    delta=1e-6,
    teaching=True,
    columns=(
        Stated("person", "integer"),
        Stated("sex", keys=("female", "male")),
        Stated("birth_date", "date"),
        Stated("age", "integer", (0, 110)),
        Stated("household", "integer"),
        Stated("postcode"),
        Stated("marital_status", keys=("single", "married", "divorced", "widowed")),
        Stated("education", keys=("school", "high school", "trade", "degree", "doctorate")),
        Stated("occupation"),
        Stated("income", "integer", (0, 200_000)),
        *(
            Stated(illness, "boolean", keys=_YES_NO)
            for illness in ("smoker", "hypertension", "diabetes", "asthma", "depression", "heart_disease", "cancer")
        ),
    ),
)
EXAMPLES = {
    one.slug: one
    for one in (
        Example(
            "clinic",
            "A clinic",
            "3,000 patients of an imaginary clinic: region, age, smoking, visits and costs. Small, so noise shows.",
            _CLINIC,
            datasets.clinic,
            "datasets.clinic()",
        ),
        Example(
            "adult",
            "A census",
            "48,842 people of the United States census of 1994 (UCI Adult, by Becker and Kohavi, CC BY 4.0): work, "
            "schooling, and who earned more than 50,000 dollars.",
            _ADULT,
            datasets.adult,
            "datasets.adult()",
        ),
        Example(
            "town",
            "A town",
            "20,000 people of an imaginary town with birth dates, postcodes and illnesses. Its postcodes and "
            "occupations are not stated, so that you can find them privately.",
            _TOWN,
            _town,
            '{"person": range(1, 20_001), **datasets.town(20_000).people}',
        ),
    )
}
