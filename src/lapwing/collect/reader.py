"""Reading, checking and signing the file of a collection. An error lists everything that is wrong with it."""

from __future__ import annotations

import os
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Mapping
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

from lapwing.collect import documents
from lapwing.collect.answer_fragments import MOST_FRAGMENTS, By, Fragments
from lapwing.collect.collection import (
    FORMAT,
    MORE_SHUFFLERS,
    PARTIES,
    ROUTES,
    UNSIGNED,
    Accounting,
    Admission,
    Collection,
    Epoch,
    Server,
    Transport,
    report_loss,
    statement,
)
from lapwing.collect.crowd_reader import AnyProtocol, CrowdFields
from lapwing.collect.crowds import Crowd
from lapwing.collect.file_fields import Fields
from lapwing.collect.fragment_rules import misfits, too_many_tokens
from lapwing.collect.keys import Key, verified
from lapwing.collect.sealing import report_bytes, row_bytes
from lapwing.collect.string_protocol import StringProtocol, any_protocol, string_problems
from lapwing.crowd.protocol import OpenProtocol, Protocol
from lapwing.errors import InvalidParameter, LapwingError

LONGEST_TEXT = 10_000
LARGEST_BATCH = 1 << 27
"""Bytes of a smallest batch behind shufflers: a quarter of what one message may have."""
MOST_PER_DAY = 24
MOST_DAYS = 80
"""Of an epoch: all its tokens come in one request."""
LARGEST_REPORT = 1 << 20
"""Bytes: what a device sends every day, and an ingestor must have room for."""
KEY_BYTES, SIGNATURE_BYTES = 32, 64
_EPOCH = ("number", "from", "until", "report_key", "token_key", "gateway_key")
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
_PROMISED = frozenset(
    ["question", "consent", "protocol", "accounting", "limits", "transport", "admission", "publishing"]
)
_KEYS = _PROMISED | frozenset(
    ["format", "name", "version", "opens", "closes", "servers", "epochs", "candidates", "crowd", "fragments"]
)


def read(source: str | bytes | os.PathLike[str]) -> Collection:
    """Read and check the file of a collection. If it is signed, the signature must be valid.

    Args:
        source: The path of the file, or its text or bytes (YAML or JSON).

    Returns:
        The collection.

    Raises:
        InvalidParameter: If the file cannot be read, is no collection or was changed after it was signed. The error
            lists everything that is wrong.

    >>> import tempfile
    >>> from lapwing.collect.workspace import Workspace
    >>> workspace = Workspace(tempfile.mkdtemp() + "/commute")
    >>> _ = workspace.create(question="How do you travel to work?", answers=["bus", "bike", "car"])
    >>> signed = workspace.open()
    >>> read(workspace.folder / "collection.yaml") == signed
    True
    """
    if isinstance(source, os.PathLike) or (
        isinstance(source, str) and "\n" not in source and source.lstrip()[:1] != "{"
    ):
        try:
            source = Path(source).read_bytes()
        except OSError as error:
            why = f"cannot be read: {error.strerror or 'it is not a file'}"
            raise InvalidParameter("collection", str(source), why, "Name the YAML file of a collection.") from None
    return checked(documents.parsed(source))


def checked(document: Mapping[str, Any]) -> Collection:
    """The collection of a document; an error lists everything that is wrong with it."""
    reader = _Reader(document)
    collection = reader.collection()
    if collection is None:
        raise InvalidParameter("collection", "<file>", "; ".join(reader.problems), "Correct the file.")
    return collection


def problems(document: Mapping[str, Any]) -> list[str]:
    """What is wrong with a document, one sentence each; nothing if it is a collection."""
    reader = _Reader(document)
    reader.collection()
    return reader.problems


def sign(collection: Collection, key: Key) -> Collection:
    """The same, signed with the operator's Ed25519 key."""
    body = {name: value for name, value in collection.document.items() if name not in UNSIGNED}
    signature = key.private.sign(statement(body, key.public))
    texts = {"operator": b64encode(key.public).decode(), "signature": b64encode(signature).decode()}
    return checked(body | texts)


