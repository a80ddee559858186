"""People who talk, and one who moderates, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from school_site import PASSWORD, account, browser_of
from sweeps import few

from lapwing.web.statistics.weeks import MOST

PHONE = {"width": 360, "height": 740}
NUGGET = "/learn/the-benefits"
Visitor = Callable[..., Any]
_COUNT = iter(range(1000))


def enter(live_school: Any, visit: Any, role: str = "learner") -> tuple[Page, str]:
    """A page of somebody new who signed in, and their name."""
    name = f"Person {chr(65 + next(_COUNT))}{role[0]}"
    visit.become(browser_of(live_school.app, account(live_school.app, name, role)))
    return visit.open("/account"), name


def sign_in(page: Page, name: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main button.main").click()


def discussion(page: Page, visit: Any, nugget: str = NUGGET) -> None:
    """Read down to the discussion, which comes by itself."""
    page.goto(visit.url + nugget)
    page.locator("#discussion").scroll_into_view_if_needed()
    expect(page.locator("#talk-count")).to_be_visible()


@pytest.mark.parametrize("viewport", few([PHONE, None]), ids=["phone", "desktop"])
def test_somebody_asks_previews_sends_answers_edits_and_deletes(
    live_school: Any, visit: Visitor, viewport: dict[str, int] | None
) -> None:
    browser = visit(**({"viewport": viewport} if viewport else {}))
    page, name = enter(live_school, browser)
    discussion(page, browser)
    words = f"A question of {name} about $x^2$"
    page.locator("#text-0").fill(words)
    page.locator("#form-0").get_by_role("button", name="Preview").click()
    expect(page.locator("#form-0 .preview .katex")).to_be_visible()
    expect(page.locator("#text-0")).to_have_value(words)
    page.locator("#form-0").get_by_role("button", name="Send").click()
    comment = page.locator(".comment").filter(has_text=f"A question of {name}").first
    expect(comment).to_be_focused()
    expect(page.locator("#text-0")).to_have_value("")

    comment.get_by_role("link", name="Reply").click()
    expect(comment.locator("textarea")).to_be_focused()
    page.keyboard.type("An answer")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    answer = page.locator(".replies .comment").filter(has_text="An answer")
    expect(answer).to_be_focused()

    answer.get_by_role("link", name="Edit").click()
    answer.locator("textarea").fill("A better answer")
    answer.get_by_role("button", name="Keep this").click()
    answer = page.locator(".replies .comment").filter(has_text="A better answer")
    expect(answer.locator(".edited")).to_be_visible()

    answer.get_by_role("link", name="Delete").click()
    answer.get_by_role("link", name="Never mind").click()
    expect(answer).to_be_focused()
    before = page.locator("#talk-count").inner_text()
    answer.get_by_role("link", name="Delete").click()
    answer.get_by_role("button", name="Delete it").click()
    expect(answer).to_have_count(0)
    expect(page.locator("#talk-count")).not_to_have_text(before)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.url.endswith(NUGGET), "all of it happened under the nugget"


def test_comments_written_while_the_session_ended_come_back(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    page, name = enter(live_school, browser)
    discussion(page, browser)
    words = f"Long thoughts of {name}"
    browser.context.clear_cookies()
    page.locator("#text-0").fill(words)
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("kept in this browser")
    page.get_by_role("alert").get_by_role("link", name="Sign in").click()
    sign_in(page, name)
    page.wait_for_url(f"**{NUGGET}/discussion")
    expect(page.locator("#text-0")).to_have_value(words)
    expect(page.locator("#form-0").get_by_role("status")).to_contain_text("did not send it")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#form-0 .preview")).to_be_visible()
    assert len(kept(page)) == 1, "a preview is not sent yet"
    page.get_by_role("button", name="Send").click()
    comment = page.locator(".comment").filter(has_text=words)
    expect(comment).to_be_focused()
    expect(page.locator("#text-0")).to_have_value("")
    assert kept(page) == []

    comment.get_by_role("link", name="Reply").click()
    comment.locator("textarea").fill("And an answer")
    browser.context.clear_cookies()
    comment.get_by_role("button", name="Answer").click()
    comment.get_by_role("link", name="Sign in").click()
    sign_in(page, name)
    expect(comment.locator("textarea")).to_have_value("And an answer")
    expect(comment.locator("textarea")).to_be_focused()
    comment.get_by_role("button", name="Discard it").click()
    expect(comment.locator("textarea")).to_have_value("")
    assert kept(page) == []
    comment.locator("textarea").fill("Another answer")
    comment.get_by_role("link", name="Never mind").click()
    assert kept(page) == []
    browser.wrong = [one for one in browser.wrong if "401" not in one]


def kept(page: Page) -> list[str]:
    """The drafts in a browser."""
    found: list[str] = page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('lapwing-draft'))")
    return found


def test_a_comment_is_reported_and_a_moderator_hides_it_by_keyboard(live_school: Any, visit: Visitor) -> None:
    writer, reporter, moderator = visit(), visit(), visit()
    page, name = enter(live_school, writer)
    discussion(page, writer)
    rude = f"Rude words of {name}"
    page.locator("#text-0").fill(rude)
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".comment").filter(has_text=rude)).to_be_visible()

    other, _ = enter(live_school, reporter)
    discussion(other, reporter)
    comment = other.locator(".comment").filter(has_text=rude)
    comment.get_by_role("link", name="Report").click()
    expect(comment.get_by_role("radio").first).to_be_focused()
    other.keyboard.press("Space")
    comment.get_by_role("button", name="Report it").click()
    expect(comment.get_by_role("status")).to_contain_text("A moderator will look at it")

    desk, _ = enter(live_school, moderator, "instructor")
    desk.goto(f"{moderator.url}/moderation")
    desk.locator("#queue > li").first.focus()
    for _ in range(desk.locator("#queue > li").count()):
        if rude in desk.evaluate("document.activeElement.textContent"):
            break
        desk.keyboard.press("j")
    desk.keyboard.press("x")
    desk.keyboard.press("n")
    desk.keyboard.type("Hide and be kind")
    expect(desk.locator("input[name=note]")).to_have_value("Hide and be kind")
    desk.locator("#queue > li").filter(has_text=rude).focus()
    desk.keyboard.press("h")
    expect(desk.locator(".notice")).to_have_text("Hidden: 1.")
    expect(desk.locator("main")).not_to_contain_text(rude)

    discussion(other, reporter)
    expect(other.locator("#talk")).not_to_contain_text(rude)
    discussion(page, writer)
    expect(page.locator(".comment").filter(has_text=rude)).to_contain_text("Hide and be kind")


@pytest.mark.sweep
def test_words_of_others_stay_in_their_place(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    page, name = enter(live_school, browser)
    discussion(page, browser)
    page.locator("#text-0").fill(
        f"{name} " + r"$\kern{-60em}\rule{300em}{300em}$ <img src=x onerror=alert(1)> " + "w" * 900
    )
    page.get_by_role("button", name="Send").click()
    comment = page.locator(".comment").filter(has_text=name).first
    expect(comment).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    covered = comment.locator("header").evaluate(
        "(one) => { const at = one.getBoundingClientRect(); "
        "return one.contains(document.elementFromPoint(at.left + 5, at.top + at.height / 2)); }"
    )
    assert covered, "no formula reaches over what is above it"


def test_readers_see_the_discussion_only_when_they_are_near_and_nothing_is_kept_of_them(
    live_school: Any, visit: Visitor
) -> None:
    browser = visit()
    asked: list[str] = []
    browser.context.on("request", lambda request: asked.append(request.url))
    page = browser.open("/learn/tools")
    page.wait_for_load_state("networkidle")
    assert not any(url.endswith("/discussion") or "htmx" in url for url in asked)
    page.locator("#discussion").scroll_into_view_if_needed()
    expect(page.locator("#talk .invite")).to_be_visible()
    assert browser.context.cookies() == []


@pytest.mark.sweep
def test_without_scripts_there_is_a_page_with_plain_forms(live_school: Any, visit: Visitor) -> None:
    browser = visit(java_script_enabled=False)
    page, name = enter(live_school, browser)
    page.goto(browser.url + NUGGET)
    page.get_by_role("link", name="Read and join the discussion").click()
    words = f"{name} writes without scripts"
    page.locator("#text-0").fill(words)
    page.get_by_role("button", name="Send").click()
    comment = page.locator(".comment").filter(has_text=words)
    expect(comment).to_be_visible()
    assert re.search(r"#comment-\d+$", page.url)
    comment.get_by_role("link", name="Reply").click()
    page.get_by_label("Your answer").fill("plainly")
    page.get_by_role("button", name="Answer").click()
    expect(page.locator(".replies")).to_contain_text("plainly")


@pytest.mark.sweep
def test_a_browser_tells_only_so_much_in_a_week_and_nothing_if_it_asks_not_to(live_school: Any, visit: Visitor) -> None:
    browser, shy = visit(), visit(extra_http_headers={"sec-gpc": "1"})
    told: list[str] = []
    slugs = list(live_school.app.state.site.pages.school.pages)[: MOST + 2]
    for one in (browser, shy):
        one.context.on("request", lambda request: told.append(request.url) if request.method == "POST" else None)
    shy.context.add_init_script("Object.defineProperty(navigator, 'globalPrivacyControl', {value: true})")
    page = browser.open("/glossary")
    for slug in (slugs[0], *slugs):
        page.goto(f"{browser.url}/learn/{slug}")
        page.wait_for_load_state("networkidle")
    assert [url.rpartition("/")[2] for url in told] == ["usage"] * MOST
    shy.open(f"/learn/{slugs[0]}").wait_for_load_state("networkidle")
    assert len(told) == MOST
