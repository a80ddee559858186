"""What any two parties of a collection could learn if they worked together: one row for each pair.

Rows that a quote has (`quotes.py`) are taken from it. The others follow from what each of the two sees:

    issuer, ingestor   hold the key of tokens, so they can send reports of their own, as people who own devices can
    ingestor           decides besides which reports go on
    relay              sees addresses and sealed requests, and can make no token
    analyzer           holds what is published, which is a function of what the aggregator has

Proof: collusions.md
"""

from __future__ import annotations

from itertools import combinations

from lapwing.collect.collection import MORE_SHUFFLERS, Collection, role
from lapwing.collect.fragment_promises import name_of_one
from lapwing.collect.quotes import local_words, promises, together_words
from lapwing.collect.shuffled_promises import Promise, central_words

DEVICES = "devices"
ORDER = (
    DEVICES,
    "issuer",
    "relay",
    "ingestor",
    "shuffler",
    *MORE_SHUFFLERS,
    "blinder",
    "thresholder",
    "aggregator",
    "analyzer",
)
"""The road of a report."""
SEALED = "reports are encrypted, so they learn nothing about answers"
_OWN = "devices of its own"
_DEVICE_ROW, _ANALYZER_ROW = "people who lie", "analyzer, public"


def parties_of(collection: Collection) -> tuple[str, ...]:
    """Who could work with whom: devices and the servers of the file, in the order in which a report meets them."""
    return tuple(name for name in ORDER if name == DEVICES or name in collection.servers)


def alone(collection: Collection) -> dict[str, Promise]:
    """What each of them could learn alone."""
    rows = {row.party: row for row in promises(collection)}
    titles = {DEVICES: _DEVICE_ROW, "analyzer": _ANALYZER_ROW} | _one_of_several(collection)
    return {name: rows[titles.get(name, name)] for name in parties_of(collection) if titles.get(name, name) in rows}


def _one_of_several(collection: Collection) -> dict[str, str]:
    """How a quote calls shufflers among which coins choose: what holds against one holds against each."""
    return dict.fromkeys(collection.shufflers, name_of_one(collection))


def collusions(collection: Collection) -> dict[tuple[str, str], Promise]:
    """What each pair could learn together."""
    coalition = _Coalitions(collection)
    return {pair: coalition.of(*pair) for pair in combinations(alone(collection), 2)}


class _Coalitions:
    """The pairs of one collection; of two names the one that a report meets first comes first."""

    def __init__(self, collection: Collection) -> None:
        self._collection, self._alone = collection, alone(collection)
        self._rows = {
            frozenset(row.party.split(" with ")): row for row in promises(collection) if " with " in row.party
        }
        self._source = "report" if collection.crowd is None else collection.crowd.source
        self._local, self._titles = local_words(collection), {DEVICES: _OWN} | _one_of_several(collection)

    def of(self, first: str, second: str) -> Promise:
        """The row of a pair."""
        names = [self._titles.get(name, name) for name in (first, second)]
        who = f"{second} with {_OWN}" if first == DEVICES else f"{first} with {second}"
        row = self._rows.get(frozenset(names))
        if row is not None:
            return Promise(who, row.learns, row.guarantee)
        return Promise(who, self._learns(first, second), self._holds(first, second))

    def _learns(self, first: str, second: str) -> str:
        later = self._alone[second].learns
        if first == DEVICES:
            return f"{later}; which reports are its own"
        if role(first) == role(second):
            return f"{later}, of both"
        if (first, second) == ("ingestor", "aggregator") and self._collection.crowd is None:
            return "which sealed report is which randomised report, and when it came" + self._addresses()
        return f"{self._alone[first].learns}; {later}"

    def _addresses(self) -> str:
        return "" if "relay" in self._collection.servers else " and from which address"

    def _holds(self, first: str, second: str) -> str:
        if second == "analyzer":  # what is published is a function of what the aggregator has
            return self._published(first)
        if second in ("issuer", "relay", "ingestor", "blinder"):
            surrounds = "ingestor" in (first, second) or second == "relay"  # they choose reports, and can make some
            return f"{SEALED}; {self._surrounded()}" if surrounds else SEALED
        if role(second) == "shuffler":  # rows of a quote have it with the ingestor; nobody else adds to what it sees
            return self._alone[second].guarantee
        if first == "relay":
            return self._alone[second].guarantee
        if second == "thresholder":
            return self._asked(first)
        return self._opened(first)

    def _surrounded(self) -> str:
        held = together_words(self._collection, self._local)
        return f"if they put a report among false ones only and read what is published: {held}"

    def _asked(self, first: str) -> str:
        """Against the thresholder and who sends reports of their own; issuer and ingestor can add any number."""
        held = self.of(DEVICES, "thresholder").guarantee
        if self._source == "attribute":
            return f"{held}; {self._surrounded()}" if first == "ingestor" else held
        if first == DEVICES:
            return held
        free = f"the {first} can add reports, so it can try out as many reports as it likes"
        if self._source == "report":
            return f"{self._local}; {free}"
        return f"none for answers that they try out: they learn how many gave them, and {free}"

    def _opened(self, first: str) -> str:
        """Against the aggregator and who sends reports of their own, or decides which go on."""
        if self._collection.crowd is None:
            return self._local
        central = central_words(self._collection)
        if first == DEVICES:  # those of an answer have a row
            return central
        rest = f"none about crowds; what a report says: {self._local}" if self._source == "answer" else self._local
        does = "adds or drops reports" if first == "ingestor" else "sends reports of its own"
        return f"{central}. If the {first} {does}: {rest}"

    def _published(self, first: str) -> str:
        if first == "aggregator":
            return self._alone[first].guarantee
        if first == "thresholder" and self._source == "answer":
            return "none: sizes of crowds, and published numbers, can show which answer a crowd gave"
        return self.of(first, "aggregator").guarantee
