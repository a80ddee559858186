"""How everybody answers: count, sum and mean per group after bounding, a histogram, a median.

Floors are the same question without noise, as an engineer would write it for that engine; who is called a peer adds noise
through its own library, after the bounding of the Polars floor where it has none of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

GROUPS, ROWS, LOW, HIGH = 4, 2, 0, 100
KEYS = 1000
EPSILON = 1.0
EDGES = np.linspace(0, 100, 1001)

Result = dict[str, Any]
Run = Callable[[], Any]


def lapwing_groups(path: str, memory: str | None = None) -> Run:
    """Through the front door."""
    import lapwing as lw

    table = lw.open(
        path,
        unit="unit",
        bounds={"value": (LOW, HIGH)},
        keys={"grp": range(KEYS)},
        max_groups_per_unit=GROUPS,
        max_rows_per_group=ROWS,
        memory=memory,
        name="visits",
    )
    query = table.group_by("grp").agg(lw.count(), lw.sum("value"), lw.mean("value"))
    return lambda: {name: list(query.release(epsilon=EPSILON).table["mean_value"]) for name in ("mean",)}


def duckdb_groups(path: str) -> Run:
    """Two window functions."""
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": False})
    statement = f"""
        SELECT grp, COUNT(*), SUM(v), AVG(v) FROM (
            SELECT grp, LEAST(GREATEST(value, {LOW}), {HIGH}) AS v,
                DENSE_RANK() OVER (PARTITION BY unit ORDER BY hash(unit, grp)) AS group_rank,
                ROW_NUMBER() OVER (PARTITION BY unit, grp ORDER BY hash(value)) AS row_rank
            FROM '{path}')
        WHERE group_rank <= {GROUPS} AND row_rank <= {ROWS} GROUP BY grp"""
    return lambda: connection.execute(statement).fetchall()


def _polars(path: str) -> Any:
    import polars as pl

    return (
        pl.scan_parquet(path)
        .with_columns(v=pl.col("value").clip(LOW, HIGH), group_hash=pl.struct("unit", "grp").hash())
        .with_columns(row_hash=pl.col("value").hash())
        .filter(pl.col("row_hash").rank("ordinal").over("unit", "grp") <= ROWS)
        .filter(pl.col("group_hash").rank("dense").over("unit") <= GROUPS)
    )


def polars_groups(path: str) -> Run:
    """Ranks over windows, lazily."""
    import polars as pl

    totals = [pl.len().alias("n"), pl.col("v").sum().alias("s"), pl.col("v").mean().alias("m")]
    return lambda: _polars(path).group_by("grp").agg(*totals).collect()


def pydp_groups(path: str) -> Run:
    """PyDP's count, sum and mean of every group, after bounding in Polars."""
    import polars as pl
    from pydp.algorithms.laplacian import BoundedMean, BoundedSum, Count

    share = EPSILON / 3

    def run() -> Result:
        frame = _polars(path).group_by("grp").agg(pl.col("v")).collect()
        bounds = {"l0_sensitivity": GROUPS, "linf_sensitivity": ROWS, "dtype": "float"}
        means: dict[int, float] = {}
        for group, values in zip(frame["grp"].to_list(), frame["v"].to_list(), strict=True):
            Count(share, **bounds).quick_result(values)
            BoundedSum(share, lower_bound=LOW, upper_bound=HIGH, **bounds).quick_result(values)
            means[group] = BoundedMean(share, lower_bound=LOW, upper_bound=HIGH, **bounds).quick_result(values)
        return {"mean": [means.get(group, 50.0) for group in range(KEYS)]}

    return run


def lapwing_histogram(values: Any) -> Run:
    """A numpy column, every value a unit."""
    import lapwing as lw

    table = lw.open({"x": values}, unit=lw.EACH_ROW, bounds={"x": (LOW, HIGH)}, name="values")
    query = table.agg(lw.histogram("x", edges=EDGES.tolist()))
    return lambda: query.release(epsilon=EPSILON)


def numpy_histogram(values: Any) -> Run:
    """The floor: scale, cast, bincount."""
    return lambda: np.bincount((np.clip(values, LOW, HIGH) * 10).astype(np.int64), minlength=KEYS + 1)


def diffprivlib_histogram(values: Any) -> Run:
    """diffprivlib's histogram."""
    from diffprivlib import tools

    return lambda: tools.histogram(values, epsilon=EPSILON, bins=1000, range=(LOW, HIGH))


def lapwing_median(values: Any) -> Run:
    """A numpy column, every value a unit."""
    import lapwing as lw

    table = lw.open({"x": values}, unit=lw.EACH_ROW, bounds={"x": (LOW, HIGH)}, name="values")
    query = table.agg(lw.median("x"))
    return lambda: query.release(epsilon=EPSILON).value


def diffprivlib_median(values: Any) -> Run:
    """diffprivlib's median."""
    from diffprivlib import tools

    return lambda: float(tools.median(values, epsilon=EPSILON, bounds=(LOW, HIGH)))


def polars_median(values: Any) -> Run:
    """The exact median."""
    import polars as pl

    column = pl.Series(values)
    return lambda: column.median()
