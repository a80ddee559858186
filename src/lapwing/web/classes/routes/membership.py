"""Classes, for pupils: what a teacher will see is told first, then they agree, and they leave when they like."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lapwing.web.accounts.forms import name_complaint
from lapwing.web.accounts.sessions import Asking, Learner, Person, limited, page, personal, redirect
from lapwing.web.classes import lists
from lapwing.web.classes.routes.classes import GONE, overview_page, today
from lapwing.web.classes.store import classes as store
from lapwing.web.classes.store.classes import ClassDetails
from lapwing.web.service.limits import address_of
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
Typed = Annotated[str, Form(max_length=200)]
UNKNOWN = "No class is open with this code. Compare it letter by letter, or ask your teacher for a new one."
REFUSED = {
    "taken": "Somebody in this class has this name already. Choose another one.",
    "full": f"The class is full: it has {store.MOST_PUPILS} pupils. Tell your teacher.",
    "too many": f"You are in {store.MOST_JOINED} classes, and more are not possible. Leave one that is over.",
}


class FinishedReport(BaseModel):
    """What the browser of a pupil tells: a nugget was finished since they joined, with so many questions right."""

    slug: str = Field(max_length=120)
    right: int = Field(ge=0, le=1000)


@router.get("/join")
def ask(request: Request, site: TheSite, person: Asking, code: str = "") -> Response:
    """Ask for the code; with it, say what the teacher will see. Nothing is looked up for who is not signed in."""
    if person is None or not code.strip():
        return _code_page(request, site, person, code)
    details = _by_code(request, site, person, code)
    if details is None:
        return _code_page(request, site, person, code, UNKNOWN)
    return _consent_page(request, site, person, details, lists.suggestion())


@router.post("/join")
def join(request: Request, site: TheSite, person: Learner, code: Typed = "", pseudonym: Typed = "") -> Response:
    """Somebody agrees."""
    details = _by_code(request, site, person, code)
    if details is None:
        return _code_page(request, site, person, code, UNKNOWN)
    if details.owner_id == person.id:
        return _consent_page(request, site, person, details, pseudonym, "This is your own class.")
    if words := name_complaint(pseudonym):
        return _consent_page(request, site, person, details, pseudonym, words)
    with site.database.writing() as db:
        outcome = store.join(db, details.id, person.id, pseudonym)
    if outcome in REFUSED:
        return _consent_page(request, site, person, details, pseudonym, REFUSED[outcome])
    said = "You are in the class. This page shows what your teacher sees."
    return redirect(site, "/classes", said if outcome == "joined" else "You are in this class already.")


@router.post("/classes/{class_id}/pseudonym")
def rename_pupil(request: Request, class_id: str, site: TheSite, person: Learner, pseudonym: Typed = "") -> Response:
    """Another name in a class; nothing says what the old one was."""
    with site.database.reading() as db:
        if not store.is_pupil(db, class_id, person.id):
            raise Problem(404, GONE)
    words = name_complaint(pseudonym)
    if not words:
        with site.database.erasing() as db:
            words = REFUSED.get(store.rename_pupil(db, class_id, person.id, pseudonym), "")
    if words:
        return overview_page(request, site, person, complaints={class_id: words}, pseudonym=pseudonym[:100])
    return redirect(site, "/classes", "Your name in this class is changed.")


@router.post("/classes/{class_id}/leave")
def leave(class_id: str, site: TheSite, person: Learner) -> Response:
    """What the class knew is deleted."""
    with site.database.erasing() as db:
        left = store.leave(db, class_id, person.id)
    if not left:
        raise Problem(404, GONE)
    return redirect(site, "/classes", "You left the class. What it stored about you is deleted.")


@router.post("/classes/finished", dependencies=[limited("progress")])
def finished(report: FinishedReport, site: TheSite, person: Learner) -> Response:
    """Keep it for the classes of this pupil, and say what their teachers see now."""
    known = site.pages.school.pages.get(report.slug)
    if known is None:
        raise Problem(422)
    right = min(report.right, len(known.questions))
    with site.database.writing() as db:
        count = store.finish(db, person.id, report.slug, right, today())
    shown = {"classes": count, "right": right, "questions": len(known.questions)}
    return JSONResponse(shown, headers={"cache-control": "no-store"})


def _by_code(request: Request, site: Site, person: Person, typed: str) -> ClassDetails | None:
    """The open class with this code. Wrong codes are counted, right ones are not.

    Many wrong ones from an address slow down every account there, but the first tries of each are always heard: one
    pupil who guesses keeps nobody else out.
    """
    mine, here = ("account", person.id), address_of(request)
    taken = ["class code"]
    if site.limits.reached("class code wrong", here):
        taken.append("class code slowed")
    for what in taken:
        site.limits.take(what, mine)
    with site.database.reading() as db:
        details = store.by_code(db, lists.read_code(typed), today())
    if details is None:
        site.limits.note("class code wrong", here)
        return None
    for what in taken:
        site.limits.give_back(what, mine)
    return details


def _code_page(request: Request, site: Site, person: Person | None, code: str, complaint: str = "") -> Response:
    shown = {"code": code[:40], "complaints": {"code": complaint}, "kept_days": store.KEPT_DAYS}
    return page(request, site, "classes/code.html", person, 422 if complaint else 200, **shown)


def _consent_page(
    request: Request, site: Site, person: Person, details: ClassDetails, pseudonym: str, complaint: str = ""
) -> Response:
    with site.database.reading() as db:
        mine = [pupil for other, pupil in store.joined(db, person.id, today()) if other.id == details.id]
    shown: dict[str, Any] = {"found": details, "pseudonym": pseudonym[:100], "complaints": {"pseudonym": complaint}}
    shown |= {"already": mine[0] if mine else None, "own": details.owner_id == person.id}
    return page(request, site, "classes/consent.html", person, 422 if complaint else 200, **shown)
