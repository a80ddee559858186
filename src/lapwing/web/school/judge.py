"""A learner's Python is run, checked and audited. Runs in the browser, with the standard library only.

The code of a learner never runs on the server.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lapwing.web.school import plot
from lapwing.web.school.laws import Laws, Undecided

MOST_OUTPUT = 8000
SAMPLES, SECONDS, SEED = 4000, 20, 7
"""What an audit in the browser may take, and the checks before it. Both are repeatable: a right answer stays right."""
_YOURS, _OURS = "your code", "the checks"
Line = tuple[str, str]
"""A kind (out, wrong, undecided, right, quiet or picture) and its words; of a picture, its numbers as JSON."""


def judged(wanted: Mapping[str, Any], tell: Callable[[str], object] = lambda text: None) -> str:
    """What is to be shown, as JSON: lines, and whether the exercise is passed."""
    lines, passed = _judged(wanted, tell)
    return json.dumps({"lines": lines, "passed": passed})


@plot.importable()
def _judged(wanted: Mapping[str, Any], tell: Callable[[str], object]) -> tuple[list[Line], bool]:
    place: dict[str, Any] = {"__name__": "exercise"}
    printed = io.StringIO()
    lines: list[Line] = []
    with contextlib.redirect_stdout(printed), plot.watched() as pictures:
        failed = _run(wanted["code"], _YOURS, place)
    if printed.getvalue():
        lines.append(("out", printed.getvalue()[:MOST_OUTPUT]))
    lines += [("picture", picture) for picture in pictures]
    if failed:
        return [*lines, ("wrong", str(failed))], False
    if wanted["what"] == "run":
        return lines or [("quiet", "Your code ran and printed nothing.")], False
    with contextlib.redirect_stdout(io.StringIO()), _repeatable():
        wrong = _checked(wanted.get("checks") or "", place)
    if wrong:
        return [*lines, wrong], False
    if wanted.get("audit"):
        tell("The auditor looks for two neighbours that it can tell apart …")
        verdict = _audited(wanted["audit"], place)
        return [*lines, verdict], verdict[0] == "right"
    return [*lines, ("right", "All checks passed.")], True


@contextlib.contextmanager
def _repeatable() -> Iterator[None]:
    """Checking the same program twice gives the same verdict, as far as it draws from `random`."""
    import random  # noqa: TID251 – not for noise of ours: learners and checks draw from it

    before = random.getstate()
    random.seed(SEED)
    try:
        yield
    finally:
        random.setstate(before)


def _checked(checks: str, place: dict[str, Any]) -> Line | None:
    """What the checks found. They see the learner's names, and theirs do not get in the learner's way."""
    start = time.monotonic()
    laws = Laws(start + SECONDS)
    wrong = _run(checks, _OURS, {**place, "laws": laws})
    if isinstance(wrong, Undecided):
        return _undecided(str(wrong), (time.monotonic() - start) / max(laws.drawn, 1))
    return ("wrong", wrong) if wrong else None


def _undecided(why: str, each: float) -> Line:
    takes = f"{1000 * each:.2g} milliseconds" if each < 0.1 else f"{each:.2g} seconds"
    slow = f" One answer of your code takes about {takes}." if each > 0 else ""
    return (
        "undecided",
        f"Not decided: {why}. So far we found nothing wrong, but that is not enough to call it right.{slow} "
        "Make your code faster, or close other programs and tabs. Then check it again.",
    )


def _run(code: str, name: str, place: dict[str, Any]) -> str | Undecided:
    """What went wrong, or nothing."""
    try:
        exec(compile(code, name, "exec"), place)
    except Undecided as undecided:
        return undecided
    except AssertionError as error:
        return str(error) or "A check failed."
    except SyntaxError as error:
        return f"Line {error.lineno}: {error.msg}."
    except Exception as error:
        at = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _YOURS]
        where = f"Line {at[-1]}: " if at else ""
        return f"{where}{type(error).__name__}: {error}"
    return ""


def _audited(claim: Mapping[str, Any], place: dict[str, Any]) -> Line:
    from lapwing.adversary.search import find_violation
    from lapwing.errors import LapwingError

    epsilons, releases = claim["epsilon"], 0
    start = time.monotonic()
    hurried = False
    for epsilon in epsilons:
        try:
            violation = find_violation(
                eval(claim["call"], place),
                epsilon=epsilon,
                domain=claim["domain"],
                relation=claim["relation"],
                samples=SAMPLES,
                seconds=SECONDS / len(epsilons),
                seed=SEED,
                bits=False,
            )
        except (LapwingError, NameError) as error:
            return "wrong", f"It could not be audited. {error}"
        if violation.caught:
            return "wrong", _counter_example(violation.audit, epsilon)
        hurried, releases = hurried or violation.hurried, releases + violation.releases
    if hurried:
        why = "there was not enough time for all the releases that the auditor needs"
        return _undecided(why, (time.monotonic() - start) / releases)
    claims = " or ".join(f"{epsilon:g}" for epsilon in epsilons)
    return "right", (
        f"All checks passed, and the auditor found no two neighbours that contradict ε = {claims} in "
        f"{releases:,} releases. This is evidence, not a proof."
    )


def _counter_example(audit: Any, epsilon: float) -> str:
    often, seldom = audit.hits if audit.direction == "first" else audit.hits[::-1]
    return (
        f"You claim ε = {epsilon:g}. Here is an event that shows that ε is at least {audit.epsilon_lower_bound:.2f}: "
        f"“{audit.event}” happened {often} times in {audit.trials} on one of two neighbours and {seldom} times on "
        f"the other. The neighbours: {audit.pair.first!r} and {audit.pair.second!r}."
    )
