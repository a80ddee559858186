"""Every operator on every engine over values at the ends of their kinds: none raises, and all agree with the oracle."""

# ruff: noqa: E501 – several short questions on a line

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter
from typing import Any

import pytest
from everywhere import in_duckdb, in_postgres, in_spark
from oracle import integers, read, value_of
from questions import fetch, salted

import lapwing as lw
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.plan.nodes import Select
from lapwing.curator.plan.parser import expression

TYPES = {
    "p": "integer", "i": "integer", "j": "integer", "x": "number", "y": "number", "s": "text", "t": "text",
    "b": "boolean", "c": "boolean", "d": "date", "e": "date", "m": "timestamp", "n": "timestamp",
}  # fmt: skip
WHOLES = [0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 2**53 + 1, 2**60, -(2**60), 2**63 - 1, -(2**63), None]
NUMBERS = [
    0.0, -0.0, 0.5, -2.5, 5e-324, -5e-324, 2.0**-1022, 2.0**-100, -(2.0**-101), 1e-9, 1e15, 2.0**52 + 0.5, 2.0**60,
    -(2.0**63), 1e300, 1.7976931348623157e308, -1.7976931348623157e308, math.inf, -math.inf, math.nan, None,
]  # fmt: skip
TEXTS = [
    "", "a", "A%", "\\", "%", "_", "a\\", "12", "-0", "999999999999999.999999999999999", "-0.000000000000001", "1e999",
    "NaN", "infinity", "1" * 400, "12\n", "日本語😀", "true", "2024-02-30", "${x}", "it's", None,
]  # fmt: skip
TRUTHS = [True, False, None]
DAYS = [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1582, 10, 10), dt.date(1970, 1, 1), dt.date(2024, 2, 29), None]
MOMENTS = [
    dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(1582, 10, 10, 1),
    dt.datetime(1969, 12, 31, 23, 59, 59, 500000), dt.datetime(2024, 3, 10, 2, 30), None,
]  # fmt: skip
EVERY = [WHOLES, WHOLES, NUMBERS, NUMBERS, TEXTS, TEXTS, TRUTHS, TRUTHS, DAYS, DAYS, MOMENTS, MOMENTS]


def rows() -> list[tuple[Any, ...]]:
    """Every value beside every other of its kind."""
    pairs = [list(itertools.product(one, one)) for one in EVERY[::2]]
    made = []
    for place in range(max(map(len, pairs))):
        made.append((place % 50, *(value for pair in pairs for value in pair[place % len(pair)])))
    return made


