"""All HTTP routes of the application, put together.

Each part of the application has a folder with `routes` and `store`. A module of `routes` makes a `router = personal()`
and stands in FIRST, or in LATER if it takes long to load. Its functions are plain `def` if they ask the database (they
then run beside each other), take what they need as arguments, and answer with `page`, `redirect` or JSON; what is
refused is a `Problem`:

    @router.post("/learn/{slug}/comments", dependencies=[limited("comment")])
    def say(slug: str, site: TheSite, person: Learner, text: Annotated[str, Form(max_length=5000)]) -> Response:
        with site.database.writing() as db:
            comments.add(db, slug, person.id, text)
        return redirect(site, f"/learn/{slug}#comments", "Your comment is there.")

`Learner`, `Instructor`, `Operator` and `Admin` let in those who may do what the role may; `Asking` is somebody or
nobody. Forms have `{{ fields.csrf(user) }}`; scripts send what /me told them as `x-csrf-token`.
"""

from __future__ import annotations

from importlib import import_module

from fastapi import APIRouter
from fastapi.routing import APIRoute

from lapwing.web.accounts.sessions import refuse_unguarded

FIRST = (
    *("school.routes.reading", "accounts.routes.accounts", "accounts.routes.me", "accounts.routes.second_factor"),
    *("accounts.routes.admin", "school.routes.votes", "school.routes.recommendation", "survey.routes.survey"),
    *("classes.routes.membership", "classes.routes.classes", "discussion.routes.discussion"),
    *("discussion.routes.moderation", "survey.routes.moderation", "statistics.routes.statistics"),
    *("authoring.routes.authoring", "authoring.routes.versions", "authoring.routes.uploads"),
)
"""Those that are there from the start, in the order in which they are asked."""

LATER = {
    "/collections": ("collections.routes.console",),
    "/take-part": ("collections.routes.taking_part",),
    "/docs": ("documentation.routes.reading",),
    "/guide": ("guide.routes.guide",),
    "/lab": (
        *("lab.routes.lab", "lab.routes.questions", "lab.routes.streams", "lab.routes.check", "lab.routes.failures"),
    ),
}
"""Modules that are loaded when somebody first asks for an address that begins like this."""


def read(names: tuple[str, ...]) -> list[APIRouter]:
    """The routers of these modules; a route that anybody could use in your name is refused.

    What answers GET answers HEAD: monitors and link checkers ask that way.
    """
    routers: list[APIRouter] = [import_module(f"lapwing.web.{name}").router for name in names]
    refuse_unguarded(routers)
    for route in (route for router in routers for route in router.routes):
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()):
            route.methods = {*(route.methods or ()), "HEAD"}
    return routers


def all_routers() -> list[APIRouter]:
    """Every router, with those that a school loads later."""
    return [router for names in (FIRST, *LATER.values()) for router in read(names)]
