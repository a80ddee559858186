"""Which keys a party has, and whether those in its folder are the ones that the signed file names.

A party with other keys would run, and nobody would notice: tokens would not be redeemed, reports would not open, and
what it signs would be refused. So this is checked before it listens.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection as Names
from datetime import date
from pathlib import Path

from lapwing.collect.clock import GRACE
from lapwing.collect.collection import Collection
from lapwing.collect.drafts import SHUFFLER_PORTS
from lapwing.collect.keys import Key, Kind
from lapwing.collect.string_drafts import is_oblivious
from lapwing.errors import InvalidParameter

SHUFFLERS = tuple(SHUFFLER_PORTS)
OPERATOR = "operator.key"


def owners(parties: Names[str], *, oblivious: bool) -> dict[str, tuple[str, Kind]]:
    """The keys that an epoch has among these parties: whose each is, and of what kind."""
    keys: dict[str, tuple[str, Kind]] = {"report": ("aggregator", "x25519"), "token": ("issuer", "ristretto255")}
    keys |= {party: (party, "x25519") for party in SHUFFLERS if party in parties}
    keys |= {"crowd": ("thresholder", "ristretto255")} if "thresholder" in parties else {}
    keys |= {"gateway": ("ingestor", "x25519")} if "relay" in parties else {}
    keys |= {"string": ("issuer", "ristretto255")} if oblivious else {}
    return keys


def check_keys(collection: Collection, folder: Path, party: str, day: date) -> None:
    """Refuse keys that are not those of the signed file, and a folder without those that are still needed."""
    server = collection.servers.get(party)
    if server is not None and server.key is not None:
        _check(folder / party / "signing.key", server.key, "signs what this party passes on", needed=True)
    names = {name for name, (owner, _) in _owners(collection).items() if owner == party}
    names |= {"token"} if party == "ingestor" else set()
    names -= set() if collection.tokens else {"token"}
    for item, epoch in zip(collection.document["epochs"], collection.epochs, strict=True):
        for name in sorted(names):
            path = folder / party / f"{name}-{epoch.number}.key"
            use = f"is for epoch {epoch.number}, until {epoch.end}"
            _check(path, b64decode(item[f"{name}_key"]), use, needed=day <= epoch.end + GRACE)


def check_operator(key: Key, signed: Collection) -> None:
    """Refuse to sign with another key than the last time: devices have pinned that one."""
    if key.kind != "ed25519" or key.public != signed.operator:
        why = "is not the key that signed collection.yaml: devices that agreed would refuse what it signs"
        raise InvalidParameter("key", OPERATOR, why, "Put the right operator.key back, or begin in a new folder.")


def _owners(collection: Collection) -> dict[str, tuple[str, Kind]]:
    return owners(collection.servers, oblivious=is_oblivious(collection.document))


def _check(path: Path, public: bytes, use: str, *, needed: bool) -> None:
    name = f"{path.parent.name}/{path.name}"
    source = f"Copy the folder {path.parent.name}/ from the machine where `lapwing collect open` ran"
    if not path.exists() or not any(path.read_bytes()):  # destroyed, or half destroyed
        if needed:
            why = f"is missing; it {use}"
            hint = f"{source}. If the key was destroyed, begin a new collection."
            raise InvalidParameter("key", name, why, hint)
    elif Key.read(path).public != public:
        why = f"is not the key that collection.yaml names; it {use}"
        raise InvalidParameter(
            "key", name, why, f"{source}, or use the collection.yaml that was signed with these keys."
        )
