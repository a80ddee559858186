"""What a browser needs to say what to read next. Who reads stays there: this is the same for everybody."""

from __future__ import annotations

from fastapi import Response
from fastapi.responses import JSONResponse

from lapwing.web import votes
from lapwing.web.recommend import told
from lapwing.web.sessions import personal
from lapwing.web.site import TheSite
from lapwing.web.store import votes as store

router = personal()


@router.get("/recommendation")
def recommendation(site: TheSite) -> Response:
    """The nuggets, what builds on what, the rules, and what the votes say."""
    with site.database.reading() as db:
        published = votes.published(store.tallies(db))
    found = told((page.nugget for page in site.pages.school), published)
    return JSONResponse(found, headers={"cache-control": "public, max-age=300"})
