"""`lapwing collect status`: which parties run, whether the collection is closed, and notes about its results."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from lapwing.collect import exports, hops
from lapwing.collect.clock import today
from lapwing.collect.collection import Collection
from lapwing.collect.workspace import Workspace

PATIENCE = 3.0
"""Seconds that a party has to answer."""
MOMENT = "%-d %B %Y, %H:%M"


def state_of(workspace: Workspace) -> tuple[Table, list[str]]:
    """What every party says about itself, and notes: whether the collection has ended, or asks for a wrong consent."""
    collection, since = workspace.collection(), workspace.closed()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("party", "address", "state"):
        table.add_column(name)
    for party, server in collection.servers.items():
        state, closed = _asked(collection, party)
        since = since or closed
        table.add_row(party, server.address, Text(state))
    return table, [note for note in (ended(collection, since), workspace.outdated_consent()) if note]


def _asked(collection: Collection, party: str) -> tuple[str, datetime | None]:
    path = "/results" if party == "analyzer" else "/health"
    try:
        reply = hops.get(collection.servers[party].address + path, patience=PATIENCE)
        if reply.status != 200:
            return "runs", None
        health = json.loads(reply.body)
        return _state(collection, party, health), _closed(collection, health)
    except OSError:
        return "does not answer", None
    except (ValueError, KeyError, TypeError):
        return "answers, but is not a server of a collection", None


def _state(collection: Collection, party: str, health: dict[str, Any]) -> str:
    if health["collection"] not in (collection.id, collection.name):
        return "answers for another collection, or for another version of this one"
    if party == "analyzer":
        batches, damaged = len(health["batches"]), int(health.get("damaged", 0))
        published = f"{batches} batch{'' if batches == 1 else 'es'} published"
        return f"{published}, {damaged:,} damaged" if damaged else published
    closed = "closed, " if _closed(collection, health) is not None else ""
    counts = ", ".join(f"{name}: {count:,}" for name, count in sorted(health["totals"].items()))
    state = closed + (counts or ("runs, nothing is sealed yet" if party == "ingestor" else "runs, nothing came yet"))
    held = health.get("held_until")
    if held is None:
        return state
    return f"{state}; a full batch waits until {datetime.fromisoformat(held).astimezone(UTC):{MOMENT}} UTC at most"


def _closed(collection: Collection, health: dict[str, Any]) -> datetime | None:
    """Since when the ingestor takes nothing any more, if it says so of this version."""
    since = health.get("closed")
    return datetime.fromisoformat(since) if since and health["collection"] == collection.id else None


def closed_since(workspace: Workspace) -> datetime | None:
    """As the folder says, or the ingestor, where that is on another machine."""
    since = workspace.closed()
    if since is not None or (workspace.folder / "ingestor").is_dir():
        return since
    return _asked(workspace.collection(), "ingestor")[1]


def ended(collection: Collection, since: datetime | None) -> str:
    """That no more reports are taken, and since when; nothing while they are."""
    if since is not None:
        return f"Closed since {since:{MOMENT}} UTC: no more reports are taken."
    if today() > collection.closes:
        return f"Closed since {collection.closes:%-d %B %Y}, its last day: no more reports are taken."
    return ""


def notes_of(workspace: Workspace, results: exports.Published, *, present: bool) -> list[str]:
    """What whoever reads these results should know besides; `present` if they are of the version of now."""
    collection, together = workspace.collection(), results["together"]
    notes = [ended(collection, closed_since(workspace))]
    if present and together:
        notes.append(exports.outlasted(collection, date.fromisoformat(together["day"])))
    damaged = int(results.get("damaged", 0))
    if damaged:
        files = "One batch is" if damaged == 1 else f"{damaged:,} batches are"
        notes.append(f"{files} missing here: their files at the analyzer were damaged. Put them back from a backup.")
    return [note for note in notes if note]
