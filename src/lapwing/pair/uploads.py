"""What an owner sends to each server: a share, a commitment to it, and one to the share that the other server gets.

Both servers give an upload the same name, made of both commitments, and only these two shares have it: neither server
can put a share of one owner beside a share of another. Proof: uploads.md
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from lapwing.errors import LapwingError
from lapwing.pair.links import Place

_DIGEST = re.compile(r"[0-9a-f]{64}")


class UploadRefused(LapwingError):
    """An upload that is not stored."""


def uploads_in(rows: Any, place: Place) -> list[tuple[str, str, bytes]]:
    """Of each row that came: a code, the name of the upload, and the share that it names."""
    try:
        return [_upload(row, place) for row in _listed(rows)]
    except (AttributeError, LookupError, TypeError, ValueError):
        raise UploadRefused("this is not an upload: send it with lapwing pair upload") from None


def _listed(rows: Any) -> Sequence[Any]:
    if not isinstance(rows, list):
        raise TypeError
    return rows


def _upload(row: Any, place: Place) -> tuple[str, str, bytes]:
    code, other = row["code"], row["other"]
    if not isinstance(code, str) or not code.isprintable() or not _DIGEST.fullmatch(other):
        raise ValueError
    share = bytes.fromhex(row["share"])
    own = commitment(bytes.fromhex(row["salt"]), share)
    return code, upload_name(own, other) if place == 0 else upload_name(other, own), share


def commitment(salt: bytes, share: bytes) -> str:
    """To a share, which it does not tell."""
    return hashlib.sha256(b"lapwing pair share\0" + salt + share).hexdigest()


def upload_name(first: str, second: str) -> str:
    """Of an upload: the same at both servers, and only for these two shares."""
    return hashlib.sha256(f"lapwing pair upload\0{first}\0{second}".encode()).hexdigest()
