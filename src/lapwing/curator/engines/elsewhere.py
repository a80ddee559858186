"""The engine for rows that are not stored in one place: every attempt to read them here is refused."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from lapwing.curator.engines.compiler import Relation
from lapwing.errors import UnsupportedQuery

if TYPE_CHECKING:
    from lapwing.curator.engines.dialects import Dialect
    from lapwing.curator.engines.engine import Session
    from lapwing.curator.plan.nodes import Scan


@dataclass(frozen=True)
class Elsewhere:
    """Stands where an engine is expected. `why` says who has the rows, `instead` what to do about it."""

    name: str
    why: str
    instead: str

    @property
    def dialect(self) -> Dialect:
        """There is none: nothing is compiled."""
        raise self._refusal()

    def session(self, relations: Iterable[Relation]) -> AbstractContextManager[Session]:
        """There is none: nothing is read."""
        raise self._refusal()

    def relation(self, scan: Scan) -> Relation:
        """The table of a scan, for the checker: its columns, of the kinds that were declared."""
        name = exp.to_identifier(scan.table, quoted=True)
        return Relation(exp.Table(this=name), {field.name: field.kind for field in scan.fields})

    def _refusal(self) -> UnsupportedQuery:
        return UnsupportedQuery("reading rows", self.why, self.instead)
