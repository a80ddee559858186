"""What an engine says when it fails stays inside: it may quote a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lapwing.errors import EngineFailed, LapwingError

Result = TypeVar("Result")


def contained(engine: str, what: Callable[[], Result]) -> Result:
    """The result, or `EngineFailed` without the engine's error: neither as its cause nor as its context."""
    try:
        return what()
    except LapwingError:
        raise
    except Exception:
        pass  # raised below, where Python no longer attaches what was caught here
    raise EngineFailed(engine)
