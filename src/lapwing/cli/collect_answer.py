"""`lapwing collect answer`: sends an answer at once, from one new device or several."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from lapwing.collect import hops, reader
from lapwing.collect.answers import choices, spoken
from lapwing.collect.clock import today
from lapwing.collect.collection import Collection
from lapwing.collect.simulation import send_answers
from lapwing.collect.string_protocol import StringProtocol
from lapwing.collect.workspace import Workspace
from lapwing.errors import InvalidParameter

PATIENCE = 5.0
"""Seconds in which a server must answer at all."""


def answer(screen: Console, source: Path, text: str, devices: int, code: str | None) -> None:
    """Send an answer from so many devices, and say what became of it."""
    collection = Workspace(source).collection() if source.is_dir() else reader.read(source)
    value = spoken(collection, text)
    _check_open(collection)
    _check_admission(collection, code)
    for party in ("issuer", "ingestor") if collection.tokens else ("ingestor",):
        _check_there(collection, party)
    outcome = send_answers(collection, [value] * devices, code=code)
    if outcome.refused:
        why = f"were refused by the ingestor: {outcome.refused:,} of {devices:,}"
        hint = f"Is the collection closed? See: lapwing collect status {source}"
        raise InvalidParameter("answers", devices, why, hint)
    reports = f"{devices:,} reports were" if devices > 1 else "One report was"
    each = " Every device used its own token and its own random numbers." if devices > 1 else ""
    screen.print(
        Text.assemble(("✓ ", "private"), f"{reports} randomised here, sealed, and stored by the ingestor.{each}")
    )
    screen.print(
        "The ingestor passes them on within ten minutes, or after the time of `serve ingestor --seal-after`. "
        f"{_when(collection)} See `lapwing collect status` and `lapwing collect results`."
    )
    if code is not None:
        screen.print(_used_up(collection, devices))


def _when(collection: Collection) -> str:
    """What a batch needs, as the signed file says it: a device never asks the aggregator."""
    hours = round(collection.publish_every.total_seconds() / 3600)
    after = "one hour" if hours == 1 else f"{hours:,} hours"
    return (
        f"Estimates appear when a batch has {collection.smallest_batch:,} reports. Even a full batch waits until "
        f"{after} after the last one (every_hours: {hours})."
    )


def _used_up(collection: Collection, devices: int) -> str:
    """What an answer took of its code."""
    epoch = collection.epoch(today())
    most = 0 if epoch is None else collection.tokens_each(epoch)
    taken = devices * collection.messages_each
    until = "" if epoch is None else f" until {epoch.end:%-d %B %Y}"
    return (
        f"This took {taken:,} of the {most:,} tokens that the code has{until}. A person's device asks for all of them "
        "at once, and now gets none: give that person another code."
    )


def example(collection: Collection) -> str | None:
    """An answer that somebody could write; None where only people who sign in take part."""
    if collection.admission == "sign-in":
        return None
    if hasattr(collection.protocol, "bounds"):
        return f"{float(collection.protocol.bounds[0]):g}"
    known = choices(collection)
    if isinstance(collection.protocol, StringProtocol) or not known:
        return "hello"
    return "yes" if known[0] is True else str(known[0])


def _check_open(collection: Collection) -> None:
    if not collection.signed:
        raise InvalidParameter("collection", collection.name, "is not signed", "Run `lapwing collect open` first.")
    if not collection.opens <= today() <= collection.closes:
        why = f"takes answers from {collection.opens} to {collection.closes} only"
        raise InvalidParameter("collection", collection.name, why, "Change opens or closes in the draft.")


def _check_admission(collection: Collection, code: str | None) -> None:
    if collection.admission == "sign-in":
        why = "needs people to sign in, which a command line cannot do"
        raise InvalidParameter("collection", collection.name, why, "Open the page to take part: lapwing serve.")
    if collection.admission == "codes" and code is None:
        why = "is missing: this collection asks for an admission code"
        raise InvalidParameter("code", None, why, "Make one with `lapwing collect codes FOLDER 1`, and write --code.")


def _check_there(collection: Collection, party: str) -> None:
    address = collection.servers[party].address
    try:
        hops.get(address + "/health", patience=PATIENCE)
    except OSError:
        why = f"does not answer at {address}"
        raise InvalidParameter("party", party, why, f"Start it: lapwing collect serve {party} FOLDER") from None
