"""Asking in the lab: the form, what it would cost, the release, and what came out.

Whoever brought the table asks; see `lab/bench.py`. Nothing here shows an exact number outside teaching mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from lapwing.web.accounts.sessions import Asking, Person, page, personal, redirect
from lapwing.web.lab import exports, games, questions, releases
from lapwing.web.lab.analyses import ANALYSES, effects
from lapwing.web.lab.bench import Answer, Bench, TheBench, limited_browser
from lapwing.web.lab.budget import covers, size_of
from lapwing.web.lab.figures import written
from lapwing.web.lab.forecasts import differences
from lapwing.web.lab.jobs import Job, Progress
from lapwing.web.lab.label import label
from lapwing.web.lab.statement import changes
from lapwing.web.lab.streams import LabStream
from lapwing.web.service.lanes import in_lane
from lapwing.web.service.plural import counted
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
QUICK = 2.0
"""Seconds that a request waits for work before the browser is told to ask again."""
LONG = 60.0
"""Seconds that a request waits for a file."""
SHOWN = ("exact", "draws", "attacks", "clipping")
_NEVER = {"cache-control": "no-store"}


@router.get("/lab/{id}/ask")
def begin(bench: TheBench, site: TheSite) -> Response:
    """The first question that this table has columns for."""
    able = [slug for slug, may in questions.possible(bench.stated).items() if may]
    return redirect(site, f"/lab/{bench.id}/ask/{(able or list(ANALYSES))[0]}")


@router.get("/lab/{id}/ask/{analysis}", dependencies=[limited_browser("lab preview")])
@in_lane("questions")
def ask(request: Request, analysis: str, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """The form, the two handles, and what was asked before."""
    sent = [pair for pair in request.query_params.multi_items() if pair[0] not in ("epsilon", "shown")]
    question = questions.question(bench.stated, analysis, sent or None)
    if not question.private:
        bench.teach()
    epsilon = releases.linked_epsilon(request.query_params.get("epsilon", ""))
    return _asking(request, site, person, bench, question, epsilon)


@router.get("/lab/{id}/ask/{analysis}/preview", dependencies=[limited_browser("lab preview")])
@in_lane("questions")
def preview(request: Request, analysis: str, bench: TheBench, site: TheSite) -> Response:
    """How far off at every place of the slider, without a look at the data; or what is missing in the form so far."""
    try:
        details: Mapping[str, Any] = releases.told(bench, _understood(request, analysis, bench))
    except Problem as missing:
        if missing.status_code != 422:
            raise
        details = {"complaint": missing.detail}
    return JSONResponse(details, headers=_NEVER)


@router.get("/lab/{id}/ask/{analysis}/at", dependencies=[limited_browser("lab preview")])
@in_lane("questions")
def at(request: Request, analysis: str, bench: TheBench, site: TheSite) -> Response:
    """The same at one epsilon that was typed: between two places of the slider an error is no exact line."""
    question, epsilon = (
        _understood(request, analysis, bench),
        releases.epsilon_of(request.query_params.get("epsilon", "")),
    )
    assert question.analysis is not None
    bands = releases.previewed(question.analysis, bench.stated, (epsilon,)).bands
    details = {"epsilon": epsilon, "errors": [band.errors[0] for band in bands]}
    return JSONResponse(releases.plain(details), headers=_NEVER)


@router.get("/lab/{id}/ask/{analysis}/nearby", dependencies=[limited_browser("lab preview")])
@in_lane("questions")
def nearby(request: Request, analysis: str, bench: TheBench, site: TheSite) -> Response:
    """The same for a tenth of the people and for ten times as many."""
    question = _understood(request, analysis, bench)
    assert question.analysis is not None
    previews = effects.of_people(question.analysis, bench.stated)
    nearby = [{"people": people, "bands": releases.plain(preview.bands)} for people, preview in previews]
    return JSONResponse(nearby, headers=_NEVER)


@router.post("/lab/{id}/ask/{analysis}", dependencies=[limited_browser("lab release")])
async def sent(request: Request, analysis: str, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """Read the form, whatever its fields are."""
    form = await _form(request)
    response = await site.lanes.releases.run(
        bench.owner, partial(release, request, analysis, form, bench, site, person)
    )
    return response if isinstance(response, Response) else await _waited(request, site, response)


@router.post("/lab/{id}/ask/{analysis}/look", dependencies=[limited_browser("lab release")])
async def looked(request: Request, analysis: str, bench: TheBench, site: TheSite) -> Response:
    """The answer to a question that has no private one: teaching mode only, and nothing is kept."""
    question = questions.question(bench.stated, analysis, await _form(request) or None)
    if question.private:
        raise Problem(404)
    if question.analysis is None:
        raise Problem(422, question.complaint or "This table has no column for that question.")
    job = bench.start(releases.look(bench, question), title=question.title)
    job.where = f"/lab/{bench.id}/ask/{analysis}?{urlencode([*question.pairs, ('shown', job.id)])}#look"
    return await _waited(request, site, job)


async def _form(request: Request) -> list[tuple[str, str]]:
    return [(name, value) for name, value in (await request.form()).multi_items() if isinstance(value, str)]


def release(
    request: Request, analysis: str, form: list[tuple[str, str]], bench: Bench, site: Site, person: Person | None
) -> Response | Job:
    """Charge, then look: the job of the private answer, or a page that says why there is none."""
    fields = [pair for pair in form if pair[0] not in ("epsilon", "csrf")]
    question = questions.question(bench.stated, analysis, fields or None)
    epsilon = releases.epsilon_of(dict(form).get("epsilon", ""))
    if not question.private:
        raise Problem(
            409, "This question has no private answer: nothing can be charged for it, so nothing is released."
        )
    if question.analysis is None:
        if not _for_people(request):
            raise Problem(422, question.complaint)
        return _asking(request, site, person, bench, question, str(epsilon), status=422)
    if not covers(bench.remaining, epsilon):
        if not _for_people(request):
            raise Problem(409, releases.too_much(bench, question.analysis))
        return _asking(request, site, person, bench, question, str(epsilon), status=409)
    at = releases.moment()
    where = f"/lab/{bench.id}/answers/{releases.mark(at)}"
    work = releases.release(bench, question, epsilon, at)
    return bench.start(work, where=where, title=question.title)


@router.get("/lab/{id}/answers/{mark}")
def answer(request: Request, mark: str, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """A private answer with everything about it; what teaching mode showed last, if it is asked for."""
    kept = releases.answer_of(bench, mark)
    shown = _taken(bench, site, request.query_params["shown"]) if "shown" in request.query_params else None
    return page(request, site, "lab/answer.html", person, **_told(bench, kept), shown=shown)


@router.get("/lab/{id}/answers/{mark}/export/{kind}", dependencies=[limited_browser("lab export")])
def export(mark: str, kind: str, bench: TheBench) -> Response:
    """The private answer as a file."""
    kept = releases.answer_of(bench, mark)
    question, statement = releases.question_of(bench, kept), bench.stated_for(kept)
    return exports.file(kind, kept, question, statement, bench.file)


@router.post("/lab/{id}/answers/{mark}/exact-file", dependencies=[limited_browser("lab export")])
async def exact_file(mark: str, bench: TheBench) -> Response:
    """The exact side as a file: in teaching mode, by a button of its own, and marked."""
    kept = releases.answer_of(bench, mark)
    work = releases.exact(bench, kept)
    job = bench.start(work, title="The exact answer, as a file")
    await job.ended.waited(LONG)
    if job.state != "done":
        job.cancel()
        raise Problem(409, job.error or "This takes too long. Use the script instead.")
    result, job.result = job.result, None
    return await run_in_threadpool(exports.exact, result["result"], kept.title)


@router.post("/lab/{id}/answers/{mark}/show/{what}", dependencies=[limited_browser("lab release")])
async def show(
    request: Request,
    mark: str,
    what: str,
    bench: TheBench,
    site: TheSite,
    times: Annotated[int, Form()] = 100,
    charged: Annotated[bool, Form()] = False,
) -> Response:
    """What teaching mode adds to an answer: nothing of it is kept. Charged draws are private, and anybody's."""
    kept = releases.answer_of(bench, mark)
    if what not in SHOWN:
        raise Problem(404)
    makers: dict[str, Callable[[], Callable[[Progress], Any]]] = {
        "exact": lambda: releases.exact(bench, kept),
        "draws": lambda: releases.draws(bench, kept, times, charged=charged),
        "attacks": lambda: releases.attacks(bench, kept),
        "clipping": lambda: releases.clipping(bench, kept),
    }
    work = await run_in_threadpool(makers[what])
    job = bench.start(work, title=_TITLES[what])
    kept_there = what == "draws" and charged  # what was paid for stands on the page of the answer from now on
    job.where = f"/lab/{bench.id}/answers/{mark}{'' if kept_there else f'?shown={job.id}'}#{what}"
    return await _waited(request, site, job)


