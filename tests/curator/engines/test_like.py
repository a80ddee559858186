"""LIKE against texts that make matchers go back: on every engine it ends, and is what the oracle says.

A matcher that tries every length for each `%` would need longer for one of these cells than anybody waits, and a deep
recursion would fail at it. That nothing of the kind happens is shown by getting to the end.
"""

# ruff: noqa: E501 – many short texts on a line

from __future__ import annotations

import re
from typing import Any

import pytest
from everywhere import in_duckdb, in_postgres, in_spark
from oracle import like

import lapwing as lw
from lapwing.curator.engines.compiler import Compiler
from lapwing.curator.plan import patterns
from lapwing.curator.plan.evaluation import evaluate
from lapwing.curator.plan.expressions import Column, Constant
from lapwing.curator.plan.language import call
from lapwing.curator.plan.nodes import Select
from lapwing.curator.plan.text_forms import LONGEST_TEXT

TYPES = {"p": "integer", "s": "text"}
LONG = 1_000
TEXTS = [
    "", "a", "b", "ab", "%", "_", "a%b_c", "\n", "a\n", "\na\n", "A", "Ä", "ä", "a\u0308", "日本語", "日😀本", "😀", "😀😀a", "a😀",
    "a.b", "[a-z]", "a+b", "(a)", "a^$|b", "\\", "a\\b", "${x}", "it's", "\u2028", "\r\n", "a" * 39, "aXbXc", "abcabcab", "{2}", "a&&b",
    "a" * LONG, "a" * LONG + "b", "b" + "a" * LONG, "ba" * (LONG // 2) + "c", "c" + "aab" * (LONG // 3), "日" * LONG, "😀" * LONG + "a", None,
]  # fmt: skip
PATTERNS = [
    "", "%", "%%", "_", "__", "%_", "_%", "%_%_%", "_%_", "a", "a%", "%a", "%a%", "a%b", "a%b%c", "%a%b%", "%\n%", "_\n", "A%",
    "%ä", "日_語", "%😀_", "_😀%", "%_😀%_%", "%a_b%", "%.%", "[a-z]%", "%[%-%]%", "%a+b%", "%(%)%", "%^$%|%", "${%}", "it's%", "%.%_%",
    "%{2}%", "%&&%b", "%a%a%a%c%", "%\u2028%_%", "%\r%\n%",
    "%a" * 32, "%a" * 31 + "%b", "%a_" * 31 + "%", "%a_" * 20 + "b%", "%_a" * 31 + "bc%", "%_" * 32, "%a%_b%" * 12,
    "a%" + "a" * 200 + "%b" + "a" * 50, "%" + "_a" * 120 + "b%", "%" + "_a" * 120 + "%b", "%" + "日" * 120 + "%本", "%" + "_" * 200 + "%b%_c",
    "%😀_" * 20 + "c_", "%" + "aab" * 60 + "%_" * 20 + "c",
]  # fmt: skip


ENGINES = pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])


@ENGINES
def test_every_pattern_ends_at_every_text_and_is_what_the_oracle_says(
    engine: str, request: pytest.FixtureRequest
) -> None:
    compared(engine, TEXTS, PATTERNS, request)


@pytest.mark.sweep
@ENGINES
def test_the_longest_cells_are_matched_like_others(engine: str, request: pytest.FixtureRequest) -> None:
    texts = ["a" * LONGEST_TEXT, "b" + "😀" * (LONGEST_TEXT // 4 - 1) + "cb"]
    compared(engine, texts, ["%a" * 32, "%a_" * 31 + "b%", "%_😀" * 20 + "_c%b", "%" + "_a" * 120 + "%b"], request)


def compared(
    engine: str, texts: list[str | None] | list[str], asked: list[str], request: pytest.FixtureRequest
) -> None:
    """Every text with every pattern, on an engine and by the oracle."""
    rows = list(enumerate(texts))
    table = opened(engine, rows, request)
    outputs = [(f"l{i}", call("like", Column("s", "text"), Constant(one, "text"))) for i, one in enumerate(asked)]
    plan = Select(table.plan, (("p", table.plan.by_name["p"]), *outputs))
    statement = Compiler(table.context.engine.dialect, table.context.relations).rows(plan)
    with table.context.engine.session(table.context.relations.values()) as session:
        found = {row[1]: row[2:] for row in session.fetch(statement)}
    assert len(found) == len(texts)
    for place, text in rows:
        known = [None if text is None else like(text, pattern) for pattern in asked]
        wrong = [one for one, a, b in zip(asked, found[place], known, strict=True) if a is not b]
        assert not wrong, (text and text[:20], wrong)


def opened(engine: str, rows: list[Any], request: pytest.FixtureRequest) -> lw.PrivateTable:
    if engine == "duckdb":
        return lw.open(**in_duckdb(rows, TYPES), unit="p", name="t")
    if engine == "postgres":
        return lw.open(**in_postgres(rows, TYPES, request.getfixturevalue("postgres_url")), unit="p", name="t")
    return lw.open(**in_spark(rows, TYPES, request.getfixturevalue("spark")), unit="p", name="t")


def test_an_answer_is_matched_as_its_rows_are() -> None:
    for pattern in PATTERNS:
        asked = call("like", Column("s", "text"), Constant(pattern, "text"))
        expression = re.compile(patterns.regular(pattern))
        for text in TEXTS:
            if text is not None and len(text) < 100:
                assert evaluate(asked, {"s": text}) is like(text, pattern) is bool(expression.search(text))


def test_a_question_about_one_person_ends_whatever_that_person_has() -> None:
    for sick in ("flu", "a" * 39):
        rows = [(place, sick if place == 17 else "flu") for place in range(50)]
        table = lw.open(**in_duckdb(rows, TYPES), unit="p", name="t")
        for pattern in ("%a" * 32, "%a_" * 20 + "b%", "%" + "_a" * 100 + "b%"):
            answer = table.sql(f"SELECT COUNT(*) AS n FROM t WHERE p = 17 AND s LIKE '{pattern}'", epsilon=1)
            assert len(answer["n"]) == 1
