"""Sends sealed segments from the ingestor to the next party until they are stored there, then removes them."""

from __future__ import annotations

from lapwing.collect.handovers import send
from lapwing.collect.keys import Key
from lapwing.collect.sealer import Sealer


def forward(sealer: Sealer, signing_key: Key) -> int:
    """Send what is sealed; how many segments arrived. What did not arrive stays, and is sent again byte for byte."""

    def arrived(name: str) -> None:
        with sealer.facts.transaction() as database:
            database.execute("DELETE FROM sealed WHERE name = :name", {"name": name})

    names = sorted(sealer.waiting())
    return send(sealer.collection, "ingestor", sealer.folders.sealed, names, signing_key, arrived)