class _Reader(Fields):
    """Reads a document and writes down every problem, so that nobody has to correct a file ten times."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(document, [])

    def collection(self) -> Collection | None:
        """The collection, unless there are problems."""
        if self.document.get("format") != FORMAT:
            self.problems.append(f"format: must be '{FORMAT}'")
            return None
        self.surplus("", self.document, _KEYS | set(UNSIGNED))
        limits, publishing = self.map("limits"), self.map("publishing")
        self.surplus("limits", limits, {"reports_per_day", "lifetime_epsilon", "answers"})
        self.surplus("publishing", publishing, {"smallest_batch", "every_hours"})
        protocol = self._protocol()
        crowd, fragments = self._crowd(protocol), self._fragments(protocol)
        fields = {
            "document": dict(self.document),
            "name": self._name(),
            "version": self.whole("version", self.document.get("version")),
            "question": self._prose("question"),
            "consent": self._prose("consent"),
            "protocol": protocol,
            "accounting": self._choice("accounting", get_args(Accounting)),
            "transport": self._choice("transport", get_args(Transport)),
            "admission": self._choice("admission", get_args(Admission)),
            "reports_per_day": self._per_day(limits),
            "lifetime": self._lifetime(limits, protocol if fragments is None else fragments.whole, crowd),
            "smallest_batch": self.whole("publishing.smallest_batch", publishing.get("smallest_batch"), minimum=2),
            "publish_every": self._hours(publishing),
            "opens": self._day("opens", self.document.get("opens")),
            "closes": self._day("closes", self.document.get("closes")),
            "servers": self._servers(),
            "epochs": self._epochs(protocol),
            "candidates": self._candidates(protocol),
            "crowd": crowd,
            "fragments": fragments,
            "operator": self._operator(),
        }
        if not self.problems and fields["closes"] < fields["opens"]:
            self.problems.append("closes: is before the day it opens")
        return None if self.problems else self._small_enough(Collection(**fields))

    def _small_enough(self, collection: Collection) -> Collection | None:
        """A device asks for all tokens at once; a shuffler sends a whole batch in one message."""
        self.problems += too_many_tokens(collection)
        most = LARGEST_BATCH // max(row_bytes(collection, party) for party in collection.route[1:])
        if collection.crowd is not None and collection.smallest_batch + collection.crowd.dummies_in_all > most:
            why = f"is too much behind shufflers: {most:,} reports of this length, with dummies, are the most"
            self.problems.append(f"publishing.smallest_batch: {why}")
        return None if self.problems else collection

    def _name(self) -> str:
        name = self.document.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self.problems.append("name: must be small letters, digits and dashes, such as commute-2026")
        return str(name)

    def _prose(self, name: str) -> str:
        text = self.document.get(name)
        if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
            self.problems.append(f"{name}: must be text of 1 to {LONGEST_TEXT:,} characters")
        return str(text)

    def _choice(self, name: str, options: tuple[str, ...]) -> Any:
        value = self.document.get(name)
        if value not in options:
            self.problems.append(f"{name}: must be {' or '.join(options)}")
        return value

    def _per_day(self, limits: Mapping[str, Any]) -> int:
        return self.whole("limits.reports_per_day", limits.get("reports_per_day"), largest=MOST_PER_DAY)

    def _hours(self, publishing: Mapping[str, Any]) -> timedelta:
        return timedelta(hours=self.whole("publishing.every_hours", publishing.get("every_hours"), largest=24 * 366))

    def _lifetime(self, limits: Mapping[str, Any], protocol: AnyProtocol, crowd: Crowd | None) -> Fraction:
        lifetime = self.number("limits.lifetime_epsilon", limits.get("lifetime_epsilon"))
        if protocol is None or (isinstance(protocol, StringProtocol) and crowd is None):  # a problem of its own
            return lifetime
        cost = report_loss(protocol, crowd).epsilon
        if cost > lifetime:
            self.problems.append(f"limits.lifetime_epsilon: is less than one report costs ({float(cost):.6g})")
        elif limits.get("answers", lifetime // cost) != lifetime // cost:
            why = f"a lifetime of {float(lifetime):g} pays for {lifetime // cost} answers; delete the line"
            self.problems.append(f"limits.answers: {why}")
        return lifetime

    def _protocol(self) -> AnyProtocol:
        parameters = dict(self.map("protocol"))
        fingerprint = parameters.pop("fingerprint", None)
        try:
            protocol = any_protocol(parameters)
        except LapwingError as error:
            self.problems.append(f"protocol: {error}")
            return None
        if isinstance(protocol, StringProtocol):
            self.problems += string_problems(protocol, self.document)
        if report_bytes(protocol) > LARGEST_REPORT:
            size = f"a report has {report_bytes(protocol):,} bytes, {LARGEST_REPORT:,} are the most"
            self.problems.append(f"protocol: {size}; use LocalHashing or a smaller sketch")
        if fingerprint is not None and fingerprint != protocol.fingerprint.hex():
            self.problems.append("protocol.fingerprint: is that of other parameters; delete the line")
        return protocol

    def _day(self, name: str, value: Any) -> date:
        try:
            if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
                return date.fromisoformat(value)
        except ValueError:
            pass
        self.problems.append(f"{name}: must be a day, such as 2026-12-31")
        return date.min

    def _servers(self) -> Mapping[str, Server]:
        listed = self.map("servers")
        self.surplus("servers", listed, set(PARTIES))
        servers = {name: self._server(name, value) for name, value in listed.items() if name in PARTIES}
        needed = {
            "ingestor": "devices send their reports there",
            "aggregator": "reports are opened and counted there",
            "analyzer": "estimates are published there",
        }
        needed |= dict.fromkeys(self._hops(), "reports are mixed there")
        self.problems += [
            f"servers.{name}: has nothing to do in this transport; delete it"
            for name in ("shuffler", *MORE_SHUFFLERS, "blinder", "thresholder")
            if name in listed and name not in self._hops()
        ]
        if self.document.get("admission") != "nobody-asked":
            needed["issuer"] = "devices get their tokens there"
        self.problems += [f"servers.{name}: is missing; {why}" for name, why in needed.items() if name not in listed]
        return servers

    def _server(self, name: str, value: Any) -> Server:
        where, item = f"servers.{name}", value if isinstance(value, Mapping) else {}
        self.surplus(where, item, {"address", "key"})
        address = item.get("address")
        parts = urlsplit(address) if isinstance(address, str) else None
        plain = parts is not None and parts.scheme in ("http", "https") and parts.hostname
        if not plain or parts is None or parts.query or parts.fragment or parts.username:
            self.problems.append(f"{where}.address: must be an address, such as https://collect.example.org")
        signs = name in ("ingestor", "aggregator", *self._hops())
        if signs or "key" in item:
            return Server(str(address).rstrip("/"), self._bytes(f"{where}.key", item.get("key"), KEY_BYTES))
        return Server(str(address).rstrip("/"))

    def _hops(self) -> tuple[str, ...]:
        """The parties between ingestor and aggregator."""
        transport: Any = self.document.get("transport")
        hops, listed = ROUTES[transport][1:-1] if transport in ROUTES else (), self.document.get("servers")
        known = listed if isinstance(listed, Mapping) and hops == ("shuffler",) else {}
        return (*hops, *(party for party in MORE_SHUFFLERS if party in known))

    def _fragments(self, protocol: AnyProtocol) -> Fragments | None:
        """Into what an answer is divided."""
        item = self.document.get("fragments")
        self.problems += misfits(self.document, self._hops())
        if not isinstance(item, Mapping) or item.get("by") not in get_args(By) or not isinstance(protocol, Protocol):
            return None
        self.surplus("fragments", item, {"by", "count"})
        by, most = item["by"], MOST_FRAGMENTS
        count = self.whole("fragments.count", item.get("count"), minimum=2, largest=most) if by == "report" else 0
        try:
            return Fragments(by, protocol, count)
        except LapwingError as error:
            self.problems.append(f"fragments: {error}")
            return None

    def _crowd(self, protocol: AnyProtocol) -> Crowd | None:
        if not self._hops():
            if "crowd" in self.document:
                self.problems.append("crowd: has no meaning without a shuffler; delete it, or change transport")
            return None
        return CrowdFields(self.document, self.problems).crowd(protocol)

    def _candidates(self, protocol: AnyProtocol) -> tuple[str, ...]:
        listed = self.document.get("candidates", [])
        plain = isinstance(listed, list) and all(isinstance(item, str) for item in listed)
        if not plain or len(set(listed)) < len(listed):
            self.problems.append("candidates: must be a list of different texts")
            return ()
        if listed and protocol is not None and not isinstance(protocol, OpenProtocol):
            self.problems.append("candidates: this protocol knows what to look for; delete the list")
        elif not listed and isinstance(protocol, OpenProtocol):
            self.problems.append("candidates: are missing; this protocol has no domain, so nothing could be published")
        return tuple(listed)

    def _epochs(self, protocol: AnyProtocol) -> tuple[Epoch, ...]:
        listed = self.document.get("epochs")
        if not isinstance(listed, list) or not all(isinstance(item, Mapping) for item in listed):
            self.problems.append("epochs: must be a list of numbers, days and keys (`lapwing collect open` writes it)")
            return ()
        oblivious = isinstance(protocol, StringProtocol) and protocol.oblivious
        epochs = tuple(self._epoch(place, item, oblivious=oblivious) for place, item in enumerate(listed))
        if [epoch.number for epoch in epochs] != sorted({epoch.number for epoch in epochs}):
            self.problems.append("epochs: each number must be larger than the one before")
        if len({epoch.token_key for epoch in epochs}) < len(epochs):
            self.problems.append("epochs: each needs a token_key of its own, or a token would count twice")
        return epochs

    def _epoch(self, place: int, item: Mapping[str, Any], *, oblivious: bool) -> Epoch:
        where = f"epochs[{place}]"
        self.surplus(where, item, {*_EPOCH, *self._hop_keys(), *(["string_key"] if oblivious else [])})
        gateway = "relay" in (self.document.get("servers") or {}) or "gateway_key" in item

        def key(name: str) -> bytes:
            return self._bytes(f"{where}.{name}_key", item.get(f"{name}_key"), KEY_BYTES)

        epoch = Epoch(
            number=self.whole(f"{where}.number", item.get("number"), largest=(1 << 32) - 1),
            start=self._day(f"{where}.from", item.get("from")),
            end=self._day(f"{where}.until", item.get("until")),
            report_key=key("report"),
            token_key=key("token"),
            gateway_key=key("gateway") if gateway else None,
            hop_keys={party: key(party) for party in self._hops()},
            crowd_key=key("crowd") if "thresholder" in self._hops() else None,
            string_key=key("string") if oblivious else None,
        )
        if epoch.end < epoch.start:
            self.problems.append(f"{where}.until: is before the day it begins")
        elif epoch.days > MOST_DAYS:
            self.problems.append(f"{where}.until: an epoch has {MOST_DAYS} days at most; make several")
        return epoch

    def _hop_keys(self) -> set[str]:
        keys = {f"{party}_key" for party in self._hops()}
        return keys | {"crowd_key"} if "thresholder" in self._hops() else keys

    def _bytes(self, name: str, value: Any, size: int) -> bytes:
        try:
            data = b64decode(value, validate=True) if isinstance(value, str) else b""
        except (NotBase64, ValueError):
            data = b""
        if len(data) != size or b64encode(data).decode() != value:
            self.problems.append(f"{name}: must be {size} bytes in base64")
        return data

    def _operator(self) -> bytes | None:
        if not any(name in self.document for name in UNSIGNED):
            return None
        operator = self._bytes("operator", self.document.get("operator"), KEY_BYTES)
        signature = self._bytes("signature", self.document.get("signature"), SIGNATURE_BYTES)
        whole = len(operator) == KEY_BYTES and len(signature) == SIGNATURE_BYTES
        if whole and not verified(operator, signature, statement(self.document, operator)):
            why = "is not the operator's for this text. Somebody changed the file: sign it again as a new version"
            self.problems.append(f"signature: {why}")
        return operator
