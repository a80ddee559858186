"""Worked cases, from a clinic's report to a bank that looks for fraud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from lapwing.web.guide.answers import Answers


@dataclass(frozen=True, slots=True)
class Case:
    """A story, the answers to the interview, and what must come out."""

    name: str
    story: str
    answers: Answers
    expect: Mapping[str, str]


@cache
def cases() -> tuple[Case, ...]:
    """All of them."""
    text = files("lapwing").joinpath("web", "guide", "cases.yaml").read_text(encoding="utf-8")
    examples = []
    for entry in yaml.safe_load(text):
        answers = Answers(**entry["answers"] | {"ask": tuple(entry["answers"]["ask"])})
        examples.append(Case(entry["name"], entry["story"], answers, entry["expect"]))
    return tuple(examples)
