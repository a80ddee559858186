"""CPython 3.14 as WebAssembly: what the exercises of the school run on, and a new Python wherever there is Node."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tools" / "pyodide"


def on_pyodide(script: Path, *options: str) -> str:
    """What a script prints there; a test without Node skips."""
    if shutil.which("node") is None:
        pytest.skip("Pyodide needs node: apt-get install nodejs npm")
    if not (FOLDER / "node_modules" / "pyodide").exists():
        pytest.skip("Pyodide is not installed: run make test, or npm ci in tools/pyodide")
    command = ["node", str(FOLDER / "run.mjs"), str(script), *options]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Python 3.14" in result.stdout
    return result.stdout
