"""Values that people write down: constants, public keys, rows of public tables."""

from __future__ import annotations

import datetime as dt
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lapwing.curator.plan.expressions import Kind


LONGEST = 1_000
"""Characters of a text that somebody writes into a question: a longer one would make every row expensive."""


def value_of(value: Any, kind: Kind) -> Any:
    """A value that somebody wrote down, as the one Python value that stands for it; ValueError if a kind has it not."""
    if type(value).__module__ == "numpy":
        value = value.item()
    if value is None:
        return None
    if isinstance(value, bool) != (kind == "boolean") or isinstance(value, dt.datetime) != (kind == "timestamp"):
        raise ValueError
    if kind == "boolean":
        return bool(value)
    if kind == "integer" and isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return int(value)
    if kind == "number" and isinstance(value, int | float) and abs(value) <= sys.float_info.max:
        return float(value)
    if kind == "text" and isinstance(value, str) and storable(value):
        return str(value)
    if kind == "date" and isinstance(value, dt.date):
        return dt.date(value.year, value.month, value.day)
    if kind == "timestamp" and value.tzinfo is None:
        return dt.datetime.combine(value.date(), value.time())
    raise ValueError


def storable(text: str) -> bool:
    """Whether every engine can hold a text: no half characters, and no NUL, which PostgreSQL has not."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def is_short(value: Any) -> bool:
    """Whether a value may stand in a question as a constant or a key."""
    return not isinstance(value, str) or len(value) <= LONGEST
