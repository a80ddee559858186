"""A runnable Python script that asks the same with `lapwing`."""

from __future__ import annotations

from collections.abc import Iterable
from pprint import pformat

from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.statement import DATASET, Statement

PLACEHOLDER = "your-table.csv"
LEDGER = "ledger.db"


def script(
    analysis: Analysis, statement: Statement, epsilon: float, *, source: str = PLACEHOLDER, delimiter: str = ""
) -> str:
    """All of it: open, state, ask, print."""
    opened = opening(statement, source=source, delimiter=delimiter)
    parts = [heading(analysis, statement), opened, analysis.script(statement, epsilon)]
    return "\n\n".join(parts) + "\n"


def heading(analysis: Analysis, statement: Statement) -> str:
    """What it is and what to change."""
    return "\n".join(
        (
            f"# {one_line(analysis.title)}, asked of {one_line(statement.name)} with Lapwing.",
            "# What stands below is what you stated, never something read from the data: change it where it is wrong.",
            f"# Name your own file in the place of {PLACEHOLDER}. Every run spends from the ledger beside it.",
        )
    )


def opening(statement: Statement, *, source: str = PLACEHOLDER, delimiter: str = "") -> str:
    """The lines that open `table` and state everything about it."""
    spend = f"{statement.epsilon!r}, {statement.delta!r}" if statement.delta else f"{statement.epsilon!r}"
    options = {
        **({"delimiter": repr(delimiter)} if delimiter not in ("", ",") else {}),
        **({"decimal": repr(statement.decimal)} if statement.decimal != "." else {}),
        **({"thousands": repr(statement.thousands)} if statement.thousands else {}),
        **({"true": repr(list(statement.true))} if statement.true else {}),
        **({"false": repr(list(statement.false))} if statement.false else {}),
        "name": repr(statement.name),
        "unit": repr(statement.unit) if statement.unit else "lw.EACH_ROW",
        "types": _mapping((one.name, one.type) for one in statement.columns),
        "bounds": _mapping((one.name, one.bounds) for one in statement.columns if one.bounds),
        "keys": _mapping((one.name, list(one.values)) for one in statement.columns if one.keys),
        "allowance": f"lw.{'ApproxDP' if statement.delta else 'PureDP'}({spend}, unit={statement.unit_word!r})",
        "ledger": "ledger",
        "dataset": repr(DATASET),
        "population": repr(statement.people),
    }
    if statement.max_rows_per_unit > 1:
        options["max_rows_per_unit"] = repr(statement.max_rows_per_unit)
    lines = [f"    {name}={value}," for name, value in options.items() if value != "{}"]
    dates = any(one.type == "date" and one.keys for one in statement.columns)
    files = [f"source = {source!r}", f"ledger = {LEDGER!r}", ""]
    imports = ["import datetime", ""] if dates else []
    return "\n".join([*imports, "import lapwing as lw", "", *files, "table = lw.open(", "    source,", *lines, ")"])


def one_line(text: str) -> str:
    """Text that stays within a comment."""
    return " ".join(text.split()) if text.isprintable() else ascii(text)


def _mapping(pairs: Iterable[tuple[str, object]]) -> str:
    return pformat(dict(pairs), width=96, sort_dicts=False, compact=True).replace("\n", "\n    ")
