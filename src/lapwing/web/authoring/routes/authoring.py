"""Writing nuggets: drafts of one's own, what they would look like, their versions, and the way into the school.

Everybody who is signed in may draft. Drafts are seen by who wrote them; once handed in, by instructors, who publish.
What is not for somebody's eyes is not there for them.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import File, Form, Request, Response, UploadFile
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lapwing.web.accounts.sessions import Learner, Person, Someone, limited, page, permitted, personal, redirect
from lapwing.web.authoring import desk
from lapwing.web.authoring.desk import FIELDS, LONGEST, MOST_DRAFTS, Look
from lapwing.web.authoring.difference import compared, merged
from lapwing.web.authoring.snippets import SAMPLES, SNIPPETS, widget_snippets
from lapwing.web.authoring.store import nuggets
from lapwing.web.authoring.store.nuggets import Draft, mark_of
from lapwing.web.school.nugget import BEGINNING, CATEGORIES, LEVELS, ROLES, InvalidNugget
from lapwing.web.school.picture import pictures
from lapwing.web.service.lanes import in_lane
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal(prefix="/write")
Typed = Annotated[str, Form(max_length=1000)]
Text = Annotated[str, Form(max_length=4 * LONGEST)]
Listed = Annotated[tuple[str, ...], Form(max_length=60)]
SAVES, LOOKS = limited("save"), limited("nugget preview")


@router.get("")
def drafts(request: Request, site: TheSite, person: Learner) -> Response:
    """What one writes, and what waits for those who publish."""
    return _drafts(request, site, person)


def _drafts(request: Request, site: Site, person: Person, status: int = 200, **more: Any) -> Response:
    with site.database.reading() as db:
        mine = nuggets.listed(db, owner_id=person.id)
        all_states = ("review", "published", "withdrawn")
        others = nuggets.listed(db, states=all_states) if person.may("instructor") else []
    hidden = {draft.slug for draft in others if draft.published and draft.slug not in site.pages.school.pages}
    shown = {
        "mine": [_row(draft) for draft in mine],
        "waiting": [_row(draft) for draft in others if draft.state == "review"],
        "decided": [_row(draft) for draft in others if draft.state != "review"],
        "hidden": hidden,
        "built_in": [page.nugget for page in site.pages.built_in],
        "complaints": {},
        "typed": {"title": "", "slug": ""},
        "most": MOST_DRAFTS[person.role],
        **more,
    }
    return page(request, site, "write/drafts.html", person, status, **shown)


def _row(draft: Draft) -> dict[str, Any]:
    title = desk.front_of(draft.text)["title"]
    pending = draft.published is not None and draft.state == "published" and draft.number > draft.published
    return {"draft": draft, "title": title[:120] or draft.slug, "when": when(draft.changed), "pending": pending}


def when(seconds: int) -> str:
    """A time as people write it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%-d %b %Y, %H:%M UTC")


@router.post("", dependencies=[SAVES])
def create(
    request: Request, site: TheSite, person: Learner, title: Typed = "", slug: Typed = "", copy_of: Typed = ""
) -> Response:
    """A new draft: empty, or a copy. Only instructors may write a new edition of a built-in nugget."""
    title, slug = " ".join(title.split())[:120], slug.strip()
    source = site.pages.school.pages.get(copy_of)
    if copy_of and source is None:
        raise Problem(404)
    slug = slug or (copy_of if source and person.may("instructor") else desk.slug_of(title))
    if not title and source is None:
        complaints = {"title": "Say what it is about. You can change it later."}
    elif words := desk.slug_complaint(slug):
        complaints = {"slug": words}
    else:
        complaints = {}
    if not complaints:
        if source:
            text = desk.renamed(source.nugget.written(), slug, title)
            note = f"Copied from {source.nugget.title}"[:200]
        else:
            text, note = desk.beginning(slug, title), "Begun"
        complaint = _add(site, person, slug, text, note)
        if not complaint:
            return redirect(site, f"/write/{slug}")
        complaints = {"slug": complaint}
    shown = {"complaints": complaints, "typed": {"title": title, "slug": slug}}
    return _drafts(request, site, person, 422, **shown)


