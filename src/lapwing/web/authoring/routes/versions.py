"""What becomes of a draft: its versions, the way into the school and out of it, another address, an end."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import Form, Request, Response

from lapwing.web.accounts.sessions import Learner, page, personal, redirect
from lapwing.web.authoring import desk, publication
from lapwing.web.authoring.difference import compared
from lapwing.web.authoring.routes.authoring import SAVES, Typed, editor, facts, keep, look_at, may_see, mine, when
from lapwing.web.authoring.store import nuggets
from lapwing.web.school.nugget import InvalidNugget
from lapwing.web.service.lanes import in_lane
from lapwing.web.service.problems import Problem
from lapwing.web.site import TheSite

router = personal(prefix="/write")


@router.get("/{slug}/read")
@in_lane("drafts")
def read(slug: str, request: Request, site: TheSite, person: Learner) -> Response:
    """The draft as readers would see it."""
    draft = mine(site, slug, person)
    shown = {**facts(site, person, draft), "look": look_at(site, draft.text, slug)}
    return page(request, site, "write/read.html", person, **shown)


@router.get("/{slug}/file")
def file(slug: str, site: TheSite, person: Learner) -> Response:
    """The draft as the file that it is."""
    draft = mine(site, slug, person)
    headers = {"content-disposition": f'attachment; filename="{draft.slug}.md"', "cache-control": "no-store"}
    return Response(draft.text, media_type="text/markdown; charset=utf-8", headers=headers)


@router.get("/{slug}/versions")
def versions(slug: str, request: Request, site: TheSite, person: Learner) -> Response:
    """All that was saved."""
    draft = mine(site, slug, person)
    with site.database.reading() as db:
        history = nuggets.versions(db, slug)
    rows = [{"version": entry, "when": when(entry.created)} for entry in history]
    return page(request, site, "write/versions.html", person, **facts(site, person, draft), rows=rows)


@router.get("/{slug}/versions/{number}")
def version(
    slug: str, number: int, request: Request, site: TheSite, person: Learner, since: int | None = None
) -> Response:
    """What a version changed, since the one before it or since another."""
    draft = mine(site, slug, person)
    with site.database.reading() as db:
        entry = nuggets.version(db, slug, number) if 0 < number < 1 << 31 else None
        numbers = [other.number for other in nuggets.versions(db, slug)]
        before = max((other for other in numbers if other < number), default=None) if since is None else since
        old = nuggets.version(db, slug, before) if before in numbers and before is not None else None
    if entry is None or (since is not None and old is None):
        raise Problem(404)
    shown = {
        **facts(site, person, draft),
        "version": entry,
        "when": when(entry.created),
        "since": old,
        "numbers": numbers,
        "lines": compared(old.text if old else "", entry.text),
    }
    return page(request, site, "write/version.html", person, **shown)


@router.post("/{slug}/versions/{number}/restore", dependencies=[SAVES])
def restore(slug: str, number: int, site: TheSite, person: Learner) -> Response:
    """Make an older text the newest; what stood there stays a version."""
    draft = mine(site, slug, person)
    with site.database.reading() as db:
        entry = nuggets.version(db, slug, number) if 0 < number < 1 << 31 else None
    if entry is None:
        raise Problem(404)
    if keep(site, slug, person, entry.text, draft.mark, f"Version {number} again") is None:
        raise Problem(409)
    return redirect(site, f"/write/{slug}", f"Version {number} is the newest again.")


@router.post("/{slug}/state", dependencies=[SAVES])
@in_lane("drafts")
def decide(
    slug: str,
    request: Request,
    site: TheSite,
    person: Learner,
    action: Typed = "",
    base: Typed = "",
    after: Typed = "",
    note: Annotated[str, Form(max_length=2000)] = "",
) -> Response:
    """Hand in, take back, return, publish, move or withdraw."""
    draft = mine(site, slug, person)
    said = " ".join(note.split())[:1000]
    if action in ("publish", "move", "withdraw", "return") and not person.may("instructor"):
        raise Problem(403)
    try:
        if action == "publish":
            publication.publish(site, slug, base, person)
            return redirect(site, f"/learn/{slug}")
        if action == "move":
            publication.move(site, slug, base, after, person)
            return redirect(site, f"/write/{slug}", "Moved.")
        if action == "withdraw":
            publication.withdraw(site, slug, said, person)
            return redirect(site, f"/write/{slug}", "Withdrawn. Readers do not see it any more.")
    except InvalidNugget as error:
        return editor(request, site, person, draft, draft.text, status=422, complaint=f"Not possible yet. {error}")
    changes = {
        "submit": (("draft", "published", "withdrawn"), "review", "Handed in", "Handed in. An instructor will look."),
        "take-back": (("review",), "", "Taken back", "Taken back. Only you see it now."),
        "return": (("review",), "", "Returned", "Returned to its author."),
    }
    if action not in changes:
        raise Problem(422)
    if action == "return" and not said:
        return editor(request, site, person, draft, draft.text, status=422, complaint="Say what should change.")
    states, state, log, words = changes[action]
    if action == "submit" and not (look := look_at(site, draft.text, slug)).ready:
        wrong = (complaint.words for complaint in look.complaints if not complaint.advice and not complaint.hole)
        first = next(wrong, f"{desk.unfinished(look).capitalize()}. Replace the sample text; the list says where.")
        return editor(request, site, person, draft, draft.text, status=422, complaint=f"Not ready yet. {first}")
    with site.database.writing() as db:
        now = nuggets.find(db, slug, to_change=True)
        if now is None or now.state not in states:
            raise Problem(409)
        if action == "take-back" and now.owner_id != person.id:
            raise Problem(403)
        nuggets.save(db, now, now.text, person.id, f"{log}: {said}" if said else log, int(time.time()))
        nuggets.set_state(db, slug, state or ("draft" if now.published is None else "published"))
    leaves = action == "return" and draft.owner_id != person.id
    return redirect(site, "/write" if leaves else f"/write/{slug}", words)


@router.post("/{slug}/rename", dependencies=[SAVES])
@in_lane("drafts")
def rename(slug: str, request: Request, site: TheSite, person: Learner, new: Typed = "") -> Response:
    """Another address for a draft that was never published."""
    draft = mine(site, slug, person)
    complaint = desk.slug_complaint(new)
    if draft.published is not None:
        complaint = "It is published. Withdraw it first."
    if not complaint and new != slug:
        with site.database.writing() as db:
            now = nuggets.find(db, slug, to_change=True)
            if now is None or not may_see(now, person):
                raise Problem(404)
            if nuggets.taken(db, new) or (new in site.pages.built_in.pages and not person.may("instructor")):
                complaint = "This address is taken. Choose another one."
            else:
                text = desk.renamed(now.text, new)
                nuggets.save(db, now, text, person.id, f"Renamed from {slug}", int(time.time()))
                nuggets.rename(db, slug, new)
    if complaint:
        return editor(request, site, person, draft, draft.text, status=422, complaint=complaint)
    return redirect(site, f"/write/{new}", "Renamed.")


@router.post("/{slug}/delete")
def delete(slug: str, site: TheSite, person: Learner) -> Response:
    """Forget a draft and all its versions. What is published has to be withdrawn first."""
    draft = mine(site, slug, person)
    with site.database.writing() as db:
        now = nuggets.find(db, slug, to_change=True)
        if now is None or now.owner_id not in (person.id, None):  # whose author left, instructors look after
            raise Problem(403)
        if now.published is not None:
            raise Problem(409, "It is published. It has to be withdrawn first.")
        nuggets.remove(db, slug)
    return redirect(site, "/write", f"{draft.slug} is deleted.")
