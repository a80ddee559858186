"""A runnable Python script that asks the same with `lapwing`."""

from __future__ import annotations

from collections.abc import Iterable
from pprint import pformat

from lapwing.curator.encodings import ENCODINGS
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.statement import DATASET, Statement

PLACEHOLDER = "your-table.csv"
LEDGER = "ledger.db"


def script(
    analysis: Analysis,
    statement: Statement,
    epsilon: float,
    *,
    source: str = PLACEHOLDER,
    delimiter: str = "",
    encoding: str = "",
) -> str:
    """All of it: open, state, ask, print."""
    opened = opening(statement, source=source, delimiter=delimiter, encoding=encoding)
    parts = [heading(analysis, statement), opened, asking(analysis, statement, epsilon, encoding)]
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


def opening(statement: Statement, *, source: str = PLACEHOLDER, delimiter: str = "", encoding: str = "") -> str:
    """The lines that open `table` and state everything about it."""
    spend = f"{statement.epsilon!r}, {statement.delta!r}" if statement.delta else f"{statement.epsilon!r}"
    options = {
        **({"delimiter": repr(delimiter)} if delimiter not in ("", ",") else {}),
        **({"encoding": repr(encoding)} if encoding else {}),
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


def asking(analysis: Analysis, statement: Statement, epsilon: float, encoding: str = "") -> str:
    """The lines that ask. Some of them read rows with DuckDB, which wants UTF-8."""
    text = analysis.script(statement, epsilon)
    if not encoding or "[source]" not in text:
        return text
    copied = (
        "import shutil",
        "import tempfile",
        "",
        "# The rows are read from a copy in UTF-8, which goes when this program ends.",
        'copy = tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="")',
        f'with open(source, encoding={ENCODINGS[encoding].codec!r}, errors="replace", newline="") as file:',
        "    shutil.copyfileobj(file, copy)",
        "copy.flush()",
        "source = copy.name",
    )
    return "\n".join(copied) + "\n\n" + text


def one_line(text: str) -> str:
    """Text that stays within a comment."""
    return " ".join(text.split()) if text.isprintable() else ascii(text)


def _mapping(pairs: Iterable[tuple[str, object]]) -> str:
    return pformat(dict(pairs), width=96, sort_dicts=False, compact=True).replace("\n", "\n    ")
