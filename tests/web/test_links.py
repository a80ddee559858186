"""Sources, tools and vendors are links that say so; words of the glossary open in place, and never in titles."""

from __future__ import annotations

import html
import re

import pytest
from school_site import FRONT, nuggets

from lapwing.web.school.glossary import Glossary
from lapwing.web.school.nugget import read
from lapwing.web.school.page import PROSE, page_of
from lapwing.web.school.sources import addresses, linked

EVERY = list(nuggets())
WITHOUT_ADDRESS = {
    "Alabama v. United States Department of Commerce",
    "Differential privacy: a primer for the perplexed",
    "Hype cycle for privacy",
    "Reconstruction-abetted re-identification attacks",
    "k",
}
"""Titles among the sources for which we know no address that lasts, and a letter that is no title."""
TITLE = re.compile(r"(<a class=\"elsewhere\"[^>]*>)?<em>(.*?)</em>", re.DOTALL)


def shown(body: str) -> str:
    glossary = Glossary.read("epsilon: {short: How much odds change.}")
    return "".join(screen.html for screen in page_of(read(FRONT + body), glossary).screens)


def sources(page) -> str:
    last = "".join(screen.html for screen in page.screens)
    return last.partition("<strong>Sources.</strong>")[2].partition("</p>")[0]


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.nugget.slug)
def test_every_title_among_the_sources_is_a_link(page) -> None:
    text = sources(page)
    titles = [(link, " ".join(html.unescape(title).split())) for link, title in TITLE.findall(text)]
    assert [title for link, title in titles if not link and title not in WITHOUT_ADDRESS] == []
    assert 'class="term"' not in text


@pytest.mark.parametrize(("slug", "fewest"), [("tools", 12), ("vendors", 9)])
def test_tools_and_vendors_are_links(slug: str, fewest: int) -> None:
    cells = "".join(screen.html for screen in nuggets().pages[slug].screens)
    linked_names = re.findall(r'<td><a class="elsewhere"[^>]*href="(https://[^"]+)"', cells)
    assert len(linked_names) >= fewest
    assert set(linked_names) <= set(addresses("products").values())


def test_a_link_that_leads_elsewhere_says_so_and_others_do_not() -> None:
    away, near = PROSE.html("[there](https://example.org/)"), PROSE.html("[here](/learn/tools)")
    assert 'target="_blank"' in away
    assert 'rel="noopener nofollow"' in away
    assert "(opens in a new tab)" in away
    assert "target" not in near
    assert "opens" not in near
    assert linked("AWS & <b>").count('class="elsewhere"') == 1
    assert "<b>" not in linked("AWS & <b>")


def test_what_only_says_that_a_link_leads_elsewhere_is_not_searched() -> None:
    assert not [one for one in nuggets().search("opens in a new tab") if "(opens in a new tab)" in one.page.words]


def test_nothing_is_underlined_in_titles_of_sections_tables_and_sources() -> None:
    table = "| epsilon | b |\n|---|---|\n| 1 | 2 |\n"
    assert "term" not in shown(f"## One {{serves=1}}\n\n### epsilon\n\n{table}\n\n**Sources.** *On epsilon* (2000).\n")
    assert 'class="term"' in shown("## One {serves=1}\n\nMore epsilon.\n")


def test_a_word_opens_in_place_and_its_explanation_leads_to_the_glossary() -> None:
    text = shown("## One {serves=1}\n\nMore epsilon.\n")
    target = re.search(r'<button[^>]*popovertarget="([^"]+)"', text)
    assert target is not None
    assert re.search(rf'<span[^>]*id="{target[1]}"', text)
    assert 'popover="auto"' in text
    assert 'href="/glossary#epsilon"' in text
