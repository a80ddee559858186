"""Surveys: made by anybody, answered with coins, read in whole batches.

The key of who made a survey is part of an address that only they have; tokens of respondents never are: they stand
behind the # of a link, which browsers keep to themselves, and travel in the body of a request.
"""

from __future__ import annotations

import csv
import io
import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from fastapi import Form, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from lapwing.web.accounts.sessions import Asking, Person, limited, page, personal, redirect
from lapwing.web.service import qr
from lapwing.web.service.problems import Problem
from lapwing.web.site import Site, TheSite
from lapwing.web.survey import parameters
from lapwing.web.survey.parameters import Design
from lapwing.web.survey.results import BATCH, Results, as_csv, band, results
from lapwing.web.survey.store import surveys as store
from lapwing.web.survey.store.surveys import StoredSurvey

router = personal()
GONE = "This survey does not exist. The link may be incomplete, or its author has deleted the survey."
EXPECTED = (25, 100, 1000)
"""For so many people the error is told in advance."""
USUAL = Design(kind=parameters.YES_NO, question="", flip=Fraction(1, 4))
Text = Annotated[str, Form()]


class Answer(BaseModel):
    """What a browser sends: the bytes of one report of `lapwing.crowd`, randomised already, and a token."""

    report: Annotated[str, Field(max_length=120)]
    token: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class Link(BaseModel):
    """A browser asks whether its personal link can still be used, before anything is randomised."""

    token: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


def today() -> date:
    """Days change at midnight, UTC."""
    return datetime.now(UTC).date()


@router.get("/survey")
def begin(request: Request, site: TheSite, person: Asking, deleted: bool = False) -> Response:
    """The form for a new survey."""
    usual = {"kind": "yes-no", "epsilon": parameters.USUAL_EPSILON, "public": "maker", "links": "0"}
    usual["closes"] = (today() + timedelta(days=14)).isoformat()
    return _form(request, site, person, usual, deleted=deleted)


def _form(
    request: Request,
    site: Site,
    person: Person | None,
    given: dict[str, str],
    complaints: dict[str, str] | None = None,
    *,
    deleted: bool = False,
) -> Response:
    names = ("kind", "question", "answers", "low", "high", "measure", "epsilon", "closes", "public", "links")
    values: dict[str, Any] = {
        "given": {name: given.get(name, "") for name in names},
        "complaints": complaints or {},
        "deleted": deleted,
        "usual": [(people, expected_error(USUAL, people)) for people in EXPECTED],
        "limits": parameters,
        "batch": BATCH,
        "kept_days": store.KEPT_DAYS,
        "today": today(),
        "last_day": today() + timedelta(days=parameters.LONGEST_OPEN),
    }
    return page(request, site, "survey/new.html", person, 422 if complaints else 200, **values)


@router.post("/survey", dependencies=[limited("survey")])
def make(
    request: Request,
    site: TheSite,
    person: Asking,
    kind: Text = "",
    question: Text = "",
    answers: Text = "",
    low: Text = "",
    high: Text = "",
    measure: Text = "",
    epsilon: Text = "",
    closes: Text = "",
    public: Text = "",
    links: Text = "",
) -> Response:
    """Make a survey, and go on to the page of its author."""
    given = {"kind": kind, "question": question, "answers": answers, "low": low, "high": high, "measure": measure}
    given |= {"epsilon": epsilon, "closes": closes, "public": public, "links": links}
    wish = parameters.read_form(given, today())
    if wish.design is None:
        short = {name: text[:2000] for name, text in given.items()}
        return _form(request, site, person, short, wish.complaints)
    with site.database.writing() as db:
        survey_id, key = store.add(
            db, wish.design, closes=wish.closes, public=wish.public, links=wish.links, today=today()
        )
    return redirect(site, f"/survey/{survey_id}/keep/{key}")


@router.get("/survey/explained")
def explained(request: Request, site: TheSite, person: Asking) -> Response:
    """For respondents: what happens to an answer."""
    return page(request, site, "survey/explained.html", person, batch=BATCH, kept_days=store.KEPT_DAYS)


@router.get("/survey/{survey_id}")
def ask(request: Request, survey_id: str, site: TheSite, person: Asking) -> Response:
    """The question, as respondents see it."""
    survey = _found(site, survey_id)
    shown = _shown(survey)
    return page(request, site, "survey/answer.html", person, **shown, open=survey.open_on(today()))


