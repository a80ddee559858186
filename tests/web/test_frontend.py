"""What the browser's own tests say: functions without a page, run by Node."""

from __future__ import annotations

import re
import shutil
import subprocess

import kinds
import pytest
from browser import FRONTEND

from lapwing.web.authoring.snippets import SAMPLES, SNIPPETS, widget_snippets


def test_the_tests_of_the_frontend_pass() -> None:
    node = shutil.which("node")
    if node is None or not (FRONTEND / "node_modules" / "esbuild").exists():
        pytest.skip("the browser's code is not built: run make assets")
    tests = sorted(str(one) for one in (FRONTEND / "test").glob("*.test.mjs"))
    done = subprocess.run([node, "--test", *tests], capture_output=True, text=True, cwd=FRONTEND)
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(re.findall(r"^# pass (\d+)$", done.stdout, re.MULTILINE)[0]) > 0


def test_scripts_of_the_lab_know_what_the_server_says() -> None:
    assert kinds.KINDS.read_text(encoding="utf-8") == kinds.written(), "run tools/kinds.py"


def test_what_an_author_has_to_replace_stands_in_what_is_inserted() -> None:
    snippets = [*SNIPPETS, *widget_snippets(["lw-laplace"])]
    assert any(one.holes for one in snippets)
    assert [hole for one in snippets for hole in one.holes if hole not in one.text] == []


def test_every_button_has_a_sample() -> None:
    written = (FRONTEND / "src" / "write.ts").read_text(encoding="utf-8")
    assert {*re.findall(r'\bkind: "(\w+)"', written)} | {"picture", "video", "captions"} == SAMPLES.keys()
