"""Where the rows of a world can live: what to put into the context of a question so that another engine answers it."""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracle import Beyond
from phrases import literal
from worlds import Rows, Storage, World, hide, load

import lapwing as lw
from lapwing.curator.ask.context import Context
from lapwing.curator.ask.query import Query
from lapwing.errors import InvalidParameter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Place(ABC):
    """An engine, and a way to bring rows into it."""

    name: str
    is_steady: bool = True
    """Whether a statement stays the same when other rows are to be seen."""

    def ask(self, query: Query, world: World, tables: Rows | None = None) -> Query:
        """The same question about these rows, or about all rows of the world, as they are kept here."""
        return replace(query, context=self.context(query.context, world, world.tables if tables is None else tables))

    @abstractmethod
    def context(self, context: Context, world: World, tables: Rows) -> Context:
        """The context of a question about these rows."""


@dataclass
class InDuckDB(Place):
    """The world's own connection."""

    name: str = "duckdb"

    def context(self, context: Context, world: World, tables: Rows) -> Context:
        world.show(tables)
        return context


@dataclass
class InFiles(Place):
    """Files, or frames, that DuckDB reads: "csv", "parquet" or "arrow"."""

    form: str
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="lapwing-fuzz-")))
    number: int = 0
    is_steady = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.form

    def context(self, context: Context, world: World, tables: Rows) -> Context:
        opened = {name: opened_as(self.source(world, tables, name), world, name) for name in world.schema}
        engine = next(iter(opened.values())).context.engine
        return replace(context, engine=engine, relations=relations(opened))

    def source(self, world: World, tables: Rows, name: str) -> Any:
        """A table as a file or frame."""
        world.show(tables)
        if self.form == "arrow":
            return world.connection.execute(f"FROM {name}").to_arrow_table()
        self.number += 1
        path = self.folder / f"{name}-{os.getpid()}-{self.number}.{self.form}"
        if self.form == "parquet":
            world.connection.execute(f"COPY {name} TO '{path}' (FORMAT parquet)")
        else:
            write_csv(path, world, tables, name)
        return path


def write_csv(path: Path, world: World, tables: Rows, name: str) -> None:
    """Rows of text as most programs write them, in quotes; what is missing is an empty cell."""
    lines = [",".join(world.schema[name])]
    for row in tables[name]:
        cells = ["" if value is None else '"' + value.replace('"', '""') + '"' for value in row.values()]
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")


@dataclass
class InPostgres(Place):
    """A database of a server."""

    url: str
    name: str = "postgres"
    loaded: World | None = None
    opened: Mapping[str, Any] = field(default_factory=dict)
    connection: Any = None

    def context(self, context: Context, world: World, tables: Rows) -> Context:
        if self.loaded is not world:
            self.bring(world)
        hide(self.connection, world.hidden(tables))
        engine = next(iter(self.opened.values())).context.engine
        return replace(context, engine=engine, relations=relations(self.opened))

    def close(self) -> None:
        """Leave the server."""
        if self.connection is not None:
            self.connection.close()

    def bring(self, world: World) -> None:
        """Make the tables of a world, in place of those of the last."""
        import psycopg

        if self.connection is None:
            self.connection = psycopg.connect(self.url, autocommit=True)
        for text in ("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", "CREATE TABLE gone (name TEXT, i BIGINT)"):
            self.connection.execute(text)
        for name, columns in world.schema.items():
            types = {column: storage.postgres for column, storage in columns.items()}
            load(self.connection, name, types, world.tables[name], in_postgres)
        self.loaded = world
        self.opened = {name: opened_as(self.url, world, name) for name in world.schema}


def in_postgres(value: Any) -> str:
    """A value as PostgreSQL reads it; of what only DuckDB has, nothing is left."""
    if isinstance(value, Beyond) and not value.sql.startswith(("DATE", "TIMESTAMP")):
        return "NULL"
    return literal(value)


@dataclass
class InSpark(Place):
    """DataFrames of a session, or CSV files that Spark reads."""

    session: SparkSession
    form: str = "frame"
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="lapwing-fuzz-")))
    number: int = 0
    loaded: World | None = None
    is_steady = False
    frames: dict[str, DataFrame] = field(default_factory=dict)

    @property
    def name(self) -> str:  # type: ignore[override]
        return "spark" if self.form == "frame" else f"spark {self.form}"

    def context(self, context: Context, world: World, tables: Rows) -> Context:
        if self.form == "csv":
            opened = {name: self.file(world, tables, name) for name in world.schema}
        else:
            opened = {name: opened_as(self.seen(world, tables, name), world, name) for name in world.schema}
        engine = next(iter(opened.values())).context.engine
        return replace(context, engine=engine, relations=relations(opened))

    def seen(self, world: World, tables: Rows, name: str) -> DataFrame:
        """Some rows of a DataFrame."""
        if self.loaded is not world:
            self.frames = {table: self.frame(table, world) for table in world.schema}
            self.loaded = world
        hidden = [i for table, i in world.hidden(tables) if table == name]
        frame = self.frames[name]
        return (frame.filter(~frame["i"].isin(hidden)) if hidden else frame).drop("i")

    def frame(self, name: str, world: World) -> DataFrame:
        """All rows, with their numbers."""
        columns = world.schema[name]
        rows = [(i, *map(in_spark, row.values(), columns.values())) for i, row in enumerate(world.tables[name])]
        types = ", ".join(["i BIGINT", *(f"`{column}` {storage.spark}" for column, storage in columns.items())])
        return self.session.createDataFrame(rows, types).repartition(2)

    def file(self, world: World, tables: Rows, name: str) -> Any:
        """A CSV file."""
        self.number += 1
        path = self.folder / f"{name}-{os.getpid()}-{self.number}.csv"
        write_csv(path, world, tables, name)
        return opened_as(self.session, world, name, table=str(path))


def in_spark(value: Any, storage: Storage) -> Any:
    """A value that a DataFrame of this type can hold."""
    return None if isinstance(value, Beyond) else value


def opened_as(source: Any, world: World, name: str, **options: Any) -> Any:
    """A table, opened with the same declarations; only where it is kept may differ."""
    fields = (world.visits if name == "visits" else world.drugs).plan.columns
    options = {"table": name, **options} if not isinstance(source, Path) else options
    return lw.open(source, unit=lw.EACH_ROW, name=name, types={field.name: field.kind for field in fields}, **options)


def relations(opened: Mapping[str, Any]) -> dict[str, Any]:
    """What the tables are called in the engine."""
    return {name: table.context.relations[name] for name, table in opened.items()}


def is_readable(place: Place, query: Query, world: World) -> bool:
    """Whether a world can be kept there: not every file has every type."""
    try:
        place.ask(query, world)
    except InvalidParameter:
        return False
    return True
