"""The lab in a real browser: from the clinic to a label, by keyboard too, on a desk by day and on a phone at night."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect
from school_site import site_of

from lapwing.web.accounts.sessions import cookie_name
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.bundled import EXAMPLES, Example
from lapwing.web.lab.owners import COOKIE, new_owner
from lapwing.web.lab.statement import DATASET

Visitor = Callable[..., Any]
CLINIC = EXAMPLES["clinic"]
PHONE = {"width": 360, "height": 740}


def brought(begun: Any, live_school: Any, stated: bool = True, example: Example = CLINIC, **changes: Any) -> Bench:
    """The clinic or another of our tables, stated unless said, for this browser."""
    site, owner = site_of(live_school.app), new_owner()
    bench = site.lab.bring(owner, example.title)
    example.write(bench.path)
    bench.columns = example.taken.columns
    if stated:
        bench.state(replace(example.statement, **changes))
    secure = live_school.url.replace("http:", "https:")  # browsers trust this machine like https
    cookie = {"name": cookie_name(site.settings, COOKIE), "value": owner, "url": secure, "secure": True}
    begun.context.add_cookies([cookie])
    return bench


def asking(begun: Any, bench: Bench, question: str = "mean") -> Page:
    """The asking page, ready to be used."""
    page: Page = begun.open(f"/lab/{bench.id}/ask/{question}")
    expect(page.locator("lw-handles .seen")).to_contain_text("With ε")
    return page


def number(page: Page, selector: str) -> float:
    return float(page.locator(selector).input_value())


def test_from_the_clinic_by_a_slider_to_a_release_a_label_and_a_file(
    visit: Visitor, live_school: Any, tmp_path: Path
) -> None:
    begun = visit()
    bench = brought(begun, live_school)
    page = asking(begun, bench)
    epsilon, error = number(page, "lw-epsilon .typed"), number(page, "lw-handles .accuracy .typed")
    slide = page.locator("lw-epsilon").get_by_role("slider")
    slide.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert number(page, "lw-epsilon .typed") > epsilon
    finer = number(page, "lw-handles .accuracy .typed")
    assert finer < error
    page.locator("lw-handles #accuracy").focus()
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    assert number(page, "lw-handles .accuracy .typed") > finer
    assert number(page, "lw-epsilon .typed") < epsilon
    page.locator("lw-epsilon .typed").fill("0.5")
    page.keyboard.press("Tab")
    expect(page.locator("lw-handles .seen")).to_contain_text(
        "With ε = 0.5, the possible error of mean of age over one row of each patient is at most 0.5 (noise only)"
    )
    expect(page.locator("lw-meter p")).to_contain_text("This question: 0.5. Left after it: 2.5 of")
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/answers/**")
    expect(page.locator("lw-answer .seen")).to_contain_text("Mean of age over one row of each patient is about 4")
    expect(page.locator("lw-answer .seen")).to_contain_text("The exact answer is 48.8293")
    expect(page.locator("lw-answer .mark")).to_have_text("teaching mode: not private, not kept")
    label = page.get_by_label("Privacy label")
    expect(label).to_contain_text("one patient")
    expect(label).to_contain_text("63 % sure")
    expect(label).to_contain_text("2.5 of 3")
    with page.expect_download() as file:
        page.get_by_role("link", name="CSV").click()
    file.value.save_as(tmp_path / "answer.csv")
    [value] = bench.answers[0].result.series[0].values
    assert repr(value.value) in (tmp_path / "answer.csv").read_text(encoding="utf-8")
    assert float(bench.spent.epsilon) == 0.5  # type: ignore[attr-defined]


def test_outside_teaching_mode_the_exact_side_is_an_explained_empty_place(visit: Visitor, live_school: Any) -> None:
    begun = visit(viewport=PHONE)
    bench = brought(begun, live_school, teaching=False, epsilon=1.0)
    page = asking(begun, bench, "count")
    heard: list[str] = []
    page.on("response", lambda answer: heard.append(answer.url))
    page.locator("lw-epsilon .typed").fill("0.9")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/answers/**")
    expect(page.locator("lw-answer .seen")).to_contain_text("Count over one row of each patient is about")
    expect(page.get_by_text("The exact answer is not shown")).to_be_visible()
    expect(page.locator("lw-attacks .seen")).to_contain_text("an attacker can be right at most 72 times out of 100")
    expect(page.get_by_role("button", name=re.compile("Attack|Draw"))).to_have_count(0)
    assert not [url for url in heard if "/show/" in url]
    page.get_by_role("link", name="Ask something else").click()
    page.locator("lw-epsilon .typed").fill("0.5")
    page.keyboard.press("Tab")
    expect(page.locator("lw-handles .seen")).to_contain_text("more than is left. You can still spend 0.1, for an error")
    expect(page.get_by_role("button", name="Release")).to_be_disabled()
    page.get_by_role("button", name="Take 0.1").click()
    expect(page.get_by_role("button", name="Release")).to_be_enabled()


def test_error_bars_are_about_the_numbers_before_noise_not_about_rows_that_limits_leave_out(
    visit: Visitor, live_school: Any
) -> None:
    """With one row of each caller, every exact count is far outside of its error bar, and none of them should be in."""
    begun = visit()
    bench = brought(begun, live_school, example=EXAMPLES["helpline"], max_rows_per_unit=1)
    page = asking(begun, bench, "groups?by=town")
    page.locator("lw-epsilon .typed").fill("2.9")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/answers/**")
    expect(page.locator("lw-answer .legend")).to_contain_text("95 % interval for the answer before noise")
    said = page.locator("lw-answer .seen")
    expect(said).to_contain_text("numbers with limits, before noise, lie within the error bars")
    expect(said).to_contain_text("Those with limits are of another random sample of rows.")
    header = "Exact, after limits and bounds (of another random sample of rows)"
    expect(page.locator("lw-answer th", has_text=header)).to_be_visible()
    found = re.match(r"(\d+) of (\d+) ", said.inner_text())
    assert found is not None
    held, of = map(int, found.groups())
    assert held > 2, "all others of twelve outside by chance: less than once in a million"
    values = [value for series in bench.answers[0].result.series for value in series.values]
    assert of == len(values)


def test_another_column_is_priced_at_once_and_nonsense_is_explained(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    bench = brought(begun, live_school)
    page = asking(begun, bench)
    page.locator("select[name=column]").select_option("cost")
    expect(page.locator("lw-handles .seen")).to_contain_text(
        "the possible error of mean of cost over one row of each patient is"
    )
    page.get_by_text("Only some rows").click()
    key, low = page.locator("#question input[name=equals]"), page.locator("#question input[name=low]")
    expect(key).to_be_hidden()
    page.get_by_label("Only rows where").select_option("age")
    expect(low).to_be_visible()
    expect(key).to_be_hidden()
    page.get_by_label("Only rows where").select_option("region")
    expect(low).to_be_hidden()
    expect(page.locator("#wrong")).to_contain_text("Write one of North")
    expect(page.locator("lw-handles .seen")).to_contain_text("This question cannot be asked as it stands")
    expect(page.locator("lw-handles .accuracy")).to_be_hidden()
    page.get_by_role("button", name="Release").click()
    expect(page.locator("#waiting")).to_contain_text(re.compile("Nothing was released.*Write one of North"))
    assert not bench.answers
    page.locator("#question input[name=equals]").fill("North")
    page.keyboard.press("Tab")
    expect(page.locator("#wrong")).to_be_hidden()
    expect(page.locator("lw-handles .seen")).to_contain_text(
        "of mean of cost over one row of each patient, among 3,000 rows, is"
    )
    expect(page.locator("lw-handles .seen")).to_contain_text("Fewer rows match the condition, so it will be larger.")
    page.get_by_label("About how many rows match").fill("400")
    page.keyboard.press("Tab")
    expect(page.locator("lw-handles .seen")).to_contain_text("over one row of each patient, among 400 rows, is")
    expect(page.locator("lw-handles .seen")).not_to_contain_text("Fewer rows")
    expect(page).to_have_url(re.compile("equals=North"))
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/answers/**")
    assert bench.answers[0].asked["equals"] == "North"
    assert bench.answers[0].asked["column"] == "cost"


@pytest.mark.parametrize(
    ("slug", "field", "text"),
    [
        ("histogram", "edges", "0, 30, 60, 100"),
        ("sql", "sql", "SELECT region, COUNT(*) AS people FROM patients GROUP BY region"),
    ],
)
def test_the_first_click_on_release_after_typing_releases_what_was_typed(
    visit: Visitor, live_school: Any, slug: str, field: str, text: str
) -> None:
    begun = visit(viewport={"width": 1280, "height": 2400})
    bench = brought(begun, live_school)
    page = asking(begun, bench, slug)
    if slug == "histogram":
        page.locator("select[name=column]").select_option("age")
    place = page.locator(f"#question [name={field}]")
    place.click()
    place.fill(text)
    box = page.locator("#go").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()  # this takes the focus from what was typed, and a new price is asked for
    page.mouse.up()
    page.wait_for_url("**/answers/**")
    [answer] = bench.answers
    assert answer.asked[field] == text


def test_what_a_forecast_is_based_on_follows_the_question(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    page = asking(begun, brought(begun, live_school), "groups")
    page.get_by_text("What this is based on").click()
    expect(page.locator("#based-on")).to_contain_text("Rows whose region is not a key that you stated")
    page.locator("select[name=by]").select_option("smoker")
    expect(page.locator("#based-on")).not_to_contain_text("region")
    expect(page.locator("#based-on")).to_contain_text("Protected: whether one patient is in the table.")


def test_an_epsilon_that_the_slider_does_not_have_is_refused_in_words(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    page = asking(begun, brought(begun, live_school))
    typed, alert = page.locator("lw-epsilon .typed"), page.locator("lw-epsilon").get_by_role("alert")
    before = typed.input_value()
    for given in ("-1", "50"):
        typed.fill(given)
        page.keyboard.press("Tab")
        expect(alert).to_have_text(f"ε must be a number from 0.01 to 10, so it is still {before}.")
        expect(typed).to_have_value(before)
    typed.fill("0.5")
    page.keyboard.press("Tab")
    expect(alert).to_have_count(0)


def test_a_price_follows_what_is_typed(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    page = asking(begun, brought(begun, live_school), "histogram")
    page.locator("#question [name=edges]").press_sequentially("x")
    expect(page.locator("#wrong")).to_be_visible()  # nothing else was clicked or left


def test_an_accuracy_that_cannot_be_reached_is_said_and_one_that_can_is_not_refused(
    visit: Visitor, live_school: Any
) -> None:
    """A typed 0.0001 stayed in the field, ε stayed as it was, and nothing was said; 0.5 was reached and refused."""
    begun = visit()
    bench = brought(begun, live_school, epsilon=5.0)
    page = asking(begun, bench)
    epsilon, error = number(page, "lw-epsilon .typed"), number(page, "lw-handles .accuracy .typed")
    field, words = page.locator("lw-handles .accuracy .typed"), page.locator("lw-handles .accuracy p")
    field.fill("0.0001")
    page.keyboard.press("Tab")
    expect(words).to_have_text(f"0.0001 is more accurate than this slider goes, so ε is still {epsilon:g}.")
    assert (number(page, "lw-handles .accuracy .typed"), number(page, "lw-epsilon .typed")) == (error, epsilon)
    field.fill("0")
    page.keyboard.press("Tab")
    expect(words).to_have_text("Write a number above 0.")
    field.fill("0.2")
    page.keyboard.press("Tab")
    expect(words).to_have_text("with 95 % confidence.")
    assert number(page, "lw-epsilon .typed") > epsilon
    page = asking(begun, bench, "count")
    page.locator("lw-handles .accuracy .typed").fill("0.5")
    page.keyboard.press("Tab")
    expect(page.locator("lw-handles .seen")).to_contain_text(
        "the possible error of count over one row of each patient is 0"
    )
    expect(page.locator("lw-handles .accuracy p")).to_have_text("with 95 % confidence.")


def test_the_handles_say_of_which_group_a_forecast_for_private_keys_is(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    keyless = tuple(replace(one, keys=()) for one in CLINIC.statement.columns)
    bench = brought(begun, live_school, columns=keyless, delta=1e-6)
    text = "SELECT region, COUNT(*) AS n, AVG(age) AS years FROM patients GROUP BY region"
    page: Page = begun.open(f"/lab/{bench.id}/ask/sql?{urlencode({'sql': text, 'epsilon': '1'})}")
    handles = page.locator("lw-handles")
    expect(handles.locator(".seen")).to_contain_text("the possible error of n over one row of each patient is at most")
    handles.get_by_label("Accuracy of").select_option(label="years")
    expect(handles).to_contain_text("With a larger ε, smaller groups are shown, too.")
    expect(handles.locator(".seen")).to_contain_text(
        re.compile(r"of years over one row of each patient, in the smallest group that is likely shown, is at most \d+")
    )
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/answers/**")
    expect(page.get_by_text("the forecast is for the smallest group that is likely shown")).to_be_visible()


def test_without_scripts_a_plain_form_releases(visit: Visitor, live_school: Any) -> None:
    begun = visit(java_script_enabled=False)
    bench = brought(begun, live_school, teaching=False)
    page = begun.open(f"/lab/{bench.id}/ask/mean")
    expect(page.get_by_text("How far off at most, with 95 % confidence")).to_be_visible()
    page.get_by_label("Spend ε").fill("0.25")
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_label("Privacy label")).to_contain_text("0.25")
    expect(page.get_by_label("The answer as a table")).to_contain_text("mean of age")
    assert float(bench.spent.epsilon) == 0.25  # type: ignore[attr-defined]


def test_the_owner_checks_the_table_and_goes_to_the_column_that_does_not_fit(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    columns = tuple(replace(one, bounds=(0, 40)) if one.name == "age" else one for one in CLINIC.statement.columns)
    bench = brought(begun, live_school, teaching=True, columns=columns)
    page = begun.open(f"/lab/{bench.id}/check")
    page.get_by_role("button", name="Check the table").click()
    expect(page.get_by_text("lie outside 0 to 40")).to_be_visible()
    page.get_by_role("link", name="Change it").first.click()
    expect(page.locator("#column-2 [name=high-2]")).to_have_value("40")


def test_the_owner_looks_at_what_failed_and_reopens_the_table(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    bench = brought(begun, live_school, teaching=False)
    for said in ("Traceback\n  File\nOut of Memory Error: " + "unbroken" * 30, "This took longer than 900 seconds."):
        bench.ledger.trip([DATASET], said)
    page = begun.open(f"/lab/{bench.id}/ask/mean")
    page.get_by_role("link", name="see what failed").click()
    expect(page.get_by_role("heading", name="2 questions failed")).to_be_visible()
    page.get_by_label("I have looked.").check()
    page.get_by_role("button", name="Answer questions again").click()
    expect(page.get_by_text("Questions are answered again.")).to_be_visible()
    assert not bench.failed


def test_attacks_count_games_and_say_what_further_answers_cost(visit: Visitor, live_school: Any) -> None:
    begun = visit(viewport=PHONE)
    bench = brought(begun, live_school, epsilon=1.0)
    page = asking(begun, bench, "count")
    page.locator("lw-epsilon .typed").fill("0.4")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Release").click()
    page.wait_for_url("**/answers/**")
    attacks = page.locator("lw-attacks")
    expect(attacks.locator(".seen")).to_contain_text(
        "With 20 such answers, the proved limit is above 99 out of 100, which promises next to nothing. "
        "This answer is paid. The other 19 would cost ε = 7.6, more than is left of your budget."
    )
    attacks.get_by_role("button", name="Attack this answer").click()
    expect(attacks.locator(".seen")).to_contain_text(
        re.compile(r"With 20 such answers, the attacker was right in \S+ of 8 games")
    )
    expect(attacks.locator(".seen")).not_to_contain_text("could be")
    attacks.get_by_text("As a table").click()
    rows = attacks.locator("details tbody tr")
    expect(rows.nth(0)).to_contain_text("paid")
    expect(rows.nth(1)).to_contain_text("Only the first answer depends on the patient, so the limit stays.")
    expect(rows.nth(1)).to_contain_text("0.4 more")
    expect(rows.nth(1)).not_to_contain_text("more than is left")
    expect(rows.nth(2)).to_contain_text("1.6 more, more than is left")
    expect(rows.nth(3).locator("td").last).to_have_text("over 99")
    box = rows.nth(0).locator("td").first.bounding_box()
    assert box is not None
    assert box["width"] > 150, "several words fit beside each other"
    draws = page.locator("lw-draws")
    draws.get_by_role("button", name="Draw 100 times").click()
    draws.get_by_text("As a table").click()
    expect(draws.locator("tbody tr").first).to_be_visible()
    cells = [text.replace(",", "") for text in draws.locator("tbody td").all_inner_texts()]
    assert all(text.isdecimal() for text in cells), "counts are whole"


def test_a_reason_for_a_type_goes_with_the_type(visit: Visitor, live_school: Any) -> None:
    begun = visit()
    bench = brought(begun, live_school, stated=False)
    page = begun.open(f"/lab/{bench.id}")
    first = page.locator("li.column").filter(has=page.locator(".why.guess")).first
    name = first.locator("strong").inner_text()
    line = page.locator("li.column").filter(has=page.locator("strong", has_text=name)).first
    line.locator(".kind select").select_option("date")
    expect(line.locator(".why.guess")).to_have_count(0)
