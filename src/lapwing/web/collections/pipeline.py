"""The figure of the servers that a report passes, with the state and the counts of each.

Numbers of the ingestor, and of an aggregator behind no shuffler, are shown in steps of a tenth of a batch, as the open
batch is. What shufflers count changes with whole batches only, and what is published is public. So no number of
accepted reports changes because one came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lapwing.collect.collection import role
from lapwing.collect.collusions import DEVICES, parties_of
from lapwing.collect.key_ring import SHUFFLERS
from lapwing.web.collections.watch import FINE, RUNS, STEPS, TONES, Now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lapwing.collect.collection import Collection
    from lapwing.web.collections.watch import Party

DOES = {
    DEVICES: "randomise, seal and send",
    "issuer": "lets devices take part, with blind tokens",
    "relay": "hides addresses",
    "ingestor": "stores and mixes sealed reports",
    "shuffler": "mixes, drops small crowds",
    "blinder": "mixes, hides which crowd is which",
    "thresholder": "drops small crowds, mixes again",
    "aggregator": "opens reports, counts them",
    "analyzer": "publishes estimates",
}
_LOST = ("sealed for another key", "no crowd")
"""Why a thresholder leaves out what it has taken, beside small crowds."""


@dataclass(frozen=True, slots=True)
class Station:
    """One party on the road."""

    name: str
    state: str
    """Empty for devices: nobody asks them."""
    counts: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str], ...]
    """Reports that went no further, by reason."""
    layers: int | None
    """How often a report is sealed when it arrives here; 0 for counts, None where no report comes."""

    @property
    def does(self) -> str:
        """Its part, in a few words."""
        return DOES[role(self.name)]

    @property
    def tone(self) -> str:
        """How its state is shown."""
        return TONES.get(self.state, "failing")

    @property
    def arrives(self) -> str:
        """What comes to it, in words."""
        if self.layers is None:
            return ""
        return {0: "counts", 1: "1 layer"}.get(self.layers, f"{self.layers} layers")


def stations(collection: Collection, now: Now) -> tuple[Station, ...]:
    """All of them, in the order in which a report meets them; the issuer stands beside the road."""
    by_name = {party.name: party for party in now.parties}
    return tuple(_station(collection, name, by_name.get(name), now) for name in parties_of(collection))


def _station(collection: Collection, name: str, party: Party | None, now: Now) -> Station:
    layers = _layers(collection, name)
    if party is None:
        each = (("reports a day", f"{collection.reports_per_day:,}"), ("answers in all", _answers(collection)))
        return Station(name, "", each, (), layers)
    totals = party.totals
    refused = [(reason, f"{count:,}") for reason, count in sorted(totals.items()) if reason not in FINE and count]
    return Station(name, party.state, _counts(collection, party, now), (*_dropped(name, totals), *refused), layers)


def _answers(collection: Collection) -> str:
    """How many answers the lifetime of one device pays for."""
    return f"{collection.policy().periods():,}"


def _layers(collection: Collection, name: str) -> int | None:
    if name in (DEVICES, "issuer"):
        return None
    if name == "analyzer":
        return 0
    route = collection.route
    if name == "relay":
        return len(route)  # one more around all others, for the ingestor
    inside = len(route) - max(1, route.index(role(name)))
    return inside + (name == "ingestor" and "relay" in collection.servers)


def _counts(collection: Collection, party: Party, now: Now) -> tuple[tuple[str, str], ...]:
    if party.state != RUNS:
        return ()
    totals, steps = party.totals, collection.smallest_batch
    if party.name == "ingestor":
        return (("sealed", in_steps(totals.get("sealed", 0), steps)),)
    if party.name == "aggregator":
        counted = totals.get("counted", 0)
        return (("counted", in_steps(counted, steps) if collection.crowd is None else f"{counted:,}"),)
    if party.name == "analyzer":
        return _published(now)
    whole = ("taken", "passed on") if party.name in SHUFFLERS else ()
    return tuple((what, f"{totals.get(what, 0):,}") for what in whole)


def _published(now: Now) -> tuple[tuple[str, str], ...]:
    together = now.results.together if now.results else None
    if together is None:
        return (("batches", "0"),)
    added = (("added back", f"+{together.restored:,}"),) if together.restored else ()
    return (("batches", f"{len(together.batches):,}"), *added, ("published", f"{together.reports:,}"))


def _dropped(name: str, totals: Mapping[str, int]) -> list[tuple[str, str]]:
    """Of whole batches: what the threshold of a crowd took away."""
    if role(name) not in ("shuffler", "thresholder") or "taken" not in totals:
        return []
    others = sum(totals.get(reason, 0) for reason in _LOST) if name == "thresholder" else 0
    lost = max(0, totals["taken"] - totals.get("passed on", 0) - others)
    return [("small crowds", f"{lost:,}")]


def in_steps(count: int, smallest: int) -> str:
    """Rounded down to a tenth of a batch: nobody sees a single report arrive."""
    step = max(1, smallest // STEPS)
    return f"{count // step * step:,}+" if count >= step else f"under {step:,}"
