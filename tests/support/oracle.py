"""A slow, obvious reference for the curator: the integers before noise, in plain Python over a list of rows.

It shares nothing with the library but the plan and the aggregates it is asked about. No engine, no SQL: values are
normalised, expressions evaluated, grids, hashes and bounds computed here once more, from the documented rules.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from operator import xor
from typing import Any

from lapwing.curator.ask.query import Query
from lapwing.curator.plan.expressions import Call, Column, Constant, Expression
from lapwing.curator.plan.grids import GridExpression
from lapwing.curator.plan.groups import Grouping, Key
from lapwing.curator.plan.nodes import (
    Combine,
    Exists,
    JoinPublic,
    JoinUnit,
    PerUnit,
    Plan,
    Scan,
    Select,
    Where,
)
from lapwing.curator.plan.statistics import Statistic

Q = 16_777_213
LARGEST_JOIN = 2**20
ROOM = 2**28
Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Beyond:
    """A value that Python has no word for, as SQL; it counts as NULL."""

    sql: str


@dataclass(frozen=True)
class Kept:
    """A row that survives the bounding."""

    unit: Any
    group: Any
    values: tuple[int | None, ...]
    others: tuple[Any, ...]


# ---------------------------------------------------------------------------------------------------- values


def read(value: Any, kind: str) -> Any:
    """A value of the source as its kind, or None."""
    if value is None or isinstance(value, Beyond):
        return None
    if kind == "text":
        return at_most(str(value), 2**20)
    if isinstance(value, str):
        return from_text(value, kind)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    if kind == "number":
        value = float(value)
        return value if math.isfinite(value) else None
    if kind == "integer":
        return value if -(2**63) <= value < 2**63 else None
    return value


def at_most(value: Any, size: int) -> Any:
    """A value, or None instead of longer text."""
    return None if isinstance(value, str) and len(value.encode()) > size else value


def from_text(text: str, kind: str) -> Any:
    """What a text means where another kind was declared."""
    if len(text.encode()) > 100:
        return None
    text = text.strip(" ")
    if kind == "boolean":
        words = {word: truth for truth, some in _TRUTHS.items() for word in some}
        return words.get(text)
    if kind in ("integer", "number"):
        digits = text[1:] if text[:1] in ("+", "-") else text
        if kind == "integer":
            whole = digits.partition(".")[0]
            return int(text.partition(".")[0]) if plain(whole, 18) and digits[len(whole) :] in ("", ".0") else None
        mantissa, exponent, power = digits.replace("E", "e").partition("e")
        whole, _, part = mantissa.partition(".")
        power = power[1:] if power[:1] in ("+", "-") else power
        fits = (plain(whole, 40) and (not part or plain(part, 60))) or (not whole and plain(part, 60))
        return float(text) if fits and (power_fits(power, whole) if exponent else True) else None
    day, time = text[:10], text[10:]
    if not (len(day) == 10 and day[4] == day[7] == "-" and all(plain(p, 4) for p in (day[:4], day[5:7], day[8:]))):
        return None
    try:
        date = dt.date(int(day[:4]), int(day[5:7]), int(day[8:]))
        moment = dt.datetime.combine(date, dt.time()) if not time else moment_of(date, time)
    except ValueError:
        return None
    except OverflowError:  # beyond the calendar, once it is in UTC
        return date if kind == "date" else None
    return date if kind == "date" else moment


def power_fits(power: str, whole: str) -> bool:
    """Whether digits of an exponent may follow these before the point: up to 99, or up to 307 after a single one."""
    if plain(power, 2) or (len(power) == 3 and power[0] == "0" and plain(power, 3)):
        return True
    return len(power) == 3 and plain(power, 3) and int(power) <= 307 and len(whole) == 1 and whole != "0"


def cast_number(text: str) -> float | None:
    """CAST(text AS number), which reads plain decimals only."""
    whole, point, part = (text[1:] if text[:1] in ("+", "-") else text).partition(".")
    return float(text) if plain(whole, 40) and (plain(part, 60) if point else True) else None


_TRUTHS = {
    True: ("true", "True", "TRUE", "t", "T", "yes", "Yes", "YES", "y", "Y", "1"),
    False: ("false", "False", "FALSE", "f", "F", "no", "No", "NO", "n", "N", "0"),
}


def moment_of(date: dt.date, text: str) -> dt.datetime:
    """' 09:30', 'T09:30:00.25', each also with a zone: 'Z', ' Z', '+02', '+0200', '+02:00'."""
    minutes = 0
    if text[-1:] in ("Z", "z"):
        text = text[:-2] if text[-2:-1] == " " else text[:-1]
    elif "+" in text or "-" in text:
        sign = "+" if "+" in text else "-"
        text, _, zone = text.partition(sign)
        text = text.removesuffix(" ")
        pieces = [zone[:2], zone[2:].removeprefix(":")] if zone[2:] else [zone, "00"]
        if not all(len(p) == 2 and plain(p, 2) for p in pieces) or int(pieces[0]) > 15 or int(pieces[1]) > 59:
            raise ValueError
        minutes = (int(pieces[0]) * 60 + int(pieces[1])) * (1 if sign == "+" else -1)
    return dt.datetime.combine(date, clock(text)) - dt.timedelta(minutes=minutes)


def clock(text: str) -> dt.time:
    """' 09:30', ' 09:30:00' or 'T09:30:00.25'; what is smaller than a microsecond is cut off."""
    main, point, part = text[1:].partition(".")
    pieces = main.split(":")
    if text[:1] not in (" ", "T") or len(pieces) not in (2, 3) or not all(len(p) == 2 and plain(p, 2) for p in pieces):
        raise ValueError
    if point and not (plain(part, 9) and len(pieces) == 3):
        raise ValueError
    return dt.time(*map(int, pieces), *([0] * (3 - len(pieces))), int(part[:6].ljust(6, "0")) if point else 0)


def plain(text: str, most: int) -> bool:
    """Between one and `most` digits of ASCII."""
    return 1 <= len(text) <= most and all(c in "0123456789" for c in text)


# ----------------------------------------------------------------------------------------------- expressions


def value_of(e: Expression, row: Row) -> Any:
    """The value of an expression in one row; None is NULL."""
    if isinstance(e, Column):
        return row[e.name]
    if isinstance(e, Constant):
        return e.value
    arguments = [value_of(argument, row) for argument in e.arguments]
    kinds = [argument.kind for argument in e.arguments]
    if e.operator in _THREE_VALUED:
        return _THREE_VALUED[e.operator](arguments)
    if e.operator in ("case", "coalesce"):
        return chosen(e, arguments, kinds)
    if e.operator == "in":
        found = [
            compared("=", arguments[0], option, kinds[0], kind)
            for option, kind in zip(arguments[1:], kinds[1:], strict=True)
        ]
        return any_of(found)
    if e.operator in _COMPARISONS:
        return compared(e.operator, arguments[0], arguments[1], *kinds)
    if any(argument is None for argument in arguments):
        return None
    return _PLAIN[e.operator](e, *arguments)


def chosen(e: Call, values: list[Any], kinds: list[Any]) -> Any:
    if e.operator == "coalesce":
        value = next((value for value in values if value is not None), None)
    else:
        value = next((v for c, v in zip(values[:-1:2], values[1::2], strict=False) if c is True), values[-1])
    return float(value) if value is not None and e.kind == "number" else value


def all_of(values: list[Any]) -> bool | None:
    return False if False in values else None if None in values else True


def any_of(values: list[Any]) -> bool | None:
    return True if True in values else None if None in values else False


_THREE_VALUED: dict[str, Callable[[list[Any]], Any]] = {
    "and": all_of,
    "or": any_of,
    "not": lambda values: None if values[0] is None else not values[0],
    "is null": lambda values: values[0] is None,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def compared(operator: str, a: Any, b: Any, kind: Any, other: Any) -> bool | None:
    """A comparison; a whole number beside a double is one, too."""
    if a is None or b is None:
        return None
    if {kind, other} == {"integer", "number"}:
        a, b = float(a), float(b)
    return _COMPARISONS[operator](a, b)


def like(text: str, pattern: str) -> bool:
    """By the set of places that the pattern can have reached, a bit for each, letter by letter."""
    gaps = sum(1 << i for i, sign in enumerate(pattern) if sign == "%")
    takes: dict[str, int] = {}

    def over_gaps(reached: int) -> int:
        while (further := reached | (reached & gaps) << 1) != reached:
            reached = further
        return reached

    reached = over_gaps(1)
    for letter in text:
        if letter not in takes:
            takes[letter] = sum(1 << i for i, sign in enumerate(pattern) if sign in (letter, "_") and sign != "%")
        reached = over_gaps((reached & takes[letter]) << 1 | reached & gaps)
    return bool(reached >> len(pattern) & 1)


def clamped(e: Call, value: Any, low: Any, high: Any) -> Any:
    if e.kind == "integer":
        return min(max(value, low), high)
    value, low, high = float(value), float(low), float(high)
    inside = min(max(value, low), high)
    return 0.0 if inside == value and abs(value) < 2.0**-100 else inside


def remainder(value: int, divisor: int) -> int:
    size = abs(value) % divisor
    return -size if value < 0 else size


def binned(x: float, edges: Sequence[float]) -> int | None:
    """The i with edges[i] ≤ x < edges[i + 1]; the last bin has both its ends."""
    inside = [i for i in range(len(edges) - 1) if edges[i] <= x < edges[i + 1]]
    return inside[0] if inside else len(edges) - 2 if x == edges[-1] else None


_PLAIN: dict[str, Callable[..., Any]] = {
    "bin": lambda e, a, *edges: binned(float(a), [float(edge) for edge in edges]),
    "+": lambda e, a, b: float(a) + float(b),
    "-": lambda e, a, b: float(a) - float(b),
    "*": lambda e, a, b: float(a) * float(b),
    "/": lambda e, a, b: float(a) / float(b) if b else None,
    "%": lambda e, a, b: remainder(a, b),
    "abs": lambda e, a: abs(float(a)),
    "floor": lambda e, a: float(math.floor(a)),
    "ceil": lambda e, a: float(math.ceil(a)),
    "length": lambda e, a: len(a),
    "like": lambda e, a, b: like(a, b),
    "clamp": clamped,
    "to number": lambda e, a: cast_number(a) if isinstance(a, str) else float(a),
    "year": lambda e, a: a.year,
    "month": lambda e, a: a.month,
    "day": lambda e, a: a.day,
    "hour": lambda e, a: a.hour,
    "minute": lambda e, a: a.minute,
}


# ------------------------------------------------------------------------------------------------------ plans


@dataclass(frozen=True)
class Reader:
    """Who reads the rows of a plan: the tables, the salt, and how much there is room for."""

    tables: Tables
    seed: bytes = b""
    most: int | None = None
    """How many rows of a unit a chain of joins may make."""

    def rows(self, plan: Plan, read: set[str], share: int = 0) -> list[tuple[Any, Row]]:
        """The rows of a plan, each after its unit, for a reader of these columns.

        `share` is how many of it each table brings into this chain of joins.
        """
        if isinstance(plan, Scan):
            return scanned(plan, self.tables[plan.table])
        below, inner = mentioned(plan, read), share if isinstance(plan, STEPS) else 0
        if isinstance(plan, Where):
            rows = self.rows(plan.parent, below[0], inner)
            return [(u, row) for u, row in rows if value_of(plan.condition, row) is True]
        if isinstance(plan, Select):
            rows = self.rows(plan.parent, below[0], inner)
            return [(u, {n: value_of(e, row) for n, e in plan.outputs}) for u, row in rows]
        if isinstance(plan, JoinPublic):
            if rowwise(plan):
                return joined_public(plan, cut(self.rows(plan.parent, below[0], inner)))
            return joined_public(plan, self.brought(plan.parent, below[0], share or self.shared(plan)))
        if isinstance(plan, JoinUnit):
            share = share or self.shared(plan)
            sides = [self.brought(side, names, share) for side, names in zip(plan.parents(), below, strict=True)]
            return joined(plan, *sides)
        if isinstance(plan, Exists):
            there = {u for u, _ in self.rows(plan.other, below[1])}
            rows = cut(self.rows(plan.parent, below[0], inner))
            return [(u, row) for u, row in rows if (u in there) != plan.negated]
        if isinstance(plan, Combine):
            sides = [cut(self.rows(side, names)) for side, names in zip(plan.sides, below, strict=True)]
            return combined(plan, sides)
        assert isinstance(plan, PerUnit)
        return totalled(plan, cut(self.rows(plan.parent, below[0])))

    def shared(self, plan: Plan) -> int:
        """How many rows of a unit each table brings into a chain of joins."""
        leaves, factor = chain(plan)
        many, room = sum(map(several, leaves)), (self.most or LARGEST_JOIN) // factor
        return room if many < 2 else max(k for k in range(1, 1025) if k**many <= room)

    def brought(self, plan: Plan, read: set[str], share: int) -> list[tuple[Any, Row]]:
        """What one side brings into a join: a fair sample of the rows of each unit."""
        if is_joined(plan):
            return cut(self.rows(plan, read, share))
        by_unit: dict[Any, list[Row]] = {}
        for unit, row in cut(self.rows(plan, read)):
            by_unit.setdefault(unit, []).append(row)
        kind = next(field.kind for field in scans(plan)[0].fields if field.unit)
        names = [column.name for column in plan.columns if column.name in read]
        return [
            (unit, row)
            for unit, rows in by_unit.items()
            for row in sampled(
                sorted(rows, key=lambda row: [order(row[name]) for name in names]),
                share,
                [coded(unit, kind)],
                self.seed,
                "join",
            )
        ]


def rows_of(plan: Plan, tables: Tables, seed: bytes = b"") -> list[tuple[Any, Row]]:
    """The rows of a plan, each after its unit, for a reader of all columns."""
    return Reader(tables, seed).rows(plan, set(plan.by_name))


def cut(rows: list[tuple[Any, Row]]) -> list[tuple[Any, Row]]:
    """Rows as they are held in a step about several of them: without long text."""
    return [(unit, {name: at_most(value, 2048) for name, value in row.items()}) for unit, row in rows]


def names_in(*expressions: Expression | None) -> set[str]:
    """The columns that expressions mention."""
    found: set[str] = set()
    for e in expressions:
        if isinstance(e, Column):
            found.add(e.name)
        elif isinstance(e, Call):
            found |= names_in(*e.arguments)
    return found


def mentioned(plan: Plan, read: set[str]) -> list[set[str]]:
    """What is read of each plan below one of which these columns are read."""
    if isinstance(plan, Where):
        return [read | names_in(plan.condition)]
    if isinstance(plan, Select):
        return [names_in(*([e for name, e in plan.outputs if name in read] or [plan.outputs[0][1]]))]
    if isinstance(plan, JoinPublic):
        return [read | names_in(*(e for e, _ in plan.on))]
    if isinstance(plan, JoinUnit):
        return [read | names_in(plan.condition)] * 2
    if isinstance(plan, Exists):
        return [read, set()]
    if isinstance(plan, Combine):
        return [set(side.by_name) for side in plan.sides]
    assert isinstance(plan, PerUnit)
    return [names_in(*(e for _, e in plan.keys), *(e for _, _, e in plan.totals))]


def widths(plan: Plan, read: set[str], label: int) -> list[int]:
    """Bytes of a row in each step that holds several of them."""
    found = []
    for side, names in [] if isinstance(plan, Scan) else zip(plan.parents(), mentioned(plan, read), strict=True):
        if not isinstance(plan, Where | Select):
            carried = [column for column in side.columns if column.name in names]
            held = label + sum(size(column.kind, 200 if column.unit else 2048) for column in carried)
            if isinstance(plan, PerUnit):
                keys = sum(size(e.kind, 4000) for _, e in plan.keys)
                different = [e for _, total, e in plan.totals if total == "count distinct" and e is not None]
                held += keys + 8 * len(plan.totals)
                held += sum(label + keys + 64 + size(e.kind, 4000) for e in different)
            found.append(held)
        found += widths(side, names, label)
    return found


def size(kind: Any, longest: int) -> int:
    return longest if kind in ("text", None) else 8


def chains(plan: Plan, inside: bool = False) -> int:
    """How many chains of joins multiply rows."""
    own = isinstance(plan, JoinUnit) or (isinstance(plan, JoinPublic) and agreeing(plan) > 1)
    on = own or (inside and isinstance(plan, STEPS))
    below = [on, False] if isinstance(plan, Exists) else [on] * len(plan.parents())
    return (own and not inside) + sum(map(chains, plan.parents(), below))


def most_joined(query: Query, read: set[str]) -> int:
    """How many rows of a unit a chain of joins may make."""
    values, others = needed(query)
    unit = next((field.kind for field in scans(query.plan)[0].fields if field.unit), "row")
    label = 0 if any(scan.each_row for scan in scans(query.plan)) else size(unit, 200)
    keys = sum(size(key.expression.kind, 1024) for key in query.grouping.keys) if query.grouping.secret else 8
    counted = keys + label + 8 * len(values) + len(others) * (64 + keys)
    widest = max([counted, *widths(query.plan, read, label)])
    return min(LARGEST_JOIN, ROOM // max(1, chains(query.plan)) // widest)


STEPS = (Where, Select, Exists, JoinPublic)


def agreeing(plan: JoinPublic) -> int:
    """With how many public rows one row can agree."""
    doubled = [{e.kind, plan.public.by_name[name].kind} == {"integer", "number"} for e, name in plan.on]
    places = [[field.name for field in plan.public.fields].index(name) for _, name in plan.on]
    met: dict[Any, int] = {}
    for row in plan.public.rows:
        key = tuple(
            float(row[i]) if double and row[i] is not None else row[i]
            for i, double in zip(places, doubled, strict=True)
        )
        met[key] = met.get(key, 0) + 1
    return max(met.values())


def rowwise(plan: Plan) -> bool:
    """Whether a step makes at most one row of one row."""
    return isinstance(plan, Where | Select | Exists) or (isinstance(plan, JoinPublic) and agreeing(plan) == 1)


def chain(plan: Plan) -> tuple[list[Plan], int]:
    """The tables that a chain of joins is made of, and how many rows public tables make of one."""
    below, factor = plan, 1
    while isinstance(below, STEPS):
        factor *= agreeing(below) if isinstance(below, JoinPublic) else 1
        below = below.parents()[0]
    if not isinstance(below, JoinUnit):
        return [below], factor
    (left, first), (right, second) = chain(below.left), chain(below.right)
    return [*left, *right], factor * first * second


def is_joined(plan: Plan) -> bool:
    """Whether a join makes several rows of one in it, before anything but steps."""
    while rowwise(plan):
        plan = plan.parents()[0]
    return isinstance(plan, JoinUnit | JoinPublic)


def several(plan: Plan) -> bool:
    """Whether a unit may have several rows in it."""
    if isinstance(plan, PerUnit):
        return bool(plan.keys) and several(plan.parent)
    if isinstance(plan, JoinUnit):
        return several(plan.left) or several(plan.right)
    if isinstance(plan, Combine):
        return (len(plan.sides) > 1 and plan.setting.startswith("union")) or several(plan.sides[0])
    if isinstance(plan, JoinPublic):
        return several(plan.parent) or not rowwise(plan)
    return not rowwise(plan) or several(plan.parents()[0])


def scanned(plan: Scan, source: Sequence[Row]) -> list[tuple[Any, Row]]:
    rows = [{field.name: read(row[field.name], field.kind) for field in plan.fields} for row in source]
    if plan.each_row:
        return list(enumerate(rows))
    unit = next(field.name for field in plan.fields if field.unit)
    return [(row[unit], row) for row in rows if at_most(row[unit], 200) is not None]


def joined_public(plan: JoinPublic, rows: list[tuple[Any, Row]]) -> list[tuple[Any, Row]]:
    names = [field.name for field in plan.public.fields]
    kinds = {field.name: field.kind for field in plan.public.fields}
    partners = [dict(zip(names, row, strict=True)) for row in plan.public.rows]
    made = []
    for unit, row in rows:
        found = [
            other
            for other in partners
            if all(compared("=", value_of(e, row), other[name], e.kind, kinds[name]) for e, name in plan.on)
        ]
        if not found and plan.how == "left":
            found = [dict.fromkeys(names)]
        made += [(unit, {**row, **other}) for other in found]
    return made


def joined(plan: JoinUnit, left: list[tuple[Any, Row]], right: list[tuple[Any, Row]]) -> list[tuple[Any, Row]]:
    made = []
    for unit, row in left:
        found = [{**row, **other} for owner, other in right if owner == unit]
        if plan.condition is not None:
            found = [both for both in found if value_of(plan.condition, both) is True]
        if not found and plan.how == "left":
            found = [{**row, **dict.fromkeys(column.name for column in plan.right.columns)}]
        made += [(unit, both) for both in found]
    return made


def combined(plan: Combine, sides: list[list[tuple[Any, Row]]]) -> list[tuple[Any, Row]]:
    names = [column.name for column in plan.columns]
    listed = [[(unit, *row.values()) for unit, row in side] for side in sides]
    if plan.setting == "union all" and len(listed) > 1:
        made: Iterable[tuple[Any, ...]] = [row for side in listed for row in side]
    else:
        made = dict.fromkeys(listed[0])
        for side in listed[1:]:
            if plan.setting == "union":
                made = dict.fromkeys([*made, *side])
            else:
                made = [row for row in made if (row in set(side)) == (plan.setting == "intersect")]
    return [(unit, dict(zip(names, values, strict=True))) for unit, *values in made]


def totalled(plan: PerUnit, rows: list[tuple[Any, Row]]) -> list[tuple[Any, Row]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for unit, row in rows:
        groups.setdefault((unit, *(value_of(e, row) for _, e in plan.keys)), []).append(row)
    made = []
    for (unit, *keys), members in groups.items():
        out = {plan.unit_name: unit, **dict(zip((name for name, _ in plan.keys), keys, strict=True))}
        for name, kind, argument in plan.totals:
            out[name] = total(kind, argument, members)
        made.append((unit, out))
    return made


def total(kind: str, e: Expression | None, rows: list[Row]) -> Any:
    if e is None:
        return len(rows)
    values = [value for row in rows if (value := value_of(e, row)) is not None]
    if kind == "count":
        return len(values)
    if kind == "count distinct":
        return len(set(values))
    if not values:
        return None
    if kind in ("min", "max"):
        return min(values) if kind == "min" else max(values)
    if kind == "sum" and e.kind == "integer":
        return min(max(sum(values), -(2**53)), 2**53)
    low, high = span(e)
    steps = [stepped(value, e.kind, *grid(e.kind, low, high, 29)) for value in values]
    exponent = grid(e.kind, low, high, 29)[2]
    summed = float(min(max(sum(steps), -(2**53)), 2**53))
    return (summed / float(len(steps)) if kind == "avg" else summed) * math.ldexp(1.0, -exponent)


# --------------------------------------------------------------------------------------- grids, groups, hashes


def span(e: Expression) -> tuple[Fraction, Fraction]:
    """Where the values of an expression lie, as its node says."""
    if isinstance(e, Call):
        assert e.span is not None
        return e.span.low, e.span.high
    if isinstance(e, Constant):
        return Fraction(e.value), Fraction(e.value)
    assert e.bounds is not None
    return Fraction(float(e.bounds[0])), Fraction(float(e.bounds[1]))


@lru_cache
def grid(kind: Any, low: Fraction, high: Fraction, bits: int) -> tuple[Any, Any, int]:
    """The bounds as the engine sees them, and the exponent of the finest grid with at most 2^bits steps."""
    ends: tuple[Any, Any] = (float(low), float(high))
    if kind == "integer":
        ends = math.floor(low), math.ceil(high)
    size = max(abs(Fraction(ends[0])), abs(Fraction(ends[1])))
    exponent = 1100
    while size * Fraction(2) ** exponent > 2**bits:
        exponent -= 1
    return (*ends, min(exponent, 0) if kind == "integer" else exponent)


def stepped(value: Any, kind: Any, low: Any, high: Any, exponent: int) -> int:
    """A value in steps of its grid."""
    inside = min(max(value, low), high)
    if kind == "integer" and exponent == 0:
        return int(inside)
    return math.floor(float(inside) * math.ldexp(1.0, exponent) + 0.5)


def place_of(key: Key, row: Row) -> int | None:
    """The number of a row's value among the public ones."""
    return place_among(key, value_of(key.expression, row))


