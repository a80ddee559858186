"""What an owner declares about the columns of a table: kinds, bounds, keys, whose rows they are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final

from lapwing import checks
from lapwing.curator.plan.expressions import KINDS, NUMERIC, Column, Expression, Kind
from lapwing.curator.plan.hints import unseen, which_column
from lapwing.curator.plan.values import LONGEST, is_short, value_of
from lapwing.errors import InvalidParameter, quoted, withheld


class EachRow:
    """Every row is a unit of its own: right only if nobody has two rows."""

    def __repr__(self) -> str:
        return "EACH_ROW"


EACH_ROW: Final = EachRow()
"""For `unit=`: every row counts as a different person. This is right only if nobody has two rows."""


def declared_fields(
    kinds: Mapping[str, Kind | None],
    unit: str | EachRow | None,
    bounds: Mapping[str, Any],
    keys: Mapping[str, Iterable[Any]],
    types: Mapping[str, Kind],
    *,
    where: str = "the table",
) -> tuple[Column, ...]:
    """The columns of a table with everything that is publicly known about them."""
    if unit is None:
        why, hint = "every row needs exactly one unit of protection", "Write unit='patient_id', or unit=lw.EACH_ROW."
        raise InvalidParameter("unit", unit, why, hint)
    given_unit: object = unit
    if not isinstance(given_unit, str | EachRow):
        hint = "Write unit='patient_id', or unit=lw.EACH_ROW."
        raise InvalidParameter("unit", unit, "must be the name of one column", hint)
    for given in (bounds, keys, types, *([] if isinstance(unit, EachRow) else [{unit: None}])):
        with unseen(kinds, column=list(given)):
            for column in given:
                if column not in kinds:
                    raise InvalidParameter("column", column, f"is not in {where}", which_column(column, kinds))
    fields = []
    for column, native in kinds.items():
        kind = types.get(column, native)
        if kind is None:
            continue  # of a type that cannot be used; whoever names it is told that there is no such column
        checks.one_of(KINDS, types=kind)
        if not is_readable(kind, native):
            why = f"{column} is of {f'kind {native}' if native else 'another kind'}, which engines treat differently"
            raise InvalidParameter("types", kind, why, "Leave it out, or convert the column in the source.")
        stored = "text" if column in types else native  # what is declared holds, whatever a program made of the cells
        fields.append(_field(column, kind, stored, unit == column, bounds.get(column), keys.get(column)))
    return tuple(fields)


def completed(fields: tuple[Column, ...], complete: Sequence[str]) -> tuple[Column, ...]:
    """The columns, some of which are declared to have a value in every row."""
    if isinstance(complete, str):
        hint = f"Write complete=[{quoted(complete, otherwise='age')}]."
        raise InvalidParameter("complete", complete, "is one text, not a list", hint)
    there = [field.name for field in fields]
    is_list = isinstance(complete, list | tuple | set | frozenset)
    if not is_list or not all(isinstance(column, str) and column in there for column in complete):
        raise InvalidParameter("complete", complete, "must be a list of columns", which_column(None, there))
    known = {field.name for field in fields if field.bounds is not None}
    for column in complete:
        if column not in known:
            why = "a missing value counts as the middle of the bounds, so the column needs bounds"
            raise InvalidParameter("complete", column, why, f"Write bounds={{{column!r}: (0, 100)}} as well.")
    return tuple(replace(field, complete=field.name in complete) for field in fields)


_ANY_KIND = (*NUMERIC, "boolean", "text")
"""Kinds that are read as any other, cell by cell.

