"""The rows of a file, read by DuckDB in bounded memory, every column as the type that was stated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lapwing.curator.engines.containment import contained, reached
from lapwing.curator.engines.duckdb import NAME
from lapwing.curator.engines.duckdb_dialect import DuckDB
from lapwing.web.lab.analysis import Data, Progress
from lapwing.web.lab.engine import connected

if TYPE_CHECKING:
    import duckdb

MEMORY = "512MB"
THREADS = 2


@dataclass(frozen=True, slots=True)
class Rows:
    """An open file: the statement `SELECT … FROM rows` reads it."""

    cursor: duckdb.DuckDBPyConnection
    source: str

    def all(self, sql: str) -> list[tuple[Any, ...]]:
        """Every row of an answer, which is small."""
        return contained(NAME, lambda: self.cursor.execute(self._with(sql)).fetchall())

    def arrays(self, sql: str) -> dict[str, Any]:
        """The columns of an answer as arrays of numpy; what is missing is masked."""
        return contained(NAME, lambda: self.cursor.execute(self._with(sql)).fetchnumpy())

    def _with(self, sql: str) -> str:
        return f"WITH rows AS ({self.source}) {sql}"


def reachable(data: Data) -> None:
    """Refuse a file that is not there, or not what it was, before a row of it is read: that is no failure."""
    data.statement.open(data.path, None)


@contextmanager
def opened(data: Data, progress: Progress | None = None) -> Iterator[Rows]:
    """The rows of a file, for whoever is in teaching mode, or has paid and reads them under `failures.on_record`.

    A job that is cancelled interrupts it.
    """
    table = data.statement.open(data.path, None)
    relation = table.context.relations[data.statement.name]
    spelled, columns = DuckDB(), []
    for column in table.plan.columns:
        name = exp.to_identifier(column.name, quoted=True)
        declared, cell = relation.types[column.name], exp.column(name, table="s")
        read = spelled.read(cell, declared, column.kind, notation=relation.notation)
        columns.append(read.as_(name.copy()))
    source = exp.select(*columns).from_(exp.alias_(relation.table.copy(), "s", table=True))
    connection = reached(NAME, lambda: connected(data.path.parent, MEMORY, THREADS))  # it spills into the folder
    stops = getattr(progress, "stops", None)
    try:
        reached(NAME, lambda: connection.execute("SET TimeZone = 'UTC'"))
        with nullcontext() if stops is None else stops(connection):
            yield Rows(connection, spelled.sql(source))
    finally:
        connection.close()