def place_among(key: Key, value: Any) -> int | None:
    for i, known in enumerate(key.values or ()):
        if (value is None and known is None) or (
            None not in (value, known) and compared("=", value, known, key.expression.kind, like_kind(known))
        ):
            return i
    return len(key.values or ()) if key.everything_else else None


def like_kind(value: Any) -> str:
    return "number" if isinstance(value, float) else "integer" if type(value) is int else "other"


def group_of(grouping: Grouping, row: Row) -> Any:
    """The group of a row (a number, or its secret keys), or None if it is in none."""
    if grouping.secret:
        values = tuple(at_most(value_of(key.expression, row), 1024) for key in grouping.keys)
        pairs = zip(grouping.keys, values, strict=True)
        known = all(key.values is None or place_among(key, value) is not None for key, value in pairs)
        return values if known else None
    number = 0
    for key in grouping.keys:
        place = place_of(key, row)
        if place is None:
            return None
        number = number * (len(key.values or ()) + key.everything_else) + place
    return number


def coefficient(seed: bytes, label: str, bits: int = 24) -> int:
    return int(hashlib.sha256(seed + label.encode()).hexdigest(), 16) % max(1, min(Q - 1, 2**bits - 1)) + 1


def code(value: Any, kind: Any) -> int | None:
    """A value as a whole number of 64 bits."""
    if value is None:
        return None
    if kind in ("boolean", "integer"):
        return int(value)
    if kind == "number":
        return math.floor(min(max(value, -(2.0**40)), 2.0**40) * 2.0**20)
    if kind == "text":
        return int.from_bytes(hashlib.md5(value.encode(), usedforsecurity=False).digest()[:3], "little")
    if kind == "date":
        return value.toordinal() - dt.date(1970, 1, 1).toordinal()
    return (value - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)


