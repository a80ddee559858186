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
    arrived, silent = 0, set[str]()
    for name in names:
        path = sealer.folders.sealed / f"{name}.sealed"
        content, _, party = name.partition("-")
        party = party or sealer.collection.after("ingestor")
        if party in silent:
            continue
        try:
            hops.hand_over(sealer.collection, party, path.read_bytes(), content, signing_key)
        except Unreachable as error:
            if not error.answered:  # nor does it answer now for others; one that is refused does not hold them up
                silent.add(party)
            continue
        with sealer.facts.transaction() as database:
            database.execute("DELETE FROM sealed WHERE name = :name", {"name": name})
        path.unlink(missing_ok=True)
        arrived += 1
    return arrived
