"""Every aggregate in the audit contract: rows in the engine, bounding, noise and all, put to the auditor's test.

The integers are the same for one salt, so the engine is asked once for each table and the noise drawn many times by
the code of a real release. Broken twins, which price less than one unit can change, must be caught.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import pytest
from questions import literal, salted
from sweeps import few

import lapwing as lw
from lapwing.adversary import Pair, audit
from lapwing.curator.ask import columns as releases
from lapwing.curator.ask.query import Query
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.plan.statistics import Bounding
from lapwing.curator.tables.table import PrivateTable
from lapwing.noise import Entropy, Reproducible
from lapwing.privacy import ApproxDP, Loss

FALSE_ALARM = 1e-6
TEETH = 0.2
"""Each witness shows at least this share of its claim; a claim of less would be caught."""
SAMPLES = 2000
DELTA = 0.01
EPSILON = 2

Rows = list[tuple[Any, ...]]
Ask = Callable[[PrivateTable], Query]
TYPES = "who VARCHAR, region VARCHAR, age BIGINT, cost DOUBLE, note VARCHAR"


@dataclass(frozen=True)
class Prepared:
    """A question about one table, asked once."""

    query: Query
    connection: duckdb.DuckDBPyConnection
    statement: Any
    totals: list[tuple[Any, ...]]

    def begin(self) -> None:
        """There is nothing to connect to."""

    def fetch(self, query: Any) -> list[tuple[Any, ...]]:
        """As a session does."""
        if query is self.totals:
            return self.totals
        return self.connection.execute(query.sql(dialect="duckdb")).fetchall()

    def keep(self, query: Any) -> Any:
        """The rows are kept already."""
        return query


@dataclass(frozen=True)
class Statement:
    """The statement of a query whose rows are in a table, and whose totals are known."""

    bounded: Any
    kept: Any
    found: list[tuple[Any, ...]]

    def rows(self) -> Any:
        return self.kept

    def totals(self, rows: Any, statistics: Any) -> Any:
        return self.found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bounded, name)


def prepare(ask: Ask, rows: Rows, kept: Bounding | None = None) -> Prepared:
    """Ask the engine; what it keeps of one unit may be another amount than is paid for."""
    from sqlglot import exp

    connection = duckdb.connect(config={"threads": 1})
    connection.execute(f"CREATE TABLE t ({TYPES})")
    if rows:
        connection.execute("INSERT INTO t VALUES " + ", ".join(f"({', '.join(map(literal, row))})" for row in rows))
    bounds = {"age": (0, 1), "cost": (-1, 1)}
    table = lw.open(connection, table="t", unit="who", bounds=bounds, keys={"region": ["n", "s"]})
    query = ask(table)
    compiler = Compiler(query.context.engine.dialect, query.context.relations)
    bounded = releases.statement_of(query, compiler, salted(1))
    bounded = bounded if kept is None else replace(bounded, bounding=kept)
    connection.execute(f"CREATE TABLE kept AS {compiler.dialect.sql(bounded.rows())}")
    totals = bounded.totals(exp.to_table("kept"), query.statistics)
    found = connection.execute(compiler.dialect.sql(totals)).fetchall() if query.statistics else []
    table_of = exp.to_table("kept")
    return Prepared(query, connection, Statement(bounded, _Kept(table_of), found), found)


class _Kept:
    """A table that is a sub-query already."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def subquery(self, alias: str, *, copy: bool = True) -> Any:
        return self.table

    def copy(self) -> Any:
        return self.table.copy()


