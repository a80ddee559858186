"""A throwaway PostgreSQL server for tests: one for each worker, started when first needed, reached by a socket."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest

OWNER = "postgres"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs, and the folder it lives in, which holds its socket and its data."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    def url(self, database: str, **parameters: str) -> str:
        """The address of a database; parameters such as `password` are put where libpq also reads them."""
        query = {"host": str(self.folder), "user": OWNER, **parameters}
        return f"postgresql:///{database}?" + "&".join(f"{name}={quote(value, '')}" for name, value in query.items())

    def new_database(self) -> str:
        """The URL of a database in which nothing is yet."""
        import psycopg

        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
        return self.url(name)

    def start(self, **settings: str) -> None:
        """Run until `stop`; durable as servers are by default."""
        fixed = {"listen_addresses": "", "unix_socket_directories": str(self.folder), "timezone": "UTC"}
        options = " ".join(f"-c {name}='{value}'" for name, value in {**fixed, **settings}.items())
        log = str(self.folder / "log")
        run("pg_ctl", "--pgdata", str(self.folder / "data"), "-w", "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """As `pg_ctl stop` does: "fast" drops the connections, "immediate" is a crash."""
        run("pg_ctl", "--pgdata", str(self.folder / "data"), "-w", "-m", mode, "stop")


@functools.cache
def program(name: str) -> str | None:
    """One of the server's programs: on the path, or the newest where Debian keeps them off it."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: float(place.parent.name), reverse=True)
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, places)))


def run(name: str, *arguments: str) -> None:
    """Run a program of the server, never as root, which it refuses."""
    executable = program(name)
    assert executable is not None
    user = OWNER if os.geteuid() == 0 else None
    result = subprocess.run(
        [executable, *arguments], user=user, group=user, extra_groups=None if user is None else [], cwd="/",
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr


def new_server() -> Server:
    """Make a server and start it; whoever does so stops it and removes its folder."""
    if any(program(name) is None for name in ("initdb", "pg_ctl")):
        pytest.skip("PostgreSQL is not installed here (Debian: apt-get install postgresql)")
    pytest.importorskip("psycopg", reason="psycopg is not installed here")
    folder = Path(tempfile.mkdtemp(prefix="lapwing-pg-"))  # a short name: a socket's has at most 107 characters
    if os.geteuid() == 0:
        shutil.chown(folder, OWNER, OWNER)
    run(
        "initdb", "--pgdata", str(folder / "data"), "--username", OWNER, "--auth", "trust", "--encoding", "UTF8",
        "--locale", "C.UTF-8" if sys.platform == "linux" else "en_US.UTF-8", "--no-sync", "--no-instructions",
    )  # fmt: skip
    server = Server(folder)
    server.start()
    return server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """The server of this worker."""
    server = new_server()
    yield server
    server.stop("immediate")
    shutil.rmtree(server.folder)


@pytest.fixture
def postgres_url(postgres_server: Server) -> str:
    """A fresh database for one test; it may be dropped with the server."""
    return postgres_server.new_database()