def _add(site: Site, person: Person, slug: str, text: str, note: str) -> str:
    """Keep a new draft; or why not."""
    with site.database.writing() as db:
        if nuggets.taken(db, slug) or (slug in site.pages.built_in.pages and not person.may("instructor")):
            return "This address is taken. Choose another one."
        if nuggets.count(db, person.id) >= MOST_DRAFTS[person.role]:
            return f"You have {MOST_DRAFTS[person.role]} drafts. Delete one first."
        nuggets.add(db, slug, person.id, text, note, int(time.time()))
    return ""


class PreviewRequest(BaseModel):
    """A text to look at; `front` is what the form beside it says, if that changed last."""

    slug: str = Field(max_length=80)
    text: str = Field(max_length=4 * LONGEST)
    front: dict[str, str | list[str]] | None = Field(default=None, max_length=20)


@router.post("/preview", dependencies=[LOOKS])
@in_lane("drafts")
def preview(draft: PreviewRequest, request: Request, site: TheSite, person: Learner) -> Response:
    """What a text would look like, and what is in its way. Nothing is kept."""
    text, head = desk.tidy(draft.text), None
    if draft.front is not None:
        text = desk.with_front(text, draft.slug, draft.front)
        head = desk.split(text)[0]
    look = look_at(site, text, draft.slug)
    known = site.pages.assets.widgets
    widgets = {f"lw-{name}": known[f"lw-{name}"] for name in _widgets(look) if f"lw-{name}" in known}
    preview = {
        "html": site.pages.made("write/shown.html", look=look),
        "complaints": [asdict(complaint) for complaint in look.complaints],
        "front": look.front,
        "head": head,
        "widgets": widgets,
    }
    return JSONResponse(preview, headers={"cache-control": "no-store"})


def _widgets(look: Look) -> tuple[str, ...]:
    return look.page.widgets if look.page else ()


def look_at(site: Site, text: str, slug: str) -> Look:
    """What a text would be in this school, and what is wrong with it."""
    return desk.looked_at(text, slug, site.pages.school, site.pages.assets.widgets)


@router.get("/export", dependencies=[limited("export")])
def export(site: TheSite, person: Learner, school: bool = False) -> Response:
    """All of one's drafts, or for instructors the whole school, as an archive of files."""
    if school:
        if not person.may("instructor"):
            raise Problem(403)
        shown = enumerate(site.pages.school, 1)
        files = [(f"{place:02}-{page.nugget.slug}.md", page.nugget.written()) for place, page in shown]
        files.append(("glossary.yaml", site.pages.school.common.written()))
    else:
        with site.database.reading() as db:
            files = [(f"{draft.slug}.md", draft.text) for draft in nuggets.listed(db, owner_id=person.id)]
    name = "lapwing-school.zip" if school else "lapwing-drafts.zip"
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(desk.zipped(files), media_type="application/zip", headers=headers)


@router.post("/import", dependencies=[SAVES])
def bring(
    request: Request, site: TheSite, person: Learner, file: Annotated[UploadFile | None, File()] = None
) -> Response:
    """Drafts from files: as they are; what is wrong with them is said when they are opened."""
    try:
        if file is None or not file.filename:
            raise InvalidNugget("import", "no file arrived", "Choose a .md file, or a .zip of them.")
        files = desk.unpacked(file.filename[:80], file.file.read())
    except InvalidNugget as error:
        return _drafts(request, site, person, 422, complaints={"file": str(error)})
    brought = [slug for name, text in files if (slug := _bring_one(site, person, name, text))]
    if not brought:
        words = f"You have {MOST_DRAFTS[person.role]} drafts. Delete one first."
        return _drafts(request, site, person, 422, complaints={"file": words})
    target = f"/write/{brought[0]}" if len(brought) == 1 else "/write"
    more = "" if len(brought) == len(files) else f" {len(files) - len(brought)} did not fit any more."
    return redirect(site, target, f"Imported: {', '.join(brought)[:150]}.{more}")


