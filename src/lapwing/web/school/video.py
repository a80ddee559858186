"""Videos of authors, written as YAML in a fence.

    ```video
    file: /uploads/….mp4
    captions: /uploads/….vtt
    about: A hundred people toss coins; the noisy share settles near the true one.
    poster: /uploads/….png
    ```

`captions: none` says that nobody speaks in it. It never starts by itself.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

import yaml

from lapwing.web.school import plain
from lapwing.web.school.nugget import InvalidNugget

_HINT = "Write file:, captions: (or none) and about:, and poster: if you like. Your videos have these lines ready."
_FILES = {
    "file": re.compile(r"/uploads/[0-9a-f]{64}\.(?:mp4|webm)"),
    "captions": re.compile(r"/uploads/[0-9a-f]{64}\.vtt|none"),
    "poster": re.compile(r"(?:/uploads/[0-9a-f]{64}\.(?:png|jpg|webp))?"),
}
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})?")
LONGEST = 500


@dataclass(frozen=True, slots=True)
class Video:
    """A video, what is said in it, and what one sees."""

    file: str
    captions: str
    about: str
    poster: str = ""
    language: str = "en"


def read_video(text: str, *, where: str = "video") -> Video:
    """The video of a fence."""
    try:
        fields = plain.load(text)
    except yaml.YAMLError:
        raise InvalidNugget(where, "a video is not YAML", _HINT) from None
    if not isinstance(fields, dict) or not {"file", "captions", "about"} <= set(fields) <= {
        *Video.__dataclass_fields__
    }:
        raise InvalidNugget(where, "a video needs file, captions and about", _HINT)
    words = {name: " ".join(str(value if value is not None else "").split()) for name, value in fields.items()}
    for name, pattern in _FILES.items():
        if not pattern.fullmatch(words.get(name, "")):
            why = f"the {name} of a video is {words.get(name, '')[:80]!r}"
            raise InvalidNugget(where, why, "Send it with the button Video, or copy its address from your videos.")
    if not words["about"] or len(words["about"]) > LONGEST:
        raise InvalidNugget(where, "a video does not say what one sees", f"Write about: up to {LONGEST} characters.")
    if not _LANGUAGE.fullmatch(words.get("language", "en")):
        raise InvalidNugget(where, f"language is {words['language'][:20]!r}", "Write a code such as en or de.")
    return Video(**words)


def video_html(video: Video) -> str:
    """It plays when somebody wants it; until then only its length and its first picture are loaded."""
    given = {name: html.escape(getattr(video, name), quote=True) for name in Video.__dataclass_fields__}
    poster = f' poster="{given["poster"]}"' if video.poster else ""
    track = f'<track kind="captions" src="{given["captions"]}" srclang="{given["language"]}" label="Captions" default>'
    return (
        f'<figure class="video"><video controls playsinline preload="metadata" src="{given["file"]}"{poster} '
        f'aria-label="{given["about"]}">{"" if video.captions == "none" else track}'
        f'<a href="{given["file"]}">Watch the video</a></video><figcaption>{given["about"]}</figcaption></figure>'
    )
