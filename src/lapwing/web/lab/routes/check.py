"""The owner's check of what was stated about a table: teaching mode only, shown once, never kept."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from lapwing.web.accounts.sessions import Asking, page, personal, redirect
from lapwing.web.lab import check_report
from lapwing.web.lab.bench import Bench, TheBench, limited_browser
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite

router = personal()
QUICK = 1.5
"""Seconds that a request waits for the check before it shows how far it is."""


@router.get("/lab/{id}/check")
def check(request: Request, bench: TheBench, site: TheSite, person: Asking, shown: str = "") -> Response:
    """What a check does, and what the last one found, once."""
    report = _taken(bench, site, shown) if shown else None
    return page(request, site, "lab/check.html", person, bench=bench, statement=bench.stated, report=report)


@router.post("/lab/{id}/check", dependencies=[limited_browser("lab propose")])
async def begin(bench: TheBench, site: TheSite) -> Response:
    """Compare the rows with what is stated."""
    work = await run_in_threadpool(check_report.work, bench)
    job = bench.start(work, title="Comparing the table with what you stated")
    job.where = f"/lab/{bench.id}/check?shown={job.id}"
    await job.ended.waited(QUICK)
    if job.state in ("failed", "cancelled"):
        raise Problem(409, job.error)
    return redirect(site, job.where if job.state == "done" else f"/lab/{bench.id}/jobs/{job.id}")


def _taken(bench: Bench, site: Site, id: str) -> dict[str, Any] | None:
    """What a check found, which is forgotten by being told."""
    bench.teach()
    job = site.lab.jobs.get(bench.id, id)
    if job.state in ("failed", "cancelled"):
        raise Problem(409, job.error)
    result, job.result = job.result, None
    is_check = isinstance(result, dict) and result.get("kind") == "check"
    return result["report"] if is_check else None
