"""Bounds that are tiny themselves: no product of values clamped to them may underflow."""

from __future__ import annotations

from fractions import Fraction

import psycopg
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.plan.expressions import Column, span_of
from lapwing.curator.plan.language import call
from lapwing.errors import UnsupportedQuery


@together("bounds", [(-1e-140, 1e-140), (1e-140, 5.0), (-5.0, -1e-140)])
def test_tiny_bounds_count_as_tiny_factors(bounds: tuple[float, float]) -> None:
    """Every row beyond a bound has its value, and PostgreSQL raises where a product of such values is too small."""
    column = Column("x", "number", (Fraction(bounds[0]), Fraction(bounds[1])))
    assert span_of(column).depth >= 465
    with pytest.raises(UnsupportedQuery, match="range of doubles"):
        call("*", call("*", column, column), column)


def test_no_row_makes_postgresql_fail_at_tiny_bounds(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT n AS p, n::double precision AS x FROM generate_series(0, 9) AS n")
    table = lw.open(postgres_url, table="t", unit="p", bounds={"x": (-1e-140, 1e-140)})
    with pytest.raises(UnsupportedQuery, match="range of doubles"):
        table.where("x * x * x > 0")
    assert table.where("x / 3 > 0").agg(lw.count()).release(epsilon=100.0)["count"] is not None
