"""Running totals in the lab: what one would cost, opening it, closing its steps, and a view that renews itself."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from lapwing.errors import InvalidParameter, LapwingError
from lapwing.web.accounts.sessions import Asking, Person, page, personal, redirect
from lapwing.web.lab import figures, questions, releases, streams
from lapwing.web.lab.bench import Bench, TheBench, limited_browser
from lapwing.web.lab.budget import covers
from lapwing.web.lab.result import Result
from lapwing.web.lab.routes.questions import QUICK
from lapwing.web.lab.streams import LabStream, Wish
from lapwing.web.service.lanes import in_lane
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
SHOWN = 12
"""Closed steps in the table of the page."""
LEAST = 0.001
"""The smallest epsilon of the form."""
_NEVER = {"cache-control": "no-store"}


@router.get("/lab/{id}/streams", dependencies=[limited_browser("lab preview")])
@in_lane("questions")
def begin(request: Request, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """The streams of this table, and a form for one more with what it would cost."""
    sent = [pair for pair in request.query_params.multi_items() if pair[0] != "epsilon"]
    return _form(request, bench, site, person, sent, request.query_params.get("epsilon", ""))


@router.post("/lab/{id}/streams", dependencies=[limited_browser("lab release")])
async def open_one(request: Request, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """Pay once, and open the stream."""
    form = [(name, value) for name, value in (await request.form()).multi_items() if isinstance(value, str)]
    return await site.lanes.releases.run(bench.owner, partial(_opened, request, bench, site, person, form))


def _opened(request: Request, bench: Bench, site: Site, person: Person | None, form: list[tuple[str, str]]) -> Response:
    sent = [pair for pair in form if pair[0] not in ("epsilon", "csrf")]
    written = dict(form).get("epsilon", "")
    epsilon = releases.epsilon_of(written)
    wish, complaint, _ = _understood(bench, _asked(bench, sent))
    if wish is None:
        return _form(request, bench, site, person, sent, written, complaint, 422)
    if not covers(bench.remaining, epsilon):
        refused = releases.too_much(bench)
        return _form(request, bench, site, person, sent, written, refused, 409)
    kept = streams.opened(bench, wish, epsilon)
    return redirect(site, f"/lab/{bench.id}/streams/{kept.mark}")


@router.get("/lab/{id}/streams/{mark}")
def show(request: Request, mark: str, bench: TheBench, site: TheSite, person: Asking, window: int = 0) -> Response:
    """The line so far with its band, the price, and how many steps are left."""
    kept = streams.found(bench, mark)
    _catch_up(bench, kept)
    details = _told(kept, window)
    values: dict[str, Any] = {"bench": bench, "kept": kept, "told": details, "paces": streams.PACES}
    values |= {"windows": streams.WINDOWS, "window": details["window"], "statement": bench.stated}
    values["limits"] = kept.wish.limits(kept.statement.unit_word)
    schedule = kept.stream.definition.schedule
    values["promise"] = kept.stream.definition.protection.explain(bench.stated.unit_word, schedule.every)
    values["odds"] = kept.stream.loss.explain().data
    return page(request, site, "lab/stream.html", person, **values)


@router.get("/lab/{id}/streams/{mark}/now", dependencies=[limited_browser("lab preview")])
def now(mark: str, bench: TheBench, window: int = 0) -> Response:
    """The same for scripts. Steps that are over meanwhile are being closed."""
    kept = streams.found(bench, mark)
    _catch_up(bench, kept)
    return JSONResponse(_told(kept, window), headers=_NEVER)


@router.get("/lab/{id}/streams/{mark}/export/{kind}", dependencies=[limited_browser("lab export")])
def export(mark: str, kind: str, bench: TheBench, window: int = 0) -> Response:
    """What was published so far, as a file or a picture."""
    kept = streams.found(bench, mark)
    result = kept.result(_window(window))
    if kind == "csv":
        named = {**_NEVER, "content-disposition": 'attachment; filename="lapwing-stream.csv"'}
        return Response(figures.to_csv(result, kept.wish.title), headers=named, media_type="text/csv; charset=utf-8")
    if kind != "png" or not result.series:
        raise Problem(404, "Take csv or png, after the first step is closed.")
    return Response(figures.to_png(result, kept.wish.title), headers=_NEVER, media_type="image/png")


@router.post("/lab/{id}/streams/{mark}/close", dependencies=[limited_browser("lab release")])
async def close(mark: str, bench: TheBench, site: TheSite, steps: Annotated[int, Form(ge=1, le=1000)] = 1) -> Response:
    """Close the next steps: the one who brought the table is the clock."""
    kept = streams.found(bench, mark)
    until = await run_in_threadpool(lambda: min(kept.stream.steps, kept.stream.closed + steps))
    job = await run_in_threadpool(kept.advance, bench, until)
    if job is not None:
        await job.ended.waited(QUICK)
        if job.state in ("failed", "cancelled"):
            raise Problem(409, job.error)
    return redirect(site, f"/lab/{bench.id}/streams/{mark}")


@router.post("/lab/{id}/streams/{mark}/run", dependencies=[limited_browser("lab release")])
def run(mark: str, bench: TheBench, site: TheSite, pace: Annotated[str, Form(max_length=20)] = "") -> Response:
    """Let steps come by themselves, or stop that."""
    kept = streams.found(bench, mark)
    if pace not in streams.PACES:
        raise Problem(422, "Choose how fast from the list.")
    kept.run(streams.PACES[pace])
    return redirect(site, f"/lab/{bench.id}/streams/{mark}")


def _catch_up(bench: Bench, kept: LabStream) -> None:
    if kept.running and not bench.failed and bench.stated == kept.statement:
        kept.advance(bench, kept.due)


def _window(steps: int) -> int:
    return steps if steps in streams.WINDOWS else 0


def _told(kept: LabStream, window: int) -> dict[str, Any]:
    """What the page and its script show."""
    chosen, job, schedule = _window(window), kept.job, kept.stream.definition.schedule
    marked = dict.fromkeys(max(1, round(quarter * schedule.steps / 4)) for quarter in range(5))
    return {
        "title": kept.wish.title,
        "every": kept.wish.every,
        "closed": kept.stream.closed,
        "left": kept.stream.left,
        "steps": kept.stream.steps,
        "epsilon": kept.epsilon,
        "running": kept.running,
        "wrong": job.error if job is not None and job.state == "failed" else "",
        "window": chosen,
        "names": {str(step): str(schedule.name(step)) for step in marked},
        "result": releases.plain(kept.result(chosen)),
        "exact": kept.wish.exact,
        "latest": _latest(kept.wish, kept.result(chosen)),
    }


def _latest(wish: Wish, result: Result) -> list[list[Any]]:
    """The rows of the table, newest first: the step, and each total with its interval as they are written."""
    if not result.series:
        return []
    steps = range(len(result.series[0].values) - 1, -1, -1)[:SHOWN]
    return [
        [
            wish.step(result.series[0].values[step].label),
            *(list(streams.shown(series.values[step])) for series in result.series),
        ]
        for step in steps
    ]


def _asked(bench: Bench, sent: list[tuple[str, str]]) -> dict[str, str]:
    """What was typed, and for the rest what the form begins with."""
    known = {field.name: field.value for field in streams.fields(bench.stated)}
    return known | {name: value for name, value in sent if name in known}


def _understood(bench: Bench, form: dict[str, str]) -> tuple[Wish | None, str, str]:
    """The stream that is meant; or what is wrong, and in which field."""
    fields = streams.fields(bench.stated)
    try:
        wish = Wish.of(bench.stated, form)
        streams.notes(wish, bench.stated)  # what the curator refuses, it refuses now
    except InvalidParameter as error:
        wrong = error.name if any(field.name == error.name for field in fields) else ""
        return None, questions.complaint(error, fields), wrong
    except LapwingError as error:
        return None, str(error), ""
    return wish, "", ""


def _form(
    request: Request,
    bench: Bench,
    site: Site,
    person: Person | None,
    sent: list[tuple[str, str]],
    epsilon: str,
    refused: str = "",
    status: int = 200,
) -> Response:
    statement, budget = bench.stated, releases.budget(bench)
    able, form = bool(streams.dated(statement)), _asked(bench, sent)
    wish, complaint, wrong = _understood(bench, form) if able else (None, "", "")
    values: dict[str, Any] = {"bench": bench, "statement": statement, "able": able, "fields": streams.fields(statement)}
    values |= {"asked": form, "wish": wish, "complaint": complaint or refused, "wrong": wrong, "budget": budget}
    linked = releases.linked_epsilon(epsilon)
    values["epsilon"] = linked if linked and float(linked) >= LEAST else f"{releases.offered(budget['left'])}"
    values["quoted"] = streams.quoted(wish, statement, budget["left"], float(values["epsilon"])) if wish else []
    values["notes"] = streams.notes(wish, statement) if wish else ()
    values["open"] = list(bench.streams.values())
    return page(request, site, "lab/streams.html", person, status, **values)
