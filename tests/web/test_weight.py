"""What a first visit costs: bytes over the wire with nothing in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Response
from school_site import nuggets
from sweeps import few

MOST = 300_000
HEAVY = ("editor-", "pyodide", "python-", "lapwing-")
Visitor = Callable[..., Any]


def weighed(page: Page) -> list[tuple[str, int]]:
    """What is loaded from now on, with its bytes as they were sent."""
    came: list[tuple[str, int]] = []

    def note(answer: Response) -> None:
        sizes = answer.request.sizes()
        came.append((answer.url, sizes["responseBodySize"] + sizes["responseHeadersSize"]))

    page.on("requestfinished", lambda request: note(request.response()))
    return came


@pytest.mark.parametrize("slug", few(nuggets().pages, lambda slug: slug == "the-laplace-mechanism"))
def test_a_nugget_read_to_its_end_weighs_less_than_a_picture(
    visit: Visitor, slug: str, record_property: Callable[[str, object], None]
) -> None:
    begun = visit()
    page = begun.context.new_page()
    came = weighed(page)
    page.goto(f"{begun.url}/learn/{slug}")
    begun.wake(page)
    page.wait_for_load_state("networkidle")
    record_property("interactive after ms", page.evaluate("Math.round(performance.now())"))
    record_property("bytes", sum(size for _, size in came))
    assert sum(size for _, size in came) < MOST, sorted(came, key=lambda one: -one[1])[:12]
    assert sum("/static/" in url for url, _ in came) >= 3
    assert not [url for url, _ in came if any(heavy in url for heavy in HEAVY)]


@pytest.mark.sweep
def test_the_landing_page_with_all_its_pictures_weighs_no_more(visit: Visitor) -> None:
    begun = visit()
    page = begun.context.new_page()
    came = weighed(page)
    page.goto(begun.url)
    page.wait_for_load_state("networkidle")
    assert sum(size for _, size in came) < MOST, sorted(came, key=lambda one: -one[1])[:12]
