"""The notebooks of the site are the tutorials: the code that test_docs.py runs, and nothing lost between the cells."""

from __future__ import annotations

import ast
import doctest
import json
from pathlib import Path

import documentation
import pytest

TUTORIALS = sorted((Path(__file__).resolve().parents[2] / "docs" / "tutorials").glob("*.md"))


def cells(text: str, kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in documentation.as_notebook(text)["cells"] if cell["cell_type"] == kind]


def statements(block: str) -> str:
    """The code of a block as the tests of the pages run it."""
    if ">>>" not in block:
        return ast.dump(ast.parse(block))
    return ast.dump(ast.parse("".join(example.source for example in doctest.DocTestParser().get_examples(block))))


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_notebook_has_the_code_of_its_tutorial_and_all_of_its_text(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = [match[1] for match in documentation._BLOCK.finditer(text)]
    assert [ast.dump(ast.parse(code)) for code in cells(text, "code")] == [statements(block) for block in blocks]
    words = "".join("".join(cells(text, "markdown")).split())
    assert words == "".join(documentation._BLOCK.sub("", text).split())


def test_there_are_six_tutorials() -> None:
    assert [page.name[0] for page in TUTORIALS] == list("123456")


def test_prompts_and_results_are_left_out() -> None:
    [code] = cells("# Title\n\n```python\n>>> for x in (1, 2):\n...     print(x)\n1\n2\n>>> x\n2\n\n```\n", "code")
    assert code == "for x in (1, 2):\n    print(x)\nx"


def test_a_notebook_is_one_that_programs_read() -> None:
    notebook = json.loads(json.dumps(documentation.as_notebook("# Title\n\n```python\nx = 1\n```\n")))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"]) == 2
    assert notebook["cells"][1]["outputs"] == []
