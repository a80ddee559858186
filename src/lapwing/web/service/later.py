"""Parts of the application that are imported when the first request asks for them.

The lab and the guide bring the engines, the models and the attacks along. Most who open the school come to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send


class Later(BaseRoute):
    """Stands in for all addresses of one part. The first request puts the routes in its place and is then answered."""

    def __init__(self, app: FastAPI, path: str, routers: Callable[[], Iterable[APIRouter]]) -> None:
        self.app, self.path, self.routers = app, path, routers

    def matches(self, scope: Scope) -> tuple[Match, MutableMapping[str, Any]]:
        """Whether the request is for this part."""
        path = scope["path"]
        mine = scope["type"] == "http" and (path == self.path or path.startswith(f"{self.path}/"))
        return (Match.FULL if mine else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the part, beside the requests of others, and ask again."""
        routers = await run_in_threadpool(self.routers)
        if self in self.app.router.routes:  # from here on nothing waits, so one request does it, and all see it done
            self.app.router.routes.remove(self)
            for router in routers:
                self.app.include_router(router)
        await self.app.router(scope, receive, send)
