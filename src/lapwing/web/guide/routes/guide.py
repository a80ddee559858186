"""The guide: an interview whose answers stand in the address, and what follows from them. Nothing is kept."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from lapwing.web.accounts.sessions import limited
from lapwing.web.guide import answers, trial
from lapwing.web.guide.advice import advise, asked, picture
from lapwing.web.guide.cases import cases
from lapwing.web.guide.rules import TOPICS, VERDICTS, Rule, early, table
from lapwing.web.pages import Ready
from lapwing.web.site import Site, TheSite

router = APIRouter()


@router.get("/guide")
def interview(request: Request, site: TheSite) -> Response:
    """The questions, with the answers that the address names already."""
    trial.wake()
    return _page(request, site, "guide/interview.html", **_form(request))


@router.get("/guide/advice", dependencies=[limited("guide")])
def advice(request: Request, site: TheSite) -> Response:
    """What follows from the answers."""
    return _answered(request, site, "guide/advice.html")


@router.get("/guide/report", dependencies=[limited("guide")])
def report(request: Request, site: TheSite) -> Response:
    """The same on one page, to print for a colleague."""
    return _answered(request, site, "guide/report.html")


@router.get("/guide/rules")
def rules(request: Request, site: TheSite) -> Response:
    """Everything the guide goes by."""
    by_topic = {title: [rule for rule in table() if rule.topic == topic] for topic, title in TOPICS.items()}
    return _page(request, site, "guide/rules.html", topics=by_topic, count=len(table()))


@router.get("/guide/so-far")
async def so_far(request: Request) -> Response:
    """What can be said before all questions are answered."""
    rules = early(answers.partly(_given(request)))
    against: list[Rule] = [rule for rule in rules if rule.verdict and rule.verdict != "yes"]
    worst = max(against, key=lambda rule: VERDICTS.index(rule.verdict), default=None)
    known = worst or next((rule for rule in rules if rule.topic == "model"), None)
    said = {"verdict": worst.verdict if worst else ""}
    said |= {"rule": known.id, "why": known.why} if known else {"rule": "", "why": ""}
    return JSONResponse(said, headers={"cache-control": "no-store"})


def _given(request: Request) -> dict[str, list[str]]:
    return {name: request.query_params.getlist(name) for name in answers.QUESTIONS}


def _form(request: Request, complaints: dict[str, str] | None = None) -> dict[str, Any]:
    given = {name: values for name, values in _given(request).items() if values}
    known = {"steps": answers.STEPS, "usual": answers.USUAL, "cases": cases()}
    return {**known, "given": given, "complaints": complaints or {}}


def _answered(request: Request, site: Site, template: str) -> Response:
    reply, complaints = answers.read(_given(request))
    if reply is None:
        return _page(request, site, "guide/interview.html", 422, **_form(request, complaints))
    return _page(request, site, template, advice=advise(reply), picture=picture, asked=asked)


def _page(request: Request, site: Site, template: str, status: int = 200, **values: Any) -> Response:
    answer = Ready.of(site.pages.made(template, **values)).answer(request)
    answer.status_code = status if answer.status_code == 200 else answer.status_code
    return answer
