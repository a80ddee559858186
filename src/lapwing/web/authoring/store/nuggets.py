"""Nuggets that are written in the school itself: drafts, their versions, and which of them readers see."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from lapwing.web.service.tables import NuggetEntry, User, Version

EVERY = 600
"""Seconds of which one autosaved version is kept; of what was saved on purpose, each."""
MOST_VERSIONS, MOST_CHARACTERS = 200, 4_000_000
"""What is kept of one nugget. The oldest goes first, never the newest and never what readers see."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A nugget with its newest text."""

    slug: str
    state: str
    owner_id: int | None
    owner: str
    published: int | None
    number: int
    text: str
    changed: int

    @property
    def mark(self) -> str:
        """What tells one text from another."""
        return mark_of(self.text)


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """A version."""

    number: int
    author: str
    created: int
    note: str
    size: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Edition:
    """What readers are to see."""

    slug: str
    position: int
    number: int
    text: str


def mark_of(text: str) -> str:
    """A fingerprint of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def find(db: Session, slug: str, *, to_change: bool = False) -> Draft | None:
    """The draft with this slug. Who means to change it says so: two then come one after the other."""
    statement = select(NuggetEntry).where(NuggetEntry.slug == slug)
    entry = db.scalar(statement.with_for_update() if to_change else statement)
    if entry is None:
        return None
    newest = db.scalar(select(Version).where(Version.slug == slug).order_by(Version.number.desc()).limit(1))
    owner = db.scalar(select(User.name).where(User.id == entry.owner_id)) if entry.owner_id else None
    assert newest is not None, "a nugget has at least one version"
    return Draft(
        slug,
        entry.state,
        entry.owner_id,
        owner or "",
        entry.published,
        newest.number,
        newest.text,
        newest.created,
    )


def listed(db: Session, *, owner_id: int | None = None, states: tuple[str, ...] = ()) -> list[Draft]:
    """Drafts of somebody, or in some states, the newest first."""
    statement = select(NuggetEntry.slug)
    if owner_id is not None:
        statement = statement.where(NuggetEntry.owner_id == owner_id)
    if states:
        statement = statement.where(NuggetEntry.state.in_(states))
    drafts = [find(db, slug) for slug in db.scalars(statement)]
    return sorted((draft for draft in drafts if draft), key=lambda draft: (-draft.changed, draft.slug))


def taken(db: Session, slug: str) -> bool:
    """Whether somebody has a draft with this slug."""
    return db.get(NuggetEntry, slug) is not None


def owned(db: Session, owner_id: int) -> list[str]:
    """The slugs of somebody's drafts."""
    return list(db.scalars(select(NuggetEntry.slug).where(NuggetEntry.owner_id == owner_id).order_by(NuggetEntry.slug)))


def count(db: Session, owner_id: int) -> int:
    """How many drafts somebody has."""
    statement = select(func.count()).select_from(NuggetEntry).where(NuggetEntry.owner_id == owner_id)
    return db.scalar(statement) or 0


def add(db: Session, slug: str, owner_id: int, text: str, note: str, now: int) -> None:
    """A new draft."""
    db.add(NuggetEntry(slug=slug, owner_id=owner_id, state="draft"))
    db.flush()
    db.add(Version(slug=slug, number=1, text=text, author_id=owner_id, created=now, note=note))
    db.flush()


def save(db: Session, draft: Draft, text: str, author_id: int, note: str, now: int) -> int:
    """One more version; gives its number. What is autosaved makes room for what is autosaved soon after."""
    number = draft.number + 1
    last = db.execute(
        select(Version.id, Version.number, Version.note, Version.created, Version.author_id)
        .where(Version.slug == draft.slug)
        .order_by(Version.number.desc())
        .limit(2)
    ).all()
    db.add(Version(slug=draft.slug, number=number, text=text, author_id=author_id, created=now, note=note))
    db.flush()
    if not note and len(last) == 2:
        newest, before = last
        soon = newest.created - before.created < EVERY
        if not newest.note and newest.author_id == author_id and soon and newest.number != draft.published:
            db.execute(delete(Version).where(Version.id == newest.id))
    _make_room(db, draft.slug, keep={number, draft.published or number})
    return number


