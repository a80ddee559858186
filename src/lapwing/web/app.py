"""The application: what it is made of, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

from lapwing.web.authoring import publication
from lapwing.web.bodies import SmallBodies
from lapwing.web.lab.benches import Lab, keep_tidy
from lapwing.web.pages import Pages
from lapwing.web.routes import FIRST, LATER, read
from lapwing.web.school.library import School
from lapwing.web.service import problems
from lapwing.web.service.assets import Assets
from lapwing.web.service.database import Database
from lapwing.web.service.headers import SafeHeaders
from lapwing.web.service.later import Later
from lapwing.web.service.limits import Limits
from lapwing.web.service.settings import Settings
from lapwing.web.site import Site


def create_app(settings: Settings | None = None, school: School | None = None, assets: Assets | None = None) -> FastAPI:
    """The application, ready to be served; its database is there and up to date."""
    settings = settings or Settings.of()
    built = assets or Assets()  # first: the nuggets need KaTeX, and whoever misses it is told what to run
    pages = Pages(school or School.read(), built)
    site = Site(settings, Database(settings.database), pages, Limits(), Lab(settings))
    publication.refresh(site)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(publication.keep_up(site)), asyncio.create_task(keep_tidy(site.lab))]
        if settings.collections is not None:
            from lapwing.web.collections import admission  # a school without collections does not load it

            tasks.append(asyncio.create_task(admission.keep_tidy(site)))
        yield
        for task in tasks:
            task.cancel()
        site.lab.close()
        site.database.close()

    # Without redirect_slashes, which answers with an address that begins with whatever Host was sent.
    app = FastAPI(
        title="Lapwing", docs_url=None, redoc_url=None, openapi_url=None, lifespan=life, redirect_slashes=False
    )
    app.state.site = site
    app.add_middleware(SmallBodies, lab=site.lab)
    app.add_middleware(SafeHeaders, https=settings.origin.startswith("https://"))
    for router in read(FIRST):
        app.include_router(router)
    app.router.routes.extend(Later(app, path, partial(read, names)) for path, names in LATER.items())
    problems.install(app, pages)
    return app
