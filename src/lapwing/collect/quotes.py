"""What a collection promises before anybody reports: what each party can learn, and how good the numbers will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lapwing import checks
from lapwing.checks import Number
from lapwing.collect.collection import Collection
from lapwing.collect.consents import belief
from lapwing.collect.expected_errors import Error, devices_for, devices_of_a_batch, expected_error
from lapwing.collect.fragment_promises import why_several
from lapwing.collect.shuffled_promises import Promise, central_words, shuffled_promises
from lapwing.collect.string_device import asks_issuer
from lapwing.collect.string_promises import explained, string_collusion, string_promises
from lapwing.collect.string_protocol import StringProtocol
from lapwing.privacy import PureDP
from lapwing.privacy.notation import written_up

PEOPLE = 8_000_000_000
"""On earth."""


@dataclass(frozen=True, slots=True)
class CollectionQuote:
    """The promises of a collection and the error to expect. Print it.

    Attributes:
        collection: The collection.
        promises: What each party learns, and with which guarantee.
        wanted: The half-width of an estimate that is wanted, as a share; None if nobody asked.

    >>> import tempfile
    >>> from lapwing.collect.workspace import Workspace
    >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
    >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
    >>> offer = quote(workspace.drafted(), devices=5_000, error=0.02)
    >>> offer.wanted, 30_000 < offer.smallest < 40_000
    (0.02, True)
    >>> [promise.party for promise in offer.promises]
    ['network', 'ingestor', 'aggregator', 'analyzer, public', 'disk of the ingestor', 'issuer', 'people who lie']
    """

    collection: Collection
    promises: tuple[Promise, ...]
    error: Error | None
    """None where it depends on what people answer."""
    wanted: float | None = None
    smallest: int | None = None
    """How many devices it takes for the wanted error; None if nobody asked, or if no number does."""

    def explain(self) -> str:
        """What one report, and a whole lifetime, tell about one person.

        Returns:
            A few sentences.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> print(quote(workspace.drafted()).explain().partition(":")[0])
        One report costs ε = 0.999484
        """
        if isinstance(self.collection.protocol, StringProtocol):
            return explained(self.collection)
        loss, lifetime = self.collection.report_loss, _lifetime(self.collection)
        before, once, ever = self._costs()
        days = self.collection.policy().periods() / self.collection.reports_per_day
        return (
            f"{self._pieces()}{before}{once} ε = {written_up(loss.epsilon)}: an attacker who was 50 % sure of an "
            f"answer can become {belief(loss)}. {ever} at most "
            f"ε = {written_up(lifetime.epsilon)}: an attacker who knows which of them came from one device can become "
            f"{belief(lifetime)}. Reports do not say which device they came from. A device sends answers for "
            f"{days:,.3g} day{'' if days == 1 else 's'}. Its later reports say nothing about anybody."
            f"{self._too_long(days)}{self._of_crowds()}"
        )

    def _costs(self) -> tuple[str, str, str]:
        """What the local ε is the price of. Where crowds are made of true answers, what counts more comes first."""
        crowd = self.collection.crowd
        if crowd is None or crowd.source != "answer":
            return "", "One report costs", "All reports of one device together cost"
        before = (
            "Crowds are made of true answers, and that tells more than reports do. Towards everybody who sees what the "
            f"shufflers pass on, the price is {central_words(self.collection)}. The table says who learns more. "
        )
        return before, "What a report itself says costs", "What all reports of one device say together costs"

    def _pieces(self) -> str:
        """In what an answer travels, if not in one report."""
        fragments = self.collection.fragments
        if fragments is None:
            return ""
        cost, number = written_up(fragments.message.privacy_loss().epsilon), len(self.collection.shufflers)
        way = "one shuffler" if number == 1 else f"one of {number} shufflers, chosen at random"
        return (
            f"A report is sent in {fragments.count} fragments, each at its own time through {way}. One fragment "
            f"costs ε = {cost} at most. An attacker who can link all of them learns the whole report. "
            f"{why_several(self.collection)}"
        )

    def _too_long(self, days: float) -> str:
        """A warning where devices have nothing left to say before the end."""
        lasts = (self.collection.closes - self.collection.opens).days + 1
        if lasts <= days:
            return ""
        return f" The collection lasts {lasts:,} days: estimates of later batches will be too small."

    def _of_crowds(self) -> str:
        """What shufflers do to estimates, and a warning where crowds tell more than reports."""
        crowd = self.collection.crowd
        if crowd is None:
            return ""
        evenly = "answers and values of the attribute" if crowd.source == "attribute" else "answers"
        wider = (
            " Shufflers remove small crowds, and some reports of every other crowd. The expected error includes that, "
            f"for batches of {self.collection.smallest_batch:,} in which {evenly} are spread evenly."
        )
        left = together_words(self.collection, local_words(self.collection))
        return (
            f"{wider} All guarantees behind shufflers assume that they follow the protocol. Against a shuffler that "
            f"drops reports of others, or adds its own, and reads what is published, this protection remains: {left}."
        )

    def __str__(self) -> str:
        lines = [
            f"{self.collection.name}, version {self.collection.version}: {self.collection.question}",
            "",
            self.explain(),
        ]
        lines += ["", *accuracy] if (accuracy := self.accuracy()) else []
        lines += ["", *_table([("who", "can learn", "what protects people from them"), *map(_cells, self.promises)])]
        return "\n".join(lines)

    def accuracy(self) -> list[str]:
        """How good estimates will be, a sentence each.

        Returns:
            How far off an estimate is, and how many devices the wanted error takes; nothing of what is not known.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> for sentence in quote(workspace.drafted(), devices=5_000, error=0.02).accuracy():
        ...     print(sentence)
        With 5,000 devices, an estimate is off by about ±5.3 percentage points (95 % confidence).
        For an error of ±2 percentage points, about 35,549 devices are needed.
        """
        if self.error is None:
            unknown = "The number of devices for a wanted error is not known: it depends on the answers."
            return [] if self.wanted is None else [unknown]
        least = devices_of_a_batch(self.collection)
        needed = f"Nothing is published before a batch is full: that takes {least:,} devices with one answer each."
        expected = [self.error.sentence, *([needed] if self.error.devices < least else [])]
        if self.wanted is None:
            return expected
        wanted = replace(self.error, half_width=self.wanted)
        if self.smallest is not None:
            enough = "" if self.smallest < PEOPLE else ", which is more than there are people"
            return [*expected, f"For an error of {wanted}, about {self.smallest:,} devices are needed{enough}."]
        batch = f"{self.collection.smallest_batch:,}"
        return [
            *expected,
            f"No number of devices makes the error {wanted}: shufflers remove too much of each batch. "
            f"Write a smallest_batch above {batch}, a smaller threshold, or larger crowds.",
        ]


def quote(collection: Collection, *, devices: int = 10_000, error: Number | None = None) -> CollectionQuote:
    """What a collection promises before anybody reports: what each party can learn, and how accurate estimates will be.

    Args:
        collection: The collection, signed or a draft.
        devices: How many devices take part, for the expected error.
        error: The half-width of an estimate that is wanted (0.02 is two percentage points): the quote then says how
            many devices it takes. None if no error is wanted.

    Returns:
        The promises and the expected error. Print it.

    Raises:
        InvalidParameter: If `devices` is less than 1, or `error` is not positive.

    >>> import tempfile
    >>> from lapwing.collect.workspace import Workspace
    >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
    >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
    >>> offer = quote(workspace.drafted(), devices=5_000, error=0.02)
    >>> print(offer.error)
    ±5.3 percentage points
    >>> 30_000 < offer.smallest < 40_000
    True
    """
    count = checks.whole(devices=devices)
    strings = isinstance(collection.protocol, StringProtocol)
    expected = None if strings else expected_error(collection, count)
    wanted = None if error is None else float(checks.positive(error=error))
    smallest = None if wanted is None or expected is None else devices_for(collection, wanted, expected)
    return CollectionQuote(collection, promises(collection), expected, wanted, smallest)


def promises(collection: Collection) -> tuple[Promise, ...]:
    """What each party can learn, in the transport of this collection."""
    local = local_words(collection)
    nothing = "reports are encrypted, so it learns nothing about answers"
    relayed, pieces = "relay" in collection.servers, "reports" if collection.fragments is None else "fragments"
    happens = "" if collection.accounting == "lifetime" else ", and that something happened on a day"
    if collection.crowd is None:
        inside = [Promise("aggregator", "every randomised report, without sender, time or order", local)]
        published, colluder = f"{local}: counting costs nothing more", "the aggregator"
    else:
        strings = isinstance(collection.protocol, StringProtocol)
        inside = string_promises(collection, nothing) if strings else shuffled_promises(collection, local, nothing)
        published = central_words(collection)
        colluder = f"{', '.join(collection.shufflers or collection.route[1:-1])} and aggregator"
    together, mixed = together_words(collection, local), "a report with false ones only and"
    otherwise = f"If {{}} with {colluder}, or {{}} {mixed} {{}} what is published: {together}"
    rows = [
        Promise("network", f"that a device takes part, and when it reports{happens}", nothing),
        Promise(
            "ingestor",
            f"sealed {pieces} and when they came{'' if relayed else ', and addresses'}{_linked(collection)}",
            f"{nothing}. {otherwise.format('it works', 'mixes', 'reads')}",
        ),
        *inside,
        Promise("analyzer, public", _published(collection), published),
        Promise("disk of the ingestor", "sealed reports in random order, and ids in another order", nothing),
    ]
    if relayed:
        rows.insert(1, Promise("relay", "addresses, and when they report", nothing))
        rows.append(
            Promise(
                "relay with ingestor",
                "who sent which sealed report",
                f"{nothing.replace('it learns', 'they learn')}. {otherwise.format('they work', 'mix', 'read')}",
            )
        )
    if collection.tokens:
        rows.append(Promise("issuer", _admitted(collection), _unlinkable(collection)))
    moves = "each false report moves estimates a little"
    if isinstance(collection.protocol, StringProtocol):
        enough = f"{collection.protocol.threshold:,} or more"
        moves = f"each adds one to a count; {enough} can make a string that they know appear"
    rows.append(Promise("people who lie", _liars(collection), moves))
    return tuple(rows)


def _linked(collection: Collection) -> str:
    """What somebody who sees envelopes arrive can tell of fragments."""
    return "" if collection.fragments is None else "; it may tell which sealed fragments belong to one device"


def local_words(collection: Collection) -> str:
    """What a report keeps from everybody together: its local ε, or that a string does not open."""
    if isinstance(collection.protocol, StringProtocol):
        return string_collusion(collection.protocol)
    epsilon, lifetime = written_up(collection.report_loss.epsilon), written_up(_lifetime(collection).epsilon)
    return f"local ε = {epsilon} for one report, {lifetime} for all reports of a device"


def _published(collection: Collection) -> str:
    what = "strings and counts" if isinstance(collection.protocol, StringProtocol) else "counts"
    pieces = "reports" if collection.fragments is None else "fragments"
    return f"{what} of batches of {collection.smallest_batch:,} {pieces} or more"


def together_words(collection: Collection, local: str) -> str:
    """What holds against all servers at once, who know which report is whose."""
    if isinstance(collection.protocol, StringProtocol):
        return string_collusion(collection.protocol)
    revealed = collection.crowd is not None and collection.crowd.source == "answer"
    return "none, because crowds are made of true answers" if revealed else local


def _admitted(collection: Collection) -> str:
    names = {
        "open": "addresses of those who ask for tokens",
        "codes": "which codes were used",
        "sign-in": "who signed in",
    }
    questions = ", and that each asks in every slot" if asks_issuer(collection) else ""
    return f"{names[collection.admission]}, and how many tokens each got{questions}"


def _unlinkable(collection: Collection) -> str:
    blind = "cannot link a token to a report, also with the aggregator"
    return f"{blind}; it learns nothing about strings, which are blinded" if asks_issuer(collection) else blind


def _liars(collection: Collection) -> str:
    filled = collection.crowd is not None and collection.crowd.source == "answer"
    learn = "how many others are in a crowd that they fill with false reports" if filled else "nothing"
    if collection.admission == "nobody-asked":
        return f"{learn}. Anybody may send any number of reports"
    if collection.admission == "open":
        return f"{learn}. Anybody may ask for any number of tokens"
    each = max((collection.tokens_each(epoch) for epoch in collection.epochs), default=0)
    pieces = "reports" if collection.fragments is None else "fragments"
    return f"{learn}. Each can send {each:,} {pieces} in an epoch of each version at most"


def _lifetime(collection: Collection) -> PureDP:
    return PureDP(collection.lifetime, relation="replace", unit=collection.local.unit)


def _cells(promise: Promise) -> tuple[str, str, str]:
    return promise.party, promise.learns, promise.guarantee


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
