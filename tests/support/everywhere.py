"""The same table on every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DUCKDB = {"boolean": "BOOLEAN", "integer": "BIGINT", "number": "DOUBLE", "text": "VARCHAR", "timestamp": "TIMESTAMP"}
POSTGRES = {**DUCKDB, "number": "DOUBLE PRECISION", "text": "TEXT"}
SPARK = {**DUCKDB, "text": "STRING", "timestamp": "TIMESTAMP_NTZ"}

Rows = Sequence[Sequence[Any]]


def everywhere(
    rows: Rows, types: Mapping[str, str], postgres_url: str, spark: SparkSession, name: str = "t"
) -> dict[str, dict[str, Any]]:
    """What to pass to `lw.open` for each engine. A type is a kind of ours, or what all engines call it."""
    return {
        "duckdb": in_duckdb(rows, types, name),
        "postgres": in_postgres(rows, types, postgres_url, name),
        "spark": in_spark(rows, types, spark),
    }


def in_duckdb(rows: Rows, types: Mapping[str, str], name: str = "t") -> dict[str, Any]:
    """A table of a connection."""
    connection = duckdb.connect()
    columns = ", ".join(f'"{column}" {DUCKDB.get(declared, declared)}' for column, declared in types.items())
    connection.execute(f'CREATE TABLE "{name}" ({columns})')
    if rows:
        connection.executemany(
            f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(types))})', [list(row) for row in rows]
        )
    return {"source": connection, "table": name}


def in_postgres(rows: Rows, types: Mapping[str, str], url: str, name: str = "t") -> dict[str, Any]:
    """A table of a database, made anew."""
    columns = ", ".join(f'"{column}" {POSTGRES.get(declared, declared)}' for column, declared in types.items())
    with psycopg.connect(url) as connection:
        connection.execute(f'DROP TABLE IF EXISTS "{name}"; CREATE TABLE "{name}" ({columns})'.encode())
        with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
            for row in rows:
                copy.write_row(row)
    return {"source": url, "table": name}


def in_spark(rows: Rows, types: Mapping[str, str], spark: SparkSession, parts: int = 2) -> dict[str, Any]:
    """A DataFrame in as many parts as there are workers, or in more."""
    columns = ", ".join(f"`{column}` {SPARK.get(declared, declared)}" for column, declared in types.items())
    return {"source": spark.createDataFrame([tuple(row) for row in rows], columns).repartition(parts)}
