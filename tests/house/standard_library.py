"""Every test and doctest that needs only the standard library, for a Python without anything else, such as Pyodide's.

What needs a package, a thread or a process is left out: it fails to import or to start. All the rest must pass.
"""

from __future__ import annotations

import doctest
import os
import re
import sys
from collections.abc import Generator, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FEWEST = 90
"""Tests that must have passed, lest a mistake here leave all of them out."""

PURE = {"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"}
PURE |= {"lapwing", "tests"}
PURE |= {file.stem for folder in ("tests/support", "tools") for file in (ROOT / folder).glob("*.py")}
ROOMS = ["noise", "privacy", "mechanisms", "anonymity", "adversary", "crowd"]
TESTS = [f"tests/{room}" for room in [*ROOMS, "errors", "contract"]]
SOURCES = [f"src/lapwing/{name}" for name in [*ROOMS, "errors.py", "checks.py", "calls.py", "exact.py"]]
IMPOSSIBLE = ("can't start new thread", "Function not implemented", "no attribute 'link'")
"""What Pyodide says of threads, processes and links to files."""


class Refusal:
    """Only packages of pure Python: the others on the path were built for another one."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if _usable(name.partition(".")[0]):
            return None
        raise ModuleNotFoundError(f"{name} is not there", name=name)


def _usable(package: str) -> bool:
    own = package.startswith("_") or "pyodide" in package  # parts of this very Python
    return own or package in PURE or package in sys.stdlib_module_names


class Selection:
    """Leaves out what this Python cannot do, and counts what passed. (pytest is imported after the path is set.)"""

    def __init__(self) -> None:
        self.passed = 0

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Files that import what is not there; to try it takes longer than to look."""
        if collection_path.suffix != ".py":
            return None
        needed = re.findall(r"^(?:from|import) (\w+)", collection_path.read_text(encoding="utf-8"), re.MULTILINE)
        return True if not all(map(_usable, needed)) else None

    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, Any]:
        report = yield
        self.passed += report.when == "call" and report.passed
        if report.failed and not _possible(call.excinfo.value):
            report.outcome = "passed"
        return report

    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, Any]:
        report = yield
        if report.failed and not _possible(report.call.excinfo.value):
            report.outcome, report.result = "passed", []
        return report


def _possible(failure: BaseException) -> bool:
    reasons = list(_chain(failure))
    missing = any(isinstance(reason, ImportError) for reason in reasons)
    return not missing and not any(words in str(reason) for reason in reasons for words in IMPOSSIBLE)


def _chain(failure: BaseException | None) -> Iterator[BaseException]:
    while failure is not None:
        yield failure
        if isinstance(failure, doctest.UnexpectedException):
            yield from _chain(failure.exc_info[1])
        for part in getattr(failure, "failures", ()):
            yield from _chain(part)
        failure = failure.__cause__ or failure.__context__


def main() -> None:
    import pytest

    for hook in (Selection.pytest_runtest_makereport, Selection.pytest_make_collect_report):
        pytest.hookimpl(wrapper=True)(hook)
    os.chdir(ROOT)
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": ""}
    sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tools")]
    sys.meta_path.insert(0, Refusal())
    selection = Selection()
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--disable-warnings",
        "--tb=short",
        "--assert=plain",
        "--import-mode=importlib",
        "--doctest-modules",
        "-m",
        "not sweep",
    ]
    nothing = ["--noconftest", "-c", "/dev/null", "--rootdir", str(ROOT)]  # those of the project need more than pytest
    for paths in (TESTS, SOURCES):  # sources last: one that cannot be imported stays half imported
        assert pytest.main([*options, *nothing, *paths], plugins=[selection]) == 0
    assert selection.passed >= FEWEST, selection.passed
    print(f"{selection.passed} tests passed with the standard library alone")


if __name__ == "__main__":
    main()
