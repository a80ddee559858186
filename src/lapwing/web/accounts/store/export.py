"""All that is kept about one person, for them to take along."""

from __future__ import annotations

from datetime import date
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from lapwing.web.service.tables import Table, User, WebSession

_OWNED_BY = ("user_id", "owner_id", "author_id")
_SECRET = {"password_hash", "totp_secret", "totp_used", "code_hash", "token_hash", "csrf", "bytes", "name_key"}
_LEFT_OUT = {"recovery_codes"}


def everything(db: Session, user_id: int) -> dict[str, Any]:
    """What every table has about somebody, except what would let another one in as them."""
    records: dict[str, Any] = {}
    for name, table in sorted(Table.metadata.tables.items()):
        owners = [table.c[column] for column in _OWNED_BY if column in table.c]
        if table is User.__table__:
            owners = [table.c.id]
        if not owners or name in _LEFT_OUT:
            continue
        columns = [column for column in table.c if column.name not in _SECRET]
        rows = db.execute(select(*columns).where(or_(*(owner == user_id for owner in owners)))).mappings()
        records[name] = [{key: _plain(value) for key, value in row.items()} for row in rows]
    records["signed_in_browsers"] = records.pop(WebSession.__tablename__)
    return records


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
