"""Exercises: something to think about, or Python to write, run and have checked.

    ```exercise
    id: laplace-count
    title: A private count
    task: Write `private_count(bits, epsilon)` …
    starter: |
      def private_count(bits, epsilon):
          ...
    solution: |
      …
    hint: Sensitivity over epsilon.
    checks: |
      assert private_count([], 1) is not None, "Give the count back."
      for epsilon in (0.5, 2):
          laws.laplace(lambda: private_count([1, 0, 1], epsilon), 2, 1 / epsilon, f"a count of 2 at ε = {epsilon}")
    audit: {call: "lambda data, epsilon: private_count(data, epsilon)", epsilon: [0.5, 2], domain: bits}
    ```

`checks` runs after the learner's code and knows its names; an assertion that fails says what to think about. `laws`
says whether random answers follow the law that they should (`laws.py`): ask at several epsilons and on several data
sets. `audit` lets the auditor search for a counter-example, at each epsilon of a list. Programs may draw with `plot`
(`plot.py`). An exercise without `starter` is one to think about: the solution opens when one has an answer.
"""

from __future__ import annotations

import html
import json
from dataclasses import asdict, dataclass
from typing import Any

import yaml

from lapwing.web.school import plain
from lapwing.web.school.markdown import Markdown
from lapwing.web.school.nugget import InvalidNugget

_HINT = "An exercise has id, title, task and solution; with code also starter, checks, and perhaps hint and audit."
_NEEDED, _MORE = {"id", "title", "task", "solution"}, {"starter", "hint", "checks", "audit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What the auditor is told: a function of the data (and of epsilon), each epsilon to try, and which data."""

    call: str
    epsilon: tuple[float, ...]
    domain: str = "numbers 0..1"
    relation: str = "add_remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercise:
    """One exercise as its author wrote it."""

    id: str
    title: str
    task: str
    solution: str
    starter: str = ""
    hint: str = ""
    checks: str = ""
    audit: Claim | None = None

    @property
    def code(self) -> bool:
        """Whether Python is to be written."""
        return bool(self.starter)


def read_exercise(text: str, *, where: str = "exercise") -> Exercise:
    """The exercise of a fence."""
    try:
        entry = plain.load(text)
    except yaml.YAMLError:
        raise InvalidNugget(where, "an exercise is not YAML", _HINT) from None
    if not isinstance(entry, dict) or not set(entry) >= _NEEDED or not set(entry) <= _NEEDED | _MORE:
        raise InvalidNugget(where, "an exercise has the wrong parts", _HINT)
    claim = entry.pop("audit", None)
    audit = None if claim is None else _claim(claim, where)
    return Exercise(**{name: str(value) for name, value in entry.items()}, audit=audit)


def _claim(given: Any, where: str) -> Claim:
    wrong = InvalidNugget(where, "audit has the wrong parts", "Write call, epsilon, domain and relation.")
    if not isinstance(given, dict) or not {"call", "epsilon"} <= set(given) <= {
        "call",
        "epsilon",
        "domain",
        "relation",
    }:
        raise wrong
    epsilons = given["epsilon"] if isinstance(given["epsilon"], list) else [given["epsilon"]]
    if not 1 <= len(epsilons) <= 4 or not all(map(_may_be_claimed, epsilons)):
        raise wrong
    return Claim(epsilon=tuple(epsilons), **{name: str(value) for name, value in given.items() if name != "epsilon"})


def _may_be_claimed(epsilon: Any) -> bool:
    return isinstance(epsilon, (int, float)) and not isinstance(epsilon, bool) and 0 <= epsilon <= 1000


def exercise_html(exercise: Exercise, markdown: Markdown) -> str:
    """The task, the hint and the solution, closed; an element that becomes an editor where scripts run."""
    hint = _closed("A hint", markdown.html(exercise.hint)) if exercise.hint else ""
    if not exercise.code:
        solution = _closed("What we think", markdown.html(exercise.solution))
        inside = f"{markdown.html(exercise.task)}{hint}{solution}"
    else:
        data = html.escape(json.dumps(_for_the_browser(exercise)), quote=True)
        starter, solution = _code(exercise.starter), _closed("A solution", _code(exercise.solution))
        editor = f'<lw-exercise data-exercise="{data}">{starter}</lw-exercise>'
        task = f'<div class="task">{markdown.html(exercise.task)}{hint}</div>'
        inside = f'<div class="coding">{task}<div class="answer">{editor}{solution}</div></div>'
    name = html.escape(exercise.id, quote=True)
    title = html.escape(exercise.title)
    return f'<section class="exercise" id="exercise-{name}"><h3>Exercise: {title}</h3>{inside}</section>'


def _for_the_browser(exercise: Exercise) -> dict[str, Any]:
    return {
        "id": exercise.id,
        "starter": exercise.starter,
        "checks": exercise.checks,
        "audit": asdict(exercise.audit) if exercise.audit else None,
    }


def _code(text: str) -> str:
    return f'<pre class="code" tabindex="0"><code>{html.escape(text)}</code></pre>'


def _closed(summary: str, inside: str) -> str:
    return f'<details class="block"><summary>{summary}</summary><div>{inside}</div></details>'
