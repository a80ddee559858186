"""The discussion under every nugget. All of it works with plain forms; a page that has our script asks for parts."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import Form, Request, Response

from lapwing.web.accounts.sessions import Asking, Learner, Person, page, personal, redirect
from lapwing.web.discussion import threads
from lapwing.web.discussion.store import comments
from lapwing.web.discussion.store.comments import Kept
from lapwing.web.discussion.threads import complaint_about, html_of, previewed, readable, tidy
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
Typed = Annotated[str, Form(max_length=4 * threads.LONGEST)]
Short = Annotated[str, Form(max_length=2000)]
_GONE = "The comment is not there any more."


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
    complaint = _checked(site, person, said, preview)
    if complaint or preview:
        write = {"text": said, "preview": "" if complaint else previewed(said), "complaint": complaint}
        if _part(request):
            return _form(request, site, person, "write", 422 if complaint else 200, slug=slug, order=order, **write)
        return _talk(request, site, person, slug, write, order=order)
    with site.database.writing() as db:
        made = comments.add(db, slug, None, person.id, said, int(time.time()))
    if _part(request):
        return _talk(request, site, person, slug, order=order, at=made)
    return redirect(site, f"/learn/{slug}/discussion?order={_known(order)}&at={made}#comment-{made}")


def _known(order: str) -> str:
    return order if order in threads.ORDERS else "newest"


def _checked(site: Site, person: Person, said: str, preview: str) -> str:
    complaint = complaint_about(said)
    if not complaint:
        site.limits.take("preview" if preview else "comment", ("account", person.id))
    return complaint


def _form(
    request: Request, site: Site, person: Person, kind: str, status: int = 200, *, comment: Any = None, **values: Any
) -> Response:
    """A form at its place, or on a page of its own."""
    number = comment.id if comment is not None else 0
    headers = {"hx-retarget": f"#form-{number}", "hx-reswap": "outerHTML"} if request.method == "POST" else {}
    shown = {"text": "", "preview": "", "complaint": "", "was": "", "reason": "", **values}
    shown |= {"kind": kind, "comment": comment, "number": number, "reasons": threads.REASONS}
    shown |= {"longest": threads.LONGEST, "said_html": html_of(comment.text) if comment is not None else ""}
    return _answer(request, site, person, "form", status, headers, **shown)


def _seen(site: Site, person: Person | None, comment_id: int) -> Kept:
    """A comment that somebody may read; for anybody else it is not there."""
    with site.database.reading() as db:
        found = comments.one(db, comment_id)
    if found is None or not readable(found, person) or found.slug not in site.pages.school.pages:
        raise Problem(404, _GONE)
    return found


def _mine(site: Site, person: Person, comment_id: int, *, shown: bool) -> Kept:
    found = _seen(site, person, comment_id)
    if found.user_id != person.id:
        raise Problem(403, "Only who wrote a comment can change it.")
    if shown and found.state != "visible":
        raise Problem(403, "A moderator hid this comment. You can delete it, but not change it.")
    return found


def _thread(request: Request, site: Site, person: Person, comment: Kept, at: int, say: str = "") -> Response:
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
    found = _seen(site, person, comment_id)
    return redirect(site, f"/learn/{found.slug}/discussion?at={comment_id}#comment-{comment_id}")


@router.get("/comments/{comment_id}/reply")
def reply_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask for an answer."""
    return _form(request, site, person, "reply", comment=_answerable(site, person, comment_id))


def _answerable(site: Site, person: Person, comment_id: int) -> Kept:
    found = _seen(site, person, comment_id)
    if found.state != "visible":
        raise Problem(403, "A hidden comment cannot be answered.")
    return found