def _bring_one(site: Site, person: Person, name: str, text: str) -> str:
    """The slug under which a file was kept, or nothing if there was no room."""
    wanted = _slug_in(text) or desk.slug_of(name.removesuffix(".md").lstrip("0123456789-")) or "imported"
    wanted = wanted if not desk.slug_complaint(wanted) else "imported"
    with site.database.writing() as db:
        there = nuggets.find(db, wanted, to_change=True)
        if there is not None and there.owner_id == person.id:
            nuggets.save(db, there, text, person.id, "Imported", int(time.time()))
            return wanted
    for number in range(1, 100):
        slug = wanted if number == 1 else f"{wanted[:56]}-{number}"
        with site.database.reading() as db:
            taken = nuggets.taken(db, slug)
        if not taken and (slug not in site.pages.built_in.pages or person.may("instructor")):
            kept = text if slug == wanted else desk.renamed(text, slug)
            return "" if _add(site, person, slug, kept, "Imported") else slug
    return ""


def _slug_in(text: str) -> str:
    for line in desk.split(text)[0].splitlines():
        if line.startswith("slug:"):
            return line.removeprefix("slug:").strip().strip("\"'")
    return ""


def mine(site: Site, slug: str, person: Person) -> Draft:
    """The draft, if it is for the eyes of this person; otherwise there is none."""
    with site.database.reading() as db:
        draft = nuggets.find(db, slug)
    if draft is None or not may_see(draft, person):
        raise Problem(404)
    return draft


def may_see(draft: Draft, person: Person) -> bool:
    """Whether it is theirs, or was handed in and they are an instructor."""
    return draft.owner_id == person.id or (draft.state != "draft" and person.may("instructor"))


@router.get("/{slug}")
@in_lane("drafts")
def edit(slug: str, request: Request, site: TheSite, person: Learner) -> Response:
    """The editor; for a nugget of the school that is not theirs to change, how to begin an edition or a copy."""
    with site.database.reading() as db:
        draft = nuggets.find(db, slug)
    if draft is None or not may_see(draft, person):
        if (shown := site.pages.school.pages.get(slug)) is None:
            raise Problem(404)
        edition = draft is None and person.may("instructor")
        return page(request, site, "write/begin.html", person, nugget=shown.nugget, edition=edition, taken=draft)
    return editor(request, site, person, draft, draft.text)


def editor(
    request: Request,
    site: Site,
    person: Person,
    draft: Draft,
    text: str,
    *,
    status: int = 200,
    base: str = "",
    complaint: str = "",
    unsaved: bool = False,
) -> Response:
    """The page to write on, with what is wrong so far."""
    look = look_at(site, text, draft.slug)
    with site.database.reading() as db:
        noted = (
            version
            for version in nuggets.versions(db, draft.slug)
            if version.note.startswith(("Returned: ", "Handed in"))
        )
        last = next(noted, None)
    widgets, terms = (
        widget_snippets(site.pages.assets.widgets),
        [term.name for term in site.pages.school.glossary.terms],
    )
    settings = {
        "snippets": [asdict(snippet) for snippet in SNIPPETS],
        "widgets": [asdict(widget) for widget in widgets],
        "terms": terms,
        "samples": SAMPLES,
    }
    shown = {
        **facts(site, person, draft),
        "text": text,
        "base": base or draft.mark,
        "look": look,
        "unsaved": unsaved,
        "complaint": complaint,
        "saved": when(draft.changed),
        "returned": last if last and last.note.startswith("Returned: ") else None,
        "known": {
            "categories": CATEGORIES,
            "levels": LEVELS,
            "roles": ROLES,
            "beginning": BEGINNING,
            "pictures": pictures(),
        },
        "stands_after": desk.front_of(draft.text)["after"],
        "others": [page.nugget for page in site.pages.school if page.nugget.slug != draft.slug],
        "snippets": SNIPPETS,
        "widget_snippets": widgets,
        "for_scripts": settings,
    }
    return page(request, site, "write/editor.html", person, status, **shown)


def facts(site: Site, person: Person, draft: Draft) -> dict[str, Any]:
    """What every page about a draft shows."""
    return {
        "draft": draft,
        "title": desk.front_of(draft.text)["title"][:120] or draft.slug,
        "owner": draft.owner_id == person.id,
        "may_publish": person.may("instructor"),
        "built_in": draft.slug in site.pages.built_in.pages,
        "widget_addresses": site.pages.assets.widgets,
    }


