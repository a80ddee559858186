"""Downloads of an answer: CSV, picture, script or notebook. Exact values of teaching mode have files of their own."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from fastapi import Response

from lapwing.web.lab import figures, notebooks, scripts
from lapwing.web.lab.bench import Answer
from lapwing.web.lab.questions import Question
from lapwing.web.lab.statement import Statement
from lapwing.web.service.problems import Problem
from lapwing.web.service.spreadsheets import defused

NOT_PRIVATE = "teaching mode: exact, not private, not to be passed on"


def file(
    kind: str,
    answer: Answer,
    question: Question,
    statement: Statement,
    source: scripts.File = scripts.ANY_FILE,
) -> Response:
    """A private answer as one kind of file."""
    if kind == "csv":
        table = figures.to_csv(answer.result, answer.title, answer.draws)
        return _sent(table, "text/csv; charset=utf-8", "answer.csv")
    if kind == "png":
        return _sent(figures.to_png(answer.result, answer.title), "image/png", "answer.png")
    if kind not in ("py", "ipynb"):
        raise Problem(404, "Take csv, png, py or ipynb.")
    analysis = question.analysis
    if analysis is None:
        raise Problem(409, question.complaint)
    if kind == "py":
        text = scripts.script(analysis, statement, answer.epsilon, source)
        return _sent(text, "text/x-python; charset=utf-8", "ask.py")
    text = notebooks.notebook(analysis, statement, answer.epsilon, source)
    return _sent(text, "application/x-ipynb+json", "ask.ipynb")


def exact(result: Mapping[str, Any], title: str) -> Response:
    """The exact side, marked in every row and in its name."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(("series", "label", "exact value", "mark", "question"))
    for series in result["series"]:
        for value in series["values"]:
            named = (defused(series["name"]), defused(value["label"]))
            writer.writerow((*named, value["value"], NOT_PRIVATE, defused(title)))
    return _sent(text.getvalue(), "text/csv; charset=utf-8", "exact-NOT-PRIVATE.csv")


def _sent(content: str | bytes, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="lapwing-{name}"', "cache-control": "no-store"}
    return Response(content, headers=headers, media_type=kind)
