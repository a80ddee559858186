"""Write the bundled copy of the weekly chickenpox cases of Hungary from the file as it was published.

python tools/make_chickenpox.py hungary_chickenpox.csv > src/lapwing/datasets/chickenpox.csv.xz

The file is that of the UCI Machine Learning Repository. Nothing is changed but the dates, which are written as
2005-01-03 instead of 03/01/2005, and the names of the counties, which are written out.
"""

from __future__ import annotations

import csv
import datetime as dt
import lzma
import sys
from pathlib import Path

from lapwing.datasets.chickenpox import REGIONS

PUBLISHED = {
    "BACS": "Bács-Kiskun",
    "BORSOD": "Borsod-Abaúj-Zemplén",
    "CSONGRAD": "Csongrád",
    "FEJER": "Fejér",
    "GYOR": "Győr-Moson-Sopron",
    "HAJDU": "Hajdú-Bihar",
    "JASZ": "Jász-Nagykun-Szolnok",
    "KOMAROM": "Komárom-Esztergom",
    "NOGRAD": "Nógrád",
    "SZABOLCS": "Szabolcs-Szatmár-Bereg",
    "VESZPREM": "Veszprém",
    "BEKES": "Békés",
}
"""Names that are more than the published word with a capital letter."""


def lines(path: Path) -> list[str]:
    """The header, then one line for each week, the counties in the order of their regions."""
    counties = [county for below in REGIONS.values() for county in below]
    table = [",".join(["week", *counties])]
    with path.open(encoding="ascii") as file:
        for row in csv.DictReader(file):
            cases = {PUBLISHED.get(name, name.title()): number for name, number in row.items()}
            day, month, year = map(int, row["Date"].split("/"))
            week = dt.date(year if year > 99 else 2000 + year, month, day)
            table.append(",".join([week.isoformat(), *(cases[county] for county in counties)]))
    return table


def main() -> None:
    """The same bytes every time."""
    text = "\n".join(lines(Path(sys.argv[1]))) + "\n"
    sys.stdout.buffer.write(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
