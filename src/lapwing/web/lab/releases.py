"""Quotes and releases of the lab, and what teaching mode adds to them.

Everything here is handed to `routes/lab_asking.py`; nothing here knows about HTTP but its refusals.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lapwing.errors import BudgetExceeded, EngineFailed, LapwingError
from lapwing.web.lab import games
from lapwing.web.lab.analyses import ANALYSES, effects
from lapwing.web.lab.analyses.curated import AFTER, THRESHOLD
from lapwing.web.lab.analysis import Analysis
from lapwing.web.lab.bench import Answer, Bench
from lapwing.web.lab.budget import covers
from lapwing.web.lab.failures import on_record
from lapwing.web.lab.jobs import PLAIN, Progress, TooLong
from lapwing.web.lab.questions import Question
from lapwing.web.lab.result import EPSILONS, Budget, Preview, QuestionHandles, Result, measured
from lapwing.web.lab.statement import Statement
from lapwing.web.service.problems import Problem
from lapwing.web.wording import sentence

TIMES = (10, 100)
"""How often one may see a question answered."""
MOST_DRAWN = 60
"""Numbers of one answer that are followed through many draws."""
MOST_EPSILON = 100.0
WHAT_DELTA_IS = "δ is a small additional probability by which the promise of ε may be exceeded."
CHANGED = "After this answer, you changed what is stated about the table. Ask the question again."
WAS_READ = (
    "This answer was asked in teaching mode, with bounds or keys that were read from the data. So its label, its draws "
    "and its script are for teaching mode only. Ask the question again with what you state now."
)
_one_at_a_time = threading.Lock()
_latest = 0.0


def epsilon_of(text: str) -> float:
    """What was typed as epsilon."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= MOST_EPSILON:
        raise Problem(422, "Write an epsilon above 0, such as 0.5: it says how much of the budget the answer may take.")
    return value


def linked_epsilon(text: str) -> str:
    """What a link says as epsilon, as a field for numbers takes it; nothing if it cannot be one.

    >>> linked_epsilon("0.50"), linked_epsilon("none"), linked_epsilon("-1")
    ('0.5', '', '')
    """
    try:
        return repr(epsilon_of(text))
    except Problem:
        return ""


def budget(bench: Bench) -> Budget:
    """What may be spent in all, what was spent, and what is left, in epsilon."""
    spent, left = bench.spent, bench.remaining
    budget: Budget = {"allowance": bench.stated.epsilon, "spent": float(spent.epsilon), "left": float(left.epsilon)}  # type: ignore[attr-defined]
    if bench.stated.delta:
        budget["delta"] = bench.stated.delta
        budget["delta_left"] = float(getattr(left, "delta", 0))
    return budget


def told(bench: Bench, question: Question) -> QuestionHandles:
    """What the handles of the page need: how far off at every place, and the budget."""
    assert question.analysis is not None
    statement, left = bench.stated, budget(bench)
    preview = previewed(question.analysis, statement)
    return {
        "title": question.title,
        "asked": question.pairs,
        "places": EPSILONS,
        "preview": plain(preview),
        "budget": left,
        "unit": statement.unit_word,
        "people": statement.people,
        "based_on": _based_on(preview, statement, left),
    }


def _based_on(preview: Preview, statement: Statement, left: Budget) -> list[str]:
    """What a forecast and the guarantee rest on, a sentence each."""
    based = [
        f"Noise: {preview.mechanism or 'part of the method'}.",
        f"Protected: whether one {statement.unit_word} is in the table.",
        f"You stated about {statement.crowd_size}. Previews use that number; the guarantee does not.",
    ]
    if preview.delta:
        of = f" of {left['delta_left']:.1e} left" if "delta_left" in left else ""
        based.append(f"It also takes δ = {preview.delta:.1e}{of}. {WHAT_DELTA_IS}")
    return [*based, *(sentence(note) for note in preview.notes)]


def previewed(analysis: Analysis, statement: Statement, epsilons: Sequence[float] = EPSILONS) -> Preview:
    """How far off it would be; a refusal becomes a page."""
    try:
        return analysis.preview(statement, epsilons)
    except LapwingError as error:
        raise Problem(422, str(error)) from None


def offered(left: float) -> float:
    """Where the slider begins: a fifth of what is left, at a place of the slider."""
    return max((place for place in EPSILONS if place <= left / 5), default=EPSILONS[0])


