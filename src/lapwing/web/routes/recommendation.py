"""What a browser needs to say what to read next. Who reads stays there: this is the same for everybody."""

from __future__ import annotations

import gzip
import json

from fastapi import Request, Response

from lapwing.web import votes
from lapwing.web.recommend import told
from lapwing.web.sessions import personal
from lapwing.web.site import TheSite
from lapwing.web.store import votes as store

router = personal()


@router.get("/recommendation")
def recommendation(request: Request, site: TheSite) -> Response:
    """The nuggets, what builds on what, the rules, and what the votes say."""
    with site.database.reading() as db:
        published = votes.published(store.tallies(db))
    found = told((page.nugget for page in site.pages.school), published)
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()
    headers = {"cache-control": "public, max-age=300", "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        text, headers["content-encoding"] = gzip.compress(text, 6), "gzip"
    return Response(text, media_type="application/json", headers=headers)
