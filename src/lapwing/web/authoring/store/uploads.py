"""Pictures, videos and captions, known by the digest of their bytes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from lapwing.web.service.tables import Upload, Version


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, without its bytes."""

    digest: str
    kind: str
    size: int


def mine(db: Session, owner_id: int) -> list[Picture]:
    """The files of somebody."""
    statement = (
        select(Upload.digest, Upload.kind, Upload.size).where(Upload.owner_id == owner_id).order_by(Upload.digest)
    )
    return [Picture(*row) for row in db.execute(statement)]


def used(db: Session, owner_id: int, kinds: Collection[str]) -> tuple[int, int]:
    """How many files of these kinds somebody has, and how large they are together."""
    statement = select(func.count(), func.coalesce(func.sum(Upload.size), 0))
    statement = statement.where(Upload.owner_id == owner_id, Upload.kind.in_(kinds))
    row = db.execute(statement).one()
    return int(row[0]), int(row[1])


def known(db: Session, digest: str) -> bool:
    """Whether this picture is there."""
    return db.scalar(select(func.count()).where(Upload.digest == digest)) == 1


def add(db: Session, digest: str, kind: str, content: bytes, owner_id: int) -> None:
    """Keep a picture."""
    db.add(Upload(digest=digest, kind=kind, size=len(content), owner_id=owner_id, bytes=content))
    db.flush()


def get(db: Session, digest: str) -> tuple[str, bytes] | None:
    """The kind and the bytes of a picture."""
    row = db.execute(select(Upload.kind, Upload.bytes).where(Upload.digest == digest)).first()
    return (row[0], row[1]) if row else None


def about(db: Session, digest: str) -> Picture | None:
    """The kind and the size of a file."""
    row = db.execute(select(Upload.digest, Upload.kind, Upload.size).where(Upload.digest == digest)).first()
    return Picture(*row) if row else None


def part(db: Session, digest: str, first: int, count: int) -> bytes:
    """Some of its bytes, so that nobody needs room for all of them."""
    content = db.scalar(select(func.substr(Upload.bytes, first + 1, count)).where(Upload.digest == digest))
    return bytes(content or b"")


def stands_in(db: Session, digest: str) -> int:
    """In how many nuggets a picture stands, in whatever version."""
    statement = select(func.count(Version.slug.distinct())).where(Version.text.contains(digest, autoescape=True))
    return db.scalar(statement) or 0


def remove(db: Session, digest: str, owner_id: int) -> None:
    """Forget one's own picture."""
    db.execute(delete(Upload).where(Upload.digest == digest, Upload.owner_id == owner_id))


def remove_unused(db: Session, owner_id: int) -> None:
    """Forget the pictures of somebody that stand in no nugget."""
    for upload in mine(db, owner_id):
        if not stands_in(db, upload.digest):
            remove(db, upload.digest, owner_id)
