"""How the school is used: browsers tell it without names, instructors see it through noise."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Form, Request, Response
from pydantic import BaseModel, Field

from lapwing.errors import BudgetExceeded, LedgerDamaged, LedgerUnavailable
from lapwing.web.accounts.sessions import Admin, Instructor, Person, limited, page, personal, redirect
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite
from lapwing.web.statistics import weeks
from lapwing.web.statistics.store import usage
from lapwing.web.statistics.weeks import Row, Statistics, Week

router = personal()
Chosen = Annotated[int, Form()]
Typed = Annotated[str, Form(max_length=10)]


class Incident(BaseModel):
    """What a browser tells: a thing it has not told yet this week."""

    what: Literal["opened", "finished"]
    slug: str = Field(max_length=120)
    week: str = Field(max_length=10)


@router.post("/usage", dependencies=[limited("usage")])
def happened(event: Incident, site: TheSite) -> Response:
    """Count it. In which week it counts is for the browser's bound, so both must mean the same one."""
    day = weeks.today()
    if event.slug not in site.pages.school.pages or event.week != str(Week.of(day)):
        raise Problem(422)
    with site.database.writing() as db:
        usage.count(db, day, f"{event.what} {event.slug}")
    return Response(status_code=204, headers={"cache-control": "no-store"})


def _statistics(site: Site) -> Statistics:
    try:
        return Statistics(site.settings, site.database)
    except (LedgerDamaged, LedgerUnavailable):
        raise Problem(503, "The ledger cannot be read, so nothing is released until it is repaired.") from None


@router.get("/statistics")
def show(request: Request, site: TheSite, person: Instructor, week: str = "") -> Response:
    """What was released, and what can be."""
    known, day = _statistics(site), weeks.today()
    released = known.released()
    offered = sorted({*known.offered(day), *released}, reverse=True)
    chosen = Week.read(week) or next(iter(released), offered[0])
    if chosen not in offered:
        raise Problem(404)
    rows = known.read(chosen)
    return _page(request, site, person, known, chosen, rows, offered=offered, released=released)


def _page(
    request: Request,
    site: Site,
    person: Person,
    known: Statistics,
    week: Week,
    rows: list[Row] | None,
    **values: Any,
) -> Response:
    titles = {slug: page.nugget.title for slug, page in site.pages.school.pages.items()}
    top = max((number.high for row in rows or () for number in (row.opened, row.finished)), default=1)
    shown: dict[str, Any] = {
        "week": week,
        "rows": rows,
        "titles": titles,
        "top": max(1, top),
        "budget": known.budget(),
        "grants": weeks.GRANTS,
        "epsilon": weeks.EPSILON,
        "most": weeks.MOST,
        "within": weeks.within(len(titles)),
    }
    return page(request, site, "statistics/statistics.html", person, **shown, **values)


@router.post("/statistics/grant")
def grant(site: TheSite, person: Admin, epsilon: Chosen = 0, seen: Chosen = 0, sure: Typed = "") -> Response:
    """Allow more to be spent, for good: the promise to everybody who ever comes gets weaker by that much."""
    if epsilon not in weeks.GRANTS or sure != "yes":
        raise Problem(422, "Choose an amount, and tick the box to confirm that it weakens the promise.")
    if not _statistics(site).grant(epsilon, seen):
        raise Problem(409, "Somebody granted more in the meantime. Look at the sum again, then decide.")
    return redirect(site, "/statistics", f"Granted: ε = {epsilon}, for good.")


@router.post("/statistics/{week}")
def release(week: str, site: TheSite, person: Instructor) -> Response:
    """Pay for a week and release it."""
    known, chosen, day = _statistics(site), Week.read(week), weeks.today()
    if chosen is None or chosen not in {*known.offered(day), *known.released()}:
        raise Problem(404)
    try:
        known.release(chosen, list(site.pages.school.pages), day)
    except BudgetExceeded:
        said = "The granted budget is not enough for another week. Nothing was released, and nothing was spent."
        return redirect(site, f"/statistics?week={chosen}", said)
    return redirect(site, f"/statistics?week={chosen}", f"Week {chosen} is released.")
