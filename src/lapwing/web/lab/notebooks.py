"""The script of an analysis as a notebook: nbformat 4, written by hand."""

from __future__ import annotations

import json
from typing import Any

from lapwing.web.lab import scripts
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.statement import Statement


def notebook(
    analysis: Analysis,
    statement: Statement,
    epsilon: float,
    file: scripts.File = scripts.ANY_FILE,
) -> str:
    """Three cells: what it is, the table as it was stated, and the question."""
    words = [
        f"# {scripts.one_line(analysis.title)}",
        "",
        analysis.summary,
        "",
        *((f"It uses {scripts.one_line(analysis.rows)}.", "") if analysis.rows else ()),
        "Everything below is what you stated, or what a look at the data found and you kept. Change what is wrong. "
        f"{scripts.where(file)}",
    ]
    cells = [
        _cell("markdown", "what", "\n".join(words)),
        _cell("code", "table", scripts.opening(statement, file)),
        _cell("code", "question", analysis.script(statement, epsilon)),
    ]
    document = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, name: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}, "source": text.splitlines(keepends=True)}
    return {**cell, "execution_count": None, "outputs": []} if kind == "code" else cell
