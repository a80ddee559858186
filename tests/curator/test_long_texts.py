"""What a question may spell out: patterns and texts are short, so that no row is much more work than another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.plan import patterns, values
from lapwing.curator.plan.expressions import Call, Column, Constant
from lapwing.curator.plan.nodes import Where
from lapwing.curator.plan.text_forms import LONGEST_TEXT
from lapwing.errors import InvalidParameter, UnsupportedQuery

FRAME = pd.DataFrame({"p": range(9), "s": list("abcabcabc")})
LONG = "a" * (values.LONGEST + 1)
FITS = "a" * values.LONGEST


def table(**options: Any) -> lw.PrivateTable:
    return lw.open(FRAME, name="t", unit="p", **options)


@together("pattern", ["%a" * 33, "%" + "_" * patterns.LONGEST, "a" * 257, "%a" * 60_000, "a\\%"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda one: table().where(f"s LIKE '{one}'"),
        lambda one: table().query(f"SELECT COUNT(*) FROM t WHERE s NOT LIKE '{one}'"),
        lambda one: table().query(f"SELECT s, COUNT(*) FROM t GROUP BY s HAVING s LIKE '{one}'", keys={"s": ["a"]}),
        lambda one: table().agg(lw.count(f"CASE WHEN s LIKE '{one}' THEN 1 END")),
    ],
    ids=["python", "sql", "having", "aggregate"],
)
def test_a_pattern_that_keeps_an_engine_busy_is_refused(pattern: str, ask: Callable[[str], Any]) -> None:
    with pytest.raises(UnsupportedQuery, match="LIKE") as refused:
        ask(pattern)
    assert len(str(refused.value)) < 400


@together("pattern", ["%a" * 32, "%" * 60_000, "_" * 256, "%" + "_" * 255, "%%a" * 32])
def test_a_pattern_at_the_limits_is_taken(pattern: str) -> None:
    if len(pattern) <= values.LONGEST:
        table().where(f"s LIKE '{pattern}'").agg(lw.count())
    else:
        with pytest.raises(UnsupportedQuery, match="contains a text of 60,000 characters"):
            table().where(f"s LIKE '{pattern}'").agg(lw.count())


def test_a_pattern_that_somebody_put_into_a_plan_is_refused_as_well() -> None:
    whole = table()
    claimed = Call("like", (Column("s", "text"), Constant("%a" * 33, "text")), "boolean")
    with pytest.raises(UnsupportedQuery, match="not what its parts make"):
        replace(whole, plan=Where(whole.plan, claimed)).agg(lw.count())


def test_a_saved_question_with_such_a_pattern_is_refused() -> None:
    asked = table().where("s LIKE '%a%'").agg(lw.count())
    with pytest.raises(UnsupportedQuery, match="percent signs"):
        lw.Query.from_yaml(asked.to_yaml().replace("%a%", "%a" * 33), table())


@pytest.mark.parametrize(
    "ask",
    [
        lambda text: table().where(f"s = '{text}'").agg(lw.count()),
        lambda text: table().where(f"s IN ('a', '{text}')").agg(lw.count()),
        lambda text: table().agg(lw.count_distinct(f"COALESCE(s, '{text}')")),
        lambda text: table().query(f"SELECT COUNT(*) FROM (SELECT p, COALESCE(s, '{text}') AS z FROM t) AS a"),
        lambda text: table().group_by("s", keys={"s": ["a", text]}).agg(lw.count()),
        lambda text: table().query("SELECT s, COUNT(*) FROM t GROUP BY s", keys={"s": ["a", text]}),
        lambda text: table(keys={"s": ["a", text]}),
        lambda text: table().query(f"SELECT COUNT(*) AS n, '{text}' AS z FROM t"),
    ],
    ids=["equal", "in", "aggregate", "column", "keys", "keys in SQL", "keys of a table", "answer"],
)
def test_a_text_of_a_question_has_at_most_a_thousand_characters(ask: Callable[[str], Any]) -> None:
    ask(FITS)
    with pytest.raises((UnsupportedQuery, InvalidParameter), match="1,001 characters") as refused:
        ask(LONG)
    assert len(str(refused.value)) < 400


def test_long_texts_of_a_public_table_are_data_and_no_keys() -> None:
    found = lw.public([{"s": "a", "about": LONG}, {"s": "b", "about": "b" * (LONGEST_TEXT + 1)}], name="about")
    assert [row[1] for row in found.plan.rows] == [LONG, None]
    assert [column.keys is None for column in found.plan.fields] == [False, True]
    joined = table().join(found, on="s").where("about LIKE '%a%a%'")
    assert joined.agg(lw.count()).release(epsilon=1)["count"]


def nested(column: str, depth: int) -> str:
    """A text inside so many CASEs."""
    return column if not depth else f"CASE WHEN s = 'a' THEN {nested(column, depth - 1)} ELSE 'x' END"


def test_expressions_nest_no_deeper_through_several_steps_than_in_one() -> None:
    whole = table()
    flat = whole.select("p", "s", z=nested("s", 40)).select("p", "s", z=nested("z", 40))
    flat.where("z = 'a'").agg(lw.count())
    deep = flat.select("p", "s", z=nested("z", 40))
    for ask in (
        lambda: deep.agg(lw.count()),
        lambda: deep.having_rows_in(whole).agg(lw.count()),
        lambda: flat.agg(lw.count_distinct(nested("z", 40))),
        lambda: flat.where(f"{nested('z', 40)} = 'a'").agg(lw.count()),
        lambda: whole.having_rows_in(deep).agg(lw.count()),
    ):
        with pytest.raises(UnsupportedQuery, match=r"nests 1\d\d operators"):
            ask()


def test_what_is_written_out_three_times_is_counted_so() -> None:
    numbers = lw.open(FRAME, name="t", unit="p", bounds={"p": (0, 2**60)})
    with pytest.raises(UnsupportedQuery, match="more than 20000 parts"):
        numbers.where(f"{'FLOOR(' * 30}p{')' * 30} > 5")
