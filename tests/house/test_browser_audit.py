"""Learners' code is audited in their browser: searches and audits need nothing but the standard library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from webassembly import on_pyodide

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "house" / "browser_audit.py"
BARE = f"""
import runpy, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {{"numpy", "scipy", "mpmath", "cryptography", "duckdb", "typer", "rich"}}:
            raise ModuleNotFoundError(f"{{name}} is not there", name=name)

sys.meta_path.insert(0, Refuse())
sys.path.insert(0, {str(ROOT / "src")!r})
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""


def test_a_search_runs_on_a_python_without_any_dependency() -> None:
    result = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "audited without dependencies" in result.stdout


@pytest.mark.sweep
def test_a_search_runs_on_pyodide() -> None:
    assert "audited without dependencies" in on_pyodide(SCRIPT)
