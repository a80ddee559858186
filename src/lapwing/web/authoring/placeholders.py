"""What a template or a button put into a nugget and nobody replaced yet, and where each piece stands.

A draft may have any of it. A nugget that is published may not: readers would see it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lapwing.web.authoring.snippets import SAMPLES, SNIPPETS, WIDGET_WORDS

SUMMARY = "One or two sentences for the tile: why should somebody read this?"
OBJECTIVE = "Explain … in your own words."
BODY = """
Begin with what your reader knows already, and with the question that this nugget answers.

## A first screen {serves=1}

Short paragraphs, one thought each. A formula is written between dollar signs, $e^{-x}$, or on lines of its own:

$$
f(x) = \\frac{1}{2b}e^{-|x|/b}
$$

::: remember
The one sentence that should stay.
:::

::: takeaways
- What one can do now.
:::

## Where to go next

[All nuggets](/#nuggets)
"""
"""What a new nugget begins with."""
_OWN = (
    *(SUMMARY, OBJECTIVE, "A first screen", "The one sentence that should stay.", "What one can do now."),
    *(line for line in BODY.splitlines() if line.startswith(("Begin with", "Short paragraphs"))),
)
_LINES = {
    *_OWN,
    *(hole for snippet in SNIPPETS for hole in snippet.holes),
    *(SAMPLES[name] for name in ("heading", "list", "numbers", "formula", "video", "captions")),
    WIDGET_WORDS,
}
"""Samples that fill a line, a title, an item or a value."""
_CELLS = {cell.strip() for cell in re.split(r"[|\n-]+", SAMPLES["table"]) if cell.strip()}
_BEFORE = re.compile(r"^\s*(?:>\s*)*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(?:#{1,6}\s+)?(?:(?:[a-z_]+):\s+)?")
_BEHIND = re.compile(r"\{(?:serves=[0-9,]*)? ?(?:deeper)?\}")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([a-z]*)")
_CODE_SPAN = re.compile(r"(?<!`)(`++).*?(?<!`)\1(?!`)")
_UNFINISHED = re.compile(r"\b(?:TODO|FIXME|TBD)\b|\b(?:[Ll]orem ipsum|[Ww]rite here)\b")
_PICTURE = re.compile(r"!\[([^\[\]]*)\]\(")
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^()]*)\)")
_NUGGET = re.compile(r"/learn/([a-z0-9-]+)/?(?:[#?].*)?")
_EMPTY = re.compile(r"(\s*)(?:-\s+)?(ask|text|feedback):\s*+(?:\"\"|''|~|null)?")
_QUIZ_WORDS = {"ask": "A question", "text": "An answer", "feedback": "The feedback on an answer"}
_WITH_WORDS = {"", "widget", "quiz", "video", "picture", "graph", "data"}
"""Fences in which sample text is looked for; what is code is the author's own."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """Something to replace before readers see it."""

    line: int
    words: str


def placeholders(text: str, slugs: Collection[str] = ()) -> list[Placeholder]:
    """All of them in order; links to nuggets that are not among the `slugs`, if those are told, lead nowhere."""
    return sorted({*_in_lines(text, slugs), *_whole_samples(text)}, key=lambda hole: hole.line)


def _in_lines(text: str, slugs: Collection[str]) -> Iterator[Placeholder]:
    lines, fence, kind = text.splitlines(), "", ""
    for number, line in enumerate(lines, 1):
        if match := _FENCE.match(line):
            if not fence:
                fence, kind = match[1], match[2] or "code"
                continue
            if match[1].startswith(fence) and not match[2]:
                fence = kind = ""
                continue
        if kind not in _WITH_WORDS:
            continue
        bare = _bare(line)
        if (bare.strip("\"'") or "-") in _LINES:
            yield Placeholder(number, f"“{bare[:60]}” is sample text. Write your own.")
            continue
        if kind == "quiz" and (empty := _EMPTY.fullmatch(line.rstrip())) and not _goes_on(lines, number, len(empty[1])):
            yield Placeholder(number, f"{_QUIZ_WORDS[empty[2]]} of the quiz is empty. Write it, or delete it.")
        yield from _within(number, _CODE_SPAN.sub("", line), slugs)


def _bare(line: str) -> str:
    """A line without what marks it as a title, an item or a value, and without what stands in braces behind a title."""
    rest = line[_BEFORE.match(line).end() :].rstrip()  # type: ignore[union-attr]
    place = max(rest.rfind("{"), 0)
    return rest[:place].rstrip() if _BEHIND.fullmatch(rest, place) else rest


def _goes_on(lines: list[str], number: int, indent: int) -> bool:
    """Whether a value stands on the lines below its name."""
    below = lines[number] if number < len(lines) else ""
    return len(below) - len(below.lstrip()) > indent and not re.match(r"\s*(?:- |[a-z]+:(?:\s|$))", below)


def _within(number: int, line: str, slugs: Collection[str]) -> Iterator[Placeholder]:
    if match := _UNFINISHED.search(line):
        yield Placeholder(number, f"{match[0]} is still in the text. Finish it, or delete it.")
    for mark, name in (("**", "bold"), ("*", "italic"), ("$", "formula")):
        if f"{mark}{SAMPLES[name]}{mark}" in line:
            yield Placeholder(number, f"“{SAMPLES[name]}” is what the button inserted. Write your own.")
    if line.lstrip().startswith("|") and (cells := {cell.strip() for cell in line.split("|")} & _CELLS):
        yield Placeholder(number, f"The table still says “{min(cells)}”. Fill its cells.")
    for about in _PICTURE.findall(line):
        if not about.strip() or about == SAMPLES["picture"]:
            yield Placeholder(number, "The picture has no description. Say in the brackets what one sees on it.")
    for words, inside in _LINK.findall(line):
        address = (inside.split(maxsplit=1) or [""])[0].strip("<>")
        if words == SAMPLES["link"]:
            yield Placeholder(number, f"“{words}” is what the button inserted. Say where the link leads.")
        elif not re.match(r"(?:https?://\S|mailto:\S|/(?!/)|#\S)", address, re.IGNORECASE):
            yield Placeholder(number, f"The link “{words[:60]}” leads nowhere. Write its address, or delete it.")
        elif slugs and (nugget := _NUGGET.fullmatch(address)) and nugget[1] not in slugs:
            yield Placeholder(number, f"The link “{words[:60]}” leads to a nugget that is not there: {nugget[1][:60]}.")


def _whole_samples(text: str) -> Iterator[Placeholder]:
    """Fences that are just as their buttons made them."""
    for snippet in SNIPPETS:
        if snippet.text.startswith("```") and not snippet.holes:
            place = text.find(f"{snippet.text}\n")
            if place >= 0:
                name = snippet.name.lower()
                yield Placeholder(text.count("\n", 0, place) + 1, f"The {name} is still the sample. Make it your own.")
