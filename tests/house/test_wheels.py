"""Two wheels from one tree: the library without the school, and the school that asks for exactly this library."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import proofs
import pytest
from hatchling.builders.wheel import WheelBuilder

from lapwing._version import __version__

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "src" / "lapwing" / "web"
LARGEST = 2_400_000
"""Bytes of the library's wheel; a seventh is a table of census records that the experiments need."""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = str(tmp_path_factory.mktemp("dist"))
    built = [WheelBuilder(str(root)).build(directory=folder, versions=["standard"]) for root in (ROOT, WEB)]
    return {name: Path(next(paths)) for name, paths in zip(("lapwing", "lapwing-web"), built, strict=True)}


def members(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_the_library_carries_its_proofs_its_types_and_no_school(wheels: dict[str, Path]) -> None:
    names = members(wheels["lapwing"])
    assert "lapwing/py.typed" in names
    assert {str(proof.path.relative_to(proofs.SOURCE)) for proof in proofs.all_proofs()} <= names
    assert {name.split("/")[0] for name in names} == {"lapwing"}
    assert not {name for name in names if name.startswith("lapwing/web")}
    assert wheels["lapwing"].stat().st_size < LARGEST


def test_the_school_carries_its_own_folder_and_nothing_else(wheels: dict[str, Path]) -> None:
    names = members(wheels["lapwing-web"])
    assert {"lapwing/web/LICENSE", "lapwing/web/static/manifest.json", "lapwing/web/app.py"} <= names
    assert all(name.startswith("lapwing/web/") for name in names)
    assert not {name for name in names if "frontend/" in name or "__pycache__" in name}
    tracked = subprocess.run(["git", "ls-files", "."], cwd=WEB, capture_output=True, text=True, check=True).stdout
    served = {f"lapwing/web/{name}" for name in tracked.split() if not name.startswith(("frontend/", "pyproject"))}
    assert served <= names


def test_both_have_one_version() -> None:
    project = tomllib.loads((WEB / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
    assert f"lapwing[models]=={__version__}" in project["dependencies"]


def uv() -> str:
    """As tools/setup finds it."""
    return shutil.which("uv") or str(Path(sys.executable).with_name("uv"))


def install(environment: Path, wheels: dict[str, Path], what: str) -> None:
    """With the versions of the lock file, as a user would who keeps one."""
    export = [uv(), "export", "--quiet", "--frozen", "--extra", "web", "--no-hashes", "--no-emit-workspace"]
    locked = environment / "locked.txt"
    locked.write_text(subprocess.run(export, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    links = ["--find-links", str(wheels["lapwing"].parent), "--constraints", str(locked)]
    subprocess.run(
        [uv(), "pip", "install", "--quiet", "--python", environment / "bin" / "python", *links, what], check=True
    )


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """An environment with nothing in it."""
    environment = tmp_path / "clean"
    subprocess.run([uv(), "venv", "--quiet", "--python", sys.executable, environment], check=True)
    return environment


def run(environment: Path, *command: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    program = [environment / "bin" / command[0], *command[1:]]
    return subprocess.run(program, cwd=environment, env=variables, capture_output=True, text=True)


@contextmanager
def served(environment: Path) -> Iterator[str]:
    """The address of a school that runs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([environment / "bin" / "lapwing", "serve", "--port", str(port)], cwd=environment)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait()


def fetched(address: str) -> str:
    last = monotonic() + 120
    while True:
        try:
            return str(urllib.request.urlopen(address).read().decode())
        except urllib.error.URLError:
            assert monotonic() < last, "the school did not open"
            sleep(0.1)


def test_in_a_clean_environment_the_library_works_alone_and_with_the_school(
    clean: Path, wheels: dict[str, Path]
) -> None:
    install(clean, wheels, "lapwing")
    assert run(clean, "lapwing", "demo").returncode == 0
    refusal = run(clean, "lapwing", "serve")
    assert refusal.returncode != 0
    assert "pip install 'lapwing[web]'" in " ".join(refusal.stderr.split())
    install(clean, wheels, "lapwing[web]")
    with served(clean) as address:
        assert "Lapwing" in fetched(address)
