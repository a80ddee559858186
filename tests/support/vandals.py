"""What a vandal can do to a ledger, in a file or on a server."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

from postgres import Server

from lapwing.privacy.postgres_store import HOME

_COPIES = count(1)


def forge(place: str, statement: str) -> None:
    """Change the tables behind the ledger's back."""
    if place.startswith("postgresql:"):
        import psycopg

        with psycopg.connect(place, options=f"-c search_path={HOME}") as connection:
            connection.execute(statement.replace("x'00'", r"'\x00'"))
    else:
        with closing(sqlite3.connect(place)) as database, database:
            database.execute(statement)


def keep_copy(place: str, tmp_path: Path) -> Callable[[], None]:
    """Copy a ledger as it is now; the answer puts the copy back in its place."""
    if not place.startswith("postgresql:"):
        shutil.copy(place, tmp_path / "old.db")
        return lambda: shutil.copy(tmp_path / "old.db", place) and None

    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    parameters = conninfo_to_dict(place)
    name = parameters["dbname"]
    server = Server(Path(str(parameters["host"])))

    def run(*statements: str) -> None:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    number = next(_COPIES)
    run(f"CREATE DATABASE old_{number} TEMPLATE {name}")
    return lambda: run(f"ALTER DATABASE {name} RENAME TO new_{number}", f"ALTER DATABASE old_{number} RENAME TO {name}")
