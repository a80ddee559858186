"""Formulas that an author may write for a graph or a table: read by us, computed by us, never by `eval`.

    exp(-abs(x)/b)/(2*b)

Numbers, names, `+ - * / ^`, comparisons (1 if true, else 0), and the functions below. `frontend/src/math/expression.ts`
reads the same language and computes the same numbers, by the rules of floating point: 1/0 is infinite, ln(-1) is no
number, nothing is ever an error while computing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from lapwing.errors import LapwingError

LONGEST, DEEPEST = 300, 40
"""Characters of a formula, and how deep its parentheses may go."""
CONSTANTS = {"pi": math.pi, "e": math.e}
NAME = re.compile(r"[A-Za-z_\u0370-\u03ff][A-Za-z0-9_\u0370-\u03ff]{0,19}")
Tree = tuple[Any, ...]
"""A number or a name, or what is computed with its parts: ("+", ("name", "x"), ("number", 1.0))."""
_TOKEN = re.compile(
    r"[ \t\r\n]*(?:(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_\u0370-\u03ff][A-Za-z0-9_\u0370-\u03ff]*)|(?P<sign>\*\*|<=|>=|==|[-+*/^(),<>]))"
)
_COMPARED = ("<", "<=", ">", ">=", "==")


class WrongExpression(LapwingError, ValueError):
    """A formula that cannot be read: where, why, and what to write instead."""

    def __init__(self, place: int, why: str) -> None:
        self.place, self.why = place, why
        super().__init__(f"at character {place + 1}: {why}")


def _safely(compute: Callable[..., float]) -> Callable[..., float]:
    def computed(*given: float) -> float:
        try:
            return float(compute(*given))
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan

    return computed


def _exp(x: float) -> float:
    return math.exp(x) if x < 710 else math.exp(min(x, 709.5)) * (math.inf if x > 709.782712893384 else 1)


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def _power(a: float, b: float) -> float:
    if math.isnan(b) or (abs(a) == 1 and math.isinf(b)):
        return math.nan
    if not a and b < 0:
        odd = b % 2 == 1
        return math.copysign(math.inf, a) if odd else math.inf
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:  # a root of a negative number
        return math.nan


def _logarithm(compute: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else compute(x)


def _whole(compute: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(compute(x)) if math.isfinite(x) else x


def _least(*given: float) -> float:
    return math.nan if any(map(math.isnan, given)) else min(given)


def _most(*given: float) -> float:
    return math.nan if any(map(math.isnan, given)) else max(given)


def _sign(x: float) -> float:
    return x if math.isnan(x) or not x else math.copysign(1.0, x)


FUNCTIONS: dict[str, tuple[int, int, Callable[..., float]]] = {
    "abs": (1, 1, abs),
    "sqrt": (1, 1, _safely(math.sqrt)),
    "exp": (1, 1, _exp),
    "ln": (1, 1, _safely(_logarithm(math.log))),
    "log2": (1, 1, _safely(_logarithm(math.log2))),
    "log10": (1, 1, _safely(_logarithm(math.log10))),
    "sin": (1, 1, _safely(math.sin)),
    "cos": (1, 1, _safely(math.cos)),
    "tan": (1, 1, _safely(math.tan)),
    "atan": (1, 1, math.atan),
    "tanh": (1, 1, math.tanh),
    "phi": (1, 1, lambda x: 0.5 * math.erfc(-x / math.sqrt(2))),
    "floor": (1, 1, _whole(math.floor)),
    "ceil": (1, 1, _whole(math.ceil)),
    "round": (1, 1, _whole(lambda x: math.floor(x + 0.5))),
    "sign": (1, 1, _sign),
    "min": (2, 8, _least),
    "max": (2, 8, _most),
    "mod": (2, 2, lambda a, b: a - b * _whole(math.floor)(_divided(a, b))),
    "if": (3, 3, lambda test, then, other: then if test and not math.isnan(test) else other),
}
"""By name: how many arguments at least and at most, and what is computed."""
_SIGNS: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "^": _power,
    "negative": lambda a: -a,
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
    "==": lambda a, b: float(a == b),
}


def parsed(text: str, names: Collection[str]) -> Tree:
    """The formula as a tree; `names` are the variables it may speak of.

    >>> parsed("1 + x", ["x"])
    ('+', ('number', 1.0), ('name', 'x'))
    >>> parsed("2x", ["x"])
    Traceback (most recent call last):
    ...
    lapwing.web.school.expression.WrongExpression: at character 2: something is missing before 'x'. Write * to multiply
    """
    if len(text) > LONGEST:
        raise WrongExpression(LONGEST, f"the formula is longer than {LONGEST} characters. Make it shorter")
    reader = _Reader(text, names)
    tree = reader.comparison(0)
    if reader.word:
        why = f"something is missing before '{reader.word}'"
        more = ". Write * to multiply" if reader.kind in ("name", "number") or reader.word == "(" else ""
        raise WrongExpression(reader.place, why + more)
    return tree


def value(tree: Tree, names: Mapping[str, float]) -> float:
    """What a formula gives.

    >>> value(parsed("2*x^2", ["x"]), {"x": 3.0})
    18.0
    """
    kind, *parts = tree
    if kind == "number":
        return float(parts[0])
    if kind == "name":
        return float(CONSTANTS[parts[0]] if parts[0] in CONSTANTS else names[parts[0]])
    given = [value(part, names) for part in parts]
    return float((_SIGNS[kind] if kind in _SIGNS else FUNCTIONS[kind][2])(*given))


class _Reader:
    """Goes through a formula token by token."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.names = set(names)
        self._rest = self._tokens(text)
        self.kind, self.word, self.place = next(self._rest)

    @staticmethod
    def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
        place, end = 0, len(text.rstrip(" \t\r\n"))
        while place < end:
            token = _TOKEN.match(text, place)
            if token is None:
                place += len(text[place:]) - len(text[place:].lstrip(" \t\r\n"))
                raise WrongExpression(place, f"'{text[place]}' means nothing here. Write numbers, names and + - * / ^")
            kind = token.lastgroup or ""
            yield kind, "^" if token[kind] == "**" else token[kind], token.start(kind)
            place = token.end()
        while True:
            yield "end", "", end

    def step(self) -> str:
        word = self.word
        self.kind, self.word, self.place = next(self._rest)
        return word

    def comparison(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise WrongExpression(self.place, "the parentheses are too deep. Cut the formula in parts")
        left = self.sum(depth)
        if self.word in _COMPARED:
            return (self.step(), left, self.sum(depth))
        return left

    def sum(self, depth: int) -> Tree:
        left = self.product(depth)
        while self.word in ("+", "-"):
            left = (self.step(), left, self.product(depth))
        return left

    def product(self, depth: int) -> Tree:
        left = self.signed(depth)
        while self.word in ("*", "/"):
            left = (self.step(), left, self.signed(depth))
        return left

    def signed(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise WrongExpression(self.place, "the parentheses are too deep. Cut the formula in parts")
        if self.word == "-":
            self.step()
            return ("negative", self.signed(depth + 1))
        if self.word == "+":
            self.step()
            return self.signed(depth + 1)
        return self.power(depth)

    def power(self, depth: int) -> Tree:
        base = self.atom(depth)
        if self.word == "^":
            self.step()
            return ("^", base, self.signed(depth + 1))
        return base

    def atom(self, depth: int) -> Tree:
        kind, word, place = self.kind, self.word, self.place
        if kind == "number":
            self.step()
            return ("number", float(word))
        if word == "(":
            self.step()
            inside = self.comparison(depth + 1)
            self.close()
            return inside
        if kind != "name":
            shown = f"before '{word}'" if word else "at the end"
            raise WrongExpression(place, f"a number or a name is missing {shown}")
        self.step()
        if self.word == "(" and word in FUNCTIONS:
            return self.call(word, place, depth)
        if word in FUNCTIONS:
            raise WrongExpression(place, f"'{word}' is a function. Write {word}(…)")
        if word not in self.names and word not in CONSTANTS:
            known = ", ".join(sorted({*self.names, *CONSTANTS, *FUNCTIONS}))
            raise WrongExpression(place, f"'{word}' is not known here. There are {known}")
        return ("name", word)

    def call(self, name: str, place: int, depth: int) -> Tree:
        self.step()
        given = [self.comparison(depth + 1)]
        while self.word == ",":
            self.step()
            given.append(self.comparison(depth + 1))
        self.close()
        least, most, _ = FUNCTIONS[name]
        if not least <= len(given) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise WrongExpression(place, f"'{name}' takes {wanted} values, not {len(given)}")
        return (name, *given)

    def close(self) -> None:
        if self.word != ")":
            raise WrongExpression(self.place, "a ) is missing")
        self.step()
