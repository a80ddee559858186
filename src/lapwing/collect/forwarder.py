"""Brings sealed segments from the ingestor to the next party, each until it was stored there, then removes it."""

from __future__ import annotations

from lapwing.collect import hops
from lapwing.collect.hops import Unreachable
from lapwing.collect.keys import Key
from lapwing.collect.sealer import Sealer


def forward(sealer: Sealer, signing_key: Key) -> int:
    """Send what is sealed; how many segments arrived. What did not arrive stays, and is sent again byte for byte."""
    with sealer.facts.transaction(write=False) as database:
        query = "SELECT name FROM sealed WHERE place = :place ORDER BY name"
        names = [row["name"] for row in database.execute(query, {"place": sealer.place})]
    arrived = 0
    for name in names:
        path = sealer.folders.sealed / f"{name}.sealed"
        try:
            next_party = sealer.collection.after("ingestor")
            hops.hand_over(sealer.collection, next_party, path.read_bytes(), name, signing_key)
        except Unreachable as error:
            if error.answered:  # one that is refused does not hold up the others
                continue
            break
        with sealer.facts.transaction() as database:
            database.execute("DELETE FROM sealed WHERE name = :name", {"name": name})
        path.unlink(missing_ok=True)
        arrived += 1
    return arrived
