"""Every nugget in a real browser: widgets are moved, questions answered, exercises written, by keyboard."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from judging import stand_still, wanted
from playwright.sync_api import Locator, Page, expect
from school_site import nuggets
from sweeps import few

from lapwing.web.school.exercise import Exercise
from lapwing.web.school.judge import judged

SLUGS = list(nuggets().pages)
WITH_WIDGETS = [slug for slug, page in nuggets().pages.items() if page.widgets]
USUAL = "the-laplace-mechanism"
"""A nugget with all that nuggets have: formulas, a widget, questions and an exercise that is audited."""
EXERCISES = [(slug, one) for slug, page in nuggets().pages.items() for one in page.exercises if one.code]
HANDLES = ":is(input, select, button):not(:disabled, .below button)"
NONSENSE = ["0", "-1", "1e9", "0.37", "NaN", "<script>alert(1)</script>"]
PATIENCE = 90_000
Visitor = Callable[..., Any]

SEEN = """async (widget) => {
    await widget.updateComplete;
    const part = (name) => widget.shadowRoot.querySelector(name);
    return [part('.seen').innerText, part('.picture').innerHTML, part('.below table').textContent];
}"""
STATE = "(widget) => Object.fromEntries(Object.keys(widget.first).map((name) => [name, widget[name]]))"
SHOWN = """(widget) => {
    const all = [];
    const look = (root) => { for (const one of root.querySelectorAll('input, select, lw-epsilon')) {
        if (one.shadowRoot) look(one.shadowRoot);
        else all.push(['checkbox', 'radio'].includes(one.type) ? one.checked : one.value);
    } };
    look(widget.shadowRoot);
    return all;
}"""
MADE_OF_NONSENSE = """async (widget, nonsense) => {
    const place = widget.parentNode, wrong = [];
    const name = [...document.querySelectorAll(widget.localName)].indexOf(widget);
    const key = widget.localName.slice(3) + (name > 0 ? name + 1 : '');
    for (const property of Object.keys(widget.first)) for (const given of nonsense) {
        history.replaceState(null, '', `?${key}.${property}=${encodeURIComponent(given)}`);
        const copy = widget.cloneNode(true);
        widget.replaceWith(copy);
        await copy.updateComplete;
        const told = copy.shadowRoot.querySelector('.seen')?.innerText ?? '';
        const drawn = copy.shadowRoot.querySelector('.picture')?.innerHTML ?? '';
        const listed = copy.shadowRoot.querySelector('.below table')?.textContent ?? '';
        const bad = /NaN|Infinity|undefined|∞/;
        const named = typeof widget.first[property] === 'string' ? '' : told + listed;
        if (!told.trim() || bad.test(named) || /"[^"]*NaN[^"]*"/.test(drawn) || copy.shadowRoot.querySelector('script'))
            wrong.push(`${property}=${given}: ${told.slice(0, 200)}`);
        copy.replaceWith(widget);
    }
    history.replaceState(null, '', location.pathname);
    return wrong;
}"""


def test_limits_of_a_belief_are_rounded_to_where_they_stay_true_in_the_picture_and_in_the_table(visit: Visitor) -> None:
    for prior, low, high in (("0.5", 26.8, 73.2), ("0.75", 52.4, 89.1), ("0.25", 10.9, 47.6)):
        page = visit().read("the-adversarys-perspective", f"?posterior.prior={prior}")
        widget = page.locator("lw-posterior").first
        expect(widget.locator("svg")).to_contain_text(f"at least {low}\u00a0%")
        expect(widget.locator("svg")).to_contain_text(f"at most {high}\u00a0%")
        expect(widget.locator("lw-epsilon p")).to_contain_text(f"can become at most {high}\u00a0% sure")
        told = widget.locator(".below table").text_content() or ""
        assert f"{100 * float(prior):.0f}\u00a0%{low}\u00a0%{high}\u00a0%" in "".join(told.split("\n")).replace(" ", "")


def test_no_share_of_a_widget_is_rounded_to_more_than_can_be(visit: Visitor) -> None:
    page = visit().open("/learn/the-shuffle-model?find-one.epsilon=10")
    widget = page.locator("lw-find-one").first
    widget.scroll_into_view_if_needed()
    expect(widget.locator(".seen")).to_contain_text("right in 99.995\u00a0% of all batches")
    page = visit().open("/learn/real-world-applications?sketches.epsilon=0.01")
    widget = page.locator("lw-sketches").first
    widget.scroll_into_view_if_needed()
    expect(widget.locator(".seen")).to_contain_text("Even an emoji that everybody uses looks like one")


def test_the_scale_of_epsilon_has_a_number_at_every_tick(visit: Visitor) -> None:
    page = visit().read("the-adversarys-perspective")
    slider = page.locator("lw-epsilon").first
    ticks = slider.locator("datalist option").evaluate_all("all => all.map((one) => [Number(one.value), one.label])")
    assert ticks == [[0, "0.01"], [20, "0.1"], [40, "1"], [60, "10"]]
    assert slider.locator(".scale span").all_inner_texts() == [label for _, label in ticks]


@pytest.mark.parametrize("slug", few(WITH_WIDGETS, lambda slug: slug == USUAL))
def test_every_handle_of_every_widget_moves_something_by_keyboard_and_its_link_leads_back(
    visit: Visitor, slug: str
) -> None:
    begun = visit()
    begun.context.add_init_script("window.print = () => { window.printed = true; }")
    page = begun.read(slug)
    for widget in page.locator(".widget").all():
        first, shown = widget.evaluate(SEEN), widget.evaluate(SHOWN)
        assert all(part.strip() for part in first)
        begins, changed = widget.evaluate(STATE), [False, False, False]
        for place in range(widget.locator(HANDLES).count()):
            handle = widget.locator(HANDLES).nth(place)
            before, name = widget.evaluate(SEEN), handle.evaluate("one => one.outerHTML.slice(0, 160)")
            move(page, handle)
            after = widget.evaluate(SEEN)
            changed = [was or old != new for was, old, new in zip(changed, before, after, strict=True)]
            moved = after != before or widget.evaluate(SHOWN) != shown or page.evaluate("window.printed")
            assert moved, f"nothing happens: {name}"
            widget.get_by_role("button", name="Start again").press("Enter")
            assert widget.evaluate(STATE) == begins
            assert widget.evaluate(SHOWN) == shown, name
        assert changed[0], "the sentence never changes"
        assert changed[1] or changed[2], "neither the picture nor the table ever changes"
        widget.get_by_text("As a table").press("Enter")
        expect(widget.locator(".below table")).to_be_visible()
    for place in range(page.locator(".widget").count()):
        the_link_to_a_state_leads_back_to_it(begun, page, place)


def the_link_to_a_state_leads_back_to_it(begun: Any, page: Page, place: int) -> None:
    widget = page.locator(".widget").nth(place)
    for kind in ("select", "input[type=checkbox]:not(:disabled)", "input[type=range]"):
        for handle in widget.locator(kind).all():
            move(page, handle)
    state, shown = widget.evaluate(STATE), widget.evaluate(SHOWN)
    widget.get_by_role("link", name="Link to this state").press("Enter")
    page.wait_for_url(lambda url: "?" in url)
    begun.wake(page)
    again = page.locator(".widget").nth(place)
    assert again.evaluate(STATE) == state
    assert again.evaluate(SHOWN) == shown
    assert again.evaluate(MADE_OF_NONSENSE, NONSENSE) == [], "nonsense in a link is believed"


def move(page: Page, handle: Locator) -> None:
    """As somebody without a mouse does it."""
    kind = handle.evaluate("one => one.localName === 'input' ? one.type : one.localName")
    if kind == "select":
        last = handle.evaluate("one => one.selectedIndex === one.options.length - 1")
        handle.press("ArrowUp" if last else "ArrowDown")
    elif kind == "range":
        most = handle.evaluate("one => one.value === one.max")
        for key in ("Left", "Left", "Left") if most else ("Right", "Right", "Right"):
            handle.press(f"Arrow{key}")
    elif kind == "number":
        handle.press("ControlOrMeta+a")
        page.keyboard.type("3")
        page.keyboard.press("Enter")
    elif kind == "text":
        handle.press("End")
        page.keyboard.type("x")
    elif kind == "radio":
        handle.press("ArrowDown" if handle.is_checked() else "Space")
    else:
        handle.press("Space")


@pytest.mark.parametrize("slug", few(SLUGS, lambda slug: slug == USUAL))
def test_every_answer_of_every_question_gets_its_feedback(visit: Visitor, slug: str) -> None:
    page = visit().open(f"/learn/{slug}")
    questions = nuggets().pages[slug].questions
    assert page.locator("form.question").count() == len(questions) >= 3
    for number, question in enumerate(questions, start=1):
        form = page.locator(f"form.question[data-question='{number}']")
        expect(form.locator(".feedback:visible")).to_have_count(0)
        for place, option in enumerate(question.options):
            form.locator("input").nth(place).press("Space")
            told = form.locator(".feedback").nth(place)
            expect(told).to_be_hidden()  # one answers, then checks
            form.get_by_role("button", name="Check").click()
            expect(told).to_be_visible()
            assert told.inner_text().startswith("Right." if option.right else "Not quite.")
        shown = form.locator(".feedback:visible").count()
        assert shown == (len(question.options) if question.several else 1)


JUDGED = """async ([wanted, still]) => {
    const place = document.querySelector('[data-python]').dataset;
    const worker = new Worker(place.python, { type: 'module' });
    const judged = (one) => new Promise((done, failed) => {
        worker.onmessage = ({ data: { kind, ...told } }) => { if (kind === 'done') done(told); };
        worker.onerror = failed;
        worker.postMessage(one);
    });
    const all = [];
    for (const [slug, id, code] of wanted) {
        const page = new DOMParser().parseFromString(await (await fetch(`/learn/${slug}`)).text(), 'text/html');
        const { checks, audit } = JSON.parse(page.querySelector(`#exercise-${id} lw-exercise`).dataset.exercise);
        const { pyodide, lapwing } = place;
        all.push(await judged({ what: 'check', pyodide, lapwing, code, checks: still + checks, audit }));
    }
    worker.terminate();
    return all;
}"""
STILL = "import time as _time; _time.monotonic = lambda: 0.0\n"
"""A clock that stands still: no audit is cut short because a machine is slow."""


def in_the_browser(visit: Visitor, wanted: list[list[str]]) -> Any:
    """What the judge says there. All in one Python, which takes longer to start than to run."""
    return visit().open(f"/learn/{USUAL}").evaluate(JUDGED, [wanted, STILL])


def test_the_browser_judges_as_we_do(visit: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """One exercise that is audited, solved, and one that is only checked, not solved, to the last word."""
    stand_still(monkeypatch)
    by_id = {one.id: (slug, one) for slug, one in EXERCISES}
    audited, checked = by_id["laplace-count"], by_id["ten-sensitivities"]
    programs = [(*audited, audited[1].solution), (*checked, checked[1].starter)]
    found = in_the_browser(visit, [[slug, one.id, code] for slug, one, code in programs])
    assert [one["passed"] for one in found] == [True, False]
    assert found == [json.loads(judged(wanted(one, code))) for _, one, code in programs]


@pytest.mark.sweep
def test_the_solutions_of_all_exercises_pass_in_the_browser_too(visit: Visitor) -> None:
    found = in_the_browser(visit, [[slug, one.id, one.solution] for slug, one in EXERCISES])
    assert len(found) > 10
    told = dict(zip([one.id for _, one in EXERCISES], found, strict=True))
    assert not {name: one["lines"] for name, one in told.items() if not one["passed"]}


def test_an_exercise_is_written_and_checked_by_keyboard_mistakes_are_told_and_a_loop_is_stopped(visit: Visitor) -> None:
    """All in one page: Python takes longer to start than to run."""
    slug, exercise = next((slug, one) for slug, one in EXERCISES if one.id == "ten-sensitivities")
    page = visit().open(f"/learn/{slug}")
    element = begin_while_python_loads(page, exercise)
    pictures_are_drawn(page, element)
    write(page, element, exercise.starter)
    element.get_by_role("button", name="Check it").press("Enter")
    expect(element.locator(".said .wrong")).to_be_visible(timeout=PATIENCE)
    write(page, element, exercise.solution)
    element.get_by_role("button", name="Check it").press("Enter")
    expect(element.locator(".said .right")).to_be_visible(timeout=PATIENCE)
    for code, what, line in (
        ("x = 1\ny = = 2\n", "Check it", "Line 2: "),
        ("x = 1\n\nprint(nothing)\n", "Run", "Line 3: NameError"),
        ("print('heard')\n", "Run", "heard"),
    ):
        write(page, element, code)
        element.get_by_role("button", name=what).press("Enter")
        expect(element.locator(".said :is(.wrong, .out)")).to_contain_text(line, timeout=PATIENCE)
    write(page, element, "while True:\n    pass\n")
    element.get_by_role("button", name="Run").press("Enter")
    expect(element.locator(".said")).to_contain_text("Running", timeout=PATIENCE)
    element.get_by_role("button", name="Stop").press("Enter")
    expect(element.locator(".said .wrong")).to_contain_text("Stopped.")
    expect(element.get_by_role("button", name="Run")).to_be_focused()
    expect(element.get_by_role("button", name="Stop")).to_be_disabled()
    element.get_by_role("button", name="Run").press("Enter")
    expect(element.locator(".said")).to_contain_text("Running", timeout=PATIENCE)
    element.get_by_role("button", name="Start again").press("Enter")
    expect(element.locator(".said")).to_be_empty()
    expect(element.get_by_role("button", name="Stop")).to_be_disabled()
    expect(element.locator(".cm-content")).to_contain_text("visits_added = 1")
    write(page, element, "print('alive')\n")
    element.get_by_role("button", name="Run").press("Enter")
    expect(element.locator(".said .out")).to_have_text("alive\n", timeout=PATIENCE)


FORGED = """import plot
plot._pictures.append('{"kind": "bars", "names": ["<img src=x>"], "heights": ["<b>", 2], "title": "<i>"}')
plot._pictures.append('no JSON')
"""


def begin_while_python_loads(page: Page, exercise: Exercise) -> Locator:
    """The editor and Python come when somebody wants to write, not before; how far they are is shown."""
    came: list[str] = []
    page.on("requestfinished", lambda request: came.append(request.url))
    page.evaluate(
        """() => { window.shares = new Set(); new MutationObserver(() => {
            const bar = document.querySelector('lw-exercise .loading:not([hidden]) progress');
            if (bar) window.shares.add(bar.value);
        }).observe(document.body, { subtree: true, attributes: true }); }"""
    )
    assert not page.evaluate("performance.getEntriesByType('resource').filter(one => /editor-|pyodide/.test(one.name))")
    with page.expect_response("**/*.wasm", timeout=PATIENCE):
        element = begin(page, exercise)
    expect(element.locator(".said")).to_be_empty()
    assert any("editor-" in url for url in came)
    return element


def pictures_are_drawn(page: Page, element: Locator) -> None:
    """Those of a program, and what somebody forged as text."""
    write(page, element, "import plot\nplot.histogram([1, 2, 2])\n")
    element.get_by_role("button", name="Run").press("Enter")
    expect(element.get_by_role("img")).to_have_accessible_name("How often which value came out", timeout=PATIENCE)
    shares = page.evaluate("[...window.shares]")
    assert len(shares) > 1
    assert all(0 <= share < 1 for share in shares)
    element.get_by_text("As a table").press("Enter")
    expect(element.locator("lw-plot tbody tr").nth(1)).to_have_text("1.52.52")
    expect(element.locator(".loading")).to_be_hidden()
    write(page, element, FORGED)
    element.get_by_role("button", name="Run").press("Enter")
    expect(element.locator("lw-plot").nth(1)).to_contain_text("This picture cannot be drawn.")
    expect(element.locator("lw-plot").nth(0)).to_contain_text("<img src=x>")
    expect(element.locator("lw-plot :is(img, b, i)")).to_have_count(0)


@pytest.mark.sweep
def test_a_program_that_takes_too_long_is_stopped_and_the_next_one_runs(visit: Visitor) -> None:
    slug, exercise = next((slug, one) for slug, one in EXERCISES if one.id == "ten-sensitivities")
    page = visit().open(f"/learn/{slug}")
    element = begin(page, exercise)
    element.evaluate("one => { one.dataset.patience = 1; }")
    write(page, element, "while True:\n    pass\n")
    element.get_by_role("button", name="Run").press("Enter")
    expect(element.locator(".said .wrong")).to_contain_text("Stopped after 1 seconds", timeout=PATIENCE)
    write(page, element, "print('alive')\n")
    element.get_by_role("button", name="Run").press("Enter")
    expect(element.locator(".said .out")).to_have_text("alive\n", timeout=PATIENCE)


def begin(page: Page, exercise: Exercise) -> Locator:
    element = page.locator(f"#exercise-{exercise.id} lw-exercise")
    element.get_by_role("button", name="Write it here").press("Enter")
    expect(element.locator(".cm-content")).to_be_focused()
    return element


def write(page: Page, element: Locator, code: str) -> None:
    """All of it anew, as a paste."""
    content = element.locator(".cm-content")
    content.press("ControlOrMeta+a")
    content.evaluate(
        """(one, text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData('text/plain', text);
            one.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
        }""",
        code,
    )