_TITLES = {
    "exact": "The exact answer",
    "draws": "Many draws",
    "attacks": "Attacks on this answer",
    "clipping": "Other bounds",
}


@router.get("/lab/{id}/shown/{job}")
def shown(job: str, bench: TheBench, site: TheSite) -> Response:
    """What teaching mode found, once."""
    return JSONResponse(_taken(bench, site, job), headers=_NEVER)


def _taken(bench: Bench, site: Site, job: str) -> dict[str, Any] | None:
    """The outcome of a job of ours, which is forgotten by being told; what was paid for may be told again."""
    work = site.lab.jobs.get(bench.id, job)
    result = work.result if isinstance(work.result, dict) else None
    if work.state in ("failed", "cancelled"):
        raise Problem(409, work.error)
    if result is None:
        return None
    if not result.get("charged"):
        bench.teach()
        work.result = None
    return result


def _understood(request: Request, analysis: str, bench: Bench) -> questions.Question:
    sent = [pair for pair in request.query_params.multi_items() if pair[0] not in ("epsilon", "shown")]
    question = questions.question(bench.stated, analysis, sent or None)
    if question.analysis is None:
        raise Problem(422, question.complaint or "This table has no column for that question.")
    return question


def _for_people(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


async def _waited(request: Request, site: Site, job: Job) -> Response:
    """To what came out, if that was quick; otherwise to where one waits for it."""
    if not _for_people(request):
        await job.ended.waited(0.15)
        return JSONResponse(job.told(), 202, headers=_NEVER)
    await job.ended.waited(QUICK)
    if job.state in ("failed", "cancelled"):
        raise Problem(409, job.error)
    return redirect(site, job.where if job.state == "done" else f"/lab/{job.bench}/jobs/{job.id}")


def _asking(
    request: Request,
    site: Site,
    person: Person | None,
    bench: Bench,
    question: questions.Question,
    epsilon: str,
    status: int = 200,
) -> Response:
    statement, able = bench.stated, questions.possible(bench.stated)
    details = releases.told(bench, question) if question.analysis else None
    job = request.query_params.get("shown", "") if not question.private else ""
    budget = releases.budget(bench)
    refused = ""
    if status == 409 and question.analysis:
        refused = releases.too_much(bench, question.analysis)
    return page(
        request,
        site,
        "lab/ask.html",
        person,
        status,
        bench=bench,
        statement=statement,
        question=question,
        kinds=[(slug, ANALYSES[slug], may) for slug, may in able.items()],
        dated=bool(statement.of_type("date")),
        told=details,
        budget=budget,
        refused=refused,
        epsilon=epsilon or f"{releases.offered(budget['left'])}",
        history=_history(bench),
        shown=_taken(bench, site, job) if job else None,
    )


def _told(bench: Bench, kept: Answer) -> dict[str, Any]:
    loss = kept.result.loss
    assert loss is not None
    question, statement = releases.question_of(bench, kept), bench.stated_for(kept)
    analysis, limits = question.analysis, games.limits(loss, statement.unit_word)
    preview = analysis.preview(statement, (kept.epsilon,)) if analysis else None
    return {
        "differences": differences(analysis, preview, kept, statement) if analysis and preview else (),
        "bench": bench,
        "statement": statement,
        "changed": changes(statement, bench.stated) if analysis else (),
        "answer": kept,
        "mark": releases.mark(kept),
        "question": question,
        "result": releases.plain(kept.result),
        "budget": releases.budget(bench),
        "explanation": loss.explain(),
        "label": label(analysis, statement, kept.result, ledger=bench.ledger, preview=preview) if analysis else None,
        "limits": limits,
        "limit_rows": releases.plain(limits),
        "clippable": analysis is not None and effects.clippable(analysis, statement) is not None,
        "paid": releases.paid_draws(kept) if kept.draws else None,
        "times": releases.TIMES,
        "history": _history(bench),
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the list of what was asked of a table."""

    title: str
    where: str
    """Its page; nothing if it has none."""
    answer: str
    epsilon: float


def _history(bench: Bench) -> list[Entry]:
    """What was asked so far, newest first, so that what it cost adds up to what was spent."""
    by_mark = {releases.mark(answer): _of_answer(bench, answer) for answer in bench.answers}
    by_mark |= {mark: [_of_stream(bench, kept)] for mark, kept in bench.streams.items()}
    newest = sorted(by_mark, key=lambda mark: int(mark, 16), reverse=True)
    listed = [entry for mark in newest for entry in by_mark[mark]]
    unlisted = float(size_of(bench.spent)[0]) - sum(entry.epsilon for entry in listed)
    if unlisted > 1e-9 * bench.stated.epsilon:  # the ledger lets a billionth pass
        listed.append(Entry("Bounds and keys found privately, questions that failed or were stopped", "", "", unlisted))
    return listed


def _of_answer(bench: Bench, answer: Answer) -> list[Entry]:
    """An answer, after the draws that were paid for besides."""
    values = [value for series in answer.result.series for value in series.values]
    said = written(values[0]) if len(values) == 1 else f"{len(values)} numbers"
    where, times = f"/lab/{bench.id}/answers/{releases.mark(answer)}", len(answer.draws)
    entry = Entry(answer.title, where, said, answer.epsilon)
    if not times:
        return [entry]
    again = f"{answer.title}, drawn {counted(times, 'time')} more"
    listed = f"{times} numbers" if len(values) == 1 else f"{times} times {len(values)} numbers"
    return [Entry(again, f"{where}#draws", listed, times * answer.epsilon), entry]


def _of_stream(bench: Bench, kept: LabStream) -> Entry:
    said = f"{kept.stream.closed} of {counted(kept.stream.steps, kept.wish.every)} closed"
    return Entry(f"Running totals: {kept.wish.title}", f"/lab/{bench.id}/streams/{kept.mark}", said, kept.epsilon)