def too_much(bench: Bench, analysis: Analysis | None = None) -> str:
    """What is left, and what it still buys of a question."""
    left = budget(bench)["left"]
    if left < EPSILONS[0]:
        return "The budget of this table is spent. The answers you have stay yours; nothing more can be asked of it."
    said = f"{left:.3g} is left, so this was not asked and nothing was spent."
    for band in previewed(analysis, bench.stated, (left,)).bands if analysis else ():
        [error] = band.errors
        if error is not None and band.measured_in != THRESHOLD:
            about = "about " if band.why else ""
            of = f"{band.output} {band.condition}".rstrip()
            return f"{said} That is enough for {of} to within {about}{measured(f'{error:.3g}', band.measured_in)}."
    return f"{said} Ask with {left:.3g} or less."


def release(bench: Bench, question: Question, epsilon: float, at: float) -> Callable[[Progress], Answer]:
    """The work of a release: charged, then read, then kept."""
    analysis = question.analysis
    assert analysis is not None

    def work(progress: Progress) -> Answer:
        try:
            data = bench.data()
            result = analysis.release(data, epsilon, progress)
        except BudgetExceeded:
            raise Problem(409, too_much(bench, analysis)) from None
        answer = Answer(question.slug, question.title, question.asked, epsilon, result, at=at, statement=data.statement)
        bench.keep(answer)
        return answer

    return work


def moment() -> float:
    """A time for a new answer that no other answer has, to the millisecond."""
    global _latest
    with _one_at_a_time:
        _latest = max(time.time(), _latest + 0.001)
        return _latest


def mark(answer: Answer | float) -> str:
    """What an answer is called in an address."""
    return f"{round(1000 * (answer.at if isinstance(answer, Answer) else answer)):x}"


def answer_of(bench: Bench, called: str) -> Answer:
    """The answer of this name."""
    for answer in bench.answers:
        if mark(answer) == called:
            return answer
    raise Problem(404, "This answer is not kept any more. What it cost stays counted.")


def question_of(bench: Bench, answer: Answer) -> Question:
    """The question behind an answer, as it was understood when it was asked.

    Privacy: what was read from the data stays in teaching mode, also where an older answer was asked with it.
    """
    kind, statement = ANALYSES[answer.slug], bench.stated_for(answer)
    fields = kind.fields(statement)
    if not statement.teaching and bench.was_read(statement.columns):
        return Question(answer.slug, kind, fields, answer.asked, None, WAS_READ)
    try:
        return Question(answer.slug, kind, fields, answer.asked, kind.of(statement, answer.asked))
    except LapwingError:  # of an answer that does not say what was stated then
        return Question(answer.slug, kind, fields, answer.asked, None, CHANGED)


def _ready(bench: Bench, answer: Answer) -> Analysis:
    question = question_of(bench, answer)
    if question.analysis is None:
        raise Problem(409, question.complaint)
    return question.analysis


def taught(work: Callable[[Progress], dict[str, Any]]) -> Callable[[Progress], dict[str, Any]]:
    """What teaching mode shows. Its failures close nothing, so they do not say that the table is closed."""

    def shown(progress: Progress) -> dict[str, Any]:
        try:
            return work(progress)
        except EngineFailed:
            raise Problem(409, PLAIN) from None

    return shown


def exact(bench: Bench, answer: Answer) -> Callable[[Progress], dict[str, Any]]:
    """The exact answer to the same question. Teaching mode only."""
    bench.teach()
    analysis = _ready(bench, answer)

    def work(progress: Progress) -> dict[str, Any]:
        data = bench.data(charged=False, answer=answer)
        result = analysis.exact(data, progress)
        return {"kind": "exact", "result": plain(result), "sample": effects.sample_of(analysis, data, progress)}

    return taught(work)


