"""For instructors and admins: surveys that should not be here. They see what is asked, never what was answered."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form, Request, Response

from lapwing.web.accounts.sessions import Instructor, page, personal, redirect
from lapwing.web.service.problems import Problem
from lapwing.web.site import TheSite
from lapwing.web.survey.parameters import KINDS
from lapwing.web.survey.store import surveys as store

router = personal(prefix="/moderation/surveys")
_AT_ONCE = 200


@router.get("")
def overview(request: Request, site: TheSite, person: Instructor) -> Response:
    """What is asked, the reported ones first."""
    with site.database.reading() as db:
        surveys, count = store.listed(db, _AT_ONCE)
    return page(request, site, "survey/moderation.html", person, surveys=surveys, count=count, kinds=KINDS)


@router.post("/{survey_id}")
def decide(
    survey_id: str,
    site: TheSite,
    person: Instructor,
    action: Annotated[str, Form(max_length=20)] = "",
    sure: Annotated[str, Form(max_length=5)] = "",
) -> Response:
    """Remove a survey with everything that belongs to it, or find nothing wrong. No note of either is kept."""
    with site.database.reading() as db:
        if store.find(db, survey_id) is None:
            raise Problem(404, "This survey is gone already.")
    if action == "dismiss":
        with site.database.writing() as db:
            store.dismiss(db, survey_id)
        return redirect(site, "/moderation/surveys", "Its reports are dismissed.")
    if action != "remove" or not sure:
        raise Problem(422, "Nothing was removed. To remove it, go back and tick the box.")
    store.remove(site.database, survey_id)
    return redirect(site, "/moderation/surveys", "The survey is removed, with its answers and its links.")
