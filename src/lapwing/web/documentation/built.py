"""The files of the built documentation, as browsers get them."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

FOLDER = Path(str(files("lapwing") / "web" / "documentation" / "site"))
FIRST = "index.html"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".ipynb": "application/x-ipynb+json",
    ".svg": "image/svg+xml",
}
_KEPT = 256
"""Files that stay in memory; the site has a few hundred pages."""


@dataclass(frozen=True, slots=True)
class BuiltFile:
    """One file, plain and packed, with its fingerprint."""

    content: bytes
    packed: bytes
    kind: str
    mark: str


def is_built(folder: Path) -> bool:
    """Whether `make docs` has run."""
    return (folder / FIRST).is_file()


def listing(folder: Path) -> Mapping[str, Path]:
    """Every file by its address. Nothing else is ever opened, whatever is asked for."""
    return _listing(folder, (folder / FIRST).stat().st_mtime_ns)


def read(path: Path) -> BuiltFile:
    """A file of the listing, read anew when it was built anew."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _listing(folder: Path, _: int) -> Mapping[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


@lru_cache(maxsize=_KEPT)
def _read(path: Path, _: int) -> BuiltFile:
    content = path.read_bytes()
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    mark = f'"{hashlib.sha256(content).hexdigest()[:20]}"'
    return BuiltFile(content, gzip.compress(content, 6, mtime=0), kind, mark)
