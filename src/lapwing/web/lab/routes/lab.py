"""Bringing a table to the lab, saying what is public about it, and taking it away again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect

from lapwing.web.accounts.sessions import Asking, Person, limited, page, personal, redirect
from lapwing.web.lab import deliveries, proposals, statement_form
from lapwing.web.lab.bench import PASTED, Bench, TheBench, limited_browser
from lapwing.web.lab.benches import TooManyTables
from lapwing.web.lab.budget import covers
from lapwing.web.lab.bundled import EXAMPLES
from lapwing.web.lab.engine import readable
from lapwing.web.lab.intake import MOST_COLUMNS
from lapwing.web.lab.jobs import Job, Progress
from lapwing.web.lab.names import file_title
from lapwing.web.lab.owners import is_owner, new_owner, owner_of, remember_owner
from lapwing.web.lab.statement import DATASET
from lapwing.web.service.limits import address_of
from lapwing.web.service.plural import counted
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

QUICK = 1.5
"""Seconds that a request waits for work before it shows how far it is."""


class WideForm(Request):
    """A request whose form may have a few fields for each of many columns."""

    def form(self, *, max_files: int | float = 1, max_fields: int | float = 0, max_part_size: int = 1 << 20) -> Any:
        """As in Starlette."""
        most = max_fields or 5 * MOST_COLUMNS + 100
        return super().form(max_files=max_files, max_fields=most, max_part_size=max_part_size)


class WideRoute(APIRoute):
    """A route that reads wide forms."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """As in FastAPI."""
        usual = super().get_route_handler()

        async def wide(request: Request) -> Response:
            return await usual(WideForm(request.scope, request.receive))

        return wide


router = personal(route_class=WideRoute)


@router.get("/lab")
def index(request: Request, site: TheSite, person: Asking) -> Response:
    """Where one brings a table, and those that this browser brought."""
    return _index(request, site, person)


def _index(request: Request, site: Site, person: Person | None, complaint: str = "", status: int = 200) -> Response:
    mine = [(bench, deleted_at(bench)) for bench in site.lab.of(owner_of(request, site.settings))]
    limits = {"size": readable(site.settings.lab_upload), "columns": MOST_COLUMNS, "lasts": lasts(site)}
    limits["tables"] = site.settings.lab_benches_each
    values = {"mine": mine, "examples": EXAMPLES.values(), "limits": limits, "complaint": complaint}
    return page(request, site, "lab/index.html", person, status, most=site.settings.lab_upload, **values)


@router.post("/lab/upload", dependencies=[limited("lab bring")])
async def upload(request: Request, site: TheSite, person: Asking) -> Response:
    """Take a file: the body itself, as our script sends it, or a form with a file in it."""
    try:
        if request.headers.get("content-type", "").startswith("multipart/form-data"):
            return await _sent_by_form(request, site, person)
        return await _sent_by_script(request, site, person)
    except (OSError, ClientDisconnect):
        raise Problem(503, "The file did not arrive completely. Please try again.") from None


async def _sent_by_script(request: Request, site: Site, person: Person | None) -> Response:
    pieces = request.stream()
    first = await anext(pieces, b"")  # whoever sends nothing has no bench
    if not first:
        return await run_in_threadpool(_nothing, request, site, person, _EMPTY)
    title = file_title(unquote(request.headers.get("x-file-name", "")))

    async def fill(bench: Bench) -> Job:
        await deliveries.keep_stream(bench, first, pieces, site.settings.lab_upload)
        return deliveries.begin(site.lab, bench)

    return await _taken_in(request, site, person, title, fill)


async def _sent_by_form(request: Request, site: Site, person: Person | None) -> Response:
    async with request.form() as form:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            return await run_in_threadpool(_nothing, request, site, person)
        if not file.size:
            return await run_in_threadpool(_nothing, request, site, person, _EMPTY)

        async def fill(bench: Bench) -> Job:
            await run_in_threadpool(deliveries.keep_file, bench, file.file, site.settings.lab_upload)
            return deliveries.begin(site.lab, bench)

        return await _taken_in(request, site, person, file_title(file.filename), fill)


_EMPTY = "The file is empty. Choose one with rows in it."


@router.post("/lab/paste", dependencies=[limited("lab bring")])
async def paste(
    request: Request, site: TheSite, person: Asking, text: Annotated[str, Form(max_length=1_000_000)] = ""
) -> Response:
    """Take what was pasted."""
    if not text.strip():
        why = "Paste a table first: names in the first line, rows below."
        return await run_in_threadpool(_nothing, request, site, person, why)

    async def fill(bench: Bench) -> Job:
        await run_in_threadpool((bench.folder / "raw").write_bytes, text.encode("utf-8", "replace"))
        return deliveries.begin(site.lab, bench)

    return await _taken_in(request, site, person, PASTED, fill)


@router.post("/lab/examples/{slug}", dependencies=[limited("lab bring")])
async def example(request: Request, slug: str, site: TheSite, person: Asking) -> Response:
    """Take a bundled table."""
    chosen = EXAMPLES.get(slug)
    if chosen is None:
        raise Problem(404)

    async def fill(bench: Bench) -> Job:
        return deliveries.begin_example(bench, chosen)

    return await _taken_in(request, site, person, chosen.title, fill)


@router.get("/lab/{id}")
def describe(request: Request, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """What is public about the table; before that, how far intake is."""
    if not bench.ready:
        return _arriving(request, bench, site, person)
    return _describe(request, bench, site, person, statement_form.filled(bench))


@router.post("/lab/{id}", dependencies=[limited_browser("lab state")])
async def state(request: Request, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """State it."""
    return await run_in_threadpool(_state, request, bench, site, person, await _typed(request))


async def _typed(request: Request) -> dict[str, str]:
    """The fields of a form that are text."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


