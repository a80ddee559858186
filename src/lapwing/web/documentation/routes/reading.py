"""The documentation, for everybody. Its pages keep the policy of the school: scripts only from files of this server."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from lapwing.web.documentation import built
from lapwing.web.service.problems import Problem

router = APIRouter()
_NOT_BUILT = "The documentation is not built yet. In a checkout run `make docs`, then reload this page."


@router.get("/docs")
async def documentation() -> Response:
    """The address without a slash: pages name each other relative to the one with it."""
    return RedirectResponse("/docs/", 307)


@router.get("/docs/{address:path}")
def page(address: str, request: Request) -> Response:
    """A page or a file of it."""
    if not built.is_built(built.FOLDER):
        raise Problem(404, _NOT_BUILT)
    files = built.listing(built.FOLDER)
    if f"{address}/{built.FIRST}" in files:
        return RedirectResponse(f"/docs/{address}/", 307)
    path = files.get(address + built.FIRST if not address or address.endswith("/") else address)
    if path is None:
        raise Problem(404, "The documentation has no page at this address. Search for it at /docs.")
    file = built.read(path)
    headers = {"etag": file.mark, "cache-control": "no-cache", "vary": "accept-encoding"}
    if path.suffix == ".ipynb":
        headers["content-disposition"] = f'attachment; filename="{path.name}"'
    if request.headers.get("if-none-match") == file.mark:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.kind, headers={**headers, "content-encoding": "gzip"})
    return Response(file.content, media_type=file.kind, headers=headers)
