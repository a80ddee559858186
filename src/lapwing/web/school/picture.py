"""Pictures of the school: SVG files drawn by hand, put into the page so that its colours reach them, by day and night.

<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 200">
<title>What is to be seen, in words, for who cannot see it.</title>
<desc>A caption, if it needs one.</desc>
<circle class="fill-private" cx="40" cy="40" r="8"/>
</svg>

A picture has shapes, words and classes, and nothing else: colours come from the palette by class, so no picture can be
wrong in the dark. What the classes mean stands in `frontend/src/styles/pictures.css`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from lapwing.errors import LapwingError

FOLDER = Path(str(files("lapwing") / "web" / "pictures"))
INKS = ("private", "noise", "adversary", "budget", "people", "ink", "quiet", "line", "card", "paper")
"""Private is what is protected, noise is noise, adversary is who attacks, people are people and their data."""
LONGEST = 12_000
"""Characters of one file: a page that shows it is read on a phone."""
_SPACE = "{http://www.w3.org/2000/svg}"
_NUMBERS = {"x", "y", "cx", "cy", "r", "rx", "ry", "x1", "y1", "x2", "y2", "width", "height"}
_ATTRIBUTES = {"class", "d", "points", "transform", "text-anchor", "id", "href", *_NUMBERS}
_ELEMENTS = {
    *("circle", "defs", "ellipse", "g", "line", "path", "polygon", "polyline", "rect", "text", "tspan", "use"),
}
_VALUE = re.compile(r"[-#A-Za-z0-9 .,()]*")
_CLASS = re.compile(rf"(?:fill|tint|line)-(?:{'|'.join(INKS)})|dashed|strong|thin|moves-[a-z]+(?:-[a-z]+)*")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_BOX = re.compile(r"0 0 [0-9]{2,4} [0-9]{2,4}")


class InvalidPicture(LapwingError, ValueError):
    """A picture that may not be shown: what is wrong, and what to draw instead."""

    def __init__(self, name: str, why: str, hint: str) -> None:
        self.name, self.why, self.hint = name, why, hint
        super().__init__(f"{name}.svg: {why}. {hint}")


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was looked through."""

    name: str
    alt: str
    """What is to be seen, in words."""
    caption: str
    svg: str
    """As it stands in a page; its ids begin with its name, so that two pictures never share one."""

    def html(self, caption: str = "") -> str:
        """A figure; a `caption` that is HTML takes the place of its own."""
        below = caption or html.escape(self.caption)
        said = f"<figcaption>{below}</figcaption>" if below else ""
        return f'<figure class="picture">{self.svg}{said}</figure>'


@cache
def pictures() -> dict[str, Picture]:
    """All there are, by name."""
    files = sorted(FOLDER.glob("*.svg"))
    return {path.stem: read_picture(path.stem, path.read_text(encoding="utf-8")) for path in files}


def read_picture(name: str, text: str) -> Picture:
    """A picture from its file.

    >>> read_picture("two-worlds", '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 200"></svg>')
    Traceback (most recent call last):
    ...
    lapwing.web.school.picture.InvalidPicture: two-worlds.svg: it says nothing to who cannot see it. Write a <title>.
    """
    if not _NAME.fullmatch(name):
        raise InvalidPicture(name, "its name is not one", "Write small letters, digits and single hyphens.")
    if len(text) > LONGEST:
        raise InvalidPicture(name, f"it has more than {LONGEST:,} characters", "Draw less.")
    if "<!" in text or "<?" in text:
        raise InvalidPicture(name, "it has comments, entities or instructions", "Leave them out.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidPicture(name, f"it is not XML ({error})", "Close what you open.") from None
    if root.tag != f"{_SPACE}svg" or not _BOX.fullmatch(root.get("viewBox", "")) or len(root.attrib) != 1:
        hint = 'Begin with <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 200">.'
        raise InvalidPicture(name, "it is not SVG" if root.tag != f"{_SPACE}svg" else "its frame is not right", hint)
    words = {part: _words(root, part) for part in ("title", "desc")}
    if not words["title"]:
        raise InvalidPicture(name, "it says nothing to who cannot see it", "Write a <title>.")
    shapes = [part for part in root if part.tag not in (f"{_SPACE}title", f"{_SPACE}desc")]
    _refuse_strangers(name, shapes)
    inside = "".join(_written(part, name) for part in shapes)
    label = html.escape(words["title"], quote=True)
    svg = f'<svg role="img" aria-label="{label}" viewBox="{root.get("viewBox")}">{inside}</svg>'
    return Picture(name, words["title"], words["desc"], svg)


def _words(root: Element, part: str) -> str:
    return " ".join((root.findtext(f"{_SPACE}{part}") or "").split())


def _refuse_strangers(name: str, shapes: list[Element]) -> None:
    """Only known shapes, known attributes, colours by class, and links to what the picture itself defines."""
    every = [part for shape in shapes for part in shape.iter()]
    ids = [part.get("id") for part in every if "id" in part.attrib]
    if len(set(ids)) < len(ids) or not all(_NAME.fullmatch(word or "") for word in ids):
        hint = "Write small letters and hyphens, each once."
        raise InvalidPicture(name, "an id is used twice, or is not a name", hint)
    for part in every:
        tag = part.tag.removeprefix(_SPACE)
        if tag not in _ELEMENTS:
            raise InvalidPicture(
                name, f"<{tag}> has no place in a picture", f"Draw with {', '.join(sorted(_ELEMENTS))}."
            )
        for key, value in part.attrib.items():
            if key not in _ATTRIBUTES or not _VALUE.fullmatch(value):
                hint = "Shapes have places, sizes and classes; colours and lines come from classes."
                raise InvalidPicture(name, f"<{tag}> says {key}={value[:60]!r}", hint)
        for word in part.get("class", "").split():
            if not _CLASS.fullmatch(word):
                hint = f"Write fill-, tint- or line- and one of {', '.join(INKS)}; or dashed, strong, thin, moves-…."
                raise InvalidPicture(name, f"{word!r} is not a class of a picture", hint)
        if "href" in part.attrib and (tag != "use" or part.get("href", "")[1:] not in ids):
            raise InvalidPicture(
                name, f"<{tag}> leads to {part.get('href')!r}", "Only <use> may, to an id of this file."
            )


def _written(part: Element, name: str) -> str:
    """As HTML has it: without the space of names, and with ids of its own."""
    return "".join(_pieces(part, name))


def _pieces(part: Element, name: str) -> Iterator[str]:
    tag = part.tag.removeprefix(_SPACE)
    yield f"<{tag}"
    for key, value in part.attrib.items():
        own = f"{name}--{value}" if key == "id" else f"#{name}--{value[1:]}" if key == "href" else value
        yield f' {key}="{html.escape(own)}"'
    yield ">"
    yield html.escape((part.text or "").strip())
    for child in part:
        yield from _pieces(child, name)
        yield html.escape((child.tail or "").strip())
    yield f"</{tag}>"
