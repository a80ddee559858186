"""Counting reports on a Spark cluster: the same integers as in one process, however the files are cut.

    Parquet   one row per batch of reports, column `reports`: the bytes of `Reports.to_bytes` (others are ignored)
    map       every task adds up what is in its batches, as it reads them, and passes on its table in slices of 1 MB
    merge     slices of the same place meet in two steps (first in branches of sixteen, then all) and are added up
    collect   one slice per place comes back to the driver

A task holds one table and one batch, whatever the number of reports. What failed tasks had counted is not used, so
every report counts once. Reports are private before they are sent, so nothing here is secret. Only the right to *write*
the files matters (see `Estimates.gain_per_fake`). The workers need Lapwing and pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod
from os import PathLike
from typing import TYPE_CHECKING

from lapwing.crowd.counts import Counts
from lapwing.crowd.protocol import Protocol
from lapwing.crowd.reports import Reports
from lapwing.crowd.threads import parts
from lapwing.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

BATCH_BYTES = 1 << 20
"""Of reports in a row that we write, about."""
SLICE = 1 << 17
"""Numbers that travel together: 1 MB."""
BRANCHES = 16
_ROWS_IN_A_GROUP = 8  # Spark reads a group of rows at once
_REFUSED = -1
_SCHEMA = "slice int, branch int, n long, numbers binary"


def write_reports(reports: Reports, path: str | PathLike[str]) -> None:
    """One Parquet file of batches, as `absorb` reads it; the bytes of a report are not changed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("pyarrow", "spark") from None
    size = max(1, 8 * BATCH_BYTES // reports.bits_each)
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False), pa.field("reports", pa.binary(), nullable=False)])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        for group in parts(len(reports), size * _ROWS_IN_A_GROUP):
            held = reports[group]
            rows = [held[part] for part in parts(len(held), size)]
            columns = [[row.n for row in rows], [row.to_bytes() for row in rows]]
            file.write_table(pa.table(columns, schema=schema), row_group_size=_ROWS_IN_A_GROUP)


def absorb(protocol: Protocol, frame: DataFrame, *, column: str = "reports") -> Counts:
    """What is counted in all the reports of a DataFrame; `protocol.absorb` in one process gives the same integers.

    As in `absorb(protocol, spark.read.parquet("reports/"))`.
    """
    import numpy as np

    slices = frame.select(column).mapInArrow(partial(_counted, protocol), _SCHEMA)
    for keys in (("slice", "branch"), ("slice",)):
        slices = slices.repartition(*keys).mapInArrow(_merged, _SCHEMA)
    numbers, n = np.zeros(prod(protocol.shape), dtype=np.int64), 0
    for row in slices.toLocalIterator():
        if row["slice"] == _REFUSED:
            why = f"{row['n']:,} of its batches are not reports of this protocol"
            raise InvalidParameter("frame", column, why, "Use the parameters the reports were made with.")
        n += row["n"]
        start = row["slice"] * SLICE
        numbers[start : start + SLICE] += np.frombuffer(row["numbers"], dtype="<i8")
    return Counts(protocol, n, numbers.reshape(protocol.shape))


def _counted(protocol: Protocol, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The table of one partition, in slices; batches of others are counted by themselves."""
    from pyspark import TaskContext

    context = TaskContext.get()
    branch = context.partitionId() % BRANCHES if context is not None else 0
    total, refused = protocol.empty(), 0
    for batch in batches:
        for value in batch.column(0):
            try:
                total = total.add(Reports.from_bytes(protocol, value.as_buffer()))
            except (InvalidParameter, TypeError):  # other bytes, or none at all
                refused += 1
    if refused:
        yield _row(_REFUSED, 0, refused, b"")
    if total.n:
        flat = total.table.ravel()
        for place, part in enumerate(parts(flat.size, SLICE)):
            yield _row(place, branch, total.n if place == 0 else 0, flat[part].astype("<i8").tobytes())


def _merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of the same slice and branch, added up as they come."""
    import numpy as np

    totals: dict[int, tuple[int, NDArray[np.int64]]] = {}
    for batch in batches:
        for place, n, held in zip(batch.column(0), batch.column(2), batch.column(3), strict=True):
            numbers = np.frombuffer(held.as_buffer(), dtype="<i8")
            before = totals.get(place.as_py())
            number, table = before if before is not None else (0, np.zeros(len(numbers), dtype=np.int64))
            table += numbers
            totals[place.as_py()] = (number + n.as_py(), table)
    for place, (number, table) in totals.items():
        yield _row(place, 0, number, table.astype("<i8").tobytes())


def _row(place: int, branch: int, n: int, numbers: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    types = (pa.int32(), pa.int32(), pa.int64(), pa.binary())
    columns = [pa.array([value], type=kind) for value, kind in zip((place, branch, n, numbers), types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=["slice", "branch", "n", "numbers"])
