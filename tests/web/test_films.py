"""Videos: what is one is taken as it is and served in parts; what only says so is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cases import together
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, open_school, signed_in, site_of, visitor

from lapwing.web.authoring import desk, films
from lapwing.web.authoring.films import NoVideo
from lapwing.web.school.nugget import InvalidNugget, read
from lapwing.web.school.page import page_of
from lapwing.web.school.video import read_video
from lapwing.web.service.headers import POLICY

VTT = b"\xef\xbb\xbfWEBVTT\r\n\r\n00:00.000 --> 00:02.000\r\nA coin is tossed.\r\n"


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


def box(name: bytes, content: bytes = b"") -> bytes:
    return (8 + len(content)).to_bytes(4, "big") + name + content


def mp4(brand: bytes = b"isom", frames: bytes = b"frames" * 500) -> bytes:
    return box(b"ftyp", brand + b"\0\0\2\0isommp41") + box(b"moov", b"\0" * 100) + box(b"mdat", frames)


def webm(kind: bytes = b"webm", follows: bytes = b"\x18S\x80g") -> bytes:
    head = b"\x42\x86\x81\x01" + b"\x42\x82" + bytes([0x80 | len(kind)]) + kind
    return (
        b"\x1aE\xdf\xa3" + bytes([0x80 | len(head)]) + head + follows + b"\x01\xff\xff\xff\xff\xff\xff\xff" + b"x" * 50
    )


def send(client: TestClient, video: bytes | None = None, captions: bytes | None = None, **more: Any) -> Any:
    files = {"video": ("film.exe", video), "captions": ("film.txt", captions)}
    return client.post(
        "/uploads/videos", files={name: one for name, one in files.items() if one[1] is not None}, **more
    )


@pytest.mark.parametrize(
    ("content", "ending"), [(mp4(), "mp4"), (mp4(b"mp42"), "mp4"), (webm(), "webm")], ids=["MP4", "another MP4", "WebM"]
)
def test_a_video_is_served_as_nothing_but_a_video(app: FastAPI, content: bytes, ending: str) -> None:
    address = send(signed_in(app, "Ada"), content).json()["video"]
    assert address.endswith(f".{ending}")
    answer = visitor(app).get(address)
    assert (answer.status_code, answer.content) == (200, content)
    assert answer.headers["content-type"] == f"video/{ending}"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in ", ".join(answer.headers.get_list("content-security-policy"))
    assert visitor(app).get(address, headers={"if-none-match": answer.headers["etag"]}).status_code == 304
    assert "media-src 'self'" in POLICY


@pytest.mark.parametrize(
    ("asked", "first", "last"), [("bytes=0-9", 0, 9), ("bytes=3000-", 3000, None), ("bytes=-7", -7, None)]
)
def test_a_part_of_a_video_is_a_part(app: FastAPI, asked: str, first: int, last: int | None) -> None:
    content = mp4()
    address = send(signed_in(app, "Ada"), content).json()["video"]
    part = visitor(app).get(address, headers={"range": asked})
    assert part.status_code == 206
    expected = content[first:] if last is None else content[first : last + 1]
    assert part.content == expected
    begin = first % len(content)
    assert part.headers["content-range"] == f"bytes {begin}-{begin + len(expected) - 1}/{len(content)}"


def test_what_lies_beyond_a_video_is_not_there_and_strange_wishes_get_all_of_it(app: FastAPI) -> None:
    content = mp4()
    address = send(signed_in(app, "Ada"), content).json()["video"]
    beyond = visitor(app).get(address, headers={"range": f"bytes={len(content)}-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(content)}")
    for headers in ({"range": "bytes=0-1,4-5"}, {"range": "lines=1-2"}, {"range": "bytes=0-1", "if-range": '"other"'}):
        assert visitor(app).get(address, headers=headers).content == content


def test_nobody_holds_more_than_a_part_of_a_large_video(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lapwing.web.authoring.routes.uploads.AT_ONCE", 1000)
    content = mp4()
    address = send(signed_in(app, "Ada"), content).json()["video"]
    assert visitor(app).get(address).content == content
    assert visitor(app).get(address, headers={"range": "bytes=0-"}).headers["content-range"].startswith("bytes 0-999/")


REFUSED = {
    "nothing": b"",
    "html": b"<!doctype html><script>alert(1)</script>",
    "html that says it is a film": b"\0\0\0\x18ftyphtml" + b"<script>alert(1)</script>",
    "a sound": mp4(b"M4A "),
    "a picture in the same container": mp4(b"avif"),
    "QuickTime": mp4(b"qt  "),
    "only its first bytes": mp4()[:24],
    "half of one": mp4()[:-100],
    "with something behind it": mp4() + b"<script>alert(1)</script>",
    "with a box nobody knows": mp4() + box(b"evil", b"x"),
    "boxes that never end": b"\0\0\0\x18ftypisom" + b"\0" * 12 + b"\0\0\0\x04mdat",
    "Matroska": webm(b"matroska"),
    "a WebM without a segment": webm(follows=b"\0\0\0\0"),
    "a WebM whose header never ends": b"\x1aE\xdf\xa3\x08" + b"\xff" * 40,
    "a header of nothing": b"\x1aE\xdf\xa3\x00",
    "AVI": b"RIFF\0\0\0\0AVI " + b"x" * 100,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_video_is_refused_with_words(name: str) -> None:
    with pytest.raises(NoVideo, match=r"\.$"):
        films.video(REFUSED[name])


def test_every_beginning_of_a_video_is_refused_or_a_video_and_never_an_error() -> None:
    for whole in (mp4(frames=b"x" * 20), webm()):
        for length in range(len(whole)):
            try:
                assert films.video(whole[:length]).kind == "webm"
            except NoVideo:
                continue


def test_captions_are_text_and_nothing_else(app: FastAPI) -> None:
    told = send(signed_in(app, "Ada"), captions=VTT).json()
    answer = visitor(app).get(told["captions"])
    assert answer.headers["content-type"] == "text/vtt; charset=utf-8"
    assert answer.text.startswith("WEBVTT\n\n00:00.000 -->")
    for wrong in (
        b"",
        b"hello",
        b"WEBVTTX\n1 --> 2",
        b"\xff\xfeW",
        VTT + b"\nSTYLE\n::cue { color: red }\n",
        VTT * 9000,
    ):
        with pytest.raises(NoVideo):
            films.captions(wrong)


def test_a_refusal_says_why_to_a_person_and_to_a_script(app: FastAPI) -> None:
    ada = signed_in(app, "Ada")
    answer = send(ada, b"hello")
    assert (answer.status_code, "not an MP4 or WebM" in answer.json()["detail"]) == (422, True)
    page = send(ada, b"hello", headers=PERSON)
    assert (page.status_code, 'role="alert"' in page.text) == (422, True)
    assert "file: /uploads/" in (send(ada, mp4(), VTT, headers=PERSON), ada.get("/uploads"))[1].text


def test_strangers_send_nothing_and_nobody_more_than_their_share(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    assert send(visitor(app), mp4()).status_code == 401
    monkeypatch.setitem(films.QUOTA, "learner", (2, 10_000))
    ada = signed_in(app, "Ada")
    assert send(ada, mp4(), VTT).status_code == 201
    assert send(ada, mp4(), VTT).status_code == 201, "the same again takes no room"
    assert "Delete one" in send(ada, webm()).json()["detail"]
    with site_of(app).database.reading() as db:
        from lapwing.web.authoring.store import uploads

        assert len(uploads.mine(db, 1)) == 2
    monkeypatch.setattr(films, "LARGEST", 1000)
    assert "more than" in send(ada, mp4()).json()["detail"]


def fence(**more: str) -> str:
    told = {"file": f"/uploads/{'a' * 64}.mp4", "captions": f"/uploads/{'b' * 64}.vtt", "about": "Coins fall."} | more
    return "".join(f"{name}: {value}\n" for name, value in told.items() if value)


def test_a_video_in_a_nugget_waits_until_somebody_wants_it() -> None:
    poster = f"/uploads/{'c' * 64}.png"
    text = f"{desk.beginning('one-two', 'x')}\n```video\n{fence(poster=poster, about='A <b> & coins.')}```\n"
    shown = page_of(read(text)).screens[-1].html
    assert f'<video controls playsinline preload="metadata" src="/uploads/{"a" * 64}.mp4" poster="{poster}"' in shown
    assert f'<track kind="captions" src="/uploads/{"b" * 64}.vtt" srclang="en" label="Captions" default>' in shown
    assert "autoplay" not in shown
    assert "<figcaption>A &lt;b&gt; &amp; coins.</figcaption>" in shown
    assert "<track" not in page_of(read(text.replace(f"/uploads/{'b' * 64}.vtt", "none"))).screens[-1].html


@together(
    "more",
    [
        {"file": "https://evil.example/x.mp4"},
        {"file": "javascript:alert(1)"},
        {"captions": ""},
        {"captions": "later"},
        {"about": ""},
        {"poster": "https://evil.example/x.png"},
        {"language": '"><script>'},
        {"autoplay": "yes"},
    ],
)
def test_a_video_from_elsewhere_or_without_words_is_refused(more: dict[str, str]) -> None:
    with pytest.raises(InvalidNugget):
        read_video(fence(**more))
