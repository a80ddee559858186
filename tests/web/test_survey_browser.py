"""Surveys in a real browser: the true answer never leaves the page, one turn of the wheel is all there is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe import VIEWS, complaints
from playwright.sync_api import Page, Route, expect
from school_site import site_of
from surveys import answered, made
from sweeps import few

from lapwing.web.survey.parameters import CHOICE, NUMBER, YES_NO
from lapwing.web.survey.results import BATCH
from lapwing.web.survey.store import surveys as store

Visitor = Callable[..., Any]
PHONE = {"width": 360, "height": 740}
FORCED = """(() => {
  const real = crypto.getRandomValues.bind(crypto);
  crypto.getRandomValues = (target) => target instanceof BigUint64Array ? target.fill(WORDn)
    : target instanceof Uint8Array ? target.fill(7) : real(target);
})();"""
"""Makes the wheel stop where one likes: near the beginning of its rim (0) or at its end (the largest word)."""
LEAST, LARGEST = 0, 2**64 - 1


def tallies(app: Any, survey_id: str) -> dict[int, list[int]]:
    with site_of(app).database.reading() as db:
        found = store.find(db, survey_id)
        assert found is not None
        return store.batches(db, found)


def choose(page: Page, truth: str) -> None:
    """Give the true answer, and turn the wheel."""
    field = page.locator("[data-survey] [name=answer]").first
    expect(field).to_be_visible()
    if field.get_attribute("type") == "radio":
        page.get_by_label(truth, exact=True).check()
    else:
        field.fill(truth)
    page.get_by_role("button", name=re.compile("Turn the wheel")).click()
    expect(page.locator("[data-survey] [role=status]")).not_to_be_empty()


@pytest.mark.parametrize(
    ("kind", "truths", "value", "words"),
    few(
        [
            (CHOICE, [("zebra mussel", LARGEST), ("okapi", LEAST)], 2, ("zebra", "mussel", "okapi")),
            (YES_NO, [("Yes", LEAST), ("No", LARGEST)], 0, ("Yes",)),
            (NUMBER, [("7.125", LEAST), ("0", LARGEST)], 0, ("7.125",)),
        ]
    ),
)
def test_what_leaves_the_page_is_the_same_whatever_the_truth_behind_a_report(
    visit: Visitor, live_school: Any, kind: str, truths: list[tuple[str, int]], value: int, words: tuple[str, ...]
) -> None:
    """Every request of the page from its beginning to its end, byte for byte, with the random source held fixed."""
    survey, _ = made(live_school.app, kind)
    seen, kept = [], []
    for truth, word in truths:
        begun = visit()
        begun.context.add_init_script(FORCED.replace("WORD", str(word)))
        asked: list[tuple[Any, ...]] = []
        begun.context.on(
            "request",
            lambda one, asked=asked: asked.append((one.method, one.url, one.post_data, sorted(one.headers.items()))),
        )
        page = begun.open(f"/survey/{survey}")
        page.wait_for_load_state("networkidle")
        before = {one[:3] for one in asked}
        asked.clear()
        choose(page, truth)
        expect(page.locator(".sent strong")).to_have_text({YES_NO: "No", CHOICE: "okapi", NUMBER: "0"}[kind])
        kept.append(page.evaluate("JSON.stringify(Object.entries(localStorage))"))
        page.close(run_before_unload=True)
        seen.append((before, asked))
    assert seen[0] == seen[1], "before the answer was given and after, every byte"
    [(method, _, sent, _)] = seen[0][1]
    assert method == "POST"
    body = json.loads(sent)
    assert body == {"report": body["report"], "token": "07" * 16}
    assert body["report"].endswith(f"{value:02x}")
    assert not any(word in str(seen) for word in words)
    assert kept[0] == kept[1], "what the browser remembers is the same, too"


def test_coming_back_sends_the_same_and_once_it_is_counted_nothing(visit: Visitor, live_school: Any) -> None:
    survey, _ = made(live_school.app)
    begun = visit()
    page = begun.open(f"/survey/{survey}")
    broken, sent = True, []

    def deliver(route: Route) -> None:
        sent.append(route.request.post_data)
        route.fulfill(status=503) if broken else route.continue_()

    page.route("**/answers", deliver)
    choose(page, "Yes")
    said = page.locator("[data-survey] [role=status]")
    expect(said).to_contain_text("will be sent when you are online again or when you open this page again")
    broken = False
    page.reload()
    expect(said).to_contain_text("You have answered")
    page.reload()
    expect(said).to_contain_text("You have answered")
    expect(page.locator("[data-survey] form")).to_be_hidden()
    assert len(sent) == 2
    assert sent[0] == sent[1]
    assert sum(tallies(live_school.app, survey)[0]) == 1
    assert all("503" in one for one in begun.wrong)
    begun.wrong.clear()


def test_two_pages_of_one_browser_turn_the_wheel_once(visit: Visitor, live_school: Any) -> None:
    survey, _ = made(live_school.app)
    begun = visit()
    begun.context.add_cookies([{"name": "somebody", "value": "known", "url": begun.url}])
    pages = [begun.open(f"/survey/{survey}") for _ in range(2)]
    sent: list[Any] = []
    begun.context.on("request", lambda one: sent.append(one) if one.method == "POST" else None)
    for page, truth in zip(pages, ("Yes", "No"), strict=True):
        choose(page, truth)
        expect(page.locator("[data-survey] [role=status]")).to_contain_text("You have answered")
    [only] = sent
    assert "cookie" not in only.all_headers(), "nor does an account come along"
    assert sum(tallies(live_school.app, survey)[0]) == 1


def test_a_page_that_is_left_takes_the_answer_with_it(visit: Visitor, live_school: Any) -> None:
    survey, _ = made(live_school.app, CHOICE)
    begun = visit(reduced_motion="reduce")
    page = begun.open(f"/survey/{survey}")
    begun.context.set_offline(True)
    choose(page, "zebra mussel")
    said = page.locator("[data-survey] [role=status]")
    expect(said).to_contain_text("will be sent when you are online again")
    expect(page.locator(".wheels")).to_contain_text("zebra mussel")
    begun.context.set_offline(False)
    expect(said).to_contain_text("You have answered")
    assert sum(tallies(live_school.app, survey)[0]) == 1
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    expect(page.locator(".wheels")).to_be_empty()
    assert page.evaluate("[...document.querySelectorAll('input')].some((one) => one.checked)") is False
    page.goto(f"{begun.url}/survey/explained")
    page.go_back()
    expect(said).to_contain_text("You have answered")
    expect(page.locator(".wheels li")).to_have_count(0)
    assert page.url.endswith(survey), "nor is anything in the address"
    begun.wrong.clear()  # the browser says that it was offline


def test_a_browser_that_keeps_nothing_sends_nothing(visit: Visitor, live_school: Any) -> None:
    survey, _ = made(live_school.app)
    for full, words in (("true", "stores no data"), ("!key.endsWith('-try')", "could not keep the randomised answer")):
        begun = visit()
        begun.context.add_init_script(
            "const put = Storage.prototype.setItem; Storage.prototype.setItem = function (key, value) {"
            f" if ({full}) throw new DOMException('full', 'QuotaExceededError'); put.call(this, key, value); }};"
        )
        sent: list[str] = []
        begun.context.on("request", lambda one, sent=sent: sent.append(one.url) if one.method == "POST" else None)
        page = begun.open(f"/survey/{survey}")
        if full != "true":
            choose(page, "Yes")
        expect(page.locator("[data-survey] [role=status]")).to_contain_text(words)
        expect(page.locator("[data-survey] form")).to_be_hidden()
        assert sent == []
    assert tallies(live_school.app, survey) == {}


def test_a_personal_link_counts_in_one_browser_and_turns_no_wheel_in_another(visit: Visitor, live_school: Any) -> None:
    survey, key = made(live_school.app, links=2)
    link = f"/survey/{survey}#{store.personal_token(key, 0)}"
    choose(visit().open(link), "No")
    other = visit()
    sent: list[str] = []
    other.context.on("request", lambda one: sent.append(one.url) if one.method == "POST" else None)
    page = other.open(link)
    expect(page.locator("[data-survey] [role=status]")).to_contain_text("used already")
    assert [url.rpartition("/")[2] for url in sent] == ["link"], "nothing is randomised for nothing"
    stranger = visit().open(f"/survey/{survey}")
    expect(stranger.locator("[data-survey] [role=status]")).to_contain_text("needs a personal link")
    assert sum(tallies(live_school.app, survey)[0]) == 1


def test_the_whole_way_on_a_phone_by_keyboard(visit: Visitor, live_school: Any) -> None:
    maker = visit(viewport=PHONE)
    page = maker.open("/survey")
    page.get_by_label("Your question").fill("How often do you fib?")
    page.get_by_role("radio", name="A number").check()
    page.get_by_label(re.compile("the smallest")).fill("0")
    page.get_by_label("The largest").fill("10")
    page.get_by_label("People who answer").fill("1000")
    page.locator("#error").fill("0.5")
    page.locator("#error").press("Tab")
    status = page.locator("#trade [role=status]")
    expect(status).to_contain_text("If 1,000 people answer, the estimate will lie within about ±0.5")
    epsilon = float(page.locator("[name=epsilon]").input_value())
    assert 1.3 < epsilon < 1.5
    page.get_by_role("button", name="Make the survey").click()
    expect(page.get_by_text("Keep the address of this page")).to_be_visible()
    link = page.locator("a.address").inner_text()
    survey = link.rpartition("/")[2]
    assert "25 more are needed" in page.inner_text("#results ~ .box")

    phone = visit(viewport=PHONE, bypass_csp=True)  # axe is a script
    asked = phone.open(f"/survey/{survey}")
    field = asked.locator("[name=answer]")
    expect(field).to_be_visible()
    field.focus()
    asked.keyboard.type("lots")
    asked.keyboard.press("Enter")
    expect(asked.locator("[role=status]")).to_contain_text("Type a number from 0 to 10")
    field.fill("7,5")
    asked.keyboard.press("Enter")
    expect(asked.locator("[role=status]")).to_contain_text("You have answered")
    expect(asked.locator(".wheels li")).to_have_count(2)
    expect(asked.locator(".wheels li").first).to_contain_text("75 % of the way from 0 to 10")
    assert asked.evaluate("document.activeElement.getAttribute('role')") == "status"
    assert complaints(asked, [VIEWS[1]]) == []
    answered(live_school.app, survey, BATCH - 1, values=2)
    page.reload()
    expect(page.locator(".headline")).to_contain_text("on average")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_module_that_randomises_is_small(live_school: Any) -> None:
    name = site_of(live_school.app).pages.assets.names["survey.js"]
    assert (Path(site_of(live_school.app).pages.assets.folder) / name).stat().st_size < 12_000
