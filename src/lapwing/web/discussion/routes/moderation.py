"""For instructors and admins: what people reported, what to do about it, and what was done."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Form, Request, Response

from lapwing.web.accounts.sessions import Instructor, Person, page, personal, redirect
from lapwing.web.discussion.store import comments, moderation
from lapwing.web.discussion.store.comments import StoredComment
from lapwing.web.discussion.store.moderation import Entry
from lapwing.web.discussion.threads import html_of, tidy, when
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
SHOWN = {"open": "Reported", "hidden": "Hidden", "history": "History"}
WORDS = {"hide": "Hidden", "restore": "Restored", "remove": "Removed", "dismiss": "Dismissed"}
_FITS = {
    "hide": ("visible",),
    "restore": ("hidden",),
    "remove": ("visible", "hidden"),
    "dismiss": ("visible", "hidden"),
}
_AT_ONCE, _LONGEST_NOTE = 50, 500


@router.get("/moderation")
def queue(
    request: Request, site: TheSite, person: Instructor, show: str = "open", comment: int | None = None
) -> Response:
    """What waits for a decision, what is hidden, or what was decided."""
    show = show if show in SHOWN else "open"
    with site.database.reading() as db:
        counts = moderation.counts(db)
        past = moderation.history(db, most=200) if show == "history" else []
        if comment is not None:
            entry = moderation.entry(db, comment)
            if entry is None:
                raise Problem(404)
            entries, show = [entry], "one"
        elif show == "history":
            entries = []
        else:
            entries = (moderation.hidden if show == "hidden" else moderation.queue)(db, most=_AT_ONCE)
    return _page(request, site, person, "queue", entries, show=show, counts=counts, past=past, shown=SHOWN)


def _page(request: Request, site: Site, person: Person, name: str, entries: list[Entry], **values: Any) -> Response:
    titles = {slug: page.nugget.title for slug, page in site.pages.school.pages.items()}
    common: dict[str, Any] = {"entries": entries, "titles": titles, "html_of": html_of, "when": when, "words": WORDS}
    return page(request, site, f"moderation/{name}.html", person, **common, **values)


@router.post("/moderation")
def decide(
    request: Request,
    site: TheSite,
    person: Instructor,
    chosen: Annotated[tuple[str, ...], Form(max_length=_AT_ONCE)] = (),
    action: Annotated[str, Form(max_length=20)] = "",
    note: Annotated[str, Form(max_length=4 * _LONGEST_NOTE)] = "",
    back: Annotated[str, Form(max_length=20)] = "open",
    sure: Annotated[str, Form(max_length=5)] = "",
) -> Response:
    """Decide about comments, as they were when they were looked at."""
    target, note = f"/moderation?show={back if back in SHOWN else 'open'}", tidy(note)
    if action not in WORDS or len(note) > _LONGEST_NOTE:
        raise Problem(422)
    if not chosen:
        return redirect(site, target, "Choose at least one comment first.")
    marks = dict(mark.partition(":")[::2] for mark in chosen)
    if not all(number.isascii() and number.isdigit() and len(number) < 19 for number in marks):
        raise Problem(422)
    if action == "remove" and sure != "yes":
        with site.database.reading() as db:
            entries = [entry for number in marks if (entry := moderation.entry(db, int(number)))]
        return _page(request, site, person, "sure", entries, note=note, back=back, marks=marks)
    done, left = 0, []
    with site.database.writing() as db:
        for number, mark in marks.items():
            comment = comments.one(db, int(number))
            why = _refused(comment, mark, action, person)
            if comment is not None and not why:
                if moderation.decide(db, comment, action, note, person.id, int(time.time())):
                    done += 1
                    continue
                why = "changed meanwhile"
            left.append(why)
    return redirect(site, target, _told(action, done, left))


def _refused(comment: StoredComment | None, mark: str, action: str, person: Person) -> str:
    """Why nothing is done about a comment, or nothing."""
    if comment is None or comment.state == "removed":
        return "already gone"
    if comment.user_id == person.id:
        return "your own, somebody else has to decide"
    if comment.mark != mark or comment.state not in _FITS[action]:
        return "changed meanwhile"
    return ""


def _told(action: str, done: int, left: list[str]) -> str:
    said = f"{WORDS[action]}: {done}."
    for why in dict.fromkeys(left):
        said += f" Left alone: {left.count(why)} ({why})."
    return said
