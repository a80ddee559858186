"""The operators of the language as SQL: each a total function of its arguments, alike on every engine."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from lapwing.curator.engines.bins import bin_of
from lapwing.curator.engines.dialects import SQL_TYPES, cast, double
from lapwing.curator.plan.expressions import Call, Constant, Expression, span_of

EXACT = 1 << 53
"""Up to it a double holds every whole number."""


def clamped(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Case:
    """A value, or the bound that it is beyond."""
    # CASE is twice as fast as GREATEST and LEAST, whose NULL differs between engines besides.
    below, above = exp.LT(this=value.copy(), expression=low), exp.GT(this=value.copy(), expression=high)
    return exp.Case().when(below, low.copy(), copy=False).when(above, high.copy(), copy=False).else_(value, copy=False)


def is_tiny(value: exp.Expr) -> exp.Expr:
    """Whether a double is taken for 0."""
    return exp.func("ABS", value.copy()) < double(2.0**-100)


def _as_double(call: Call, arguments: list[exp.Expr]) -> list[exp.Expr]:
    kinds = [argument.kind for argument in call.arguments]
    return [cast(sql, "DOUBLE") if kind == "integer" else sql for sql, kind in zip(arguments, kinds, strict=True)]


def _binary(kind: type[exp.Binary]) -> Callable[[Call, list[exp.Expr]], exp.Expr]:
    def compiled(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
        left, right = _as_double(call, arguments)
        if kind is exp.Div:
            right = exp.Nullif(this=right, expression=double(0.0))
        return exp.Paren(this=kind(this=exp.Paren(this=left), expression=exp.Paren(this=right)))

    return compiled


def _comparison(kind: type[exp.Binary]) -> Callable[[Call, list[exp.Expr]], exp.Expr]:
    def compiled(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
        left, right = _alike(call, arguments)
        return exp.Paren(this=kind(this=left, expression=right))

    return compiled


def _alike(call: Call, arguments: list[exp.Expr]) -> list[exp.Expr]:
    """Arguments as doubles if one of them is a double."""
    mixed = {argument.kind for argument in call.arguments} >= {"integer", "number"}
    return _as_double(call, arguments) if mixed else arguments


def _clamp(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
    value, low, high = arguments
    if call.kind == "integer":
        return clamped(value, low, high)
    low, high = (double(float(end.value)) for end in call.arguments[1:] if isinstance(end, Constant))
    return (
        exp.Case()
        .when(value.copy() < low, low.copy())
        .when(value.copy() > high, high.copy())
        .when(is_tiny(value), double(0.0))
        .else_(value)
    )


def _whole_part(function: str) -> Callable[[Call, list[exp.Expr]], exp.Expr]:
    def compiled(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
        [value] = _as_double(call, arguments)
        part: exp.Expr = cast(exp.func(function, value), "DOUBLE")  # Spark's are of 64 bits, and would wrap around
        if span_of(call).size > EXACT:  # so large a double is whole
            part = exp.Case().when(exp.func("ABS", value.copy()) < double(EXACT), part).else_(value.copy())
        return part

    return compiled


def _truths(call: Call, arguments: list[exp.Expr]) -> list[exp.Expr]:
    return [truth(argument, sql) for argument, sql in zip(call.arguments, arguments, strict=True)]


def truth(value: Expression, sql: exp.Expr) -> exp.Expr:
    """A condition; Spark takes no NULL without a type for one."""
    return cast(sql, "BOOLEAN") if value.kind is None else sql


def _case(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
    values = [*arguments[1::2], arguments[-1]]
    conditions = [truth(argument, sql) for argument, sql in zip(call.arguments[:-1:2], arguments[:-1:2], strict=True)]
    if call.kind == "number":
        kinds = [*(part.kind for part in call.arguments[1::2]), call.arguments[-1].kind]
        values = [cast(sql, "DOUBLE") if kind == "integer" else sql for sql, kind in zip(values, kinds, strict=True)]
    case = exp.Case()
    for condition, value in zip(conditions, values, strict=False):
        case = case.when(condition, value, copy=False)
    return case.else_(cast(values[-1], SQL_TYPES[call.kind]), copy=False)


def _among(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
    value, *options = _alike(call, arguments)
    return exp.Paren(this=exp.In(this=value, expressions=options))


def _part(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
    return cast(exp.Extract(this=exp.Var(this=call.operator.upper()), expression=arguments[0]), "BIGINT")


def _coalesce(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
    first, *others = _alike(call, arguments)
    return exp.Coalesce(this=first, expressions=others)


def _to_number(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
    if call.arguments[0].kind == "integer":
        return cast(arguments[0], "DOUBLE")
    return exp.Case().when(arguments[0], double(1.0)).when(exp.not_(arguments[0].copy()), double(0.0))


def _bin(call: Call, arguments: list[exp.Expr]) -> exp.Expr:
    edges = [float(edge.value) for edge in call.arguments[1:] if isinstance(edge, Constant)]
    return bin_of(_as_double(call, arguments)[0], edges)


OPERATORS: dict[str, Callable[[Call, list[exp.Expr]], exp.Expr]] = {
    "+": _binary(exp.Add),
    "-": _binary(exp.Sub),
    "*": _binary(exp.Mul),
    "/": _binary(exp.Div),
    "%": lambda call, arguments: exp.Paren(this=exp.Mod(this=exp.Paren(this=arguments[0]), expression=arguments[1])),
    "=": _comparison(exp.EQ),
    "<>": _comparison(exp.NEQ),
    "<": _comparison(exp.LT),
    "<=": _comparison(exp.LTE),
    ">": _comparison(exp.GT),
    ">=": _comparison(exp.GTE),
    "and": lambda call, arguments: exp.Paren(this=exp.and_(*_truths(call, arguments))),
    "or": lambda call, arguments: exp.Paren(this=exp.or_(*_truths(call, arguments))),
    "not": lambda call, arguments: exp.Paren(this=exp.not_(exp.Paren(this=_truths(call, arguments)[0]))),
    "is null": lambda call, arguments: exp.Paren(this=exp.Is(this=exp.Paren(this=arguments[0]), expression=exp.null())),
    "in": _among,
    "abs": lambda call, arguments: exp.func("ABS", *_as_double(call, arguments)),
    "floor": _whole_part("FLOOR"),
    "ceil": _whole_part("CEIL"),
    "length": lambda call, arguments: cast(exp.Length(this=arguments[0]), "BIGINT"),
    **dict.fromkeys(("year", "month", "day", "hour", "minute"), _part),
    "clamp": _clamp,
    "case": _case,
    "coalesce": _coalesce,
    "to number": _to_number,
    "bin": _bin,
}
