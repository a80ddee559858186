"""A learner's Python is run, checked and audited. Runs in the browser, with the standard library only.

The code of a learner never runs on the server.
"""

from __future__ import annotations

import contextlib
import io
import json
import traceback
from collections.abc import Callable, Mapping
from typing import Any

MOST_OUTPUT = 8000
SAMPLES, SECONDS, SEED = 4000, 20, 7
"""What an audit in the browser may take. It is repeatable, so that a right answer stays right."""
_YOURS, _OURS = "your code", "the checks"
Line = tuple[str, str]
"""A kind (out, wrong, right or quiet) and its words."""


def judged(wanted: Mapping[str, Any], told: Callable[[str], object] = lambda text: None) -> str:
    """What is to be shown, as JSON: lines, and whether the exercise is passed."""
    lines, passed = _judged(wanted, told)
    return json.dumps({"lines": lines, "passed": passed})


def _judged(wanted: Mapping[str, Any], told: Callable[[str], object]) -> tuple[list[Line], bool]:
    place: dict[str, Any] = {"__name__": "exercise"}
    printed = io.StringIO()
    lines: list[Line] = []
    with contextlib.redirect_stdout(printed):
        wrong = _run(wanted["code"], _YOURS, place)
    if printed.getvalue():
        lines.append(("out", printed.getvalue()[:MOST_OUTPUT]))
    if wrong:
        return [*lines, ("wrong", wrong)], False
    if wanted["what"] == "run":
        return lines or [("quiet", "It ran, and printed nothing.")], False
    with contextlib.redirect_stdout(io.StringIO()):
        wrong = _run(wanted.get("checks") or "", _OURS, place)
    if wrong:
        return [*lines, ("wrong", wrong)], False
    if wanted.get("audit"):
        told("The auditor looks for two neighbours that it can tell apart …")
        said, fine = _audited(wanted["audit"], place)
        return [*lines, ("right" if fine else "wrong", said)], fine
    return [*lines, ("right", "All checks passed.")], True


def _run(code: str, name: str, place: dict[str, Any]) -> str:
    """What went wrong, or nothing."""
    try:
        exec(compile(code, name, "exec"), place)
    except AssertionError as error:
        return str(error) or "A check failed."
    except SyntaxError as error:
        return f"Line {error.lineno}: {error.msg}."
    except Exception as error:
        at = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _YOURS]
        where = f"Line {at[-1]}: " if at else ""
        return f"{where}{type(error).__name__}: {error}"
    return ""


def _audited(claim: Mapping[str, Any], place: dict[str, Any]) -> tuple[str, bool]:
    from lapwing.adversary.search import find_violation
    from lapwing.errors import LapwingError

    epsilon = claim["epsilon"]
    try:
        found = find_violation(
            eval(claim["call"], place),
            epsilon=epsilon,
            domain=claim["domain"],
            relation=claim["relation"],
            samples=SAMPLES,
            seconds=SECONDS,
            seed=SEED,
            bits=False,
        )
    except (LapwingError, NameError) as error:
        return f"It could not be audited. {error}", False
    if found.caught:
        audit = found.audit
        often, seldom = audit.hits if audit.direction == "first" else audit.hits[::-1]
        return (
            f"You claim ε = {epsilon:g}. Here is an event that shows at least {audit.epsilon_lower_bound:.2f}: "
            f"“{audit.event}” happened {often} times in {audit.trials} on one of two neighbours and {seldom} times on "
            f"the other. The neighbours: {audit.pair.first!r} and {audit.pair.second!r}."
        ), False
    return (
        f"All checks passed, and the auditor found no two neighbours that contradict ε = {epsilon:g} in "
        f"{found.releases:,} releases. That is no proof; yours would be."
    ), True
