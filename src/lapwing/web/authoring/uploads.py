"""Uploaded pictures: checked, decoded and encoded anew, so that nothing but the picture is left."""

from __future__ import annotations

import hashlib
import io
import threading
import warnings
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageOps

LARGEST = 2 << 20
"""Bytes of one picture."""
MOST_PIXELS, LONGEST_SIDE = 12_000_000, 6000
QUOTA = {"learner": (40, 20 << 20), "instructor": (400, 200 << 20), "admin": (400, 200 << 20)}
"""How many pictures somebody may have, and how many bytes all together."""
KINDS = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}
"""By the ending of its name, how a picture is served."""
_PACKED: dict[str, dict[str, Any]] = {
    "png": {"compress_level": 6},
    "jpg": {"quality": 88, "optimize": True},
    "webp": {"quality": 88, "method": 4},
}
_MOST_SCANS = 100
"""Passes of a JPEG over the whole picture; cameras make about ten, and each takes as long as the picture is large."""
_ONE = threading.Lock()
"""A large picture takes memory; two at a time would take twice as much."""


class NoPicture(ValueError):
    """What was sent cannot be used, and what to send instead."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of an author, as it is kept."""

    kind: str
    content: bytes

    @property
    def digest(self) -> str:
        """What it is known by."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def address(self) -> str:
        """Where it is found."""
        return f"/uploads/{self.digest}.{self.kind}"


@dataclass(frozen=True, slots=True)
class Clean(Upload):
    """A picture that was made anew."""

    width: int
    height: int


def kind_of(content: bytes) -> str | None:
    """What the first bytes say it is.

    >>> kind_of(b"GIF89a"), kind_of(b"<svg xmlns=")
    (None, None)
    """
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if content.startswith(b"\xff\xd8\xff"):
        return "jpg"
    return "webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def cleaned(content: bytes) -> Clean:
    """The same picture without where and when it was taken, and without anything that hides behind it."""
    if not content:
        raise NoPicture("No picture arrived. Choose a file.")
    if len(content) > LARGEST:
        raise NoPicture("The picture has more than 2 MB. Make it smaller.")
    kind = kind_of(content)
    if kind is None:
        raise NoPicture("This is not a PNG, JPEG or WebP. Save it as one of these. SVG is not accepted.")
    with _ONE:
        try:
            return _made_anew(content, kind)
        except NoPicture:
            raise
        except Exception:  # whatever a decoder stumbles over, the file is not what it says
            raise NoPicture("The picture is damaged. Save it again with another program.") from None


def _made_anew(content: bytes, kind: str) -> Clean:
    name = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP"}[kind]
    if kind == "jpg" and content.count(b"\xff\xda") > _MOST_SCANS:
        raise NoPicture("The picture is built up in too many steps. Save it again as a plain JPEG.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they warn of is measured here
        with Image.open(io.BytesIO(content), formats=[name]) as opened:
            _refuse_large(opened.width, opened.height)
            if getattr(opened, "n_frames", 1) != 1:
                raise NoPicture("Moving pictures are not accepted. Save one of its frames.")
            opened.load()
            turned = ImageOps.exif_transpose(opened)
    seen_through = turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info
    mode = "RGBA" if seen_through and kind != "jpg" else ("L" if turned.mode in ("1", "L") else "RGB")
    bare = Image.new(mode, turned.size)
    bare.paste(turned.convert(mode))
    out = io.BytesIO()
    bare.save(out, name, **_PACKED[kind])
    packed = out.getvalue()
    if len(packed) > LARGEST:
        raise NoPicture("The picture has more than 2 MB once it is unpacked and packed again. Make it smaller.")
    return Clean(kind, packed, *bare.size)


def _refuse_large(width: int, height: int) -> None:
    if width * height > MOST_PIXELS or max(width, height) > LONGEST_SIDE or min(width, height) < 1:
        raise NoPicture(
            f"The picture has {width} × {height} points. Keep to {MOST_PIXELS // 1_000_000} million, and to "
            f"{LONGEST_SIDE:,} a side."
        )