def _state(request: Request, bench: Bench, site: Site, person: Person | None, form: dict[str, str]) -> Response:
    if not bench.ready:
        return _arriving(request, bench, site, person)
    statement, shown = statement_form.read(bench, form)
    if statement is None:
        return _describe(request, bench, site, person, shown, 422)
    try:
        bench.state(statement)
    except Problem as error:
        shown.complaints["form"] = error.detail
        return _describe(request, bench, site, person, shown, error.status_code)
    bench.proposals.clear()
    if form.get("then") == "ask":
        return redirect(site, f"/lab/{bench.id}/ask")
    unread = "" if statement.teaching else " Nothing was read from the table."
    return redirect(site, f"/lab/{bench.id}", f"Your description is stored.{unread}")


@router.post("/lab/{id}/rows", dependencies=[limited_browser("lab propose")])
async def rows(request: Request, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """The first rows before anything is stated, for an owner who says that they may see them: teaching mode begins."""
    return await run_in_threadpool(_rows, request, bench, site, person, await _typed(request))


def _rows(request: Request, bench: Bench, site: Site, person: Person | None, form: dict[str, str]) -> Response:
    if not bench.ready:
        return _arriving(request, bench, site, person)
    if bench.statement is not None:
        bench.teach()
        return redirect(site, f"/lab/{bench.id}#seen")
    shown = statement_form.typed(bench, form) if "people" in form else statement_form.filled(bench)
    shown.teaching = True
    return _describe(request, bench, site, person, shown, rows=proposals.first_rows(bench.path))


@router.post("/lab/{id}/read", dependencies=[limited_browser("lab bring")])
async def read_as(bench: TheBench, site: TheSite, encoding: Annotated[str, Form(max_length=20)] = "") -> Response:
    """Read the text once more, as its owner says it is written."""
    if not bench.asks_encoding or encoding != "latin-1":
        raise Problem(409, "There is nothing to read again. Bring the file once more.")
    await deliveries.begin(site.lab, bench, deliveries.LATIN).ended.waited(QUICK)
    return redirect(site, f"/lab/{bench.id}")


@router.post("/lab/{id}/propose", dependencies=[limited_browser("lab propose")])
async def propose(
    bench: TheBench,
    site: TheSite,
    column: Annotated[str, Form(max_length=200)] = "",
    what: Annotated[str, Form(max_length=20)] = "",
    price: Annotated[float, Form()] = 0.0,
) -> Response:
    """Find bounds or keys privately, for a price."""
    stated = bench.stated.column(column)
    if price not in proposals.PRICES or what not in ("bounds", "keys"):
        raise Problem(422, "Choose what to look for and a price from the lists.")
    if what == "bounds" and not proposals.can_have_bounds(stated):
        raise Problem(
            422,
            f"{stated.name} is no number, so it has no bounds, and nothing was spent. If its values are numbers, "
            "choose “number” as its type and save the form. Then look again.",
        )
    data = await run_in_threadpool(bench.data)

    def work(progress: Progress) -> None:
        if what == "bounds":
            bench.propose(column, proposals.private_bounds(data, column, price, progress))
        else:
            bench.propose(column, proposals.private_keys(data, column, price, progress))

    return await _work(bench, site, work, f"Looking for {what} of {stated.name}", column)


@router.post("/lab/{id}/look", dependencies=[limited_browser("lab propose")])
async def look(
    bench: TheBench,
    site: TheSite,
    column: Annotated[str, Form(max_length=200)] = "",
    what: Annotated[str, Form(max_length=20)] = "",
) -> Response:
    """Read bounds or keys from the data: teaching mode only, and marked."""
    bench.teach()
    stated, notation = bench.stated.column(column), bench.stated.notation
    if what not in ("bounds", "keys"):
        raise Problem(422)

    def work(progress: Progress) -> None:
        if what == "bounds":
            kind = stated.type if stated.type in ("integer", "number") else "number"
            proposal = proposals.read_bounds(bench.path, column, kind, notation)
        else:
            proposal = proposals.read_keys(bench.path, stated, notation)
        bench.propose(column, proposal)

    return await _work(bench, site, work, f"Reading {what} of {stated.name}", column)


@router.post("/lab/{id}/over")
def over(bench: TheBench, site: TheSite, sure: Annotated[str, Form(max_length=5)] = "") -> Response:
    """Begin with a new budget, if that is meant."""
    if sure != "yes":
        raise Problem(422, "Tick that you mean it: a new budget forgets the answers, but people who saw them do not.")
    bench.start_over()
    return redirect(site, f"/lab/{bench.id}", "You started over. People who saw earlier answers still have them.")


@router.post("/lab/{id}/delete")
def delete(bench: TheBench, site: TheSite) -> Response:
    """Delete the table with everything about it."""
    site.lab.delete(bench)
    return redirect(site, "/lab", "Your table is deleted, with all answers.")


@router.get("/lab/{id}/jobs/{job}")
def job_state(request: Request, job: str, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """How far a piece of work is: JSON for scripts, a page for people, who go on when it is done."""
    work = site.lab.jobs.get(bench.id, job)
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse(work.told(), headers={"cache-control": "no-store"})
    if work.state == "done" and work.where:
        return redirect(site, work.where)
    return page(request, site, "lab/job.html", person, bench=bench, job=work)


@router.post("/lab/{id}/jobs/{job}/cancel")
async def cancel(request: Request, job: str, bench: TheBench, site: TheSite) -> Response:
    """Stop a piece of work."""
    work = site.lab.jobs.get(bench.id, job)
    await run_in_threadpool(work.cancel)
    await work.ended.waited(QUICK)
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse(work.told(), headers={"cache-control": "no-store"})
    return redirect(site, f"/lab/{bench.id}", "You stopped it." if not work.open else "It stops at its next step.")


def _owner(request: Request, site: Site) -> str:
    known = owner_of(request, site.settings)
    return known if is_owner(known) else new_owner()


async def _taken_in(
    request: Request, site: Site, person: Person | None, title: str, fill: Callable[[Bench], Awaitable[Job]]
) -> Response:
    """A bench for what somebody brings, filled by a job; whoever has too many tables is shown them instead."""
    owner = _owner(request, site)
    try:
        async with deliveries.bench_for(site.lab, owner, title, address_of(request)) as bench:
            job = await fill(bench)
    except TooManyTables as error:
        return await run_in_threadpool(_nothing, request, site, person, error.detail, error.status_code)
    return await _brought(request, site, bench, owner, job)


async def _brought(request: Request, site: Site, bench: Bench, owner: str, job: Job) -> Response:
    """Onwards to the bench, with the cookie by which it knows its browser."""
    where = f"/lab/{bench.id}"
    if "text/html" in request.headers.get("accept", ""):
        await job.ended.waited(QUICK)
        response: Response = redirect(site, where)
    else:
        addresses = {"where": where, "job": f"{where}/jobs/{job.id}"}
        response = JSONResponse(addresses, 201, {"cache-control": "no-store"})
    remember_owner(response, site.settings, owner)
    return response


def _nothing(
    request: Request,
    site: Site,
    person: Person | None,
    why: str = "Choose a file first, or drop one here.",
    status: int = 422,
) -> Response:
    """Nothing was brought: why, beside the tables that are there."""
    if "text/html" not in request.headers.get("accept", ""):
        raise Problem(status, why)
    return _index(request, site, person, why, status)


def _arriving(request: Request, bench: Bench, site: Site, person: Person | None) -> Response:
    job = bench.intake
    if job is None or bench.deleted:
        raise Problem(404, "This table is not here. It was deleted, or another browser brought it.")
    if job.open or job.state == "done":
        return page(request, site, "lab/job.html", person, bench=bench, job=job)
    return page(request, site, "lab/refused.html", person, bench=bench, job=job, latin=bench.asks_encoding)


async def _work(bench: Bench, site: Site, work: Callable[[Progress], Any], title: str, column: str) -> Response:
    place = next(place for place, known in enumerate(bench.stated.columns) if known.name == column)
    job = bench.start(work, where=f"/lab/{bench.id}#column-{place}", title=title)
    await job.ended.waited(QUICK)
    if job.state == "done":
        proposal = bench.proposals.get(column)
        something = "What was found is shown beside the column. Save the form to state it."
        nothing = "Nothing was found. The line of the column says why."
        return redirect(site, job.where, something if proposal is not None and proposal.found else nothing)
    return redirect(site, f"/lab/{bench.id}/jobs/{job.id}")


def _describe(
    request: Request,
    bench: Bench,
    site: Site,
    person: Person | None,
    shown: statement_form.FilledForm,
    status: int = 200,
    rows: Sequence[tuple[str, ...]] = (),
) -> Response:
    stated = bench.statement
    teaching = stated is not None and stated.teaching
    values = {
        "bench": bench,
        "form": shown,
        "stated": stated,
        "teaching": teaching,
        "types": statement_form.TYPE_WORDS,
        "deltas": statement_form.DELTAS,
        "numbers": {name: words for name, (*_, words) in statement_form.NUMBERS.items()},
        "came_as_text": statement_form.came_as_text(bench),
        "prices": [price for price in proposals.PRICES if stated and covers(bench.remaining, price)],
        "cheapest": min(proposals.PRICES),
        "threshold": proposals.threshold(0.1, stated.max_rows_per_unit if stated else 1),
        "to_look_at": proposals.to_look_at(stated) if stated else {},
        "people_for_keys": proposals.people_for_keys(stated, 0.1) if stated else None,
        "keys_delta": proposals.delta_for_keys(stated) if stated else 0.0,
        "rows": proposals.first_rows(bench.path) if teaching else rows,
        "spent": bench.ledger.spent(DATASET) if stated else None,
        "remaining": bench.remaining if stated else None,
        "deleted_at": deleted_at(bench),
        "lasts": lasts(site),
    }
    return page(request, site, "lab/describe.html", person, status, **values)


def deleted_at(bench: Bench) -> dict[str, str]:
    """When a bench is deleted unless it is used before: for people and for scripts."""
    at = datetime.fromtimestamp(max(bench.expires, time.time()), UTC)
    return {"iso": at.isoformat(timespec="minutes"), "shown": f"{at:%H:%M} UTC"}


def lasts(site: Site) -> str:
    """How long a table is kept without use, in words."""
    minutes = round(site.settings.lab_lasts / 60)
    if minutes < 120:
        return counted(max(minutes, 1), "minute")
    return f"{minutes / 60:g} hours"
