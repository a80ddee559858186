"""Answers in the frames of other libraries. The types of columns follow from the query, never from the values."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from lapwing.curator.show.answer import Column, Spans, Type

_INT64 = range(-(2**63), 2**63)


def flat(columns: tuple[Column, ...]) -> list[tuple[str, Type, list[Any]]]:
    """Name, type and values: each column, followed by the ends of its intervals."""
    taken = {column.name for column in columns}
    series: list[tuple[str, Type, list[Any]]] = []
    for column in columns:
        kind = column.type or "text"
        series.append((column.name, kind, [_cast(value, kind) for value in column.values]))
        for spans, label in ((column.noise, column.name), (column.interval, f"{column.name}_population")):
            if spans is not None:
                for side, end in enumerate(("low", "high")):
                    name = _free(f"{label}_{end}", taken)
                    series.append((name, "number", _ends(spans, side)))
    return series


def arrow(columns: tuple[Column, ...]) -> Any:
    """A table of pyarrow."""
    pa = _needs("pyarrow", "arrow")
    types = {
        "boolean": pa.bool_(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "text": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
    }
    series = _that_fit(flat(columns))
    schema = pa.schema([(name, types[kind]) for name, kind, _ in series])
    return pa.table([pa.array(values, types[kind]) for _, kind, values in series], schema=schema)


def polars(columns: tuple[Column, ...]) -> Any:
    """A frame of Polars."""
    pl = _needs("polars", "polars")
    types = {
        "boolean": pl.Boolean,
        "integer": pl.Int64,
        "number": pl.Float64,
        "text": pl.String,
        "date": pl.Date,
        "timestamp": pl.Datetime("us"),
    }
    return pl.DataFrame([pl.Series(name, values, types[kind]) for name, kind, values in _that_fit(flat(columns))])


def pandas(columns: tuple[Column, ...]) -> Any:
    """A frame of pandas, with its types that know what is missing; numbers are doubles."""
    pd = _needs("pandas", "pandas")
    types = {
        "boolean": "boolean",
        "integer": "Int64",
        "number": "float64",
        "text": "string",
        "date": "datetime64[s]",  # reaches from year 1 to 9999
        "timestamp": "datetime64[us]",
    }
    return pd.DataFrame({name: pd.Series(values, dtype=types[kind]) for name, kind, values in _that_fit(flat(columns))})


def csv(columns: tuple[Column, ...]) -> str:
    """CSV with a header. Text is quoted where needed, also when empty, so that it differs from NULL."""
    series = flat(columns)
    lines = [",".join(_quoted(name) for name, _, _ in series)]
    lines += [",".join(map(_quoted, row)) for row in zip(*(values for _, _, values in series), strict=True)]
    return "\n".join(lines) + "\n"


def _cast(value: Any, kind: Type) -> Any:
    if value is None:
        return None
    if kind == "number":
        return float(value)
    return str(value) if kind == "text" else value


def _ends(spans: Spans, side: int) -> list[Any]:
    return [None if span is None else span[side] for span in spans]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _that_fit(series: list[tuple[str, Type, list[Any]]]) -> list[tuple[str, Type, list[Any]]]:
    """The columns, if their whole numbers fit 64 bits, which noise of an extremely small epsilon does not."""
    for name, kind, values in series:
        if kind == "integer" and any(value is not None and value not in _INT64 for value in values):
            hint = "Use answer.table, to_dict() or to_json(), which hold any whole number."
            raise InvalidParameter("column", name, "has whole numbers beyond 64 bits", hint)
    return series


def _needs(package: str, extra: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtra(package, extra) from None


def _quoted(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if text == "" or text != text.strip() or any(mark in text for mark in ',"\n\r'):
        return '"' + text.replace('"', '""') + '"'
    return text
