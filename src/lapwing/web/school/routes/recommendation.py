"""What a browser needs to say what to read next. Who reads stays there: this is the same for everybody."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from fastapi import Request, Response

from lapwing.web.accounts.sessions import personal
from lapwing.web.pages import Pages
from lapwing.web.school import votes
from lapwing.web.school.library import School
from lapwing.web.school.recommendation import told
from lapwing.web.school.store import votes as store
from lapwing.web.site import Site, TheSite

router = personal()


@dataclass(frozen=True, slots=True)
class _LastRecommendation:
    """What was said last: about which nuggets, and after which votes."""

    school: School
    stamp: tuple[int, int]
    plain: bytes
    packed: bytes


_MADE: WeakKeyDictionary[Pages, _LastRecommendation] = WeakKeyDictionary()


@router.get("/recommendation")
def recommendation(request: Request, site: TheSite) -> Response:
    """The nuggets, what builds on what, the rules, and what the votes say."""
    body = _made(site)
    headers = {"cache-control": "public, max-age=300", "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        packed = {**headers, "content-encoding": "gzip"}
        return Response(body.packed, media_type="application/json", headers=packed)
    return Response(body.plain, media_type="application/json", headers=headers)


def _made(site: Site) -> _LastRecommendation:
    """Made anew when the nuggets change or a vote was counted, here or by another server."""
    school = site.pages.school
    with site.database.reading() as db:
        stamp = store.stamp(db)
        before = _MADE.get(site.pages)
        if before is not None and before.school is school and before.stamp == stamp:
            return before
        published = votes.published(store.tallies(db))
    offers = told(school, published)
    plain = json.dumps(offers, ensure_ascii=False, separators=(",", ":")).encode()
    body = _MADE[site.pages] = _LastRecommendation(school, stamp, plain, gzip.compress(plain, 6, mtime=0))
    return body
