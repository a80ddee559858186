"""Formulas of authors: server and browser read the same language and compute the same numbers; nothing else runs."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from browser import answers_of
from cases import together
from hypothesis import given
from hypothesis import strategies as st

from lapwing.web.school.expression import (
    CONSTANTS,
    DEEPEST,
    FUNCTIONS,
    LONGEST,
    WrongExpression,
    parsed,
    value,
)
from lapwing.web.school.graph import Data, Graph, data_html, graph_html, read_data, read_graph
from lapwing.web.school.nugget import InvalidNugget

NAMES = {"x": 0.7, "b": -2.5, "n": 3.0, "zero": 0.0, "ε": 1.25}
FORMULAS = [
    "exp(-abs(x)/b)/(2*b)", "2^-x", "-x^2", "2^3^2", "(-8)^(1/3)", "1/zero", "-1/zero", "zero/zero", "zero^-1",
    "1^(1/zero)", "1^(zero/zero)", "exp(1000)", "exp(-1000)", "-exp(800)", "ln(0)", "ln(-1)", "log2(8)",
    "log10(1000)", "sqrt(-1)", "sqrt(2)", "sin(1e6)", "cos(pi)", "tan(1)", "atan(1/zero)", "tanh(3)", "phi(0)",
    "phi(-3)", "phi(1/zero)", "phi(-1/zero)", "phi(zero/zero)", "floor(-0.5)", "ceil(0.5)", "round(2.5)",
    "round(-2.5)", "round(1/zero)", "sign(-3)", "sign(zero)", "min(1, zero/zero)", "max(1, 2, 3)", "min(3, 2, 1)",
    "mod(-1, 3)", "mod(5, zero)", "if(x < 1, 2, 3)", "if(zero/zero, 2, 3)", "x >= 0.7", "x == 0.7", "1 < 2 < 3",
    "ε*2", "e^(pi)", "1e3", "1E-3", ".5", "5.", "1.5e+2", "((((1))))", "--x", "+-+x", "2**3", "10^400", "(-10)^399",
    "(-10)^400", "zero^0", "(1/zero)^0", "0*(1/zero)", "1e999", "  x\t+\n1  ", "abs(-x)", "2*-x",
    # and what is none
    "", "   ", "2x", "x y", "2 3", "(", ")", "()", "x)", "(x", "x+", "*x", "x**", "1..2", "1.2.3", "sin", "sin x",
    "sin()", "sin(1,2)", "min(1)", "if(1,2)", "f(x)", "y", "x(2)", "x[0]", "x.y", "x=1", "x;1", "'a'", '"a"',
    "x if x else 1", "lambda: 1", "__import__", "__import__('os')", "constructor", "toString", "__proto__",
    "hasOwnProperty(1)", "Math.exp(1)", "eval(1)", "1 | 2", "1 & 2", "!x", "x < ", "< x", "1 <", "2e", "1e", "é",
    "x²", "😀", "x + 😀", "a" * 301, "(" * 50 + "1" + ")" * 50, "-" * 60 + "1", "1" + "^1" * 60, "π",
    "min(" * 45 + "1,1" + ")" * 45, ",", "x,", "max(,1)", "1,2", "\x00", "x\u00a0+1", "１+１", "٣",
]  # fmt: skip


def ours(text: str) -> dict[str, Any]:
    """What the server says, as the browser's `tried` says it."""
    try:
        tree = parsed(text, NAMES)
    except WrongExpression as error:
        return {"wrong": error.why, "place": error.place}
    return {"tree": _spelled(tree), "value": value(tree, NAMES)}


def _spelled(part: Any) -> Any:
    if isinstance(part, tuple):
        return [_spelled(one) for one in part]
    return "Infinity" if part == math.inf else part


def same(found: Any, expected: Any, *, relative: float = 1e-11) -> bool:
    number = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(found, found)
    if math.isnan(expected):
        return math.isnan(number)
    return number == expected or math.isclose(number, expected, rel_tol=relative, abs_tol=1e-300)