class SaveRequest(BaseModel):
    """A text to keep, and the fingerprint of the one it was made from."""

    text: str = Field(max_length=4 * LONGEST)
    base: str = Field(max_length=64)


@router.post("/{slug}/text", dependencies=[SAVES])
def autosave(slug: str, sent: SaveRequest, site: TheSite, person: Learner) -> Response:
    """Keep a text as it is typed; or refuse if somebody, perhaps another tab, was faster."""
    draft = mine(site, slug, person)
    text = _short(sent.text)
    kept = keep(site, draft.slug, person, text, sent.base, "")
    if kept is None:
        raise Problem(
            409, "This was changed elsewhere, perhaps in another tab. Nothing of yours is lost: look at both."
        )
    receipt = {"number": kept.number, "base": kept.mark, "saved": when(kept.changed)}
    return JSONResponse(receipt, headers={"cache-control": "no-store"})


def _short(text: str) -> str:
    tidied = desk.tidy(text)
    if len(tidied) > LONGEST:
        raise Problem(413, f"A nugget has at most {LONGEST:,} characters. Make two of it.")
    return tidied


def keep(site: Site, slug: str, person: Person, text: str, base: str, note: str) -> Draft | None:
    """The draft with this text, or nothing if it was not made from the newest one."""
    with site.database.writing() as db:
        draft = nuggets.find(db, slug, to_change=True)
        if draft is None or not may_see(draft, person):
            raise Problem(404)
        if draft.text != text or note:
            if draft.mark != base and draft.text != text:
                return None
            nuggets.save(db, draft, text, person.id, note, int(time.time()))
            if draft.state == "withdrawn":
                nuggets.set_state(db, slug, "draft" if draft.owner_id == person.id else "withdrawn")
        return nuggets.find(db, slug)


@router.post("/{slug}", dependencies=[SAVES])
@in_lane("drafts")
def save(
    slug: str,
    request: Request,
    site: TheSite,
    person: Someone,
    text: Text = "",
    base: Typed = "",
    action: Typed = "save",
    note: Typed = "",
    title: Typed = "",
    category: Typed = "",
    level: Typed = "",
    summary: Typed = "",
    objectives: Annotated[str, Form(max_length=10_000)] = "",
    roles: Listed = (),
    needs: Listed = (),
    helps: Listed = (),
    after: Typed = "",
    words: Annotated[str, Form(max_length=20_000)] = "",
    picture: Typed = "",
) -> Response:
    """Keep a text, look at it, put what the form says into it, or set it aside for the newest one."""
    if person is None and "text/html" in request.headers.get("accept", ""):
        return page(request, site, "write/signed-out.html", None, 401, slug=slug, text=text)
    person = permitted(person, "learner")
    draft = mine(site, slug, person)
    kept = _short(text)
    if action == "front":
        lines = (objectives.splitlines(), after, words.splitlines(), picture)
        values = (title, category, level, roles, needs, helps, summary, *lines)
        kept = desk.with_front(kept, slug, dict(zip(FIELDS, values, strict=True)))
    if action in ("preview", "front"):
        return editor(request, site, person, draft, kept, base=base, unsaved=kept != draft.text)
    if action == "aside" and keep(site, slug, person, kept, base, "Set aside") is not None:
        if keep(site, slug, person, draft.text, mark_of(kept), "Kept over what was set aside") is None:
            raise Problem(409)
        return redirect(site, f"/write/{slug}", "Yours is among the versions.")
    said = " ".join(note.split())[:200] or "Saved"
    if keep(site, slug, person, kept, base, said) is not None:
        return redirect(site, f"/write/{slug}", "Saved.")
    newest = mine(site, slug, person)
    with site.database.reading() as db:
        before = nuggets.text_with(db, slug, base)
    both, conflicts = merged(before, kept, newest.text)
    shown = {
        **facts(site, person, newest),
        "text": kept,
        "both": both,
        "conflicts": conflicts,
        "base": newest.mark,
        "lines": compared(newest.text, kept),
    }
    return page(request, site, "write/both.html", person, 409, **shown)
