"""What people say under nuggets. No comment is ever deleted from the table, so that no number is given twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from lapwing.web.service.tables import Comment, Decision, Report, User

TWICE = 600
"""Seconds in which the same words at the same place are a button that was pressed twice."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a comment stands, without its text."""

    id: int
    parent_id: int | None
    user_id: int | None
    state: str


@dataclass(frozen=True, slots=True)
class StoredComment:
    """A comment as it is kept. Who left has no name any more."""

    id: int
    slug: str
    parent_id: int | None
    user_id: int | None
    name: str | None
    text: str
    created: int
    edited: int | None
    state: str

    @property
    def mark(self) -> str:
        """What the text is recognised by when somebody changes it who has seen it before."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:20]


def kept(comment: Comment, name: str | None) -> StoredComment:
    """A row as the rest of the school sees it."""
    return StoredComment(
        comment.id,
        comment.slug,
        comment.parent_id,
        comment.user_id,
        name,
        comment.text,
        comment.created,
        comment.edited,
        comment.state,
    )


def outline(db: Session, slug: str) -> list[Place]:
    """All places of a discussion; answers come after what they answer."""
    statement = select(Comment.id, Comment.parent_id, Comment.user_id, Comment.state).where(Comment.slug == slug)
    return [Place(*row) for row in db.execute(statement.order_by(Comment.id))]


def read(db: Session, ids: Iterable[int]) -> dict[int, StoredComment]:
    """These comments."""
    statement = select(Comment, User.name).outerjoin(User, User.id == Comment.user_id).where(Comment.id.in_(set(ids)))
    return {comment.id: kept(comment, name) for comment, name in db.execute(statement)}


def one(db: Session, comment_id: int) -> StoredComment | None:
    """This comment."""
    return read(db, [comment_id]).get(comment_id)


def add(db: Session, slug: str, parent_id: int | None, user_id: int, text: str, now: int) -> int:
    """Say something; the number of the comment. A button that is pressed twice says it once."""
    same = select(Comment.id).where(
        Comment.slug == slug,
        Comment.parent_id.is_(None) if parent_id is None else Comment.parent_id == parent_id,
        Comment.user_id == user_id,
        Comment.text == text,
        Comment.state == "visible",
        Comment.created > now - TWICE,
    )
    if (before := db.scalar(same)) is not None:
        return before
    comment = Comment(slug=slug, parent_id=parent_id, user_id=user_id, text=text, created=now)
    db.add(comment)
    db.flush()
    return comment.id


def edit(db: Session, before: StoredComment, text: str, now: int) -> bool:
    """Say it in other words, unless it changed since `before` was read."""
    change = (
        update(Comment)
        .where(Comment.id == before.id, Comment.text == before.text, Comment.state == "visible")
        .values(text=text, edited=now)
    )
    return bool(db.connection().execute(change).rowcount)


def take_back(db: Session, comment_id: int) -> None:
    """The words and the name are gone; the place stays. Nobody needs to look at it any more."""
    db.execute(update(Comment).where(Comment.id == comment_id).values(text="", user_id=None, state="removed"))
    settle(db, comment_id, "removed")


def report(db: Session, comment: StoredComment, user_id: int, reason: str, now: int) -> bool:
    """Ask moderators to look. The same person asks once for the same words."""
    mine = select(Report.created).where(Report.comment_id == comment.id, Report.user_id == user_id)
    latest = db.scalar(mine.order_by(Report.id.desc()).limit(1))
    if latest is not None and latest >= (comment.edited or 0):
        return False
    db.add(Report(comment_id=comment.id, user_id=user_id, reason=reason, created=now))
    return True


def waiting(db: Session, user_id: int) -> int:
    """How many reports of somebody nobody has looked at yet."""
    statement = select(func.count()).select_from(Report).where(Report.user_id == user_id, Report.state == "open")
    return db.scalar(statement) or 0


def settle(db: Session, comment_id: int, state: str) -> None:
    """All reports about a comment are answered."""
    db.execute(update(Report).where(Report.comment_id == comment_id, Report.state == "open").values(state=state))


def decided(db: Session, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """What moderators did last about these comments, and the note."""
    statement = select(Decision.comment_id, Decision.action, Decision.note).where(
        Decision.comment_id.in_(set(ids)), Decision.action != "dismiss"
    )
    return {comment: (action, note) for comment, action, note in db.execute(statement.order_by(Decision.id))}
