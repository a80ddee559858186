"""Questions of the lab that failed: what the engine said, for the owner of the table, and the way to reopen it."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from fastapi import Form, Request, Response

from lapwing.web.lab.bench import TheBench
from lapwing.web.lab.statement import DATASET
from lapwing.web.problems import Problem
from lapwing.web.sessions import Asking, page, personal, redirect
from lapwing.web.site import TheSite

router = personal()


@router.get("/lab/{id}/failures")
def failures(request: Request, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """What failed since the table was last reopened."""
    found = [
        (dt.datetime.fromtimestamp(one.time, dt.UTC).strftime("%Y-%m-%d %H:%M UTC"), one.said)
        for one in bench.ledger.failures(DATASET)
    ]
    return page(request, site, "lab/failures.html", person, bench=bench, failures=found)


@router.post("/lab/{id}/failures")
def reopen(bench: TheBench, site: TheSite, looked: Annotated[str, Form(max_length=5)] = "") -> Response:
    """Let questions pass again, by the word of whoever brought the table."""
    if looked != "yes":
        raise Problem(422, "Tick that you have looked: each failure may have told about one row.")
    bench.ledger.reopen(DATASET)
    return redirect(site, f"/lab/{bench.id}", "Questions are answered again.")
