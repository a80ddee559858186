"""Addresses and what answers them: thin functions that hand over to the rest.

A module here makes a `router = personal()` and stands in ROUTERS, or in LATER if it takes long to load. Its functions
are plain `def` if they ask the database (they then run beside each other), take what they need as arguments, and
answer with `page`, `redirect` or JSON; what is refused is a `Problem`:

    @router.post("/learn/{slug}/comments", dependencies=[limited("comment")])
    def say(slug: str, site: TheSite, person: Learner, text: Annotated[str, Form(max_length=5000)]) -> Response:
        with site.database.writing() as db:
            comments.add(db, slug, person.id, text)
        return redirect(site, f"/learn/{slug}#comments", "Your comment is there.")

`Learner`, `Instructor` and `Admin` let in those who may do what the role may; `Asking` is somebody or nobody.
Forms have `{{ fields.csrf(user) }}`; scripts send what /me told them as `x-csrf-token`.
"""

from __future__ import annotations

from importlib import import_module

from fastapi import APIRouter

from lapwing.web.routes import (
    accounts,
    admin,
    authoring,
    classes,
    discussion,
    me,
    membership,
    moderation,
    reading,
    recommendation,
    second_factor,
    statistics,
    survey,
    survey_moderation,
    uploads,
    versions,
    votes,
)
from lapwing.web.sessions import refuse_unguarded

ROUTERS = (
    *(reading.router, accounts.router, me.router, second_factor.router, admin.router),
    *(votes.router, recommendation.router, survey.router, membership.router, classes.router),
    *(discussion.router, moderation.router, survey_moderation.router, statistics.router),
    *(authoring.router, versions.router, uploads.router),
)
"""Those that are there from the start, in the order in which they are asked."""

LATER = {"/guide": ("guide",), "/lab": ("lab", "lab_asking", "lab_check", "lab_failures")}
"""Modules that are loaded when somebody first asks for an address that begins like this."""


def read(names: tuple[str, ...]) -> list[APIRouter]:
    """The routers of these modules; a route that anybody could use in your name is refused."""
    routers: list[APIRouter] = [import_module(f"{__name__}.{name}").router for name in names]
    refuse_unguarded(routers)
    return routers


def all_routers() -> list[APIRouter]:
    """Every router, with those that a school loads later."""
    return [*ROUTERS, *(router for names in LATER.values() for router in read(names))]
