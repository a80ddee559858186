"""Votes: randomised in the browser with exact odds, counted once, and estimated with their error."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import answers_of
from cases import together
from chance import assert_mean, assert_share
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import Page, Route
from school_site import PASSWORD, open_school, signed_in, site_of, visitor
from sqlalchemy import select
from sweeps import few

from lapwing.adversary import audit
from lapwing.mechanisms import RandomizedResponse
from lapwing.noise import Entropy, Reproducible
from lapwing.web.school import votes
from lapwing.web.school.library import School
from lapwing.web.school.nugget import ROLES
from lapwing.web.school.store import votes as store
from lapwing.web.school.votes import EPSILON, EVERYBODY, FEWEST, MOST_VOTES, PROTOCOL, TRUTH, UNSAID, Tally
from lapwing.web.service import settings
from lapwing.web.service.tables import VoteCast, VoteTally, VoteToken

SLUG = "the-laplace-mechanism"
Visitor = Callable[..., Any]
"""Makes browsers that share nothing."""


class Bytes(Entropy):
    """Given bytes, first things first."""

    private = False

    def __init__(self, given: bytes) -> None:
        self.given, self.used = given, 0

    def bits(self, count: int) -> int:
        taken = self.given[self.used : self.used + count // 8]
        self.used += count // 8
        return int.from_bytes(taken, "big")

    def fill(self, target: memoryview) -> None:
        raise NotImplementedError


def test_the_same_bytes_give_the_same_bits_in_the_browser_and_in_the_library() -> None:
    thirds = (1 << 64) // 3  # a first word that does not decide about 1/3
    edges = [0, (1 << 64) - 1, (3 << 61) - 1, 3 << 61, thirds - 1, thirds, thirds + 1, 2 * thirds, 2 * thirds + 1]
    given = b"".join(word.to_bytes(8, "big") for word in (*edges, *reversed(edges)))
    given += Reproducible(7).bits(8 * 4096).to_bytes(4096, "big")
    truths = [bool(place % 3) for place in range(250)]
    calls, expected = [], []
    for odds in (TRUTH, Fraction(2, 3), Fraction(3, 4), Fraction(7, 11), Fraction((1 << 53) - 1, 1 << 53)):
        entropy, coins = Bytes(given), RandomizedResponse.from_gamma(odds)
        expected.append([[coins.release(truth, entropy) for truth in truths], entropy.used])
        calls.append(("response", "responses", [truths, odds.numerator, odds.denominator, list(given)], None))
    assert answers_of(calls) == expected
    assert expected[1][1] > 8 * len(truths), "some words were not enough"


def test_the_browser_has_the_odds_and_the_end_that_the_school_states() -> None:
    assert answers_of([("response", "stated", [], None)]) == [[str(TRUTH), MOST_VOTES]]
    assert MOST_VOTES * EPSILON <= votes.ALLOWANCE < (MOST_VOTES + 1) * EPSILON
    assert PROTOCOL.coins.gamma == TRUTH
    assert float(EPSILON) == pytest.approx(math.log(5 / 3))


def test_votes_of_the_library_keep_their_epsilon() -> None:
    found = audit(PROTOCOL.coins, (True, False), samples=20_000)
    assert not found.caught
    assert audit(PROTOCOL.coins, (True, False), samples=20_000, claimed=float(EPSILON) / 2).caught


def test_votes_of_the_browser_keep_their_epsilon_and_tell_the_truth_as_often_as_stated() -> None:
    count = 24_000
    calls = [("response", "sample", [truth, count], None) for truth in (True, False)]
    drawn = dict(zip((True, False), answers_of(calls), strict=True))
    assert_share(drawn[True].count("1"), count, float(TRUTH))
    assert_share(drawn[False].count("1"), count, float(1 - TRUTH))
    for claimed, caught in ((float(EPSILON), False), (float(EPSILON) / 2, True)):
        left = {truth: iter(bits) for truth, bits in drawn.items()}
        found = audit(lambda truth: next(left[truth]), (True, False), samples=count, claimed=claimed)  # noqa: B023
        assert found.caught == caught


@together("truth", [0.0, 0.3, 0.9])
def test_estimates_are_unbiased_and_their_error_is_enough(truth: float) -> None:
    people, rounds = 400, 300
    said = np.arange(people) < truth * people
    found = []
    for _ in range(rounds):
        counts = PROTOCOL.absorb(None, PROTOCOL.randomize(said))
        found.append(Tally(people, int(counts.table[0])))
    coins = float(TRUTH * (1 - TRUTH) / (2 * TRUTH - 1) ** 2) / people
    assert_mean([tally.share for tally in found], truth, coins)
    for tally in found[:20]:
        stated = tally.estimates()
        assert (
            stated.sample_standard_error[0] / people <= tally.error <= 1.05 * stated.sample_standard_error[0] / people
        )


def test_nothing_is_told_about_few_reports() -> None:
    kept = {
        "tools": {"engineer": Tally(FEWEST, 60), "student": Tally(FEWEST - 1, 50), UNSAID: Tally(FEWEST, 40)},
        "vendors": {"engineer": Tally(FEWEST - 1, 60)},
        "the-family": {"engineer": Tally(60, 30), UNSAID: Tally(40, 20)},
    }
    assert votes.published(kept) == {
        "tools": {EVERYBODY: Tally(3 * FEWEST - 1, 150), "engineer": Tally(FEWEST, 60)},
        "the-family": {EVERYBODY: Tally(100, 50)},
    }


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    return open_school(tmp_path)


@pytest.fixture(params=["sqlite", "postgresql"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> FastAPI:
    """A school in a file, and one in the database of a team."""
    if request.param == "sqlite":
        return open_school(tmp_path)
    return open_school(tmp_path, database=settings.address(request.getfixturevalue("postgres_url")))


def ballot(number: int = 1, **other: Any) -> dict[str, Any]:
    return {"slug": SLUG, "role": "student", "yes": True, "truth": str(TRUTH), "token": f"{number:032x}", **other}


def tallies(app: FastAPI) -> dict[str, dict[str, Tally]]:
    with site_of(app).database.reading() as db:
        return store.tallies(db)


def send(client: TestClient, **other: Any) -> Any:
    answer = client.post("/votes", json=ballot(**other))
    return answer.json()["counted"] if answer.status_code == 200 else answer.status_code


def test_voting_twice_counts_once(anywhere: FastAPI) -> None:
    app = anywhere
    ada, nobody = signed_in(app), visitor(app)
    assert [send(nobody), send(nobody), send(nobody, yes=False, role="engineer")] == [True, False, False]
    assert send(nobody, slug="tools") is True, "the same number for another nugget is another vote"
    assert [send(ada, number=2, yes=False), send(ada, number=3), send(visitor(app), number=2)] == [True, False, False]
    assert send(ada, number=1, slug=SLUG) is False
    assert tallies(app) == {SLUG: {"student": Tally(2, 1)}, "tools": {"student": Tally(1, 1)}}
    assert ada.get("/me/votes").json() == {"voted": [SLUG]}


def test_an_account_votes_no_more_often_than_its_allowance(app: FastAPI) -> None:
    client, slugs = signed_in(app), list(site_of(app).pages.school.pages)
    assert [send(client, number=n, slug=slug) for n, slug in enumerate(slugs[:MOST_VOTES])] == [True] * MOST_VOTES
    assert send(client, number=99, slug=slugs[MOST_VOTES]) == 409
    assert send(client, number=98, slug=slugs[0]) is False
    assert sum(by_role["student"].reports for by_role in tallies(app).values()) == MOST_VOTES


@together(
    ("other", "status"),
    [
        ({"slug": "no-such-nugget"}, 404),
        ({"role": "pirate"}, 422),
        ({"role": EVERYBODY}, 422),
        ({"yes": 1}, 422),
        ({"yes": "yes"}, 422),
        ({"truth": "1"}, 409),
        ({"truth": "10/16"}, 409),
        ({"token": ""}, 422),
        ({"token": "x" * 32}, 422),
        ({"token": "0" * 33}, 422),
        ({"token": "0" * 32 + "\n"}, 422),
        ({"slug": "x" * 999}, 422),
    ],
)
def test_what_does_not_fit_is_refused_and_counted_nowhere(app: FastAPI, other: dict[str, Any], status: int) -> None:
    assert visitor(app).post("/votes", json=ballot(**other)).status_code == status
    assert tallies(app) == {}


def test_votes_are_limited(tmp_path: Path) -> None:
    app = open_school(tmp_path, limits=True)
    client = visitor(app)
    answers = [send(client, number=n) for n in range(70)]
    assert answers.count(True) == 60
    assert set(answers[60:]) == {429}
    assert tallies(app)[SLUG]["student"].reports == 60


def test_a_vote_leaves_no_trace_but_two_numbers_and_that_it_was_cast(anywhere: FastAPI) -> None:
    app = anywhere
    client = signed_in(app)
    send(client, number=5)
    send(visitor(app), number=6, yes=False, role=UNSAID)
    assert {column.name for column in VoteTally.__table__.columns} == {"slug", "role", "reports", "ones"}
    with site_of(app).database.reading() as db:
        cast = [(row.user_id, row.slug) for row in db.scalars(select(VoteCast))]
        tokens = set(db.scalars(select(VoteToken.token_hash)))
    assert cast == [(1, SLUG)]
    assert tokens == {store.digest(SLUG, f"{number:032x}") for number in (5, 6)}
    assert client.get("/account/data").json()["votes_cast"] == [{"user_id": 1, "slug": SLUG}]


def test_many_votes_at_once_are_all_counted(anywhere: FastAPI) -> None:
    client = visitor(anywhere)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda n: send(client, number=n, yes=n % 4 == 0), range(80)))
    assert tallies(anywhere) == {SLUG: {"student": Tally(80, 20)}}


def test_the_same_vote_many_times_at_once_is_counted_once(anywhere: FastAPI) -> None:
    client = visitor(anywhere)
    with ThreadPoolExecutor(8) as pool:
        counted = list(pool.map(lambda _: send(client), range(24)))
    assert sorted(counted) == [False] * 23 + [True]
    assert tallies(anywhere) == {SLUG: {"student": Tally(1, 1)}}


def test_what_browsers_recommend_by_follows_every_vote_that_is_counted_here_or_elsewhere(anywhere: FastAPI) -> None:
    client, slugs = visitor(anywhere), list(site_of(anywhere).pages.school.pages)

    def told() -> Any:
        return client.get("/recommendation").json()["votes"]

    def keep(slug: str, count: int) -> None:  # as another server does, behind the back of this one
        with site_of(anywhere).database.writing() as db:
            for n in range(count):
                store.cast(db, slug, "student", n % 2 == 0, token=f"{n:032x}", user_id=None)

    assert told() == told() == {}
    keep(slugs[0], FEWEST)
    assert told() == {slugs[0]: {EVERYBODY: [FEWEST, FEWEST // 2], "student": [FEWEST, FEWEST // 2]}}
    assert send(client, number=FEWEST, slug=slugs[0]) is True
    assert told()[slugs[0]]["student"] == [FEWEST + 1, FEWEST // 2 + 1]
    packed = client.get("/recommendation", headers={"accept-encoding": "gzip"})
    plain = client.get("/recommendation", headers={"accept-encoding": "identity"})
    assert (packed.headers["content-encoding"], packed.content) == ("gzip", plain.content)


def test_what_browsers_recommend_by_follows_the_nuggets(app: FastAPI) -> None:
    client, pages = visitor(app), site_of(app).pages
    before = client.get("/recommendation").json()["nuggets"]
    fewer = [page.nugget for page in pages.school if page.nugget.slug != "the-family"]
    pages.show(School(fewer, pages.school.common, ready=[pages.school]))
    assert [one["slug"] for one in client.get("/recommendation").json()["nuggets"]] == [
        one["slug"] for one in before if one["slug"] != "the-family"
    ]


def test_the_page_tells_what_the_votes_say_once_there_are_enough(app: FastAPI) -> None:
    def keep(reports: int, ones: int) -> str:
        with site_of(app).database.writing() as db:
            db.merge(VoteTally(slug=SLUG, role="student", reports=reports, ones=ones))
        return visitor(app).get("/votes").text

    assert "No nugget has" in keep(FEWEST - 1, 60)
    page = keep(400, 225)  # 4 · 225/400 − 3/2
    assert "<strong>75 %</strong> <small>55 to 95</small> <small>400 reports</small>" in page
    assert page.count("too few") == len(ROLES) - 1
    assert "<strong>100 %</strong> <small>82 to 100</small> <small>400 reports</small>" in keep(400, 252)


# In the browser

FORCED = """(() => {
  const real = crypto.getRandomValues.bind(crypto);
  crypto.getRandomValues = (target) => target instanceof BigUint64Array ? target.fill(WORDn) : real(target);
})();"""
"""Makes the die fall as one likes: 0 turns the answer round, the largest word keeps it."""


def cast_in(page: Page, answer: str, role: str = "engineer") -> dict[str, Any]:
    """Vote, and give back what was sent."""
    page.select_option("#vote select", role)
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/votes")) as sent:
        page.click(f'#vote button[value="{answer}"]')
    page.wait_for_selector("#vote [data-choice]", state="hidden")
    return dict(json.loads(sent.value.post_data or ""))


@pytest.mark.parametrize(("answer", "word", "yes"), few([("yes", 0, False), ("no", 0, True), ("yes", 2**64 - 1, True)]))
def test_only_the_randomised_answer_leaves_the_page(visit: Visitor, answer: str, word: int, yes: bool) -> None:
    browser = visit()
    browser.context.add_init_script(FORCED.replace("WORD", str(word)))
    asked: list[tuple[str, str, str | None]] = []
    page = browser.open(f"/learn/{SLUG}")
    browser.context.on("request", lambda request: asked.append((request.method, request.url, request.post_data)))
    body = cast_in(page, answer)
    assert body == {"slug": SLUG, "role": "engineer", "yes": yes, "truth": "5/8", "token": body["token"]}
    assert [one[0] for one in asked if one[0] != "GET"] == ["POST"]
    assert not any("?" in url for _, url, _ in asked)
    kept = json.loads(page.evaluate("localStorage.getItem('lapwing-votes')"))
    assert kept == {SLUG: {"yes": yes, "role": "engineer", "token": body["token"], "sent": True}}
    assert f"sent “{'yes' if yes else 'no'}”" in page.inner_text("#vote [role=status]")


def test_a_vote_that_does_not_arrive_is_sent_again_as_it_was(visit: Visitor) -> None:
    browser = visit()
    page = browser.open(f"/learn/{SLUG}")
    broken = True
    sent: list[dict[str, Any]] = []

    def deliver(route: Route) -> None:
        sent.append(json.loads(route.request.post_data or ""))
        if broken:
            route.fulfill(status=503)
        else:
            route.continue_()

    page.route("**/votes", deliver)
    page.click('#vote button[value="yes"]')
    page.wait_for_selector("#vote [data-choice]", state="hidden")
    assert "when you come back" in page.inner_text("#vote [role=status]")
    page.reload()
    page.locator("#vote [role=status]", has_text="when you come back").wait_for()
    broken = False
    page.reload()
    page.locator("#vote [role=status]", has_text="You voted").wait_for()
    page.reload()
    page.locator("#vote [role=status]", has_text="You voted").wait_for()
    assert len(sent) == 3, "once it is counted, it is not sent any more"
    assert sent[0] == sent[1] == sent[2]
    assert all("503" in one for one in browser.wrong)
    browser.wrong.clear()


def test_each_vote_has_a_number_of_its_own_and_the_votes_come_to_an_end(visit: Visitor) -> None:
    browser = visit()
    page = browser.open("/learn/tools")
    first = cast_in(page, "no")
    page.goto(f"{browser.url}/learn/vendors")
    second = cast_in(page, "no")
    assert first["token"] != second["token"]
    page.goto(f"{browser.url}/votes")
    assert "2 of 15 votes are used" in page.inner_text("#my-votes")
    page.evaluate(
        """(most) => { const all = JSON.parse(localStorage.getItem('lapwing-votes'));
        for (let i = Object.keys(all).length; i < most; i++) all['old-' + i] = {...all.tools, sent: true};
        localStorage.setItem('lapwing-votes', JSON.stringify(all)); }""",
        MOST_VOTES,
    )
    page.goto(f"{browser.url}/learn/{SLUG}")
    page.wait_for_selector("#vote [data-choice]", state="hidden")
    assert "You have used your 15 votes" in page.inner_text("#vote [role=status]")


def test_an_account_knows_its_profile_and_votes_in_every_browser(visit: Visitor) -> None:
    name, one, other = "Hypatia", visit(), visit()

    def enter(page: Page) -> None:
        page.fill("main [name=name]", name)
        page.fill("main [name=password]", PASSWORD)
        page.click("main form button.main")
        page.wait_for_url("**/")

    first = one.open("/account/sign-up?next=/")
    enter(first)
    first.click("#for-you summary")
    first.check('#for-you input[value="student"]')
    with first.expect_response("**/account/profile") as kept:
        first.click("#for-you form button.main")
    assert kept.value.status == 303
    first.goto(f"{one.url}/learn/{SLUG}")
    assert cast_in(first, "yes", "student")["role"] == "student"
    second = other.open("/account/sign-in?next=/")
    enter(second)
    assert "you are a researcher or student" in second.inner_text("#for-you[data-ready]")
    second.goto(f"{other.url}/learn/{SLUG}")
    second.locator('#vote select option[value="student"]:checked').wait_for(state="attached")
    second.click('#vote button[value="no"]')
    second.locator("#vote [role=status]", has_text="with another browser. Nothing was sent").wait_for()
    assert second.evaluate("localStorage.getItem('lapwing-votes')") is None


def test_votes_can_be_cast_by_keyboard_on_a_phone(visit: Visitor) -> None:
    browser = visit(viewport={"width": 360, "height": 740})
    page = browser.open("/learn/the-benefits")
    page.focus('#vote button[value="yes"]')
    with page.expect_request("**/votes"):
        page.keyboard.press("Enter")
    page.wait_for_selector("#vote [data-choice]", state="hidden")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "status"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
