"""The notebooks of the site are the tutorials: the code that test_docs.py runs, and they run from end to end, twice."""

from __future__ import annotations

import ast
import doctest
import json
import re
from pathlib import Path

import notebooks
import pytest
from sweeps import few

TUTORIALS = sorted((Path(__file__).resolve().parents[2] / "docs" / "tutorials").glob("*.md"))


def cells(text: str, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in notebooks.as_notebook(text)["cells"] if cell["cell_type"] == kind]


def code(*blocks: str) -> str:
    return ast.dump(ast.parse("".join(f"{block}\n" for block in blocks)))


def statements(block: str) -> str:
    """The code of a block as the tests of the pages run it."""
    if ">>>" not in block:
        return block
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_has_the_code_of_its_tutorial_and_all_of_its_text(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = [match["code"] for match in notebooks.BLOCK.finditer(text)]
    assert code(*cells(text, "code")) == code(*map(statements, blocks))
    words = "".join("".join(cells(text, "markdown")).split())
    assert words == "".join(notebooks.alone(notebooks.BLOCK.sub("", text), page.parent).split())


@pytest.mark.parametrize("page", few(TUTORIALS, stays=2), ids=lambda page: page.stem)
def test_a_notebook_runs_to_its_end_twice_and_prints_what_its_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", notebooks.WIDTH)
    text = page.read_text(encoding="utf-8")
    if "DATABASE_URL" in text:
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("postgres_url"))
    notebook = notebooks.as_notebook(text)
    shown = [("".join(cell["outputs"][0]["text"]) if cell["outputs"] else None) for cell in code_cells(notebook)]
    for _ in range(2):
        printed, _names = notebooks.run(notebook)
        for sample, now in zip(shown, printed, strict=True):
            assert sample is None or words(sample) == words(now)
    assert [path.name for path in tmp_path.iterdir()] == [], "a notebook leaves nothing in the folder of its reader"


def code_cells(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def words(text: str) -> list[str]:
    """What does not depend on the noise; of an audit, where it looked does."""
    return re.findall(r"[^\W\d_]+", text.partition("The event: ")[0])


def test_there_are_six_tutorials_and_each_shows_results_and_says_what_to_install() -> None:
    assert [page.name[0] for page in TUTORIALS] == list("123456")
    for page in TUTORIALS:
        text = page.read_text(encoding="utf-8")
        assert "pip install '.[" in text or "pip install .`" in text
        assert any(cell["outputs"] for cell in code_cells(notebooks.as_notebook(text)))


def test_prompts_are_left_out_and_every_result_ends_a_cell() -> None:
    block = "```python\n>>> for x in (1, 2):\n...     print(x)\n1\n2\n>>> y = x\n>>> x\n2\n>>> z = x\n\n```\n"
    assert cells(f"# Title\n\n{block}", "code") == ["for x in (1, 2):\n    print(x)", "y = x\nx", "z = x"]


def test_an_error_that_is_shown_on_purpose_has_a_cell_after_which_jupyter_goes_on() -> None:
    error = "Traceback (most recent call last):\n    ...\nZeroDivisionError: ..."
    block = f"```python\n>>> x = 1\n>>> x / 0\n{error}\n>>> x\n1\n\n```\n"
    notebook = notebooks.as_notebook(block)
    tags = [cell["metadata"].get("tags", []) for cell in code_cells(notebook)]
    assert tags == [[], ["raises-exception"], []]
    printed, _names = notebooks.run(notebook)
    assert printed == ["", "ZeroDivisionError: division by zero\n", "1\n"]
    for cell in code_cells(notebook):
        cell["metadata"] = {}
    with pytest.raises(ZeroDivisionError):
        notebooks.run(notebook)


def test_what_a_page_shows_is_the_output_of_its_cell_and_can_be_renewed() -> None:
    text = "```python\nprint(1)\n```\n\nFor example:\n\n```text\n0\n```\n\nEnd.\n"
    notebook = notebooks.as_notebook(text)
    assert notebook["cells"][0]["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["0\n"]}]
    assert cells(text, "markdown") == ["End."]
    assert notebooks.renewed(text, notebooks.run(notebook)[0]) == text.replace("\n0\n", "\n1\n")


def test_links_to_pages_that_a_notebook_does_not_have_become_their_titles() -> None:
    [text] = cells(
        "See [SQL](2-sql-on-postgresql.md#ask) and ![a picture](picture.svg) [this](https://a.example).", "markdown"
    )
    assert text == "See SQL (“Tutorial 2: SQL on PostgreSQL” in the documentation) and  [this](https://a.example)."


def test_a_notebook_is_one_that_programs_read() -> None:
    notebook = json.loads(json.dumps(notebooks.as_notebook("# Title\n\n```python\nx = 1\n```\n")))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"]) == 2
    assert notebook["cells"][1]["outputs"] == []
