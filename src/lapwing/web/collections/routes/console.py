"""For operators: which collections there are, and how each of them is."""

from __future__ import annotations

from datetime import date
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response

from lapwing.collect.clock import today
from lapwing.collect.collection import Collection
from lapwing.collect.collusions import alone, collusions
from lapwing.collect.exports import outlasted
from lapwing.collect.quotes import quote
from lapwing.web.accounts.sessions import Operator, page, personal
from lapwing.web.collections import watch
from lapwing.web.collections.admission import signs_in_elsewhere
from lapwing.web.collections.answering import question_of, servers_of, travel_of
from lapwing.web.collections.charts import chart
from lapwing.web.collections.pipeline import stations
from lapwing.web.collections.registry import Registration, find, registered, unreadable
from lapwing.web.service import qr
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal(prefix="/collections")
_HERE = ("localhost", "0.0.0.0", "::1")


@router.get("")
def overview(request: Request, site: TheSite, person: Operator) -> Response:
    """All collections."""
    folder = site.settings.collections
    shown: dict[str, Any] = {
        "entries": registered(folder),
        "unreadable": unreadable(folder),
        "named": folder is not None,
    }
    return page(request, site, "collections/overview.html", person, **shown)


@router.get("/{collection_id}")
def console(request: Request, collection_id: str, site: TheSite, person: Operator) -> Response:
    """One collection: what changes, and what was signed."""
    entry = _found(site, collection_id)
    address = site.settings.origin + entry.address
    values: dict[str, Any] = {
        "question": question_of(entry.collection),
        "travel": travel_of(entry.collection),
        "sign_in": site.settings.origin if signs_in_elsewhere(entry.collection, site.settings.origin) else "",
        "quoted": quote(entry.collection, devices=entry.collection.smallest_batch),
        "alone": {promise.party: name for name, promise in alone(entry.collection).items()},
        "pairs": collusions(entry.collection),
        "epochs": epochs_of(entry.collection, today()),
        "together": together(entry.collection),
        "address": address,
        "picture": qr.drawn(address, "QR code of the page to take part"),
        "unreachable": _unreachable(address, entry.collection),
    }
    return page(request, site, "collections/console.html", person, **_live(entry), **values)


@router.get("/{collection_id}/now")
def live(collection_id: str, site: TheSite, person: Operator) -> Response:
    """The part of the page that changes, for its script."""
    text = site.pages.made("collections/live.html", **_live(_found(site, collection_id)))
    return Response(text, headers={"cache-control": "no-store"}, media_type="text/html; charset=utf-8")


def _found(site: Site, collection_id: str) -> Registration:
    entry = find(site.settings.collections, collection_id)
    if entry is None:
        raise Problem(404)
    return entry


def _live(entry: Registration) -> dict[str, Any]:
    now = watch.now(entry.collection)
    picture = chart(now.results.batches) if now.results else None
    published = now.results.together if now.results else None
    return {
        "outlasted": outlasted(entry.collection, published.day) if published else "",
        "entry": entry,
        "collection": entry.collection,
        "now": now,
        "stations": stations(entry.collection, now),
        "chart": picture,
        "state": entry.state(),
    }


def epochs_of(collection: Collection, day: date) -> list[dict[str, Any]]:
    """The keys of each epoch: how old they are, and whether they are in use."""
    used = collection.epoch(day)
    return [
        {
            "epoch": epoch,
            "age": max(0, (day - epoch.start).days),
            "state": "in use" if epoch is used else "over" if epoch.end < day else "later",
        }
        for epoch in collection.epochs
    ]


def together(collection: Collection) -> list[tuple[str, ...]]:
    """Parties that have the same host: whoever owns it is all of them. Who hears by loopback is with the sender."""
    sender, hosts = _host(collection.servers["ingestor"].address), dict[str, list[str]]()
    for name, server in collection.servers.items():
        host = _host(server.address)
        hosts.setdefault(sender if _is_here(host) else host, []).append(name)
    return [tuple(names) for names in hosts.values() if len(names) > 1]


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _is_here(host: str) -> bool:
    return host in _HERE or host.startswith("127.")


def _unreachable(page_address: str, collection: Collection) -> str:
    """Why a phone could not take part, if it could not."""
    if any(_is_here(_host(address)) for address in (page_address, *servers_of(collection))):
        return "This page or a server of the collection has an address of this machine only, so phones cannot reach it."
    plain = any(origin.startswith("http://") for origin in servers_of(collection))
    if page_address.startswith("https://") and plain:
        return "This page has https, but a server of the collection does not. Browsers then refuse to send."
    return ""
