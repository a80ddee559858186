"""The discussion under every nugget. All of it works with plain forms; a page that has our script asks for parts."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Form, Request, Response

from lapwing.web.accounts.sessions import Asking, Learner, Person, page, personal, redirect
from lapwing.web.discussion import threads
from lapwing.web.discussion.store import comments
from lapwing.web.discussion.store.comments import StoredComment
from lapwing.web.discussion.threads import complaint_about, html_of, previewed, readable, tidy
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
Typed = Annotated[str, Form(max_length=4 * threads.LONGEST)]
Short = Annotated[str, Form(max_length=2000)]
_GONE = "This comment no longer exists."


def _part(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


def _answer(
    request: Request,
    site: Site,
    person: Person | None,
    name: str,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    """A page, or the part of it that a script asked for."""
    if not _part(request):
        return page(request, site, f"discussion/{name}-page.html", person, status, **values)
    text = site.pages.made(f"discussion/{name}.html", user=person, **values)
    headers = {"cache-control": "no-store", **(headers or {})}
    return Response(text, status, headers, "text/html; charset=utf-8")


def _nugget(site: Site, slug: str) -> Any:
    if slug not in site.pages.school.pages:
        raise Problem(404)
    return site.pages.school.pages[slug].nugget


def _talk(
    request: Request, site: Site, person: Person | None, slug: str, write: dict[str, Any] | None = None, **where: Any
) -> Response:
    nugget = _nugget(site, slug)
    with site.database.reading() as db:
        talk = threads.talk(db, slug, person, **where)
    form = write or {"text": "", "preview": "", "complaint": ""}
    status = 422 if form["complaint"] else 200
    return _answer(request, site, person, "talk", status, nugget=nugget, talk=talk, orders=threads.ORDERS, write=form)


@router.get("/learn/{slug}/discussion")
def read(
    slug: str,
    request: Request,
    site: TheSite,
    person: Asking,
    order: str = "newest",
    page: int = 1,
    at: int | None = None,
) -> Response:
    """What people say about a nugget."""
    return _talk(request, site, person, slug, order=order, page=page, at=at)


@router.post("/learn/{slug}/discussion")
def begin(
    slug: str,
    request: Request,
    site: TheSite,
    person: Learner,
    text: Typed = "",
    order: Short = "newest",
    preview: Short = "",
) -> Response:
    """Begin a thread, or look first how it will look."""
    _nugget(site, slug)
    said = tidy(text)
    if draft := _unsent(site, person, said, preview):
        if _part(request):
            return _form(request, site, person, "write", slug=slug, order=order, **draft)
        return _talk(request, site, person, slug, draft, order=order)
    with site.database.writing() as db:
        comment_id = comments.add(db, slug, None, person.id, said, int(time.time()))
    if _part(request):
        return _talk(request, site, person, slug, order=order, at=comment_id)
    return redirect(site, f"/learn/{slug}/discussion?order={_known(order)}&at={comment_id}#comment-{comment_id}")


def _known(order: str) -> str:
    return order if order in threads.ORDERS else "newest"


def _unsent(site: Site, person: Person, said: str, preview: str) -> dict[str, Any]:
    """What a form shows again instead of sending it: the text with what is wrong, or as readers would see it."""
    complaint = complaint_about(said)
    if complaint:
        return {"text": said, "preview": "", "complaint": complaint}
    site.limits.take("preview" if preview else "comment", ("account", person.id))
    return {"text": said, "preview": previewed(said), "complaint": ""} if preview else {}


def _form(
    request: Request, site: Site, person: Person, kind: str, status: int = 200, *, comment: Any = None, **values: Any
) -> Response:
    """A form at its place, or on a page of its own; with a complaint it was not accepted."""
    if values.get("complaint") and status == 200:
        status = 422
    number = comment.id if comment is not None else 0
    headers = {"hx-retarget": f"#form-{number}", "hx-reswap": "outerHTML"} if request.method == "POST" else {}
    shown = {"text": "", "preview": "", "complaint": "", "was": "", "reason": "", **values}
    shown |= {"kind": kind, "comment": comment, "number": number, "reasons": threads.REASONS}
    shown |= {"longest": threads.LONGEST, "said_html": html_of(comment.text) if comment is not None else ""}
    return _answer(request, site, person, "form", status, headers, **shown)


def _seen(site: Site, person: Person | None, comment_id: int) -> StoredComment:
    """A comment that somebody may read; for anybody else it is not there."""
    with site.database.reading() as db:
        comment = comments.one(db, comment_id)
    if comment is None or not readable(comment, person) or comment.slug not in site.pages.school.pages:
        raise Problem(404, _GONE)
    return comment


def _mine(site: Site, person: Person, comment_id: int, *, shown: bool) -> StoredComment:
    comment = _seen(site, person, comment_id)
    if comment.user_id != person.id:
        raise Problem(403, "Only the author of a comment can change it.")
    if shown and comment.state != "visible":
        raise Problem(403, "A moderator hid this comment. You can delete it, but not change it.")
    return comment


def _thread(request: Request, site: Site, person: Person, comment: StoredComment, at: int, say: str = "") -> Response:
    """Back to the thread, as it is now."""
    if not _part(request):
        return redirect(site, f"/learn/{comment.slug}/discussion?at={at}#comment-{at}", say)
    with site.database.reading() as db:
        left, count = threads.thread(db, comment.slug, person, at)
    headers = {} if left else {"hx-reswap": "delete"}
    return _answer(request, site, person, "thread", headers=headers, thread=left, count=count, at=at)


@router.get("/comments/{comment_id}")
def find(comment_id: int, site: TheSite, person: Asking) -> Response:
    """Where a comment stands."""
    comment = _seen(site, person, comment_id)
    return redirect(site, f"/learn/{comment.slug}/discussion?at={comment_id}#comment-{comment_id}")


@router.get("/comments/{comment_id}/reply")
def reply_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask for an answer."""
    return _form(request, site, person, "reply", comment=_answerable(site, person, comment_id))