LARGE = 2**60
BOUNDS = {"i": (-LARGE, LARGE), "j": (-5, 100), "x": (-LARGE, LARGE), "y": (0, 1)}
PAIRS = [
    ("i", "j"),
    ("i", "x"),
    ("x", "y"),
    ("x", "i + 1"),
    ("d", "e"),
    ("m", "n"),
    ("b", "c"),
    ("d", "DATE '0001-01-01'"),
]
EXPRESSIONS = [
    *(f"{a} {sign} {b}" for sign in "+-*/" for a, b in itertools.product(("i", "j", "x", "y", "2.5"), repeat=2)),
    *(f"{name}({of})" for name in ("ABS", "FLOOR", "CEIL", "ROUND") for of in ("i", "j", "x", "y", "x - y", "x * x")),
    *(f"{a} {sign} {b}" for sign in ("=", "<>", "<", "<=", ">", ">=") for a, b in PAIRS),
    *(f"EXTRACT({part} FROM {of})" for part in ("YEAR", "MONTH", "DAY") for of in ("d", "m", "DATE '0001-01-01'")),
    *(text.strip() for text in f"""
    i + j - x * y / (i - j);  x * x * x * x * x * x * x * x;  y * y * y * y * y * y * y * y;  x / y / y / y / y;  -i;  -x
    y / x / x / x / x;  1e200 * x / 1e200;  1e-200 * y;  1 / (x - x);  1 / (y * y * y);  NULL + 1;  i = NULL;  NULL = NULL
    i % 1;  i % 7;  i % 9223372036854775807;  j % 2;  (CASE WHEN b THEN i ELSE j END) % 10;  COALESCE(i, 5) % 4
    FLOOR(x) * FLOOR(x);  {" + ".join(["FLOOR(x)", "CEIL(x)"] * 5)};  FLOOR(i) * CEIL(i) / FLOOR(j);  CEIL(-0.5 * y)
    s = t;  s <> t;  s = 'it''s';  s = '\\';  s = '${{x}}';  i = 9223372036854775807;  i = -9223372036854775807;  i NOT IN (1)
    i IN (1, 2, 9223372036854775807, NULL);  i IN (1, 2.5);  x IN (1, 0.5);  s IN ('a', '\\', '');  d IN (DATE '9999-12-31')
    m IN (TIMESTAMP '2024-03-10 02:30:00');  b IN (TRUE, NULL);  NOT b;  NOT NULL;  b AND c;  b OR c;  b AND NULL;  b IS TRUE
    i BETWEEN j AND x;  s LIKE '%';  s LIKE '';  s LIKE 'A%';  s NOT LIKE '_';  s LIKE '%日_%';  i IS NULL;  x IS NULL;  s IS NULL
    LENGTH(s);  LENGTH('');  LENGTH('abc') * 2;  LENGTH(s) / LENGTH(t);  ROUND(x, 3);  ROUND(i, -2);  YEAR(d) * YEAR(e) - MONTH(m)
    CAST(s AS number);  CAST(s AS number) * CAST(t AS number);  CAST(s AS number) / CAST(t AS number);  CAST(b AS number)
    CAST(b AS number) / CAST(c AS number);  CAST(i AS number);  CAST(i AS number) * CAST(i AS number);  CAST('12' AS number)
    CAST('abc' AS number) + x;  CAST(TRUE AS number);  CAST(5 AS number);  EXTRACT(HOUR FROM m);  EXTRACT(MINUTE FROM m)
    CASE WHEN b THEN i ELSE x END;  CASE WHEN b THEN 1 END;  CASE WHEN b THEN i WHEN c THEN 2.5 END;  CASE WHEN b THEN m END
    CASE WHEN b THEN s ELSE 'x' END;  CASE WHEN NULL THEN 1 ELSE 2 END;  CASE i WHEN 1 THEN d WHEN 7 THEN e END
    CASE WHEN b THEN c END;  CASE WHEN b THEN 9223372036854775807 ELSE j END;  CASE WHEN i <> 0 THEN x / i ELSE 0 END
    COALESCE(i, j);  COALESCE(i, x, 5);  COALESCE(s, t, '');  COALESCE(d, e);  COALESCE(m, n);  COALESCE(b, c, FALSE)
    COALESCE(NULL, 5);  COALESCE(i);  COALESCE(5);  COALESCE(1, 2)
    """.strip().replace("\n", ";").split(";")),
]  # fmt: skip
TOTALS = (
    "SUM(i) AS a, SUM(x) AS u, AVG(i) AS k, AVG(x) AS v, MIN(x) AS w, MAX(i) AS f, COUNT(DISTINCT s) AS g, MIN(d) AS h"
)
TOTAL_BOUNDS = {"a": (0, 1), "u": (-LARGE, LARGE), "f": (0, LARGE), "g": (0, 9)}
QUESTIONS = {
    f"""SELECT SUM(a), SUM(u), SUM(k), SUM(v), SUM(w), SUM(f), SUM(g), SUM(YEAR(h)), SUM(a * u / k), COUNT(DISTINCT h)
        FROM (SELECT p, {TOTALS} FROM t GROUP BY p) AS q""": TOTAL_BOUNDS,
    f"SELECT COUNT(*) FROM (SELECT p, SUM(i) AS a FROM t GROUP BY p) AS q WHERE 1e270{' * CAST(a AS number)' * 20} > 5": {
        "a": (0, 1)
    },
    "SELECT i, d, s, b, COUNT(*) FROM t GROUP BY i, d, s, b": {},
    "SELECT SUM(x), SUM(i), AVG(x), AVG(i), VAR_POP(x), COUNT(DISTINCT x), COUNT(DISTINCT m), COUNT(x) FROM t": {},
}
EDGES = [
    (0, 10, 20),
    (-1e308, 0, 1e308),
    (0, 1e-150, 2e-150),
    (0, 5e-324, 1),
    (-20, -10, 0),
    (0, 2.0**499, 2.0**500),
    (1, 2, 4),
]


def opened(engine: str, data: list[tuple[Any, ...]], request: pytest.FixtureRequest) -> lw.PrivateTable:
    if engine == "duckdb":
        source = in_duckdb(data, TYPES)
    elif engine == "postgres":
        source = in_postgres(data, TYPES, request.getfixturevalue("postgres_url"))
    else:
        source = in_spark(data, TYPES, request.getfixturevalue("spark"))
    return lw.open(**source, unit="p", bounds=BOUNDS, name="t")


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_no_operator_fails_at_a_row_and_all_engines_agree(engine: str, request: pytest.FixtureRequest) -> None:
    data = rows()
    table = opened(engine, data, request)
    parsed = {text: expression(text, table.plan.by_name) for text in EXPRESSIONS}
    made = [(text, value) for text, value in parsed.items() if value.kind is not None]
    plan = Select(table.plan, tuple((f"c{place}", value) for place, (_, value) in enumerate(made)))
    statement = Compiler(table.context.engine.dialect, table.context.relations).rows(plan)
    with table.context.engine.session(table.context.relations.values()) as session:
        fetched = session.fetch(statement)
    rows_read = [{name: read(value, TYPES[name]) for name, value in zip(TYPES, row, strict=True)} for row in data]
    for place, (text, value) in enumerate(made):
        found = Counter(_plain(row[place + 1]) for row in fetched)
        assert found == Counter(_plain(value_of(value, row)) for row in rows_read), text


def _plain(value: Any) -> str:
    return repr(0.0 if value == 0 and isinstance(value, float) else value)


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_no_total_key_bin_or_sum_fails_at_a_row(engine: str, request: pytest.FixtureRequest) -> None:
    data = rows()
    table, salt = opened(engine, data, request), salted(1)
    asked = [table.query(sql, bounds=bounds) for sql, bounds in QUESTIONS.items()]
    asked += [table.agg(lw.histogram("x", edges=edges)) for edges in (EDGES[:1] if engine == "spark" else EDGES)]
    tables = {"t": [dict(zip(TYPES, row, strict=True)) for row in data]}
    for query in asked:
        assert fetch(query, salt) == integers(query, tables, salt.seed), query.explain()
