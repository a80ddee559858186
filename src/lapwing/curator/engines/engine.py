"""What the curator asks of an engine: types from the catalogue, and integers from one snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lapwing.curator.plan.expressions import Kind

if TYPE_CHECKING:
    from sqlglot import exp

    from lapwing.curator.engines.compiler import Relation
    from lapwing.curator.engines.dialects import Dialect


class Session(Protocol):
    """One snapshot of the data."""

    def fetch(self, query: exp.Query) -> list[tuple[Any, ...]]:
        """The rows of a query; exact sums of any width are Python integers."""

    def keep(self, query: exp.Query) -> exp.Table:
        """The rows of a query as a temporary table, to be selected from until the session ends."""


class Engine(Protocol):
    """A database. Two tables can be joined if their engines are equal."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def dialect(self) -> Dialect:
        """How it spells things."""

    def session(self, relations: Iterable[Relation]) -> AbstractContextManager[Session]:
        """Open a snapshot in which these tables can be read.

        Two phases, told apart by when something fails and never by what the engine says. Opening depends on the tables
        and not on the question: what fails there is an `EngineUnreachable`. From the first statement that reads rows, a
        failure may depend on a row and the question chooses which: whatever the engine raises is an `EngineFailed`
        without its message, also when the session is closed. KeyboardInterrupt passes through both.
        """


@dataclass(frozen=True)
class Source:
    """A table of an engine, by its catalogue."""

    engine: Engine
    relation: Relation
    kinds: Mapping[str, Kind | None]
    """What each column is; None for types that cannot be used."""
    name: str
    """What to call the table if nobody says."""
    opaque: frozenset[str] = frozenset()
    """Columns that cannot be used even as text, because a cell of theirs could stop the engine."""
