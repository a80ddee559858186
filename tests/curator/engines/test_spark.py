"""Spark: a session beside the user's on a real cluster, which leaves nothing behind and says nothing."""

from __future__ import annotations

import datetime as dt
import traceback
from typing import TYPE_CHECKING

import pytest
from sqlglot import exp, parse_one

from lapwing.curator.engines import spark as engine
from lapwing.curator.tables.sources import find_source
from lapwing.errors import EngineFailed, InvalidParameter

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lapwing.curator.plan.expressions import Kind


def sql(text: str) -> exp.Query:
    query = parse_one(text, dialect="spark")
    assert isinstance(query, exp.Query)
    return query


def views(spark: SparkSession) -> list[str]:
    return [table.name for table in spark.catalog.listTables("global_temp")]


def stored(spark: SparkSession) -> int:
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_the_cluster_is_one_master_with_two_workers(spark: SparkSession) -> None:
    assert spark.sparkContext.master.startswith("spark://127.0.0.1:")
    spark.range(8, numPartitions=4).count()
    driver_and_executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
    assert driver_and_executors == 3


def test_a_session_is_a_source_and_not_a_connection(spark: SparkSession) -> None:
    with pytest.raises(InvalidParameter, match=r"Spark.*lw\.open\(spark, table='visits'\)"):
        find_source("visits.csv", connection=spark)


def test_types_come_from_the_schema(spark: SparkSession) -> None:
    frame = spark.createDataFrame(
        [],
        "a boolean, b tinyint, c bigint, d float, e decimal(38, 0), f string, g date, h timestamp, i timestamp_ntz,"
        " j array<int>, k binary, l struct<x: int>, m string collate UTF8_LCASE, n interval day to second",
    )
    source = engine.from_spark(frame, "t")
    assert source.kinds == {
        "a": "boolean", "b": "integer", "c": "integer", "d": "number", "e": "number", "f": "text", "g": "date",
        "h": "timestamp", "i": "timestamp", "j": None, "k": None, "l": None, "m": "text", "n": None,
    }  # fmt: skip
    with pytest.raises(InvalidParameter, match="two columns"):
        engine.from_spark(frame.toDF(*("x" for _ in frame.columns)))


def test_the_session_of_the_user_stays_as_it_was(spark: SparkSession) -> None:
    from pyspark.sql import SparkSession

    settings, tables = dict(spark.conf.getAll), spark.catalog.listTables()
    source = engine.from_spark(spark.range(10).repartition(3), "t")
    with source.engine.session([source.relation]) as session:
        kept = session.keep(exp.select("id").from_(source.relation.table))
        assert session.fetch(exp.select("count(*)", "current_timezone()").from_(kept)) == [(10, "UTC")]
        assert session.fetch(exp.select("sum(id)").from_(source.relation.table)) == [(45,)]
        assert len(views(spark)) == stored(spark) == 1
    assert dict(spark.conf.getAll) == settings
    assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
    assert (spark.catalog.listTables(), views(spark), stored(spark)) == (tables, [], 0)
    assert SparkSession.getActiveSession() is spark


