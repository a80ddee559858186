"""A collection: everything that a device, a server and an analyst must agree on, in one signed file.

    draft     the YAML file that an operator writes
    signed    the same with the operator's key and signature; its hash is bound into every report
    version   any change makes another collection with another hash: devices must consent again

Privacy: the hash is an input of the encryption of every report (`sealing.py`) and of the token of every report
(`tokens.py`), so a report made under one set of promises cannot be read, counted or paid for under another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from lapwing.collect import documents
from lapwing.collect.answer_fragments import Fragments
from lapwing.collect.crowds import Crowd
from lapwing.collect.string_protocol import StringProtocol
from lapwing.crowd import Donation, LifetimePolicy, QuestionGroup
from lapwing.crowd.protocol import Protocol
from lapwing.errors import InvalidParameter
from lapwing.privacy import ApproxDP, PureDP

FORMAT = "lapwing collection 1"
Accounting = Literal["lifetime", "donation"]
"""Who counts on the device: `crowd.Lifetime` reports in every slot, `crowd.Device` only when something happened."""
Transport = Literal["direct", "shuffled", "blinded"]
ROUTES: Mapping[Transport, tuple[str, ...]] = {
    "direct": ("ingestor", "aggregator"),
    "shuffled": ("ingestor", "shuffler", "aggregator"),
    "blinded": ("ingestor", "blinder", "thresholder", "aggregator"),
}
"""Through whose hands a report goes."""
Admission = Literal["nobody-asked", "open", "codes", "sign-in"]
"""Who gets tokens. Without tokens (nobody-asked) anybody may send any number of reports."""
COUNTED = ("codes", "sign-in")
"""Where an issuer knows who asks, and gives each of them so many tokens and no more."""
MOST_SHUFFLERS = 9
MORE_SHUFFLERS = tuple(f"shuffler{number}" for number in range(2, MOST_SHUFFLERS + 1))
"""Beside the first, where reports travel in fragments."""
PARTIES = (
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
UNSIGNED = ("operator", "signature")
"""Keys of the file that the signature does not cover; the operator's key is covered by itself."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where a party is reached, and the Ed25519 key with which it signs what it sends to the next one."""

    address: str
    key: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """A time in which one pair of keys is used. Epochs may overlap; ids, tokens and segments belong to one.

    Attributes:
        number: Its number, from 1 on.
        start: The first day.

    >>> import tempfile
    >>> from lapwing.collect.workspace import Workspace
    >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
    >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
    >>> epoch = workspace.open().epochs[0]
    >>> epoch.number, epoch.covers(epoch.start)
    (1, True)
    """

    number: int
    start: date
    end: date
    """The last day."""
    report_key: bytes
    """Whom reports are sealed for: X25519."""
    token_key: bytes
    """Who issues tokens: ristretto255."""
    gateway_key: bytes | None = None
    """Whom requests through a relay are sealed for, the ingestor: X25519."""
    hop_keys: Mapping[str, bytes] = field(default_factory=dict)
    """Whom the outer layers of a report are sealed for, by party: X25519."""
    crowd_key: bytes | None = None
    """Who decrypts the pseudonyms of crowds, the thresholder: ristretto255."""
    string_key: bytes | None = None
    """Who makes the seeds of strings, the issuer: ristretto255."""

    @property
    def days(self) -> int:
        """How many days it lasts."""
        return (self.end - self.start).days + 1

    def covers(self, day: date) -> bool:
        """Whether a device may use it on that day.

        Args:
            day: The day.

        Returns:
            True if it lies within the epoch.
        """
        return self.start <= day <= self.end


