"""From a code on the wall to a tick in the list, in two real browsers."""

from __future__ import annotations

import re
from typing import Any

from axe import PHONE
from playwright.sync_api import expect
from school_site import PASSWORD, account, browser_of

READ_BEFORE = """() => {
    const done = { screens: [], questions: [1, 2, 3, 4], total: 4, at: 1 };
    localStorage.setItem("lapwing-progress", JSON.stringify({ "the-benefits": done }));
}"""
"""Somebody finished a nugget in this browser, before anybody joined anything."""


def test_from_a_code_on_the_wall_to_a_tick_in_the_list_and_out_again(visit: Any, live_school: Any) -> None:
    """The whole way: a teacher at a desk, a pupil with a phone at night."""
    desk = visit()
    teacher = account(live_school.app, "Emmy Noether", "instructor")
    known = browser_of(live_school.app, teacher)
    secure = live_school.url.replace("http:", "https:")  # browsers trust this machine like https
    for name, value in known.cookies.items():
        desk.context.add_cookies([{"name": name, "value": value, "url": secure, "secure": True}])
    page = desk.open("/classes")
    page.get_by_label("Name of the class").fill("Mathematics 11b")
    page.get_by_role("button", name="Make the class").click()
    expect(page.get_by_role("heading", name="0 pupils")).to_be_visible()
    page.get_by_role("link", name="Show it large").click()
    code = page.locator(".wall .code").inner_text()
    page.get_by_role("link", name="Back to the class").click()

    begun = visit(viewport=PHONE, color_scheme="dark", has_touch=True)
    phone = begun.open(f"/join?code={code}")
    phone.evaluate(READ_BEFORE)
    phone.get_by_role("link", name="Make an account").click()
    phone.get_by_label("Name, shown beside what you write").fill("Ida Example")
    phone.get_by_label("Password, at least 12 characters").fill(PASSWORD)
    phone.get_by_role("button", name="Make my account").click()
    expect(phone.get_by_role("heading", name="Your teacher sees", exact=True)).to_be_visible()
    phone.get_by_label("Your name in this class").fill("Calm Curlew")
    phone.get_by_role("button", name="I agree. Join the class").press("Enter")
    expect(phone.get_by_text("not finished a nugget since you joined")).to_be_visible()

    phone.goto(f"{begun.url}/learn/the-benefits")
    told = phone.locator("#class-told")
    for form in phone.locator("form.question").all():
        for right in form.locator("[data-right]").all():
            right.check()
        form.get_by_role("button", name="Check").click()
        phone.wait_for_function("localStorage.getItem('lapwing-class')")
        expect(told).to_have_count(0)  # the class hears nothing of what was read before, and nothing half done
    for screen in phone.locator("section.screen").all():
        screen.locator("> :last-child").scroll_into_view_if_needed()
    expect(told).to_contain_text("Your teacher sees that you finished this nugget")
    expect(phone.get_by_text(re.compile(r"^1 of \d+ nuggets done$"))).to_be_visible()

    page.reload()
    expect(page.locator("tr", has=page.get_by_role("link", name="Calm Curlew")).locator(".done")).to_have_count(1)

    phone.goto(f"{begun.url}/classes")
    expect(phone.get_by_role("row", name="The benefits")).to_be_visible()
    phone.get_by_text("Leave this class").press("Enter")
    phone.get_by_role("button", name="Leave, and delete it").press("Enter")
    expect(phone.get_by_text("You are in no class.")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="0 pupils")).to_be_visible()
