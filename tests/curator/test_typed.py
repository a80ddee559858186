"""One checker holds every question, however it was made, to the kinds that whatever takes a value states."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from cases import together

import lapwing as lw
from lapwing.curator.aggregates import BY_KIND
from lapwing.curator.ask.query import Query
from lapwing.curator.ask.question import Post
from lapwing.curator.ask.release import release
from lapwing.curator.plan.expressions import Call, Column, Constant, Span, clamp
from lapwing.curator.plan.groups import Grouping, Key
from lapwing.curator.plan.language import call
from lapwing.curator.plan.nodes import JoinPublic, JoinUnit, PerUnit, Select, Where
from lapwing.curator.plan.parser import expression
from lapwing.errors import LapwingError, UnsupportedQuery

FRAME = pd.DataFrame(
    {
        "p": range(6),
        "n": range(6),
        "x": [0.5] * 6,
        "s": ["a"] * 6,
        "b": [True] * 6,
        "d": pd.Series([pd.Timestamp(2026, 11, 15)] * 6).dt.date,
    }
)
T = lw.open(FRAME, unit="p", name="t", bounds={"n": (0, 10), "x": (0, 1)}, keys={"s": ["a"]}, types={"d": "text"})
ROWS = T.plan
N, X, S, B = (ROWS.by_name[name] for name in "nxsb")
ONE = Constant(1, "integer")


def asked(plan: Any = ROWS, **parts: Any) -> Query:
    return Query(T.context, plan, parts.pop("grouping", Grouping()), parts.pop("aggregates", (lw.count(),)), **parts)


def of(value: Any, kind: str = "count distinct") -> Query:
    return asked(aggregates=(BY_KIND[kind](of=(value,), name="out"),))


def other(plan: Any = ROWS) -> Select:
    return Select(plan, tuple((f"o.{column.name}", column) for column in plan.columns))


PLACES = lw.public([{"place": "a", "people": 5}], name="places").plan
KINDS: dict[str, Any] = {
    "a condition that is text": lambda: Where(ROWS, S),
    "a condition that is a number": lambda: Where(ROWS, N),
    "a join condition that is text": lambda: JoinUnit(ROWS, other(), "inner", S),
    "an outer join condition that is a number": lambda: JoinUnit(ROWS, other(), "left", X),
    "a column of nothing": lambda: Select(ROWS, (("nothing", Constant(None, None)),)),
    "text joined with a number": lambda: JoinPublic(ROWS, PLACES, ((S, "people"),)),
    "a number joined with text": lambda: JoinPublic(ROWS, PLACES, ((N, "place"),)),
    "nothing joined": lambda: JoinPublic(ROWS, PLACES, ((Constant(None, None), "place"),)),
    "a sum of text": lambda: PerUnit(ROWS, "p", (), (("z", "sum", S),)),
    "a mean of truth values": lambda: PerUnit(ROWS, "p", (), (("z", "avg", B),)),
    "the least text": lambda: PerUnit(ROWS, "p", (), (("z", "min", S),)),
    "a key of nothing": lambda: PerUnit(ROWS, "p", (("z", Call("coalesce", (), None)),), ()),  # type: ignore[arg-type]
    "a condition of CASE": lambda: call("case", S, ONE, ONE),
    "NOT of text": lambda: call("not", S),
    "a mean of text in the answer": lambda: of(S, "mean"),
    "distinct nothing": lambda: of(Constant(None, None)),
    "groups of nothing": lambda: asked(grouping=Grouping((Key("k", Constant(None, None), (1,)),))),
    "HAVING a number": lambda: asked(post=Post(having=Column("count", "integer"))),
}


@pytest.mark.parametrize("made", KINDS.values(), ids=KINDS.keys())
def test_every_place_of_a_plan_refuses_another_kind(made: Any) -> None:
    with pytest.raises(LapwingError):
        made()


WIDE = Span(Fraction(0), Fraction(1), 0)
SUM = call("+", N, X)
assert isinstance(SUM, Call)
FORGED: dict[str, Any] = {
    "another kind": replace(call("=", N, ONE), kind="integer"),  # type: ignore[type-var]
    "a narrower span": replace(SUM, span=WIDE),
    "no clamp": Call("+", (N, X), "number", SUM.span),
    "a clamp to other bounds": Call("clamp", (N, Constant(0, "integer"), Constant(2, "integer")), "integer", WIDE),
    "text compared with a number": Call("=", (S, N), "boolean"),
    "a cast with the span of its bounds and no clamp": Call("to number", (N,), "number", WIDE),
    "a pattern that is a column": Call("like", (S, S), "boolean"),
    "a remainder by a column": Call("%", (N, N), "integer", WIDE),
    "an operator that there is not": Call("sqrt", (X,), "number", WIDE),
    "too many arguments": Call("not", (B, B), "boolean"),
    "no argument": Call("coalesce", (), "number", WIDE),
    "a released value among rows": Call("coalesce", (N,), "integer", Span(Fraction(-1), Fraction(1), 0)),
    "edges that fall": Call("bin", (X, Constant(1.0, "number"), Constant(0.0, "number")), "integer", WIDE),
    "a column that there is not": Column("z", "number"),
    "a column of another kind": replace(S, kind="number"),
    "a column with other bounds": clamp(replace(X, bounds=(Fraction(0), Fraction(5)))),
    "a column that is called the unit": replace(N, unit=True),
    "a text that is said to be a number": Constant("boom", "number"),
    "a truth value that is said to be a number": Constant(True, "integer"),
    "a number beyond 64 bits": Constant(1 << 63, "integer"),
    "half a character": Constant("\ud800", "text"),
    "no number": Constant(float("nan"), "number"),
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_somebody_merely_claims_about_an_expression_is_not_believed(forged: Any, wrapped: bool) -> None:
    value = Call("is null", (forged,), "boolean") if wrapped else forged
    makers: list[Any] = [lambda: of(value), lambda: asked(Select(ROWS, (("p", ROWS.by_name["p"]), ("z", value))))]
    makers.append(lambda: asked(grouping=Grouping((Key("k", value, (None,)),))))
    if value.kind == "boolean":
        makers += [lambda: asked(Where(ROWS, value)), lambda: asked(JoinUnit(ROWS, other(), "inner", value))]
    for made in makers:
        with pytest.raises((UnsupportedQuery, ValueError)):
            made()


@together(("column", "values"), [(S, (5,)), (N, ("a",)), (N, (True,)), (S, ("a", 1.5)), (B, ("true",))])
def test_keys_are_compared_with_every_row_and_are_of_their_kind(column: Column, values: tuple[Any, ...]) -> None:
    with pytest.raises(UnsupportedQuery, match="kind"):
        asked(grouping=Grouping((Key("k", column, values),)))
    with pytest.raises(UnsupportedQuery, match="kind"):
        asked(Select(ROWS, (("k", replace(column, keys=values)),)))


def test_a_question_that_was_made_around_its_constructor_is_not_released() -> None:
    query = object.__new__(Query)
    good = asked()
    for name in ("context", "plan", "grouping", "aggregates", "bounding", "post", "text"):
        object.__setattr__(query, name, getattr(good, name))
    where = object.__new__(Where)
    object.__setattr__(where, "parent", ROWS)
    object.__setattr__(where, "condition", S)
    object.__setattr__(query, "plan", where)
    with pytest.raises(UnsupportedQuery, match="not a truth value"):
        release(query, epsilon=1)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_saved_question_is_held_to_the_same_kinds(how: str) -> None:
    text = {"case": [{"=": [{"column": "s"}, "HIV"]}, "boom", "true"]}
    rows = [{"table": "t"}, {"select": {"o.p": {"column": "p"}, "z": text}}]
    join = {"rows": rows, "how": how, "condition": {"column": "z"}}
    saved: dict[str, Any] = {"lapwing_query": 1, "rows": [{"table": "t"}, {"join_unit": join}], "ask": [{"count": []}]}
    with pytest.raises(UnsupportedQuery, match="not a truth value"):
        Query.from_json(json.dumps(saved), T)
    join["condition"] = {"=": [{"column": "z"}, "boom"]}
    assert Query.from_json(json.dumps(saved), T).release(epsilon=1).value is not None


def test_a_saved_outer_join_is_the_same_question() -> None:
    query = T.query("SELECT COUNT(*) FROM t AS a LEFT JOIN t AS b ON a.p = b.p AND a.n = b.n + 1 AND b.p = 3")
    assert Query.from_yaml(query.to_yaml(), T).digest() == query.digest()


def test_what_is_declared_about_a_total_holds_where_it_is_filtered() -> None:
    sql = "SELECT AVG(z) FROM (SELECT p, SUM(n) AS z FROM t GROUP BY p HAVING SUM(n) * 2 > 3) AS a"
    assert T.query(sql, bounds={"z": (0, 10)}).release(epsilon=1).value is not None


def test_expressions_of_the_language_are_what_the_checker_makes_of_them() -> None:
    texts = (
        "-n",
        "n BETWEEN 1 AND 2",
        "CASE n WHEN 1 THEN x END",
        "COALESCE(n, x)",
        "b IS TRUE",
        "ROUND(x, 1)",
        "n % 3",
    )
    for text in (*texts, "CAST(s AS number)", "s NOT LIKE 'a%'", "CEIL(x) = 1 AND NOT b", "NULL = n"):
        of(expression(text, ROWS.by_name))