@dataclass(frozen=True, eq=False)
class Collection:
    """A collection that was read from its file and checked. Get one from `read`.

    Attributes:
        document: The file as it was read.
        name: The name of the collection.
        version: The version of its promises. People must agree again to a new one.
        question: What people are asked.
        consent: The text that people agree to.
        protocol: What randomises answers on the device, or the protocol for strings, which are not randomised.
        accounting: How a device counts what it spends: "lifetime" reports in every slot, "donation" only if something
            happened.
        transport: Which servers a report passes: "direct", "shuffled" or "blinded".
        admission: Who gets tokens: "open", "codes" or "sign-in"; "nobody-asked" if reports need none.
        reports_per_day: How many slots a day has. A device sends one report in each.
        smallest_batch: How many reports a batch has at least before it is published.
        publish_every: How often a batch is published.
        opens: The first day.
        closes: The last day.
        servers: Address and key of each party, by name.
        epochs: The times in which each set of keys is used.
        operator: The public key of the operator who signed the file; None for a draft.

    >>> import tempfile
    >>> from lapwing.collect.workspace import Workspace
    >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
    >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
    >>> collection = workspace.open()
    >>> collection.name, collection.signed, collection.route
    ('commute', True, ('ingestor', 'aggregator'))
    >>> print(collection.report_loss, "for one report,", collection.lifetime, "for all of a device")
    ε = 0.999484 (replace, per person) for one report, 8 for all of a device
    """

    document: Mapping[str, Any]
    name: str
    version: int
    question: str
    consent: str
    protocol: Protocol | StringProtocol
    accounting: Accounting
    transport: Transport
    admission: Admission
    reports_per_day: int
    lifetime: Fraction
    """The epsilon that all reports of one device may cost together."""
    smallest_batch: int
    publish_every: timedelta
    opens: date
    closes: date
    servers: Mapping[str, Server]
    epochs: tuple[Epoch, ...]
    candidates: tuple[str, ...]
    """What is looked for in reports of a protocol without a domain."""
    crowd: Crowd | None
    """Which reports hide each other, where a shuffler is on the way."""
    fragments: Fragments | None
    """Into what an answer is divided, where its pieces travel by themselves."""
    operator: bytes | None

    def __repr__(self) -> str:
        signed = f", signed, {self.digest.hex()[:16]}" if self.signed else ", a draft"
        return f"<collection {self.name!r}, version {self.version}{signed}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and (self.digest, self.operator) == (other.digest, other.operator)

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def signed(self) -> bool:
        """Whether an operator has signed it (the signature was verified when it was read)."""
        return self.operator is not None

    @cached_property
    def digest(self) -> bytes:
        """A hash of 32 bytes: it differs if anything differs that devices or servers act on."""
        return hashlib.sha256(statement(self.document, self.operator)).digest()

    @property
    def id(self) -> str:
        """The digest as it appears in addresses and names of folders."""
        return self.digest.hex()[:32]

    @property
    def tokens(self) -> bool:
        """Whether a report must come with a token."""
        return self.admission != "nobody-asked"

    def tokens_each(self, epoch: Epoch) -> int:
        """How many tokens one device gets for an epoch: enough for every slot, and for a day before and after.

        Args:
            epoch: The epoch.

        Returns:
            The number of tokens.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> collection = workspace.open()
        >>> epoch = collection.epochs[0]
        >>> collection.tokens_each(epoch) > epoch.days * collection.reports_per_day
        True
        """
        return self.reports_per_day * self.messages_each * (epoch.days + 2)

    @property
    def whole(self) -> Protocol:
        """The protocol of all that a device sends in one slot, which it pays for together."""
        return self.local if self.fragments is None else self.fragments.whole

    @property
    def message(self) -> Protocol | StringProtocol:
        """The protocol of the report in one envelope: that of the collection, or of one fragment."""
        return self.protocol if self.fragments is None else self.fragments.message

    @property
    def messages_each(self) -> int:
        """How many envelopes a device sends in a slot."""
        return 1 if self.fragments is None else self.fragments.count

    @property
    def shufflers(self) -> tuple[str, ...]:
        """The shufflers that a device chooses from for each fragment; none in a collection without fragments."""
        if self.fragments is None:
            return ()
        return tuple(party for party in ("shuffler", *MORE_SHUFFLERS) if party in self.servers)

    def epoch(self, day: date) -> Epoch | None:
        """The newest epoch of a day.

        Args:
            day: The day.

        Returns:
            The epoch; None on days without one.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> collection = workspace.open()
        >>> collection.epoch(collection.opens).number, collection.epoch(collection.opens - timedelta(days=30))
        (1, None)
        """
        return next((epoch for epoch in reversed(self.epochs) if epoch.covers(day)), None)

    def numbered(self, number: int) -> Epoch | None:
        """The epoch with a number.

        Args:
            number: The number in the file.

        Returns:
            The epoch; None if there is none.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> collection = workspace.open()
        >>> collection.numbered(1) == collection.epochs[0], collection.numbered(7)
        (True, None)
        """
        return next((epoch for epoch in self.epochs if epoch.number == number), None)

    @property
    def route(self) -> tuple[str, ...]:
        """The parties that a report passes, from the ingestor to the aggregator."""
        return ROUTES[self.transport]

    def before(self, party: str) -> str:
        """From which party a party on the route gets reports.

        Args:
            party: The name of a party after the ingestor, such as "aggregator".

        Returns:
            The name of the party before it; the first one if there are several.
        """
        return self.route[self.route.index(role(party)) - 1]

    def senders(self, party: str) -> tuple[str, ...]:
        """All parties that may send reports to a party on the route.

        Args:
            party: The name of a party after the ingestor, such as "aggregator".

        Returns:
            Their names.
        """
        before = self.before(party)
        return self.shufflers or (before,) if before == "shuffler" else (before,)

    def after(self, party: str) -> str:
        """To which party a party on the route passes reports on.

        Args:
            party: The name of a party before the aggregator, such as "ingestor".

        Returns:
            The name of the party after it; the first one if there are several.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> collection = workspace.open()
        >>> collection.after("ingestor"), collection.before("aggregator"), collection.senders("aggregator")
        ('aggregator', 'ingestor', ('ingestor',))
        """
        return self.route[self.route.index(role(party)) + 1]

    @property
    def slot(self) -> timedelta:
        """How long a slot is. A device sends one report in each."""
        return timedelta(days=1) / self.reports_per_day

    @property
    def local(self) -> Protocol:
        """The protocol that randomises answers on the device; a collection of strings has none, and no local ε."""
        if isinstance(self.protocol, StringProtocol):
            why = "collects strings, which no local protocol randomises"
            raise InvalidParameter("collection", self.name, why, "Look at its crowd: that is what protects people.")
        return self.protocol

    @property
    def report_loss(self) -> PureDP | ApproxDP:
        """What one report costs, with all its fragments: its local ε; of a string, what the threshold lets out."""
        return report_loss(self.protocol if self.fragments is None else self.fragments.whole, self.crowd)

    def lifetime_loss(self, epsilon: Fraction) -> PureDP | ApproxDP:
        """What reports cost together that used up so much epsilon, if each is in a batch of its own.

        Args:
            epsilon: The epsilon that was used up.

        Returns:
            The loss; for strings with its δ.

        >>> import tempfile
        >>> from fractions import Fraction
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> print(workspace.open().lifetime_loss(Fraction(3)))
        ε = 3 (replace, per person)
        """
        once = self.report_loss
        if isinstance(once, PureDP):
            return PureDP(epsilon, relation="replace", unit=once.unit)
        delta = min(epsilon / once.epsilon * once.delta, Fraction(999_999, 1_000_000))
        return ApproxDP(epsilon, delta, relation="replace", unit=once.unit)

    def policy(self) -> LifetimePolicy:
        """What a device with accounting "lifetime" promises.

        Returns:
            The policy of a `Lifetime` account: its allowance, and the charge of each report.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> policy = workspace.open().policy()
        >>> print(policy.allowance, policy.periods())
        ε = 8 (replace, per person) 8
        """
        charge = self.report_loss.epsilon
        group = QuestionGroup(name=self.name, questions=[self.name], charge=charge)
        allowance = PureDP(self.lifetime, relation="replace", unit=self.protocol.unit)
        return LifetimePolicy(allowance=allowance, period=self.slot, groups=[group])

    def donation(self) -> Donation:
        """What a device with accounting "donation" promises.

        Returns:
            The terms that a `Donation` account keeps.
        """
        return Donation(protocol=self.local, lifetime=self.lifetime, per_day=self.reports_per_day)

    def to_json(self) -> bytes:
        """One line for devices, the signature included.

        Returns:
            The line as bytes, in the canonical form that was signed.

        >>> import json, tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> collection = workspace.open()
        >>> json.loads(collection.to_json())["question"]
        'How do you travel to work?'
        """
        return documents.canonical(self.document)

    def to_yaml(self) -> str:
        """The file as people read it.

        Returns:
            The text of the file.

        >>> import tempfile
        >>> from lapwing.collect.workspace import Workspace
        >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
        >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
        >>> workspace.open().to_yaml().splitlines()[0]
        'format: lapwing collection 1'
        """
        return documents.written(self.document)


def role(party: str) -> str:
    """What a party does: one of several shufflers has a number behind its name."""
    return "shuffler" if party in MORE_SHUFFLERS else party


def report_loss(protocol: Protocol | StringProtocol, crowd: Crowd | None) -> PureDP | ApproxDP:
    """What one report costs. A string is not randomised: it costs what its crowd tells."""
    if not isinstance(protocol, StringProtocol):
        return protocol.privacy_loss()
    if crowd is None:
        raise InvalidParameter("crowd", None, "is missing, so nothing protects a string", "Write transport: blinded.")
    return crowd.mechanism.privacy_loss()


def statement(document: Mapping[str, Any], operator: bytes | None) -> bytes:
    """What is hashed and signed: everything but the signature, and who signs."""
    body = {name: value for name, value in document.items() if name not in UNSIGNED}
    return FORMAT.encode() + b"\n" + (operator or b"") + b"\n" + documents.canonical(body)