def coded(value: Any, kind: Any) -> tuple[int | None, int, int]:
    """A value as a whole number between two others."""
    return (code(value, kind), 0, 2**24 - 1) if kind == "text" else (code(value, kind), -(2**63), 2**63 - 1)


def hashed(words: Sequence[tuple[int | None, int, int]], seed: bytes, purpose: str) -> int:
    """y²·(y² + d) mod q."""
    square = squared(words, seed, purpose)
    return rest(square * (square + coefficient(seed, f"{purpose} shift")))


def squared(words: Sequence[tuple[int | None, int, int]], seed: bytes, purpose: str) -> int:
    """y² mod q with y = c + Σ a·word, over words that lie between two numbers each."""
    line = coefficient(seed, f"{purpose} constant")
    room = 24 if len(words) <= 2 else 52 - (len(words) - 1).bit_length()
    for i, (value, low, high) in enumerate(words):
        wide = high - low >= 2**24
        bits = 24 if wide else max(high - low, 1).bit_length()
        if value is None:
            line += coefficient(seed, f"{purpose} {i} null")
        else:
            folds = range(0, (high - low).bit_length(), 24) if wide else ()
            number = reduce(xor, (value >> fold for fold in folds)) & 0xFFFFFF if wide else value - low
            line += coefficient(seed, f"{purpose} {i}", min(24, room - bits)) * number
    y = line if len(words) <= 2 else rest(line)
    return rest(y * y)


