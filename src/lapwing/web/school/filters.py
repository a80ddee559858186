"""The filters of the landing page. A value that would leave nothing, with the others as they are, cannot be chosen.

The browser does the same in `lib/filters.ts`, from what the tiles say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lapwing.web.school.nugget import CATEGORIES, LEVELS, ROLES
from lapwing.web.school.page import Page
from lapwing.web.service.plural import counted

MINUTES = (5, 10, 15, 20, 30, 45)
"""How much time people say that they have. What no nugget fits into, or every nugget, is not offered."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter."""

    value: str
    words: str
    matches: int
    """Nuggets that are left if it is chosen and the other filters stay as they are."""


def fits(page: Page, wanted: Mapping[str, str]) -> bool:
    """Whether a nugget is what somebody asks for; what is empty asks for nothing."""
    nugget, minutes = page.nugget, wanted["minutes"]
    timed = minutes.isascii() and minutes.isdigit() and len(minutes) < 5
    return (
        wanted["category"] in ("", nugget.category)
        and wanted["role"] in ("", *nugget.roles)
        and wanted["level"] in ("", nugget.level)
        and (not timed or page.pace.minutes <= int(minutes))
    )


def filters(
    school: Iterable[Page], candidates: list[Page], wanted: Mapping[str, str]
) -> dict[str, tuple[str, str, list[Choice]]]:
    """Each filter with its label, the word for no choice, and its values with how many nuggets each would leave."""
    takes = [page.pace.minutes for page in school]
    times = [count for count in MINUTES if min(takes) <= count and not max(takes) <= count]
    offered = {
        "category": ("My question", "any question", list(CATEGORIES.items())),
        "role": ("I am a", "anyone", list(ROLES.items())),
        "minutes": ("I have", "any time", [(str(count), counted(count, "minute")) for count in times]),
        "level": ("I want", "any depth", [(name, name) for name in LEVELS]),
    }

    def left(name: str, value: str) -> int:
        return sum(fits(page, {**wanted, name: value}) for page in candidates)

    return {
        name: (label, anything, [Choice(value, words, left(name, value)) for value, words in values])
        for name, (label, anything, values) in offered.items()
    }
