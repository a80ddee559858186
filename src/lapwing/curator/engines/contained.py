"""What an engine says when it fails stays inside: it may quote a record."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from lapwing.errors import EngineFailed, EngineUnreachable, LapwingError

if TYPE_CHECKING:
    from lapwing.curator.engines.compile import Relation

Result = TypeVar("Result")
_SAID: WeakKeyDictionary[EngineFailed, str] = WeakKeyDictionary()
"""What the engine said, for the owner. Not in the error itself: errors are printed, logged and sent about."""


def contained(engine: str, what: Callable[[], Result]) -> Result:
    """The result, or `EngineFailed` without the engine's error: neither as its cause nor as its context."""
    try:
        return what()
    except LapwingError:
        raise
    except Exception as error:
        said = written(error)
    failure = EngineFailed(engine)  # raised here, where Python no longer attaches what was caught above
    _SAID[failure] = said
    raise failure


def reached(engine: str, what: Callable[[], Result]) -> Result:
    """The result of a step before any row is read, or `EngineUnreachable` without the engine's error."""
    try:
        return what()
    except LapwingError:
        raise
    except Exception:
        pass  # as above
    raise EngineUnreachable(engine)


def unchanged(engine: str, relation: Relation, types: Mapping[str, str]) -> None:
    """Refuse a table whose columns are not what they were when it was opened."""
    if dict(types) != dict(relation.types):
        raise EngineUnreachable(engine)


def written(error: Exception) -> str:
    """What is known about a failure, for the owner of the data and nobody else."""
    known = _SAID.pop(error, None) if isinstance(error, EngineFailed) else None
    return "".join(traceback.format_exception(error)) if known is None else known
