"""Asking in the lab: a release spends, two tabs never overspend, and outside teaching mode no exact number is told."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from clinic_bench import CLINIC, brought, released
from fastapi import FastAPI
from fastapi.testclient import TestClient
from school_site import PERSON, site_of, visitor

import lapwing as lw
from lapwing.adversary.attacks import best_guess
from lapwing.errors import BudgetExceeded
from lapwing.web.lab import games, questions, releases
from lapwing.web.lab.analyses import ANALYSES, TEACHING_ONLY
from lapwing.web.lab.analysis import Data
from lapwing.web.lab.bench import Bench
from lapwing.web.lab.result import EPSILONS

MEAN_AGE = "48.82933"
"""Of the clinic, exactly: 146,488 years over 3,000 patients."""


def shown(client: TestClient, bench: Bench, address: str, what: str, **form: str) -> dict[str, Any]:
    """What teaching mode finds, as a script asks for it."""
    begun = client.post(f"{address}/show/{what}", data=form)
    assert begun.status_code == 202, begun.text
    job = site_of(client.app).lab.jobs.get(bench.id, begun.json()["id"])  # type: ignore[arg-type]
    job.ended.wait(60)
    return dict(client.get(f"/lab/{bench.id}/shown/{job.id}").json())


def spent(bench: Bench) -> float:
    return float(bench.spent.epsilon)  # type: ignore[attr-defined]


def test_a_first_visit_shows_a_question_with_its_price_and_spends_nothing(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    begun = client.get(f"/lab/{bench.id}/ask", headers=PERSON)
    page = client.get(begun.headers["location"], headers=PERSON)
    assert page.status_code == 200
    told = json.loads(re.search(r'id="asking">(.*?)</script>', page.text).group(1))  # type: ignore[union-attr]
    assert told["places"] == list(EPSILONS)
    assert all(len(band["errors"]) == len(EPSILONS) for band in told["preview"]["bands"])
    assert spent(bench) == 0


@pytest.mark.parametrize("kind", [slug for slug in ANALYSES if slug not in TEACHING_ONLY])
def test_every_question_that_the_clinic_has_columns_for_can_be_asked(
    lab_school: FastAPI, clinic_rows: Path, kind: str
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    page = client.get(f"/lab/{bench.id}/ask/{kind}", headers=PERSON)
    assert page.status_code == 200
    assert 'id="release"' in page.text
    assert spent(bench) == 0


def test_another_browser_finds_nothing_at_any_address(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    address = released(client, bench)
    stranger = visitor(lab_school)
    for path in (f"/lab/{bench.id}/ask", f"/lab/{bench.id}/ask/mean", address, f"{address}/export/csv"):
        assert stranger.get(path).status_code == 404
    assert stranger.post(f"/lab/{bench.id}/ask/mean", data={"epsilon": "0.1"}).status_code == 404
    assert spent(bench) == 0.5


def test_a_release_spends_exactly_what_was_said_and_is_listed_with_its_cost(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    address = released(client, bench, 0.5)
    assert spent(bench) == 0.5
    page = client.get(address, headers=PERSON).text.replace("\u00a0", " ")
    [answer] = bench.answers
    value = answer.result.series[0].values[0].value
    assert value is not None
    assert f"{value:,.6g}" in page
    assert "Privacy facts" in page
    assert "64 % sure" not in page
    assert "63 % sure" in page  # e^0.5/(1 + e^0.5) is 0.6225, rounded up
    listed = client.get(f"/lab/{bench.id}/ask/mean", headers=PERSON).text
    assert address in listed


def test_an_epsilon_that_is_typed_has_the_error_of_its_own_quote(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    asked = {"column": "age", "epsilon": "0.3"}
    told = client.get(f"/lab/{bench.id}/ask/mean/at", params=asked).json()
    [band] = ANALYSES["mean"].of(bench.stated, asked).preview(bench.stated, (0.3,)).bands
    assert told == {"epsilon": 0.3, "errors": [band.errors[0]]}
    assert client.get(f"/lab/{bench.id}/ask/mean/at", params={**asked, "epsilon": "none"}).status_code == 422


def test_no_line_of_an_answer_ends_within_a_percentage(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    page = client.get(released(client, bench, 0.1), headers=PERSON).text
    told = page[page.index('id="guarantee"') : page.index('id="draws"')]
    assert "\u00a0%" in told
    assert not re.search(r"± [\d−]", told)
    assert not re.search(r"\d %", told)


def test_what_was_spent_before_is_named_in_words_for_readers(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    bench.earlier.append(str(lw.PureDP(0.5, unit="patient")))
    page = client.get(f"/lab/{bench.id}/ask/mean", headers=PERSON).text
    assert "Spent before you started over: ε = 0.5 for each patient." in page
    assert "add_remove" not in page


def test_an_answer_without_scripts_says_of_which_rows_it_is(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, max_rows_per_unit=6)
    asked = client.get(f"/lab/{bench.id}/ask/mean", headers=PERSON).text
    assert "over at most 6 rows of each patient (noise only)" in asked
    page = client.get(released(client, bench), headers=PERSON).text
    assert "This is over at most 6 rows of each patient. An interval is for the noise only" in page


def test_a_question_that_makes_no_sense_is_answered_with_what_to_write_and_costs_nothing(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    wrong = {"column": "region", "epsilon": "0.5"}
    page = client.post(f"/lab/{bench.id}/ask/mean", data=wrong, headers=PERSON)
    assert page.status_code == 422
    assert "is not one of the columns for this" in page.text
    preview = client.get(f"/lab/{bench.id}/ask/mean/preview", params={"column": "region"})
    assert "is not one of the columns for this" in preview.json()["complaint"]
    for epsilon in ("", "0", "-1", "nan", "inf", "1e9", "much"):
        answer = client.post(f"/lab/{bench.id}/ask/mean", data={"column": "age", "epsilon": epsilon}, headers=PERSON)
        assert answer.status_code == 422
        assert "epsilon above 0" in answer.text
    assert client.get(f"/lab/{bench.id}/ask/nothing", headers=PERSON).status_code == 404
    assert spent(bench) == 0


def test_asking_for_more_than_is_left_says_what_is_left_and_what_it_buys(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows, epsilon=1.0)
    released(client, bench, 0.75)
    asked = {"column": "age", "epsilon": "0.5"}
    page = client.post(f"/lab/{bench.id}/ask/mean", data=asked, headers=PERSON)
    assert page.status_code == 409
    assert "0.25 is left" in page.text
    band = ANALYSES["mean"].of(bench.stated, {"column": "age"}).preview(bench.stated, (0.25,)).bands[0]
    assert f"mean of age to within {band.errors[0]:.3g}" in page.text
    assert client.post(f"/lab/{bench.id}/ask/mean", data=asked).json()["detail"].startswith("0.25 is left")
    assert spent(bench) == 0.75
    released(client, bench, 0.25)
    spent_up = client.post(f"/lab/{bench.id}/ask/mean", data=asked, headers=PERSON)
    assert "is spent" in spent_up.text


def test_twenty_tabs_at_once_never_spend_more_than_is_allowed(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, epsilon=1.0)
    gate = threading.Barrier(20)

    def tab(_: int) -> int:
        gate.wait()
        form = {"epsilon": "0.3"}
        return client.post(f"/lab/{bench.id}/ask/count", data=form, headers=PERSON).status_code

    with ThreadPoolExecutor(20) as tabs:
        codes = list(tabs.map(tab, range(20)))
    for job in site_of(lab_school).lab.jobs.of(bench.id):
        job.ended.wait(60)
    assert set(codes) <= {303, 409, 429}
    assert spent(bench) <= 1.0
    assert len(bench.answers) == round(spent(bench) / 0.3)
    while spent(bench) <= 0.7:  # whoever was told to wait may ask again, until it is really spent
        released(client, bench, 0.3, "count")
    assert client.post(f"/lab/{bench.id}/ask/count", data={"epsilon": "0.3"}).status_code == 409
    assert len({releases.mark(one) for one in bench.answers}) == len(bench.answers) == 3


def test_a_release_that_loses_the_race_says_what_is_left(lab_school: FastAPI, clinic_rows: Path) -> None:
    _, bench = brought(lab_school, clinic_rows, epsilon=1.0)
    question = questions.question(bench.stated, "count", None)
    late = releases.release(bench, question, 0.8, releases.moment())
    bench.ledger.charge("table", lw.PureDP(0.5, unit="patient"))
    with pytest.raises(Exception, match=r"0\.5 is left.*enough for count to within") as refused:
        late(lambda _: None)  # type: ignore[arg-type]
    assert not isinstance(refused.value, BudgetExceeded)
    assert spent(bench) == 0.5


def test_a_job_that_was_stopped_spends_at_most_what_was_charged(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    lab, gate = site_of(lab_school).lab, threading.Event()
    busy = [lab.jobs.start("somebody else", lambda _: gate.wait(30)) for _ in range(2)]
    while not all(job.state == "working" for job in busy):
        time.sleep(0.01)
    begun = client.post(f"/lab/{bench.id}/ask/mean", data={"column": "age", "epsilon": "0.5"})
    assert (begun.json()["state"], begun.json()["place"]) == ("waiting", 1)
    waiting = client.get(f"/lab/{bench.id}/jobs/{begun.json()['id']}", headers=PERSON).text
    assert "You are next" in waiting
    told = client.post(f"/lab/{bench.id}/jobs/{begun.json()['id']}/cancel")
    gate.set()
    for job in (*busy, lab.jobs.get(bench.id, begun.json()["id"])):
        job.ended.wait(30)
    assert told.status_code == 200
    assert lab.jobs.get(bench.id, begun.json()["id"]).state == "cancelled"
    assert spent(bench) == 0
    question = questions.question(bench.stated, "mean", [("column", "age")])
    late = lab.jobs.start(bench.id, lambda progress: _stopped_after_the_charge(bench, question, progress))
    late.ended.wait(30)
    assert late.state == "cancelled"
    assert spent(bench) == 0.5
    assert bench.answers == []


def test_who_runs_no_scripts_goes_on_also_when_work_ended_as_its_page_was_written(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows)
    job = bench.start(lambda progress: None)  # without an address to go to, as if that had not been looked at yet
    job.ended.wait(30)
    page = client.get(f"/lab/{bench.id}/jobs/{job.id}", headers=PERSON)
    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page.text


def _stopped_after_the_charge(bench: Bench, question: questions.Question, progress: Any) -> Any:
    """A release during whose reading somebody presses stop."""

    class Pressed:
        def __call__(self, share: float) -> None:
            if share == 1.0:
                progress.cancel()
            progress(share)

    return releases.release(bench, question, 0.5, releases.moment())(Pressed())  # type: ignore[arg-type]


def bodies(client: TestClient, bench: Bench, address: str) -> Iterator[str]:
    """Everything the pages of an answer and of asking say, and every file."""
    for path in (f"/lab/{bench.id}/ask/mean", f"/lab/{bench.id}/ask/mean/preview?column=age", address):
        yield client.get(path, headers=PERSON).text
    yield client.get(f"/lab/{bench.id}/ask/mean/nearby?column=age").text
    for kind in ("csv", "py", "ipynb"):
        yield client.get(f"{address}/export/{kind}").text
    for what in ("exact", "draws", "attacks", "clipping"):
        yield client.post(f"{address}/show/{what}").text
        yield client.post(f"{address}/show/{what}", headers=PERSON).text
    yield client.post(f"{address}/exact-file").text


def test_outside_teaching_mode_no_body_has_the_exact_number(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    address = released(client, bench, 0.05)
    told = list(bodies(client, bench, address))
    assert len(told) > 10
    for text in told:
        assert MEAN_AGE[:7] not in text
        assert "146488" not in text
    for what in ("exact", "draws", "attacks", "clipping"):
        assert client.post(f"{address}/show/{what}").status_code == 403
    assert client.post(f"{address}/exact-file").status_code == 403
    assert "The exact answer is not shown" in client.get(address, headers=PERSON).text
    assert spent(bench) == pytest.approx(0.05)


def test_two_tables_that_differ_in_one_person_get_the_same_pages_before_a_release(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    told = []
    for without in (False, True):
        client, bench = brought(lab_school, clinic_rows)
        if without:
            other = games.without_one(Data(bench.path, bench.stated, None), bench.folder, False)
            bench.path.write_bytes(other.read_bytes())
        pages = [client.get(f"/lab/{bench.id}/ask/{kind}", headers=PERSON).text for kind in ("count", "mean", "groups")]
        told.append([page.replace(bench.id, "") for page in pages])
    assert told[0] == told[1]


def test_two_tables_that_differ_in_one_person_differ_in_the_noisy_numbers_alone(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    """The same answer is put in the place of both: then pages, files and refusals are the same to the byte."""
    told: list[Any] = []
    first = None
    for without in (False, True):
        client, bench = brought(lab_school, clinic_rows)
        if without:
            other = games.without_one(Data(bench.path, bench.stated, None), bench.folder, False)
            bench.path.write_bytes(other.read_bytes())
        released(client, bench, 0.05)
        [job] = bench.jobs.of(bench.id)
        first = first or bench.answers[0]
        bench.answers[:] = [first]
        address = f"/lab/{bench.id}/answers/{releases.mark(first)}"
        paths = [f"/lab/{bench.id}", f"/lab/{bench.id}/ask/mean", address, f"{address}?shown={job.id}"]
        paths += [f"{address}/export/{kind}" for kind in ("csv", "png", "py", "ipynb")]
        answers = [client.get(path, headers=PERSON) for path in paths]
        answers += [client.post(f"{address}/show/{what}") for what in ("exact", "draws", "attacks", "clipping")]
        answers.append(client.post(f"/lab/{bench.id}/ask/mean", data={"column": "age", "epsilon": "9"}))
        kinds = ("content-type", "content-length", "content-disposition")
        hidden = (bench.id.encode(), job.id.encode())
        bodies = [one.content.replace(hidden[0], b"").replace(hidden[1], b"") for one in answers]
        told.append(
            [
                (one.status_code, [one.headers.get(kind) for kind in kinds], _still(body))
                for one, body in zip(answers, bodies, strict=True)
            ]
        )
        told.append([(job.state, job.error, job.title, job.told()["share"])])
    assert told[:2] == told[2:]


def _still(body: bytes) -> bytes:
    """Without the time at which the table is deleted."""
    return re.sub(rb"\d\d:\d\d UTC|\d{4}-\d\d-\d\dT\d\d:\d\d[+:0-9]*", b"", body)


def test_teaching_mode_shows_the_exact_answer_once_marks_it_and_keeps_nothing(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    address = released(client, bench, 0.02)  # far from the exact one: they hardly ever look the same
    page = client.get(address, headers=PERSON).text
    assert "Teaching mode" in page
    assert MEAN_AGE[:7] not in page
    begun = client.post(f"{address}/show/exact")
    job = site_of(lab_school).lab.jobs.get(bench.id, begun.json()["id"])
    job.ended.wait(30)
    found = client.get(f"/lab/{bench.id}/shown/{job.id}").json()
    assert f"{found['result']['series'][0]['values'][0]['value']:.5f}" == MEAN_AGE
    assert job.result is None
    assert client.get(f"/lab/{bench.id}/shown/{job.id}").json() is None
    assert all(one.result.private for one in bench.answers)
    for path in bench.folder.iterdir():
        assert path.name == "table.parquet" or MEAN_AGE[:7].encode() not in path.read_bytes()
    assert spent(bench) == pytest.approx(0.02)


def test_without_scripts_a_button_shows_the_exact_answer_in_the_page(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    address = released(client, bench)
    sent = client.post(f"{address}/show/exact", headers=PERSON)
    assert sent.status_code == 303
    assert "48.8293" in client.get(sent.headers["location"], headers=PERSON).text


def test_the_exact_side_is_a_file_only_by_a_marked_button_of_its_own(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    address = released(client, bench, 0.02)
    for kind in ("csv", "py", "ipynb"):
        assert MEAN_AGE[:7] not in client.get(f"{address}/export/{kind}").text
    exact = client.post(f"{address}/exact-file")
    assert MEAN_AGE in exact.text
    assert "not private" in exact.text
    assert "NOT-PRIVATE" in exact.headers["content-disposition"]


def test_files_carry_the_private_answer(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows)
    address = released(client, bench)
    value = bench.answers[0].result.series[0].values[0].value
    assert repr(value) in client.get(f"{address}/export/csv").text
    assert client.get(f"{address}/export/png").content.startswith(b"\x89PNG")
    assert "epsilon=0.5" in client.get(f"{address}/export/py").text
    assert json.loads(client.get(f"{address}/export/ipynb").text)["nbformat"] == 4
    assert client.get(f"{address}/export/exe").status_code == 404


def test_many_draws_are_free_in_teaching_mode_and_paid_for_outside(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    address = released(client, bench, 0.1, "count")
    found = shown(client, bench, address, "draws", times="10")
    [output] = found["outputs"]
    assert len(output["draws"]) == 10
    assert output["exact"] == 3000
    assert spent(bench) == pytest.approx(0.1)
    client, bench = brought(lab_school, clinic_rows, epsilon=1.2)
    address = released(client, bench, 0.1, "count")
    assert "Draw 10 times for ε = 1" in client.get(address, headers=PERSON).text
    assert client.post(f"{address}/show/draws", data={"times": "100", "charged": "true"}).status_code == 409
    paid = shown(client, bench, address, "draws", times="10", charged="true")
    assert len(paid["outputs"][0]["draws"]) == 10
    assert paid["outputs"][0]["exact"] is None
    assert spent(bench) == pytest.approx(1.1)


def test_other_bounds_and_numbers_of_people_are_compared(lab_school: FastAPI, clinic_rows: Path) -> None:
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    address = released(client, bench)
    found = shown(client, bench, address, "clipping")
    assert found["column"] == "age"
    cut = [one["value"] for one in found["result"]["series"][0]["values"]]
    assert cut[0] > 30
    assert cut[-1] == 0
    near = client.get(f"/lab/{bench.id}/ask/mean/nearby?column=age").json()
    assert [one["people"] for one in near] == [300, 3000, 30000]
    few, said, many = (one["bands"][0]["errors"][40] for one in near)
    assert few > said > many


def test_a_question_without_a_private_answer_is_only_looked_at_in_teaching_mode(
    lab_school: FastAPI, clinic_rows: Path
) -> None:
    [kind] = TEACHING_ONLY
    client, bench = brought(lab_school, clinic_rows)
    assert client.get(f"/lab/{bench.id}/ask/{kind}").status_code == 403
    assert client.post(f"/lab/{bench.id}/ask/{kind}/look").status_code == 403
    assert kind not in client.get(f"/lab/{bench.id}/ask/count", headers=PERSON).text
    client, bench = brought(lab_school, clinic_rows, teaching=True)
    assert "no guarantee" in client.get(f"/lab/{bench.id}/ask/{kind}", headers=PERSON).text
    assert client.post(f"/lab/{bench.id}/ask/{kind}", data={"epsilon": "1"}).status_code == 409
    sent = client.post(f"/lab/{bench.id}/ask/{kind}/look", data={"columns": "region", "k": "5"}, headers=PERSON)
    if "/jobs/" not in sent.headers["location"]:
        assert "certainty penalty" in client.get(sent.headers["location"], headers=PERSON).text
    assert bench.answers == []
    assert spent(bench) == 0


def test_attackers_stay_within_the_bound_and_the_exact_answer_falls(clinic_rows: Path) -> None:
    data = Data(clinic_rows, CLINIC.statement, None)
    count = ANALYSES["count"].of(CLINIC.statement, {})
    for outcome in games.play(count, data, 0.5, lw.PureDP(0.5, unit="patient"), lambda _: None, rounds=24):
        assert outcome.exact == 1
        assert outcome.private is not None
        allowed = games.likely(outcome.private, outcome.games, 1e-6)[0]  # fails once in a million runs by chance
        assert allowed <= outcome.bound
    assert not list(clinic_rows.parent.glob("lapwing-lab-*"))


def test_the_bounds_on_attackers_are_those_of_the_library() -> None:
    found = games.limits(lw.ApproxDP(0.5, 1e-6, unit="patient"), "patient")
    assert [one.attack for one in found] == ["membership", "differencing", "averaging", "averaging"]
    assert found[0].bound == best_guess(0.5, delta=1e-6)
    assert found[2].bound == best_guess(5 * 0.5, delta=5e-6)
    assert found[3].epsilon == 10
    assert all(one.exact is None and one.private is None for one in found)


def test_an_attacker_without_noise_to_fear_wins_every_time(clinic_rows: Path) -> None:
    data = Data(clinic_rows, CLINIC.statement, None)
    count = ANALYSES["count"].of(CLINIC.statement, {})
    first, *_ = games.play(count, data, 50.0, lw.PureDP(50, unit="patient"), lambda _: None, rounds=4)
    assert first.private == 1


def test_the_target_leaves_with_all_its_rows_or_says_what_somebody_else_does(clinic_rows: Path, tmp_path: Path) -> None:
    import duckdb

    def table(path: Path) -> set[tuple[Any, ...]]:
        return set(duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall())

    mine = tmp_path / "table.parquet"
    mine.write_bytes(clinic_rows.read_bytes())
    data = Data(mine, CLINIC.statement, None)
    before = table(mine)
    gone = table(games.without_one(data, tmp_path, False))
    assert len(before - gone) == 1
    assert not gone - before
    other = table(games.without_one(data, tmp_path, True))
    assert len(other) == len(before)
    [[mine_was], [now]] = [list(before - other), list(other - before)]
    assert mine_was[0] == now[0]
