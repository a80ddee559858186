"""Classes, for those who teach them. A class of somebody else answers like one that does not exist."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from fastapi import Form, Request, Response

from lapwing.web.accounts.sessions import Instructor, Learner, Person, limited, page, personal, redirect
from lapwing.web.accounts.store.users import tidy
from lapwing.web.classes import lists
from lapwing.web.classes.store import classes as store
from lapwing.web.classes.store.classes import ClassDetails, Pupil
from lapwing.web.service import qr
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite
from lapwing.web.statistics import weeks

router = personal()
Typed = Annotated[str, Form(max_length=200)]
GONE = "This class does not exist. Its address may be incomplete, or it was deleted."


def today() -> date:
    """Days change at midnight, UTC."""
    return weeks.today()


@router.get("/classes")
def overview(request: Request, site: TheSite, person: Learner) -> Response:
    """The classes somebody is in, with what their teachers see, and those that they teach."""
    return overview_page(request, site, person)


def overview_page(
    request: Request,
    site: Site,
    person: Person,
    *,
    complaints: dict[str, str] | None = None,
    name: str = "",
    pseudonym: str = "",
) -> Response:
    """The same with what was typed, and what is wrong with it: with `name`, or with the pseudonym in a class."""
    _forget_ended(site)
    with site.database.reading() as db:
        joined = store.joined(db, person.id, today())
        taught = store.taught(db, person.id, today()) if person.may("instructor") else []
    shown = {"joined": joined, "taught": taught, "columns": lists.columns(site.pages.school, [])}
    shown |= {"complaints": complaints or {}, "name": name, "pseudonym": pseudonym, "longest": lists.LONGEST_NAME}
    return page(request, site, "classes/overview.html", person, 422 if complaints else 200, **shown)


@router.post("/classes", dependencies=[limited("class")])
def make(request: Request, site: TheSite, person: Instructor, name: Typed = "") -> Response:
    """Make a class, and go to its page."""
    if words := lists.name_complaint(name):
        return overview_page(request, site, person, complaints={"name": words}, name=name)
    with site.database.writing() as db:
        class_id = store.add(db, person.id, tidy(name), today())
    if class_id is None:
        words = f"You have {store.MOST_TAUGHT} classes, and more are not possible. Delete one that is over."
        return overview_page(request, site, person, complaints={"name": words}, name=name)
    return redirect(site, f"/classes/{class_id}", "Your class is there. Now let your pupils join.")


@router.get("/classes/{class_id}")
def show(request: Request, class_id: str, site: TheSite, person: Instructor) -> Response:
    """The list of pupils and nuggets."""
    return _page(request, site, person, _mine(site, class_id, person))


def _page(request: Request, site: Site, person: Person, mine: ClassDetails, complaint: str = "") -> Response:
    with site.database.reading() as db:
        pupils = store.roster(db, mine.id)
    shown: dict[str, Any] = {
        "mine": mine,
        "pupils": pupils,
        "columns": lists.columns(site.pages.school, pupils),
        "complaints": {"name": complaint},
        "longest": lists.LONGEST_NAME,
        "within": weeks.within(len(site.pages.school.pages)),
        **_invitation(site, mine),
    }
    return page(request, site, "classes/class.html", person, 422 if complaint else 200, **shown)


@router.get("/classes/{class_id}/projected")
def projected(request: Request, class_id: str, site: TheSite, person: Instructor) -> Response:
    """How to join, in large letters, and nothing about anybody."""
    mine = _mine(site, class_id, person)
    return page(request, site, "classes/projected.html", person, mine=mine, **_invitation(site, mine))


@router.get("/classes/{class_id}/class.csv", dependencies=[limited("export")])
def as_csv(class_id: str, site: TheSite, person: Instructor) -> Response:
    """The list for a spreadsheet."""
    mine = _mine(site, class_id, person)
    with site.database.reading() as db:
        pupils = store.roster(db, mine.id)
    text = lists.as_csv(lists.columns(site.pages.school, pupils), pupils)
    headers = {"cache-control": "no-store", "content-disposition": 'attachment; filename="class.csv"'}
    # With a mark at the beginning: without it Excel takes UTF-8 for something else.
    return Response(text.encode("utf-8-sig"), headers=headers, media_type="text/csv; charset=utf-8")


@router.post("/classes/{class_id}/name")
def rename(request: Request, class_id: str, site: TheSite, person: Instructor, name: Typed = "") -> Response:
    """Another name."""
    mine = _mine(site, class_id, person)
    if words := lists.name_complaint(name):
        return _page(request, site, person, mine, words)
    with site.database.writing() as db:
        store.rename(db, mine.id, tidy(name))
    return redirect(site, f"/classes/{mine.id}", "The class has its new name.")


@router.post("/classes/{class_id}/code")
def code(class_id: str, site: TheSite, person: Instructor, action: Typed = "") -> Response:
    """A new code, or none."""
    mine = _mine(site, class_id, person)
    if action not in ("renew", "close"):
        raise Problem(422)
    with site.database.writing() as db:
        store.renew(db, mine.id) if action == "renew" else store.close(db, mine.id)
    said = "The class has a new code. The old code no longer works."
    return redirect(site, f"/classes/{mine.id}", said if action == "renew" else "Nobody can join any more.")


@router.post("/classes/{class_id}/delete")
def delete(class_id: str, site: TheSite, person: Instructor, sure: Typed = "") -> Response:
    """Forget a class and all that belongs to it."""
    mine = _mine(site, class_id, person)
    if not sure:
        raise Problem(422, "Nothing was deleted. To delete it, go back and tick the box.")
    with site.database.erasing() as db:
        store.remove(db, mine.id)
    return redirect(site, "/classes", "The class is deleted, with everything it stored about its pupils.")


@router.get("/classes/{class_id}/pupils/{mark}")
def one_pupil(request: Request, class_id: str, mark: str, site: TheSite, person: Instructor) -> Response:
    """What is known of one pupil: the same that the pupil sees."""
    mine, pupil = _pupil(site, class_id, mark, person)
    columns = lists.columns(site.pages.school, [])
    return page(request, site, "classes/pupil.html", person, mine=mine, pupil=pupil, columns=columns)


@router.post("/classes/{class_id}/pupils/{mark}/remove")
def remove_pupil(class_id: str, mark: str, site: TheSite, person: Instructor) -> Response:
    """Somebody is not in the class any more; what it knew of them is deleted."""
    mine, pupil = _pupil(site, class_id, mark, person)
    with site.database.erasing() as db:
        store.remove_pupil(db, mine.id, pupil.mark)
    return redirect(
        site, f"/classes/{mine.id}", "The pupil is removed, and what the class stored about them is deleted."
    )


def _mine(site: Site, class_id: str, person: Person) -> ClassDetails:
    with site.database.reading() as db:
        details = store.owned(db, class_id, person.id, today())
    if details is None:
        raise Problem(404, GONE)
    return details


def _pupil(site: Site, class_id: str, mark: str, person: Person) -> tuple[ClassDetails, Pupil]:
    mine = _mine(site, class_id, person)
    with site.database.reading() as db:
        pupil = store.pupil(db, mine.id, mark)
    if pupil is None:
        raise Problem(404, "There is no such pupil in this class. Perhaps they left it.")
    return mine, pupil


def _invitation(site: Site, mine: ClassDetails) -> dict[str, Any]:
    """How pupils join: an address to type, one with the code, and its picture."""
    if mine.code is None:
        return {"address": "", "link": "", "picture": ""}
    address = f"{site.settings.origin}/join"
    link = f"{address}?code={mine.code}"
    return {"address": address, "link": link, "picture": qr.drawn(link, "QR code of the link to join")}


def _forget_ended(site: Site) -> None:
    with site.database.reading() as db:
        ended = store.any_ended(db, today())
    if ended:
        with site.database.erasing() as db:
            store.remove_ended(db, today())
