"""The files that browsers load: built once, with names that change with their content."""

from __future__ import annotations

import gzip
import json
import mimetypes
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from lapwing.errors import LapwingError

STATIC = Path(str(files("lapwing") / "web" / "static"))
SERVER_ONLY = {"katex.js", "manifest.json", "needed.json"}
_KINDS = {
    ".mjs": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".woff2": "font/woff2",
}
_PACKED = {".js", ".mjs", ".wasm", ".css", ".svg", ".json", ".txt"}


class MissingAssets(LapwingError):
    """The browser's files were not built: a checkout needs `make assets` once, a wheel has them."""

    def __init__(self) -> None:
        super().__init__("the files for browsers are not built. In a checkout run `make assets`.")


class Assets:
    """Addresses by plain name, and the bytes behind them, ready to be sent."""

    def __init__(self, folder: Path = STATIC) -> None:
        self.folder = folder
        if not (folder / "manifest.json").exists():
            raise MissingAssets

    @cached_property
    def names(self) -> dict[str, str]:
        """From `page.js` to `page-3F2A.js`."""
        names: dict[str, str] = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
        return names

    def address(self, name: str) -> str:
        """Where a browser finds it."""
        return f"/static/{self.names[name]}"

    @cached_property
    def _needed(self) -> dict[str, list[str]]:
        needed: dict[str, list[str]] = json.loads((self.folder / "needed.json").read_text(encoding="utf-8"))
        return needed

    def with_needed(self, *names: str) -> list[str]:
        """Scripts and all that they import at once, each once: a page that names them saves the browser a way there."""
        files = [file for name in names for file in (self.names[name], *self._needed[name])]
        return [f"/static/{file}" for file in dict.fromkeys(files)]

    @cached_property
    def widgets(self) -> dict[str, str]:
        """Addresses of widgets by the name of their element."""
        return {f"lw-{Path(name).stem}": self.address(name) for name in self.names if name.startswith("widgets/")}

    @cached_property
    def sent(self) -> dict[str, tuple[bytes, bytes | None, str]]:
        """Everything that may be asked for: bytes, the same packed, and its kind."""
        sent = {}
        for path in sorted(self.folder.rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if not path.is_file() or name in SERVER_ONLY:
                continue
            content = path.read_bytes()
            kind = _KINDS.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
            packed = gzip.compress(content, 9, mtime=0) if path.suffix in _PACKED else None
            sent[name] = (content, packed, kind)
        return sent
