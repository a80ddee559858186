"""The page of an answer stays about the answer: what was stated when it was asked, and the draws that were paid for."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clinic_bench import CLINIC, HELPLINE, brought, released
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, site_of

import lapwing as lw
from lapwing.web.lab import releases
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.proposals import Proposal
from lapwing.web.lab.result import Result, Series, Value
from lapwing.web.lab.statement import StatedColumn, Statement, changes
from lapwing.web.service.problems import Problem


def shown(client: TestClient, bench: Bench, address: str, what: str, **form: str) -> dict[str, Any]:
    """What teaching mode finds, or what was paid for, as a script asks for it."""
    begun = client.post(f"{address}/show/{what}", data=form)
    assert begun.status_code == 202, begun.text
    job = site_of(client.app).lab.jobs.get(bench.id, begun.json()["id"])  # type: ignore[arg-type]
    job.ended.wait(60)
    return dict(client.get(f"/lab/{bench.id}/shown/{job.id}").json())


def page_of(client: TestClient, address: str) -> str:
    answer = client.get(address, headers=PERSON)
    assert answer.status_code == 200
    return answer.text


def restated(bench: Bench, column: str = "", bounds: tuple[float, float] | None = None, **rest: Any) -> None:
    """State other bounds of a column, or something else."""
    columns = tuple(replace(one, bounds=bounds) if one.name == column else one for one in bench.stated.columns)
    bench.state(replace(bench.stated, columns=columns, **rest))


def label_of(page: str) -> str:
    [found] = re.findall(r'<article class="nutrition".*?</article>', page, re.DOTALL)
    return str(found)


# What was stated


@pytest.mark.parametrize(("then", "now"), [((0, 2000), (0, 50)), ((0, 50), (0, 2000))])
def test_an_older_answer_keeps_the_bounds_with_which_it_was_asked(
    lab_school: FastAPI, clinic_rows: Path, then: tuple[float, float], now: tuple[float, float]
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    restated(bench, "cost", then)
    address = released(client, bench, 0.5, column="cost")
    before = page_of(client, address)
    assert "You have changed" not in before
    script = client.get(f"{address}/export/py").text
    restated(bench, "cost", now)
    after = page_of(client, address)
    assert f"cost from {then[0]:g} to {then[1]:g}" in label_of(after)
    assert label_of(after) == label_of(before)
    assert re.findall("Different from the forecast.*?</p>", after) == re.findall(
        "Different from the forecast.*?</p>", before
    )
    assert "You have changed what you stated since." in after
    assert f"cost from {then[0]} to {then[1]} (now from {now[0]} to {now[1]})" in after
    assert client.get(f"{address}/export/py").text == script
    assert json.loads(client.get(f"{address}/export/ipynb").text)


def test_an_older_answer_keeps_its_limits_for_rows_in_its_label_its_script_and_what_teaching_mode_adds(
    lab_school: FastAPI, helpline_rows: Path
) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE, teaching=True, max_rows_per_unit=1)
    address = released(client, bench, 0.5, "count")
    exact, drawn = (shown(client, bench, address, what, times="10") for what in ("exact", "draws"))
    bench.state(replace(bench.stated, max_rows_per_unit=6, people=9999))
    page = page_of(client, address)
    assert f"at most 1 row of one {bench.stated.unit} counts" in label_of(page)
    assert f"about {HELPLINE.statement.people:,} people" in label_of(page)
    assert "max_rows_per_unit" not in client.get(f"{address}/export/py").text
    assert f"population={HELPLINE.statement.people}" in client.get(f"{address}/export/py").text
    assert shown(client, bench, address, "exact")["result"] == exact["result"]
    again = shown(client, bench, address, "draws", times="10")
    assert again["outputs"][0]["limited"] == drawn["outputs"][0]["limited"]
    assert shown(client, bench, address, "attacks")["kind"] == "attacks"
    assert "(now 6)" in page
    assert "(now 9,999)" in page


def test_paid_draws_of_an_older_answer_leave_the_allowance_of_today_alone(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows, epsilon=3.0)
    address = released(client, bench, 0.1, column="cost")
    restated(bench, "cost", (0, 50), epsilon=2.5)
    found = shown(client, bench, address, "draws", times="10", charged="true")
    assert max(found["outputs"][0]["draws"]) > 50, "asked with the bounds of then"
    assert float(bench.remaining.epsilon) == pytest.approx(2.5 - 1.1)  # type: ignore[attr-defined]
    assert "1.4 of 2.5" in label_of(page_of(client, address))


def test_an_answer_that_does_not_say_what_was_stated_is_shown_with_what_is_stated_now(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    address = released(client, bench, column="cost")
    bench.answers[:] = [replace(bench.answers[0], statement=None)]
    restated(bench, "cost", (0, 50))
    page = page_of(client, address)
    assert "cost from 0 to 50" in label_of(page)
    assert "You have changed" not in page
    restated(bench, "cost", None)
    page = page_of(client, address)
    assert "After this answer, you changed what is stated" in page
    assert "Privacy facts" not in page
    assert client.get(f"{address}/export/py").status_code == 409


def test_bounds_that_were_read_do_not_outlast_teaching_mode_in_an_older_answer(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    read = (3.25, 1873.5)
    bench.propose("cost", Proposal(read, private=False))
    restated(bench, "cost", read)
    address = released(client, bench, 0.02)
    assert "1873.5" in label_of(page_of(client, address))
    restated(bench, "cost", (0, 2000), teaching=False)
    page = page_of(client, address)
    assert "1873" not in page
    assert "with bounds or keys that were read from the data" in page
    assert "Draw 10 times" not in page
    drawn = client.post(f"{address}/show/draws", data={"times": "10", "charged": "true"})
    for refused in (drawn, client.get(f"{address}/export/py")):
        assert refused.status_code == 409
        assert "read from the data" in refused.text
    assert float(bench.spent.epsilon) == pytest.approx(0.02)  # type: ignore[attr-defined]


def test_an_answer_about_rows_that_belonged_together_otherwise_is_not_charged_again(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    _, bench = brought(lab_school, clinic_rows)
    result = Result("number", (Series("count", (Value("count", 1.0),)),), loss=lw.PureDP(0.1, unit="row"))
    late = releases.Answer("count", "Count", {}, 0.1, result, statement=replace(bench.stated, unit=""))
    with pytest.raises(Problem, match="whose rows belong together"):
        bench.data(answer=late)


def test_what_was_changed_is_said_in_words() -> None:
    before = CLINIC.statement
    assert changes(before, replace(before, teaching=not before.teaching, epsilon=1.0)) == ()
    after = replace(before, max_rows_per_unit=6, people=10, decimal=",", name="visits")
    assert changes(before, after) == (
        "at most 1 row of one patient (now 6)",
        "about 3,000 people (now 10)",
        "how the file writes numbers, dates, yes and no",
        f"the table is called {before.name} in SQL (now visits)",
    )
    one = Statement(name="t", columns=(StatedColumn("a", "number", (0, 5)), StatedColumn("b", keys=("x", "y"))))
    other = Statement(name="t", columns=(StatedColumn("a", "text"), StatedColumn("b", keys=("x", "z"))), unit="b")
    assert changes(one, other)[:3] == (
        "a as number (now text)",
        "a from 0 to 5 (now without bounds)",
        "b with 2 keys (now others)",
    )


# Draws


def test_paid_draws_are_kept_with_their_answer_listed_and_exported_and_the_page_says_what_is_left(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows, epsilon=3.0)
    address = released(client, bench, 0.03)
    form = {"times": "10", "charged": "true"}
    sent = client.post(f"{address}/show/draws", data=form, headers=PERSON)
    for job in bench.jobs.of(bench.id):
        assert job.ended.wait(60)
    assert sent.headers["location"] in (f"{address}#draws", f"/lab/{bench.id}/jobs/{bench.jobs.of(bench.id)[-1].id}")
    assert len(shown(client, bench, address, "draws", **form)["outputs"][0]["draws"]) == 20
    [answer] = bench.answers
    drawn = [draw.series[0].values[0].value for draw in answer.draws]
    assert len(drawn) == 20
    page = page_of(client, address)
    told = json.loads(re.search(r'id="released">(.*?)</script>', page).group(1))  # type: ignore[union-attr]
    assert told["paid"]["outputs"][0]["draws"] == drawn
    assert told["budget"]["left"] == pytest.approx(3 - 0.63)
    assert all(f"{value:,.6g}" in page for value in drawn if value is not None)
    assert "2.37 of 3" in label_of(page)
    assert "Left: <b>2.37</b>" in page
    assert "100 draws would cost 3, but only 2.37 is left" in page
    assert f'<a href="{address}#draws">Mean: age, drawn 20 times more</a>' in page
    rows = list(csv.DictReader(io.StringIO(client.get(f"{address}/export/csv").text)))
    assert [row["draw"] for row in rows] == [str(turn) for turn in range(1, 22)]
    assert [float(row["value"]) for row in rows[1:]] == drawn


def test_an_exact_answer_is_never_kept_as_a_draw(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    address = released(client, bench, 0.1)
    with pytest.raises(ValueError, match="never kept"):
        bench.keep_draw(bench.answers[0], Result("number", ()))
    shown(client, bench, address, "draws", times="10")
    assert bench.answers[0].draws == ()


def test_draws_are_compared_with_the_number_that_noise_is_added_to(lab_school: FastAPI, helpline_rows: Path) -> None:
    """Limits for rows left out a third of the table, so no draw was ever near the exact number of all rows."""
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE, teaching=True, max_rows_per_unit=1)
    address = released(client, bench, 2.0, "count")
    found = shown(client, bench, address, "draws", times="100")
    [output] = found["outputs"]
    [value] = bench.answers[0].result.series[0].values
    error = value.error or 0
    assert output["exact"] - output["limited"] > 100
    assert sum(abs(draw - output["limited"]) <= error for draw in output["draws"]) >= 80, "fails once in 10^7 runs"
    assert found["sample"] == 1
    page = page_of(client, address)
    assert "Exact, after limits and bounds" not in page, "before somebody looks"


def test_a_number_before_noise_says_of_which_sample_it_is(lab_school: FastAPI, helpline_rows: Path) -> None:
    client, bench = brought(lab_school, helpline_rows, example=HELPLINE, teaching=True, max_rows_per_unit=2)
    assert shown(client, bench, released(client, bench, 0.5, "count"), "exact")["sample"] == 2
    bench.state(replace(bench.stated, max_rows_per_unit=10_000))
    assert shown(client, bench, released(client, bench, 0.5, "count"), "exact")["sample"] == 0, "all rows count"


def test_where_each_row_is_protected_nothing_is_sampled(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True, unit="")
    assert shown(client, bench, released(client, bench), "exact")["sample"] == 0
