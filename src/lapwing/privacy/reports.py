"""Error messages of engines: a file that only its owner can read, with one line of JSON for each failure."""

from __future__ import annotations

import json
import os
from pathlib import Path

LONGEST = 20_000
"""Characters of one message that are kept."""


def keep(file: Path | None, number: int, said: str) -> None:
    """Add a message, durably. It is a help for the owner: where it cannot be written the breaker trips all the same."""
    if file is None:
        return
    line = json.dumps({"number": number, "said": said[:LONGEST]}) + "\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(file, flags, 0o600)
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(handle, 0o600)
            os.write(handle, line.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError:
        return


def kept(file: Path | None) -> dict[int, str]:
    """The messages by the entries of their failures; the last one, where a crash left two."""
    try:
        lines = [] if file is None else file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    messages = {}
    for line in lines:
        try:
            entry = json.loads(line)
            messages[int(entry["number"])] = str(entry["said"])
        except (ValueError, TypeError, LookupError):
            continue  # a torn line
    return messages