pandas makes doubles of whole numbers of which one is missing, and of a column of any kind of which all are; it makes
objects of truth values of which one is missing. Refusing one of these types, and not the others, would tell that.
"""
_MOMENTS = ("date", "timestamp")
"""Kinds that stand for one another: the day of a moment, or midnight."""


def is_readable(kind: Kind, native: Kind | None) -> bool:
    """Whether a column of one kind, or of a type without, may be declared to be of another."""
    either = kind in _MOMENTS and native in _MOMENTS
    return native in (kind, *_ANY_KIND) or either or (kind == "text" and native is None)


def _field(
    column: str, kind: Kind, native: Kind | None, is_unit: bool, bounds: Any, keys: Iterable[Any] | None
) -> Column:
    ends = None
    if bounds is not None:
        ends = checks.interval(bounds=bounds, example=f"{{{column!r}: (0, 120)}}")
    if ends is not None and kind not in ("integer", "number"):
        if native != "text" or kind != "text":
            raise InvalidParameter("bounds", column, f"is of kind {kind}, which has no bounds", "Leave it out.")
        kind = "number"  # a CSV has nothing but text; bounds say that this is a number
    if is_unit and kind not in ("integer", "text"):
        why = f"is of kind {kind}, and a unit needs a whole number or text"
        hint = f"Write types={{{column!r}: 'text'}}." if is_readable("text", native) else "Convert it in the source."
        raise InvalidParameter("unit", column, why, hint)
    values = None if keys is None else different(column, keys)
    if values is not None:
        if kind == "text" and native == "text" and values and all(type(value) is int for value in values):
            kind = "integer"
        with among_keys(column, keys):
            fitting(column, kind, values)
    return Column(column, kind, ends, values, is_unit)


def different(column: str, keys: Iterable[Any]) -> tuple[Any, ...]:
    """Each key once, as Python's own number or text."""
    if isinstance(keys, str):  # a text is a list of letters, which nobody means
        hint = f"Write keys={{{column!r}: [{quoted(keys, otherwise='a')}, …]}}."
        raise InvalidParameter("keys", keys, "is one text, not a list", hint)
    try:
        return tuple(dict.fromkeys(key.item() if type(key).__module__ == "numpy" else key for key in keys))
    except TypeError:
        raise InvalidParameter("keys", keys, f"{column} needs a list of values", "Write keys={'…': [1, 2]}.") from None


def among_keys(column: str, keys: object) -> AbstractContextManager[None]:
    """Whatever is refused about one of the keys of a column: kept back if they could be records."""
    return withheld(f"{column} cannot have one of them", "Write keys of its kind, or declare its type.", keys=keys)


def fitting(column: str, kind: Kind, values: tuple[Any, ...]) -> None:
    """Refuse values that a column of this kind cannot have."""
    with among_keys(column, values):
        for value in values:
            try:
                value_of(value, kind)
            except ValueError:
                why = f"{column} is of kind {kind}"
                hint = f"Write keys of that kind, or types={{{column!r}: {_kind_of(value)!r}}}."
                raise InvalidParameter("keys", value, why, hint) from None
            if not is_short(value):
                why = f"{column} has a key of {len(value):,} characters, and at most {LONGEST:,} are allowed"
                raise InvalidParameter("keys", value[:40] + "…", why, "Leave it out, or give the source a short code.")
    if not values:
        raise InvalidParameter(
            "keys", values, f"{column} needs at least one", "Leave it out if you cannot declare the keys."
        )


def _kind_of(value: Any) -> str:
    """The kind of column that holds such values, for a hint."""
    kinds = ((bool, "boolean"), (int, "integer"), (float, "number"), (dt.datetime, "timestamp"), (dt.date, "date"))
    return next((kind for known, kind in kinds if isinstance(value, known)), "text")


def declared_keys(
    parsed: Mapping[str, Expression], keys: Mapping[str, Iterable[Any]] | None
) -> Iterator[tuple[str, Expression, tuple[Any, ...] | None]]:
    """What is grouped by, with the keys that were declared beside it."""
    given = {} if keys is None else keys
    if not isinstance(given, Mapping):
        raise InvalidParameter("keys", keys, "must be a mapping", "Write keys={'year': [2025, 2026]}.")
    hint = f"There are: {', '.join(parsed)}."
    with withheld("has an entry that is not grouped by", hint, keys=list(given)):
        for name in given:
            if name not in parsed:
                raise InvalidParameter("keys", name, "is not grouped by", hint)
    for name, by in parsed.items():
        values = different(name, given[name]) if name in given else None
        if values is not None:
            with among_keys(name, given[name]):
                fitting(name, by.kind or "text", values)
        yield name, by, values