def draws(bench: Bench, answer: Answer, times: int, *, charged: bool) -> Callable[[Progress], dict[str, Any]]:
    """The same question again and again: free in teaching mode, otherwise every one is charged."""
    if times not in TIMES:
        raise Problem(422, f"Choose {TIMES[0]} or {TIMES[1]} times.")
    if not charged:
        bench.teach()
    elif not covers(bench.remaining, times * answer.epsilon):
        raise Problem(
            409, f"This would cost {times * answer.epsilon:.3g}, but only {budget(bench)['left']:.3g} is left."
        )
    analysis = _ready(bench, answer)

    def paid(progress: Progress) -> dict[str, Any]:
        data = bench.data(answer=answer)

        def repeated() -> None:
            for turn in range(times):
                part = progress.part(turn / times, (turn + 1) / times)
                bench.keep_draw(answer, analysis.release(data, answer.epsilon, part))

        on_record(data, repeated, of=TooLong)
        return paid_draws(answer_of(bench, mark(answer)))

    def free(progress: Progress) -> dict[str, Any]:
        data = bench.data(charged=False, answer=answer)
        exact, sample = analysis.exact(data, lambda _: None), effects.sample_of(analysis, data, lambda _: None)
        return _drawn(answer, list(analysis.draws(data, answer.epsilon, times, progress)), exact, sample)

    return paid if charged else taught(free)


def paid_draws(answer: Answer) -> dict[str, Any]:
    """All draws of an answer that were paid for, in the shape in which draws are shown."""
    return _drawn(answer, answer.draws)


def _drawn(answer: Answer, results: Sequence[Result], exact: Result | None = None, sample: int = 0) -> dict[str, Any]:
    """Draws of every number of an answer, beside the exact ones where teaching mode shows them."""
    numbers = [(series.name, value) for series in answer.result.series for value in series.values]
    drawn = [_by_name(result) for result in results]
    exactly = {} if exact is None else _by_name(exact)
    outputs = [
        {
            "series": name,
            "label": value.label,
            "draws": [draw[name, value.label] for draw in drawn if (name, value.label) in draw],
            "released": value.value,
            "exact": exactly.get((name, value.label)),
            "limited": exactly.get((f"{name} {AFTER}", value.label)),
        }
        for name, value in numbers
        if value.value is not None
    ][:MOST_DRAWN]
    price = {"charged": exact is None, "times": len(results), "epsilon": answer.epsilon}
    return {"kind": "draws", **price, "sample": sample, "outputs": plain(outputs)}


def _by_name(result: Result) -> dict[tuple[str, str], float]:
    """The numbers of a result, by series and label."""
    return {
        (series.name, value.label): value.value
        for series in result.series
        for value in series.values
        if value.value is not None
    }


def attacks(bench: Bench, answer: Answer) -> Callable[[Progress], dict[str, Any]]:
    """All attacks against this answer, on the real rows. Teaching mode only."""
    bench.teach()
    analysis = _ready(bench, answer)
    loss = answer.result.loss
    assert loss is not None

    def work(progress: Progress) -> dict[str, Any]:
        data = bench.data(charged=False, answer=answer)
        if not games.playable(data):
            raise Problem(
                422, f"Attacks are run on tables of up to {games.MOST_ROWS:,} rows. The proved limits hold anyway."
            )
        return {"kind": "attacks", "outcomes": plain(games.play(analysis, data, answer.epsilon, loss, progress))}

    return taught(work)


def clipping(bench: Bench, answer: Answer) -> Callable[[Progress], dict[str, Any]]:
    """What other bounds would do. Teaching mode only."""
    bench.teach()
    analysis = _ready(bench, answer)
    column = effects.clippable(analysis, bench.stated_for(answer))
    if column is None or column.bounds is None:
        raise Problem(422, "Other bounds are compared for the mean of a column only. Ask for its mean.")
    stated, named = column.bounds[1], ", ".join(part for part in (column.name, analysis.rows) if part)

    def work(progress: Progress) -> dict[str, Any]:
        effect = effects.of_clipping(analysis, bench.data(charged=False, answer=answer), answer.epsilon, progress)
        return {"kind": "clipping", "column": named, "stated": stated, "result": plain(effect)}

    return taught(work)


def look(bench: Bench, question: Question) -> Callable[[Progress], dict[str, Any]]:
    """The exact answer to a question that has no private one. Teaching mode only."""
    bench.teach()
    analysis = question.analysis
    assert analysis is not None

    def work(progress: Progress) -> dict[str, Any]:
        return {"kind": "look", "result": plain(analysis.exact(bench.data(charged=False), progress))}

    return taught(work)


def plain(value: Any) -> Any:
    """Dataclasses as JSON: no losses, nothing infinite."""
    if isinstance(value, Result | Preview) or hasattr(value, "__dataclass_fields__"):
        return plain({name: field for name, field in asdict_once(value).items() if name != "loss"})
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def asdict_once(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as they are."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
