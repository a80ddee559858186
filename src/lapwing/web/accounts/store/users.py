"""People: their names, passwords and what they may do."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from lapwing.web.authoring.store import uploads
from lapwing.web.service.tables import Comment, NuggetEntry, RecoveryCode, User

LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody with an account, as the rest of the school sees them."""

    id: int
    name: str
    role: str
    active: bool
    created_day: date
    second_factor: bool
    operator: bool = False


@dataclass(frozen=True, slots=True)
class Credentials:
    """What it takes to let somebody in."""

    account: Account
    password_hash: str
    totp_secret: bytes | None


def tidy(name: str) -> str:
    """A name as it is shown: one spelling of every sign, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).split())


def key_of(name: str) -> str:
    """A name as it is compared: neither case nor spelling of signs makes a difference.

    >>> key_of("  Ada LOVELACE ") == key_of("ada  lovelace")
    True
    """
    return unicodedata.normalize("NFKC", tidy(name).casefold())


def _account(user: User) -> Account:
    second = user.totp_secret is not None
    return Account(user.id, user.name, user.role, user.active, user.created_day, second, user.operator)


def add(db: Session, name: str, password_hash: str, role: str = "learner") -> Account | None:
    """A new account, or nothing if the name is taken."""
    today = datetime.now(UTC).date()
    user = User(name=tidy(name), name_key=key_of(name), password_hash=password_hash, role=role, created_day=today)
    try:
        with db.begin_nested():
            db.add(user)
    except IntegrityError:
        return None
    return _account(user)


def by_id(db: Session, user_id: int) -> Account | None:
    """The account with this number."""
    user = db.get(User, user_id)
    return _account(user) if user else None


def credentials(db: Session, name: str) -> Credentials | None:
    """What this name signs in with."""
    user = db.scalar(select(User).where(User.name_key == key_of(name)))
    return Credentials(_account(user), user.password_hash, user.totp_secret) if user else None


def credentials_of(db: Session, user_id: int) -> Credentials | None:
    """What this account signs in with."""
    user = db.get(User, user_id)
    return Credentials(_account(user), user.password_hash, user.totp_secret) if user else None


def names(db: Session, ids: set[int]) -> dict[int, str]:
    """The names of these accounts."""
    return {row.id: row.name for row in db.execute(select(User.id, User.name).where(User.id.in_(ids)))}


def everybody(db: Session, *, like: str = "", after: int = 0, most: int = 100) -> list[Account]:
    """Accounts in the order in which they came, perhaps only those whose names begin with some letters."""
    statement = select(User).where(User.id > after).order_by(User.id).limit(most)
    if like:
        statement = statement.where(User.name_key.startswith(key_of(like), autoescape=True))
    return [_account(user) for user in db.scalars(statement)]


def count(db: Session, role: str = "", *, active_only: bool = False) -> int:
    """How many there are."""
    statement = select(func.count()).select_from(User)
    if role:
        statement = statement.where(User.role == role)
    if active_only:
        statement = statement.where(User.active)
    return db.scalar(statement) or 0


def set_password(db: Session, user_id: int, password_hash: str) -> None:
    """Another password."""
    db.execute(update(User).where(User.id == user_id).values(password_hash=password_hash))


def is_last_admin(db: Session, user_id: int) -> bool:
    """Whether nobody could look after the school without them."""
    others = select(func.count()).select_from(User).where(User.role == "admin", User.active, User.id != user_id)
    kept = db.get(User, user_id)
    return kept is not None and kept.role == "admin" and not db.scalar(others)


def set_role(db: Session, user_id: int, role: str) -> None:
    """Another role."""
    db.execute(update(User).where(User.id == user_id).values(role=role))


def set_operator(db: Session, user_id: int, operator: bool) -> None:
    """Whether somebody watches collections."""
    db.execute(update(User).where(User.id == user_id).values(operator=operator))


def make_admin(db: Session, user_id: int, password_hash: str) -> None:
    """An admin who begins anew: with this password and no second factor yet."""
    db.execute(update(User).where(User.id == user_id).values(role="admin", active=True, password_hash=password_hash))
    set_second_factor(db, user_id, None, [])


def set_active(db: Session, user_id: int, active: bool) -> None:
    """Whether somebody may sign in."""
    db.execute(update(User).where(User.id == user_id).values(active=active))


def remove(db: Session, user_id: int, *, with_comments: bool = False) -> None:
    """Forget somebody. Comments stay without a name, or as gaps in their threads.

    Drafts nobody else saw go, too, and pictures that then stand nowhere.
    """
    unseen = (NuggetEntry.owner_id == user_id, NuggetEntry.state == "draft", NuggetEntry.published.is_(None))
    db.execute(delete(NuggetEntry).where(*unseen))
    uploads.remove_unused(db, user_id)
    if with_comments:
        db.execute(update(Comment).where(Comment.user_id == user_id).values(text="", state="removed"))
    db.execute(delete(User).where(User.id == user_id))


def set_second_factor(db: Session, user_id: int, sealed: bytes | None, recovery: list[bytes]) -> None:
    """A second factor with its recovery codes, or none."""
    db.execute(update(User).where(User.id == user_id).values(totp_secret=sealed, totp_used=0))
    db.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))
    db.add_all(RecoveryCode(user_id=user_id, code_hash=code_hash) for code_hash in recovery)


def use_code(db: Session, user_id: int, period: int) -> bool:
    """Whether a time-based code of this period is fresh; from now on neither it nor an older one is."""
    fresh = update(User).where(User.id == user_id, User.totp_used < period).values(totp_used=period)
    return bool(db.connection().execute(fresh).rowcount)


def use_recovery(db: Session, user_id: int, code_hash: bytes) -> bool:
    """Whether this recovery code was left; from now on it is not."""
    mine = delete(RecoveryCode).where(RecoveryCode.user_id == user_id, RecoveryCode.code_hash == code_hash)
    return bool(db.connection().execute(mine).rowcount)


def recovery_left(db: Session, user_id: int) -> int:
    """How many recovery codes are left."""
    statement = select(func.count()).select_from(RecoveryCode).where(RecoveryCode.user_id == user_id)
    return db.scalar(statement) or 0
