"""One minute, two minutes: wherever a count stands before a noun."""

from __future__ import annotations

import re

from lapwing.web.pages import TEMPLATES

BY_HAND = re.compile(
    r"\}\} (?:more )?(?:minutes|comments|nuggets|places|rows|rules|weeks|days)\b" r'|[a-z]\{\{ "e?s" if'
)
NO_COUNT = {"survey/answer.html": ['l{{ "s" if']}
"""A number takes two wheels."""


def test_no_template_writes_a_plural_by_hand() -> None:
    texts = {str(one.relative_to(TEMPLATES)): one.read_text(encoding="utf-8") for one in TEMPLATES.rglob("*.html")}
    assert {name: found for name, text in texts.items() if (found := BY_HAND.findall(text))} == NO_COUNT
