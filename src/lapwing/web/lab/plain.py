"""Turn an uploaded file into UTF-8 text: unpacked, decoded and checked in one pass, a piece at a time."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from lapwing.curator.engines.encodings import encoding_of
from lapwing.errors import LapwingError
from lapwing.web.lab.engine import readable
from lapwing.web.lab.jobs import Progress

PIECE = 1 << 20
RATIO, HARMLESS = 250, 64 << 20
"""A packed file may grow by this factor; text of people does not. Small ones may grow more."""
LONGEST_HEADER = 1 << 20
_OTHERS = {
    b"PK\x03\x04": "This is a zip archive, or a spreadsheet such as .xlsx. Open it and save the sheet as CSV.",
    b"\xd0\xcf\x11\xe0": "This is an old Excel file. Open it and save the sheet as CSV.",
    b"SQLite format 3": "This is a SQLite database. Export one table of it as CSV.",
    b"%PDF": "This is a PDF. Bring the table behind it, as CSV or Parquet.",
    b"\xfd7zXZ": "This is packed with xz. Unpack it, or pack it with gzip.",
    b"BZh": "This is packed with bzip2. Unpack it, or pack it with gzip.",
    b"\x28\xb5\x2f\xfd": "This is packed with zstd. Unpack it, or pack it with gzip.",
    b"ARROW1": "This is an Arrow or Feather file. Save the table as Parquet or CSV.",
    b"\x89PNG": "This is a picture. Bring a table: CSV, TSV or Parquet.",
    b"\xff\xfe\x00\x00": "This is UTF-32 text. Save it as UTF-8.",
}


_EMPTY_LINES = re.compile(r"([ \t]*(\r\n|\n|\r))*")


class Unreadable(LapwingError):
    """A file that is no table for us. The words say what to bring instead."""


class NotUtf8(Unreadable):
    """Text in another encoding: only its owner knows which."""


def is_parquet(path: Path) -> bool:
    """By its first bytes."""
    return _head(path).startswith(b"PAR1")


def is_packed(path: Path) -> bool:
    """Whether it is packed with gzip."""
    return _head(path).startswith(b"\x1f\x8b")


def is_utf_16(path: Path) -> bool:
    """Whether it begins with the mark of UTF-16."""
    return _head(path).startswith((b"\xff\xfe", b"\xfe\xff"))


def refuse_others(path: Path) -> None:
    """Name what it is, if it is something that we know and do not read."""
    head = _head(path)
    if not head:
        raise Unreadable("The file is empty. Bring one with a line of names and at least one row below it.")
    for start, words in _OTHERS.items():
        if head.startswith(start):
            raise Unreadable(words)


def unpacked(path: Path, into: Path, most: int, progress: Progress, start: float, end: float) -> Path:
    """What was packed, in a file of its own; no more than `most` bytes of it."""
    total, packed, share = 0, path.stat().st_size, progress.part(start, end)
    try:
        with path.open("rb") as raw, gzip.GzipFile(fileobj=raw) as source, into.open("wb") as target:
            while piece := source.read(PIECE):
                total += len(piece)
                share(raw.tell() / packed)
                if total > most or (total > HARMLESS and total > RATIO * packed):
                    grows = "It grows far more than text does. " if total <= most else ""
                    raise Unreadable(
                        f"Unpacked, the file is larger than {readable(min(total, most))}, so we stopped. {grows}"
                        "Bring fewer columns or rows, or unpack it yourself and look at it first."
                    )
                target.write(piece)
    except (OSError, EOFError, zlib.error):
        raise Unreadable("The file is packed with gzip, and damaged. Pack it again and send it once more.") from None
    return into


def as_utf8(path: Path, into: Path, encoding: str, progress: Progress, start: float, end: float) -> Path:
    """The same file if it is UTF-8, or what it says in UTF-8. A sign that is none in its encoding is an error."""
    size, share, wide = path.stat().st_size, progress.part(start, end), is_utf_16(path)
    if encoding and not wide:
        decoder = encoding_of(encoding).decoder()
    else:
        decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8")(errors="strict")
    rewritten = wide or bool(encoding)
    done = 0
    target = into.open("w", encoding="utf-8", newline="") if rewritten else None
    try:
        for piece in _pieces(path):
            done += len(piece)
            share(done / size)
            if b"\0" in piece and not wide:
                raise Unreadable("This is neither text nor a Parquet file. Bring a table as CSV, TSV or Parquet.")
            decoded = decoder.decode(piece)
            if target:
                target.write(decoded)
        decoder.decode(b"", final=True)
    except UnicodeError:
        if wide:
            raise Unreadable("The file begins like UTF-16, but it is not UTF-16. Save it as UTF-8.") from None
        raise NotUtf8(
            "The file is not UTF-8 text. Older programs write Latin-1 (Windows-1252): we can read it as that."
        ) from None
    finally:
        if target:
            target.close()
    return into if rewritten else path


def first_line(path: Path) -> tuple[str, int]:
    """The line with the names, and how many empty lines stand before it."""
    with path.open("rb") as file:
        start = file.read(LONGEST_HEADER + 1)
    text = start.decode("utf-8-sig", "ignore")
    empty = _EMPTY_LINES.match(text)
    before = empty[0] if empty else ""
    rest, skipped = text[len(before) :], max(before.count("\n"), before.count("\r"))
    inside = False
    for place, sign in enumerate(rest):
        if sign == '"':
            inside = not inside
        elif sign in "\r\n" and not inside:
            return rest[:place], skipped
    if not rest.strip():
        raise Unreadable("The file has only empty lines. Bring a table with names in its first line.")
    if len(start) > LONGEST_HEADER:
        raise Unreadable(
            "The first line does not end within a megabyte. It should have the names of the columns; "
            "look for a quotation mark in it that is never closed."
        )
    if inside:
        raise Unreadable("The first line opens a quotation mark and never closes it. Close it, or leave it out.")
    return rest, skipped


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64)
