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
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from lapwing.collect import documents, reader
from lapwing.collect.aggregator import Aggregator
from lapwing.collect.analyzer import Analyzer
from lapwing.collect.blinder import Blinder
from lapwing.collect.clock import GRACE, Certainty, now, today
from lapwing.collect.collection import Collection, role
from lapwing.collect.consents import with_belief
from lapwing.collect.counting import Counting, counted_here
from lapwing.collect.drafts import EPOCH_DAYS, checked_draft, draft_problems, drafted, slug
from lapwing.collect.files import make_folder, remove_parts, write_durably
from lapwing.collect.ingestor import Ingestor
from lapwing.collect.intake import LONGEST_OPEN, Intake
from lapwing.collect.issuer import Admit, Issuer
from lapwing.collect.key_ring import OPERATOR, SHUFFLERS, check_operator, owners
from lapwing.collect.keys import Key, Kind, destroy_key, stored_keys
from lapwing.collect.relay import Relay
from lapwing.collect.sealer import Folders, Sealer
from lapwing.collect.sealing import envelope_bytes
from lapwing.collect.shuffled_promises import GROUPS, consent_with_words
from lapwing.collect.shuffler import Shuffler
from lapwing.collect.shuffling import ShufflingServer
from lapwing.collect.string_drafts import is_oblivious, is_of_strings
from lapwing.collect.string_protocol import StringProtocol, any_protocol
from lapwing.collect.thresholder import Thresholder
from lapwing.errors import InvalidParameter

CLOSED = "closed"
"""The name of the file that ends a collection: which version, and since when."""
SIGNING = ("ingestor", *SHUFFLERS, "aggregator")
"""Who signs what they pass on."""

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

    def create(self, *, question: str, name: str | None = None, **named: Any) -> Path:
        """Begin a collection: a draft to edit, and the operator's key. What else may be named: `drafts.drafted`."""
        if self.draft.exists():
            raise InvalidParameter("folder", str(self.folder), "has a collection already", "Choose another folder.")
        document = drafted(question=question, name=name or slug(self.folder.resolve().name), **named)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        Key.random("ed25519").write(self.folder / OPERATOR)
        write_durably(self.draft, [documents.written(document).encode()], mode=0o644)
        return self.draft

    def open(self) -> Collection:
        """Make keys for epochs that are new, fill them in, sign, and write collection.yaml.

        What the last signed file says about keys stays, also where the secret ones are on other machines, or destroyed.
        """
        document, key = documents.parsed(self._text(self.draft)), Key.read(self.folder / OPERATOR)
        before = self.collection() if self.signed.exists() else None
        if before is not None:
            check_operator(key, before)
        offer = self.drafted()  # checked before any key is made
        servers: Any = document.get("servers")
        if isinstance(servers, Mapping):
            for party in SIGNING:
                if isinstance(servers.get(party), dict):
                    held = before.servers.get(party) if before else None
                    public = held.key if held else None
                    servers[party]["key"] = _text(public or self._key(party, "signing", "ed25519").public)
        document["consent"] = _agreed(document, offer, before)
        document["epochs"] = self._epochs(document, before)
        document["protocol"] = _exact(document.get("protocol"))
        if isinstance(limits := document.get("limits"), dict):
            limits["answers"] = reader.checked({**document, "limits": _without_answers(limits)}).policy().periods()
        collection = reader.sign(reader.checked(document), key)
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
        try:
            return reader.read(self.signed)
        except InvalidParameter as error:
            if "signature: is not" not in str(error):
                raise
        why = "was changed after it was signed, so nobody may use it"
        hint = (
            "Put the signed file back: a party that was started has it, too, as PARTY/…/collection.yaml. To change the "
            "collection, edit draft.yaml, write its next version, and run `lapwing collect open`."
        )
        raise InvalidParameter("collection", str(self.signed), why, hint)

    def drafted(self) -> Collection:
        """The draft as it would be signed, with keys of nobody: for a quote."""
        return checked_draft(self._filled(), self.folder)

    def close(self) -> datetime:
        """End this version of the collection: the ingestor of this folder takes no more reports. Since when it is."""
        since = self.closed() or now().replace(microsecond=0)
        write_durably(self.folder / CLOSED, [f"{self.collection().id}\n{since.isoformat()}\n".encode()], mode=0o644)
        return since

    def closed(self) -> datetime | None:
        """Since when it has been ended; None if it has not."""
        return self._closed(self.collection().id) if (self.folder / CLOSED).exists() else None

    def _closed(self, version: str) -> datetime | None:
        path = self.folder / CLOSED
        try:
            which, _, since = path.read_text(encoding="ascii", errors="replace").partition("\n")
            if which.strip() != version:
                return None
            try:
                return datetime.fromisoformat(since.strip())
            except ValueError:  # files had no time in them once; closed it is
                return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
        except FileNotFoundError:
            return None

    def outdated_consent(self) -> str:
        """Whether people agree to words that are not true any more, and what to do about it; nothing if all is well."""
        if not self.signed.exists():
            return ""
        collection = self.collection()
        true = _with_true_words(collection.document, collection.consent, collection)
        if true.split() == collection.consent.split():
            return ""
        return (
            "The text that people agree to was written by an earlier version of Lapwing, and says too little about "
            "what reports tell. A signed version keeps its text. To correct it, write the next version into draft.yaml "
            "and run `lapwing collect open`: then people are asked to agree to the new text."
        )

    def checked(self) -> list[str]:
        """What is wrong with the draft; keys are filled in by `open`, so they may be missing."""
        return draft_problems(self._filled())

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
            days = {"from": document.get("opens"), "until": _first_end(document)}
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
        over = "token_key" in epoch and date.fromisoformat(epoch["until"]) + GRACE < today()
        filled = {name: epoch[name] for name in ("number", "from", "until")}
        for name, (party, kind) in owners(servers, oblivious=oblivious).items():
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

    def issuer(self, admit: Admit | None = None, sure: Certainty | None = None) -> Issuer:
        """The issuer of this folder."""
        secrets = {number: key.secret for number, key in self.keys("issuer", "token").items()}
        seeds = {number: key.secret for number, key in self.keys("issuer", "string").items()}
        return Issuer(self.collection(), self.folder / "issuer", secrets, string_keys=seeds, admit=admit, sure=sure)

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
            closed=lambda: self._closed(collection.id) if os.path.exists(marker) else None,
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


