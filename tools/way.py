#!/usr/bin/env python3
"""The way of one `table.sql(…)` through the library: how many files and functions it passes, and who calls whom.

    tools/way.py            files, functions, and pairs of files that call each other

A pair of files in which each calls the other is a place where a reader goes in circles. Threads that a question starts
are followed, too. A comprehension is a part of the function it stands in, not one of its own (from Python 3.12 on most
of them have no frame); a lambda counts.
"""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import lapwing as lw

HOUSE = str(Path(lw.__file__).parent)
ROWS = "p,x,region\n" + "".join(f"{i},{i % 7}.5,{'NS'[i % 2]}\n" for i in range(50))
SQL = "SELECT region, COUNT(*) AS n, AVG(x) AS x FROM t GROUP BY region ORDER BY n DESC"


def way(path: Path) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The functions that one question passes, as (file, name), and the calls from file to file."""
    path.write_text(ROWS, encoding="utf-8")
    facts: dict[str, Any] = {"bounds": {"x": (0, 7)}, "keys": {"region": ["N", "S"]}, "types": {"x": "number"}}
    table = lw.open(path, unit="p", name="t", **facts)
    table.sql(SQL, epsilon=1)  # what is loaded or prepared once is not on the way
    functions: set[tuple[str, str]] = set()
    calls: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        here = frame.f_code.co_filename
        if event != "call" or not here.startswith(HOUSE):
            return
        functions.add((here, re.sub(r"(\.<locals>)?\.<(genexpr|(list|dict|set)comp)>", "", frame.f_code.co_qualname)))
        above = frame.f_back.f_code.co_filename if frame.f_back else ""
        if above.startswith(HOUSE) and above != here:
            calls.add((above, here))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        table.sql(SQL, epsilon=1)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return functions, calls


def main() -> None:
    """Print what was passed."""
    with TemporaryDirectory() as folder:
        functions, calls = way(Path(folder) / "t.csv")
    mutual = sorted({tuple(sorted(pair)) for pair in calls if pair[::-1] in calls})
    print(f"{len({file for file, _ in functions})} files, {len(functions)} functions, {len(mutual)} mutual pairs")
    for pair in mutual:
        print("   ", " ↔ ".join(file.removeprefix(HOUSE + "/") for file in pair))


if __name__ == "__main__":
    main()
