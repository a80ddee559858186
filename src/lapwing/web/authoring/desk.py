"""Preview of a draft for its author, with a list of mistakes and what to write instead."""

from __future__ import annotations

import io
import re
import threading
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import yaml

from lapwing.web.authoring.placeholders import BODY, OBJECTIVE, SUMMARY, placeholders
from lapwing.web.school import nugget as nuggets
from lapwing.web.school import plain
from lapwing.web.school.library import School
from lapwing.web.school.nugget import BEGINNING, CATEGORIES, LEVELS, ROLES, InvalidNugget, Nugget
from lapwing.web.school.pace import SHORT
from lapwing.web.school.page import Page, Wrong, page_of
from lapwing.web.school.term import from_line, to_line
from lapwing.web.service.plural import counted

LONGEST = 60_000
"""Characters of a nugget that is written here; the longest of ours has 17,000."""
MOST_DRAFTS = {"learner": 30, "instructor": 300, "admin": 300}
RESERVED = {"export", "import", "preview", BEGINNING}
"""Slugs that are addresses already."""
FIELDS = (
    *("title", "category", "level", "roles", "needs", "helps", "summary", "objectives"),
    *("after", "words", "picture"),
)
_OPTIONAL = ("after", "words", "picture")
_LISTS = ("roles", "needs", "helps", "objectives")
_MOST = {"title": 120, "summary": 500}
_MOST_LISTED, _LONGEST_LISTED, _MOST_FORMULAS = 20, 400, 600
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LINE = re.compile(r", line (\d+)$")
_SERVES = re.compile(r"(?<!\s)\s*\{serves=[^{}\n]{0,100}\}")
_MARKS = re.compile(r"^(<<<<<<< yours|>>>>>>> the other one)$", re.MULTILINE)
_ONE = threading.Lock()
"""Pages of drafts are made one at a time: readers come first."""
_MOST_FILES, _MOST_ZIPPED = 100, 4 * LONGEST


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something to change, or, as `advice`, to think about; as a `hole`, to fill before readers see it."""

    words: str
    line: int | None = None
    advice: bool = False
    hole: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """What a text would look like, and what is in its way. Without a page it could not be read at all."""

    page: Page | None
    complaints: tuple[Complaint, ...]
    front: dict[str, Any]

    @property
    def ready(self) -> bool:
        """Whether it could be published."""
        return self.page is not None and all(complaint.advice for complaint in self.complaints)

    @property
    def holes(self) -> list[Complaint]:
        """What a template or a button put there and nobody replaced."""
        return [complaint for complaint in self.complaints if complaint.hole]


def tidy(text: str) -> str:
    """One kind of line end, and no signs that nobody can see or no database takes."""
    joined = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(sign for sign in joined if sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cs"))


def slug_complaint(slug: str) -> str:
    """What is wrong with a slug, or nothing."""
    if not _SLUG.fullmatch(slug) or not 3 <= len(slug) <= 60:
        return "Write 3 to 60 small letters, digits and single hyphens, such as my-first-nugget."
    return "This address is reserved. Choose another one." if slug in RESERVED else ""


def slug_of(title: str) -> str:
    """A slug that fits a title.

    >>> slug_of("Noise, explained à la carte")
    'noise-explained-a-la-carte'
    """
    plain_letters = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain_letters)[:60].strip("-")


def split(text: str) -> tuple[str, str]:
    """The front matter with its fences, if there is one, and the rest."""
    front = _FRONT.match(text)
    return (text[: front.end()], text[front.end() :]) if front else ("", text)


def front_of(text: str) -> dict[str, Any]:
    """What the front matter says, as far as it can be read: words, and lists of words."""
    head, _ = split(text)
    try:
        header = plain.load(head[4:-4]) if head else {}
    except yaml.YAMLError:
        header = {}
    fields = header if isinstance(header, dict) else {}
    front: dict[str, Any] = {}
    for name in FIELDS:
        value = fields.get(name)
        if name == "words":
            front[name] = [to_line(*entry) for entry in value.items()] if isinstance(value, dict) else []
        elif name in _LISTS:
            front[name] = (
                [str(item) for item in value if isinstance(item, (str, int))] if isinstance(value, list) else []
            )
        else:
            front[name] = "" if value is None or isinstance(value, (list, dict)) else str(value)
    return front


def with_front(text: str, slug: str, fields: Mapping[str, Any]) -> str:
    """The text with this front matter."""
    _, body = split(text)
    front: dict[str, Any] = {"slug": slug}
    for name in FIELDS:
        value = fields.get(name) or ()
        if name in (*_LISTS, "words"):
            lines = [" ".join(str(item).split()) for item in value if str(item).strip()]
            front[name] = dict(map(from_line, lines)) if name == "words" else lines
        else:
            value = value or ""
            words = " ".join(str(value).split())
            front[name] = words
    front = {name: value for name, value in front.items() if value or name not in _OPTIONAL}
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{head}---\n{body}"


def looked_at(text: str, slug: str, school: School, widgets: Iterable[str]) -> Look:
    """What a text would look like at this address of this school, whatever is wrong with it."""
    front, complaints = front_of(text), list[Complaint]()
    nugget: Nugget | None = None
    try:
        nugget = _read(text)
    except InvalidNugget as error:
        line = _LINE.search(error.where)
        complaints.append(_said(error, int(line[1]) if line else None))
    if nugget is not None:
        complaints += _about_front(nugget, slug, school)
    if marks := _MARKS.search(text):
        at = text.count("\n", 0, marks.start()) + 1
        complaints.append(Complaint("Two texts were merged here. Keep what is right and delete the marks.", at))
    shown = nugget or _stand_in(text, slug, front)
    page = _page(shown, school, text, complaints) if len(text) <= LONGEST else None
    if page is not None:
        complaints += _about_widgets(page, widgets)
        complaints += _advice(page)
        complaints += _holes(text, slug, front, school)
    return Look(page if nugget is None or page is not None else None, tuple(complaints), front)


def checked(text: str, slug: str, school: School, widgets: Iterable[str], *, finished: bool = True) -> Nugget:
    """The nugget, if it can be published at this address; one that is not `finished` may have holes."""
    look = looked_at(text, slug, school, widgets)
    wrong = [complaint for complaint in look.complaints if not complaint.advice and not complaint.hole]
    if finished and look.holes and not wrong:
        raise InvalidNugget(slug, unfinished(look), "Replace it; the list says where.")
    if wrong or look.page is None:
        first = wrong[0] if wrong else Complaint("It cannot be shown.")
        where = f"line {first.line}" if first.line else slug
        raise InvalidNugget(where, first.words.rstrip("."), "Look at the preview.")
    return look.page.nugget


def unfinished(look: Look) -> str:
    """How much is left to write."""
    return f"{counted(len(look.holes), 'place still needs', 'places still need')} words of your own"


def _holes(text: str, slug: str, front: Mapping[str, Any], school: School) -> Iterator[Complaint]:
    """Sample text, empty descriptions, and links to nowhere."""
    holes = placeholders(text, {slug, *school.pages})
    if front["summary"] == SUMMARY:  # in the front matter it may be folded over lines
        at = next((place for place, line in enumerate(text.splitlines(), 1) if line.startswith("summary:")), 1)
        if not any(hole.line == at for hole in holes):
            yield Complaint("The summary is sample text. Write your own.", at, hole=True)
    for hole in holes:
        yield Complaint(hole.words, hole.line, hole=True)


def _read(text: str) -> Nugget:
    if len(text) > LONGEST:
        raise InvalidNugget("nugget", f"it has more than {LONGEST:,} characters", "Make two nuggets of it.")
    if text.count("$") > 2 * _MOST_FORMULAS:
        raise InvalidNugget("nugget", f"it has more than {_MOST_FORMULAS} formulas", "Make two nuggets of it.")
    return nuggets.read(text)


def _stand_in(text: str, slug: str, front: Mapping[str, Any]) -> Nugget:
    """A nugget that shows a text whose front matter is not right yet."""
    return Nugget(
        slug=slug,
        title=str(front["title"]) or "Without a title",
        category=next(iter(CATEGORIES)),
        level=LEVELS[0],
        summary=str(front["summary"]),
        roles=tuple(ROLES),
        objectives=tuple(front["objectives"][:_MOST_LISTED]),
        body=_SERVES.sub("", split(text)[1]),
    )


def _page(nugget: Nugget, school: School, text: str, complaints: list[Complaint]) -> Page | None:
    if text.count("$") > 2 * _MOST_FORMULAS:
        return None
    wrong: list[Wrong] = []
    glossary = school.words_beside(nugget.slug).more(nugget.words)
    first = split(text)[0].count("\n") + 1
    with _ONE:
        try:
            page = page_of(nugget, glossary, wrong=wrong, first_line=first)
        except InvalidNugget as error:
            complaints.append(_said(error))
            try:
                page = page_of(
                    replace(nugget, body=_SERVES.sub("", nugget.body)), glossary, wrong=wrong, first_line=first
                )
            except InvalidNugget:
                return None
    complaints += [_said(problem.error, _line_of(text, problem.text)) for problem in wrong]
    return page


def _line_of(text: str, part: str) -> int | None:
    place = text.find(part) if part.strip() else -1
    return None if place < 0 else text.count("\n", 0, place)


def _said(error: InvalidNugget, line: int | None = None) -> Complaint:
    why = error.why[:1].upper() + error.why[1:]
    return Complaint(f"{why[:400]}. {error.hint[:900]}", line)


def _about_front(nugget: Nugget, slug: str, school: School) -> Iterator[Complaint]:
    if nugget.slug != slug:
        yield Complaint(
            f"The slug is {nugget.slug}, but this draft is {slug}. Write slug: {slug}, or rename the draft."
        )
    for name, most in _MOST.items():
        if len(getattr(nugget, name)) > most:
            yield Complaint(f"The {name} has more than {most} characters. Make it shorter.")
    for name in _LISTS:
        listed = getattr(nugget, name)
        if len(listed) > _MOST_LISTED or any(len(item) > _LONGEST_LISTED for item in listed):
            yield Complaint(f"{name.capitalize()} are too many or too long. Keep to {_MOST_LISTED} short ones.")
    for name in ("needs", "helps"):
        for other in getattr(nugget, name):
            if other == slug or other not in school.pages:
                there = ", ".join(other for other in school.pages if other != slug)
                given = f"{name.capitalize()} has {other[:80]!r}"
                yield Complaint(f"{given}, which is not another nugget. There are {there}.")
    if nugget.after and nugget.after != BEGINNING and nugget.after not in school.pages:
        yield Complaint(f"It stands after {nugget.after[:80]!r}, which is not a nugget. Choose another place.")
    if school.leads_back(slug, nugget.after):
        yield Complaint(f"It is placed after {nugget.after}, which comes after this one. Choose another place.")
    for term in nugget.words:
        if known := school.words_beside(slug).explains(term):
            yield Complaint(f"The glossary explains {known.name!r} already. Leave {term.name!r} out.")


def _about_widgets(page: Page, widgets: Iterable[str]) -> Iterator[Complaint]:
    known = sorted(name.removeprefix("lw-") for name in widgets)
    for name in page.widgets:
        if name not in known:
            yield Complaint(f"There is no widget {name[:60]!r}. There are {', '.join(known)}.")


def _advice(page: Page) -> Iterator[Complaint]:
    nugget = page.nugget
    served = {number for screen in page.screens for number in screen.serves}
    for number in range(1, len(nugget.objectives) + 1):
        if number not in served:
            yield Complaint(f"No screen serves objective {number}. Write ## A title {{serves={number}}}.", advice=True)
    if not page.questions:
        yield Complaint("There is no quiz. Three questions help people to see what they learned.", advice=True)
    if page.pace.short > SHORT:
        long = f"Its short version takes {counted(page.pace.short, 'minute')}; aim at {SHORT}."
        yield Complaint(f"{long} Write {{deeper}} behind the titles that can be skipped.", advice=True)
    wrong = sum(screen.html.count('class="formula-wrong"') for screen in page.screens)
    if wrong:
        yield Complaint(f"{counted(wrong, 'formula')} cannot be read. The preview shows the text in red.", advice=True)


def beginning(slug: str, title: str) -> str:
    """What a new nugget begins with: something that can be shown at once."""
    fields = {
        "title": title,
        "category": "motivation",
        "level": LEVELS[0],
        "roles": ["student"],
        "summary": SUMMARY,
        "objectives": [OBJECTIVE],
    }
    return with_front(BODY, slug, fields)


def renamed(text: str, slug: str, title: str = "") -> str:
    """The text with another slug in its front matter, and perhaps another title."""
    head, body = split(text)
    if not head:
        return text
    line = re.compile(r"^slug:.*$", re.MULTILINE)
    head = line.sub(f"slug: {slug}", head, count=1) if line.search(head) else f"---\nslug: {slug}\n{head[4:]}"
    if title:
        quoted = yaml.safe_dump({"title": title}, allow_unicode=True, width=10_000)
        head = re.sub(r"^title:.*\n", lambda _: quoted, head, count=1, flags=re.MULTILINE)
    return head + body


def moved(text: str, after: str) -> str:
    """The text with another place in its front matter, or none."""
    head, body = split(text)
    head = re.sub(r"^after:.*\n", "", head, count=1, flags=re.MULTILINE)
    return f"{head[:-4]}after: {after}\n---\n{body}" if head and after else head + body


def zipped(files: Iterable[tuple[str, str]]) -> bytes:
    """Texts as one file, always the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files:
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, text.encode())
    return content.getvalue()


