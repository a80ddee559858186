"""A short, fixed part of `make fuzz`: whole plans over the whole language, on three engines; and bugs that it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import fuzzing
import pytest
import shrinking
from fuzzing import Broken
from mutants import MUTANTS, Mutant
from places import InDuckDB, InFiles, InPostgres, InSpark, Place

from lapwing.curator.plan.language import _OPERATORS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.filterwarnings("ignore")
CHEAP = (
    "a cell that is cast without a look",
    "one row more than was priced",
    "a file that forgets bounds",
    "people without a name",
)
"""Bugs that a few cases find."""


def hold(seeds: Iterable[int], places: list[Place], *, thorough: bool = True) -> Counter[str]:
    """Hold these cases against the laws, and show a small version of the first that breaks one."""
    seen: Counter[str] = Counter()
    for seed in seeds:
        case = fuzzing.case_of(seed)
        try:
            seen += fuzzing.run(case, places, thorough=thorough)
        except Broken as error:
            again = f"tools/fuzz.py --seed {seed} --cases 1"
            raise AssertionError(shrinking.report(case, shrinking.place_of(error, places), error, again)) from None
    return seen


def hold_in_files(seeds: Iterable[int], folder: Path) -> None:
    """Hold these cases against the laws in DuckDB, and in one kind of file for each."""
    forms = [InFiles(form, folder) for form in ("csv", "parquet", "arrow")]
    for seed in seeds:
        hold([seed], [InDuckDB(), *fuzzing.fitting(forms, fuzzing.case_of(seed))])


def test_the_laws_hold_in_duckdb_and_in_files(tmp_path: Path) -> None:
    hold_in_files(range(10, 30), tmp_path)


@pytest.mark.sweep
def test_the_laws_hold_more_often_in_duckdb_and_in_files(tmp_path: Path) -> None:
    hold_in_files([*range(10), *range(30, 60)], tmp_path)


def test_the_laws_hold_in_postgresql(postgres_url: str) -> None:
    with closing(InPostgres(postgres_url)) as place:
        hold(range(1000, 1010), [place], thorough=False)


@pytest.mark.sweep
def test_the_laws_hold_in_spark(spark: SparkSession) -> None:
    hold(range(2000, 2003), [InSpark(spark)], thorough=False)


def test_the_questions_are_in_the_whole_language() -> None:
    operators = set(_OPERATORS) - {"negate", "bin"}  # −x is 0 − x, and bins are those of a histogram
    nodes = {"Where", "Select", "JoinPublic inner", "JoinPublic left", "JoinUnit inner", "JoinUnit left", "Exists"}
    nodes |= {f"Combine {setting}" for setting in ("union", "union all", "intersect", "except")}
    totals = {f"per unit {total}" for total in ("count", "count distinct", "sum", "avg", "min", "max")}
    asked = ("count", "units", "count distinct", "sum", "mean", "variance", "std", "covariance", "correlation")
    words = {f"ask {kind}" for kind in (*asked, "quantile", "top")}
    shapes = {"no keys", "public keys", "secret keys", "everything else", "cap on rows", "cap on groups", "bin"}
    missing = operators | nodes | totals | words | shapes
    for seed in range(500):
        if missing:
            missing -= set(fuzzing.parts(fuzzing.case_of(seed).query))
    assert not missing


def is_found(mutant: Mutant, place: Place, patch: pytest.MonkeyPatch) -> bool:
    """Whether some case breaks a law while a bug is there."""
    fuzzing.world_of.cache_clear()
    mutant.inject(patch)
    for seed in range(mutant.cases):
        case = fuzzing.case_of(seed)
        if not fuzzing.fits(place, case) or (mutant.part and mutant.part not in set(fuzzing.parts(case.query))):
            continue
        try:
            fuzzing.run(case, [place], thorough=mutant.thorough)
        except Broken:
            return True
    return False


@pytest.mark.parametrize("name", CHEAP)
def test_a_bug_that_is_put_back_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_found(MUTANTS[name], InDuckDB(), monkeypatch)


@pytest.mark.sweep
@pytest.mark.timeout(1800)  # hundreds of cases, where the machine is busy
@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in CHEAP])
def test_every_bug_that_is_put_back_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    mutant, place = MUTANTS[name], InDuckDB()
    if mutant.engine == "postgres":
        place = InPostgres(request.getfixturevalue("postgres_url"))  # type: ignore[assignment]
        request.addfinalizer(place.close)  # type: ignore[attr-defined]
    elif mutant.engine == "spark":
        place = InSpark(request.getfixturevalue("spark"), "csv", tmp_path)  # type: ignore[assignment]
    assert is_found(mutant, place, monkeypatch)
