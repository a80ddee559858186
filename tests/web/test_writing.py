"""An author at the desk, and a reviewer, in a real browser."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page, expect
from school_site import PASSWORD, account, browser_of, site_of

from lapwing.web.authoring import publication
from lapwing.web.authoring.store import nuggets

PHONE = {"width": 360, "height": 740}
Visitor = Callable[..., Any]
_COUNT = iter(range(1000))


@pytest.fixture(autouse=True)
def as_it_was(live_school: Any) -> Iterator[None]:
    """Nothing that is published here stays."""
    yield
    site = site_of(live_school.app)
    with site.database.writing() as db:
        for draft in nuggets.listed(db):
            nuggets.remove(db, draft.slug)
    publication.refresh(site)


def enter(live_school: Any, browser: Any, role: str = "learner") -> tuple[Page, str]:
    """A page of somebody new who signed in."""
    name = f"Author {chr(65 + next(_COUNT))}{role[0]}"
    browser.become(browser_of(live_school.app, account(live_school.app, name, role)))
    return browser.open("/account"), name


def begin(page: Page, browser: Any, title: str) -> str:
    """A new draft; gives its address."""
    page.goto(f"{browser.url}/write")
    page.get_by_label("Title", exact=True).fill(title)
    page.get_by_role("button", name="Begin").click()
    expect(page.locator(".cm-content")).to_be_visible()
    return page.url


def write_at_the_end(page: Page, text: str) -> None:
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text(text)


def insert(page: Page, name: str) -> None:
    page.locator("#insert").get_by_role("button", name=name, exact=True).click()


def format_by_keyboard(page: Page) -> None:
    """Buttons and shortcuts change the text, take it back when pressed again, and can be undone."""
    end = "document.querySelector('#text').value.trimEnd().slice(-24)"
    write_at_the_end(page, "\nAlso a hedge")
    page.keyboard.press("Control+b")
    expect(page.locator("#format").get_by_role("button", name="Bold", pressed=True)).to_be_visible()
    assert page.evaluate(end).endswith("Also a **hedge**")
    page.keyboard.press("Control+b")
    page.keyboard.press("Control+z")
    assert page.evaluate(end).endswith("Also a **hedge**")
    page.keyboard.press("Alt+F10")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert page.evaluate(end).endswith("- Also a **hedge**")
    expect(page.locator("#format button[tabindex='0']")).to_have_text("List")
    expect(page.locator("#preview li strong", has_text="hedge")).to_be_visible()
    page.keyboard.press("Control+Shift+8")
    assert page.evaluate(end).endswith("\nAlso a **hedge**")


OWN_WORDS = (
    (r"Explain … in", "Explain it in"),
    (r"knows already, and", "knows, and"),
    (r"A first screen", "Spines"),
    (r"paragraphs, one thought each", "paragraphs"),
    (r"(?<=that )should stay", "stays"),
    (r"can do now", "can do"),
    (r"Which of these is true", "What do spines do"),
    (r"The wrong one\.", "They sing."),
    (r"The right one\.", "They keep foxes away."),
    (r"Say why.*", "Foxes have soft noses."),
    (r"How wide is the noise", "How wide are spines"),
    (r"What does a count cost", "What do spines cost"),
)


def finish(page: Page) -> None:
    """Replace what the template and the buttons put there."""
    text = str(page.evaluate("document.querySelector('#text').value"))
    for sample, own in OWN_WORDS:
        text = re.sub(sample, own, text)
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_have_text(re.compile("^Saved "))


def test_the_authors_path_from_a_title_to_a_nugget_that_everybody_reads(live_school: Any, visit: Visitor) -> None:
    desk, office, train = visit(), visit(), visit(viewport=PHONE)
    author, name = enter(live_school, desk)
    address = begin(author, desk, "Noise that hedgehogs like")
    expect(author.locator("#preview .shown-title")).to_have_text("Noise that hedgehogs like")

    write_at_the_end(author, "\n## Spines {serves=1}\n\nA **spiny** thought about epsilon and $x^2$.\n")
    expect(author.locator("#preview strong", has_text="spiny")).to_be_visible()
    format_by_keyboard(author)
    expect(author.locator("#preview .katex").last).to_be_attached()
    insert(author, "Graph")
    slider = author.locator("#preview lw-graph input[type=range]")
    expect(slider).to_be_visible()
    author.evaluate("window.before = document.querySelector('#preview lw-graph')")
    insert(author, "Quiz")
    expect(author.locator("#preview .question")).to_have_count(1)
    expect(author.locator("#fresh")).to_be_empty()
    assert author.evaluate("window.before === document.querySelector('#preview lw-graph')"), "what did not change stays"
    insert(author, "Data")
    expect(author.locator("#preview lw-data .sort").first).to_be_visible()

    write_at_the_end(author, "\n```quiz\n- ask: half a question\n```\n")
    wrong = author.locator("#complaints li", has_text="A question needs ask and options")
    expect(wrong).to_be_visible()
    wrong.get_by_role("button").click()
    expect(author.locator(".cm-activeLine")).to_have_text("```quiz")
    for _ in range(3):
        author.keyboard.press("Shift+Control+K")
    expect(wrong).to_have_count(0)

    author.locator("#front > summary").click()
    author.get_by_label("Words it adds").fill("spiny (spines): Made to keep foxes away.")
    expect(author.locator("#preview .tip", has_text="Made to keep foxes away.").first).to_be_attached()
    author.get_by_label("Its place in the course").select_option("at the beginning")
    expect(author.locator(".cm-content")).to_contain_text("after: the-beginning")
    author.get_by_label("Summary for its tile").fill("What a hedgehog knows about privacy.")
    expect(author.locator("#preview .lead")).to_have_text("What a hedgehog knows about privacy.")
    expect(author.locator(".cm-content")).to_contain_text("summary: What a hedgehog knows")
    saved(author)
    author.get_by_role("button", name="Hand in for review").click()
    expect(author.locator(".complaint")).to_contain_text("words of your own")
    author.locator("#holes").get_by_role("link").last.click()
    finish(author)
    expect(author.locator("#holes")).to_be_empty()
    saved(author)
    author.get_by_role("button", name="Hand in for review").click()
    expect(author.locator(".notice:not(#restored)")).to_contain_text("Handed in")

    reviewer, _ = enter(live_school, office, "instructor")
    reviewer.goto(f"{office.url}/write")
    reviewer.get_by_role("link", name="Noise that hedgehogs like").click()
    expect(reviewer.locator(".facts-line").first).to_contain_text(name)
    reviewer.get_by_label("What should change").fill("Say where the spines come from.")
    reviewer.get_by_role("button", name="Return to the author").click()
    author.goto(address)
    expect(author.locator(".notice:not(#restored)")).to_contain_text("Say where the spines come from.")
    write_at_the_end(author, "\nSpines come from evolution.\n")
    saved(author)
    author.get_by_role("button", name="Hand in for review").click()
    reviewer.goto(address)
    expect(reviewer.locator("#preview")).to_contain_text("evolution")
    reviewer.get_by_role("button", name="Publish").click()
    reviewer.wait_for_url("**/learn/noise-that-hedgehogs-like")
    expect(reviewer.get_by_role("link", name="Edit", exact=True)).to_have_attribute("href", re.compile("/write/noise-"))
    author.goto(reviewer.url)
    author.get_by_role("link", name="Edit", exact=True).click()
    author.wait_for_url(address)

    reader = train.open("/")
    reader.get_by_role("searchbox", name="Search").fill("hedgehogs")
    reader.get_by_role("link", name="Noise that hedgehogs like").first.click()
    expect(reader.get_by_role("heading", level=1)).to_have_text("Noise that hedgehogs like")
    expect(reader.locator("#edit")).to_be_hidden()
    graph = reader.locator("lw-graph")
    graph.scroll_into_view_if_needed()
    before = graph.locator(".seen").inner_text()
    graph.locator("input[type=range]").focus()
    reader.keyboard.press("ArrowRight")
    expect(graph.locator(".seen")).not_to_have_text(before)
    reader.get_by_label("They keep foxes away.").check()
    reader.locator("form.question").last.get_by_role("button", name="Check").click()
    expect(reader.locator(".feedback", has_text="Foxes have soft noses.").last).to_be_visible()
    data = reader.locator("lw-data")
    data.scroll_into_view_if_needed()
    data.get_by_role("button", name="People").click()
    data.get_by_role("button", name="People").click()
    expect(data.locator(".picture tbody tr").first).to_contain_text("Bern")
    expect(data.locator("th[aria-sort=descending]")).to_contain_text("People")

    reviewer.goto(address)
    reviewer.get_by_role("button", name="Withdraw").click()
    expect(reviewer.locator(".notice:not(#restored)")).to_contain_text("Withdrawn")
    desk.wrong = [one for one in desk.wrong if "422" not in one]  # what was not finished


@pytest.mark.sweep
def test_two_tabs_end_with_both_texts(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    first, _ = enter(live_school, browser)
    address = begin(first, browser, "Written twice")
    second = browser.open(address.removeprefix(browser.url))
    expect(second.locator(".cm-content")).to_be_visible()
    write_at_the_end(first, "\nFrom the first tab.\n")
    saved(first)
    second.locator(".cm-content").click()
    second.keyboard.press("Control+Home")
    second.get_by_label("Markdown of the nugget").locator("text=Begin with what your reader").click()
    second.keyboard.press("End")
    second.keyboard.insert_text(" From the second tab.")
    expect(second.locator("#saved")).to_contain_text("saved elsewhere")
    second.get_by_role("button", name="Save", exact=True).click()
    expect(second.get_by_role("heading", level=1)).to_have_text("Somebody was faster")
    expect(second.get_by_text("do not overlap")).to_be_visible()
    second.get_by_role("button", name="Save both together").click()
    expect(second.locator("#preview")).to_contain_text("From the first tab.")
    expect(second.locator("#preview")).to_contain_text("From the second tab.")
    browser.wrong = [one for one in browser.wrong if "409" not in one]


def test_what_an_author_types_after_the_session_ended_comes_back(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    page, name = enter(live_school, browser)
    address = begin(page, browser, "Written for long")
    browser.context.clear_cookies()
    write_at_the_end(page, "\nTyped when nobody was signed in.\n")
    expect(page.locator("#saved")).to_contain_text("kept in this browser")
    page.locator("#saved").get_by_role("link", name="Sign in").click()
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main button.main").click()
    page.wait_for_url(address)
    expect(page.locator("#restored")).to_contain_text("restored from your browser")
    expect(page.locator("#preview")).to_contain_text("Typed when nobody was signed in.")
    saved(page)
    page.reload()
    expect(page.locator("#preview")).to_contain_text("Typed when nobody was signed in.")
    expect(page.locator("#restored")).to_be_hidden()
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('lapwing-draft'))") == []
    browser.wrong = [one for one in browser.wrong if "401" not in one]


def test_an_author_goes_on_in_the_same_tab_after_signing_in_in_another(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    page, name = enter(live_school, browser)
    begin(page, browser, "Two windows")
    browser.context.clear_cookies()
    other = browser.open("/account/sign-in")
    other.get_by_label("Name").fill(name)
    other.get_by_label("Password").fill(PASSWORD)
    other.locator("main button.main").click()
    other.wait_for_url("**/account")
    page.bring_to_front()
    write_at_the_end(page, "\nGoes on.\n")
    saved(page)
    browser.wrong = [one for one in browser.wrong if "403" not in one]


def test_a_picture_is_sent_from_the_desk_and_stands_in_the_text(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    page, _ = enter(live_school, browser)
    begin(page, browser, "With a picture")
    made = io.BytesIO()
    Image.new("RGB", (60, 40), "teal").save(made, "PNG")
    page.get_by_label("Picture to send").set_input_files(
        {"name": "square.png", "mimeType": "image/png", "buffer": made.getvalue()}
    )
    expect(page.locator("#insert + .said")).to_contain_text("The picture is there.")
    picture = page.locator("#preview img")
    expect(picture).to_have_attribute("src", re.compile(r"^/uploads/[0-9a-f]{64}\.png$"))
    page.wait_for_function("document.querySelector('#preview img').naturalWidth === 60")
    saved(page)


@pytest.mark.sweep
def test_all_of_it_works_without_scripts(live_school: Any, visit: Visitor) -> None:
    with_scripts = visit()
    enter(live_school, with_scripts)
    browser = visit(java_script_enabled=False, storage_state=with_scripts.context.storage_state())
    page = browser.open("/write")
    page.get_by_label("Title", exact=True).fill("By hand")
    page.get_by_role("button", name="Begin").click()
    text = page.get_by_label("Markdown")
    text.fill(text.input_value() + "\n## Typed {serves=1}\n\nBy **hand**.\n")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview p > strong")).to_have_text("hand")
    page.get_by_label("Summary for its tile").fill("Without scripts.")
    page.get_by_role("button", name="Put this into the text").click()
    expect(page.get_by_label("Markdown")).to_have_value(re.compile("summary: Without scripts."))
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".notice:not(#restored)")).to_have_text("Saved.")
    expect(page.locator("#preview .lead")).to_have_text("Without scripts.")
    page.get_by_role("link", name="Versions").click()
    page.get_by_role("link", name="2", exact=True).click()
    expect(page.locator(".difference .new").last).to_be_visible()


def test_a_program_of_an_author_reaches_nobody(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    page, _ = enter(live_school, browser)
    address = begin(page, browser, "A nosy program")
    nosy = (
        "```exercise\nid: nosy\ntitle: Nosy\ntask: x\nsolution: x\nstarter: |\n  import js\n"
        "  ways = ('fetch', 'XMLHttpRequest', 'WebSocket', 'Worker', 'indexedDB', 'caches', 'importScripts')\n"
        "  found = [way for way in (*ways, 'FontFace') if getattr(js, way, None) is not None]\n"
        "  found += [way for way in ('storageBuckets', 'storage') if getattr(js.navigator, way, None) is not None]\n"
        "  print('ways out:', found)\n```\n"
    )
    write_at_the_end(page, f"\n{nosy}")
    saved(page)
    page.goto(f"{address}/read")
    page.get_by_role("button", name="Write it here").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".said .out")).to_have_text("ways out: []\n", timeout=90_000)


def test_the_keyboard_leaves_the_editor(live_school: Any, visit: Visitor) -> None:
    browser = visit()
    page, _ = enter(live_school, browser)
    begin(page, browser, "By keyboard")
    expect(page.locator("#preview .shown-title")).to_have_text("By keyboard")  # its list of places is renewed with it
    page.locator(".cm-content").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.parentElement.closest('[id]').id") == "holes", "what is to be replaced"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "preview"
