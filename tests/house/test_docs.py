"""What the documentation shows is what happens: every python block of every page runs."""

from __future__ import annotations

import doctest
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import documentation
import pytest
from cases import together
from command_options import plain
from typer.main import get_command

import lapwing
from lapwing import mechanisms
from lapwing.cli.commands import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```python[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@dataclass(frozen=True, slots=True)
class Block:
    source: str
    line: int


def python_blocks(text: str) -> list[Block]:
    return [Block(match[1], text.count("\n", 0, match.start(1))) for match in FENCE.finditer(text)]


def run_page(name: str, text: str) -> None:
    """Run a page's blocks in order and in one namespace; `>>>` blocks must print what they say."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    for block in python_blocks(text):
        if ">>>" in block.source:
            test = doctest.DocTestParser().get_doctest(block.source, namespace, name, name, block.line)
            report: list[str] = []
            runner.run(test, out=report.append, clear_globs=False)
            namespace = test.globs
            assert not report, "".join(report)
        else:
            # Blank lines in front make a traceback point into the page.
            exec(compile("\n" * block.line + block.source, name, "exec"), namespace)


def test_a_site_without_built_fonts_says_how_to_build_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documentation, "FONTS", tmp_path / "fonts")
    with pytest.raises(SystemExit, match="is not built: run `make assets` first"):
        documentation.fonts(tmp_path / "source")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_code_on_this_page_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    if "DATABASE_URL" in text:  # pages that need a server say so by this variable
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("postgres_url"))
    run_page(str(page), text)


@together("page", PAGES)
def test_every_link_into_the_house_leads_somewhere(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if not re.match(r"[a-z]+:", link)]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_no_page_installs_from_an_index_what_is_not_released() -> None:
    assert "not released yet" in (ROOT / "SECURITY.md").read_text(encoding="utf-8"), "released: this test may go"
    pages = [page for page in PAGES if page.parent.name != "decisions"]
    lines = [(page.name, line) for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    assert [line for line in lines if re.search(r"pip install [\"']?lapwing", line[1])] == []


def test_every_extra_is_on_the_page_of_platforms() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8").partition("| extra | for |")[2]
    first_cells = " ".join(re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE))
    extras = set(project["optional-dependencies"]) - {"bench", "dev"}  # for developers: CONTRIBUTING.md
    assert extras == set(re.findall(r"`([a-z]+)`", first_cells))


def test_every_page_is_in_the_index() -> None:
    folder = ROOT / "docs"
    indexes = [folder / "README.md", folder / "decisions" / "README.md"]
    links = {(index.parent / link).resolve() for index in indexes for link in LINK.findall(index.read_text("utf-8"))}
    assert [page for page in sorted(folder.rglob("*.md")) if page not in links and page != indexes[0]] == []


def test_the_first_page_says_what_it_is_shows_how_it_is_used_and_leaves_decisions_to_their_own_page() -> None:
    page = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    beginning = page.partition("## Where to begin")[0]
    assert "differential privacy" in page.partition("\n")[0]
    assert all(part in beginning for part in ("pip install .", "```python", "```text", "(demo.svg)"))
    assert "decisions/0" not in page


def test_the_site_names_every_option_of_every_command(tmp_path: Path) -> None:
    documentation.collect(tmp_path)
    text = (tmp_path / "command-line.md").read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in text.partition("## All options\n")[2].split("\n### ")[1:])
    left = [
        f"{name} {word}"
        for name, command in _commands(get_command(app), "lapwing")
        for param in command.params
        for word in (*param.opts, *param.secondary_opts)
        if word.startswith("-") and not re.search(rf"^\| `[^`]*(?<![-\w]){word}(?![-\w])", sections[name], re.MULTILINE)
    ]
    assert left == []
    assert "| `--each-row` | Every row belongs to a different person. |" in sections["lapwing query"]


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", None)
    if inside is None:
        yield name, command
    for word, below in (inside or {}).items():
        yield from _commands(below, f"{name} {word}")


def test_help_texts_are_no_markup_in_a_table() -> None:
    assert plain("a|b <int> [default: *]") == r"a&#124;b &lt;int&gt; \[default: \*\]"


def test_every_mechanism_is_on_its_page() -> None:
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    kinds = [name for name in mechanisms.__all__ if hasattr(getattr(mechanisms, name), "privacy_loss")]
    assert [name for name in kinds if f"`{name}`" not in page] == []


def test_a_page_that_lies_fails() -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run_page("page", "```python\n>>> 1 + 1\n3\n```\n")
    with pytest.raises(ZeroDivisionError):
        run_page("page", "```python\nx = 1\n```\ntext\n```python\nx / 0\n```\n")
    run_page("page", "```python\nx = 1\n```\n```python\n>>> x\n1\n>>> y = 2\n```\n```python\nassert y == 2\n```\n")


def test_the_changelog_and_the_citation_name_the_version() -> None:
    assert f"## {lapwing.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {lapwing.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
