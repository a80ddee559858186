"""Uploaded videos and captions: recognised by their first bytes and stored unchanged. Nothing in them is decoded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lapwing.web.authoring.uploads import NoPicture, Upload

LARGEST, LARGEST_CAPTIONS = 16 << 20, 200 << 10
"""Bytes of one video, and of its captions."""
QUOTA = {"learner": (4, 40 << 20), "instructor": (60, 600 << 20), "admin": (60, 600 << 20)}
"""How many videos and captions somebody may have, and how many bytes all together."""
KINDS = {"mp4": "video/mp4", "webm": "video/webm", "vtt": "text/vtt; charset=utf-8"}
"""By the ending of its name, how a file is served."""
_BRANDS = re.compile(rb"iso[m2-9]|mp4[12]|avc1|M4V |dash|MSNV")
_BOXES = {b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"moof", b"mfra", b"sidx", b"styp", b"uuid"}
"""What may stand at the top of an MP4. Only the names and sizes of these are read."""
_EBML, _SEGMENT, _DOCTYPE = b"\x1aE\xdf\xa3", b"\x18S\x80g", b"\x42\x82"
_NO_VIDEO = "This is not an MP4 or WebM video. Save it as one of these, with H.264 or VP9 so that all browsers play it."


class NoVideo(NoPicture):
    """What was sent cannot be used, and what to send instead."""


class Film(Upload):
    """A video or its captions."""


def video(content: bytes) -> Film:
    """A video, if its container is one from the first byte to the last."""
    if not content:
        raise NoVideo("No video arrived. Choose a file.")
    if len(content) > LARGEST:
        raise NoVideo(f"The video has more than {LARGEST >> 20} MB. Make it shorter or smaller, or split it in two.")
    if content[4:8] == b"ftyp":
        _check_mp4(content)
        return Film("mp4", content)
    if content.startswith(_EBML):
        _check_webm(content)
        return Film("webm", content)
    raise NoVideo(_NO_VIDEO)


def _check_mp4(content: bytes) -> None:
    if not _BRANDS.fullmatch(content[8:12]):
        raise NoVideo(_NO_VIDEO)
    names = [name for name, _ in _boxes(content)]
    if not {b"moov", b"mdat"} <= set(names):
        raise NoVideo("The video is not whole. Save it again.")


def _boxes(content: bytes) -> Iterator[tuple[bytes, int]]:
    """The names and sizes of what stands at the top; together they are the whole file, or it is refused."""
    place = 0
    while place < len(content):
        size, name = int.from_bytes(content[place : place + 4], "big"), content[place + 4 : place + 8]
        if size == 1:
            size = int.from_bytes(content[place + 8 : place + 16], "big")
        elif size == 0:
            size = len(content) - place
        if name not in _BOXES or size < 8 or place + size > len(content):
            raise NoVideo("The video is damaged, or something follows it. Save it again.")
        yield name, size
        place += size


def _check_webm(content: bytes) -> None:
    """The header of a WebM: it says so itself, and a segment follows."""
    width = 9 - content[4].bit_length() if len(content) > 4 and content[4] else 0
    size = int.from_bytes(content[4 : 4 + width], "big") & ((1 << 7 * width) - 1)
    head = content[4 + width : 4 + width + size]
    if not width or size > 200 or _DOCTYPE + b"\x84webm" not in head:
        raise NoVideo(_NO_VIDEO)
    if content[4 + width + size :][:4] != _SEGMENT:
        raise NoVideo("The video is not whole. Save it again.")


def captions(content: bytes) -> Film:
    """Captions as WebVTT, with one kind of line end."""
    hint = "Captions are a WebVTT file: its first line is WEBVTT."
    if len(content) > LARGEST_CAPTIONS:
        raise NoVideo(f"The captions have more than {LARGEST_CAPTIONS >> 10} kB. Send those of one short video.")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise NoVideo(f"{hint} Save it as UTF-8.") from None
    if not re.match(r"WEBVTT(?:[ \t\n]|$)", text) or "-->" not in text or "\0" in text:
        raise NoVideo(hint)
    if re.search(r"^STYLE[ \t]*$", text, re.MULTILINE):
        raise NoVideo("The captions bring styles of their own. Delete the STYLE blocks.")
    return Film("vtt", text.encode())


def chosen(header: str, size: int, most: int) -> tuple[int, int] | None:
    """The first and the last byte that a Range header asks for, at most `most` bytes; nothing if there are none.

    >>> chosen("bytes=0-", 5000, 1000), chosen("bytes=-10", 5000, 1000), chosen("bytes=9000-", 5000, 1000)
    ((0, 999), (4990, 4999), None)
    """
    match = re.fullmatch(r"bytes=(\d{0,15})-(\d{0,15})", header.strip())
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        first, last = max(0, size - int(match[2])), size - 1
    else:
        first, last = int(match[1]), min(int(match[2] or size - 1), size - 1)
    return (first, min(last, first + most - 1)) if first <= last and first < size else None
