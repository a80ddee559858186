"""Pages for everybody: axe has no complaints, the keyboard suffices, nothing hides beside a small screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe import SHEET, VIEWS, complaints
from fastapi.routing import APIRoute
from playwright.sync_api import Page, expect
from school_site import nuggets, site_of
from sweeps import few
from tour import NO_PAGES, Stop, tour

from lapwing.web import pages
from lapwing.web.pages import Pages
from lapwing.web.routes import all_routers

NUGGETS = [f"/learn/{slug}" for slug in nuggets().pages]
USUAL = "/learn/the-laplace-mechanism"
"""A nugget with all that nuggets have: formulas, a widget, questions and an exercise that is audited."""
TEMPLATES = Path(pages.__file__).parent / "templates"
Visitor = Callable[..., Any]

SEND = """([address, fields]) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: address });
    for (const [name, value] of Object.entries(fields))
        form.append(Object.assign(document.createElement('textarea'), { name, value }));
    document.body.append(form);
    form.submit();
}"""
FOCUSED = """() => {
    let one = document.activeElement;
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    const { top, bottom, left, width } = one.getBoundingClientRect();
    const style = getComputedStyle(one.closest('.cm-editor') ?? one); // an editor is marked around all of it
    return { what: one.outerHTML.slice(0, 120), body: one === document.body, y: top + scrollY,
             text: one.matches('.cm-content'),
             shown: bottom > 0 && top < innerHeight && left >= 0 && width > 0,
             marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 };
}"""


@pytest.mark.parametrize(("place", "address"), few(enumerate(NUGGETS), lambda one: one[1] == USUAL), ids=str)
def test_axe_finds_nothing_in_a_nugget_with_everything_open(visit: Visitor, place: int, address: str) -> None:
    begun = visit(bypass_csp=True)
    page = begun.open(address)
    begun.wake(page)
    assert complaints(page, [VIEWS[place % 2]]) == []  # one of the two views each: axe is slow


@pytest.mark.parametrize("every", few([False, True]), ids=["each page", "every look"])
def test_axe_finds_nothing_on_any_other_page(
    visit: Visitor, live_school: Any, clinic_rows: Path, monkeypatch: pytest.MonkeyPatch, every: bool
) -> None:
    """The tour has to lead everywhere. Each page is seen by day or at night; the sweep sees every look both ways."""
    begun, found = visit(bypass_csp=True), []
    filled, fill = set(), Pages.made

    def noted(self: Pages, template: str, /, **values: Any) -> str:
        filled.add(template)
        return fill(self, template, **values)

    monkeypatch.setattr(Pages, "made", noted)
    with tour(live_school.app, clinic_rows) as stops:
        page = begun.open("/")  # one page that goes on: a new one costs more than axe does
        for place, stop in enumerate(one for one in stops if every or not one.again):
            go_to(begun, page, stop)
            views = [SHEET] if stop.media == "print" else VIEWS if every else [VIEWS[place % 2]]
            found += complaints(page, views, media=stop.media)
    assert found == []
    known = [route for router in all_routers() for route in router.routes if isinstance(route, APIRoute)]
    pages = {route.path for route in known if "GET" in route.methods}
    assert pages - {stop.route for stop in stops if stop.form is None} == NO_PAGES.keys()
    whole = {name for name in site_of(live_school.app).pages.templates.list_templates() if is_whole(name)}
    assert whole - filled <= {"landing.html", "nugget.html", "glossary.html"}, "what was filled in before"


def go_to(begun: Any, page: Page, stop: Stop) -> None:
    """Look at a page in the browser of whoever looks."""
    page.goto(f"{begun.url}/health")  # no script of the last page asks for anything in the name of the next person
    begun.become(stop.who)
    with pytest.MonkeyPatch.context() as patch:
        if stop.instead:
            patch.setattr(*stop.instead)
        if stop.form is None:
            answer = page.goto(begun.url + stop.address)
        else:
            form = {"csrf": stop.who.headers.get("x-csrf-token", ""), **stop.form}
            with page.expect_navigation() as navigation:
                page.evaluate(SEND, [stop.address, form])
            answer = navigation.value
    assert answer is not None
    assert answer.status == stop.status, f"{stop.address} answers {answer.status}"
    page.locator(stop.wait).first.wait_for()
    begun.wrong = [one for one in begun.wrong if f"status of {stop.status}" not in one]


def is_whole(template: str) -> bool:
    """Whether a template is a page, and no part of one."""
    return "{% extends" in (TEMPLATES / template).read_text(encoding="utf-8")


UNREACHED = """() => [...document.querySelectorAll('main :is(a, button, input, select, textarea, summary, [tabindex])')]
    .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ checkVisibilityCSS: true })
        && !(one.type === 'radio' && !one.checked) && !one.dataset.reached)
    .map((one) => one.outerHTML.slice(0, 160))"""


@pytest.mark.parametrize("route", few(["/classes/{class_id}", "/classes", "/join", "/uploads", "/write/{slug}"]))
def test_the_keyboard_reaches_all_that_can_be_used(
    visit: Visitor, live_school: Any, clinic_rows: Path, route: str
) -> None:
    begun = visit()
    with tour(live_school.app, clinic_rows) as stops:
        page = begun.open("/")
        for stop in (one for one in stops if one.form is None and one.route == route and one.status == 200):
            go_to(begun, page, stop)
            page.evaluate("addEventListener('focusin', ({ target }) => (target.dataset.reached = 'yes'))")
            for _ in range(300):
                page.keyboard.press("Tab")
                at = page.evaluate(FOCUSED)
                if at["body"]:
                    break
                if at["text"]:
                    page.locator(".cm-focused").wait_for()  # an editor says so a moment later
                    at = page.evaluate(FOCUSED)
                    page.keyboard.press("Escape")  # in an editor a tab is a letter
                assert at["shown"], at
                assert at["marked"], at
            assert page.evaluate(UNREACHED) == [], stop.address


@pytest.mark.parametrize("address", ["/", USUAL])
def test_the_keyboard_goes_everywhere_in_order_and_one_sees_where_it_is(visit: Visitor, address: str) -> None:
    begun = visit()
    page = begun.open(address)
    begun.wake(page)
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    seen = []
    for _ in range(200):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at["body"]:
            break
        assert at["shown"], at
        assert at["marked"], at
        seen.append(at)
    assert len(seen) > 20
    assert any(one["what"].startswith("<input") for one in seen)
    skip.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
