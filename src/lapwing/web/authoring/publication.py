"""What readers see: the built-in nuggets, and over them what was published here. It changes at once, for everybody."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from lapwing.web.accounts.sessions import Person
from lapwing.web.authoring.desk import checked, moved
from lapwing.web.authoring.store import nuggets
from lapwing.web.authoring.store.nuggets import Edition
from lapwing.web.pages import Pages
from lapwing.web.school.library import School
from lapwing.web.school.nugget import InvalidNugget, Nugget, read
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site

EVERY = 5.0
"""Seconds after which what another server published is shown here, too."""


def composed(pages: Pages, editions: Sequence[Edition]) -> School:
    """The built-in nuggets with these in their places; new ones where they say. What does not fit is refused."""
    order: dict[str, Nugget] = {page.nugget.slug: page.nugget for page in pages.built_in}
    for edition in editions:
        order[edition.slug] = read(edition.text, where=edition.slug)
        if order[edition.slug].slug != edition.slug:
            raise InvalidNugget(edition.slug, f"its slug is {order[edition.slug].slug}", "Rename it.")
    school = School(order.values(), pages.built_in.common, ready=[pages.built_in, pages.school])
    for page in school:
        if strangers := [name for name in page.widgets if f"lw-{name}" not in pages.assets.widgets]:
            raise InvalidNugget(page.nugget.slug, f"there is no widget {strangers[0]!r}", "Take another one.")
    return school


def fitting(pages: Pages, editions: Sequence[Edition]) -> School:
    """The same, without what does not fit any more: the school opens whatever was published before."""
    try:
        return composed(pages, editions)
    except InvalidNugget:
        pass
    kept: list[Edition] = []
    school, waiting = composed(pages, kept), list(editions)
    while waiting:
        left = []
        for edition in waiting:
            tried = sorted([*kept, edition], key=lambda other: (other.position, other.slug))
            try:
                school, kept = composed(pages, tried), tried
            except InvalidNugget:
                left.append(edition)
        if len(left) == len(waiting):
            break
        waiting = left
    return school


def refresh(site: Site) -> bool:
    """Show what the database says is published; gives whether anything changed."""
    pages = site.pages
    with pages.changing:
        with site.database.reading() as db:
            stamp = nuggets.stamp(db)
            if stamp == pages.stamp:
                return False
            editions = nuggets.editions(db)
        pages.show(fitting(pages, editions))
        pages.stamp = stamp
    return True


async def keep_up(site: Site) -> None:
    """Show what other servers of the same school publish, and what comes back from a copy."""
    while True:
        await asyncio.sleep(EVERY)
        try:
            await asyncio.to_thread(refresh, site)
        except Exception:  # a database that is away for a moment: what is shown stays, and the next try may do
            continue


def publish(site: Site, slug: str, mark: str, person: Person) -> None:
    """Put the newest text of a draft into the school: this text, or none if it changed since it was looked at."""
    _publish(site, slug, mark, person, "Published")


def move(site: Site, slug: str, mark: str, after: str, person: Person) -> None:
    """Give a nugget that is published another place. What changed in it since is not published along the way."""
    _publish(site, slug, mark, person, "Moved", after)


def _publish(site: Site, slug: str, mark: str, person: Person, note: str, after: str | None = None) -> None:
    pages = site.pages
    with pages.changing:
        with site.database.reading() as db:
            draft, editions = nuggets.find(db, slug), nuggets.editions(db)
        if draft is None:
            raise Problem(404)
        _refuse_changed(draft.mark, mark)
        text = draft.text
        if after is not None:
            if draft.state != "published" or not any(
                edition.slug == slug and edition.text == text for edition in editions
            ):
                raise Problem(409, "It changed since it was published. Publish it first, with its place in the form.")
            text = moved(text, after)
        others = [edition for edition in editions if edition.slug != slug]
        place = next((edition.position for edition in editions if edition.slug == slug), 1 << 31)
        checked(text, slug, fitting(pages, others), pages.assets.widgets, finished=after is None)
        new = Edition(slug, place, 0, text)
        shown = pages.prepared(
            composed(pages, sorted([*others, new], key=lambda edition: (edition.position, edition.slug)))
        )
        with site.database.writing() as db:
            now = nuggets.find(db, slug, to_change=True)
            if now is None:
                raise Problem(404)
            _refuse_changed(now.mark, mark)
            number = nuggets.save(db, now, text, person.id, note, int(time.time()))
            nuggets.set_published(db, slug, number)
            stamp = nuggets.stamp(db)
        pages.exchange(shown)
        pages.stamp = stamp


def withdraw(site: Site, slug: str, note: str, person: Person) -> None:
    """Take a nugget back; a built-in one of the same name is shown again."""
    pages = site.pages
    with pages.changing:
        with site.database.reading() as db:
            others = [edition for edition in nuggets.editions(db) if edition.slug != slug]
        shown = pages.prepared(composed(pages, others))
        with site.database.writing() as db:
            draft = nuggets.find(db, slug, to_change=True)
            if draft is None or draft.published is None:
                raise Problem(409, "It is not published.")
            said = f"Withdrawn: {note}" if note else "Withdrawn"
            nuggets.save(db, draft, draft.text, person.id, said, int(time.time()))
            nuggets.set_published(db, slug, None)
            stamp = nuggets.stamp(db)
        pages.exchange(shown)
        pages.stamp = stamp


def _refuse_changed(mark: str, seen: str) -> None:
    if mark != seen:
        raise Problem(409, "The text changed since you looked at it. Look again, then decide.")