def _make_room(db: Session, slug: str, keep: set[int]) -> None:
    statement = select(Version.id, Version.number, func.length(Version.text), Version.note).where(Version.slug == slug)
    kept = db.execute(statement.order_by(Version.note != "", Version.number)).all()
    size = sum(row[2] for row in kept)
    left = len(kept)
    for row in kept:
        if left <= MOST_VERSIONS and size <= MOST_CHARACTERS:
            return
        if row.number not in keep:
            db.execute(delete(Version).where(Version.id == row.id))
            left, size = left - 1, size - row[2]


def set_state(db: Session, slug: str, state: str) -> None:
    """How far a draft is."""
    db.execute(update(NuggetEntry).where(NuggetEntry.slug == slug).values(state=state))


def set_published(db: Session, slug: str, number: int | None) -> None:
    """Which version readers see from now on, if any. A nugget that is new stands behind all others."""
    entry = db.get(NuggetEntry, slug)
    assert entry is not None
    if number is None:
        entry.position = 0
    elif not entry.position:
        entry.position = (db.scalar(select(func.max(NuggetEntry.position))) or 0) + 1
    entry.published, entry.state = number, "withdrawn" if number is None else "published"
    db.flush()


def versions(db: Session, slug: str) -> list[StoredVersion]:
    """All versions without their texts, the newest first."""
    statement = (
        select(Version.number, User.name, Version.created, Version.note, func.length(Version.text))
        .outerjoin(User, User.id == Version.author_id)
        .where(Version.slug == slug)
        .order_by(Version.number.desc())
    )
    return [StoredVersion(row[0], row[1] or "", row[2], row[3], row[4]) for row in db.execute(statement)]


def version(db: Session, slug: str, number: int) -> StoredVersion | None:
    """One version with its text."""
    statement = (
        select(Version, User.name)
        .outerjoin(User, User.id == Version.author_id)
        .where(Version.slug == slug, Version.number == number)
    )
    row = db.execute(statement).first()
    if row is None:
        return None
    entry, name = row
    return StoredVersion(entry.number, name or "", entry.created, entry.note, len(entry.text), entry.text)


def text_with(db: Session, slug: str, mark: str) -> str | None:
    """The text with this fingerprint, if a version still has it."""
    statement = select(Version.text).where(Version.slug == slug).order_by(Version.number.desc())
    return next((text for text in db.scalars(statement) if mark_of(text) == mark), None)


def editions(db: Session) -> list[Edition]:
    """All that readers are to see, in order."""
    statement = (
        select(NuggetEntry.slug, NuggetEntry.position, Version.number, Version.text)
        .join(Version, (Version.slug == NuggetEntry.slug) & (Version.number == NuggetEntry.published))
        .order_by(NuggetEntry.position, NuggetEntry.slug)
    )
    return [Edition(*row) for row in db.execute(statement)]


def stamp(db: Session) -> tuple[tuple[str, int], ...]:
    """Changes whenever readers are to see something else."""
    statement = select(NuggetEntry.slug, NuggetEntry.published).where(NuggetEntry.published.is_not(None))
    return tuple((row[0], row[1] or 0) for row in db.execute(statement.order_by(NuggetEntry.slug)))


def rename(db: Session, slug: str, new: str) -> None:
    """Another slug for a draft, its versions included."""
    old = db.get(NuggetEntry, slug)
    assert old is not None
    db.add(NuggetEntry(slug=new, owner_id=old.owner_id, state=old.state, position=old.position))
    db.flush()
    db.execute(update(Version).where(Version.slug == slug).values(slug=new))
    db.execute(delete(NuggetEntry).where(NuggetEntry.slug == slug))


def remove(db: Session, slug: str) -> None:
    """Forget a draft and all its versions."""
    db.execute(delete(NuggetEntry).where(NuggetEntry.slug == slug))