@router.post("/survey/{survey_id}/link", dependencies=[limited("survey answer")])
def link(survey_id: str, wish: Link, site: TheSite) -> Response:
    """Whether a personal link can still be used."""
    survey = _found(site, survey_id)
    with site.database.reading() as db:
        state = store.link_state(db, survey, wish.token)
    return _json({"state": state})


@router.post("/survey/{survey_id}/answers", dependencies=[limited("survey answer")])
def take(survey_id: str, answer: Answer, site: TheSite) -> Response:
    """Count a report, once."""
    survey = _found(site, survey_id)
    value = survey.design.read(answer.report)
    if value is None:
        raise Problem(422, "This report does not belong to this survey. Nothing was counted. Reload the page.")
    with site.database.writing() as db:
        outcome = store.answer(db, survey, value, answer.token, today())
    if outcome == "stranger":
        raise Problem(403, "This survey needs a personal link, and this is not one of them. Nothing was counted.")
    if outcome == "closed":
        raise Problem(409, "This survey is closed. Nothing was counted.")
    return _json({"counted": outcome == "counted"})


@router.get("/survey/{survey_id}/report")
def report(request: Request, survey_id: str, site: TheSite, person: Asking) -> Response:
    """For respondents: something is wrong with this survey."""
    return page(request, site, "survey/report.html", person, **_shown(_found(site, survey_id)), done=False)


@router.post("/survey/{survey_id}/report", dependencies=[limited("report")])
def reported(request: Request, survey_id: str, site: TheSite, person: Asking) -> Response:
    """Tell those who moderate. Who did it is not kept."""
    survey = _found(site, survey_id)
    with site.database.writing() as db:
        store.report(db, survey.id)
    return page(request, site, "survey/report.html", person, **_shown(survey), done=True)


@router.get("/survey/{survey_id}/results")
def told(request: Request, survey_id: str, site: TheSite, person: Asking) -> Response:
    """What the answers say, if everybody may see it."""
    survey = _public(site, survey_id)
    return page(request, site, "survey/results.html", person, **_shown(survey), **_read(site, survey))


@router.get("/survey/{survey_id}/results.csv")
def told_as_csv(survey_id: str, site: TheSite) -> Response:
    """The same for other programs."""
    return _table(_results(site, _public(site, survey_id)))


@router.get("/survey/{survey_id}/keep/{key}")
def keep(request: Request, survey_id: str, key: str, site: TheSite, person: Asking) -> Response:
    """The page of its author: links, results, and how to close or delete it."""
    survey = _mine(site, survey_id, key)
    address = f"{site.settings.origin}/survey/{survey.id}"
    shown = {**_shown(survey), **_read(site, survey)}
    shown |= {"key": key, "address": address, "picture": qr.drawn(address), "open": survey.open_on(today())}
    return page(request, site, "survey/keep.html", person, **shown)


@router.get("/survey/{survey_id}/keep/{key}/results.csv")
def kept_as_csv(survey_id: str, key: str, site: TheSite) -> Response:
    """The results for other programs, for the author."""
    return _table(_results(site, _mine(site, survey_id, key)))


@router.get("/survey/{survey_id}/keep/{key}/links", dependencies=[limited("survey links")])
def handed_out(request: Request, survey_id: str, key: str, site: TheSite, person: Asking) -> Response:
    """Personal links as a sheet to print and cut."""
    survey = _mine(site, survey_id, key)
    cards = [
        (number, address, qr.drawn(address, f"QR code of link {number}"))
        for number, address in _links(site, survey, key)
    ]
    return page(request, site, "survey/links.html", person, **_shown(survey), key=key, cards=cards)