def wild(seed: int) -> str:
    """A formula at random, with everything in it that there is."""
    dice = random.Random(seed)

    def part(depth: int) -> str:
        kind = dice.randrange(10) if depth < 5 else dice.randrange(3)
        if kind == 0:
            return dice.choice(["0.5", "2", "3", "10", "1e-3", "7"])
        if kind in (1, 2):
            return dice.choice([*NAMES, *CONSTANTS])
        if kind == 3:
            return f"-{part(depth + 1)}"
        if kind == 4:
            return f"({part(depth + 1)})"
        if kind in (5, 6):
            name = dice.choice(list(FUNCTIONS))
            count = dice.randint(FUNCTIONS[name][0], min(3, FUNCTIONS[name][1]))
            return f"{name}({', '.join(part(depth + 1) for _ in range(count))})"
        sign = dice.choice(["+", "-", "*", "/", "^", "<", ">="])
        return f"({part(depth + 1)}) {sign} ({part(depth + 1)})"

    return part(0)[:LONGEST]


def noise(seed: int) -> str:
    """Signs at random, mostly of the language."""
    dice = random.Random(seed)
    words = [
        "x",
        "b",
        "1",
        "2.5",
        ".",
        "e",
        "E",
        "+",
        "-",
        "*",
        "/",
        "^",
        "**",
        "(",
        ")",
        ",",
        "<",
        "=",
        "==",
        "min",
        "sin",
        " ",
        "ε",
        "$",
        "'",
    ]
    return "".join(dice.choice(words) for _ in range(dice.randint(1, 14)))


ALL = [*FORMULAS, *(wild(seed) for seed in range(600)), *(noise(seed) for seed in range(900))]


def test_the_browser_reads_what_the_server_reads_and_computes_the_same() -> None:
    found = answers_of([("expression", "tried", [text, NAMES], None) for text in ALL])
    far_off = 0
    for text, theirs in zip(ALL, found, strict=True):
        mine = ours(text)
        assert set(mine) == set(theirs), (text, mine, theirs)
        if "wrong" in mine:
            assert mine == theirs, text
        else:
            assert mine["tree"] == theirs["tree"], text
            assert same(theirs["value"], mine["value"], relative=1e-6), (text, mine["value"], theirs["value"])
            far_off += not same(theirs["value"], mine["value"])
    read = sum("tree" in ours(text) for text in ALL)
    assert 500 < read < len(ALL) - 500, "both kinds are tried"
    assert far_off < 0.01 * read, "the last digits may differ after a subtraction, seldom"


@given(st.text(max_size=60) | st.text(alphabet="x1.+-*/^(),<=e ", max_size=120))
def test_any_text_is_a_formula_or_is_told_where_it_is_not(text: str) -> None:
    said = ours(text)
    if "wrong" in said:
        assert 0 <= said["place"] <= len(text)
        assert said["wrong"]
    else:
        assert isinstance(said["value"], float)


@given(st.dictionaries(st.sampled_from(sorted(NAMES)), st.floats(), min_size=5, max_size=5), st.integers(0, 10**6))
def test_computing_is_never_an_error(names: dict[str, float], seed: int) -> None:
    try:
        tree = parsed(wild(seed), NAMES)
    except WrongExpression:
        return
    assert isinstance(value(tree, names), float)


