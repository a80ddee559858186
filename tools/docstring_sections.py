"""What docstrings say of parameters, results and errors: the sections `Args:`, `Returns:` and `Raises:`.

A method need not repeat what its base class says: a parameter that means the same everywhere (`entropy`, `confidence`)
is described once, where it belongs. Tests and the site both read docstrings this way.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Yields")
_HEAD = re.compile(rf"^({'|'.join(SECTIONS)}):$")
_ENTRY = re.compile(r"^\*{0,2}(\w+): (.+)$")

Sections = dict[str, list[str]]
"""The lines of each section, without their common margin."""


def sections_of(text: str) -> Sections:
    """The sections of a docstring."""
    found: Sections = {}
    inside: list[str] | None = None
    for line in inspect.cleandoc(text).splitlines():
        if head := _HEAD.match(line):
            inside = found.setdefault(head[1], [])
        elif inside is not None and (line.startswith("    ") or not line.strip()):
            inside.append(line[4:])
        else:
            inside = None
    return {name: _trimmed(lines) for name, lines in found.items()}


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def entries(lines: Iterable[str]) -> dict[str, list[str]]:
    """What a section says of each name: its first line, and those that go on."""
    found: dict[str, list[str]] = {}
    name = None
    for line in lines:
        if entry := _ENTRY.match(line):
            name = entry[1]
            found[name] = [line]
        elif name is not None:
            found[name].append(line)
    return found


def described(text: str) -> dict[str, list[str]]:
    """The parameters (for a class: also the attributes) that a docstring describes."""
    sections = sections_of(text)
    return entries(sections.get("Args", [])) | entries(sections.get("Attributes", []))


def completed(text: str, inherited: Iterable[str], parameters: Iterable[str], required: Iterable[str] = ()) -> str:
    """The text with what the docstrings of base classes, nearest first, say of parameters that it leaves out.

    These come last, but for required ones: they come first, because nobody can leave them out.
    """
    own = described(text)
    known: dict[str, list[str]] = {}
    sections: Sections = {}
    for base in inherited:
        known = described(base) | known
        sections = sections_of(base) | sections
    added = {name: known[name] for name in parameters if name in known and name not in own}
    text = inspect.cleandoc(text)
    first = [name for name in added if name in set(required)]
    for names, ahead in ((first, True), ([name for name in added if name not in first], False)):
        if names:
            text = _with_lines(text, "Args", [line for name in names for line in added[name]], ahead=ahead)
    if "Returns" in sections and "Returns" not in sections_of(text):
        text = _with_lines(text, "Returns", sections["Returns"])
    return text


def _with_lines(text: str, title: str, lines: list[str], *, ahead: bool = False) -> str:
    """The text with lines at the end of a section (`ahead`: at its beginning). New sections stand before later ones."""
    more = [f"    {line}".rstrip() for line in lines]
    known = text.splitlines()
    for head in (f"{title}:", "Attributes:") if title == "Args" else (f"{title}:",):
        if head in known:
            place = known.index(head) + 1
            while not ahead and place < len(known) and known[place].startswith("    "):
                place += 1
            return "\n".join([*known[:place], *more, *known[place:]])
    later = {"Args": "Returns:|Raises:|", "Returns": "Raises:|"}[title]
    body, *rest = re.split(rf"\n\n+(?={later}```pycon|>>>)", text, maxsplit=1)
    return "\n\n".join([body, "\n".join([f"{title}:", *more]), *rest])
