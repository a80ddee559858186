"""Where a phone's browser takes part. Its report goes to the servers of the collection, never to this one."""

from __future__ import annotations

import asyncio

from fastapi import Request, Response

from lapwing.collect import http
from lapwing.collect.clock import today
from lapwing.collect.quotes import quote
from lapwing.web.accounts.sessions import Asking, limited, page, personal
from lapwing.web.collections.admission import issuer_at, signs_in_elsewhere
from lapwing.web.collections.answering import question_of, servers_of, travel_of
from lapwing.web.collections.registry import find
from lapwing.web.service.headers import reach
from lapwing.web.service.problems import Problem
from lapwing.web.site import TheSite

router = personal()
GONE = "This collection does not exist here. It may have a new version. Ask the person who sent you the link."


@router.get("/take-part")
def demonstration(request: Request, site: TheSite, person: Asking) -> Response:
    """The road of a report, and how to see one travel. Which collections are here is told to operators only."""
    return page(request, site, "collections/demonstration.html", person)


@router.get("/take-part/{collection_id}")
def take_part(request: Request, collection_id: str, site: TheSite, person: Asking) -> Response:
    """The question, the text to agree to, and what will be sent."""
    entry = find(site.settings.collections, collection_id)
    if entry is None:
        raise Problem(404, GONE)
    collection, state = entry.collection, entry.state()
    epoch = collection.epoch(today())
    quoted = quote(collection, devices=collection.smallest_batch)
    elsewhere = signs_in_elsewhere(collection, site.settings.origin)
    question = None if elsewhere else question_of(collection)
    if question is not None and state == "open":
        try:
            reach(request, *servers_of(collection))
        except ValueError:
            raise Problem(503, "The servers of this collection have addresses that browsers cannot reach.") from None
    return page(
        request,
        site,
        "collections/take-part.html",
        person,
        collection=collection,
        question=question,
        state=state,
        relayed="relay" in collection.servers,
        entry_address=entry.address,
        quota=collection.tokens_each(epoch) if epoch else 0,
        ends=epoch.end if epoch else collection.closes,
        travel=travel_of(collection),
        quoted=quoted,
        file=collection.to_json().decode(),
    )


@router.post("/take-part/{name}/tokens", dependencies=[limited("tokens")])
async def tokens(request: Request, name: str, site: TheSite) -> Response:
    """Blind tokens for whoever is signed in: the school is the issuer of this collection."""
    issuer = await asyncio.to_thread(issuer_at, site, name)
    if issuer is None:
        raise Problem(404, GONE)
    relayed = http.Request(request.method, "/tokens", dict(request.headers.raw), request.receive)
    answer = await issuer.tokens(relayed)
    headers = {key.decode(): value.decode() for key, value in answer.headers}
    kind = answer.kind.decode()
    return Response(answer.body, answer.status, {**headers, "cache-control": "no-store"}, media_type=kind)
