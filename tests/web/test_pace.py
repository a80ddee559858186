"""How long a nugget takes is measured, its short version is short, and no filter that is offered leaves nothing."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from school_site import FRONT, nuggets, open_school, visitor

from lapwing.web.school.filters import filters, fits
from lapwing.web.school.nugget import read
from lapwing.web.school.pace import SECONDS, SHORT, WORDS_A_MINUTE, Pace, pace_of
from lapwing.web.school.page import page_of

EVERY = list(nuggets())
EXERCISE = (
    "```exercise\nid: one\ntitle: One\ntask: Do it.\nstarter: x = 1\nsolution: x = 2\nchecks: assert x == 2\n```\n"
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    return open_school(Path(tmp_path_factory.mktemp("pace")))


def paced(body: str) -> Pace:
    return page_of(read(FRONT + body)).pace


def test_words_are_read_at_the_stated_rate_and_signs_of_formulas_are_no_words() -> None:
    words = "word " * WORDS_A_MINUTE
    assert pace_of(f"<p>{words}</p>").all == pytest.approx(60)
    displayed = paced(f"## One {{serves=1}}\n\n{words}\n\n$$\n\\frac{{a}}{{b}}\n$$\n")
    assert displayed.all == pytest.approx(60 + SECONDS["display"])
    assert paced(f"## One {{serves=1}}\n\n{words} $x^2$\n").all == pytest.approx(60 + SECONDS["formula"])


def test_exercises_closed_blocks_and_deeper_sections_are_left_out_of_the_short_version() -> None:
    text = "word " * 2 * WORDS_A_MINUTE
    long = (
        f"## One {{serves=1}}\n\n{text}\n\n{EXERCISE}\n::: proof\n{text}\n:::\n\n## Two {{serves=1 deeper}}\n\n{text}\n"
    )
    pace = paced(long)
    assert pace.short == 2
    assert pace.minutes >= 6 + SECONDS["code"] / 60
    assert paced("## Only {deeper}\n\nword\n").short == 1


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.nugget.slug)
def test_every_nugget_has_a_fast_path_of_ten_minutes_at_most(page) -> None:
    assert page.pace.short <= SHORT
    assert page.pace.minutes >= page.pace.short


def test_minutes_that_older_texts_state_are_passed_over() -> None:
    stated = FRONT.replace("level:", "minutes: 90\nlevel:")
    assert "minutes" not in read(f"{stated}## One\n\nword\n").written()


def test_no_combination_that_is_offered_leaves_nothing() -> None:
    nothing = {"category": "", "role": "", "minutes": "", "level": ""}
    for names in itertools.permutations(nothing):
        wanted = dict(nothing)
        for name in names:  # one after the other, as a reader would
            offered = [one for one in filters(EVERY, EVERY, wanted)[name][2] if one.matches]
            assert offered
            wanted[name] = offered[-1].value
            assert sum(fits(page, wanted) for page in EVERY) == offered[-1].matches > 0


def test_what_would_leave_nothing_is_greyed_out(app: FastAPI) -> None:
    shown = visitor(app).get("/", params={"q": "netflix", "level": "intuition"}).text
    offered = dict(re.findall(r'<option value="([a-z0-9-]+)"( disabled| selected)?', shown))
    assert offered["intuition"] == " selected"
    assert " disabled" in offered.values()
    assert "disabled" not in visitor(app).get("/").text.partition("</form>")[0].rpartition("<form")[2]


def test_a_nugget_ends_with_what_was_learned_and_one_large_step(app: FastAPI) -> None:
    *others, last = EVERY
    shown = visitor(app).get(f"/learn/{others[0].nugget.slug}").text
    closing = shown.partition('<section class="closing"')[2].partition("</section>")[0]
    assert all(objective in closing for objective in others[0].nugget.objectives)
    assert f'class="next-step" href="/learn/{others[1].nugget.slug}"' in closing
    assert closing.count("data-dot=") == len(EVERY)
    assert 'class="next-step" href="/lab"' in visitor(app).get(f"/learn/{last.nugget.slug}").text