def test_what_is_left_behind_by_a_failure_is_nothing(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    frame = spark.sql("SELECT CAST(concat('a secret ', id) AS INT) AS x FROM range(5)")  # raises: the user's ANSI mode
    source = engine.from_spark(frame, "t")

    def fails() -> None:
        with source.engine.session([source.relation]) as session:
            session.keep(exp.select("x").from_(source.relation.table))
            session.fetch(exp.select("sum(x)").from_(source.relation.table))

    capfd.readouterr()
    with pytest.raises(EngineFailed) as caught:
        fails()
    assert caught.value.__context__ is None
    assert (views(spark), stored(spark)) == ([], 0)
    printed = "".join(capfd.readouterr())
    assert "secret" not in printed + "".join(traceback.format_exception(caught.value))


def test_two_sessions_of_one_source_do_not_disturb_each_other(spark: SparkSession) -> None:
    source = engine.from_spark(spark.range(4), "t")
    count = exp.select("count(*)").from_(source.relation.table)
    with source.engine.session([source.relation]) as first:
        with source.engine.session([source.relation]) as second:
            assert first.fetch(count) == second.fetch(count) == [(4,)]
        assert first.fetch(count) == [(4,)]


def test_frames_of_one_context_can_be_joined_whatever_session_made_them(spark: SparkSession) -> None:
    left, right = engine.from_spark(spark.range(4), "l"), engine.from_spark(spark.newSession().range(2, 9), "r")
    assert left.engine == right.engine
    with left.engine.session([left.relation, right.relation]) as session:
        both = exp.select("count(*)").from_(left.relation.table).join(right.relation.table, using=["id"])
        assert session.fetch(both) == [(2,)]


def test_literals_are_what_they_say(spark: SparkSession) -> None:
    texts = ["${x}", "it's", "a\\b", "\\n", "\n", "\\u0041", "%s", "é😀", '"', "`"]
    source = engine.from_spark(spark.range(1), "t")
    with source.engine.session([source.relation]) as session:
        assert session.fetch(exp.select(*map(exp.Literal.string, texts))) == [tuple(texts)]


def test_sums_beyond_64_bits_are_python_integers(spark: SparkSession) -> None:
    source = engine.from_spark(spark.createDataFrame([(2**63 - 1,)] * 3, "x bigint").repartition(3), "t")
    total = exp.select(source.engine.dialect.wide_sum(exp.column("x"))).from_(source.relation.table)
    with source.engine.session([source.relation]) as session:
        [(value,)] = session.fetch(total)
    assert type(value) is int
    assert value == 3 * (2**63 - 1)


def test_tables_and_files_are_read_where_the_workers_are(
    spark: SparkSession, spark_cluster: str, tmp_path: Path
) -> None:
    (tmp_path / "visits.csv").write_text('name,cost\n"a, ""b""",1\nonly one\nx,2,too many\n')
    source = engine.from_spark(spark_cluster, str(tmp_path / "visits.csv"))
    assert (source.name, source.relation.types) == ("visits", {"name": "string", "cost": "string"})
    with source.engine.session([source.relation]) as session:
        rows = session.fetch(exp.select("*").from_(source.relation.table))
    assert rows == [('a, "b"', "1"), ("only one", None), ("x", "2")]
    spark.range(3).write.parquet(str(tmp_path / "ids.parquet"))
    assert engine.from_spark(spark, str(tmp_path / "ids.parquet")).relation.types == {"id": "bigint"}
    spark.sql("CREATE TABLE padded (x CHAR(5)) USING parquet")
    assert engine.from_spark(spark, "padded").relation.types == {"x": "char(5)"}
    for nothing in (str(tmp_path / "nothing.parquet"), "nothing", None):
        with pytest.raises(InvalidParameter, match="table"):
            engine.from_spark(spark, nothing)
    for other in (spark.sparkContext, "spark://elsewhere:7077"):
        with pytest.raises(InvalidParameter, match="source"):
            engine.from_spark(other, "padded")  # type: ignore[arg-type]


def counted(spark: SparkSession, path: Path, column: str = "k") -> tuple[int, int]:
    """How many rows there are, and how many of them have a value."""
    source = engine.from_spark(spark, str(path))
    kind = source.kinds[column]
    assert kind is not None
    value = source.engine.dialect.read(exp.column(column, quoted=True), source.relation.types[column], kind)
    with source.engine.session([source.relation]) as session:
        [(rows, values)] = session.fetch(exp.select("count(*)", exp.Count(this=value)).from_(source.relation.table))
    return rows, values


@pytest.mark.parametrize(
    "record",
    ['L,"' + "y\nz," * 50 + '"', "L" + ",y" * 25_000, "L," + "y" * 3_000_000, 'L,a"b', 'L,"a"b', "L", "L,a\rM,b"],
    ids=["line breaks", "many cells", "long", "a quote inside", "a quote after", "one cell", "a bare CR"],
)
def test_one_record_of_a_csv_is_one_row(spark: SparkSession, tmp_path: Path, record: str) -> None:
    path, others = tmp_path / "t.csv", [f"{i},x" for i in range(100)]
    path.write_text("\n".join(["u,k", *others[:50], record, *others[50:], ""]))
    assert counted(spark, path, "u") == (101, 101)


def test_a_csv_with_other_line_ends_has_the_same_cells(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"u,k\r\n1,a\r\n2,b\r\n")
    source = engine.from_spark(spark, str(tmp_path / "t.csv"))
    with source.engine.session([source.relation]) as session:
        assert session.fetch(exp.select("*").from_(source.relation.table)) == [("1", "a"), ("2", "b")]


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252"])
def test_text_in_another_encoding_has_the_cells_that_duckdb_reads(
    spark: SparkSession, tmp_path: Path, encoding: str
) -> None:
    path, structure = tmp_path / "t.csv", set(b',"\r\n')
    odd = [byte for byte in range(1, 256) if byte not in structure]
    path.write_bytes(b"u,gr\xf6\xdfe `\x8a\n" + b"".join(b"%d,<%c>\n" % (byte, byte) for byte in odd))
    found = []
    for source in (find_source(spark, table=str(path), encoding=encoding), find_source(path, encoding=encoding)):
        query = exp.select("*").from_(source.relation.table.copy())
        with source.engine.session([source.relation]) as session:
            found.append((list(source.kinds), sorted(session.fetch(query))))
    assert len(found[0][1]) == len(odd)
    assert found[0] == found[1]


def test_utf_16_is_refused_because_half_a_character_would_swallow_the_end_of_its_record(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffu,k\n1,a\ud800\n2,b\n".encode("utf-16-le", "surrogatepass"))
    with pytest.raises(InvalidParameter, match="swallows the end of its record"):
        find_source(spark, table=str(path), encoding="utf-16")
    read = spark.read.csv(str(path), header=True, encoding="UTF-16", **engine.CSV)
    assert read.count() == 1  # of two: when this fails, Spark has learnt to read it


@pytest.mark.parametrize("name", ["v[12]", "w*", "q?", "{a,b}"])
def test_a_name_is_no_pattern(spark: SparkSession, tmp_path: Path, name: str) -> None:
    for other in ("v1", "v2", "w_secret", "qa", "a", "b"):
        (tmp_path / f"{other}.csv").write_text("u,k\n1,1\n2,2\n3,3\n")
    with pytest.raises(InvalidParameter, match="no such table or file"):
        engine.from_spark(spark, str(tmp_path / f"{name}.csv"))
    (tmp_path / f"{name}.csv").write_text("u,k\n1,1\n")
    assert counted(spark, tmp_path / f"{name}.csv") == (1, 1)
    with pytest.raises(InvalidParameter, match="backslash"):
        engine.from_spark(spark, str(tmp_path / "v\\[1].csv"))


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_moments_of_parquet_that_nobody_can_hold_are_null(
    spark: SparkSession, tmp_path: Path, unit: str, zone: str | None
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    far = [0, 2**62, -(2**62), None, 2**63 - 1, -(2**63)]
    text = pa.StringArray.from_buffers(3, pa.array([0, 1, 3, 4], pa.int32()).buffers()[1], pa.py_buffer(b"aM\xfcz"))
    table = pa.table({"k": pa.array(far, pa.timestamp(unit, zone)), "t": pa.concat_arrays([text, text])})
    pq.write_table(table, tmp_path / "t.parquet", version="2.6")
    assert counted(spark, tmp_path / "t.parquet") == (6, 1)
    assert counted(spark, tmp_path / "t.parquet", "t") == (6, 4)
    pq.write_table(table.slice(0, 1), tmp_path / "noon.parquet", version="2.6")
    source = engine.from_spark(spark, str(tmp_path / "noon.parquet"))
    moment = source.engine.dialect.read(exp.column("k"), source.relation.types["k"], "timestamp")
    with source.engine.session([source.relation]) as session:
        [(found,)] = session.fetch(exp.select(moment).from_(source.relation.table))
    assert found == dt.datetime(1970, 1, 1)


def test_a_column_without_a_type_and_days_that_no_moment_can_be_are_null(spark: SparkSession) -> None:
    frame = spark.sql("SELECT date_add(DATE '2026-02-26', 2000000000) AS day, NULL AS nothing")
    source = engine.from_spark(frame, "t")
    kinds: dict[str, Kind] = {"day": "timestamp", "nothing": "integer"}
    types = source.relation.types
    cells = [source.engine.dialect.read(exp.column(name), types[name], kind) for name, kind in kinds.items()]
    with source.engine.session([source.relation]) as session:
        assert session.fetch(exp.select(*cells).from_(source.relation.table)) == [(None, None)]
