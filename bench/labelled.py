"""What labelled encryption costs: seconds of one core for a row, a product and a program, beside which shares are put.

`python -m bench.labelled` prints them. The key has its real length; a few rows of Adult are enough, because the work is
the same for every row, and a program on all rows is so many times as much.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from lapwing.datasets import adult
from lapwing.pair.labelled import AnalyticsServer, LabelledPair, OneHot, Upload
from lapwing.pair.labelled_programs import ADULT, RACES, SEXES, records
from lapwing.pair.paillier import KEY_BITS

ROWS, ADULT_ROWS = 4, 32_561
CROSSED = OneHot({"race": RACES, "sex": SEXES})
"""What P3 needs of a row."""


@dataclass(frozen=True, slots=True)
class LabelledCosts:
    """Seconds of one core, and bytes."""

    label_bits: int | None
    upload_seconds: float
    """Of one owner: all cells of the three programs."""
    upload_bytes: int
    product_seconds: float

    @property
    def row_seconds(self) -> float:
        """Of one row in P3: a product for each race and sex."""
        return len(RACES) * len(SEXES) * self.product_seconds

    @property
    def program_seconds(self) -> float:
        """Of P3 on all rows of Adult, extrapolated."""
        return ADULT_ROWS * self.row_seconds


def measure(label_bits: int | None = None, rows: int = ROWS) -> LabelledCosts:
    """With a key of the real length."""
    table = list(records(adult("train"), rows, CROSSED))
    server = LabelledPair.collect(table, CROSSED, label_bits=label_bits).analytics
    start = time.process_time()
    for record in table:
        Upload.encrypt(CROSSED.cells(record), server.labels)
    cell_seconds = (time.process_time() - start) / (rows * (CROSSED.width + 1))  # and one more for the seed
    padded = (label_bits or KEY_BITS) // 8
    cell_bytes, seed_bytes = KEY_BITS // 4 + padded, KEY_BITS // 4
    return LabelledCosts(
        label_bits,
        cell_seconds * (ADULT.width + 1),
        ADULT.width * cell_bytes + seed_bytes,
        _product(server),
    )


def _product(server: AnalyticsServer) -> float:
    start = time.process_time()
    count = 0
    for row in server.rows:
        for i in CROSSED.columns("race"):
            for j in CROSSED.columns("sex"):
                server.product(row.cells[i], row.cells[j])
                count += 1
    return (time.process_time() - start) / count


def main() -> None:
    """Both lengths of labels."""
    for label_bits in (None, 64):
        costs = measure(label_bits)
        sys.stdout.write(
            f"labels of {label_bits or KEY_BITS} bits: an upload takes {costs.upload_seconds:.2f} s and has "
            f"{costs.upload_bytes:,} bytes, a product takes {1000 * costs.product_seconds:.2f} ms, a row of P3 "
            f"{costs.row_seconds:.3f} s, P3 on {ADULT_ROWS:,} rows {costs.program_seconds:,.0f} s\n"
        )


if __name__ == "__main__":
    main()
