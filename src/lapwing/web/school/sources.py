"""Where the sources, tools and vendors that nuggets name are found: `nuggets/sources.yaml`, each address once."""

from __future__ import annotations

import html
import re
from functools import cache
from importlib.resources import files

import yaml

LEAVES = '<span class="unseen"> (opens in a new tab)</span>'
"""Words for who does not see the arrow behind a link that leads elsewhere."""
_ADDRESS = re.compile(r"https://[A-Za-z0-9.-]+/[A-Za-z0-9._~/?#=%:-]*")


@cache
def addresses(kind: str) -> dict[str, str]:
    """The addresses of `papers` or `products`, by name as `named` writes it."""
    text = (files("lapwing") / "web" / "nuggets" / "sources.yaml").read_text(encoding="utf-8")
    entries = yaml.safe_load(text)[kind]
    wrong = [address for address in entries.values() if not _ADDRESS.fullmatch(address)]
    if wrong:
        raise ValueError(f"sources.yaml: {wrong[0]!r} is not an address. Write https://….")
    return {named(name): address for name, address in entries.items()}


def linked(text: str) -> str:
    """HTML of a text in which tools and vendors are links."""

    def link(match: re.Match[str]) -> str:
        address = addresses("products")[named(html.unescape(match[0]))]
        rel = 'target="_blank" rel="noopener nofollow"'
        return f'<a class="elsewhere" {rel} href="{html.escape(address)}">{match[0]}{LEAVES}</a>'

    return _products().sub(link, html.escape(text))


@cache
def _products() -> re.Pattern[str]:
    names = sorted((html.escape(name) for name in addresses("products")), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", re.IGNORECASE)


def named(name: str) -> str:
    """A name without what writers vary: capitals, quotation marks, line ends.

    >>> named("LinkedIn’s audience\\n engagements API")
    "linkedin's audience engagements api"
    """
    return " ".join(name.replace("’", "'").casefold().split())
