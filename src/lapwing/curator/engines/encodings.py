"""Encodings of CSV files that the owner names: in each of them, any bytes are valid text.

DuckDB reads UTF-8. Its own decoders of other encodings stop at some bytes, which would reveal that a record has them.
So a file in another encoding is copied as UTF-8 for each question. What one byte (of UTF-16, one unit of two) becomes
depends on nothing but its neighbours in the same character. Commas, quotes and line ends stay what they are.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import threading
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import IO, Any, Self, cast

from lapwing.errors import InvalidParameter

PIECE = 1 << 20
"""Bytes that are decoded at once."""
_CONTROLS = "lapwing-controls"


def _controls(error: UnicodeError) -> tuple[str, int]:
    """A byte without a character is the control character of its number, as browsers have it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error(_CONTROLS, _controls)


@dataclass(frozen=True, slots=True)
class Encoding:
    """A rule that makes text of any bytes."""

    name: str
    codec: str
    errors: str = "replace"

    def decoder(self) -> codecs.IncrementalDecoder:
        """Decodes one piece after another."""
        return codecs.getincrementaldecoder(self.codec)(errors=self.errors)

    def opened(self, path: Path) -> IO[str]:
        """A file as text, with its line ends as they are."""
        return io.TextIOWrapper(cast(Any, _bytes(path)), encoding=self.codec, errors=self.errors, newline="")

    def text(self, value: bytes) -> str:
        """All of some bytes."""
        return self.decoder().decode(value, final=True)


UTF_8 = Encoding("utf-8", "utf-8-sig")
LATIN_1 = Encoding("latin-1", "latin-1")
WINDOWS = Encoding("windows-1252", "cp1252", _CONTROLS)
UTF_16 = Encoding("utf-16", "utf-16")
ENCODINGS = {encoding.name: encoding for encoding in (UTF_8, LATIN_1, WINDOWS, UTF_16)}
_ALSO = {"utf8": UTF_8, "latin1": LATIN_1, "iso-8859-1": LATIN_1, "cp1252": WINDOWS, "utf16": UTF_16}


def encoding_of(name: object) -> Encoding:
    """The encoding that a word of `lw.open` stands for."""
    if name is None:
        return UTF_8
    known = {**ENCODINGS, **_ALSO}.get(name.lower()) if isinstance(name, str) else None
    if known is None:
        hint = f"Write one of {', '.join(map(repr, ENCODINGS))}, or save the file as UTF-8."
        raise InvalidParameter("encoding", name, "is not an encoding that can be read here", hint)
    return known


@dataclass(frozen=True, slots=True)
class EncodedFile:
    """A CSV that is not in UTF-8, with what its first line said when it was opened."""

    path: Path
    encoding: Encoding
    names: tuple[str, ...]
    delimiter: str
    skipped: int = 0
    """Empty lines before that with the names."""


@dataclass(slots=True)
class Copies:
    """UTF-8 copies of files for one session, in a folder that nobody else can read, removed in the end."""

    _folder: TemporaryDirectory[str] | None = None
    _number: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._folder is not None:
            self._folder.cleanup()

    def stop(self) -> None:
        """Make whoever copies now stop."""
        self._stopped.set()

    def of(self, source: IO[bytes], encoding: Encoding) -> Path:
        """A copy of a file. It reads rows, so a failure is one of the engine: no content makes it fail, a disk may."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="lapwing-", ignore_cleanup_errors=True)
        self._number += 1
        into = Path(self._folder.name) / f"{self._number}.csv"
        decoder, is_last = encoding.decoder(), False
        with into.open("xb") as target:
            while not is_last:
                if self._stopped.is_set():
                    raise InterruptedError
                piece = source.read(PIECE)
                is_last = not piece
                target.write(decoder.decode(piece, final=is_last).encode())
        return into


def _bytes(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path) if is_packed(path) else path.open("rb"))


def is_csv(source: object) -> bool:
    """Whether a source is a file of text, by its name."""
    is_name = isinstance(source, str | os.PathLike)
    return is_name and bool(re.search(r"\.(csv|tsv|txt)(\.gz)?/?$", str(source), flags=re.IGNORECASE))


def is_packed(path: Path) -> bool:
    """Whether a file is packed with gzip, by its first two bytes: what it is called may say otherwise."""
    try:
        with path.open("rb") as file:
            return file.read(2) == b"\x1f\x8b"
    except OSError:
        return False  # whoever reads it says that it is not there


def source_of(file: EncodedFile) -> IO[bytes]:
    """The bytes of a file, to be read from its beginning."""
    return _bytes(file.path)
