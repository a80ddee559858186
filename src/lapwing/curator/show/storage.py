"""An answer as JSON and back, without any change: the ledger keeps exactly what was shown.

What JSON cannot hold exactly everywhere is tagged: dates, infinite ends of intervals, and whole numbers beyond 2^53.
The text is ASCII with sorted names, so equal answers are equal bytes.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.errors import InvalidParameter
from lapwing.privacy.losses import ZCDP, ApproxDP, Loss, PureDP
from lapwing.privacy.renyi import RenyiDP
from lapwing.privacy.trust import Trust

if TYPE_CHECKING:
    from lapwing.curator.show.answer import Answer, Column

FORMAT = 1
_LOSSES: dict[str, type[Loss]] = {kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, RenyiDP)}
_SAFE = 2**53
_DECIMAL_BITS = 14_000  # Python reads and writes decimal integers of up to 4300 digits


def written(answer: Answer) -> str:
    """The answer as one line of JSON."""
    record = {
        "lapwing_answer": FORMAT,
        "columns": [_column(column) for column in answer.columns],
        "loss": _loss(answer.loss),
        "remaining": None if answer.remaining is None else _loss(answer.remaining),
        "confidence": answer.confidence,
        "notes": list(answer.notes),
        "provenance": answer.provenance,
    }
    return json.dumps(record, sort_keys=True, allow_nan=False, separators=(",", ":"))


def read(text: str | bytes) -> dict[str, Any]:
    """The parts of the answer that was written; those of its columns among them."""
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    if not isinstance(record, dict) or record.get("lapwing_answer") != FORMAT:
        why = "is not an answer, or one of a later version of Lapwing"
        raise InvalidParameter("text", f"<{type(text).__name__}>", why, "Pass what answer.to_json() gave.")
    remaining = record["remaining"]
    return {
        "columns": [_read_column(column) for column in record["columns"]],
        "loss": _read_loss(record["loss"]),
        "remaining": None if remaining is None else _read_loss(remaining),
        "confidence": record["confidence"],
        "notes": tuple(record["notes"]),
        "provenance": record["provenance"],
    }


def _column(column: Column) -> dict[str, Any]:
    record: dict[str, Any] = {part.name: getattr(column, part.name) for part in fields(column)}
    record["values"] = [_value(value) for value in column.values]
    for name in ("noise", "interval"):
        if record[name] is not None:
            record[name] = [None if span is None else [_value(end) for end in span] for span in record[name]]
    if not column.in_full:  # answers without levels are written as ever
        del record["in_full"]
    return record


def _read_column(record: dict[str, Any]) -> dict[str, Any]:
    column = {**record, "values": tuple(_read_value(value) for value in record["values"])}
    for name in ("noise", "interval"):
        if record[name] is not None:
            column[name] = tuple(None if s is None else (_read_value(s[0]), _read_value(s[1])) for s in record[name])
    return column


def _value(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, dt.date):
        return {"date": value.isoformat()}
    if isinstance(value, float) and math.isinf(value):
        return {"number": repr(value)}
    if isinstance(value, int) and abs(value) > _SAFE:
        return {"integer": hex(value)}
    return value


def _read_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    [(tag, text)] = value.items()
    readers: dict[str, Callable[[str], Any]] = {
        "timestamp": dt.datetime.fromisoformat,
        "date": dt.date.fromisoformat,
        "number": float,
        "integer": lambda digits: int(digits, 16),
    }
    return readers[tag](text)


def _loss(loss: Loss) -> dict[str, Any]:
    record: dict[str, Any] = {"kind": type(loss).__name__}
    for part in fields(loss):
        value = getattr(loss, part.name)
        if isinstance(value, Trust):
            record[part.name] = value.to_dict()
        elif isinstance(value, tuple):
            record[part.name] = [_fraction(item) for item in value]
        else:
            record[part.name] = _fraction(value) if isinstance(value, Fraction) else value
    if loss.trust is None:  # answers that need none are written as ever
        del record["trust"]
    return record


def _read_loss(record: dict[str, Any]) -> Loss:
    arguments: dict[str, Any] = {}
    for name, value in record.items():
        if name == "trust":
            arguments[name] = Trust.from_dict(value)
        elif isinstance(value, list):
            arguments[name] = [_read_fraction(item) for item in value]
        elif name not in ("kind", "relation", "unit"):
            arguments[name] = _read_fraction(value)
        else:
            arguments[name] = value
    return _LOSSES[arguments.pop("kind")](**arguments)


def _fraction(value: Fraction) -> str:
    ends = (value.numerator, value.denominator)
    return "/".join(str(end) if end.bit_length() < _DECIMAL_BITS else hex(end) for end in ends)


def _read_fraction(text: str) -> Fraction:
    above, below = text.split("/")
    return Fraction(int(above, 0), int(below, 0))
