"""A cluster counts the integers of one process, however the reports are spread over files and tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from lapwing.crowd import Counts, Reports, UnaryEncoding
from lapwing.crowd import spark as cluster
from lapwing.errors import InvalidParameter
from lapwing.noise import Reproducible

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL = UnaryEncoding.from_epsilon(epsilon=2, symmetric=True, domain=["bus", "bike", "car"])
WIDE = UnaryEncoding.from_epsilon(epsilon=2, domain=300_000)
"""Its table has three slices."""


def reports_of(protocol: UnaryEncoding, n: int, seed: int) -> Reports:
    return protocol.randomize(["bus", "car"] * (n // 2), Reproducible(seed))


def in_one_process(protocol: UnaryEncoding, parts: list[Reports]) -> Counts:
    return protocol.absorb(None, Reports.together(parts))


@pytest.fixture(scope="module")
def reports() -> list[Reports]:
    return [reports_of(POLL, n, seed) for seed, n in enumerate((20_000, 2, 6_000, 64))]


@pytest.fixture
def frame(spark: SparkSession, reports: list[Reports], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFrame:
    """Four files of many small batches."""
    monkeypatch.setattr(cluster, "BATCH_BYTES", 512)
    for number, part in enumerate(reports):
        cluster.write_reports(part, tmp_path / f"{number}.parquet")
    return spark.read.parquet(str(tmp_path))


def test_the_cluster_counts_what_one_process_counts(frame: DataFrame, reports: list[Reports]) -> None:
    assert frame.count() > 20
    counts = cluster.absorb(POLL, frame)
    assert counts.n == 26_066
    assert counts == in_one_process(POLL, reports)


@pytest.mark.parametrize("tasks", [1, 2, 7, 40])
def test_any_partitioning_gives_the_same_integers(frame: DataFrame, reports: list[Reports], tasks: int) -> None:
    assert cluster.absorb(POLL, frame.repartition(tasks)) == in_one_process(POLL, reports)


def test_tables_of_several_slices_are_put_together_in_order(spark: SparkSession, tmp_path: Path) -> None:
    parts = [reports_of(WIDE, 4, seed) for seed in range(3)]
    for number, part in enumerate(parts):
        cluster.write_reports(part, tmp_path / f"{number}.parquet")
    counts = cluster.absorb(WIDE, spark.read.parquet(str(tmp_path)))
    assert counts == in_one_process(WIDE, parts)
    assert len(np.unique(counts.table)) > 3


def test_batches_of_another_protocol_are_told_not_counted(spark: SparkSession, tmp_path: Path) -> None:
    other = UnaryEncoding.from_epsilon(epsilon=1, symmetric=True, domain=["bus", "bike", "car"])
    cluster.write_reports(reports_of(POLL, 100, 1), tmp_path / "ours.parquet")
    cluster.write_reports(reports_of(other, 100, 1), tmp_path / "theirs.parquet")
    with pytest.raises(InvalidParameter, match="1 of its batches are not reports of this protocol"):
        cluster.absorb(POLL, spark.read.parquet(str(tmp_path)))


def test_a_batch_that_is_missing_is_told_as_well(spark: SparkSession) -> None:
    rows: list[Any] = [(bytearray(reports_of(POLL, 10, 1).to_bytes()),), (None,)]
    with pytest.raises(InvalidParameter, match="1 of its batches"):
        cluster.absorb(POLL, spark.createDataFrame(rows, "arrived binary"), column="arrived")


def test_no_reports_are_empty_counts(spark: SparkSession) -> None:
    assert cluster.absorb(POLL, spark.createDataFrame([], "reports binary")) == POLL.empty()


def test_a_written_file_holds_the_bytes_of_the_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "BATCH_BYTES", 100)
    reports = reports_of(POLL, 5_000, 3)
    cluster.write_reports(reports, tmp_path / "reports.parquet")
    table = pq.read_table(tmp_path / "reports.parquet")
    batches = [Reports.from_bytes(POLL, row) for row in table["reports"].to_pylist()]
    assert table["n"].to_pylist() == [batch.n for batch in batches]
    assert len(batches) > 10
    assert Reports.together(batches) == reports
