"""The tables that are asked about, made once for each run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

GROUPS = 1000
PER_UNIT = 10
BLOCK = 2_500_000


def visits(path: Path, rows: int, *, text: bool = False) -> None:
    """A Parquet file: a tenth as many units as rows, 1000 groups that follow Zipf's law, a value from 0 to 100."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(1)
    weights = 1 / np.arange(1, GROUPS + 1)
    edges = np.cumsum(weights / weights.sum())
    writer = None
    for start in range(0, rows, BLOCK):
        size = min(BLOCK, rows - start)
        units = generator.integers(0, rows // PER_UNIT, size)
        groups = np.minimum(np.searchsorted(edges, generator.random(size)), GROUPS - 1).astype(np.int32)
        table = pa.table(
            {
                "unit": np.char.mod("u%08d", units) if text else units,
                "grp": groups,
                "value": generator.random(size) * 100,
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def visits_csv(path: Path, rows: int) -> None:
    """The same as text, about 30 bytes a row."""
    import duckdb

    packed = path.with_suffix(".parquet")
    visits(packed, rows)
    duckdb.execute(f"COPY (FROM '{packed}') TO '{path}' (HEADER)")
    packed.unlink()


def values(rows: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """A column of doubles about 50."""
    return np.random.default_rng(1).normal(50, 10, rows)