def rest(value: int) -> int:
    """The remainder, by a product of doubles, which may be rounded across a whole number."""
    assert abs(value) < 2**53
    return value - math.floor(value * (1 / Q)) * Q


def order(value: Any) -> tuple[Any, ...]:
    """To sort by: NULL first, text by its bytes."""
    if value is None:
        return (0,)
    return (1, value.encode() if isinstance(value, str) else value)


# ---------------------------------------------------------------------------------------------------- bounding


def kept_rows(query: Query, tables: Tables, seed: bytes) -> list[Kept]:
    """The rows that count."""
    values, others = needed(query)
    read = names_in(*others, *(one.expression for one in values), *(key.expression for key in query.grouping.keys))
    flat = []
    for unit, row in Reader(tables, seed, most_joined(query, read)).rows(query.plan, read):
        group = group_of(query.grouping, row)
        if group is not None:
            steps = tuple(on_grid(value, row, query) for value in values)
            flat.append(Kept(unit, group, steps, tuple(short(value_of(other, row)) for other in others)))
    if any(scan.each_row for scan in scans(query.plan)):
        return flat
    by_unit: dict[Any, list[Kept]] = {}
    for one in flat:
        by_unit.setdefault(one.unit, []).append(one)
    return [one for mine in by_unit.values() for one in bounded(query, mine, seed)]


