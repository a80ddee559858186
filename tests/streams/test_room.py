"""The file of a stream is small again once rows that waited in it were wiped for good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lapwing as lw


@pytest.mark.parametrize("way", ["the last step", "the end"])
def test_the_room_of_rows_that_waited_is_given_back(tmp_path: Path, way: str) -> None:
    (tmp_path / "visits.csv").write_text("region\nN\n")
    keys: Any = {"region": ["N", "S"]}
    table = lw.open(tmp_path / "visits.csv", unit=lw.EACH_ROW, keys=keys)
    stream = table.stream(lw.count(), by="region", every="step", steps=1).open(tmp_path / "state", epsilon=1)
    for _ in range(5):
        stream.add([{"region": "S" * 900} for _ in range(1000)])
    size = (tmp_path / "state").stat().st_size
    assert size > 4_000_000
    if way == "the end":
        stream.end()
    else:
        shown = stream.observe()
        assert lw.open_stream(tmp_path / "state").estimate() == shown
    assert (tmp_path / "state").stat().st_size < 200_000
    assert b"SSSS" not in (tmp_path / "state").read_bytes()
    assert lw.open_stream(tmp_path / "state").left == 0
