"""One look for every chart: no module has colours, axes or ticks of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lapwing
from lapwing import charts

SOURCE = Path(lapwing.__file__).parent
MODULES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "charts.py" and "frontend" not in path.parts]
COLOURS = {charts.INK, charts.QUIET, charts.LINE, charts.TINT, *charts.SERIES, *charts.PALETTE.values()}
OWN_LOOKS = re.compile("|".join((*COLOURS, "spines.*set_visible", "set_major_formatter", "frameon", "facecolor=")))


def test_no_module_has_a_look_of_its_own() -> None:
    looks = {str(path.relative_to(SOURCE)): OWN_LOOKS.findall(path.read_text("utf-8")) for path in MODULES}
    assert {name: own for name, own in looks.items() if own} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_can_be_read_on_their_paper(theme: str) -> None:
    inks = charts.INKS[theme]
    for name in inks.keys() - {"paper", "line"}:
        assert contrast(inks[name], inks["paper"]) >= 4.2, name


def test_both_papers_have_the_same_colours() -> None:
    assert charts.INKS["light"].keys() == charts.INKS["dark"].keys()


def contrast(ink: str, paper: str) -> float:
    """As WCAG defines it."""
    dark, light = sorted((luminance(ink), luminance(paper)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
