"""The numbers of the uniqueness experiment.

All of it is a sweep: `make test` has the small run of tests/experiments/test_experiments.py.
"""

from __future__ import annotations

import math
from functools import lru_cache

import pytest

from lapwing.experiments.experiment import Row, select
from lapwing.experiments.uniqueness import EXACT, OTHERS, PRECISIONS, RELEASES, UNIQUENESS

SIZES = (100, 1_000, 10_000)


@lru_cache(maxsize=1)
def rows() -> list[Row]:
    return UNIQUENESS.rows(people=40_000, sizes=SIZES, areas=10)


def unique(release: str) -> float:
    return float(select(rows(), what="release", released=release, others="nobody")[0]["share"])


@pytest.mark.sweep
@pytest.mark.parametrize("release", RELEASES)
def test_the_groups_of_a_release_are_all_people(release: str) -> None:
    shares = [select(rows(), what="release", released=release, others=others)[0]["share"] for others in OTHERS]
    assert math.fsum(shares) == pytest.approx(1)
    assert min(shares) >= 0


@pytest.mark.sweep
def test_most_people_are_unique_by_sex_postcode_and_birth_date_as_in_the_united_states() -> None:
    assert 0.63 <= unique(EXACT) <= 0.87


@pytest.mark.sweep
def test_less_exact_releases_make_fewer_people_unique_and_another_column_more() -> None:
    assert unique("sex, district, year of birth") <= unique("sex, district, month of birth")
    assert unique("sex, district, month of birth") < unique("sex, district, birth date") < unique(EXACT)
    assert unique("sex, postcode, year of birth") < 0.01
    assert unique("sex, postcode, year of birth") < unique("sex, postcode, month of birth") < unique(EXACT)
    assert unique("sex, postcode, year of birth, occupation") > 10 * unique("sex, postcode, year of birth")
    assert unique("sex, postcode, birth date, occupation") > unique(EXACT)


@pytest.mark.sweep
@pytest.mark.parametrize("released", PRECISIONS)
def test_the_theory_agrees_with_what_is_measured_but_for_twins(released: str) -> None:
    for size in SIZES:
        found = select(rows(), what="area", released=released, people=size)[0]["share"]
        near = min(
            select(rows(), what="theory", released=released), key=lambda row: abs(math.log(row["people"] / size))
        )
        assert near["people"] == pytest.approx(size, rel=0.01)
        assert found == pytest.approx(near["share"], abs=0.03)


@pytest.mark.sweep
def test_larger_areas_hide_people() -> None:
    for released in PRECISIONS:
        shares = [row["share"] for row in select(rows(), what="area", released=released)]
        assert shares == sorted(shares, reverse=True)


@pytest.mark.sweep
def test_the_picture_and_the_page_are_made_from_the_rows() -> None:
    figure = UNIQUENESS.draw(rows())
    assert len(figure.axes) == 2
    page = UNIQUENESS.page(rows())
    assert f"{100 * unique(EXACT):.0f} % of the people alone" in page
