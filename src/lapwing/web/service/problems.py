"""Error answers, in one table: a page for people, a problem document for programs, never a trace."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from sqlalchemy.exc import DataError, IntegrityError, OperationalError
from starlette.exceptions import HTTPException as Refused

from lapwing.web.service.headers import HEADERS

if TYPE_CHECKING:
    from lapwing.web.pages import Pages

WORDS = {
    400: ("We cannot read this", "The request is damaged. Go back, reload the page and try again."),
    401: ("Please sign in", "This needs an account. Sign in and try again."),
    403: ("This is not for you", "Your account is not allowed to do this."),
    404: ("There is nothing here", "This page does not exist, or its address has changed. You can go to all nuggets."),
    405: ("That cannot be done here", "This address answers other kinds of requests."),
    408: ("That took too long", "We received nothing for a while, so we stopped waiting. Please try again."),
    409: ("Somebody was faster", "This changed while you looked at it. Reload the page and try again."),
    413: ("That is too much at once", "Send something smaller."),
    415: ("We cannot use this kind of file", "Send one of the kinds that the page names."),
    422: ("Something does not fit", "An answer is missing or does not fit. Go back and look at the form again."),
    429: ("Too many at once", "Wait a little, then try again."),
    503: ("The school is very busy", "We could not handle your request now. Please try again in a moment."),
    500: ("Something went wrong", "It is our fault, not yours. Please try again; nothing you wrote was lost."),
}
SIGN_IN = "/account/sign-in"


class Problem(HTTPException):
    """A request that is refused. Without words of its own it is told as the table has it.

    `instead` is where somebody who wants to see a page is sent first.
    """

    def __init__(
        self, status: int, detail: str = "", *, instead: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers=dict(headers or {}))
        self.instead = instead or (SIGN_IN if status == 401 else "")


def _for_people(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


def told(
    pages: Pages, request: Request, status: int, detail: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to somebody whose request was refused."""
    title, usual = WORDS.get(status) or (HTTPStatus(status).phrase, "")
    shown, headers = detail or usual, {"cache-control": "no-store", **(headers or {})}
    if _for_people(request):
        page = pages.made("error.html", title=title, detail=shown, status=status)
        return Response(page, status, headers, "text/html; charset=utf-8")
    problem = {"type": "about:blank", "title": title, "status": status, "detail": shown}
    return JSONResponse(problem, status, headers, "application/problem+json")


def install(app: FastAPI, pages: Pages) -> None:
    """Answer every error of an application in this way."""

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        if request.method == "GET" and _for_people(request) and (instead := getattr(error, "instead", "")):
            here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(f"{instead}?next={quote(here)}", 303, {"cache-control": "no-store"})
        detail = error.detail if isinstance(error, Problem) else ""  # other people's words may quote the request
        return told(pages, request, error.status_code, detail, error.headers)

    @app.exception_handler(RequestValidationError)
    async def unreadable(request: Request, error: RequestValidationError) -> Response:
        return told(pages, request, 422)

    @app.exception_handler(DataError)
    @app.exception_handler(OverflowError)
    async def unkeepable(request: Request, error: Exception) -> Response:
        return told(pages, request, 422)  # a number or a sign that no database takes

    @app.exception_handler(IntegrityError)
    async def overtaken(request: Request, error: Exception) -> Response:
        return told(pages, request, 409)

    @app.exception_handler(OperationalError)
    async def unreachable(request: Request, error: Exception) -> Response:
        return told(pages, request, 503, headers={"retry-after": "5"})

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        safe = {name.decode(): value.decode() for name, value in HEADERS}  # no middleware sees this answer
        return told(pages, request, 500, headers=safe)
