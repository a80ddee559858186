"""Finds in a page what the words of strangers must never become."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class Harmful(HTMLParser):
    """Finds what must not be in a page that shows the words of others."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script" and not (given.get("src") or "").startswith("/static/"):
            self.found.append(tag)
        if tag in ("iframe", "object", "embed", "style", "base", "hx-partial"):
            self.found.append(tag)
        for name, value in given.items():
            where = re.sub(r"[\s\x00-\x1f]", "", value or "").lower()
            if name.startswith(("on", "hx-on", "data-hx")) or name == "srcdoc":
                self.found.append(name)
            if name in ("href", "src", "action", "formaction") and where.startswith(
                ("javascript:", "data:", "vbscript:")
            ):
                self.found.append(where)
            if name in ("src", "action") and not where.startswith("/"):
                self.found.append(where)
            if name in ("hx-get", "hx-post") and not where.startswith(("/learn/", "/comments/")):
                self.found.append(where)


def harm_in(page: str) -> list[str]:
    """What is harmful in a page."""
    looked = Harmful()
    looked.feed(page)
    return looked.found
