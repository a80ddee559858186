"""Streams in the lab: paid once, closed by a clock that sees no row, for nobody else, and right."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cases import together
from clinic_bench import HELPLINE, brought, released
from fastapi import FastAPI
from fastapi.testclient import TestClient
from playwright.sync_api import expect
from school_site import PERSON, visitor

import lapwing as lw
from lapwing.datasets import helpline
from lapwing.web.lab import streams
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.result import Value

FALSE_ALARM = 1e-6
WEEKS = {"time": "day", "by": "region", "every": "week", "start": "2025-01-01", "steps": "53", "active": "2"}


def spent(bench: Bench) -> float:
    return float(bench.spent.epsilon)  # type: ignore[attr-defined]


def opened(client: TestClient, bench: Bench, epsilon: float = 1, **asked: str) -> str:
    """The address of a new stream."""
    answer = client.post(f"/lab/{bench.id}/streams", data={**WEEKS, **asked, "epsilon": str(epsilon)}, headers=PERSON)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def closed(client: TestClient, address: str, steps: int) -> None:
    answer = client.post(f"{address}/close", data={"steps": str(steps)}, headers=PERSON)
    assert answer.status_code == 303, answer.text


def ended(bench: Bench, address: str) -> streams.LabStream:
    """The stream, when nothing is under way any more."""
    kept = streams.found(bench, address.rpartition("/")[2])
    if kept.job is not None:
        assert kept.job.ended.wait(60)
    return kept


def test_the_form_says_what_a_stream_costs_before_anything_is_spent(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    page = client.get(f"/lab/{bench.id}/streams", params=WEEKS, headers=PERSON).text
    assert "count after 53 weeks" in page
    assert "You pay once, when you press this, for all 53 weeks" in page
    assert "counts in at most 2 weeks, the first 2 with rows" in page
    assert spent(bench) == 0
    assert "Running totals" in client.get(f"/lab/{bench.id}/ask/groups", headers=PERSON).text


@together(
    ("wrong", "said"),
    [
        ({"start": "yesterday"}, "Write it like 2025-01-01."),
        ({"steps": "0"}, "must be a whole number from 1 to 1000"),
        ({"steps": "1001"}, "must be a whole number from 1 to 1000"),
        ({"active": "54"}, "must be a whole number from 1 to 53"),
        ({"measure": "sum"}, "Choose a column with bounds."),
        ({"time": "caller"}, "is not one of the columns for this"),
        ({"by": "minutes"}, "is not one of the columns for this"),
        ({"every": "month", "start": "2025-01-02"}, "is not the beginning of a month"),
    ],
)
def test_what_does_not_fit_is_said_and_nothing_is_opened(
    wrong: dict[str, str], said: str, lab_school: FastAPI, helpline_rows: Path
) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    page = client.get(f"/lab/{bench.id}/streams", params={**WEEKS, **wrong}, headers=PERSON)
    assert page.status_code == 200
    assert said in page.text
    refused = client.post(f"/lab/{bench.id}/streams", data={**WEEKS, **wrong, "epsilon": "1"}, headers=PERSON)
    assert refused.status_code == 422
    assert (spent(bench), bench.streams) == (0, {})


def test_the_error_at_the_epsilon_that_is_written_is_shown(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    page = client.get(f"/lab/{bench.id}/streams", params={**WEEKS, "epsilon": "0.4"}, headers=PERSON).text
    assert "ε = 0.4 (yours)</th>" in page
    assert "Open the stream for ε = 0.4" in page
    assert '<input type="hidden" name="epsilon" value="0.4">' in page
    assert client.get(f"/lab/{bench.id}/streams", params={**WEEKS, "epsilon": "1e-300"}).status_code == 200


@together(
    ("changes", "said"),
    [
        (
            {"active": "3"},
            "only the first 3 weeks in which the caller has rows count, with at most one row in each. The table",
        ),
        (
            {"active": "1", "rows": "4"},
            "For each caller, only the first week in which the caller has rows counts, with at most 4 rows. The table",
        ),
        ({"active": "53"}, "At most one row of each caller counts in a week. The table may have many more rows."),
    ],
)
def test_the_page_says_which_rows_the_totals_are_of(
    changes: dict[str, str], said: str, lab_school: FastAPI, helpline_rows: Path
) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench, **changes)
    page = client.get(address, headers=PERSON).text
    assert said in page
    assert ("In “Over the last 7 weeks”, a line may fall" in page) == (changes["active"] != "53")
    assert client.get(f"{address}/now").json()["exact"] == "the exact number of rows that count"


def test_bands_are_rounded_outwards_by_one_rule(lab_school: FastAPI, helpline_rows: Path) -> None:
    assert streams.shown(Value("", 12.0, -0.5, 24.5)) == ("12", "−1 to 25")
    assert streams.shown(Value("", 1234.5, 1133.5, 1335.5)) == ("1,235", "1,133 to 1,336")
    assert streams.shown(Value("", None)) == ("–", "")
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench)
    closed(client, address, 2)
    ended(bench, address)
    page = client.get(address, headers=PERSON).text
    latest = client.get(f"{address}/now").json()["latest"]
    assert [row[0] for row in latest] == ["week of 2025-01-08", "week of 2025-01-01"]
    for number, band in latest[0][1:]:
        assert f'<td class="right private">{number}</td><td class="right noise">{band}</td>' in page


def test_it_is_paid_once_and_a_closed_step_never_changes(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench)
    assert spent(bench) == 1
    assert "No week is closed yet" in client.get(address, headers=PERSON).text
    closed(client, address, 1)
    first = ended(bench, address).result().series[0].values[0]
    closed(client, address, 4)
    kept = ended(bench, address)
    assert kept.stream.closed == 5
    assert kept.result().series[0].values[0] == first
    assert spent(bench) == 1
    page = client.get(address, headers=PERSON).text
    assert ">5</span> of 53 weeks" in page
    assert f'<td class="right private">{first.value:,.0f}</td>' in page, "numbers stand in the page without scripts"
    assert client.get(address, params={"window": 7}, headers=PERSON).status_code == 200
    assert f"{len(bench.streams)}" == "1"
    assert "5 of 53 weeks closed" in client.get(f"/lab/{bench.id}/streams", headers=PERSON).text


def test_totals_are_those_of_the_rows_that_count(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE, epsilon=90)
    address = opened(client, bench, 90)
    closed(client, address, 53)
    kept = ended(bench, address)
    assert kept.stream.left == 0
    calls, weeks = helpline(), defaultdict(set)
    for caller, day, region in zip(calls["caller"], calls["day"], calls["region"], strict=True):
        weeks[caller, region].add((day - dt.date(2025, 1, 1)).days // 7)
    counts = {
        region: sum(min(2, len(one)) for (_, of), one in weeks.items() if of == region)
        for region in ("Coast", "Hills", "Plain")
    }
    [item] = kept.stream.items
    within = item.half_width(0, 53, 1 - Fraction(FALSE_ALARM) / 3)
    for series in kept.result().series:
        published = series.values[-1].value
        assert published is not None
        assert abs(published - counts[series.name]) <= within
    assert within < 0.05 * min(counts.values())


def test_steps_come_by_the_clock_while_it_runs(
    lab_school: FastAPI, helpline_rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address, moment = opened(client, bench), 1000.0
    monkeypatch.setattr(streams.time, "monotonic", lambda: moment)
    assert client.post(f"{address}/run", data={"pace": "at once"}, headers=PERSON).status_code == 422
    client.post(f"{address}/run", data={"pace": "slowly"}, headers=PERSON)
    assert client.get(f"{address}/now").json()["running"]
    assert ended(bench, address).stream.closed == 0
    moment += 7
    client.get(f"{address}/now")
    assert ended(bench, address).stream.closed == 3, "a step every two seconds"
    told = client.get(f"{address}/now").json()
    assert (told["closed"], told["left"], told["steps"]) == (3, 50, 53)
    assert len(told["result"]["series"]) == 3
    client.post(f"{address}/run", data={"pace": ""}, headers=PERSON)
    moment += 100
    assert not client.get(f"{address}/now").json()["running"]
    assert ended(bench, address).stream.closed == 3


def test_nobody_else_finds_a_stream_and_it_goes_with_its_table(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench)
    stranger, files = visitor(lab_school), list(bench.folder.glob("*.stream"))
    for path in (f"/lab/{bench.id}/streams", address, f"{address}/now", f"{address}/export/csv"):
        assert stranger.get(path).status_code == 404
    assert stranger.post(f"{address}/close", data={"steps": "1"}).status_code == 404
    assert files
    assert all(file.stat().st_mode & 0o077 == 0 for file in files), "exact counts are for the server alone"
    bench.start_over()
    assert client.get(address, headers=PERSON).status_code == 404
    client.post(f"/lab/{bench.id}/delete", headers=PERSON)
    assert not any(file.exists() for file in files)


def test_a_stream_goes_on_only_under_what_was_stated(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench)
    closed(client, address, 2)
    ended(bench, address)
    bench.state(replace(bench.stated, people=99))
    refused = client.post(f"{address}/close", data={"steps": "1"}, headers=PERSON)
    assert refused.status_code == 409
    assert "changed what is stated" in refused.text
    assert client.get(address, headers=PERSON).status_code == 200, "what is published stays"
    bench.state(replace(bench.stated, people=4000))
    closed(client, address, 1)
    assert ended(bench, address).stream.closed == 3


def test_what_the_budget_does_not_pay_is_not_opened(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    opened(client, bench, 2.5)
    refused = client.post(f"/lab/{bench.id}/streams", data={**WEEKS, "epsilon": "1"}, headers=PERSON)
    assert refused.status_code == 409
    assert "0.5 is left" in refused.text
    assert (spent(bench), len(bench.streams)) == (2.5, 1)


def test_a_table_without_dates_says_what_to_do(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    page = client.get(f"/lab/{bench.id}/streams", headers=PERSON)
    assert "State that a column is a date" in page.text
    assert "/streams" not in client.get(f"/lab/{bench.id}/ask/mean", headers=PERSON).text


def test_single_rows_can_be_what_is_protected_and_sums_go_on_too(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE, unit="", max_rows_per_unit=1)
    page = client.get(f"/lab/{bench.id}/streams", params=WEEKS, headers=PERSON).text
    assert "event level: one row is protected" in page.lower().replace("Event", "event")
    assert 'name="active"' not in page
    address = opened(client, bench, measure="sum", column="minutes", by="")
    closed(client, address, 2)
    kept = ended(bench, address)
    assert [series.name for series in kept.result().series] == ["sum of minutes"]
    assert client.get(f"{address}/now").json()["exact"] == "the exact sum"
    assert "many more rows" not in client.get(address, headers=PERSON).text, "each row is a unit"


def test_what_was_published_can_be_taken_along(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench)
    assert client.get(f"{address}/export/png").status_code == 404
    closed(client, address, 3)
    ended(bench, address)
    lines = client.get(f"{address}/export/csv").text.splitlines()
    assert len(lines) == 1 + 3 * 3
    assert lines[1].startswith("Coast,2025-01-01,1,")
    assert client.get(f"{address}/export/png").content.startswith(b"\x89PNG")
    assert client.get(f"{address}/export/xls").status_code == 404


def test_what_scripts_are_told_stands_in_the_page(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench)
    closed(client, address, 2)
    ended(bench, address)
    page = client.get(address, headers=PERSON).text
    found = re.search(r'id="streamed">(.*?)</script>', page)
    assert found
    told: dict[str, Any] = json.loads(found[1])
    assert told == client.get(f"{address}/now").json()
    assert told["names"] == {
        "1": "2025-01-01",
        "13": "2025-03-26",
        "26": "2025-06-25",
        "40": "2025-10-01",
        "53": "2025-12-31",
    }


def test_a_month_is_called_by_its_name_because_its_total_is_not_that_of_its_first_day(
    lab_school: FastAPI, helpline_rows: Path
) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    address = opened(client, bench, every="month", steps="12")
    closed(client, address, 12)
    ended(bench, address)
    page = client.get(address, headers=PERSON).text
    assert '<th scope="row">Dec 2025</th>' in page
    assert '<th scope="row">2025-12-01</th>' not in page
    assert "Over the last 7 months" in page


@pytest.mark.sweep
def test_the_end_of_a_run_takes_no_click_back(visit: Callable[..., Any], live_school: Any, helpline_rows: Path) -> None:
    client, bench = brought(live_school.app, helpline_rows, example=HELPLINE)
    address = opened(client, bench, steps="12")
    closed(client, address, 2)
    kept = ended(bench, address)
    client.post(f"{address}/run", data={"pace": "slowly"}, headers=PERSON)
    begun = visit()
    begun.become(client)
    page = begun.open(address)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('beforeunload')); window.same = true")
    kept.run(0)
    with page.expect_response("**/now?*") as told:
        pass
    assert not told.value.json()["running"]
    page.wait_for_timeout(500)
    assert page.evaluate("window.same"), "the page was not loaded again while another comes"
    page.get_by_role("link", name="Over the last 7 weeks").click()
    expect(page.get_by_role("heading", name="Over the last 7 weeks, with 95 % intervals")).to_be_visible()


@pytest.mark.sweep
def test_the_view_renews_itself_while_it_runs_and_has_its_numbers_without_scripts(
    visit: Callable[..., Any], live_school: Any, helpline_rows: Path
) -> None:
    client, bench = brought(live_school.app, helpline_rows, example=HELPLINE)
    address = opened(client, bench, steps="12")
    closed(client, address, 2)
    kept = ended(bench, address)
    begun = visit()
    begun.become(client)
    page = begun.open(address)
    expect(page.locator("lw-stream svg")).to_have_count(3)
    page.get_by_role("button", name="Let it run quickly").press("Enter")
    expect(page.get_by_text("All 12 weeks are closed. What was")).to_be_visible()
    assert kept.stream.left == 0
    expect(page.locator("[data-live=closed]")).to_have_text("12")
    plain = visit(java_script_enabled=False)
    plain.become(client)
    page = plain.open(address)
    expect(page.locator(".streaming img")).to_be_visible()
    last = kept.result().series[0].values[-1].value
    assert f"{last:,.0f}" in page.locator("table").inner_text()


def test_the_list_of_what_was_asked_adds_up_with_streams_and_with_draws_that_were_paid_for(
    lab_school: FastAPI, helpline_rows: Path
) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE)
    answer = released(client, bench, 0.05, "count")
    stream = opened(client, bench, 0.8)
    drawn = client.post(f"{answer}/show/draws", data={"times": "10", "charged": "true"}, headers=PERSON)
    assert drawn.status_code == 303
    for job in bench.jobs.of(bench.id):
        assert job.ended.wait(60)
    page = client.get(f"/lab/{bench.id}/ask/groups", headers=PERSON).text
    [table] = re.findall(r'<section class="history".*?</section>', page, re.DOTALL)
    costs = [float(cost) for cost in re.findall(r'<td class="right">([\d.]+)</td></tr>', table)]
    assert costs == [0.8, 0.5, 0.05, 1.35]
    assert f'<a href="{stream}">Running totals: Rows so far by region, every week</a>' in table
    assert f'<a href="{answer}#draws">Count, drawn 10 times more</a></td>\n    <td>10 numbers</td>' in table
    bench.ledger.charge("table", lw.PureDP(0.25, unit=bench.stated.unit_word))
    page = client.get(f"/lab/{bench.id}/ask/groups", headers=PERSON).text
    assert "Bounds and keys found privately, questions that failed or were stopped" in page
