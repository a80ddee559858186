"""What text means is written twice: for engines, and in Python for cells of objects. Both say the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from nearly import TEXTS, strange

import lapwing as lw
from lapwing.curator.plan.text_forms import Notation, meaning
from lapwing.curator.plan.text_forms import notation as told
from lapwing.curator.tables.sources import rows_of

KINDS: dict[str, Any] = {
    "b": "boolean", "i": "integer", "n": "number", "d": "date", "t": "timestamp", "w": "text"
}  # fmt: skip


MISSING = ["NA", " NA ", "na", "", " ", "\t", f"NA{' ' * 98}", f"NA{' ' * 99}", "NA,"]


def times() -> list[str]:
    """Moments of which some part is nearly right."""
    dice = random.Random(4)
    days = ["2026-02-28", "2026-02-29", "0001-01-01", "9999-12-31", "0000-01-01", "2026-2-9"]
    clocks = ["", " 10:30", "T23:59:59", " 24:00", " 10:30:00.5", "T10:30:00.123456789", " 10", " 10:30:60"]
    zones = ["", "Z", " z", "+02", "-0530", " +15:59", "+16:00", "+2", "-23"]
    made = [day + clock + zone for day in days for clock in clocks for zone in zones]
    return [text[: dice.randrange(len(text) + 1)] if dice.random() < 0.1 else text for text in made]


@pytest.mark.parametrize(
    "notation",
    [
        told(),
        told(decimal=","),
        told(thousands=","),
        told(thousands="'"),
        told(true="ja", false=["nein", "0"]),
        told(missing=["NA", "", "17", "ja"]),
    ],
    ids=["points", "commas", "thousands", "apostrophes", "words", "missing"],
)
def test_python_reads_text_as_engines_do(notation: Notation) -> None:
    texts = [text for text in dict.fromkeys([*TEXTS, *strange(), *times(), "ja", "nein", *MISSING]) if "\0" not in text]
    column = pa.array(texts)  # which the engine reads: objects would be read in Python
    frame = pa.table({"row": np.arange(len(texts)), **dict.fromkeys(KINDS, column)})
    _, _, rows = rows_of(frame, table=None, types={"row": "integer", **KINDS}, most=10_000, notation=notation)
    read = {row[0]: row[1:] for row in rows}
    for place, text in enumerate(texts):
        assert repr(read[place]) == repr(tuple(meaning(text, kind, notation) for kind in KINDS.values())), text
    assert sum(any(value is not None for value in cells) for cells in read.values()) > 150


def test_numbers_that_programs_write_with_all_their_digits_are_read(tmp_path: Path) -> None:
    dice = random.Random(1)
    numbers = [dice.random() * 10.0 ** dice.randrange(-4, 15) for _ in range(1000)]
    frame = pd.DataFrame({"patient": range(1000), "x": numbers})
    frame.to_csv(tmp_path / "x.csv", index=False)
    words = frame.astype({"x": str})
    mixed = pd.concat([frame, pd.DataFrame([{"patient": 1000, "x": "n/a"}])])
    answers = [
        lw.open(source, unit="patient", bounds={"x": (0, 1e15)}).agg(lw.count("x"), lw.sum("x")).unprotected()
        for source in (frame, str(tmp_path / "x.csv"), words, mixed)
    ]
    assert answers[0]["count_x"] == (1000,)
    assert {(answer["count_x"], answer["sum_x"]) for answer in answers} == {
        (answers[0]["count_x"], answers[0]["sum_x"])
    }


def test_doubles_of_every_size_are_read_as_python_writes_them() -> None:
    dice = random.Random(5)
    numbers = [dice.choice((-1, 1)) * dice.uniform(1, 10) * 10.0**power for power in range(-306, 307)]
    for notation, texts in (
        (told(), map(repr, numbers)),
        (told(decimal=","), (repr(x).replace(".", ",") for x in numbers)),
    ):
        assert [meaning(text, "number", notation) for text in texts] == numbers


def test_numbers_beside_text_with_decimal_commas_are_the_numbers_that_they_are() -> None:
    numbers = pd.Series([1.125, "1,125", 2.5, 1000, 0.1, 1e-7, "1.000"], dtype=object)
    frame = pd.DataFrame({"x": numbers, "f": pd.Series([True, "ja", None, False, "nein", 0.5, "x"])})
    notation: dict[str, Any] = {"decimal": ",", "true": "ja", "false": "nein"}
    for source in (frame, {name: frame[name].to_numpy() for name in frame}, frame.astype("category")):
        table = lw.open(source, unit=lw.EACH_ROW, bounds={"x": (0, 2000)}, types={"f": "boolean"}, **notation)
        assert table.agg(lw.sum("x", name="s")).unprotected()["s"] == (pytest.approx(2004.8500001, abs=1e-4),)
        for words, count in (("f", 2), ("not f", 2)):
            assert table.where(words).agg(lw.count(name="n")).unprotected()["n"] == (count,)
