"""A cache of texts that is limited by bytes, because strangers choose the size of entries."""

from __future__ import annotations

import threading
from collections.abc import Callable

_ENTRY = 500
"""Bytes of an entry besides its two texts, at most."""


class TextCache:
    """Texts by key, at most `most` bytes of both; what was asked for longest ago goes first."""

    def __init__(self, most: int) -> None:
        self.most, self.bytes = most, 0
        self._lock = threading.Lock()
        self._texts: dict[str, tuple[str, int]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def of(self, key: str, make: Callable[[], str]) -> str:
        """The text of this key: the one that is kept, or a new one, which is kept from now on."""
        with self._lock:
            entry = self._texts.pop(key, None)
            if entry is not None:
                self._texts[key] = entry  # what was used last stands last
                return entry[0]
        text = make()
        self._keep(key, text, _size(key) + _size(text) + _ENTRY)
        return text

    def _keep(self, key: str, text: str, size: int) -> None:
        if size > self.most // 4:
            return  # it would cost all the others their place
        with self._lock:
            _, old = self._texts.pop(key, ("", 0))
            self._texts[key] = (text, size)
            self.bytes += size - old
            while self.bytes > self.most:
                _, gone = self._texts.pop(next(iter(self._texts)))
                self.bytes -= gone


def _size(text: str) -> int:
    """Bytes of a text in memory: Python takes one, two or four for a sign."""
    return len(text) if text.isascii() else 4 * len(text)
