"""A discussion as one person may see it: threads, answers under them, and everything deeper folded.

A hidden comment is there for its author and for moderators only. What was removed, or is hidden from somebody, leaves
a gap where an answer stands under it, and nothing otherwise.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from lapwing.web.accounts.sessions import Person
from lapwing.web.discussion.store import comments
from lapwing.web.discussion.store.comments import Place, StoredComment
from lapwing.web.school.markdown import Markdown
from lapwing.web.service.cache import TextCache

LONGEST = 5000
"""Characters of a comment."""
MOST_FORMULAS = 60
"""In one comment: a short formula becomes some hundred times as much HTML."""
AT_ONCE = 20
"""Threads on a page."""
ORDERS = {"newest": "Newest first", "oldest": "Oldest first"}
NOBODY = "somebody who left"
REASONS = {
    "unkind": "It is unkind or hurts somebody",
    "spam": "It advertises something",
    "private": "It tells something private",
    "wrong": "It is wrong and misleads",
    "elsewhere": "It does not belong here",
    "other": "Something else",
}
MOST_WAITING = 20
"""Reports of one person that nobody has looked at yet."""
_TALK = Markdown(plain=True)
_READY = TextCache(32 << 20)
"""Comments as HTML, as many as fit."""
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def html_of(text: str) -> str:
    """A comment as safe HTML: no pictures, no headings."""
    return _READY.of(text, lambda: previewed(text))


def previewed(text: str) -> str:
    """The same for a comment that only its author sees so far: it is not kept."""
    return _TALK.html(text)


def tidy(text: str) -> str:
    """What somebody typed, with one kind of line end and without signs that nobody sees."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSEEN.sub("", lines.encode("utf-8", "ignore").decode()).strip()


def complaint_about(text: str) -> str:
    """What is wrong with a comment, or nothing."""
    if not text:
        return "Write something first."
    if len(text) > LONGEST:
        return f"Take at most {LONGEST} characters; these are {len(text)}."
    if text.count("$") > 2 * MOST_FORMULAS:
        return f"Take at most {MOST_FORMULAS} formulas."
    return ""


def when(seconds: int) -> datetime:
    """A moment, to be shown."""
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(slots=True)
class ShownComment:
    """A comment, or the gap it left, as one person sees it."""

    kept: StoredComment
    gap: str
    """Why there is nothing to read, or nothing."""
    hidden: bool
    """Whether others do not see it."""
    note: str
    mine: bool
    may_answer: bool
    answers: StoredComment | None = None
    """What it answers, where that is not the comment right above."""
    replies: list[ShownComment] = field(default_factory=list)
    folded: list[ShownComment] = field(default_factory=list)
    opened: bool = False

    @property
    def html(self) -> str:
        """The text."""
        return html_of(self.kept.text)

    @property
    def name(self) -> str:
        """Who said it."""
        return self.kept.name or NOBODY

    @property
    def created(self) -> datetime:
        """When."""
        return when(self.kept.created)

    @property
    def edited(self) -> datetime | None:
        """When it was changed."""
        return when(self.kept.edited) if self.kept.edited else None


@dataclass(frozen=True, slots=True)
class Talk:
    """One page of a discussion."""

    slug: str
    threads: list[ShownComment]
    count: int
    order: str
    page: int
    pages: int
    at: int | None = None
    """The comment somebody looks for."""


def readable(place: Place | StoredComment, person: Person | None) -> bool:
    """Whether somebody may read a comment."""
    if place.state == "visible":
        return True
    if place.state == "removed" or person is None:
        return False
    return place.user_id == person.id or person.may("instructor")


class _Tree:
    """Which places of a discussion somebody sees, and where they belong."""

    def __init__(self, places: list[Place], person: Person | None) -> None:
        self.places = {place.id: place for place in places}
        self.readable = {place.id for place in places if readable(place, person)}
        self.count = sum(place.state == "visible" for place in places)
        shown = set(self.readable)
        for place in reversed(places):  # answers come after what they answer
            if place.id in shown and place.parent_id is not None:
                shown.add(place.parent_id)
        self.root: dict[int, int] = {}
        self.branch: dict[int, int] = {}
        self.under: dict[int, list[int]] = defaultdict(list)
        for place in places:
            if place.id not in shown:
                continue
            above = place.parent_id
            if above is None:
                self.root[place.id] = place.id
                continue
            self.root[place.id] = self.root[above]
            self.branch[place.id] = self.branch.get(above, place.id)
            self.under[self.branch[place.id] if above in self.branch else above].append(place.id)
        self.threads = [number for number in self.root if self.root[number] == number]


def talk(
    db: Session, slug: str, person: Person | None, *, order: str = "newest", page: int = 1, at: int | None = None
) -> Talk:
    """A page of a discussion; with `at`, the one on which a comment stands."""
    tree = _Tree(comments.outline(db, slug), person)
    order = order if order in ORDERS else "newest"
    threads = tree.threads[::-1] if order == "newest" else tree.threads
    pages = max(1, -(-len(threads) // AT_ONCE))
    at = at if at in tree.root else None
    if at is not None:
        page = threads.index(tree.root[at]) // AT_ONCE + 1
    page = min(max(1, page), pages)
    chosen = threads[(page - 1) * AT_ONCE : page * AT_ONCE]
    return Talk(slug, _shown(db, tree, chosen, person, at), tree.count, order, page, pages, at)


def thread(db: Session, slug: str, person: Person | None, at: int) -> tuple[ShownComment | None, int]:
    """The thread in which a comment stands, if anything of it is left, and how many comments there are in all."""
    tree = _Tree(comments.outline(db, slug), person)
    if at not in tree.root:
        return None, tree.count
    return _shown(db, tree, [tree.root[at]], person, at)[0], tree.count


def _shown(db: Session, tree: _Tree, threads: list[int], person: Person | None, at: int | None) -> list[ShownComment]:
    replies = {number: tree.under.get(number, []) for number in threads}
    folded = {reply_id: tree.under.get(reply_id, []) for numbers in replies.values() for reply_id in numbers}
    ids = [*threads, *folded, *(deep for deeper in folded.values() for deep in deeper)]
    texts, decided = comments.read(db, ids), comments.decided(db, ids)

    def made(number: int) -> ShownComment:
        kept = texts[number]
        action, note = decided.get(number, ("", ""))
        seen = number in tree.readable
        mine = person is not None and kept.user_id == person.id
        gap = ""
        if kept.state == "removed":
            gap = "removed by a moderator" if action == "remove" else "removed by its author"
        elif not seen:
            gap = "hidden by a moderator"
        may_answer = person is not None and kept.state == "visible"
        return ShownComment(kept, gap, kept.state == "hidden" and seen, note if mine else "", mine, may_answer)

    shown = []
    for number in threads:
        root = made(number)
        for reply_id in replies[number]:
            reply = made(reply_id)
            reply.folded = [made(deep) for deep in folded[reply_id]]
            reply.opened = at in folded[reply_id]
            for deep in reply.folded:
                if deep.kept.parent_id != reply_id:
                    deep.answers = texts[deep.kept.parent_id or 0]
            root.replies.append(reply)
        shown.append(root)
    return shown
