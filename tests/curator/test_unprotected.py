"""The answer without noise: what noisy answers lie around, for the owner only, and never to be taken for a release."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing.curator import Answer, Unprotected
from lapwing.curator.aggregates.sums import TOO_FEW
from lapwing.curator.ask.unprotected import _Rank
from lapwing.errors import InvalidParameter, UnsupportedQuery

EPSILON = 1e24
"""Large enough that no noise is left in whole numbers of steps."""
FRAME = pd.DataFrame(
    {
        "who": [f"p{n // 2}" for n in range(200)],
        "age": [n % 80 for n in range(200)],
        "pay": [None if n % 7 == 0 else 1.5 * n for n in range(200)],
        "town": ["ABCD"[n % 16 // 4] if n else "Z" for n in range(200)],
    }
)


def opened(**options: Any) -> lw.PrivateTable:
    return lw.open(
        FRAME,
        name="rows",
        unit="who",
        max_rows_per_unit=2,
        bounds={"age": (10, 60), "pay": (0, 200)},
        types={"pay": "number"},
        **options,
    )


QUESTIONS = {
    "numbers": "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(pay) AS m, COUNT(DISTINCT age) AS d FROM rows",
    "spreads": "SELECT STDDEV_POP(age) AS s, VAR_POP(pay) AS v, CORR(age, pay) AS c, GEOMEAN(age) AS g FROM rows",
    "groups": "SELECT town, AVG(age) AS m, COUNT(*) AS n FROM rows GROUP BY town HAVING n > 1 ORDER BY m DESC LIMIT 3",
    "nobody": "SELECT COUNT(*) AS n, SUM(age) AS s FROM rows WHERE age > 500",
}


@pytest.mark.parametrize("text", QUESTIONS.values(), ids=QUESTIONS)
def test_it_is_what_a_release_is_without_its_noise(text: str) -> None:
    query = opened(keys={"town": list("ABCDE")}).query(text)
    [plain, noisy] = query.unprotected(), query.release(epsilon=EPSILON)
    assert [column.name for column in plain.columns] == [column.name for column in noisy.columns]
    for exact, other in zip(plain.columns, noisy.columns, strict=True):
        assert exact.noise is exact.interval is None
        assert exact.note == other.note.partition(TOO_FEW.format(""))[0]
        if exact.is_key:
            assert exact.values == other.values
        else:
            assert exact.values == pytest.approx(other.values, rel=1e-12)


def test_values_outside_their_bounds_count_as_the_nearest_one() -> None:
    plain = opened().agg(lw.sum("age", name="s"), lw.mean("pay", name="m")).unprotected()
    assert plain["s"] == (FRAME["age"].clip(10, 60).sum(),)
    assert plain["m"][0] == pytest.approx(FRAME["pay"].clip(0, 200).mean(), abs=1e-5)


@pytest.mark.parametrize("column", ["age", "pay"])
@together("share", [0.01, 0.25, 0.5, 0.9, 0.999])
def test_a_quantile_is_the_smallest_value_that_the_share_lies_at_or_below(column: str, share: float) -> None:
    inside = FRAME[column].dropna().clip(*{"age": (10, 60), "pay": (0, 200)}[column])
    plain = opened().agg(lw.quantile(column, share, name="q")).unprotected()
    assert plain["q"][0] == pytest.approx(np.quantile(inside, share, method="inverted_cdf"), abs=1e-5)


def test_a_quantile_of_nothing_is_the_middle_of_its_bounds() -> None:
    assert opened().where("age > 500").agg(lw.median("age", name="m")).unprotected()["m"] == (35,)


def test_a_rank_is_found_whatever_the_cells_are() -> None:
    values = sorted([3, 3, 4, 9, 9, 9, 14, 15, 15, 21])
    for width in (1, 4, 8, 32):
        for numerator in range(1, 10):
            starts = sorted({value // width * width for value in values})
            cells = [(start, width, sum(start <= value < start + width for value in values)) for start in starts]
            rank = _Rank(cells, lw.mechanisms.Quantile(epsilon=1, bounds=(0, 31), q=numerator / 10)._share, 0)
            if rank.wanted is not None:
                inside = [v for v in values if rank.wanted.start <= v < rank.wanted.start + width]
                rank.refine(sorted(set(inside)), [inside.count(v) for v in sorted(set(inside))])
            assert rank.wanted is None
            assert rank.value == values[numerator - 1]


def test_of_secret_keys_those_of_one_unit_stay_secret() -> None:
    query = opened().group_by("town").agg(lw.count(name="n"))
    plain = query.unprotected()
    assert "Z" in set(FRAME["town"])
    assert plain["town"] == ("A", "B", "C", "D")
    assert plain["town"] == query.release(epsilon=EPSILON, delta=1e-9)["town"]


def test_the_most_frequent_keys_come_first() -> None:
    table = opened(keys={"age": list(range(80))})
    top = table.where("age < 40").agg(lw.top_k("age", 3, name="rank")).unprotected()
    assert top["age"] == (0, 1, 2)


def test_it_is_no_answer_and_says_so_first() -> None:
    plain = opened().agg(lw.count(name="n")).unprotected()
    assert isinstance(plain, Unprotected)
    assert not isinstance(plain, Answer)
    assert str(plain).startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in plain._repr_html_()
    assert not {"loss", "to_json", "to_csv", "provenance", "remaining"} & set(dir(plain))


def test_a_table_that_keeps_count_refuses_it_and_so_does_one_for_an_analyst(tmp_path: Path) -> None:
    counted = opened(ledger=tmp_path / "ledger.db", allowance=lw.PureDP(1))
    for table, name in ((counted, "ledger"), (opened(analyst="eve"), "analyst")):
        with pytest.raises(InvalidParameter, match=r"exact numbers|use up all of it") as refused:
            table.agg(lw.count()).unprotected()
        assert refused.value.name == name
    assert counted.remaining() == lw.PureDP(1, unit="who")


def test_releases_lie_around_it() -> None:
    query = opened().agg(lw.count(name="n"))
    [exact] = query.unprotected()["n"]
    draws = [query.release(epsilon=1)["n"][0] for _ in range(100)]
    assert abs(statistics.fmean(draws) - exact) < 5  # the scale of one is 2: of a mean of 100, far beyond 1e-6


def test_a_question_that_is_refused_is_refused_here_as_well() -> None:
    with pytest.raises(UnsupportedQuery):
        opened().agg(lw.mean("town")).unprotected()
