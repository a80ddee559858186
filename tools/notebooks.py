#!/usr/bin/env python3
"""Tutorials as notebooks: made of pages, run as Jupyter runs them, and what one run printed put back into the pages.

Run it when what a tutorial prints has changed: `DATABASE_URL=… tools/notebooks.py`. It needs a PostgreSQL that it may
write to. It also draws the pictures of tutorials.
"""

from __future__ import annotations

import ast
import doctest
import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(
    r"^```python[^\n]*\n(?P<code>.*?)^```$(?P<sample>\n+(?:For example[^\n]*:\n\n)?```text\n(?P<printed>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
"""Code, and what it printed once, if the page shows that."""
_PICTURE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\(([^):#\s]+\.md)(?:#[^)\s]*)?\)")
WIDTH = "100"
"""Letters in a line of what is shown, as COLUMNS: the pages of the site are as wide."""
MAY_FAIL = "raises-exception"
"""The tag of a cell after whose error Jupyter goes on."""


def as_notebook(text: str, folder: Path = TUTORIALS) -> dict[str, Any]:
    """A page as a notebook: text and code in turns, without prompts. What a page shows is the output of its cell."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, content: str, metadata: dict[str, Any], **more: Any) -> None:
        if content.strip():
            source = content.strip("\n").splitlines(keepends=True)
            cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": metadata, **more, "source": source}
            cells.append(cell)

    end = 0
    for block in BLOCK.finditer(text):
        add("markdown", alone(text[end : block.start()], folder), {})
        for source, metadata in code_cells(block["code"]):
            add("code", source, metadata, execution_count=None, outputs=[])
        if block["printed"]:
            printed = {"output_type": "stream", "name": "stdout", "text": block["printed"].splitlines(keepends=True)}
            cells[-1]["outputs"] = [printed]
        end = block.end()
    add("markdown", alone(text[end:], folder), {})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def code_cells(block: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cells of a block. Jupyter shows the last value of a cell, so every result ends one; so does every error."""
    if ">>>" not in block:
        yield block, {}
        return
    cell = ""
    for example in doctest.DocTestParser().get_examples(block):
        if example.exc_msg is not None and cell:
            yield cell, {}
            cell = ""
        cell += example.source
        if example.want:
            yield cell, {} if example.exc_msg is None else {"tags": [MAY_FAIL]}
            cell = ""
    if cell:
        yield cell, {}


def alone(text: str, folder: Path) -> str:
    """Text that stands without its neighbours: a link to another page becomes that page's title, pictures go."""

    def named(match: re.Match[str]) -> str:
        title = (folder / match[2]).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"{match[1]} (“{title}” in the documentation)"

    return _LINK.sub(named, _PICTURE.sub("", text))


def run(notebook: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Run all cells as Jupyter does: what each of them printed, and the names that are left."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for number, cell in enumerate(cell for cell in notebook["cells"] if cell["cell_type"] == "code"):
        with redirect_stdout(io.StringIO()) as out:
            try:
                _run_cell("".join(cell["source"]), f"cell {number}", names)
            except Exception as error:
                if MAY_FAIL not in cell["metadata"].get("tags", []):
                    raise
                print(f"{type(error).__name__}: {error}")
        printed.append(out.getvalue())
    return printed, names


def _run_cell(source: str, name: str, names: dict[str, Any]) -> None:
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        if value is not None:
            print(repr(value))


def renewed(text: str, printed: list[str]) -> str:
    """The page with what its blocks printed this time, where it shows that."""
    place = 0

    def block(match: re.Match[str]) -> str:
        nonlocal place
        place += len(list(code_cells(match["code"])))
        if match["sample"] is None:
            return match[0]
        start, end = (index - match.start() for index in match.span("printed"))
        lines = "".join(f"{line.rstrip()}\n" for line in printed[place - 1].splitlines())
        return f"{match[0][:start]}{lines}{match[0][end:]}"

    return BLOCK.sub(block, text)


def main() -> None:
    """Run every tutorial, renew its samples and draw its picture."""
    os.environ["COLUMNS"] = WIDTH
    for page in sorted(TUTORIALS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        printed, names = run(as_notebook(text))
        page.write_text(renewed(text, printed), encoding="utf-8")
        picture = page.with_suffix(".svg")
        if picture.name in text:
            names["answer"].plot(picture)


if __name__ == "__main__":
    main()