def unpacked(name: str, content: bytes) -> list[tuple[str, str]]:
    """The nuggets of a file: one Markdown file, or an archive of them. What else is in it is passed over."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return [(name, _decoded(name, content))]
    files = []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = [entry for entry in archive.infolist() if entry.filename.endswith(".md") and not entry.is_dir()]
            if len(entries) > _MOST_FILES:
                raise InvalidNugget(name, f"it has more than {_MOST_FILES} nuggets", "Send them in parts.")
            for entry in entries:
                shown = entry.filename.rpartition("/")[2][:80]
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise InvalidNugget(name, "it is packed in an unusual way", "Send a plain zip of .md files.")
                with archive.open(entry) as file:
                    files.append((shown, _decoded(shown, file.read(_MOST_ZIPPED + 1))))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError) as error:
        if isinstance(error, InvalidNugget):
            raise
        raise InvalidNugget(name, "the archive is damaged", "Send a zip of .md files.") from None
    if not files:
        raise InvalidNugget(name, "the archive has no nuggets", "Send a zip of .md files.")
    return files


def _decoded(name: str, content: bytes) -> str:
    if len(content) > _MOST_ZIPPED:
        raise InvalidNugget(name, f"it has more than {LONGEST:,} characters", "Make two nuggets of it.")
    try:
        text = tidy(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidNugget(name, "it is not text", "Send a Markdown file as UTF-8.") from None
    if len(text) > LONGEST:
        raise InvalidNugget(name, f"it has more than {LONGEST:,} characters", "Make two nuggets of it.")
    return text
