"""Pictures for nuggets: sent by authors, served to everybody who has their address."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import File, Request, Response, UploadFile
from fastapi.responses import JSONResponse

from lapwing.web.plural import counted
from lapwing.web.problems import Problem
from lapwing.web.sessions import Learner, Person, limited, page, personal, redirect
from lapwing.web.site import Site, TheSite
from lapwing.web.store import uploads as kept
from lapwing.web.uploads import KINDS, LARGEST, QUOTA, Clean, NoPicture, cleaned

router = personal()
_NAME = re.compile(r"([0-9a-f]{64})\.(png|jpg|webp)")


@router.get("/uploads")
def mine(request: Request, site: TheSite, person: Learner) -> Response:
    """One's own pictures."""
    return _pictures(request, site, person)


@router.post("/uploads", dependencies=[limited("upload")])
def send(
    request: Request, site: TheSite, person: Learner, picture: Annotated[UploadFile | None, File()] = None
) -> Response:
    """Take a picture."""
    to_page = "text/html" in request.headers.get("accept", "")
    try:
        made = cleaned(picture.file.read(LARGEST + 1) if picture else b"")
        _keep(site, person, made)
    except NoPicture as error:
        if to_page:
            return _pictures(request, site, person, complaint=str(error))
        raise Problem(422, str(error)) from None
    if to_page:
        return redirect(site, "/uploads", "The picture is there. Copy its line into your nugget.")
    told = {"address": made.address, "width": made.width, "height": made.height, "size": len(made.content)}
    return JSONResponse(told, 201, {"cache-control": "no-store"})


def _keep(site: Site, person: Person, made: Clean) -> None:
    most, bytes_together = QUOTA[person.role]
    with site.database.writing() as db:
        if kept.known(db, made.digest):
            return
        count, size = kept.used(db, person.id)
        if count >= most or size + len(made.content) > bytes_together:
            raise NoPicture(f"You have {count} pictures with {size / 1e6:.1f} MB. Delete one that you do not need.")
        kept.add(db, made.digest, made.kind, made.content, person.id)


def _pictures(request: Request, site: Site, person: Person, complaint: str = "") -> Response:
    with site.database.reading() as db:
        found = kept.mine(db, person.id)
    most, bytes_together = QUOTA[person.role]
    room = {"count": most, "size": bytes_together, "used": sum(one.size for one in found)}
    shown = {"pictures": found, "complaint": complaint, "room": room}
    return page(request, site, "write/pictures.html", person, 422 if complaint else 200, **shown)


@router.get("/uploads/{name}")
def picture(name: str, request: Request, site: TheSite) -> Response:
    """A picture. Its address is its content, so it never changes."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise Problem(404)
    headers = {
        "cache-control": "public, max-age=31536000, immutable",
        "etag": f'"{found[1][:20]}"',
        "content-disposition": f'inline; filename="{name}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    with site.database.reading() as db:
        content = kept.get(db, found[1])
    if content is None or content[0] != found[2]:
        raise Problem(404)
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    return Response(content[1], media_type=KINDS[content[0]], headers=headers)


@router.post("/uploads/{name}/delete")
def delete(name: str, site: TheSite, person: Learner) -> Response:
    """Forget one's own picture, unless it stands in a nugget."""
    found = _NAME.fullmatch(name)
    with site.database.writing() as db:
        own = found is not None and any(one.digest == found[1] for one in kept.mine(db, person.id))
        if not own or found is None:
            raise Problem(404)
        if places := kept.stands_in(db, found[1]):
            raise Problem(409, f"It stands in {counted(places, 'nugget')} or in older versions. It has to stay.")
        kept.remove(db, found[1], person.id)
    return redirect(site, "/uploads", "The picture is deleted.")