def short(value: Any) -> Any:
    """A value to be told from others: of long text, its MD5."""
    if at_most(value, 32) is not None or value is None:
        return value
    return hashlib.md5(value.encode(), usedforsecurity=False).hexdigest()


def scans(plan: Plan) -> list[Scan]:
    return [plan] if isinstance(plan, Scan) else [scan for parent in plan.parents() for scan in scans(parent)]


def needed(query: Query) -> tuple[list[GridExpression], list[Expression]]:
    values = [value for statistic in query.statistics for value in statistic.arguments]
    values += [value for bound in query.bounds if bound.pick is not None for value in bound.grids]
    others = [statistic.of for statistic in query.statistics if statistic.of is not None]
    return list(dict.fromkeys(values)), list(dict.fromkeys(others))


def on_grid(value: GridExpression, row: Row, query: Query) -> int | None:
    number = value_of(value.expression, row)
    if number is None:
        return None
    return stepped(number, value.expression.kind, value.low, value.high, own_grid(value, query)[2])


def own_grid(value: GridExpression, query: Query) -> tuple[Any, Any, int]:
    """The grid by the rule: 2^14 steps where something is squared, or 2^29."""
    if value.expression.kind == "integer" and (value.low, value.high) == (0, 1):
        return 0, 1, 0
    second = any(value in s.arguments and sum(s.powers) > 1 for s in query.statistics)
    return grid(value.expression.kind, Fraction(value.low), Fraction(value.high), 14 if second else 29)