def _text(data: bytes) -> str:
    return b64encode(data).decode()


def _agreed(document: Mapping[str, Any], offer: Collection, before: Collection | None) -> Any:
    """The text to agree to: what it says about shufflers is what they do, and what it says of reports is their loss.

    A version that was signed keeps its text, even if this version of the library writes the same in other words.
    """
    agreed = _with_true_words(document, document.get("consent"), offer)
    if before is None or before.version != document.get("version"):
        return agreed
    signed = before.document.get("consent")
    return signed if _with_true_words(document, signed, offer) == agreed else agreed


def _with_true_words(document: Mapping[str, Any], consent: Any, offer: Collection) -> Any:
    """The same text with the sentences that depend on the epsilon and on the transport as they are true now."""
    crowd = document.get("crowd")
    source = crowd.get("from") if isinstance(crowd, Mapping) else None
    if not isinstance(consent, str) or is_of_strings(document):
        return consent
    fragments = document.get("fragments")
    by = fragments.get("by") if isinstance(fragments, Mapping) else None
    consent = with_belief(consent, offer.report_loss, offer.lifetime_loss(offer.lifetime))
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


def _day(document: Mapping[str, Any], name: str) -> date:
    try:
        return date.fromisoformat(str(document.get(name)))
    except ValueError:
        raise InvalidParameter(name, document.get(name), "must be a day", "Write a day such as 2026-12-31.") from None


def _first_end(document: Mapping[str, Any]) -> Any:
    """The last day of the first epoch that `open` will write, if the days of the draft can be read."""
    try:
        opens, closes = (date.fromisoformat(str(document.get(name))) for name in ("opens", "closes"))
        return min(closes, opens + timedelta(days=EPOCH_DAYS - 1)).isoformat()
    except (ValueError, OverflowError):
        return document.get("closes")
