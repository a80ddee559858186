"""A statement of an engine: its error messages stay inside, and Ctrl-C works while it runs.

An error message may quote a record. The statement runs in a thread beside the main thread, which waits, so an interrupt
is not a failure. It is raised as a `BaseException`, so `contained` lets it pass and nothing that counts failures of
engines counts it. What was charged stays charged, and the same key= asks again for free."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from lapwing.curator.show.progress import Fraction, shown_now
from lapwing.errors import EngineFailed, EngineUnreachable, LapwingError

if TYPE_CHECKING:
    from lapwing.curator.engines.compiler import Relation

Result = TypeVar("Result")
_SAID: WeakKeyDictionary[EngineFailed, str] = WeakKeyDictionary()
"""What the engine said, for the owner. Not in the error itself: errors are printed, logged and sent about."""
EVERY = 0.1
"""Seconds between two looks, at a signal and at how far the engine is."""
PATIENCE = 1.5
"""Seconds that an engine has to stop once it was asked to. After that nobody waits for it any more."""


def contained(engine: str, work: Callable[[], Result]) -> Result:
    """The result, or `EngineFailed` without the engine's error: neither as its cause nor as its context."""
    try:
        return work()
    except LapwingError:
        raise
    except Exception as error:
        said = written(error)
    failure = EngineFailed(engine)  # raised here, where Python no longer attaches what was caught above
    _SAID[failure] = said
    raise failure


def reached(engine: str, work: Callable[[], Result]) -> Result:
    """The result of a step before any row is read, or `EngineUnreachable` without the engine's error."""
    try:
        return work()
    except LapwingError:
        raise
    except Exception:
        pass  # as above
    raise EngineUnreachable(engine)


def answered(
    engine: str,
    work: Callable[[], Result],
    cancel: Callable[[], object],
    *,
    fraction: Fraction | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Result:
    """The result of a statement that is waited for, or `EngineFailed`."""
    return contained(engine, partial(waited, work, cancel, fraction=fraction, stopped=stopped))


def unchanged(engine: str, relation: Relation, types: Mapping[str, str]) -> None:
    """Refuse a table whose columns are not what they were when it was opened."""
    if dict(types) != dict(relation.types):
        raise EngineUnreachable(engine)


def written(error: Exception) -> str:
    """What is known about a failure, for the owner of the data and nobody else."""
    known = _SAID.pop(error, None) if isinstance(error, EngineFailed) else None
    return "".join(traceback.format_exception(error)) if known is None else known


class Stopped(KeyboardInterrupt):
    """Somebody stopped a question from another thread, as Ctrl-C does it from the keyboard."""


def waited(
    work: Callable[[], Result],
    cancel: Callable[[], object] = lambda: None,
    *,
    fraction: Fraction | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Result:
    """The result of a statement; an interrupt calls `cancel`, until the statement has ended, and goes on up.

    Only the main thread hears signals, so only there a second thread is needed: DuckDB, called in the main thread,
    turns an interrupt into an error of its own. `stopped` tells that somebody else interrupted the statement on
    purpose: then its error is theirs.
    """
    if stopped is not None and stopped():
        raise Stopped
    hears = threading.current_thread() is threading.main_thread()
    try:
        result = _beside(work, cancel, fraction) if hears else work()
    except Exception:
        if stopped is None or not stopped():
            raise
    else:
        return result
    raise Stopped


@contextmanager
def closing(engine: str, close: Callable[[], object]) -> Iterator[None]:
    """Close a session in the end. After an interrupt an engine that does not listen is not waited for."""
    try:
        yield
    except Exception:
        contained(engine, partial(waited, close))
        raise
    except BaseException:
        _within(close)
        raise
    else:
        contained(engine, partial(waited, close))


def _beside(work: Callable[[], Result], cancel: Callable[[], object], fraction: Fraction | None) -> Result:
    outcome: list[tuple[bool, Any]] = []
    ended, context, bar = threading.Event(), copy_context(), shown_now()

    def run() -> None:
        try:
            outcome.append((True, context.run(work)))
        except BaseException as error:
            outcome.append((False, error))
        finally:
            ended.set()

    thread = threading.Thread(target=run, name="lapwing statement", daemon=True)
    try:
        thread.start()
        while not ended.wait(EVERY):
            bar.tick(fraction)
    except BaseException:
        _stop(cancel, ended)
        outcome.clear()  # what the engine said is not carried up by the frames of an interrupt
        raise
    [(is_result, value)] = outcome
    outcome.clear()  # an error leads to this frame, and this frame must not lead to the error
    if is_result:
        return value  # type: ignore[no-any-return]
    try:
        raise value
    finally:
        del value


def _stop(cancel: Callable[[], object], ended: threading.Event) -> None:
    """Ask the engine to stop, again and again: a statement may just not have begun."""
    for _ in range(round(PATIENCE / EVERY)):
        _within(cancel)
        if ended.wait(EVERY):
            return


def _within(what: Callable[[], object]) -> None:
    """Do it, but do not wait for it for ever, and whatever it says is of no interest any more."""

    def quietly() -> None:
        with suppress(Exception):
            what()

    thread = threading.Thread(target=quietly, name="lapwing ending", daemon=True)
    thread.start()
    thread.join(PATIENCE)