def bounded(query: Query, rows: list[Kept], seed: bytes) -> list[Kept]:
    """The rows of one unit that survive."""
    limits, secret = query.bounding, query.grouping.secret
    kind = next(field.kind for field in scans(query.plan)[0].fields if field.unit)
    unit = coded(rows[0].unit, kind)
    size = math.prod(len(key.values or ()) + key.everything_else for key in query.grouping.keys)

    def group_words(group: Any) -> list[Any]:
        if secret:
            return [coded(v, key.expression.kind) for v, key in zip(group, query.grouping.keys, strict=True)]
        return [(group, 0, size)] if query.grouping.keys else []

    def keys(group: Any) -> list[Any]:
        return [order(v) for v in (group if secret else (group,))]

    def content(row: Kept) -> list[Any]:
        return [order(v) for v in (*row.values, *row.others)]

    one_row = (limits.max_groups_per_unit, limits.max_rows_per_group) == (
        1,
        1,
    )  # of any group: rows are drawn, not groups
    if not query.grouping.keys or limits.max_rows_per_unit is not None or one_row:
        most = limits.max_rows_per_unit or limits.max_rows_per_group
        return sampled(sorted(rows, key=lambda row: (keys(row.group), content(row))), most, [unit], seed)
    groups: dict[Any, list[Kept]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)

    def by_group(group: Any) -> Any:
        start = hashed([unit, *group_words(group)], seed, "group")
        if secret:
            return start, keys(group)
        bits = (size - 1).bit_length()
        return start >> (max(0, bits - 6) if bits <= 14 else 0), group

    first = sorted(groups, key=by_group)[: limits.max_groups_per_unit]
    return [
        row
        for group in first
        for row in sampled(
            sorted(groups[group], key=content), limits.max_rows_per_group, [unit, *group_words(group)], seed
        )
    ]


