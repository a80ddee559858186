"""The folder of an operator: a draft, the signed file, and a folder for each party with the keys that it alone has.

    draft.yaml         what the operator edits
    operator.key       signs collections; keep it on a machine that serves nothing
    collection.yaml    the signed file, for everybody
    issuer/ ingestor/ shuffler/ (shuffler2/ …) blinder/ thresholder/ aggregator/ analyzer/
                       what each party needs: copy a folder and collection.yaml to the machine of that party

What comes for a version is in a folder of its own below that of its party, with its signed file (versions.py). On one
machine all of it may stay together; then whoever owns the machine is all parties at once, and the promises that depend
on parties not working together are void. `quote` says which.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from lapwing.collect import documents, reader
from lapwing.collect.aggregator import Aggregator
from lapwing.collect.analyzer import Analyzer
from lapwing.collect.blinder import Blinder
from lapwing.collect.clock import GRACE, today
from lapwing.collect.collection import FORMAT, MORE_SHUFFLERS, ROUTES, Collection, Transport, role
from lapwing.collect.counting import Counting, counted_here
from lapwing.collect.files import make_folder, remove_parts, write_durably
from lapwing.collect.ingestor import Ingestor
from lapwing.collect.intake import LONGEST_OPEN, Intake
from lapwing.collect.issuer import Admit, Issuer
from lapwing.collect.keys import Key, Kind, destroy_key, stored_keys
from lapwing.collect.relay import Relay
from lapwing.collect.sealer import Folders, Sealer
from lapwing.collect.sealing import envelope_bytes
from lapwing.collect.shuffled_promises import GROUPS, consent_with_words
from lapwing.collect.shuffler import Shuffler
from lapwing.collect.shuffling import ShufflingServer
from lapwing.collect.string_drafts import drafted_strings, is_oblivious, is_of_strings
from lapwing.collect.string_protocol import StringProtocol, any_protocol
from lapwing.collect.thresholder import Thresholder
from lapwing.errors import InvalidParameter

EPOCH_DAYS = 45
CLOSED = "closed"
"""The name of the file that ends a collection."""
PORTS = {"issuer": 8101, "ingestor": 8102, "aggregator": 8103, "analyzer": 8104}
SHUFFLER_PORTS = {"shuffler": 8105, "blinder": 8106, "thresholder": 8107}
SHUFFLER_PORTS |= {party: port for port, party in enumerate(MORE_SHUFFLERS, start=8108)}
SHUFFLERS = tuple(SHUFFLER_PORTS)
SIGNING = ("ingestor", *SHUFFLERS, "aggregator")
"""Who signs what they pass on."""
CROWD = {"from": "report", "threshold": 20, "mean_drop": 10, "sigma": 2, "delta": "0.000002"}
"""Of a new collection with shufflers."""
PUBLISHING = {"smallest_batch": 100, "every_hours": 24}
HERE = "127.0.0.1"
FOR_DEVICES = ("issuer", "ingestor")
"""What devices speak to; the others speak to each other."""
CONSENT = (
    "Your answer is randomised on this device before it is sent: what is sent is often not your answer, and nobody can "
    "tell. Together the answers of many people still show how many gave each answer. You can leave at any time. What "
    "was sent before cannot be taken back, because nobody knows that it came from you.\n"
)

Needed = Callable[[int], bool]
"""Whether another version still needs the key of an epoch."""


class Workspace:
    """An operator's folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @property
    def draft(self) -> Path:
        """What the operator edits."""
        return self.folder / "draft.yaml"

    @property
    def signed(self) -> Path:
        """What everybody gets."""
        return self.folder / "collection.yaml"

    def create(
        self,
        *,
        question: str,
        answers: Sequence[str] = (),
        epsilon: str = "1",
        strings: StringProtocol | None = None,
        name: str | None = None,
        host: str = HERE,
        transport: Transport = "direct",
        fragments: Mapping[str, Any] | None = None,
        shufflers: int = 1,
        **changes: Any,
    ) -> Path:
        """Begin a collection: a draft to edit, and the operator's key. At `host` devices reach this machine.

        Answers are from a list, or `strings` that nobody can list; these need two shufflers. With `fragments` an answer
        travels in pieces, through so many shufflers.
        """
        if self.draft.exists():
            raise InvalidParameter("folder", str(self.folder), "has a collection already", "Choose another folder.")
        if strings is not None and fragments is not None:
            why = "cannot be strings, which are sent whole"
            raise InvalidParameter("fragments", str(fragments.get("by")), why, "Leave out fragments, or list answers.")
        opens, batch = today(), changes.get("publishing", PUBLISHING)["smallest_batch"]
        transport = "blinded" if strings is not None else transport
        document = {
            "format": FORMAT,
            "name": name or _slug(self.folder.resolve().name),
            "version": 1,
            "question": question,
            **(
                _of_answers(answers, epsilon, transport, fragments, batch)
                if strings is None
                else drafted_strings(strings)
            ),
            "accounting": "lifetime",
            "transport": transport,
            "admission": "open",
            "publishing": dict(PUBLISHING),
            "opens": opens.isoformat(),
            "closes": (opens + timedelta(days=EPOCH_DAYS - 1)).isoformat(),
            "servers": {
                party: {"address": f"http://{host if party in FOR_DEVICES else HERE}:{port}"}
                for party, port in ports_of(transport, shufflers).items()
            },
            **changes,
        }
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        Key.random("ed25519").write(self.folder / "operator.key")
        write_durably(self.draft, [documents.written(document).encode()], mode=0o644)
        return self.draft

    def open(self) -> Collection:
        """Make keys for epochs that are new, fill them in, sign, and write collection.yaml.

        What the last signed file says about keys stays, also where the secret ones are on other machines, or destroyed.
        """
        document = documents.parsed(self._text(self.draft))
        before = self.collection() if self.signed.exists() else None
        servers: Any = document.get("servers")
        if isinstance(servers, Mapping):
            for party in SIGNING:
                if isinstance(servers.get(party), dict):
                    held = before.servers.get(party) if before else None
                    key = held.key if held else None
                    servers[party]["key"] = _text(key or self._key(party, "signing", "ed25519").public)
        document["consent"] = _agreed(document)
        document["epochs"] = self._epochs(document, before)
        document["protocol"] = _exact(document.get("protocol"))
        if isinstance(limits := document.get("limits"), dict):
            limits["answers"] = reader.checked({**document, "limits": _without_answers(limits)}).policy().periods()
        collection = reader.sign(reader.checked(document), Key.read(self.folder / "operator.key"))
        if before is not None and before.digest != collection.digest and before.version >= collection.version:
            why = f"is not larger than that of the signed file ({before.version}), and the text has changed"
            hint = f"Write version: {before.version + 1} into the draft: devices must consent again."
            raise InvalidParameter("version", collection.version, why, hint)
        if before is not None and before.digest != collection.digest:
            write_durably(self.folder / f"collection-{before.version}.yaml", [before.to_yaml().encode()], mode=0o644)
        write_durably(self.signed, [collection.to_yaml().encode()], mode=0o644)
        return collection

    def collection(self) -> Collection:
        """The signed collection."""
        if not self.signed.exists():
            hint = "Run `lapwing collect open` in the folder of the operator."
            raise InvalidParameter("folder", str(self.folder), "has no signed collection yet", hint)
        return reader.read(self.signed)

    def drafted(self) -> Collection:
        """The draft as it would be signed, with keys of nobody: for a quote."""
        return reader.checked(self._filled())

    def close(self) -> None:
        """End this version of the collection: the ingestor of this folder takes no more reports."""
        write_durably(self.folder / CLOSED, [f"{self.collection().id}\n".encode()], mode=0o644)

    def closed(self) -> bool:
        """Whether it was ended."""
        return (self.folder / CLOSED).exists() and self._closed(self.collection().id)

    def _closed(self, version: str) -> bool:
        try:
            return (self.folder / CLOSED).read_text(encoding="ascii").strip() == version
        except FileNotFoundError:
            return False

    def checked(self) -> list[str]:
        """What is wrong with the draft; keys are filled in by `open`, so they may be missing."""
        return reader.problems(self._filled())

    def _filled(self) -> dict[str, Any]:
        document, nobody = dict(documents.parsed(self._text(self.draft))), _text(bytes(32))
        servers: Any = document.get("servers")
        if isinstance(servers, Mapping):
            document["servers"] = {
                party: {"key": nobody} | dict(server) if isinstance(server, Mapping) else server
                for party, server in servers.items()
            }
        if "epochs" not in document:
            keys = {"report_key": nobody, "token_key": nobody, "gateway_key": nobody}
            keys |= {f"{party}_key": nobody for party in SHUFFLERS if party in (servers or {})}
            keys |= {"crowd_key": nobody} if "thresholder" in (servers or {}) else {}
            keys |= {"string_key": nobody} if is_oblivious(document) else {}
            days = {"from": document.get("opens"), "until": document.get("closes")}
            document["epochs"] = [{"number": 1, **days, **keys}]
        return document

    def _text(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            hint = "Run `lapwing collect new` first."
            raise InvalidParameter("folder", str(self.folder), f"has no {path.name}", hint) from None

    def _epochs(self, document: Mapping[str, Any], before: Collection | None) -> list[dict[str, Any]]:
        """The epochs that were signed, then new ones for the days after them that the collection has.

        A signed epoch keeps its days and its keys for ever: servers of an older version destroy keys, and devices ask
        for tokens, by the days that they know.
        """
        opens, end = (_day(document, name) for name in ("opens", "closes"))
        servers = document.get("servers") or {}
        signed: list[Any] = list(before.document["epochs"]) if before else []
        if signed and opens < date.fromisoformat(signed[0]["from"]):
            why = f"is before the first epoch of the signed file, which begins on {signed[0]['from']} and never changes"
            raise InvalidParameter("opens", opens.isoformat(), why, "Write that day, or begin in a new folder.")
        oblivious = is_oblivious(document)
        epochs = [self._filled_epoch(epoch, servers, oblivious=oblivious) for epoch in signed]
        start = max([opens, *(date.fromisoformat(epoch["until"]) + timedelta(days=1) for epoch in signed)])
        while start <= end and len(epochs) < 1000:
            number, until = len(epochs) + 1, min(end, start + timedelta(days=EPOCH_DAYS - 1))
            days = {"number": number, "from": start.isoformat(), "until": until.isoformat()}
            epochs.append(self._filled_epoch(days, servers, oblivious=oblivious))
            self._copy(self._key("issuer", f"token-{number}", "ristretto255"), "ingestor", f"token-{number}")
            start = until + timedelta(days=1)
        return epochs

    def _filled_epoch(self, epoch: Mapping[str, Any], servers: Mapping[str, Any], *, oblivious: bool) -> dict[str, Any]:
        """An epoch with a key for each party that needs one; nobody gets a new key for an epoch that is over."""
        owners: dict[str, tuple[str, Kind]] = {"report": ("aggregator", "x25519"), "token": ("issuer", "ristretto255")}
        owners |= {party: (party, "x25519") for party in SHUFFLERS if party in servers}
        owners |= {"crowd": ("thresholder", "ristretto255")} if "thresholder" in servers else {}
        owners |= {"gateway": ("ingestor", "x25519")} if "relay" in servers else {}
        owners |= {"string": ("issuer", "ristretto255")} if oblivious else {}
        over = "token_key" in epoch and date.fromisoformat(epoch["until"]) + GRACE < today()
        filled = {name: epoch[name] for name in ("number", "from", "until")}
        for name, (party, kind) in owners.items():
            if f"{name}_key" in epoch:  # its secret may be on another machine, or destroyed
                filled[f"{name}_key"] = epoch[f"{name}_key"]
            elif over:
                filled[f"{name}_key"] = _text(bytes(32))
            else:
                filled[f"{name}_key"] = _text(self._key(party, f"{name}-{epoch['number']}", kind).public)
        return filled

    def _key(self, party: str, name: str, kind: Kind) -> Key:
        """The key of a party; a fresh one if it has none."""
        path = self.folder / party / f"{name}.key"
        if not path.exists():
            Key.random(kind).write(path)
        return Key.read(path)

    def _copy(self, key: Key, party: str, name: str) -> None:
        path = self.folder / party / f"{name}.key"
        if not path.exists():
            key.write(path)

    def keys(self, party: str, name: str) -> dict[int, Key]:
        """The keys of a party by epoch; those that were destroyed are missing."""
        numbers = [epoch.number for epoch in self.collection().epochs]
        paths = {number: self.folder / party / f"{name}-{number}.key" for number in numbers}
        return stored_keys(paths)

    def destroy_keys(self, party: str, names: Iterable[str], epochs: Iterable[int]) -> None:
        """Destroy the keys of epochs that are over, if they are still there."""
        for number in epochs:
            for name in names:
                destroy_key(self.folder / party / f"{name}-{number}.key")

    def signing_key(self, party: str) -> Key:
        """With which a party signs what it sends on."""
        return Key.read(self.folder / party / "signing.key")

    def _place(self, party: str) -> Path:
        """Where a party keeps what came for this version, with its signed file: reports of two versions never meet."""
        collection = self.collection()
        place = self.folder / party / collection.id
        make_folder(place)
        if not (place / "collection.yaml").exists():
            remove_parts(place)  # of somebody who was killed while writing it
            write_durably(place / "collection.yaml", [collection.to_yaml().encode()], mode=0o644)
        return place

    def issuer(self, admit: Admit | None = None) -> Issuer:
        """The issuer of this folder."""
        secrets = {number: key.secret for number, key in self.keys("issuer", "token").items()}
        seeds = {number: key.secret for number, key in self.keys("issuer", "string").items()}
        return Issuer(self.collection(), self.folder / "issuer", secrets, string_keys=seeds, admit=admit)

    def ingestor(self, longest_open: float = LONGEST_OPEN, database: str | None = None) -> Ingestor:
        """One process of the ingestor of this folder; a segment is open for so many seconds at most."""
        collection, folders = self.collection(), Folders(self._place("ingestor"))
        folders.create()
        size = envelope_bytes(collection)
        intake = Intake(folders.open, collection.digest, size, longest_open=longest_open)
        secrets = {number: key.secret for number, key in self.keys("ingestor", "token").items()}
        gateways = self.keys("ingestor", "gateway")
        marker = str(self.folder / CLOSED)  # looked for in every request, so without a `Path`
        return Ingestor(
            collection,
            self._place("ingestor"),
            secrets,
            gateway_keys=gateways,
            closed=lambda: os.path.exists(marker) and self._closed(collection.id),
            published=self.sealer(database).totals,
            intake=intake,
        )

    def sealer(self, database: str | None = None) -> Sealer:
        """Beside the ingestor; several ingestors share a PostgreSQL database."""
        if database is None:
            return Sealer(self.collection(), self._place("ingestor"))
        from lapwing.collect.shared import SharedSealer

        return SharedSealer(self.collection(), self._place("ingestor"), database)

    def aggregator(self, counting: Counting = counted_here, needed: Needed = lambda _: False) -> Aggregator:
        """The aggregator of this folder. It destroys no key that is `needed` elsewhere."""
        return Aggregator(
            self.collection(),
            self._place("aggregator"),
            self.keys("aggregator", "report"),
            self.signing_key("aggregator"),
            destroy=lambda number: None if needed(number) else self.destroy_keys("aggregator", ["report"], [number]),
            counting=counting,
        )

    def shuffler(self, party: str, needed: Needed = lambda _: False, *, oblivious: bool = False) -> ShufflingServer:
        """One of the shufflers of this folder: shuffler (or shuffler2, …), blinder or thresholder."""
        names = [party, "crowd"] if party == "thresholder" else [party]
        kind: Any = {"shuffler": Shuffler, "blinder": Blinder, "thresholder": Thresholder}[role(party)]
        more: dict[str, Any] = {"crowd_keys": self.keys(party, "crowd")} if party == "thresholder" else {}
        more |= {"party": party} if kind is Shuffler else {}
        server: ShufflingServer = kind(
            self.collection(),
            self._place(party),
            self.keys(party, party),
            self.signing_key(party),
            destroy=lambda number: None if needed(number) else self.destroy_keys(party, names, [number]),
            oblivious=oblivious,
            **more,
        )
        return server

    def analyzer(self) -> Analyzer:
        """The analyzer of this folder."""
        return Analyzer(self.collection(), self._place("analyzer"))

    def relay(self) -> Relay:
        """The relay, which needs the signed file only."""
        return Relay(self.collection())


def _of_answers(
    answers: Sequence[str], epsilon: str, transport: Transport, fragments: Mapping[str, Any] | None, batch: int
) -> dict[str, Any]:
    """What a new file says about answers from a list."""
    crowd, by, pieces = dict(CROWD), (fragments or {}).get("by"), 1
    if by == "attribute":  # half of what a position has in a batch, on average: that many bits hide each other
        crowd |= {"from": "position", "threshold": max(20, batch // (2 * max(1, len(answers))))}
    elif fragments is not None:
        pieces = int(fragments["count"])
    lifetime = 8 * pieces * _positive(epsilon)
    short = f"{float(lifetime):g}"
    limits = {"reports_per_day": 1, "lifetime_epsilon": short if Fraction(short) == lifetime else str(lifetime)}
    return {
        "consent": consent_with_words(CONSENT, transport, str(crowd["from"]), by),
        "protocol": {"protocol": "UnaryEncoding", "epsilon": epsilon, "domain": list(answers)},
        "limits": limits,
        **({"crowd": crowd} if len(ROUTES[transport]) > 2 else {}),
        **({} if fragments is None else {"fragments": dict(fragments)}),
    }


def _positive(epsilon: str) -> Fraction:
    """An epsilon as somebody wrote it, such as 1/2 or 0.5."""
    try:
        number = Fraction(epsilon)
    except (ValueError, ZeroDivisionError):
        raise InvalidParameter("epsilon", epsilon, "is no number", "Write 1, 0.5 or 1/2, for example.") from None
    if number <= 0:
        raise InvalidParameter("epsilon", epsilon, "must be greater than 0", "Write 1, for example.")
    return number


def ports_of(transport: Transport, shufflers: int = 1) -> dict[str, int]:
    """Where the parties of a transport listen, unless the file says otherwise; fragments may have several shufflers."""
    hops = (*ROUTES[transport][1:-1], *MORE_SHUFFLERS[: shufflers - 1])
    return PORTS | {party: SHUFFLER_PORTS[party] for party in hops}


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _agreed(document: Mapping[str, Any]) -> Any:
    """The text to agree to: what it says about shufflers is what they do."""
    consent, crowd = document.get("consent"), document.get("crowd")
    source = crowd.get("from") if isinstance(crowd, Mapping) else None
    if not isinstance(consent, str) or is_of_strings(document):
        return consent
    fragments = document.get("fragments")
    by = fragments.get("by") if isinstance(fragments, Mapping) else None
    return consent_with_words(consent, str(document.get("transport")), source if source in GROUPS else None, by)


def _exact(written: Any) -> Any:
    """A protocol by its exact odds and its fingerprint, so that nobody computes them from an epsilon again."""
    if not isinstance(written, Mapping):
        return written
    protocol = any_protocol({name: value for name, value in written.items() if name != "fingerprint"})
    if isinstance(protocol, StringProtocol):
        return protocol.document() | {"fingerprint": protocol.fingerprint.hex()}
    name = {"protocol": type(protocol).__name__, "version": protocol.version}
    return name | protocol.parameters() | {"fingerprint": protocol.fingerprint.hex()}


def _without_answers(limits: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in limits.items() if name != "answers"}


def _slug(name: str) -> str:
    letters = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in name.lower()).strip("-")
    return "-".join(filter(None, letters.split("-")))[:60] or "collection"


def _day(document: Mapping[str, Any], name: str) -> date:
    try:
        return date.fromisoformat(str(document.get(name)))
    except ValueError:
        raise InvalidParameter(name, document.get(name), "must be a day", "Write a day such as 2026-12-31.") from None
