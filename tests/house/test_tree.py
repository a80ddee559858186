"""The tree stays small, clean and free of anything that only exists on one machine."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = sorted(path for path in (ROOT / "src").rglob("*.py") if "node_modules" not in path.parts)
LONGEST_MODULE = 420
"""In lines without documentation: what a reader of the reference needs does not make code harder to read."""
NOT_OURS = {".git", "node_modules", "__pycache__", "build", "dist"}


def our_files() -> list[Path]:
    """The files under version control, or all that are not plainly generated where there is no git."""
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
        files = [ROOT / name for name in listing.stdout.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = [
            path
            for path in ROOT.rglob("*")
            if not any(part in NOT_OURS or re.match(r"\.\w+_cache|\.venv|\.hypothesis", part) for part in path.parts)
        ]
    return [path for path in files if path.is_file() and not path.is_symlink()]


def readable(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def lines_of_code(text: str) -> int:
    """The lines of a module less those of its docstrings."""
    words = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr)]
    documentation = [
        node for node in words if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]
    return len(text.splitlines()) - sum((node.end_lineno or 0) - node.lineno + 1 for node in documentation)


def test_lines_of_code_leave_out_documentation_and_nothing_else() -> None:
    assert lines_of_code('"""One."""\n\nx = 1\n"""Two\nthree."""\ny = """not\ndocumentation"""\n') == 4


def test_every_module_can_be_read_in_one_sitting() -> None:
    lengths = {path: lines_of_code(path.read_text(encoding="utf-8")) for path in LIBRARY}
    assert len(lengths) > 100
    long = [f"{path.relative_to(ROOT)} has {lines} lines" for path, lines in lengths.items() if lines > LONGEST_MODULE]
    assert not long, "\n".join(long)


def test_no_file_names_a_place_that_exists_on_one_machine_only() -> None:
    places = re.compile(r"(?<![\w.])/(root|work|opt|Users|home/\w+)/|\bfile://" + r"/")
    findings = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in our_files()
        if path != Path(__file__)
        for number, line in enumerate(readable(path).splitlines(), 1)
        if places.search(line)
    ]
    assert findings == []


def test_the_lock_files_know_only_the_public_registries() -> None:
    hosts = set(re.findall(r"[a-z+]+://[^/\"]*", (ROOT / "uv.lock").read_text(encoding="utf-8")))
    assert hosts == {"https://files.pythonhosted.org", "https://pypi.org"}
    assert "://" not in (ROOT / "tools" / "pyodide" / "package-lock.json").read_text(encoding="utf-8")


def test_dependencies_are_ranges_not_pins() -> None:
    files = (ROOT / "pyproject.toml", ROOT / "src" / "lapwing" / "web" / "pyproject.toml")
    library, web = (tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in files)
    extras = library["optional-dependencies"]
    groups = [library["dependencies"], web["dependencies"], *extras.values()]
    requirements = [entry for group in groups for entry in group]
    others = [entry for entry in requirements if not entry.startswith("lapwing")]
    assert [entry for entry in others if "==" in entry or ">=" not in entry] == []
    assert {"arrow", "web", "postgres", "spark", "experiments", "bench", "dev"} <= set(extras)


def test_what_ci_runs_is_make_test_and_nothing_more() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines() == ["#!/usr/bin/env bash", "exec make test"]


def test_make_without_a_target_lists_the_targets() -> None:
    output = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "test", "bench", "lint", "format", "clean", "help"):
        assert f"make {target} " in output


def test_pre_commit_fetches_nothing() -> None:
    config = ROOT / ".pre-commit-config.yaml"
    subprocess.run([sys.executable, "-m", "pre_commit", "validate-config", str(config)], cwd=ROOT, check=True)
    assert set(re.findall(r"repo: (\S+)", config.read_text(encoding="utf-8"))) == {"local"}


def test_with_ci_a_skip_is_a_failure(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8"))
    pytester.makepyfile(
        test_some="import pytest\n\n\ndef test_skips():\n    pytest.skip('no browser')\n\n\ndef test_runs(): pass\n",
        test_all="import pytest\n\npytest.importorskip('no_such_module')\n",
        test_expected="import pytest\n\n\n@pytest.mark.xfail\ndef test_known(): assert False\n",
    )
    monkeypatch.setenv("CI", "false")
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1, skipped=2, xfailed=1)
    monkeypatch.setenv("CI", "true")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, failed=1, errors=1, xfailed=1)
    result.stdout.fnmatch_lines(["*nothing may skip*no browser*"])