def test_depth_and_length_have_an_end() -> None:
    assert value(parsed("(" * DEEPEST + "1" + ")" * DEEPEST, []), {}) == 1
    for text in ("(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1), "1+" * LONGEST + "1"):
        with pytest.raises(WrongExpression):
            parsed(text, [])


GRAPH = "title: t\nformula: exp(-abs(x)/b)\nx: [-1, 1]\nsliders: {b: [0.1, 2, 1]}\nsentence: Half is {ln(2)*b}."


def test_a_graph_is_read_and_shown_as_a_table_without_scripts() -> None:
    graph = read_graph(GRAPH)
    assert isinstance(graph, Graph)
    assert (graph.low, graph.high, graph.sliders[0].start) == (-1, 1, 1)
    shown = graph_html(graph, 1)
    assert shown.startswith('<lw-graph class="widget"')
    assert "<td>0.368</td>" in shown
    assert "With b = 1:" in shown
    long = read_graph(
        "curves: [{formula: x, label: one, ink: noise}, 2*x]\nx: {from: 0, to: 1e-3, label: share, name: q}\n".replace(
            "x,", "q,"
        ).replace("2*x", "2*q")
    )
    assert [curve.ink for curve in long.curves] == ["noise", "noise"]
    assert long.high == 1e-3


@together(
    ("text", "why"),
    [
        ("title: t", "either formula or curves"),
        ("formula: x\ncurves: [x]", "either formula or curves"),
        ("formula: y", "'y' is not known here"),
        ("formula: 2x", "Write . to multiply"),
        ("formula: x\nx: [1, 0]", "less, more"),
        ("formula: x\nx: [0, .inf]", "not a number"),
        ("formula: x\nx: [0, .nan]", "not a number"),
        ("formula: x\nx: {from: 0}", "from where to where"),
        ("formula: x\nsliders: {x: [0, 1, 0]}", "cannot be a name"),
        ("formula: x\nsliders: {exp: [0, 1, 0]}", "cannot be a name"),
        ("formula: x\nsliders: {pi: [0, 1, 0]}", "cannot be a name"),
        ("formula: x\nsliders: {'a b': [0, 1, 0]}", "cannot be a name"),
        ("formula: x\nsliders: {b: [0, 1, 2]}", "empty"),
        ("formula: x\nsliders: {b: [0, 1]}", "no range"),
        ("formula: x\nsliders: {b: {from: 0, to: 1, step: 0}}", "empty"),
        ("formula: x\nsentence: It is {x}.", "not known here"),
        ("formula: x\nsentence: [a]", "not a short text"),
        ("curves: []", "1 to 5 curves"),
        ("curves: [{formula: x, ink: red}]", "Write one of"),
        ("curves: [[x]]", "has no formula"),
        ("formula: {a: b}", "says something else"),
        ("formula: x\nevil: 1", "says 'evil'"),
        ("- x", "no names"),
        ("formula: [", "not YAML"),
        ("formula: x\ntitle: " + "t" * 300, "not a short text"),
    ],
)
def test_a_graph_that_cannot_be_drawn_says_what_to_write(text: str, why: str) -> None:
    with pytest.raises(InvalidNugget, match=why):
        read_graph(text)


DATA = """title: Towns
columns: [Town, People in it, epsilon]
rows:
  - [Bern, 9000, 1]
  - [Basel, "120", 0.5]
computed:
  Noise: {formula: k/(epsilon*People_in_it), digits: 2}
  Twice: 2*Noise
parameters: {k: [1, 10, 2]}
"""


def test_a_table_computes_and_is_shown_without_scripts() -> None:
    data = read_data(DATA)
    assert isinstance(data, Data)
    assert [column.kind for column in data.columns] == ["text", "number", "number", "number", "number"]
    shown = data_html(data, 1)
    assert "<td>Basel</td><td>120</td><td>0.5</td><td>0.033</td><td>0.0667</td>" in shown
    assert "<td>9,000</td>" in shown


def test_a_table_may_be_plain_csv() -> None:
    for data in (
        read_data('town,people\n"Bern, old",9\nBasel,7\n', "csv"),
        read_data('csv: |\n  town,people\n  "Bern, old",9\n  Basel,7'),
    ):
        assert data.rows == (("Bern, old", 9.0), ("Basel", 7.0))
        assert [column.kind for column in data.columns] == ["text", "number"]


@together(
    ("text", "why"),
    [
        ("columns: [a]", "no columns or no rows"),
        ("columns: [a]\nrows: [[1, 2]]", "row 1 does not have 1"),
        ("columns: [a]\nrows: [1]", "row 1"),
        ("columns: [a]\nrows: [[[1]]]", "not a short text"),
        ("columns: [a]\nrows: [[1]]\ncomputed: {b: c}", "not known here"),
        ("columns: [a]\nrows: [[words]]\ncomputed: {b: a}", "not known here"),
        ("columns: [a]\nrows: [[1]]\ncomputed: [b]", "no names"),
        ("columns: [a]\nrows: [[1]]\ncomputed: {b: {formula: a, digits: 99}}", "digits"),
        ("columns: [a]\nrows: [[1]]\nparameters: {a: [0, 1, 0]}", "cannot be a name"),
        ("csv: x\ncolumns: [a]", "beside"),
        ("csv: ''", "no columns"),
        ("columns: [a]\nrows: " + str([[1]] * 201), "too large"),
        ("columns: " + str(["a"] * 13) + "\nrows: [[1]]", "too large"),
    ],
)
def test_a_table_that_cannot_be_shown_says_what_to_write(text: str, why: str) -> None:
    with pytest.raises(InvalidNugget, match=why):
        read_data(text)


def test_columns_of_any_name_have_a_name_that_formulas_know() -> None:
    data = read_data("columns: [min, a b, a-b, '1st', '', é, pi]\nrows: [[1, 2, 3, 4, 5, 6, 7]]")
    names = [column.name for column in data.columns]
    assert len(set(names)) == len(names)
    for name in names:
        assert parsed(name, names) == ("name", name)
