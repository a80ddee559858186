"""Settings of the server: where the school keeps its data and how it is reached. They are read once, when it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lapwing.errors import InvalidParameter
from lapwing.noise.entropy import SYSTEM

DATABASE = "lapwing-school.db"
"""The file in the current directory unless another database is named."""
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that differs between one school and another."""

    database: str = f"sqlite:///{DATABASE}"
    origin: str = "http://127.0.0.1:8000"
    secure: bool = True
    """Whether cookies travel by https only. Browsers make an exception for this machine (127.0.0.1, localhost)."""
    key_file: Path | None = None
    key: bytes | None = None
    lab_folder: Path | None = None
    """Where tables that people bring to the lab are kept while they are used; the system's folder for such things."""
    lab_upload: int = 2 << 30
    """Bytes of one table."""
    lab_lasts: float = 2 * 3600.0
    """Seconds without use after which a table is deleted."""
    lab_benches: int = 500
    """Tables that are there at the same time, of which one address has half at most; and, below, of one browser."""
    lab_benches_each: int = 5
    lab_disk: int = 20 << 30
    """Bytes of all tables together, of which one address has half at most."""
    collections: Path | None = None
    """A folder with the folders of collections that people take part in and operators watch."""

    @classmethod
    def of(
        cls,
        database: str = "",
        *,
        origin: str = "",
        secure: bool | None = None,
        collections: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings:
        """From arguments, or from LAPWING_DATABASE, LAPWING_ORIGIN, LAPWING_KEY_FILE and LAPWING_INSECURE_COOKIES.

        LAPWING_COLLECTIONS names a folder of collections. The lab is told by LAPWING_LAB_FOLDER, LAPWING_LAB_UPLOAD
        (bytes) and LAPWING_LAB_LASTS (seconds).
        """
        known = os.environ if environment is None else environment
        key_file, lab_folder = known.get("LAPWING_KEY_FILE"), known.get("LAPWING_LAB_FOLDER")
        if collections is None and (named := known.get("LAPWING_COLLECTIONS")):
            collections = Path(named)
        if secure is None:
            secure = known.get("LAPWING_INSECURE_COOKIES", "") not in ("1", "true", "yes")
        return cls(
            database=address(database or known.get("LAPWING_DATABASE") or DATABASE),
            origin=(origin or known.get("LAPWING_ORIGIN") or cls().origin).rstrip("/"),
            secure=secure,
            key_file=Path(key_file) if key_file else None,
            lab_folder=Path(lab_folder) if lab_folder else None,
            collections=collections,
            lab_upload=_whole(known, "LAPWING_LAB_UPLOAD", cls().lab_upload),
            lab_lasts=float(_whole(known, "LAPWING_LAB_LASTS", int(cls().lab_lasts))),
        )

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        kind, _, path = self.database.partition(":///")
        return Path(path) if kind == "sqlite" else None

    def secret(self) -> bytes:
        """The key that seals what the database must not tell alone. Made once, readable by its owner only."""
        if self.key is not None:
            return self.key
        path = self.key_file or (self.file.with_suffix(".key") if self.file else Path(DATABASE).with_suffix(".key"))
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            kept = path.read_bytes()
            if len(kept) != _KEY_BYTES:
                hint = "Put back the right file, or remove it: admins then enrol their second factor again."
                raise InvalidParameter("key_file", str(path), f"it does not hold {_KEY_BYTES} bytes", hint) from None
            return kept
        with os.fdopen(handle, "wb") as file:
            file.write(SYSTEM.bits(8 * _KEY_BYTES).to_bytes(_KEY_BYTES, "big"))
            file.flush()
            os.fsync(file.fileno())
        return path.read_bytes()


def _whole(known: Mapping[str, str], name: str, otherwise: int) -> int:
    text = known.get(name) or str(otherwise)
    if not text.isdecimal() or not 0 < int(text) < 1 << 50:
        raise InvalidParameter(name, text, "is not a whole number above 0", f"Write {name}={otherwise}, for example.")
    return int(text)


def address(database: str) -> str:
    """The URL of a database: a plain path is an SQLite file, and PostgreSQL is spoken to by psycopg.

    >>> address("school.db"), address("postgresql://team@host/school")
    ('sqlite:///school.db', 'postgresql+psycopg://team@host/school')
    """
    for plain in ("postgresql://", "postgres://"):
        if database.startswith(plain):
            return f"postgresql+psycopg://{database.removeprefix(plain)}"
    if "://" not in database:
        return f"sqlite:///{database}"
    if not database.startswith(("sqlite:///", "postgresql+psycopg://")):
        kind = database.partition("://")[0]
        raise InvalidParameter("database", f"{kind}://…", "it is not spoken", "Name a file, or postgresql://….")
    return database
