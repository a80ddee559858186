"""Counting the report files of a batch: in this process, or on a Spark cluster. Both give the same integers.

A cluster reads files from a place that all its machines share, so reports are copied there for as long as they are
counted. They are private before they are sent, and lie there without ids, times and order: whoever reads that place
learns what the aggregator learns. Whoever can *write* there can change the counts.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from lapwing.crowd import Counts, Reports
from lapwing.crowd.protocol import Protocol
from lapwing.errors import MissingExtra

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Counting = Callable[[Protocol, Sequence[Path]], Counts]
"""The counts of all reports in some files."""
GROUP_BITS = 1 << 29
"""Of reports that are added at once: 64 MB. Adding a few to a large sketch takes as long as adding many."""


def counted_here(protocol: Protocol, paths: Iterable[Path]) -> Counts:
    """One table, one group of files at a time."""
    total, held, bits = protocol.empty(), list[Reports](), 0
    for path in paths:
        reports = Reports.from_bytes(protocol, path.read_bytes())
        held.append(reports)
        bits += reports.n * reports.bits_each
        if bits >= GROUP_BITS:
            total, held, bits = total.add(Reports.together(held)), [], 0
    return total.add(Reports.together(held)) if held else total


@dataclass(frozen=True, slots=True)
class Cluster:
    """Counts with Spark. `shared` is a folder that the driver and all workers see under this name."""

    master: str
    shared: Path

    def __call__(self, protocol: Protocol, paths: Sequence[Path]) -> Counts:
        return counted_on(self._session(), self.shared, protocol, paths)

    def _session(self) -> SparkSession:
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtra("pyspark", "spark") from None
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers refuse another version than the driver's
        builder = SparkSession.builder.appName("lapwing collect").master(self.master)
        return builder.config("spark.log.level", "OFF").getOrCreate()  # what failing tasks log may quote a report


def counted_on(session: SparkSession, shared: Path, protocol: Protocol, paths: Sequence[Path]) -> Counts:
    """Copy the reports to the shared folder as Parquet, let the cluster count them, and remove the copy."""
    from lapwing.crowd.spark import absorb, write_reports

    if not paths:
        return protocol.empty()
    copy = Path(mkdtemp(prefix="batch-", dir=shared))
    try:
        for number, path in enumerate(paths):
            write_reports(Reports.from_bytes(protocol, path.read_bytes()), copy / f"{number}.parquet")
        return absorb(protocol, session.read.parquet(copy.resolve().as_uri()))
    finally:
        shutil.rmtree(copy, ignore_errors=True)
