"""Whether a page is for everybody: what axe complains about, and what hangs over the edge of a small screen."""

from __future__ import annotations

import functools
from typing import Any

from browser import FRONTEND
from playwright.sync_api import Page

AXE = FRONTEND / "node_modules" / "axe-core" / "axe.min.js"
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 320, "height": 700}
OPEN_EVERYTHING = """() => {
    const open = (root) => { for (const one of root.querySelectorAll('*')) {
        if (one.localName === 'details') one.open = true;
        if (one.shadowRoot) open(one.shadowRoot);
    } };
    open(document);
}"""
COMPLAINTS = """async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.target} ${node.failureSummary}`));
}"""
OVERHANGING = """() => document.documentElement.scrollWidth > innerWidth
    ? [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
        .slice(0, 5).map((one) => one.outerHTML.slice(0, 160))
    : []"""
VIEWS = ((DESKTOP, "light"), (PHONE, "dark"))
SHEET = ({"width": 718, "height": 1000}, "light")
"""What a sheet of A4 has between its margins."""


@functools.cache
def _axe() -> str:
    assert AXE.exists(), "run make assets"
    return AXE.read_text(encoding="utf-8")


def complaints(page: Page, views: Any = VIEWS, media: str = "screen") -> list[str]:
    """Of axe, about a page on a desk by day and on a phone at night; and whether anything hangs over on a phone."""
    page.evaluate(OPEN_EVERYTHING)
    page.evaluate(_axe())
    found: list[str] = []
    for size, scheme in views:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme, media=media)  # type: ignore[arg-type]
        found += [f"{page.url} {size['width']} {scheme} {one}" for one in page.evaluate(COMPLAINTS)]
    page.set_viewport_size(PHONE if media == "screen" else SHEET[0])  # type: ignore[arg-type]
    return found + [f"{page.url} overhangs: {one}" for one in page.evaluate(OVERHANGING)]
