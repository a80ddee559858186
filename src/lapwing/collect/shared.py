"""Several ingestors on several machines: what they have seen and sealed is in one PostgreSQL database.

Segments stay on the disk of the machine that wrote them. One transaction of the database makes a seal happen: these ids
are seen, this sealed segment exists, these open segments are used up. Transactions that write come one after another,
and the key of the table refuses an id that is there, so two sealers never pass on two envelopes with the same id.

Privacy: the database holds ids as AES of them, in sorted order for each seal, names of segments, and totals: what the
disk of one ingestor holds (sealer.md). Which ids were sealed together can be seen in it. No report is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.collect.clock import GRACE, ON_THE_WAY
from lapwing.collect.collection import Collection
from lapwing.collect.files import write_durably
from lapwing.collect.gathering import Fresh
from lapwing.collect.identities import Mixing, first_of_each
from lapwing.collect.runs import stored_mixing
from lapwing.collect.sealer import COMMITTED, Sealer, retired_in
from lapwing.collect.sealing import random_id
from lapwing.collect.segments import AbandonedSegment
from lapwing.errors import InvalidParameter
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.journal import Database
from lapwing.privacy.postgres_store import PostgresStore, in_postgres

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lapwing.collect.identities import Keys

AT_ONCE = 100_000
"""Ids in one statement."""


class SharedFacts(PostgresStore):
    """The small facts of all ingestors of one collection, on a server."""

    __slots__ = ()

    home = "lapwing_collect"
    statements = in_postgres(
        home,
        "CREATE TABLE collection (digest TEXT PRIMARY KEY)",
        "CREATE TABLE mixing (secret BLOB NOT NULL)",
        "CREATE TABLE seen (epoch INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (epoch, id))",
        *COMMITTED,
    )
    since_breaker = ()
    layout = frozenset(
        {
            "schema",
            "collection (digest text NOT NULL)",
            "collection PRIMARY KEY (digest)",
            "mixing (secret bytea NOT NULL)",
            "seen (epoch bigint NOT NULL, id bytea NOT NULL)",
            "seen PRIMARY KEY (epoch, id)",
            "consumed (segment text NOT NULL, place text NOT NULL)",
            "consumed PRIMARY KEY (segment)",
            "sealed (name text NOT NULL, place text NOT NULL, epoch bigint NOT NULL, reports bigint NOT NULL)",
            "sealed PRIMARY KEY (name)",
            "total (what text NOT NULL, reports bigint NOT NULL)",
            "total PRIMARY KEY (what)",
            "retired (epoch bigint NOT NULL)",
            "retired PRIMARY KEY (epoch)",
        }
    )
    breaker_layout = frozenset()


class SharedSealer(Sealer):
    """A sealer whose ids and seals are in a database that all ingestors of the collection share."""

    keeps_ids = GRACE + ON_THE_WAY
    """Another machine may have been down; after that no key opens what it has."""

    def __init__(self, collection: Collection, folder: Path, database: str, entropy: Entropy = SYSTEM) -> None:
        self._database = database
        super().__init__(collection, folder, entropy)

    def _open_store(self) -> None:
        self.place = _place(self.folders.base / "place", self.entropy)
        self.facts = SharedFacts(self._database, None)
        self.facts.create(allowed=True)
        digest = self.collection.digest.hex()
        with self.facts.transaction() as database:
            self.facts.check(database)
            database.execute("INSERT INTO collection SELECT :digest WHERE NOT EXISTS (SELECT FROM collection)",
                             {"digest": digest})  # fmt: skip
            held = [row["digest"] for row in database.execute("SELECT digest FROM collection")]
            if held != [digest]:
                why = "belongs to another collection, or to another version of it"
                raise InvalidParameter("database", self.facts.name, why, "Use a database of its own for each.")
            self._mixing: Mixing = stored_mixing(database, self.entropy)

    @property
    def mixing(self) -> Mixing:
        """The same for all ingestors."""
        return self._mixing

    def _seal(self, segments: Sequence[AbandonedSegment], least: int) -> int:
        totals = self._totals()
        with self.facts.transaction() as database:  # from here on nobody else seals
            fresh = self._fresh(retired_in(database), lambda *ids: _unseen(database, *ids), totals)
            if any(len(part) < least for part in fresh):
                return 0
            for part in fresh:
                _add(database, part)
            self._record(database, segments, [self._written(part) for part in fresh], totals)
        return self._finished(segments, fresh)

    def _merge_ids(self) -> None:
        pass

    def _forget_ids(self, database: Database, epoch: int) -> None:
        database.execute("DELETE FROM seen WHERE epoch = :epoch", {"epoch": epoch})

    def _tidy_ids(self) -> None:
        pass


def _unseen(database: Database, epoch: int, keys: Keys, rests: Keys) -> NDArray[np.bool_]:
    """Which of these sorted ids were not seen before, the first of each."""
    fresh, ids = first_of_each(keys, rests), _ids(keys, rests)
    for start in range(0, len(ids), AT_ONCE):
        query = "SELECT id FROM seen WHERE epoch = :epoch AND id = ANY(:ids)"
        slice_of_ids = {"epoch": epoch, "ids": ids[start : start + AT_ONCE]}
        known = {bytes(row["id"]) for row in database.execute(query, slice_of_ids)}
        for place in range(start, min(start + AT_ONCE, len(ids))) if known else ():
            fresh[place] &= ids[place] not in known
    return fresh


def _add(database: Database, fresh: Fresh) -> None:
    """With this transaction they are seen."""
    ids = _ids(fresh.keys, fresh.rests)
    for start in range(0, len(ids), AT_ONCE):
        new = {"epoch": fresh.epoch, "ids": ids[start : start + AT_ONCE]}
        database.execute("INSERT INTO seen SELECT :epoch, unnest(:ids)", new)


def _ids(keys: Keys, rests: Keys) -> list[bytes]:
    """As the table has them."""
    import numpy as np

    both = np.ascontiguousarray(np.stack([keys, rests], axis=1), dtype="<u8").tobytes()
    return [both[start : start + 16] for start in range(0, len(both), 16)]


def _place(path: Path, entropy: Entropy) -> str:
    """The name of a folder in the database, the same for ever; two machines must not copy it from each other."""
    if not path.exists():
        write_durably(path, [random_id(entropy).hex().encode()])
    return path.read_text(encoding="ascii")