def releaser(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> Callable[[Prepared, Entropy], Any]:
    """The code of a real release, of a question asked already; the attacker sees the noisy integers as well."""
    current: list[Prepared] = []
    monkeypatch.setattr(releases, "statement_of", lambda query, compiler, salt: current[0].statement)
    priced: dict[int, Any] = {}
    integers: list[int] = []
    finish = releases._column

    def overheard(bound: Any, noisy: Any, items: Any, confidence: float) -> Any:
        integers.extend(number for statistic in bound.statistics for number in noisy[statistic])
        return finish(bound, noisy, items, confidence)

    monkeypatch.setattr(releases, "_column", overheard)

    def release(prepared: Prepared, entropy: Entropy) -> Any:
        query = prepared.query
        if id(prepared) not in priced:
            spend = query.budget(options.get("epsilon"), options.get("delta"), options.get("rho"))
            priced[id(prepared)] = query.items(spend)
        current[:] = [prepared]
        integers.clear()
        columns = releases.look(query, priced[id(prepared)], 0.95, prepared, entropy)
        return [column.values for column in columns], list(integers)

    return release


def crowd(count: int, region: str = "n", age: int = 1, cost: float = 1.0, note: str = "x") -> Rows:
    return [(f"p{i}", region, age, cost, note) for i in range(count)]


def everywhere(who: str, rows: int = 1, age: int = 1, cost: float = 1.0, note: str = "x") -> Rows:
    """One unit with rows in both regions."""
    return [(who, region, age, cost, note) for region in ("n", "s") for _ in range(rows)]


@dataclass(frozen=True)
class Witness:
    """A question, a table, and the one who is in it or not."""

    ask: Ask
    rows: Rows
    one: Rows
    options: dict[str, Any]
    delta: float | None = None
    samples: int = SAMPLES

    def claim(self, query: Query) -> Loss:
        return query.budget(*(self.options.get(name) for name in ("epsilon", "delta", "rho"))).stated


PURE = {"epsilon": EPSILON}
SHARED = {"epsilon": 3 * EPSILON}
"""For three integers."""
TWO = {"max_groups_per_unit": 2, "max_rows_per_group": 2}


def by_region(*asked: Any) -> Ask:
    return lambda table: table.bounded(**TWO).group_by("region").agg(*asked)


def together(*asked: Any) -> Ask:
    return lambda table: table.agg(*asked)


WITNESSES: dict[str, Witness] = {
    "count": Witness(by_region(lw.count()), [], everywhere("z", 9), PURE),
    "count of a column": Witness(by_region(lw.count("cost")), [], everywhere("z", 9), PURE),
    "units": Witness(by_region(lw.units()), crowd(3), everywhere("z", 9), PURE),
    "distinct": Witness(
        by_region(lw.count_distinct("note")), [], everywhere("z") + everywhere("z", note="y"), PURE
    ),
    "sum": Witness(by_region(lw.sum("cost")), [], everywhere("z", 9, cost=1e308), PURE),
    "sum of whole numbers": Witness(by_region(lw.sum("age")), [], everywhere("z", 9, age=2**63 - 1), PURE),
    "mean": Witness(together(lw.mean("cost")), crowd(1, cost=-1.0), [("z", "n", 1, 9.0, "")], PURE),
    "geometric mean": Witness(
        together(lw.geometric_mean("cost", bounds=(0.5, 1))), crowd(1, cost=0.5), [("z", "n", 1, 9.0, "")], PURE
    ),
    "variance": Witness(together(lw.variance("cost")), crowd(2, cost=0.0), [("z", "n", 1, 9.0, "")], SHARED),
    "std": Witness(together(lw.std("cost")), crowd(2, cost=0.0), [("z", "n", 1, -9.0, "")], SHARED),
    "covariance": Witness(
        together(lw.covariance("age", "cost")), crowd(1, cost=-1.0, age=0), [("z", "n", 1, 9.0, "")], {"epsilon": 4}
    ),
    "correlation": Witness(
        together(lw.correlation("age", "cost")), crowd(1, cost=-1.0, age=0), [("z", "n", 1, 9.0, "")], {"epsilon": 6}
    ),
    "quantile": Witness(
        together(lw.median("age", bounds=(0, 1020))),
        crowd(2, age=1000), [("z", "n", 9999, 0.0, "")], {"epsilon": 4}, samples=1000,
    ),
    "quantiles of groups": Witness(
        by_region(lw.quantile("age", 0.5, bounds=(0, 1020))),
        crowd(2, age=1000), [("z", "n", 9999, 0.0, "")] * 2, {"epsilon": 8}, samples=1000,
    ),
    "histogram": Witness(
        lambda t: t.bounded(max_groups_per_unit=2).agg(lw.histogram("cost", edges=[-1, 0, 1])),
        [], [("z", "n", 1, 0.5, ""), ("z", "n", 1, -0.5, "")], PURE,
    ),
    "top": Witness(lambda t: t.bounded(**TWO).agg(lw.top_k("region", 1)), [], [("z", "s", 1, 1.0, "")], PURE),
    "a total for each unit": Witness(
        lambda t: t.bounded(max_rows_per_unit=3).group_by("region").agg(lw.count()), [], everywhere("z", 9), PURE
    ),
    "several at once": Witness(by_region(lw.count(), lw.sum("cost")), [], everywhere("z", 9), {"epsilon": 4}),
    "everything else": Witness(
        lambda t: t.bounded(max_groups_per_unit=2).group_by("region", everything_else=True).agg(lw.count()),
        [], [("z", f"place {i}", 1, 1.0, "") for i in range(9)] + everywhere("z"), PURE,
    ),
    "a join": Witness(
        lambda t: t.join(t.select(other="who", more="cost")).bounded(max_rows_per_unit=2).agg(lw.sum("more")),
        [], everywhere("z", 3), PURE,
    ),
    "gaussian noise": Witness(
        by_region(lw.count(), lw.count("cost"), lw.count("age")),
        [], everywhere("z", 9), {"epsilon": 1.5 * EPSILON, "delta": DELTA},
    ),
    "both kinds of noise": Witness(
        by_region(lw.count(weight=8), lw.sum("cost"), lw.sum("age"), lw.units()),
        [], everywhere("z", 9), {"epsilon": 3 * EPSILON, "delta": DELTA},
    ),
    "concentrated": Witness(by_region(lw.sum("cost")), [], everywhere("z", 9), {"rho": 0.5}, DELTA),
    "secret keys": Witness(
        lambda t: t.group_by("note").agg(lw.units()),
        crowd(2), [("z", "n", 1, 1.0, "x")], {"epsilon": 4, "delta": DELTA},
    ),
}  # fmt: skip
KINDS = {
    "count", "units", "count_distinct", "sum", "mean", "geometric_mean", "variance", "std", "covariance", "correlation",
    "quantile", "median", "histogram", "top_k",
}  # fmt: skip


def found_by_the_auditor(witness: Witness, monkeypatch: pytest.MonkeyPatch, kept: Bounding | None = None) -> Any:
    without = prepare(witness.ask, witness.rows, kept)
    there = prepare(witness.ask, witness.rows + witness.one, kept)
    claim = witness.claim(without.query)
    delta = witness.delta if witness.delta is not None else claim.delta if isinstance(claim, ApproxDP) else None
    return audit(
        releaser(monkeypatch, witness.options), Pair(without, there, note="one unit more"), samples=witness.samples,
        confidence=1 - FALSE_ALARM, delta=None if delta is None else float(delta), claimed=claim,
        entropy=Reproducible(2026),
    )  # fmt: skip


def test_every_aggregate_has_a_witness() -> None:
    asked = {name for name in lw.curator.__all__ if name in KINDS}
    assert asked == KINDS
    plain = {name for name in lw.curator.__all__ if name[0].islower()} - {
        "open",
        "public",
        "cdf",
    }  # cdf: test_audit_agreeing.py
    assert {name for name in plain if name in vars(lw.curator.aggregates)} == KINDS


STAYS = {"count", "sum", "quantile", "top", "gaussian noise", "secret keys"}
"""One for each way in which noise is drawn, and one that is bounded by clamping."""


@pytest.mark.parametrize("name", few(WITNESSES, lambda name: name in STAYS))
def test_the_auditor_does_not_beat_the_stated_loss(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = found_by_the_auditor(WITNESSES[name], monkeypatch)
    assert not found.caught, found.explain()
    assert found.claimed is not None
    assert found.epsilon_lower_bound > TEETH * found.claimed, "this witness would not notice a false claim"


BROKEN: Sequence[tuple[str, Bounding]] = [
    ("count", Bounding(2, 9)),
    ("sum", Bounding(2, 9)),
    ("units", Bounding(2, 2)),
    ("a total for each unit", Bounding(max_rows_per_unit=18)),
    ("gaussian noise", Bounding(2, 9)),
]


@pytest.mark.parametrize(("name", "kept"), few(BROKEN), ids=[name for name, _ in BROKEN])
def test_who_keeps_more_than_is_paid_for_is_caught(name: str, kept: Bounding, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = WITNESSES[name]
    if name == "units":  # paid for one group, kept in two
        witness = replace(witness, ask=lambda table: table.group_by("region").agg(lw.units()))
    found = found_by_the_auditor(witness, monkeypatch, kept)
    assert found.caught, found.explain()
