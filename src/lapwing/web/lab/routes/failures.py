"""Questions of the lab that failed: what the engine said, for the owner of the table, and the way to reopen it."""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from fastapi import Form, Request, Response

from lapwing.privacy.admission import Failure
from lapwing.web.accounts.sessions import Asking, page, personal, redirect
from lapwing.web.lab.bench import TheBench
from lapwing.web.lab.statement import DATASET
from lapwing.web.service.problems import Problem
from lapwing.web.site import TheSite

router = personal()


@router.get("/lab/{id}/failures")
def failures(request: Request, bench: TheBench, site: TheSite, person: Asking) -> Response:
    """What failed since the table was last reopened."""
    shown = [_shown(failure) for failure in bench.ledger.failures(DATASET)]
    return page(request, site, "lab/failures.html", person, bench=bench, failures=shown)


def _shown(failure: Failure) -> dict[str, str]:
    """A failure for people: what an engine says in the end says most, the way there is for those who want it."""
    at = dt.datetime.fromtimestamp(failure.time, dt.UTC)
    said = (failure.said or "").rstrip() or "The message was not kept."
    last = said.rpartition("\n")[2]
    when = {"iso": at.isoformat(timespec="seconds"), "when": f"{at:%Y-%m-%d %H:%M} UTC"}
    return {**when, "last": last, "before": said if said != last else ""}


@router.post("/lab/{id}/failures")
def reopen(bench: TheBench, site: TheSite, looked: Annotated[str, Form(max_length=5)] = "") -> Response:
    """Let questions pass again, by the word of whoever brought the table."""
    if looked != "yes":
        raise Problem(422, "Tick that you have looked: each failure may have revealed something about one row.")
    bench.ledger.reopen(DATASET)
    return redirect(site, f"/lab/{bench.id}", "Questions are answered again.")
