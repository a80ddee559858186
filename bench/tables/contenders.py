"""How everybody answers: count, sum and mean per group after bounding, a histogram, a median.

Floors are the same question without noise, as an engineer would write it for that engine; who is called a peer adds
noise through its own library, after the bounding of the Polars floor where it has none of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

GROUPS, ROWS, LOW, HIGH = 4, 2, 0, 100
KEYS = 1000
EPSILON = 1.0
REPEATS = 15
"""How often everybody draws noise when errors are compared."""
EDGES = np.linspace(0, 100, 1001)

Errors = dict[str, float]
Run = Callable[[], Any]


def _question(path: str, memory: str | None = None) -> Any:
    import lapwing as lw

    table = lw.open(
        path,
        unit="unit",
        bounds={"value": (LOW, HIGH)},
        keys={"grp": range(KEYS)},
        complete=["value"],
        max_groups_per_unit=GROUPS,
        max_rows_per_group=ROWS,
        memory=memory,
        name="visits",
    )
    return table.group_by("grp").agg(lw.count(), lw.sum("value"), lw.mean("value"))


def lapwing_groups(path: str, memory: str | None = None) -> Run:
    """Through the front door."""
    query = _question(path, memory)
    return lambda: query.release(epsilon=EPSILON)


def lapwing_errors(path: str) -> Errors:
    """The same rows selected twice by the same salt, with noise and without."""
    from lapwing.noise import Reproducible

    query = _question(path)
    names = ("count", "sum_value", "mean_value")
    off: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(REPEATS):
        noisy, exact = (
            query.release(epsilon=epsilon, entropy=Reproducible(seed)).table for epsilon in (EPSILON, 10**15)
        )
        for name in names:
            off[name] += [abs(a - b) for a, b in zip(noisy[name], exact[name], strict=True)]
    return {name: float(np.median(errors)) for name, errors in off.items()}


def duckdb_groups(path: str) -> Run:
    """Two window functions, rows at random."""
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": False})
    statement = f"""
        SELECT grp, COUNT(*), SUM(v), AVG(v) FROM (
            SELECT grp, LEAST(GREATEST(value, {LOW}), {HIGH}) AS v,
                DENSE_RANK() OVER (PARTITION BY unit ORDER BY hash(unit, grp)) AS group_rank,
                ROW_NUMBER() OVER (PARTITION BY unit, grp ORDER BY draw) AS row_rank
            FROM (SELECT *, random() AS draw FROM '{path}' WHERE unit IS NOT NULL AND grp BETWEEN 0 AND {KEYS - 1}))
        WHERE group_rank <= {GROUPS} AND row_rank <= {ROWS} GROUP BY grp"""
    return lambda: connection.execute(statement).fetchall()


def _polars(path: str) -> Any:
    import polars as pl

    return (
        pl.scan_parquet(path)
        .filter(pl.col("unit").is_not_null() & pl.col("grp").is_between(0, KEYS - 1))
        .with_columns(v=pl.col("value").clip(LOW, HIGH), group_hash=pl.struct("unit", "grp").hash())
        .with_columns(draw=pl.int_range(pl.len()).shuffle())
        .filter(pl.col("draw").rank("ordinal").over("unit", "grp") <= ROWS)
        .filter(pl.col("group_hash").rank("dense").over("unit") <= GROUPS)
    )


def polars_groups(path: str) -> Run:
    """Ranks over windows, lazily."""
    import polars as pl

    totals = [pl.len().alias("n"), pl.col("v").sum().alias("s"), pl.col("v").mean().alias("m")]
    return lambda: _polars(path).group_by("grp").agg(*totals).collect()


def _pydp(values: Any) -> tuple[float, float]:
    """A noisy count and a noisy sum, each for half of the epsilon; the mean is their quotient."""
    from pydp.algorithms.laplacian import BoundedSum, Count

    bounds = {"l0_sensitivity": GROUPS, "linf_sensitivity": ROWS, "dtype": "float"}
    count = Count(EPSILON / 2, **bounds).quick_result(values)
    return count, BoundedSum(EPSILON / 2, lower_bound=LOW, upper_bound=HIGH, **bounds).quick_result(values)


def _pydp_lists(path: str) -> list[list[float]]:
    import polars as pl

    return _polars(path).group_by("grp").agg(pl.col("v")).collect()["v"].to_list()  # type: ignore[no-any-return]


def pydp_groups(path: str) -> Run:
    """PyDP's count and sum of every group, after bounding in Polars."""
    return lambda: [_pydp(values) for values in _pydp_lists(path)]


def pydp_errors(path: str) -> Errors:
    """How far PyDP is from the very lists it was given."""
    rows, lists = [], _pydp_lists(path)
    for values in lists * REPEATS:
        count, total = _pydp(values)
        exact = sum(values)
        mean = min(max(total / max(count, 1), LOW), HIGH)
        rows.append((abs(count - len(values)), abs(total - exact), abs(mean - exact / len(values))))
    return dict(zip(("count", "sum_value", "mean_value"), np.median(np.array(rows), axis=0).tolist(), strict=True))


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


def median_errors(make: Callable[[Any], Run], values: Any, draws: int) -> Errors:
    """The median over draws of how far it is off."""
    run, exact = make(values), float(np.median(values))
    return {"median": float(np.median([abs(run() - exact) for _ in range(draws)]))}


def polars_median(values: Any) -> Run:
    """The exact median."""
    import polars as pl

    column = pl.Series(values)
    return lambda: column.median()
