"""Votes: taken as they come, randomised; and the page that says how they are protected."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lapwing.web.accounts.sessions import Asking, Learner, limited, page, personal
from lapwing.web.school import votes
from lapwing.web.school.nugget import ROLES
from lapwing.web.school.store import votes as store
from lapwing.web.service.problems import Problem
from lapwing.web.site import TheSite

router = personal()


class Vote(BaseModel):
    """What a browser sends: an answer that is randomised already, and nothing about the true one."""

    slug: Annotated[str, Field(max_length=80)]
    role: Annotated[str, Field(max_length=40)]
    yes: Annotated[bool, Field(strict=True)]
    truth: Annotated[str, Field(max_length=40)]
    """The odds it was randomised with; a page that is too old may have had others."""
    token: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    """Random, for this vote only: says that it was counted, if it should come twice."""


@router.get("/votes")
def explained(request: Request, site: TheSite, person: Asking) -> Response:
    """How a vote is protected, and what the votes say so far."""
    with site.database.reading() as db:
        tallies = votes.published(store.tallies(db))
    rows = [(page.nugget, tallies[page.nugget.slug]) for page in site.pages.school if page.nugget.slug in tallies]
    values: dict[str, Any] = {
        "rows": rows,
        "columns": {votes.EVERYBODY: "Everybody", **ROLES},
        "titles": {page.nugget.slug: page.nugget.title for page in site.pages.school},
        "gain": f"{votes.Tally(1, 1).estimates().gain_per_fake:g}",
        "error_at": [(n, math.ceil(400 / math.sqrt(n))) for n in (votes.FEWEST, 1000, 10_000)],
        "epsilon": _up(votes.EPSILON),
        "all_of_them": _up(len(site.pages.school.pages) * votes.EPSILON),
        "nuggets": len(site.pages.school.pages),
    }
    return page(request, site, "votes.html", person, **values)


@router.post("/votes", dependencies=[limited("vote")])
def cast(vote: Vote, site: TheSite, person: Asking) -> Response:
    """Count a vote, once."""
    if vote.slug not in site.pages.school.pages:
        raise Problem(404)
    if vote.role not in votes.VOTERS:
        raise Problem(422)
    if vote.truth != str(votes.TRUTH):
        raise Problem(409, "The odds have changed. Your vote was not counted. Reload the page and vote again.")
    mine = person.id if person else None
    with site.database.writing() as db:
        before = [] if mine is None else store.cast_by(db, mine)
        if len(before) >= votes.MOST_VOTES and vote.slug not in before:
            raise Problem(409, f"You have used your {votes.MOST_VOTES} votes.")
        counted = store.cast(db, vote.slug, vote.role, vote.yes, token=vote.token, user_id=mine)
    return JSONResponse({"counted": counted}, headers={"cache-control": "no-store"})


@router.get("/me/votes")
def mine(site: TheSite, person: Learner) -> Response:
    """Where somebody voted, so that another browser of theirs does not ask again. Not how: nobody knows."""
    with site.database.reading() as db:
        cast_by = store.cast_by(db, person.id)
    return JSONResponse({"voted": cast_by}, headers={"cache-control": "no-store"})


def _up(epsilon: Fraction) -> str:
    """Rounded so that "at most" stays true."""
    return f"{math.ceil(100 * epsilon) / 100:.2f}"
