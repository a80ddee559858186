"""The people in the widgets are those of the library."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "src" / "lapwing" / "web" / "frontend" / "src" / "data"
NAMES = ("block", "office", "town", "ward")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    subprocess.run(
        [sys.executable, ROOT / "tools" / "widget-data", folder], check=True, capture_output=True, timeout=60
    )
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_data_are_what_the_generator_writes(name: str, written: Path) -> None:
    fresh, kept = ((folder / f"{name}.json").read_bytes() for folder in (written, DATA))
    assert fresh == kept, "run tools/widget-data"


def test_the_generator_writes_nothing_else(written: Path) -> None:
    assert sorted(path.name for path in written.iterdir()) == [f"{name}.json" for name in NAMES]


def test_the_patients_of_the_widget_have_no_names() -> None:
    hospital = json.loads((DATA / "town.json").read_text(encoding="utf-8"))["hospital"]
    assert set(hospital) == {"born", "sex", "postcode", "diagnosis"}


def test_everybody_to_be_attacked_in_the_office_is_alone_of_sex_and_occupation() -> None:
    office = json.loads((DATA / "office.json").read_text(encoding="utf-8"))
    kinds = list(zip(office["sex"], office["occupation"], strict=True))
    assert office["alone"]
    assert all(kinds.count(kinds[row]) == 1 for row in office["alone"])
    assert any(office["smokes"][row] for row in office["alone"])
