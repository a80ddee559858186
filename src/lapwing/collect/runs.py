"""Keeps the ids that were seen, for ingestor and aggregator. A file of ids counts once a transaction names it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapwing.collect import identities
from lapwing.collect.files import make_folder
from lapwing.collect.identities import Mixing, Run
from lapwing.collect.sealing import random_id
from lapwing.noise import SYSTEM, Entropy
from lapwing.privacy.journal import Database
from lapwing.privacy.store import FileStore, Store

if TYPE_CHECKING:
    from lapwing.collect.identities import Keys


class RunStore:
    """The runs in a folder; which of them count is in the tables `run` and `mixing` of a file of facts."""

    def __init__(self, facts: FileStore, folder: Path, entropy: Entropy = SYSTEM) -> None:
        make_folder(folder)
        self._facts, self._folder, self._entropy = facts, folder, entropy
        with facts.transaction() as database:
            facts.check(database)
            self.mixing = stored_mixing(database, entropy)

    def of(self, epoch: int) -> list[Run]:
        """The runs of an epoch that count."""
        with self._facts.transaction(write=False) as database:
            names = database.execute("SELECT name FROM run WHERE epoch = :epoch", {"epoch": epoch})
            return [Run(self._path(name)) for (name,) in names]

    def write(self, keys: Keys, rests: Keys) -> str:
        """A durable run that does not count yet; its name."""
        name = random_id(self._entropy).hex()
        Run.write(self._path(name), keys, rests)
        return name

    def add(self, database: Database, name: str, epoch: int) -> None:
        """From the end of this transaction on, the run counts."""
        database.execute("INSERT INTO run VALUES (:name, :epoch)", {"name": name, "epoch": epoch})

    def merge(self, epoch: int) -> None:
        """Make one of many, so that a search stays short."""
        runs = self.of(epoch)
        while places := identities.to_merge([len(run) for run in runs]):
            parts, name = [runs[place] for place in places], random_id(self._entropy).hex()
            identities.merge(parts, self._path(name))
            with self._facts.transaction() as database:
                self.add(database, name, epoch)
                for part in parts:
                    database.execute("DELETE FROM run WHERE name = :name", {"name": part.path.stem})
            for part in parts:
                part.path.unlink()
            runs = self.of(epoch)

    def forget(self, database: Database, epoch: int) -> None:
        """From the end of this transaction on, the ids of an epoch that is over do not count; `tidy` removes them."""
        database.execute("DELETE FROM run WHERE epoch = :epoch", {"epoch": epoch})

    def tidy(self) -> None:
        """Remove files that a crash left and nobody knows."""
        with self._facts.transaction(write=False) as database:
            known = {name for (name,) in database.execute("SELECT name FROM run")}
        for path in self._folder.iterdir():
            if path.suffix != ".run" or path.stem not in known:
                path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.run"


def count(database: Database, totals: Counter[str]) -> None:
    """Add to the table `total`."""
    for what, reports in totals.items():
        row = {"what": what, "reports": reports}
        database.execute("INSERT INTO total VALUES (:what, 0) ON CONFLICT DO NOTHING", row)
        database.execute("UPDATE total SET reports = reports + :reports WHERE what = :what", row)


def totals_of(facts: Store) -> dict[str, int]:
    """The table `total`."""
    with facts.transaction(write=False) as database:
        rows = database.execute("SELECT what, reports FROM total ORDER BY what")
        return {row["what"]: row["reports"] for row in rows}


def stored_mixing(database: Database, entropy: Entropy) -> Mixing:
    """The permutation of ids of this store; a fresh one if it has none."""
    row: Any = database.execute("SELECT secret FROM mixing").fetchone()
    if row is not None:
        return Mixing(bytes(row["secret"]))
    mixing = Mixing.random(entropy)
    database.execute("INSERT INTO mixing VALUES (:secret)", {"secret": mixing.secret})
    return mixing
