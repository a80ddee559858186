"""Pages for everybody: axe has no complaints, the keyboard suffices, nothing hides beside a small screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from axe import VIEWS, complaints
from fastapi.routing import APIRoute
from playwright.sync_api import expect
from school_site import nuggets, visit_as
from sweeps import few

from lapwing.web.routes import all_routers

NUGGETS = [f"/learn/{slug}" for slug in nuggets().pages]
USUAL = "/learn/the-laplace-mechanism"
"""A nugget with all that nuggets have: formulas, a widget, questions and an exercise that is audited."""
Visitor = Callable[..., Any]

FOCUSED = """() => {
    let one = document.activeElement;
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    const { top, bottom, left, width } = one.getBoundingClientRect(), style = getComputedStyle(one);
    return { what: one.outerHTML.slice(0, 120), body: one === document.body, y: top + scrollY,
             shown: bottom > 0 && top < innerHeight && left >= 0 && width > 0,
             marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 };
}"""


@pytest.mark.parametrize(("place", "address"), few(enumerate(NUGGETS), lambda one: one[1] == USUAL), ids=str)
def test_axe_finds_nothing_in_a_nugget_with_everything_open(visit: Visitor, place: int, address: str) -> None:
    begun = visit(bypass_csp=True)
    page = begun.open(address)
    begun.wake(page)
    assert complaints(page, [VIEWS[place % 2]]) == []  # one of the two views each: axe is slow


@pytest.mark.parametrize(("who", "views"), few([("nobody", 1), ("admin", 1), ("nobody", 2), ("admin", 2)], stays=2))
def test_axe_finds_nothing_on_any_other_page(visit: Visitor, live_school: Any, who: str, views: int) -> None:
    """With one view each, pages take turns, and an admin looks at those only that nobody else sees."""
    begun = visit(bypass_csp=True)
    client = visit_as(live_school.app, who)
    secure = live_school.url.replace("http:", "https:")  # browsers trust this machine like https
    for name, value in client.cookies.items():
        begun.context.add_cookies([{"name": name, "value": value, "url": secure, "secure": True}])
    known = pages_of(visit_as(live_school.app, "nobody")) if who == "admin" and views == 1 else []
    found: list[str] = []
    page = begun.open("/nothing", status=404)  # one page that goes on: a new one costs more than axe does
    found += complaints(page)
    for place, address in enumerate(one for one in pages_of(client) if one not in known):
        assert page.goto(begun.url + address).status == 200
        found += complaints(page, VIEWS if views == 2 else [VIEWS[place % 2]])
    assert found == []


def pages_of(client: Any) -> list[str]:
    """All addresses without a blank to fill in at which this browser finds a page."""
    known = [route for router in all_routers() for route in router.routes if isinstance(route, APIRoute)]
    found = []
    for address in sorted({route.path for route in known if "GET" in route.methods}):
        if "{" not in address:
            answer = client.get(address, headers={"accept": "text/html"})
            if answer.status_code == 200 and answer.headers["content-type"].startswith("text/html"):
                found.append(address)
    assert len(found) >= 4
    return found


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
