"""Data sets that come with the lab: three are invented, and one is old and public, so teaching mode is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing import datasets
from lapwing.datasets.helpline import LONGEST, PLACES, TOPICS
from lapwing.web.lab.engine import engine, quoted, text
from lapwing.web.lab.intake import FileColumn, Intake
from lapwing.web.lab.statement import StatedColumn, Statement, Type

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
    def taken(self) -> Intake:
        """As if it had been brought."""
        return Intake(tuple(FileColumn(column.name, column.type) for column in self.statement.columns))

    def write(self, path: Path) -> None:
        """The rows as a Parquet file."""
        columns, types = self.rows(), {column.name: column.type for column in self.statement.columns}
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
        StatedColumn("patient", "integer"),
        StatedColumn("region", "text", keys=("North", "South", "East", "West", "Coast", "Islands")),
        StatedColumn("age", "integer", (0, 100)),
        StatedColumn("smoker", "boolean", keys=_YES_NO),
        StatedColumn("visits", "integer", (0, 20)),
        StatedColumn("cost", "number", (0, 2000)),
    ),
)
_ADULT = Statement(
    name="census",
    people=48_842,
    epsilon=3.0,
    teaching=True,
    columns=(
        StatedColumn("age", "integer", datasets.ADULT_BOUNDS["age"]),
        StatedColumn(
            "workclass",
            keys=(
                *("Private", "Self-emp-not-inc", "Self-emp-inc", "Federal-gov", "Local-gov", "State-gov"),
                *("Without-pay", "Never-worked"),
            ),
        ),
        StatedColumn(
            "education",
            keys=(
                *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad"),
                *("Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
            ),
        ),
        StatedColumn("education_num", "integer", datasets.ADULT_BOUNDS["education_num"]),
        StatedColumn(
            "marital_status",
            keys=(
                *("Never-married", "Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"),
                *("Separated", "Divorced", "Widowed"),
            ),
        ),
        StatedColumn("occupation"),
        StatedColumn(
            "relationship", keys=("Husband", "Wife", "Own-child", "Not-in-family", "Other-relative", "Unmarried")
        ),
        StatedColumn("race", keys=("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")),
        StatedColumn("sex", keys=("Female", "Male")),
        StatedColumn("capital_gain", "integer", datasets.ADULT_BOUNDS["capital_gain"]),
        StatedColumn("capital_loss", "integer", datasets.ADULT_BOUNDS["capital_loss"]),
        StatedColumn("hours_per_week", "integer", datasets.ADULT_BOUNDS["hours_per_week"]),
        StatedColumn("native_country"),
        StatedColumn("income", keys=("<=50K", ">50K")),
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
        StatedColumn("person", "integer"),
        StatedColumn("sex", keys=("female", "male")),
        StatedColumn("birth_date", "date"),
        StatedColumn("age", "integer", (0, 110)),
        StatedColumn("household", "integer"),
        StatedColumn("postcode"),
        StatedColumn("marital_status", keys=("single", "married", "divorced", "widowed")),
        StatedColumn("education", keys=("school", "high school", "trade", "degree", "doctorate")),
        StatedColumn("occupation"),
        StatedColumn("income", "integer", (0, 200_000)),
        *(
            StatedColumn(illness, "boolean", keys=_YES_NO)
            for illness in ("smoker", "hypertension", "diabetes", "asthma", "depression", "heart_disease", "cancer")
        ),
    ),
)
_HELPLINE = Statement(
    name="calls",
    unit="caller",
    max_rows_per_unit=8,
    people=4000,
    epsilon=3.0,
    teaching=True,
    columns=(
        StatedColumn("caller", "integer"),
        StatedColumn("day", "date"),
        StatedColumn("region", keys=tuple(PLACES)),
        StatedColumn("town", keys=tuple(town for towns in PLACES.values() for town in towns)),
        StatedColumn("topic", keys=TOPICS),
        StatedColumn("minutes", "integer", (0, LONGEST)),
    ),
)
EXAMPLES = {
    example.slug: example
    for example in (
        Example(
            "clinic",
            "A clinic",
            "3,000 patients of an imaginary clinic: region, age, smoking, visits and costs. The table is small, so the "
            "noise is easy to see.",
            _CLINIC,
            datasets.clinic,
            "datasets.clinic()",
        ),
        Example(
            "adult",
            "A census",
            "48,842 people from a survey of the US Census Bureau in 1994 (UCI Adult, by Becker and Kohavi, CC BY 4.0): "
            "work, schooling, and who earned more than 50,000 dollars.",
            _ADULT,
            datasets.adult,
            "datasets.adult()",
        ),
        Example(
            "town",
            "A town",
            "20,000 people of an imaginary town with birth dates, postcodes and illnesses. The list of its "
            "postcodes and occupations is left open, so you can find it privately.",
            _TOWN,
            _town,
            '{"person": range(1, 20_001), **datasets.town(20_000).people}',
        ),
        Example(
            "helpline",
            "A helpline",
            "A year of calls by 4,000 imaginary people: day, region, town, topic and minutes. Use it for "
            "running totals, and for counts of towns that add up to their regions.",
            _HELPLINE,
            datasets.helpline,
            "datasets.helpline()",
        ),
    )
}
