"""Shared state of requests: the settings, the database, the pages, the limits and the lab."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from lapwing.web.pages import Pages
from lapwing.web.service.database import Database
from lapwing.web.service.lanes import Lanes
from lapwing.web.service.limits import Limits
from lapwing.web.service.settings import Settings

if TYPE_CHECKING:
    from lapwing.web.lab.benches import Lab


@dataclass(frozen=True, slots=True)
class Site:
    """One running school."""

    settings: Settings
    database: Database
    pages: Pages
    limits: Limits
    lab: Lab
    lanes: Lanes = field(default_factory=Lanes)


async def site_of(request: Request) -> Site:
    """The school a request came to."""
    site: Site = request.app.state.site
    return site


TheSite = Annotated[Site, Depends(site_of)]
