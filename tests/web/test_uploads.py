"""Pictures: what is one is taken and made anew, what only looks like one is not."""

from __future__ import annotations

import contextlib
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from PIL import Image, PngImagePlugin
from school_site import PERSON, open_school, signed_in, visitor
from sweeps import few

from lapwing.web.authoring import desk, uploads
from lapwing.web.authoring.store.nuggets import mark_of
from lapwing.web.authoring.uploads import NoPicture, cleaned
from lapwing.web.bodies import MOST_UPLOADED

SECRET = b"52.5200 N, 13.4050 E"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def drawn(kind: str = "PNG", size: tuple[int, int] = (40, 30), mode: str = "RGB", **options: Any) -> bytes:
    made = io.BytesIO()
    Image.new(mode, size, 90).save(made, kind, **options)
    return made.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_that_says(width: int, height: int) -> bytes:
    """A few bytes that claim to be a huge picture."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


def send(client: TestClient, content: bytes, name: str = "picture.png", **more: Any) -> Any:
    return client.post("/uploads", files={"picture": (name, content, "image/png")}, **more)


@pytest.mark.parametrize(("kind", "ending"), [("PNG", "png"), ("JPEG", "jpg"), ("WEBP", "webp")])
def test_a_picture_is_taken_and_served_as_nothing_but_a_picture(app: FastAPI, kind: str, ending: str) -> None:
    told = send(signed_in(app, "Ada"), drawn(kind), "whatever.exe").json()
    assert (told["width"], told["height"]) == (40, 30)
    answer = visitor(app).get(told["address"])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == uploads.KINDS[ending]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-disposition"].startswith("inline; filename=")
    assert "sandbox" in ", ".join(answer.headers.get_list("content-security-policy"))
    assert Image.open(io.BytesIO(answer.content)).size == (40, 30)
    again = visitor(app).get(told["address"], headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1"])
def test_every_kind_of_colour_is_kept(mode: str) -> None:
    made = cleaned(drawn("PNG", mode=mode))
    with Image.open(io.BytesIO(made.content)) as seen:
        assert seen.mode in ("RGB", "RGBA", "L")
        assert seen.size == (40, 30)


def test_where_and_when_it_was_taken_is_not_kept() -> None:
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    notes = PngImagePlugin.PngInfo()
    notes.add_text("GPS", SECRET.decode())
    for content in (
        drawn("JPEG", exif=exif, comment=SECRET),
        drawn("PNG", pnginfo=notes, exif=exif, icc_profile=SECRET),
        drawn("WEBP", exif=exif, xmp=SECRET),
    ):
        assert SECRET in content
        assert SECRET not in cleaned(content).content


def test_a_picture_is_turned_as_its_camera_was() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    made = cleaned(drawn("JPEG", exif=exif))
    assert (made.width, made.height) == (30, 40)


@together("behind", [b"<script>alert(1)</script>", b"PK\x03\x04" + b"x" * 100, b"%PDF-1.4", b"<?php ?>"])
def test_what_hides_behind_a_picture_is_gone(behind: bytes) -> None:
    for kind in ("PNG", "JPEG", "WEBP"):
        made = cleaned(drawn(kind) + behind)
        assert behind not in made.content


REFUSED = {
    "nothing": b"",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "svg behind a declaration": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
    "html": b"<!doctype html><script>alert(1)</script>",
    "gif": drawn("GIF", mode="P"),
    "bmp": drawn("BMP"),
    "tiff": drawn("TIFF"),
    "ico": drawn("ICO"),
    "pdf": b"%PDF-1.4",
    "text with the name of a picture": b"hello",
    "only the first bytes of a PNG": b"\x89PNG\r\n\x1a\n",
    "only the first bytes of a JPEG": b"\xff\xd8\xff\xe0",
    "only the first bytes of a WebP": b"RIFF\0\0\0\0WEBP",
    "half a PNG": drawn("PNG", (400, 300))[:-200],
    "half a JPEG": drawn("JPEG", (400, 300))[:700],
    "half a WebP": drawn("WEBP", (400, 300))[:60],
    "a PNG that says it is a JPEG": b"\xff\xd8\xff" + drawn("PNG")[3:],
    "html that begins like a PNG": b"\x89PNG\r\n\x1a\n<script>alert(1)</script>",
    "a script that begins like a JPEG": b"\xff\xd8\xff/*" + b"*/=1;alert(1)//" * 50,
    "too wide": png_that_says(20_000, 10),
    "too many points": png_that_says(5000, 5000),
    "billions of points": png_that_says(65_000, 65_000),
    "no points": png_that_says(0, 10),
    "text that unpacks for ever": drawn("PNG")[:33]
    + chunk(b"zTXt", b"a\0\0" + zlib.compress(b"\0" * 20_000_000))
    + drawn("PNG")[33:],
    "too large": b"\x89PNG\r\n\x1a\n" + b"\0" * (2 << 20),
    "a film": drawn("PNG", save_all=True, append_images=[Image.new("RGB", (40, 30), 7)]),
    "a film in WebP": drawn("WEBP", save_all=True, append_images=[Image.new("RGB", (40, 30), 7)]),
}


@pytest.mark.parametrize("name", few(REFUSED, stays=12))
def test_what_is_no_picture_is_refused_with_words(app: FastAPI, name: str) -> None:
    client = signed_in(app, "Ada")
    answer = send(client, REFUSED[name])
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith(".")
    page = send(client, REFUSED[name], headers=PERSON)
    assert (page.status_code, 'role="alert"' in page.text, "No pictures yet." in page.text) == (422, True, True)


def test_pictures_damaged_anywhere_are_refused_or_made_anew_but_never_an_error() -> None:
    for kind in ("PNG", "JPEG", "WEBP"):
        whole = drawn(kind, (60, 40))
        for place in range(0, len(whole), max(1, len(whole) // 60)):
            broken = bytearray(whole)
            broken[place] ^= 0xFF
            with contextlib.suppress(NoPicture):
                made = cleaned(bytes(broken))
                assert made.width * made.height <= uploads.MOST_PIXELS


def test_more_than_a_picture_can_have_is_not_even_read(app: FastAPI) -> None:
    assert send(signed_in(app, "Ada"), b"\x89PNG\r\n\x1a\n" + b"\0" * MOST_UPLOADED).status_code == 413


def test_the_same_picture_is_kept_once_and_nobody_has_more_than_their_share(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(uploads.QUOTA, "learner", (2, 10_000))
    client = signed_in(app, "Ada")
    first = send(client, drawn()).json()["address"]
    assert send(client, drawn()).json()["address"] == first
    assert send(client, drawn(size=(41, 30))).status_code == 201
    assert "Delete one" in send(client, drawn(size=(42, 30))).json()["detail"]
    assert send(signed_in(app, "Bob"), drawn(size=(42, 30))).status_code == 201


def test_only_their_owner_sees_the_list_and_deletes(app: FastAPI) -> None:
    owner, other = signed_in(app, "Ada"), signed_in(app, "Bob")
    address = send(owner, drawn()).json()["address"]
    assert address in owner.get("/uploads").text
    assert address not in other.get("/uploads").text
    assert other.post(f"{address}/delete").status_code == 404
    assert signed_in(app, "Hedy", "admin").post(f"{address}/delete").status_code == 404
    assert visitor(app).get(address).status_code == 200
    assert owner.post(f"{address}/delete").status_code == 303
    assert visitor(app).get(address).status_code == 404


def test_a_picture_that_stands_in_a_nugget_stays(app: FastAPI) -> None:
    author = signed_in(app, "Ada")
    address = send(author, drawn()).json()["address"]
    author.post("/write", data={"title": "With a picture"})
    before = author.get("/write/with-a-picture/file").text
    text = f'{before}\n![A grey square]({address} "Grey")\n'
    author.post("/write/with-a-picture", data={"text": text, "base": mark_of(before)})
    assert f'<img src="{address}" alt="A grey square" loading="lazy">' in author.get("/write/with-a-picture/read").text
    assert author.post(f"{address}/delete").status_code == 409


@pytest.mark.parametrize("name", ["../../app.py", "x.png", "0" * 64 + ".svg", "0" * 64 + ".png", "A" * 64 + ".png"])
def test_other_names_lead_nowhere(app: FastAPI, name: str) -> None:
    assert visitor(app).get(f"/uploads/{name}").status_code == 404


def test_an_address_with_another_ending_is_not_the_picture(app: FastAPI) -> None:
    address = send(signed_in(app, "Ada"), drawn()).json()["address"]
    assert visitor(app).get(address.replace(".png", ".jpg")).status_code == 404


def test_pictures_from_elsewhere_are_not_loaded() -> None:
    assert "<img" not in desk.tidy("") + _shown("![x](https://evil.example/x.png)")


def _shown(body: str) -> str:
    from lapwing.web.school.nugget import read
    from lapwing.web.school.page import page_of

    return page_of(read(f"{desk.beginning('one-two', 'x')}\n{body}\n")).screens[-1].html
