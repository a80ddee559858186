"""`import lapwing` stays light, the core stays small, and scalars need nothing but the standard library."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from webassembly import on_pyodide

import lapwing
from lapwing._names import HELD, LIFTED, MOVED

ROOT = Path(__file__).resolve().parents[2]
SCALARS = ROOT / "tests" / "house" / "scalar_releases.py"
STANDARD_LIBRARY = ROOT / "tests" / "house" / "standard_library.py"
HEAVY = {"numpy", "scipy", "mpmath", "cryptography", "dp_accounting", "duckdb", "sqlglot", "typer", "rich"}
CORE_MEGABYTES = 300


def fresh_python(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize(
    "module", ["lapwing", "lapwing.noise", "lapwing.privacy", "lapwing.mechanisms", "lapwing.crowd", "lapwing.pair"]
)
def test_importing_the_basics_loads_nothing_heavy(module: str) -> None:
    loaded = json.loads(fresh_python(f"import sys, json, {module}; print(json.dumps(list(sys.modules)))"))
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()


@pytest.mark.parametrize("room", LIFTED)
def test_the_package_knows_what_its_rooms_export(room: str) -> None:
    only_there = {home.partition(".")[2] for home in MOVED.values() if home.startswith(f"{room}.")} - {"Maximum"}
    exported = importlib.import_module(f"lapwing.{room}").__all__
    assert sorted({*LIFTED[room], *HELD[room], *only_there}) == sorted(exported)


def test_a_name_has_one_home() -> None:
    names = [name for room in LIFTED.values() for name in room]
    assert len(names) == len(set(names))


def test_no_two_names_of_the_package_differ_by_case_or_underscores_only() -> None:
    names = [name.lower().replace("_", "") for room in LIFTED.values() for name in room]
    assert [name for name in names if names.count(name) > 1] == []


@pytest.mark.parametrize("name", MOVED)
def test_a_name_that_moved_says_where_to(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"Write lapwing.{MOVED[name]}"):
        thing = getattr(lapwing, name)
    assert thing.__name__ == MOVED[name].rpartition(".")[2]
    assert name not in dir(lapwing)


def test_importing_everything_hides_no_builtin() -> None:
    program = "from lapwing import *; print([n for n in {'open', 'sum', 'min', 'max'} & {*globals()}], Laplace)"
    assert fresh_python(program).startswith("[]"), "but brings the rest"


def test_opening_a_table_loads_no_attack() -> None:
    loaded = json.loads(fresh_python("import sys, json, lapwing; lapwing.open; print(json.dumps(list(sys.modules)))"))
    assert [name for name in loaded if name.startswith("lapwing.adversary")] == []


def core_closure() -> set[str]:
    """The distributions that `pip install lapwing` brings, without extras."""
    found: set[str] = set()
    waiting = [("lapwing", frozenset[str]())]
    while waiting:
        name, extras = waiting.pop()
        found.add(name.lower())
        for line in importlib.metadata.requires(name) or []:
            requirement = Requirement(line)
            wanted = [{"extra": extra} for extra in extras or {""}]
            applies = requirement.marker is None or any(map(requirement.marker.evaluate, wanted))
            if applies and requirement.name.lower() not in found:
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return found


def test_the_core_environment_is_under_300_megabytes() -> None:
    closure = core_closure()
    assert {"numpy", "duckdb", "typer"} <= closure
    paths = {Path(str(file.locate())) for name in closure for file in importlib.metadata.files(name) or []}
    megabytes = sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
    assert megabytes < CORE_MEGABYTES


BLOCKED = """
import runpy, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"{{name}} is not there", name=name)

sys.meta_path.insert(0, Refuse())
runpy.run_path({script!r}, run_name="__main__")
"""


def test_scalar_mechanisms_run_on_a_python_without_any_dependency() -> None:
    output = fresh_python(BLOCKED.format(blocked=HEAVY, script=str(SCALARS)))
    assert "scalar releases without dependencies" in output


def test_scalar_mechanisms_run_on_pyodide_without_numpy() -> None:
    assert "scalar releases without dependencies" in on_pyodide(SCALARS)


def test_whatever_needs_only_the_standard_library_passes_on_the_python_of_pyodide() -> None:
    site = Path(pytest.__file__).parents[1]
    assert "passed with the standard library alone" in on_pyodide(STANDARD_LIBRARY, str(site))


def test_the_same_passes_on_every_newer_python_on_the_path() -> None:
    paths = os.pathsep.join((str(ROOT / "src"), str(Path(pytest.__file__).parents[1])))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    for python in filter(shutil.which, ("python3.14", "python3.15")):
        result = subprocess.run([python, str(STANDARD_LIBRARY)], env=environment, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
