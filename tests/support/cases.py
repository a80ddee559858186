"""Many lines or numbers, one test: it tries all of them and tells every one that fails, in one message."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]


def together(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with each of the cases, as `pytest.mark.parametrize` does, but as one test.

    For lines of a table, seeds and numbers. What has a name of its own (a mechanism, a page, an engine) stays a
    parameter, so that it can be run alone. A fixture is made once for all cases: none may change it.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [dict(zip(keys, case if len(keys) > 1 else [case], strict=True)) for case in cases]
    assert rows, "there are no cases"

    def decorated(test: Test) -> Test:
        function, inner = getattr(test, "cases", (test, [{}]))
        every = [{**outer, **case} for outer in rows for case in inner]
        signature = inspect.signature(test)
        assert set(keys) <= set(signature.parameters), f"{test.__name__} does not take {', '.join(keys)}"

        @functools.wraps(test)
        def all_cases(**fixtures: Any) -> None:
            wrong: list[str] = []
            first: BaseException | None = None
            for case in every:
                try:
                    function(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as error:
                    first = first or error
                    wrong.append(f"{_named(case)}\n    {_told(error, function)}")
            if wrong:
                raise AssertionError("\n".join([f"{len(wrong)} of {len(every)} cases fail", *wrong])) from first

        left = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        all_cases.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        all_cases.cases = (function, every)  # type: ignore[attr-defined]
        return all_cases

    return decorated


def _named(case: dict[str, Any]) -> str:
    texts = {name: repr(value) for name, value in case.items()}
    return ", ".join(f"{name}={text if len(text) <= 120 else text[:120] + '…'}" for name, text in texts.items())


def _told(error: BaseException, function: Test) -> str:
    """What is wrong, and in which line of the test."""
    line, trace = 0, error.__traceback__
    while trace:
        if trace.tb_frame.f_code is function.__code__:
            line = trace.tb_lineno
        trace = trace.tb_next
    kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
    return f"line {line}: {kind}{error}".replace("\n", "\n    ")
