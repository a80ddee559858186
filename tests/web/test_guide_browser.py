"""The guide in a real browser: step by step, without scripts, on a phone, and on paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lapwing.web.guide.advice import advise
from lapwing.web.guide.answers import QUESTIONS
from lapwing.web.guide.cases import cases

Visitor = Callable[..., Any]


def case(name: str) -> str:
    """The address of a worked case."""
    return next(one.answers.address for one in cases() if one.name == name)


def test_somebody_is_led_through_the_interview_and_told_what_can_be_said_so_far(visit: Visitor) -> None:
    page: Page = visit().open("/guide")
    choose = lambda text: page.locator(".choice", has_text=text).first.click()  # noqa: E731
    next_screen = page.get_by_role("button", name="Next")
    expect(page.get_by_role("heading", name="The data")).to_be_visible()
    expect(page.get_by_role("heading", name="The questions")).to_be_hidden()
    choose("Not people")
    expect(page.locator(".so-far")).to_contain_text("So far it looks like no.")
    choose("People, and it could harm them")
    next_screen.click()
    expect(page.get_by_role("heading", name="The data")).to_be_visible()  # the number is missing
    page.get_by_label("How many people are in the data?").fill("4,000")
    choose("A patient, a pupil")
    page.get_by_label("How many people are in the data?").press("Enter")
    expect(page.get_by_role("heading", name="The questions")).to_be_focused()
    expect(page.get_by_label("Into how many groups")).to_be_hidden()
    choose("How many in each group")
    expect(page.get_by_label("Into how many groups")).to_be_visible()
    page.get_by_label("Into how many groups").fill("5")
    choose("By 10 %")
    next_screen.click()
    choose("One place that people trust")
    expect(page.locator(".so-far")).to_contain_text("One place is trusted")
    choose("Once")
    choose("Everybody")
    choose("GDPR")
    page.get_by_role("button", name="What do you advise?").click()
    expect(page.locator(".verdict-line")).to_contain_text("Yes, use differential privacy")
    expect(page.locator(".outlook svg")).to_be_visible()
    page.get_by_role("link", name="Change the answers").click()
    expect(page.get_by_label("How many people are in the data?")).to_have_value("4000")


def test_without_scripts_it_is_one_form_that_does_the_same(visit: Visitor) -> None:
    page: Page = visit(java_script_enabled=False).open(f"/guide?{case('Five people')}")
    for title in ("The data", "The questions", "The setting"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    page.get_by_label("How many people are in the data?").fill("500000")
    page.get_by_role("button", name="What do you advise?").click()
    expect(page.locator(".verdict-line")).to_contain_text("Yes, use differential privacy")


@pytest.mark.sweep
def test_a_report_is_one_sheet_of_paper(visit: Visitor) -> None:
    begun = visit()
    longest = [one.answers for one in sorted(cases(), key=lambda one: -len(advise(one.answers).rules))[:3]]
    everything = tuple(option.name for option in QUESTIONS["ask"].options)
    for one in [*longest, replace(longest[0], ask=everything, rows="many", groups=1000, need="fine", often="daily")]:
        page = begun.open(f"/guide/report?{one.address}")
        sheets = re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))
        page.close()
        assert len(sheets) == 1, one