@router.post("/comments/{comment_id}/reply")
def reply(
    comment_id: int, request: Request, site: TheSite, person: Learner, text: Typed = "", preview: Short = ""
) -> Response:
    """Answer a comment."""
    found, said = _answerable(site, person, comment_id), tidy(text)
    complaint = _checked(site, person, said, preview)
    if complaint or preview:
        shown = {"text": said, "preview": "" if complaint else previewed(said), "complaint": complaint}
        return _form(request, site, person, "reply", 422 if complaint else 200, comment=found, **shown)
    with site.database.writing() as db:
        made = comments.add(db, found.slug, comment_id, person.id, said, int(time.time()))
    return _thread(request, site, person, found, made)


@router.get("/comments/{comment_id}/edit")
def edit_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask for other words."""
    found = _mine(site, person, comment_id, shown=True)
    return _form(request, site, person, "edit", comment=found, text=found.text, was=found.mark)


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
    found, said = _mine(site, person, comment_id, shown=True), tidy(text)
    complaint = _checked(site, person, said, preview)
    shown = {"text": said, "was": was, "complaint": complaint}
    if complaint or preview:
        shown["preview"] = "" if complaint else previewed(said)
        return _form(request, site, person, "edit", 422 if complaint else 200, comment=found, **shown)
    changed = said == found.text
    if was == found.mark and not changed:
        with site.database.writing() as db:
            changed = comments.edit(db, found, said, int(time.time()))
    if not changed:
        found = _mine(site, person, comment_id, shown=True)
        shown |= {"was": found.mark, "complaint": "You changed this elsewhere; what is there now stands above."}
        return _form(request, site, person, "edit", 409, comment=found, preview="", now=html_of(found.text), **shown)
    return _thread(request, site, person, found, comment_id)


@router.get("/comments/{comment_id}/delete")
def delete_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask whether it is meant."""
    return _form(request, site, person, "delete", comment=_mine(site, person, comment_id, shown=False))


@router.post("/comments/{comment_id}/delete")
def delete(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Take back what one said."""
    found = _mine(site, person, comment_id, shown=False)
    with site.database.writing() as db:
        comments.take_back(db, comment_id)
    return _thread(request, site, person, found, comment_id, "Your comment is gone.")


@router.get("/comments/{comment_id}/report")
def report_form(comment_id: int, request: Request, site: TheSite, person: Learner) -> Response:
    """Ask what is wrong."""
    return _form(request, site, person, "report", comment=_reportable(site, person, comment_id))


def _reportable(site: Site, person: Person, comment_id: int) -> Kept:
    found = _seen(site, person, comment_id)
    if found.user_id == person.id:
        raise Problem(403, "This is your own comment. You can delete it.")
    return found


@router.post("/comments/{comment_id}/report")
def report(
    comment_id: int, request: Request, site: TheSite, person: Learner, reason: Short = "", text: Typed = ""
) -> Response:
    """Ask moderators to look at a comment."""
    found, words = _reportable(site, person, comment_id), tidy(text)
    complaint = ""
    if reason not in threads.REASONS:
        complaint = "Choose what is wrong."
    elif reason == "other" and not words:
        complaint = "Say in a few words what is wrong."
    elif len(words) > 500:
        complaint = "Take at most 500 characters."
    if complaint:
        return _form(
            request, site, person, "report", 422, comment=found, text=words, reason=reason, complaint=complaint
        )
    site.limits.take("report", ("account", person.id))
    told = threads.REASONS[reason] + (f": {words}" if words else "")
    with site.database.writing() as db:
        if comments.waiting(db, person.id) >= threads.MOST_WAITING:
            raise Problem(429, "Moderators still have to look at what you reported. Please wait until they did.")
        fresh = comments.report(db, found, person.id, told, int(time.time()))
    say = "Thank you. A moderator will look at it." if fresh else "You reported this before. Moderators know."
    if _part(request):
        headers = {"hx-retarget": f"#form-{comment_id}", "hx-reswap": "outerHTML"}
        return _answer(request, site, person, "thanks", headers=headers, say=say)
    return redirect(site, f"/learn/{found.slug}/discussion?at={comment_id}#comment-{comment_id}", say)
