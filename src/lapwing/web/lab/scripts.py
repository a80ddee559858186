"""A runnable Python script that asks the same with `lapwing`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pprint import pformat

from lapwing.curator.engines.encodings import is_csv
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.parquet import Parquet
from lapwing.web.lab.statement import DATASET, Statement

PLACEHOLDER = "your-table.csv"
LEDGER = "ledger.db"


@dataclass(frozen=True, slots=True)
class File:
    """The file that a script reads, as somebody brought it."""

    name: str = PLACEHOLDER
    delimiter: str = ""
    """What separates its cells; empty if it is no text."""
    encoding: str = ""
    names: tuple[str, ...] = ()
    """What its columns are called here, if not as in the file."""
    code: str = ""
    """Instead of a file: a table that comes with Lapwing, as Python with the columns."""
    parquet: Parquet | None = None
    """How its rows were read, if it is a Parquet file."""

    @property
    def needs_copy(self) -> bool:
        """Whether a script opens a copy of it, because Lapwing does not read it as it is."""
        return self.parquet is not None and self.parquet.needs_copy(self.name)

    def options(self) -> dict[str, str]:
        """The keywords of `lw.open` that it needs."""
        is_plain = self.delimiter in ("", ",") and (is_csv(self.name) or not self.delimiter)
        return {
            **({} if is_plain else {"delimiter": repr(self.delimiter)}),
            **({"encoding": repr(self.encoding)} if self.encoding else {}),
            **({"names": _shown(list(self.names))} if self.names and not self.needs_copy else {}),
        }


ANY_FILE = File()


def script(analysis: Analysis, statement: Statement, epsilon: float, file: File = ANY_FILE) -> str:
    """All of it: open, state, ask, print."""
    parts = [heading(analysis, statement, file), opening(statement, file), analysis.script(statement, epsilon)]
    return "\n\n".join(parts) + "\n"


def heading(analysis: Analysis, statement: Statement, file: File = ANY_FILE) -> str:
    """What it is and what to change."""
    rows = f", {one_line(analysis.rows)}" if analysis.rows else ""
    return "\n".join(
        (
            f"# {one_line(analysis.title)}{rows}, asked of {one_line(statement.name)} with Lapwing.",
            "# Everything below is what you stated, or what a look at the data found and you kept.",
            "# Change what is wrong.",
            f"# {where(file)}",
        )
    )


def where(file: File) -> str:
    """What to do with the file."""
    if file.code:
        needed = "The table comes with Lapwing."
    elif file.name == PLACEHOLDER:
        needed = f"Replace {PLACEHOLDER} by the name of your file."
    else:
        needed = (
            f"Run this in the folder of your file{'' if file.needs_copy else ', or write its path after source ='}."
        )
    return f"{needed} Every run spends budget, and {LEDGER} in the same folder records it."


def opening(statement: Statement, file: File = ANY_FILE) -> str:
    """The lines that open `table` and state everything about it."""
    spend = f"{statement.epsilon!r}, {statement.delta!r}" if statement.delta else f"{statement.epsilon!r}"
    options = {
        **file.options(),
        **({"decimal": repr(statement.decimal)} if statement.decimal != "." else {}),
        **({"thousands": repr(statement.thousands)} if statement.thousands else {}),
        **({"true": repr(list(statement.true))} if statement.true else {}),
        **({"false": repr(list(statement.false))} if statement.false else {}),
        "name": repr(statement.name),
        "unit": repr(statement.unit) if statement.unit else "lw.EACH_ROW",
        "types": _mapping((column.name, column.type) for column in statement.columns),
        "bounds": _mapping((column.name, column.bounds) for column in statement.columns if column.bounds),
        "keys": _mapping((column.name, list(column.values)) for column in statement.columns if column.keys),
        "allowance": f"lw.{'ApproxDP' if statement.delta else 'PureDP'}({spend}, unit={statement.unit_word!r})",
        "ledger": "ledger",
        "dataset": repr(DATASET),
        "population": repr(statement.people),
    }
    if statement.max_rows_per_unit > 1:
        options["max_rows_per_unit"] = repr(statement.max_rows_per_unit)
    lines = [f"    {name}={value}," for name, value in options.items() if value != "{}"]
    dates = any(column.type == "date" and column.keys for column in statement.columns)
    imports = ["import datetime", ""] if dates else []
    files = [f"source = {_columns(file.code) if file.code else repr(file.name)}"]
    if file.code:
        imports += ["import numpy as np", "import lapwing as lw", "from lapwing import datasets"]
    elif file.parquet is not None and file.needs_copy:
        modules, files = file.parquet.copied(file.name)
        imports += [*modules, "import lapwing as lw"]
    else:
        imports += ["import lapwing as lw"]
    return "\n".join([*imports, "", *files, f"ledger = {LEDGER!r}", "", "table = lw.open(", "    source,", *lines, ")"])


def _columns(code: str) -> str:
    return f"{{name: np.array(column, dtype=object) for name, column in {code}.items()}}"


def one_line(text: str) -> str:
    """Text that stays within a comment."""
    return " ".join(text.split()) if text.isprintable() else ascii(text)


def _mapping(pairs: Iterable[tuple[str, object]]) -> str:
    return _shown(dict(pairs))


def _shown(value: object) -> str:
    return pformat(value, width=96, sort_dicts=False, compact=True).replace("\n", "\n    ")
