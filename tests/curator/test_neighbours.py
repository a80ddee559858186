"""With next to no noise, two neighbouring tables differ in nothing but the declared outputs.

Errors, warnings, logs, what is printed, the statements sent to the engine, shapes, names, types, notes, provenance and
the charge in the ledger are compared for every kind of question, on tables that differ by the most awkward person.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
from questions import literal
from sweeps import few

import lapwing as lw
from lapwing.curator.aggregates.sums import TOO_FEW
from lapwing.curator.ask.query import Query
from lapwing.curator.engines.dialects import Dialect
from lapwing.curator.tables.table import PrivateTable
from lapwing.noise import Reproducible

HUGE = 1000
"""An epsilon with which hardly any noise is left."""
CROWD = [(f"p{i}", "ns"[i % 2], i % 90, i * 1.5, bool(i % 3), "x") for i in range(12)]
AWKWARD: dict[str, list[tuple[Any, ...]]] = {
    "somebody ordinary": [("new", "n", 30, 1.0, True, "x")],
    "somebody with nothing but NULL": [("new", None, None, None, None, None)],
    "somebody with numbers that are none": [
        ("new", "n", 2**63 - 1, math.nan, None, "x"),
        ("new", "s", 1, math.inf, None, ""),
    ],
    "somebody in many places": [("new", f"place {i}", -(2**63), -1e308, False, f"{i}") for i in range(40)],
    "somebody with many rows": [("new", "n", i, -0.0, True, "1e5") for i in range(50)],
    "somebody without a name": [("", "日本", 0, 5e-324, False, "it's")],
    "nobody, in rows of their own": [(None, "n", 1, 1.0, True, "x")] * 3,
}
TYPES = "who VARCHAR, region VARCHAR, age BIGINT, cost DOUBLE, smoker BOOLEAN, note VARCHAR"

Ask = Callable[[PrivateTable], Query]
BY_REGION: dict[str, Ask] = {
    name: lambda table, one=one: table.group_by("region").agg(one)  # type: ignore[misc]
    for name, one in {
        "count": lw.count(),
        "count of a column": lw.count("cost"),
        "units": lw.units(),
        "distinct": lw.count_distinct("note"),
        "sum": lw.sum("cost"),
        "mean": lw.mean("age"),
        "variance": lw.variance("cost"),
        "std": lw.std("age"),
        "covariance": lw.covariance("age", "cost"),
        "correlation": lw.correlation("age", "cost"),
        "quantile": lw.quantile("cost", 0.25),
    }.items()
}
PUBLIC: dict[str, Ask] = {
    **BY_REGION,
    "all together": lambda table: table.agg(lw.count(), lw.mean("age"), lw.median("cost")),
    "a histogram": lambda table: table.agg(lw.histogram("cost", edges=[0, 1, 10, 100])),
    "the top": lambda table: table.agg(lw.top_k("region", 1)),
    "everything else": lambda table: table.group_by("region", everything_else=True).agg(lw.count()),
    "expressions": lambda table: table.where("cost / age > 0.1 OR note LIKE '%x%'").group_by("smoker").agg(
        lw.sum("CAST(note AS number)", bounds=(0, 9)), lw.mean("cost / (age - 30)", bounds=(0, 1)), lw.count()
    ),
    "joins": lambda table: table.join(table.select(other="who", more="cost"), how="left").agg(lw.sum("more")),
}  # fmt: skip
SECRET: dict[str, Ask] = {
    "secret keys": lambda table: table.group_by("note").agg(lw.count(), lw.mean("age"), lw.median("cost")),
    "secret and public keys": lambda table: table.group_by("region", "note").agg(lw.count(), lw.sum("cost")),
}


@dataclass
class Seen:
    """All that comes out of a release, except for the values."""

    outcome: Any = None
    statements: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    printed: tuple[str, str] = ("", "")
    charges: list[Any] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    """The declared outputs."""


@pytest.fixture
def look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Seen]:
    """Release on some rows, in a world of its own, and write everything down."""
    heard: list[str] = []
    spell = Dialect.sql
    monkeypatch.setattr(Dialect, "sql", lambda self, query: heard.append(spell(self, query)) or heard[-1])

    def release(rows: list[tuple[Any, ...]], ask: Ask, number: int, **options: Any) -> Seen:
        connection = duckdb.connect(config={"threads": 1})
        connection.execute(f"CREATE TABLE t ({TYPES})")
        if rows:
            values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
            connection.execute(f"INSERT INTO t VALUES {values}")
        ledger = lw.Ledger(tmp_path / f"{number}.db")
        table = lw.open(
            connection, table="t", unit="who", bounds={"age": (0, 100), "cost": (0, 50)}, keys={"region": ["n", "s"]},
            max_groups_per_unit=2, max_rows_per_group=3, ledger=ledger, allowance=lw.ApproxDP(2 * HUGE, 1e-3),
        )  # fmt: skip
        heard.clear()
        caplog.clear()
        capfd.readouterr()
        seen = Seen()
        with warnings.catch_warnings(record=True) as alarms, caplog.at_level(logging.DEBUG):
            warnings.simplefilter("always")
            entropy = Reproducible(7)
            try:
                answer = ask(table).release(epsilon=HUGE, entropy=entropy, **options)
            except lw.errors.LapwingError as error:
                seen.outcome = repr(error)
            else:
                seen.outcome = shape(answer)
                seen.values = {column.name: column.values for column in answer.columns}
        seen.statements = [spelled_out(text) for text in heard]
        seen.alarms = [f"{alarm.category.__name__}: {alarm.message}" for alarm in alarms]
        ours = [record for record in caplog.records if not record.name.startswith("py4j")]  # Spark's, of earlier tests
        seen.logs = [f"{record.name} {record.levelname} {record.getMessage()}" for record in ours]
        seen.printed = capfd.readouterr()
        seen.charges = [(e.number, e.act, timeless(e.body)) for e in ledger.entries() if e.act != "release"]
        return seen

    return release


def timeless(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("at", "time", "when", "key", "id")}


def spelled_out(text: str) -> str:
    import re

    return re.sub(r"lapwing_kept_\d+", "lapwing_kept", text)


def shape(answer: lw.Answer) -> Any:
    """An answer without its values and what is noted of them; the other notes and everything else included."""
    columns = [
        (c.name, c.kind, c.type, c.note.partition(TOO_FEW.format(""))[0], c.clipped, len(c.values), c.noise is None)
        for c in answer.columns
    ]
    when = ("released_at", "entry")  # the id of the charge is random
    provenance = {name: value for name, value in answer.provenance.items() if name not in when}
    return columns, str(answer.loss), str(answer.remaining), answer.confidence, answer.notes, provenance


def assert_same(first: Seen, second: Seen, *, refined: bool) -> None:
    assert first.outcome == second.outcome
    assert first.alarms == second.alarms
    assert first.logs == second.logs
    assert first.printed == second.printed
    assert first.charges == second.charges
    if refined:  # how far counts are refined depends on the draw; the first questions to the engine do not
        assert first.statements[:2] == second.statements[:2]
    else:
        assert first.statements == second.statements


STAYS = {
    "count",
    "mean",
    "quantile",
    "all together",
    "a histogram",
    "the top",
    "everything else",
    "expressions",
    "joins",
}


@pytest.mark.parametrize("question", few(PUBLIC, lambda question: question in STAYS))
def test_neighbours_differ_in_declared_outputs_only(question: str, look: Callable[..., Seen]) -> None:
    without = look(CROWD, PUBLIC[question], 0)
    assert without.values
    assert without.statements
    assert without.charges
    moved = 0
    for number, rows in enumerate(AWKWARD.values(), start=1):
        seen = look(CROWD + rows, PUBLIC[question], number)
        assert_same(without, seen, refined="quantile" in question or "together" in question)
        moved += seen.values != without.values
    assert moved or question == "the top", "these neighbours would not notice anything"


@pytest.mark.parametrize("question", few(PUBLIC, lambda question: question in ("mean", "expressions", "joins")))
def test_an_empty_table_is_a_table_like_any_other(question: str, look: Callable[..., Seen]) -> None:
    nobody = look([], PUBLIC[question], 0)
    for number, rows in enumerate(AWKWARD.values(), start=1):
        assert_same(
            nobody, look(rows, PUBLIC[question], number), refined="quantile" in question or "together" in question
        )


@pytest.mark.parametrize("question", SECRET)
def test_of_secret_keys_only_the_shown_ones_may_differ(question: str, look: Callable[..., Seen]) -> None:
    crowd = [(f"p{i}", "n", 5, 2.0, True, "common") for i in range(60)]
    options = {"delta": 1e-6}
    without = look(crowd, SECRET[question], 0, **options)
    assert "common" in without.values["note"]
    for number, rows in enumerate(AWKWARD.values(), start=1):
        seen = look(crowd + rows, SECRET[question], number, **options)
        for one in (without, seen):
            columns, *others = one.outcome
            one.outcome = [[part[:5] for part in columns], *others]
        assert_same(without, seen, refined=question == "secret keys")
        for name, kept in seen.values.items():
            assert len(kept) == len(seen.values["note"]), name
