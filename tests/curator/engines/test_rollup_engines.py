"""A rollup on every engine: the same integers before noise, from the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from everywhere import everywhere

import lapwing as lw
from lapwing.noise import Reproducible

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPSILON = 1e24
"""Large enough that no noise is left."""
ROWS = [(n % 40, "NS"[n % 2], "abc"[n % 3], n % 17, None if n % 5 == 0 else n * 0.5) for n in range(300)]
TYPES = {"who": "integer", "side": "text", "town": "text", "age": "integer", "cost": "number"}
SQL = "SELECT side, town, COUNT(*) AS n, SUM(cost) AS s, AVG(age) AS m FROM t GROUP BY ROLLUP (side, town)"


def test_a_rollup_has_the_same_integers_on_every_engine(postgres_url: str, spark: SparkSession) -> None:
    answers: dict[str, Any] = {}
    for engine, source in everywhere(ROWS, TYPES, postgres_url, spark).items():
        options: dict[str, Any] = {"keys": {"side": ["N", "S"], "town": ["a", "b", "c"]}}
        table = lw.open(
            **source, name="t", unit="who", bounds={"age": (0, 20), "cost": (0, 100)}, max_rows_per_unit=3, **options
        )
        answers[engine] = table.sql(SQL, epsilon=EPSILON, entropy=Reproducible(3)).columns
        secret = lw.open(**source, name="t", unit="who", max_rows_per_unit=1)
        shown = secret.hierarchy(["side", "town"], lw.count())
        answers[f"{engine}, secret"] = shown.release(epsilon=EPSILON, delta=1e-6, entropy=Reproducible(3)).columns
    assert answers["duckdb"] == answers["postgres"] == answers["spark"]
    assert answers["duckdb, secret"] == answers["postgres, secret"] == answers["spark, secret"]
    assert answers["duckdb"][2].values[0] == 120