def sampled(rows: list[Any], most: int, words: list[Any], seed: bytes, purpose: str = "offset") -> list[Any]:
    """A systematic sample of sorted rows: every n/R-th, from an offset that is drawn by the words."""
    n = len(rows)
    if n <= most:
        return rows
    square = squared(words, seed, purpose)
    high, low = (rest(square * (square + coefficient(seed, f"{purpose} {part}"))) + 4 for part in ("high", "low"))
    offset = (high * 2**25 + low) % n
    return [row for r, row in enumerate(rows) if (r * most + offset) % n < most]


# ------------------------------------------------------------------------------------------------------ totals


def integers(query: Query, tables: Tables, seed: bytes) -> dict[Any, tuple[int, ...]]:
    """The statistics of each group that occurs; of everything, if there are no keys."""
    kept = kept_rows(query, tables, seed)
    groups: dict[Any, list[Kept]] = {} if query.grouping.keys else {0: []}
    for row in kept:
        groups.setdefault(row.group, []).append(row)
    values, others = needed(query)
    return {
        group: tuple(statistic_of(one, rows, values, others, query) for one in query.statistics)
        for group, rows in groups.items()
    }


def statistic_of(
    statistic: Statistic, rows: list[Kept], values: list[GridExpression], others: list[Expression], query: Query
) -> int:
    if statistic.kind == "rows":
        return len(rows)
    if statistic.kind == "units":
        return len({row.unit for row in rows})
    if statistic.kind == "distinct":
        assert statistic.of is not None
        place = others.index(statistic.of)
        return len({row.others[place] for row in rows} - {None})
    places = [values.index(value) for value in statistic.arguments]
    cells = [[row.values[place] for place in places] for row in rows]
    present = [[cell for cell in row if cell is not None] for row in cells if None not in row]
    if statistic.kind == "sum":
        return sum(row[0] for row in present)
    middles = [middle(own_grid(value, query), value.expression.kind) for value in statistic.arguments]
    return sum(
        math.prod((x - m) ** k for x, m, k in zip(row, middles, statistic.powers, strict=True)) for row in present
    )


def middle(ends: tuple[Any, Any, int], kind: Any) -> int:
    low, high, exponent = ends
    return (stepped(low, kind, low, high, exponent) + stepped(high, kind, low, high, exponent)) // 2


def survivors(query: Query, tables: Tables, seed: bytes) -> Counter[tuple[Any, ...]]:
    """The rows that count, as an engine lists them: the unit, the group, the values."""
    alone = any(scan.each_row for scan in scans(query.plan))
    listed: Counter[tuple[Any, ...]] = Counter()
    for row in kept_rows(query, tables, seed):
        group = row.group if query.grouping.secret else (row.group,) if query.grouping.keys else ()
        listed[(*(() if alone else (row.unit,)), *group, *row.values, *row.others)] += 1
    return listed


__all__ = ["Beyond", "integers", "read", "rows_of", "survivors", "value_of"]
