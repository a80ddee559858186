"""Both places where a ledger can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from postgres import Server

from lapwing.privacy import PureDP
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.postgres_store import HOME


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where there is no ledger yet."""
    if request.param == "file":
        return str(tmp_path / "ledger.db")
    url: str = request.getfixturevalue("shared_database")
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {HOME} CASCADE")
    return url


@pytest.fixture(scope="session")
def shared_database(postgres_server: Server) -> str:
    """One database for many tests: to make one takes longer than to empty it."""
    return postgres_server.new_database()


@pytest.fixture
def ledger(place: str) -> Ledger:
    """An allowance of ε = 1 for people, without an anchor."""
    fresh = Ledger(place)
    fresh.open("people", PureDP(1))
    return fresh


@pytest.fixture
def anchored(place: str, tmp_path: Path) -> Ledger:
    """The same with an anchor."""
    fresh = Ledger(place, anchor=tmp_path / "elsewhere.anchor")
    fresh.open("people", PureDP(1))
    return fresh
