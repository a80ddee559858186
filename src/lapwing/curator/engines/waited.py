"""Waiting for an engine so that Ctrl-C is heard: the statement runs beside, and the main thread only waits.

An interrupt is nobody's failure: it is raised as a `BaseException`, so `contained` lets it pass and nothing that counts
failures of engines counts it. What was charged stays charged, and the same key= asks again for free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any, TypeVar

from lapwing.curator.engines.contained import contained
from lapwing.curator.show.progress import Fraction, shown_now

Result = TypeVar("Result")
EVERY = 0.1
"""Seconds between two looks, at a signal and at how far the engine is."""
PATIENCE = 1.5
"""Seconds that an engine has to stop once it was asked to. After that nobody waits for it any more."""


class Stopped(KeyboardInterrupt):
    """Somebody stopped a question from another thread, as Ctrl-C does it from the keyboard."""


def waited(
    work: Callable[[], Result],
    cancel: Callable[[], object] = lambda: None,
    *,
    fraction: Fraction | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Result:
    """The result of a statement; an interrupt calls `cancel`, until the statement has ended, and goes on up.

    Only the main thread hears signals, so only there a second thread is needed: DuckDB, called in the main thread,
    turns an interrupt into an error of its own. `stopped` tells that somebody else interrupted the statement on
    purpose: then its error is theirs.
    """
    if stopped():
        raise Stopped
    hears = threading.current_thread() is threading.main_thread()
    try:
        result = _beside(work, cancel, fraction) if hears else work()
    except Exception:
        if not stopped():
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
        contained(engine, lambda: waited(close))
        raise
    except BaseException:
        _within(close)
        raise
    else:
        contained(engine, lambda: waited(close))


def _beside(work: Callable[[], Result], cancel: Callable[[], object], fraction: Fraction | None) -> Result:
    found: list[tuple[bool, Any]] = []
    ended, context, bar = threading.Event(), copy_context(), shown_now()

    def run() -> None:
        try:
            found.append((True, context.run(work)))
        except BaseException as error:
            found.append((False, error))
        finally:
            ended.set()

    thread = threading.Thread(target=run, name="lapwing statement", daemon=True)
    try:
        thread.start()
        while not ended.wait(EVERY):
            bar.tick(fraction)
    except BaseException:
        _stop(cancel, ended)
        found.clear()  # what the engine said is not carried up by the frames of an interrupt
        raise
    [(is_result, value)] = found
    found.clear()  # an error leads to this frame, and this frame must not lead to the error
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
