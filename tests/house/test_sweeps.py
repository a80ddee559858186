"""`make test` leaves sweeps out, `make test-all` runs them, and each leaves something behind that is always tested."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from effort import shares, spent

ROOT = Path(__file__).resolve().parents[2]
MOST = 30
"""Minutes of one core that `make test` may take."""
FILES = sorted(path for path in (ROOT / "tests").rglob("test_*.py") if "mark.sweep" in path.read_text(encoding="utf-8"))


def commands(target: str) -> list[str]:
    told = (ROOT / "Makefile").read_text(encoding="utf-8")
    rule = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", told, re.MULTILINE)
    assert rule is not None, f"there is no make {target}"
    return [line.strip() for line in rule[1].splitlines() if "/pytest " in line]


def swept(function: ast.FunctionDef) -> bool:
    """Whether all cases of a test are a sweep."""
    return any(
        ast.unparse(one.func if isinstance(one, ast.Call) else one) == "pytest.mark.sweep"
        for one in function.decorator_list
    )


def test_only_make_test_leaves_sweeps_out() -> None:
    """Whoever names a file or a test gets all of it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    assert [marker.partition(":")[0] for marker in project["markers"]] == ["sweep"]
    assert "-m" not in project["addopts"]
    assert (
        [line.removesuffix(' -m "not sweep"') for line in commands("test")] == commands("test-all") != commands("test")
    )


def test_what_is_left_out_is_deselected_and_not_skipped(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml((ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("filterwarnings")[0])
    pytester.makepyfile("import pytest\n\n@pytest.mark.sweep\ndef test_all(): assert False\n\n\ndef test_one(): pass\n")
    options = ("-p", "no:cacheprovider", "-o", "testpaths=.")
    pytester.runpytest_inprocess(*options, "-m", "not sweep").assert_outcomes(passed=1, deselected=1)
    pytester.runpytest_inprocess(*options).assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.relative_to(ROOT / "tests").as_posix())
def test_beside_every_sweep_something_of_its_kind_stays(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    tests = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")]
    told = re.findall(r"\btests/[\w/]+\.py\b", ast.get_docstring(tree) or "")
    stays = any(not swept(one) for one in tests) or any((ROOT / other).exists() for other in told)
    assert stays, "every test here is a sweep: say at the top where something of the kind is tested before one lands"
    marks = [one for one in tree.body if isinstance(one, ast.Assign) and "pytestmark" in ast.unparse(one.targets[0])]
    everything = [one for one in marks if "sweep" in ast.unparse(one.value)]
    assert not everything, "mark tests one by one"


def test_the_shares_of_all_rooms_fit_into_make_test() -> None:
    assert sum(shares().values()) <= MOST
    rooms = {room for who in shares() for room in who.split(", ")}
    there = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    assert there <= rooms, f"CONTRIBUTING.md gives no time to {there - rooms}"


def test_counting_what_tests_cost_survives_processes_that_end_meanwhile() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do true & true & wait; done"]) as restless:
        try:
            assert all(spent() >= 0 for _ in range(300))
        finally:
            restless.kill()
