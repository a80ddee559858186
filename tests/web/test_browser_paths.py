"""Paths of people through the school: a newcomer, one without scripts, one in the dark, one who prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from school_site import nuggets
from sweeps import few

PHONE = {"width": 360, "height": 740}
SLUG, TITLE = "the-laplace-mechanism", "The Laplace mechanism"
Visitor = Callable[..., Any]


def tiles(page: Page) -> list[str]:
    return page.locator("li[data-tile]:visible h3").all_inner_texts()


def test_a_newcomer_lands_looks_reads_plays_answers_writes_and_comes_back(visit: Visitor) -> None:
    begun = visit()
    page = begun.open("/")
    everything = tiles(page)
    assert len(everything) == len(nuggets().pages)
    filters = page.locator("form.filters")
    filters.get_by_label("I am a").select_option(label="Software engineer")
    filters.get_by_label("I have").select_option(label="15 minutes")
    assert 0 < len(tiles(page)) < len(everything)
    filters.get_by_label("I have").select_option(label="20 minutes")
    fitting = tiles(page)
    assert 0 < len(fitting) < len(everything)
    page.get_by_role("searchbox").fill("laplace mech")
    assert TITLE in tiles(page)
    assert len(tiles(page)) < len(fitting)
    words = page.get_by_role("region", name="In the glossary")
    page.get_by_role("searchbox").fill("sensitiv")
    expect(words.get_by_role("link", name="sensitivity", exact=True)).to_have_attribute("href", "/glossary#sensitivity")
    expect(words.get_by_text("The largest change of an answer")).to_be_visible()
    page.get_by_role("searchbox").fill("xyzzyx")
    expect(words).to_be_hidden()
    expect(page.get_by_text("No nugget fits all filters.")).to_be_visible()
    page.get_by_role("searchbox").fill("laplace mech")

    page.locator("li[data-tile]").get_by_role("link", name=TITLE, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    begun.wake(page)
    sentence = page.locator("lw-laplace .seen")
    told = sentence.inner_text()
    page.locator("lw-laplace").get_by_role("slider").press("ArrowLeft")
    expect(sentence).not_to_have_text(told)

    question = page.locator("form.question").first
    question.locator("[data-wrong]").first.check()
    question.get_by_role("button", name="Check").click()
    expect(question.get_by_text("Not quite.").first).to_be_visible()
    question.locator("[data-right]").first.check()
    expect(question.locator(".feedback:visible")).to_have_count(0)
    question.get_by_role("button", name="Check").click()
    expect(question.get_by_role("status")).to_have_text("✓ Right.")

    exercise = page.locator("lw-exercise").first
    exercise.get_by_role("button", name="Write it here").click()
    expect(exercise.locator(".cm-content")).to_be_focused()  # the editor is loaded first
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("print(6 * 7)")
    exercise.get_by_role("button", name="Run").click()
    expect(exercise.locator(".said .out")).to_have_text("42\n", timeout=90_000)

    page.get_by_role("link", name="Lapwing", exact=True).click()
    bar = page.locator(f"[data-progress='{SLUG}']")
    expect(bar).to_be_visible()
    done = int((bar.get_attribute("aria-label") or "0").split()[0])
    assert 0 < done < 100
    page.get_by_role("link", name="Continue where you left").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    page.locator("lw-exercise").first.get_by_role("button", name="Write it here").click()
    expect(page.locator("lw-exercise .cm-content").first).to_contain_text("print(6 * 7)")


def test_without_scripts_one_can_read_filter_answer_and_open_what_is_closed(visit: Visitor) -> None:
    page = visit(java_script_enabled=False).open("/")
    page.get_by_role("searchbox").fill("netflix")
    page.locator("form.filters").get_by_label("I want").select_option("intuition")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/?q=netflix*")
    found = tiles(page)
    assert 0 < len(found) < len(nuggets().pages)
    page.goto(page.url.split("?")[0] + f"learn/{SLUG}")
    expect(page.locator(".katex").first).to_be_visible()
    block = page.locator("section.screen details.block").first
    expect(block.locator("> div")).to_be_hidden()
    block.locator("summary").click()
    expect(block.locator("> div")).to_be_visible()
    question = page.locator("form.question").first
    question.locator("label").first.click()
    expect(question.locator(".feedback:visible")).to_have_count(0)
    question.get_by_label("Check my answer").check()
    expect(question.locator(".feedback:visible")).to_have_count(1)
    expect(page.locator("lw-exercise pre").first).to_be_visible()
    expect(page.locator("#theme")).to_be_hidden()


def test_a_long_nugget_goes_step_by_step_and_words_open_in_place_on_a_phone(visit: Visitor) -> None:
    page = visit(steps=True, viewport={"width": 390, "height": 800}, has_touch=True).open(f"/learn/{SLUG}")
    sections = page.locator("section.screen:has(> h2)")
    expect(sections.nth(0).locator("> h2")).to_be_visible()
    expect(sections.nth(1).locator("> h2")).to_be_hidden()
    expect(page.locator("#learned")).to_be_hidden()
    page.get_by_role("button", name="Continue").click()
    expect(sections.nth(1).locator("> h2")).to_be_focused()
    word = page.locator("button.term:visible").first
    word.tap()
    told = page.locator(".tip:popover-open")
    expect(told).to_be_visible()
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    page.get_by_role("button", name="Always show everything").click()
    expect(page.locator("#learned")).to_be_visible()
    page.get_by_label("Short version").check()
    expect(page.locator("section.exercise").first).to_be_hidden()
    page.reload()
    expect(page.locator("#learned")).to_be_visible()
    expect(page.get_by_label("Short version")).to_be_checked()


@pytest.mark.sweep
def test_without_scripts_a_widget_says_in_words_what_it_would_show(visit: Visitor) -> None:
    page = visit(java_script_enabled=False).open()
    silent = []
    for slug, made in nuggets().pages.items():
        if made.widgets:
            page.goto(f"{page.url.split('/learn')[0].rstrip('/')}/learn/{slug}")
            silent += [slug for text in page.locator(".widget").all_inner_texts() if len(text.strip()) < 40]
    assert silent == []


def test_a_dark_page_stays_dark_until_somebody_wants_it_light(visit: Visitor) -> None:
    begun = visit(color_scheme="light")
    page = begun.open("/")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_role("button", name="Dark").click()
    dark = page.evaluate(paper)
    assert dark != light
    other = begun.open(f"/learn/{SLUG}")
    assert other.evaluate(paper) == dark
    other.get_by_role("button", name="Light").click()
    assert other.evaluate(paper) == light
    page.reload()
    assert page.evaluate(paper) == light
    assert visit(color_scheme="dark").open("/").evaluate(paper) == dark


@pytest.mark.parametrize("slug", few(["k-anonymity", "the-gaussian-mechanism", "real-world-applications", "vendors"]))
def test_a_nugget_on_paper_is_whole(visit: Visitor, slug: str) -> None:
    """Nothing is cut off at the right, what is closed is printed, what only works on a screen is not."""
    begun = visit(viewport={"width": 700, "height": 1000})
    page = begun.read(slug)
    page.emulate_media(media="print")
    cut = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
            .filter((one) => one.checkVisibility() && !one.closest('.katex-mathml, svg'))
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 1
                || (one.matches('.scroll, pre, .katex-display') && one.scrollWidth > one.clientWidth + 1))
            .slice(0, 5).map((one) => one.outerHTML.slice(0, 200))"""
    )
    assert cut == []
    for hidden in ("header.site", "nav.pager", ".reading > aside", ".widget .handles", ".button"):
        expect(page.locator(f"{hidden}:visible")).to_have_count(0)
    closed = page.evaluate(
        """() => [...document.querySelectorAll('details.block > div')]
            .filter((one) => !one.checkVisibility() || !one.getBoundingClientRect().height).length"""
    )
    assert closed == 0
