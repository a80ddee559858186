"""One meaning per colour: exact is ink, private teal, noise rufous, the adversary crimson, budget amber."""

from __future__ import annotations

import re

from rich.console import Console
from rich.theme import Theme

COLOURS = Theme(
    {
        "exact": "grey62",
        "private": "bold #2a9d8f",
        "noise": "#b5651d",
        "adversary": "bold #c1121f",
        "budget": "#d99a00",
        "quiet": "dim",
    }
)


def picture(console: Console, title: str) -> str:
    """What a recording console showed, as an SVG that loads nothing from anywhere."""
    return re.sub(r"@font-face\s*{[^}]*}", "", console.export_svg(title=title, unique_id="lapwing"))
