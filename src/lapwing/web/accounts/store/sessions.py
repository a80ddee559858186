"""Browsers somebody is signed in with. The database keeps hashes of their tokens, so a stolen copy opens nothing."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from lapwing.noise.entropy import SYSTEM
from lapwing.web.service.tables import User, WebSession

LASTS, IDLE = 30 * 86400, 7 * 86400
"""Seconds until one has to sign in again, whatever happens and after doing nothing."""
ADMIN_LASTS, ADMIN_IDLE = 12 * 3600, 3600
TOUCHED_EVERY = 300
MOST = 50
"""Browsers of one account; who signs in with one more is signed out where they were last seen longest ago."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session that is good, and whose it is."""

    user_id: int
    name: str
    role: str
    csrf: str
    verified: bool
    second_factor: bool
    last_seen: int
    operator: bool = False


def token() -> str:
    """256 bits nobody can guess."""
    return urlsafe_b64encode(SYSTEM.bits(256).to_bytes(32, "big")).decode().rstrip("=")


def digest(secret: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode()).digest()


def begin(db: Session, user_id: int, now: int, *, role: str, verified: bool) -> str:
    """A new session; its token is told once."""
    db.execute(delete(WebSession).where(WebSession.expires <= now))
    mine = select(WebSession.token_hash).where(WebSession.user_id == user_id).order_by(WebSession.last_seen.desc())
    if unused := list(db.scalars(mine.offset(MOST - 1).limit(100))):
        db.execute(delete(WebSession).where(WebSession.token_hash.in_(unused)))
    secret = token()
    expires = now + (ADMIN_LASTS if role == "admin" else LASTS)
    db.add(
        WebSession(
            token_hash=digest(secret),
            user_id=user_id,
            csrf=token(),
            verified=verified,
            created=now,
            last_seen=now,
            expires=expires,
        )
    )
    return secret


def find(db: Session, secret: str, now: int) -> SignedIn | None:
    """Whose token this is, if it is still good and they may still sign in."""
    statement = (
        select(WebSession, User)
        .join(User, User.id == WebSession.user_id)
        .where(WebSession.token_hash == digest(secret), WebSession.expires > now, User.active)
    )
    row = db.execute(statement).first()
    if row is None:
        return None
    session, user = row
    if session.last_seen <= now - (ADMIN_IDLE if user.role == "admin" else IDLE):
        return None
    second = user.totp_secret is not None
    return SignedIn(
        user.id, user.name, user.role, session.csrf, session.verified, second, session.last_seen, user.operator
    )


def touch(db: Session, secret: str, now: int) -> None:
    """Somebody is still there."""
    db.execute(update(WebSession).where(WebSession.token_hash == digest(secret)).values(last_seen=now))


def end(db: Session, secret: str) -> None:
    """Signed out."""
    db.execute(delete(WebSession).where(WebSession.token_hash == digest(secret)))


def end_all(db: Session, user_id: int) -> None:
    """Signed out everywhere."""
    db.execute(delete(WebSession).where(WebSession.user_id == user_id))


def count(db: Session, now: int) -> int:
    """How many browsers are signed in."""
    return db.scalar(select(func.count()).select_from(WebSession).where(WebSession.expires > now)) or 0