def _answerable(site: Site, person: Person, comment_id: int) -> StoredComment:
    comment = _seen(site, person, comment_id)
    if comment.state != "visible":
        raise Problem(403, "A hidden comment cannot be answered.")
    return comment


@router.post("/comments/{comment_id}/reply")
def reply(
    comment_id: int, request: Request, site: TheSite, person: Learner, text: Typed = "", preview: Short = ""
) -> Response:
    """Answer a comment."""
    comment, said = _answerable(site, person, comment_id), tidy(text)
    if draft := _unsent(site, person, said, preview):
        return _form(request, site, person, "reply", comment=comment, **draft)
    with site.database.writing() as db:
        reply_id = comments.add(db, comment.slug, comment_id, person.id, said, int(time.time()))
    return _thread(request, site, person, comment, reply_id)


@router.get("/comments/{comment_id}/edit")
def edit_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask for other words."""
    comment = _mine(site, person, comment_id, shown=True)
    return _form(request, site, person, "edit", comment=comment, text=comment.text, was=comment.mark)


@router.post("/comments/{comment_id}/edit")
def edit(
    comment_id: int,
    request: Request,
    site: TheSite,
    person: Learner,
    text: Typed = "",
    was: Short = "",
    preview: Short = "",
) -> Response:
    """Say it in other words. Who began from an older text than there is now sees both."""
    comment, said = _mine(site, person, comment_id, shown=True), tidy(text)
    if draft := _unsent(site, person, said, preview):
        return _form(request, site, person, "edit", comment=comment, was=was, **draft)
    changed = said == comment.text
    if was == comment.mark and not changed:
        with site.database.writing() as db:
            changed = comments.edit(db, comment, said, int(time.time()))
    if not changed:
        comment = _mine(site, person, comment_id, shown=True)
        newer = {"was": comment.mark, "complaint": "You changed this elsewhere. Its current text is shown above."}
        return _form(request, site, person, "edit", 409, comment=comment, text=said, now=html_of(comment.text), **newer)
    return _thread(request, site, person, comment, comment_id)


@router.get("/comments/{comment_id}/delete")
def delete_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask whether it is meant."""
    return _form(request, site, person, "delete", comment=_mine(site, person, comment_id, shown=False))


@router.post("/comments/{comment_id}/delete")
def delete(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Take back what one said."""
    comment = _mine(site, person, comment_id, shown=False)
    with site.database.writing() as db:
        comments.take_back(db, comment_id)
    return _thread(request, site, person, comment, comment_id, "Your comment is gone.")


@router.get("/comments/{comment_id}/report")
def report_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask what is wrong."""
    return _form(request, site, person, "report", comment=_reportable(site, person, comment_id))


def _reportable(site: Site, person: Person, comment_id: int) -> StoredComment:
    comment = _seen(site, person, comment_id)
    if comment.user_id == person.id:
        raise Problem(403, "This is your own comment. You can delete it.")
    return comment


@router.post("/comments/{comment_id}/report")
def report(
    comment_id: int, request: Request, site: TheSite, person: Learner, reason: Short = "", text: Typed = ""
) -> Response:
    """Ask moderators to look at a comment."""
    comment, words = _reportable(site, person, comment_id), tidy(text)
    complaint = ""
    if reason not in threads.REASONS:
        complaint = "Choose what is wrong."
    elif reason == "other" and not words:
        complaint = "Say in a few words what is wrong."
    elif len(words) > 500:
        complaint = "Write at most 500 characters."
    if complaint:
        return _form(request, site, person, "report", comment=comment, text=words, reason=reason, complaint=complaint)
    site.limits.take("report", ("account", person.id))
    wording = threads.REASONS[reason] + (f": {words}" if words else "")
    with site.database.writing() as db:
        if comments.waiting(db, person.id) >= threads.MOST_WAITING:
            raise Problem(429, "Moderators still have to look at what you reported. Please wait for them.")
        fresh = comments.report(db, comment, person.id, wording, int(time.time()))
    say = "Thank you. A moderator will look at it." if fresh else "You reported this before. Moderators know."
    if _part(request):
        headers = {"hx-retarget": f"#form-{comment_id}", "hx-reswap": "outerHTML"}
        return _answer(request, site, person, "thanks", headers=headers, say=say)
    return redirect(site, f"/learn/{comment.slug}/discussion?at={comment_id}#comment-{comment_id}", say)
