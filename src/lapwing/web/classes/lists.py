"""What a class looks like: its code, names that pupils may take, and the list that its teacher sees.

Privacy: a class list is exact and about known pupils. They agree before they join, see what their teacher sees, and
leave when they like; nothing else may read these tables, least of all the statistics of the school (decision 033).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lapwing.noise.entropy import SYSTEM
from lapwing.web.accounts.store.users import tidy
from lapwing.web.classes.store.classes import LETTERS, Pupil
from lapwing.web.school.page import Page
from lapwing.web.service.spreadsheets import defused

LONGEST_NAME = 60
_MANNERS = "Brave Bright Calm Clever Gentle Happy Keen Kind Lively Merry Patient Proud Quick Quiet Swift Wise"
_BIRDS = """Avocet Bunting Curlew Dipper Dunlin Finch Godwit Grebe Heron Kestrel Kingfisher Knot Lark Linnet Magpie
Martin Nuthatch Oriole Osprey Owl Petrel Pipit Plover Puffin Raven Robin Sandpiper Siskin Swallow Tern Wagtail Wren"""


@dataclass(frozen=True, slots=True)
class Column:
    """A nugget in the list of a class: its place in the course, and how many pupils finished it."""

    number: int
    slug: str
    title: str
    questions: int
    finished: int


def columns(pages: Iterable[Page], pupils: Sequence[Pupil]) -> list[Column]:
    """The nuggets in the order of the course."""
    return [
        Column(
            number,
            page.nugget.slug,
            page.nugget.title,
            len(page.questions),
            sum(page.nugget.slug in pupil.finished for pupil in pupils),
        )
        for number, page in enumerate(pages, 1)
    ]


def name_complaint(name: str) -> str:
    """What is wrong with the name of a class, or nothing."""
    shown = tidy(name)
    if not shown or len(shown) > LONGEST_NAME or not shown.isprintable():
        return f"Give the class a name of 1 to {LONGEST_NAME} characters."
    return ""


def read_code(typed: str) -> str:
    """A code as it is kept, however it was typed; nothing if it cannot be one.

    >>> read_code(" BCDF ghjk"), read_code("bcdf–ghjk"), read_code("hello")
    ('bcdf-ghjk', 'bcdf-ghjk', '')
    """
    letters = "".join(sign for sign in typed.casefold() if sign.isalnum())
    good = len(letters) == 8 and set(letters) <= set(LETTERS)
    return f"{letters[:4]}-{letters[4:]}" if good else ""


def suggestion() -> str:
    """A name that says nothing about anybody, for who has no idea: Calm Curlew."""
    return f"{_MANNERS.split()[SYSTEM.bits(4)]} {_BIRDS.split()[SYSTEM.bits(5)]}"


def as_csv(columns: Sequence[Column], pupils: Sequence[Pupil]) -> str:
    """The list for a spreadsheet: a row for each pupil, with the day of each nugget and the score of its quiz."""
    out = io.StringIO()
    writer = csv.writer(out)
    heads = ["pseudonym", "finished"]
    for column in columns:
        heads.append(f"{column.number}. {column.title}")
        if column.questions:
            heads.append(f"{column.number}. right answers of {column.questions}")
    writer.writerow([defused(head) for head in heads])
    for pupil in pupils:
        row = [defused(pupil.pseudonym), str(sum(column.slug in pupil.finished for column in columns))]
        for column in columns:
            done = pupil.finished.get(column.slug)
            row.append(done.day.isoformat() if done else "")
            if column.questions:
                row.append(str(min(done.right, column.questions)) if done else "")
        writer.writerow(row)
    return out.getvalue()
