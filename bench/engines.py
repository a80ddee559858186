"""`python -m bench.engines`: bounding through Lapwing beside the same windows written by hand, on each engine.

Both take turns on the same table, so that a busy machine disturbs them alike; the median of the ratios counts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.tables import data
from bench.tables.contenders import EPSILON, GROUPS, HIGH, KEYS, LOW, ROWS

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
RESULTS = Path(__file__).parent / "results" / "engines.json"
TURNS = 3
LARGE, MIDDLE = 10_000_000, 5_000_000
HEAVY = 1_000_000
"""Rows of one unit among the others."""
Job = Callable[[], Any]


def by_hand(table: str, hashed: str, draw: str) -> str:
    """Two window functions, groups by a hash and rows at random, as an engineer would write them."""
    return f"""
        SELECT grp, COUNT(*), SUM(v), AVG(v) FROM (
            SELECT grp, LEAST(GREATEST(value, {LOW}), {HIGH}) AS v,
                DENSE_RANK() OVER (PARTITION BY unit ORDER BY {hashed}, grp) AS group_rank,
                ROW_NUMBER() OVER (PARTITION BY unit, grp ORDER BY draw) AS row_rank
            FROM (SELECT t.*, {draw} AS draw FROM {table} t WHERE unit >= 0 AND grp BETWEEN 0 AND {KEYS - 1}) d) r
        WHERE group_rank <= {GROUPS} AND row_rank <= {ROWS} GROUP BY grp"""


def ours(source: Any, **more: Any) -> Job:
    """Through the front door."""
    import lapwing as lw

    table = lw.open(
        source,
        unit="unit",
        bounds={"value": (LOW, HIGH)},
        keys={"grp": range(KEYS)},
        complete=["value"],
        max_groups_per_unit=GROUPS,
        max_rows_per_group=ROWS,
        **more,
    )
    query = table.group_by("grp").agg(lw.count(), lw.sum("value"), lw.mean("value"))
    return lambda: query.release(epsilon=EPSILON, progress=False)


@contextmanager
def in_duckdb(folder: Path) -> Iterator[tuple[Job, Job]]:
    """A Parquet file in which one unit has a million rows, beside the same number of rows without such a unit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    even, heavy = folder / "even.parquet", folder / "heavy.parquet"
    data.visits(even, LARGE)
    table = pq.read_table(even)
    units = table["unit"].to_numpy().copy()
    units[:HEAVY] = -1
    pq.write_table(table.set_column(0, "unit", pa.array(units)), heavy)
    yield ours(heavy), ours(even)


@contextmanager
def in_postgres(folder: Path) -> Iterator[tuple[Job, Job]]:
    """A server of our own, with its default settings."""
    import psycopg
    import pyarrow.parquet as pq
    from postgres import new_server  # type: ignore[import-not-found]

    data.visits(folder / "visits.parquet", MIDDLE)
    server = new_server()
    try:
        url = server.new_database()
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE visits (unit BIGINT, grp INTEGER, value DOUBLE PRECISION)")
            with connection.cursor().copy("COPY visits FROM STDIN") as copy:
                for batch in pq.ParquetFile(folder / "visits.parquet").iter_batches(100_000):
                    columns = [column.to_pylist() for column in batch.columns]
                    copy.write("".join(f"{u}\t{g}\t{v}\n" for u, g, v in zip(*columns, strict=True)))
            connection.execute("ANALYZE visits")
        statement = by_hand("visits", "hashint8(unit * 1000 + grp)", "random()")

        def plain() -> Any:
            with psycopg.connect(url) as connection:
                return connection.execute(statement.encode()).fetchall()

        yield ours(url, table="visits"), plain
    finally:
        server.stop("immediate")
        shutil.rmtree(server.folder)


@contextmanager
def in_spark(folder: Path) -> Iterator[tuple[Job, Job]]:
    """All cores of this machine in one process."""
    from pyspark.sql import SparkSession

    data.visits(folder / "visits.parquet", LARGE)
    builder = SparkSession.builder.master("local[*]").config("spark.driver.memory", "4g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    spark = builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()
    try:
        frame = spark.read.parquet(str(folder / "visits.parquet"))
        frame.createOrReplaceTempView("visits")
        statement = by_hand("visits", "xxhash64(unit, grp)", "rand()")
        yield ours(frame), lambda: spark.sql(statement).collect()
    finally:
        spark.stop()


CASES: dict[str, tuple[Callable[[Path], Any], float]] = {
    "DuckDB, 10 M rows: one unit with a million of them, over none": (in_duckdb, 1.2),
    "PostgreSQL, 5 M rows: Lapwing over windows by hand": (in_postgres, 1.5),
    "Spark, 10 M rows: Lapwing over windows by hand": (in_spark, 1.2),
}


def measure(make: Callable[[Path], Any], turns: int) -> list[tuple[float, float]]:
    """Seconds of both, turn by turn, after one run that warms up."""
    found = []
    with tempfile.TemporaryDirectory(prefix="lapwing-bench-") as folder, make(Path(folder)) as jobs:
        for turn in range(turns + 1):
            seconds = []
            for job in jobs:
                start = time.perf_counter()
                job()
                seconds.append(time.perf_counter() - start)
            if turn:
                found.append((seconds[0], seconds[1]))
    return found


def main() -> int:
    """Measure, show, save; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.engines")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose title has this")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    status = 0
    for title, (make, most) in CASES.items():
        if options.only not in title:
            continue
        pairs = measure(make, options.turns)
        ratio = statistics.median(one / other for one, other in pairs)
        met = ratio <= most
        status |= not met
        verdict = "met" if met else "[red]missed[/]"
        Console().print(f"{title}: {ratio:.2f}× (bar {most:g}×), {min(one for one, _ in pairs):.1f} s; {verdict}")
        results[title] = {"ratio": ratio, "bar": most, "seconds": pairs, "met": met}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
