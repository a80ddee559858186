"""Report files of a batch: a Spark cluster counts the integers of one process, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from collecting import NOON, handed_in, running, segment
from typer.testing import CliRunner

from lapwing.cli.commands import app
from lapwing.collect import counting
from lapwing.collect.aggregator import Aggregator
from lapwing.collect.batches import Batch
from lapwing.collect.counting import Cluster, counted_here, counted_on
from lapwing.crowd import CountMeanSketch, Counts, Reports
from lapwing.crowd.protocol import Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SKETCH = CountMeanSketch(epsilon=4, functions=16, width=64)


def files(folder: Path, protocol: Protocol, sizes: list[int]) -> list[Path]:
    paths = [folder / f"{number}.reports" for number in range(len(sizes))]
    for path, size in zip(paths, sizes, strict=True):
        path.write_bytes(protocol.randomize(["bus"] * size).to_bytes())
    return paths


def one_by_one(protocol: Protocol, paths: list[Path]) -> Counts:
    total = protocol.empty()
    for path in paths:
        total = protocol.absorb(total, Reports.from_bytes(protocol, path.read_bytes()))
    return total


@pytest.mark.parametrize("bits", [1, 5_000, 1 << 29])
def test_groups_of_any_size_count_the_same(tmp_path: Path, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "GROUP_BITS", bits)
    paths = files(tmp_path, SKETCH, [3, 70, 0, 200, 1])
    assert counted_here(SKETCH, paths) == one_by_one(SKETCH, paths)
    assert counted_here(SKETCH, []) == SKETCH.empty()


def test_a_cluster_of_two_workers_counts_a_batch_as_one_process_does(spark: SparkSession, tmp_path: Path) -> None:
    shared, asked = tmp_path / "shared", list[int]()
    shared.mkdir()

    def on_the_cluster(protocol: Protocol, paths: list[Path]) -> Counts:
        asked.append(len(paths))
        return counted_on(spark, shared, protocol, paths)

    with running(tmp_path / "parties") as parties:
        parties.aggregator = Aggregator(
            parties.collection,
            tmp_path / "parties" / "aggregator",
            {1: parties.keys.reports},
            parties.keys.aggregator,
            counting=on_the_cluster,
            clock=lambda: NOON,
        )
        for answers in (["bus"] * 6, ["bike"] * 9, ["car"] * 5):
            handed_in(parties, segment(parties, answers).to_bytes())
        assert parties.aggregator.work() == 20
        assert parties.aggregator.close_batch() == 1
        paths = list((tmp_path / "parties" / "aggregator" / "reports").iterdir())
        expected = counted_here(parties.collection.protocol, paths)
        parties.aggregator.count_closed()
        [stored] = (tmp_path / "parties" / "aggregator" / "batches").glob("1-*.batch")
        assert Batch.from_bytes(parties.collection, stored.read_bytes()).counts == expected
        assert asked == [3]
        assert parties.aggregator.pass_on() == 1
    assert not list(shared.iterdir())
    assert counted_on(spark, shared, SKETCH, []) == SKETCH.empty()


def test_a_cluster_is_found_by_the_address_of_its_master(
    spark: SparkSession, spark_cluster: str, tmp_path: Path
) -> None:
    paths = files(tmp_path, SKETCH, [70, 0, 30])
    (tmp_path / "shared").mkdir()
    assert Cluster(spark_cluster, tmp_path / "shared")(SKETCH, paths) == one_by_one(SKETCH, paths)


def test_a_cluster_without_a_shared_folder_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["collect", "serve", "aggregator", str(tmp_path), "--spark", "spark://x:7077"])
    assert result.exit_code == 2
    assert "--shared" in result.output