@router.get("/survey/{survey_id}/keep/{key}/links.csv", dependencies=[limited("survey links")])
def handed_out_as_csv(survey_id: str, key: str, site: TheSite) -> Response:
    """Personal links for a mail merge."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([("number", "link"), *_links(site, _mine(site, survey_id, key), key)])
    return _file(out.getvalue(), "links.csv")


@router.post("/survey/{survey_id}/keep/{key}/close")
def close(survey_id: str, key: str, site: TheSite) -> Response:
    """Take no more answers."""
    survey = _mine(site, survey_id, key)
    with site.database.writing() as db:
        store.close(db, survey.id)
    return redirect(site, f"/survey/{survey.id}/keep/{key}")


@router.post("/survey/{survey_id}/keep/{key}/delete")
def delete(survey_id: str, key: str, site: TheSite, sure: Text = "") -> Response:
    """Forget all of it."""
    survey = _mine(site, survey_id, key)
    if not sure:
        raise Problem(422, "Nothing was deleted. To delete it, go back and tick the box.")
    store.remove(site.database, survey.id)
    return redirect(site, "/survey?deleted=yes")


def _found(site: Site, survey_id: str) -> StoredSurvey:
    with site.database.reading() as db:
        survey = store.find(db, survey_id)
    return _still(site, survey)


def _still(site: Site, survey: StoredSurvey | None) -> StoredSurvey:
    """A survey, unless it is gone or its time is over: then it goes now, if nothing removed it before."""
    if survey is not None and survey.deleted_on < today():
        store.remove(site.database, survey.id)
        survey = None
    if survey is None:
        raise Problem(404, GONE)
    return survey


def _public(site: Site, survey_id: str) -> StoredSurvey:
    survey = _found(site, survey_id)
    if not survey.public:
        raise Problem(403, "Only the author of this survey can see its results.")
    return survey


def _mine(site: Site, survey_id: str, key: str) -> StoredSurvey:
    with site.database.reading() as db:
        survey = store.with_key(db, survey_id, key)
    return _still(site, survey)


def _shown(survey: StoredSurvey) -> dict[str, Any]:
    design = survey.design
    turns = f"{100 * float(1 - design.keep):.3g}"
    return {
        "survey": survey,
        "design": design,
        "epsilon": f"{math.ceil(100 * design.epsilon) / 100:.2f}",
        "twice": f"{math.ceil(200 * design.epsilon) / 100:.2f}",
        "keeps": str(100 - Decimal(turns)),  # never a round 100 while some are turned
        "turns": turns,
        "each": f"{100 * float(design.flip):.3g}",
        "batch": BATCH,
        "expected": [(people, expected_error(design, people)) for people in EXPECTED],
        "for_browsers": {**design.for_browsers(), "id": survey.id, "personal": survey.links > 0},
    }


def expected_error(design: Design, people: int) -> float:
    """The half-width of an answer's 95 % interval at worst, in points or in the measure of the number.

    Accuracy: a report has a value with a probability λ between the odds of a lie and of the truth. So an estimate has
    the variance λ(1−λ)/(n(p−q)²), coins and drawing together, which is largest where λ is nearest to ½.
    """
    likely = min(float(design.keep), 0.5)
    error = 1.96 * math.sqrt(likely * (1 - likely) / people) / float(design.keep - design.flip)
    width = float(design.high) - float(design.low) if design.kind == parameters.NUMBER else 100.0
    return error * width


def _results(site: Site, survey: StoredSurvey) -> Results:
    with site.database.reading() as db:
        newest = store.find(db, survey.id)
        if newest is None:
            raise Problem(404, GONE)
        return results(newest.design, newest.reports, store.batches(db, newest))


def _read(site: Site, survey: StoredSurvey) -> dict[str, Any]:
    results = _results(site, survey)
    pictures = [band(results, place) for place in range(len(results.rows))]
    return {"found": results, "pictures": pictures}


def _links(site: Site, survey: StoredSurvey, key: str) -> list[tuple[int, str]]:
    tokens = (store.personal_token(key, number) for number in range(survey.links))
    return [(n, f"{site.settings.origin}/survey/{survey.id}#{token}") for n, token in enumerate(tokens, 1)]


def _table(results: Results) -> Response:
    if not results.steps:
        raise Problem(409, f"{results.missing} more answers are needed before anything is shown.")
    return _file(as_csv(results), "results.csv")


def _file(text: str, name: str) -> Response:
    headers = {"cache-control": "no-store", "content-disposition": f'attachment; filename="{name}"'}
    return Response(text, headers=headers, media_type="text/csv; charset=utf-8")


def _json(body: dict[str, Any]) -> Response:
    return JSONResponse(body, headers={"cache-control": "no-store"})
