"""Pictures and videos for nuggets: sent by authors, served to everybody who has their address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from fastapi import File, Request, Response, UploadFile
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.datastructures import UploadFile as Sent

from lapwing.web.accounts.sessions import Learner, Person, limited, page, personal, redirect
from lapwing.web.authoring import films
from lapwing.web.authoring.films import Film, NoVideo
from lapwing.web.authoring.store import uploads as kept
from lapwing.web.authoring.uploads import KINDS, LARGEST, QUOTA, Clean, NoPicture, cleaned
from lapwing.web.service.plural import counted
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
_NAME = re.compile(r"([0-9a-f]{64})\.(png|jpg|webp|mp4|webm|vtt)")
AT_ONCE = 1 << 20
"""Bytes of a video that are held for one answer."""


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
        image = cleaned(picture.file.read(LARGEST + 1) if picture else b"")
        _keep(site, person, image)
    except NoPicture as error:
        if to_page:
            return _pictures(request, site, person, complaint=str(error))
        raise Problem(422, str(error)) from None
    if to_page:
        return redirect(site, "/uploads", "The picture is there. Copy its line into your nugget.")
    receipt = {"address": image.address, "width": image.width, "height": image.height, "size": len(image.content)}
    return JSONResponse(receipt, 201, {"cache-control": "no-store"})


def _keep(site: Site, person: Person, image: Clean) -> None:
    most, bytes_together = QUOTA[person.role]
    with site.database.writing() as db:
        if kept.known(db, image.digest):
            return
        count, size = kept.used(db, person.id, KINDS)
        if count >= most or size + len(image.content) > bytes_together:
            raise NoPicture(f"You have {count} pictures with {size / 1e6:.1f} MB. Delete one that you do not need.")
        kept.add(db, image.digest, image.kind, image.content, person.id)


@router.post("/uploads/videos", dependencies=[limited("video")])
async def send_video(request: Request, site: TheSite, person: Learner) -> Response:
    """Take a video, its captions, or both. The body is read here, when it is known who sends it."""
    async with request.form() as sent:
        given = ((name, sent.get(name)) for name in ("video", "captions"))
        files = {name: upload for name, upload in given if isinstance(upload, Sent) and upload.filename}
        return await run_in_threadpool(_take_films, request, site, person, files)


def _take_films(request: Request, site: Site, person: Person, files: dict[str, Sent]) -> Response:
    to_page = "text/html" in request.headers.get("accept", "")
    try:
        if not files:
            raise NoVideo("No video arrived. Choose a file.")
        checks = {"video": (films.video, films.LARGEST), "captions": (films.captions, films.LARGEST_CAPTIONS)}
        accepted = {name: checks[name][0](upload.file.read(checks[name][1] + 1)) for name, upload in files.items()}
        _keep_films(site, person, list(accepted.values()))
    except NoVideo as error:
        if to_page:
            return _pictures(request, site, person, complaint=str(error))
        raise Problem(422, str(error)) from None
    if to_page:
        return redirect(site, "/uploads", "It is there. Copy its lines into your nugget.")
    return JSONResponse({name: film.address for name, film in accepted.items()}, 201, {"cache-control": "no-store"})


def _keep_films(site: Site, person: Person, accepted: list[Film]) -> None:
    most, bytes_together = films.QUOTA[person.role]
    with site.database.writing() as db:
        for film in accepted:
            if kept.known(db, film.digest):
                continue
            count, size = kept.used(db, person.id, films.KINDS)
            if count >= most or size + len(film.content) > bytes_together:
                raise NoVideo(
                    f"You have {counted(count, 'video or captions', 'videos and captions')} with {size / 1e6:.1f} MB. "
                    "Delete one that you do not need."
                )
            kept.add(db, film.digest, film.kind, film.content, person.id)


def _pictures(request: Request, site: Site, person: Person, complaint: str = "") -> Response:
    with site.database.reading() as db:
        uploads = kept.mine(db, person.id)
    most, bytes_together = QUOTA[person.role]
    drawn, filmed = ([upload for upload in uploads if upload.kind in kinds] for kinds in (KINDS, films.KINDS))
    room = {"count": most, "size": bytes_together, "used": sum(upload.size for upload in drawn)}
    most, bytes_together = films.QUOTA[person.role]
    for_films = {"count": most, "size": bytes_together, "used": sum(upload.size for upload in filmed)}
    shown = {"pictures": drawn, "complaint": complaint, "room": room, "films": filmed, "for_films": for_films}
    return page(request, site, "write/pictures.html", person, 422 if complaint else 200, **shown)


@router.get("/uploads/{name}")
def picture(name: str, request: Request, site: TheSite) -> Response:
    """A picture or a video. Its address is its content, so it never changes."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise Problem(404)
    headers = {
        "cache-control": "public, max-age=31536000, immutable",
        "etag": f'"{match[1][:20]}"',
        "content-disposition": f'inline; filename="{name}"',
        "content-security-policy": "default-src 'none'; sandbox",
    }
    with site.database.reading() as db:
        about = kept.about(db, match[1])
    if about is None or about.kind != match[2]:
        raise Problem(404)
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    if about.kind in films.KINDS:
        return _film(request, site, about, headers)
    with site.database.reading() as db:
        content = kept.get(db, about.digest)
    if content is None:
        raise Problem(404)
    return Response(content[1], media_type=KINDS[content[0]], headers=headers)


def _film(request: Request, site: Site, about: kept.Picture, headers: dict[str, str]) -> Response:
    """A video or its captions: the part that was asked for, or all of it piece by piece."""
    kind, wanted = films.KINDS[about.kind], request.headers.get("range", "")
    headers |= {"accept-ranges": "bytes"}
    fits = request.headers.get("if-range", headers["etag"]) == headers["etag"]
    if not (wanted.startswith("bytes=") and "," not in wanted and fits):
        headers["content-length"] = str(about.size)
        return StreamingResponse(_pieces(site, about), media_type=kind, headers=headers)
    part = films.chosen(wanted, about.size, AT_ONCE)
    if part is None:
        return Response(status_code=416, headers={**headers, "content-range": f"bytes */{about.size}"})
    headers["content-range"] = f"bytes {part[0]}-{part[1]}/{about.size}"
    with site.database.reading() as db:
        content = kept.part(db, about.digest, part[0], part[1] - part[0] + 1)
    return Response(content, 206, headers, kind)


def _pieces(site: Site, about: kept.Picture) -> Iterator[bytes]:
    for first in range(0, about.size, AT_ONCE):
        with site.database.reading() as db:
            yield kept.part(db, about.digest, first, AT_ONCE)


@router.post("/uploads/{name}/delete")
def delete(name: str, site: TheSite, person: Learner) -> Response:
    """Forget one's own picture or video, unless it stands in a nugget."""
    match = _NAME.fullmatch(name)
    with site.database.writing() as db:
        own = match is not None and any(upload.digest == match[1] for upload in kept.mine(db, person.id))
        if not own or match is None:
            raise Problem(404)
        if places := kept.stands_in(db, match[1]):
            raise Problem(409, f"It is used in {counted(places, 'nugget')} or in older versions. It cannot be deleted.")
        kept.remove(db, match[1], person.id)
    return redirect(site, "/uploads", "It is deleted.")
