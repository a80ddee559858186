"""How the rows of a Parquet file were read, so that a script can read them in the same way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pprint import pformat

from lapwing.web.lab.engine import text

_KNOWN = re.compile(r"\.(parquet|pq)$", re.IGNORECASE)
_ENDINGS = re.compile(r"(\.(parquet|pq|gz))+$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Parquet:
    """The columns that the lab took, by position: `c0` is the first of the file."""

    columns: str
    given: str
    """All columns of the file, in their order."""
    has_moments: bool = False
    """Whether it has points in time, of which the lab keeps the day."""
    packed: bool = False

    def needs_copy(self, name: str) -> bool:
        """Whether `lw.open` cannot read the file of this name as the lab did."""
        return self.has_moments or self.packed or not _KNOWN.search(name)

    def copied(self, name: str) -> tuple[list[str], list[str]]:
        """Imports, and lines of Python after which `source` is a file that `lw.open` reads as the lab did."""
        imports, lines = ["import duckdb"], []
        stem = _ENDINGS.sub("", name)
        source, copy = name, f"{stem} for Lapwing.parquet"
        if self.packed:
            source = f"{stem} unpacked.parquet"
            imports = ["import gzip", "import shutil", "", *imports]
            lines = [
                f"with gzip.open({name!r}) as packed, open({source!r}, 'wb') as unpacked:",
                "    shutil.copyfileobj(packed, unpacked)",
            ]
        literal = text(re.sub(r"[*?[]", r"[\g<0>]", source))  # to DuckDB a name is a pattern
        rows = f"read_parquet({literal}, utf8_validation = 'replace', hive_partitioning = false)"
        statement = f"COPY (SELECT {self.columns} FROM {rows} AS t({self.given})) TO {text(copy)} (FORMAT parquet)"
        why = "the day of each point in time" if self.has_moments else "the same columns"
        lines += [
            f"# Lapwing opens a copy of your file with {why}, as the lab did. Delete it when you are done.",
            "database = duckdb.connect()",
            "database.execute(\"SET TimeZone = 'UTC'\")",
            "database.execute(",
            f"    {pformat(statement, width=100).strip('()')}".replace("\n ", "\n    "),
            ")",
            "database.close()",
            f"source = {copy!r}",
        ]
        return imports, lines
