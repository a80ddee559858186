"""What to read next: the same in the browser and in Python, prerequisites first, and not led by noise."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from browser import answers_of
from chance import assert_seldom
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page
from school_site import nuggets

from lapwing.web.school.nugget import CATEGORIES, LEVELS, ROLES
from lapwing.web.school.recommendation import FINISHED, RULES, Advice, Offer, recommend, stages, told
from lapwing.web.school.store.learning import GOALS, KNOWLEDGE, About
from lapwing.web.school.votes import EVERYBODY, FEWEST, PROTOCOL, Tally

COURSE = [Offer.of(page) for page in nuggets()]
SLUGS = [offer.slug for offer in COURSE]
NOBODY = About()
Votes = dict[str, dict[str, Tally]]
Visitor = Callable[..., Any]
"""Makes browsers that share nothing."""


def order(about: About = NOBODY, done: dict[str, float] | None = None, votes: Votes | None = None) -> list[str]:
    return [one.slug for one in recommend(COURSE, about, done or {}, votes)]


def reason(slug: str, *given: Any) -> str:
    return next(one.reason for one in recommend(COURSE, *given) if one.slug == slug)


tallies = st.integers(FEWEST, 20_000).flatmap(lambda n: st.builds(Tally, st.just(n), st.integers(0, n)))
abouts = st.builds(
    About,
    st.lists(st.sampled_from(list(ROLES)), unique=True, max_size=2).map(tuple),
    st.sampled_from(list(KNOWLEDGE)),
    st.lists(st.sampled_from(list(GOALS)), unique=True, max_size=3).map(tuple),
)
dones = st.dictionaries(st.sampled_from(SLUGS), st.sampled_from([0.0, 0.3, 0.79, 0.8, 1.0]), max_size=8)
votings = st.dictionaries(
    st.sampled_from(SLUGS), st.dictionaries(st.sampled_from([EVERYBODY, *ROLES]), tallies, min_size=1), max_size=22
)


def some_cases(count: int) -> list[tuple[list[Offer], About, dict[str, float], Votes]]:
    """Learners in schools whose nuggets stand in any order."""
    rng, cases = random.Random(11), []
    for number in range(count):
        offers = COURSE if number % 2 else rng.sample(COURSE, 22)
        about = About(
            tuple(rng.sample(list(ROLES), rng.randrange(3))),
            rng.choice(list(KNOWLEDGE)),
            tuple(rng.sample(list(GOALS), rng.randrange(3))),
        )
        done = {slug: rng.choice([0.1, 0.5, FINISHED, 1.0]) for slug in rng.sample(SLUGS, rng.randrange(9))}
        votes: Votes = {}
        for slug in rng.sample(SLUGS, rng.randrange(23)):
            sizes = {role: rng.randrange(FEWEST, 30_000) for role in (EVERYBODY, *ROLES) if rng.random() < 0.7}
            votes[slug] = {role: Tally(n, int(n * rng.uniform(0.37, 0.63))) for role, n in sizes.items()}
        cases.append((offers, about, done, votes))
    return cases


def test_the_browser_recommends_what_python_recommends() -> None:
    cases = some_cases(120)
    calls, expected = [], []
    for offers, about, done, votes in cases:
        shares = {slug: {role: [t.reports, t.yes] for role, t in by.items()} for slug, by in votes.items()}
        school = {"nuggets": [asdict(offer) for offer in offers], "votes": shares, "rules": RULES}
        calls.append(("recommend", "recommend", [school, asdict(about), done], None))
        expected.append([asdict(one) for one in recommend(offers, about, done, votes)])
    assert answers_of(calls) == expected
    reasons = " ".join(one["reason"] for case in expected for one in case)
    for words in ("you are a", "you want to", "you need it for", "you finished", "clearly more helpful", "begun"):
        assert words in reasons


def test_what_browsers_are_told_is_the_school_and_nobody_in_it() -> None:
    published = {"tools": {EVERYBODY: Tally(200, 120)}}
    given = told(nuggets(), published)
    assert [one["slug"] for one in given["nuggets"]] == SLUGS
    assert given["votes"] == {"tools": {EVERYBODY: [200, 120]}}


def test_rules_speak_of_what_learners_are_asked() -> None:
    assert set(RULES["goals"]) == set(RULES["words"]["goals"]) == set(GOALS)
    assert set(RULES["knowledge"]) == set(RULES["words"]["knowledge"]) == set(KNOWLEDGE) - {""}
    assert set(RULES["words"]["roles"]) == set(ROLES)
    for rule in RULES["goals"].values():
        assert set(rule["categories"]) <= set(CATEGORIES)
        assert set(rule["levels"]) <= set(LEVELS)


def test_who_says_nothing_gets_the_course() -> None:
    assert order() == SLUGS
    assert [one.reason for one in recommend(COURSE, NOBODY, {})[:2]] == [
        RULES["words"]["start"],
        RULES["words"]["next"],
    ]


@given(about=abouts, done=dones, votes=votings, shuffled=st.permutations(COURSE))
def test_prerequisites_come_first(about: About, done: dict[str, float], votes: Votes, shuffled: list[Offer]) -> None:
    found = recommend(shuffled, about, done, votes)
    places = {one.slug: place for place, one in enumerate(found)}
    assert sorted(places) == sorted(SLUGS)
    finished = {slug for slug in SLUGS if done.get(slug, 0) >= FINISHED}
    for offer in shuffled:
        if offer.slug in finished:
            assert places[offer.slug] >= len(SLUGS) - len(finished)
        for need in offer.needs:
            assert need in finished or offer.slug in finished or places[need] < places[offer.slug]


@given(about=abouts, done=dones, votes=votings, data=st.data())
def test_more_helpful_votes_never_lower_a_rank(
    about: About, done: dict[str, float], votes: Votes, data: st.DataObject
) -> None:
    if not votes:
        return
    slug = data.draw(st.sampled_from(sorted(votes)))
    more = {role: Tally(t.reports, data.draw(st.integers(t.yes, t.reports))) for role, t in votes[slug].items()}
    before, after = order(about, done, votes), order(about, done, {**votes, slug: more})
    assert after.index(slug) <= before.index(slug)


@pytest.mark.parametrize("truth", [0.5, 0.8])
def test_noise_alone_does_not_reorder(truth: float) -> None:
    rng, schools, changed = np.random.default_rng(5), 400, 0
    yes = float(PROTOCOL.coins.alpha) * truth + float(1 - PROTOCOL.coins.gamma)
    for _ in range(schools):
        sizes = rng.integers(FEWEST, 5000, len(SLUGS))
        votes = {
            slug: {EVERYBODY: Tally(int(n), int(rng.binomial(n, yes)))} for slug, n in zip(SLUGS, sizes, strict=True)
        }
        changed += order(votes=votes) != SLUGS
    pairs = len(SLUGS) * (len(SLUGS) - 1) / 2
    assert_seldom(changed, schools, pairs * 2.7e-3)  # two errors of three, added, are more than three of the difference


def test_a_few_lucky_votes_do_not_outrank_many() -> None:
    many, lucky = Tally(10_000, 6000), Tally(FEWEST, 61)  # 90 % ± 6 and 94 % ± 60
    votes = {"vendors": {EVERYBODY: many}, "tools": {EVERYBODY: lucky}, "the-family": {EVERYBODY: Tally(10_000, 4500)}}
    found = order(votes=votes)
    assert found.index("vendors") < SLUGS.index("vendors"), "clearly more helpful than one of the others"
    assert lucky.share > many.share
    assert found.index("vendors") < found.index("tools")


def test_votes_count_for_those_who_share_the_role() -> None:
    votes = {
        "vendors": {"engineer": Tally(10_000, 6000), "student": Tally(10_000, 4000)},
        "tools": {"engineer": Tally(10_000, 4000), "student": Tally(10_000, 6000)},
    }
    engineer, plain = About(("engineer",)), order(About(("engineer",)))
    assert order(engineer, votes=votes).index("vendors") < plain.index("vendors")
    assert order(engineer, votes=votes).index("tools") >= plain.index("tools")
    assert order(votes=votes) == SLUGS, "nothing is known about everybody"
    assert RULES["words"]["role_votes"] in reason("vendors", engineer, {}, votes)


def test_reasons_say_what_brought_a_nugget_here() -> None:
    builder = About(("engineer",), "some", ("build",))
    assert recommend(COURSE, builder, {})[0] == Advice(
        "the-definition", 7, "Because you need it for “The Laplace mechanism” and you know the idea."
    )
    done = {"the-definition": 1.0, "the-laplace-mechanism": 0.2}
    first = recommend(COURSE, builder, done)[0]
    assert first.slug == "the-laplace-mechanism"
    assert first.reason == "Because you have begun it, you are a software engineer and you want to build something."
    assert recommend(COURSE, builder, done)[-1] == replace(first, slug="the-definition", reason="You have finished it.")


@pytest.mark.parametrize("knowledge", ["", "new"])
@pytest.mark.parametrize("role", ROLES)
def test_a_newcomer_starts_with_the_attacks_whatever_the_role(role: str, knowledge: str) -> None:
    for goal in GOALS:
        newcomer = About((role,), knowledge, (goal,))
        assert recommend(COURSE, newcomer, {})[0].slug == "attacks-on-privacy"
        assert reason("attacks-on-privacy", newcomer, {}) == RULES["words"]["start"]
        assert "begun" in reason("attacks-on-privacy", newcomer, {"attacks-on-privacy": 0.2})
    builder = About((role,), "good", ("build",))
    assert RULES["words"]["start"] not in [one.reason for one in recommend(COURSE, builder, {})]


def test_different_people_get_different_rows() -> None:
    people = [
        About(("decision-maker",), "new", ("decide",)),
        About(("engineer",), "some", ("build",)),
        About(("student",), "good", ("prove",)),
        About(("data-protection",), "", ("teach",)),
    ]
    assert len({tuple(order(about)[:3]) for about in people}) == len(people)


def test_the_path_leads_from_what_needs_nothing() -> None:
    found = [[offer.slug for offer in stage] for stage in stages(COURSE)]
    assert sorted(slug for stage in found for slug in stage) == sorted(SLUGS)
    before: set[str] = set()
    for stage in found:
        needs = {slug: next(offer.needs for offer in COURSE if offer.slug == slug) for slug in stage}
        assert all(set(need) <= before for need in needs.values())
        before |= set(stage)
    assert all(not offer.needs for offer in stages(COURSE)[0])
    told = {offer.slug: offer.needs for stage in stages(COURSE) for offer in stage}
    assert told["the-gaussian-mechanism"] == ("the-laplace-mechanism",), "which needs the definition"


# In the browser


def row(page: Page) -> list[str]:
    page.wait_for_selector("#for-you[data-ready]")
    return [str(href).removeprefix("/learn/") for href in page.eval_on_selector_all("#for-you .tiles a", HREFS)]


HREFS = "all => all.map((one) => one.getAttribute('href'))"


def test_a_visitor_is_asked_once_and_answers_stay_in_the_browser(visit: Visitor) -> None:
    browser = visit()
    page = browser.open("/")
    sent: list[str] = []
    browser.context.on("request", lambda request: sent.append(f"{request.method} {request.url} {request.post_data}"))
    assert row(page) == SLUGS[:3]
    page.click("#for-you summary")
    page.check('#for-you input[value="engineer"]')
    page.check('#for-you input[value="some"]')
    page.check('#for-you input[value="build"]')
    page.click("#for-you form button.main")
    about = About(("engineer",), "some", ("build",))
    assert row(page) == order(about)[:3]
    assert "you need it for “The Laplace mechanism”" in page.inner_text("#for-you li >> nth=0")
    assert page.inner_text("#for-you summary") == "Change what you told us"
    page.reload()
    assert row(page) == order(about)[:3]
    application = [offer.slug for offer in COURSE if offer.category == "application"]
    expected = [f"/learn/{slug}" for slug in order(about) if slug in application]
    assert page.eval_on_selector_all('section[aria-labelledby="category-application"] h3 a', HREFS) == expected
    assert not any(one.startswith("POST") or "engineer" in one for one in sent)
    page.click("#for-you summary")
    page.click("#for-you form button[type=reset]")
    assert row(page) == SLUGS[:3]


def test_the_path_marks_what_is_finished_and_what_comes_next(visit: Visitor) -> None:
    browser = visit()
    done = '{"attacks-on-privacy": {"screens": ["a"], "questions": [1], "total": 2, "at": 1}}'
    browser.context.add_init_script(f"localStorage.setItem('lapwing-progress', '{done}')")
    page = browser.open("/")
    assert row(page)[0] == "privacy-preserving-methods"
    assert "finished" in page.inner_text('[data-step="attacks-on-privacy"]')
    assert "next for you" in page.inner_text('[data-step="privacy-preserving-methods"]')
    assert page.eval_on_selector_all(".stages svg path", "all => all.length") == sum(
        len(one.needs) for stage in stages(COURSE) for one in stage
    )
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
