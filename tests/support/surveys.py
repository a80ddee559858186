"""Surveys that are there already, with their answers."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

from fastapi import FastAPI
from school_site import site_of

from lapwing.mechanisms.probabilities import flip_probability
from lapwing.web.survey.parameters import CHOICE, NUMBER, YES_NO, Design
from lapwing.web.survey.routes import survey as routes
from lapwing.web.survey.store import surveys as store


def made(app: FastAPI, kind: str = YES_NO, links: int = 0) -> tuple[str, str]:
    """A survey and its key."""
    answers = {YES_NO: ("Yes", "No"), CHOICE: ("zebra mussel", "quagga", "okapi"), NUMBER: ()}[kind]
    low, high = ("0", "24") if kind == NUMBER else ("", "")
    flip = flip_probability(Fraction("1.0986122886681098"), others=2 if kind == CHOICE else 1)
    design = Design(kind=kind, question="Which one?", answers=answers, low=low, high=high, flip=flip)
    today = routes.today()
    with site_of(app).database.writing() as db:
        return store.add(db, design, closes=today + timedelta(days=2), public=True, links=links, today=today)


def answered(app: FastAPI, survey: str, count: int, values: int = 3) -> None:
    """So many reports reach it, as many of each value."""
    with site_of(app).database.writing() as db:
        kept = store.find(db, survey)
        assert kept is not None
        for number in range(count):
            assert store.answer(db, kept, number % values, f"{number:032x}", routes.today()) == "counted"
