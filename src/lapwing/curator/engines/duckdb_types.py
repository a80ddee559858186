"""Map types of DuckDB to column kinds."""

from __future__ import annotations

from lapwing.curator.engines.cells import UNCHECKED_TEXT, is_unchecked
from lapwing.curator.plan.expressions import Kind

ZONED = ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS")
"""Moments with a zone, as DuckDB calls them."""
NOTHING = '"NULL"'
"""The type of a column without any value, as Arrow and Polars have it."""
_KINDS: dict[str, Kind] = {
    "BOOLEAN": "boolean",
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "number"),
    **dict.fromkeys(("VARCHAR", "UUID", UNCHECKED_TEXT, NOTHING), "text"),
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", *ZONED), "timestamp"),
}


def kind_of(declared: str) -> Kind | None:
    """What a type of DuckDB is to us."""
    if is_unchecked(declared):  # a list of DECIMAL, say
        return None
    if declared.startswith("DECIMAL"):
        return "number"
    return "text" if declared.startswith("ENUM") else _KINDS.get(declared)
